"""A model with one batch of data and its loss."""
import dataclasses
import typing

import torch
from torch import nn
from torch.nn import functional

CLASSES = 1000
SEED = 1


@dataclasses.dataclass
class Case:
    """`module` takes `inputs` by position and returns one tensor. `loss` is the name of
    mpc's loss, or "output" if the tensor is the loss; `wanted` are its labels (int64)
    or targets (f32)."""

    module: nn.Module
    inputs: dict
    wanted: torch.Tensor | None = None
    loss: str = "softmax-cross-entropy"
    class_axis: int = -1
    # Convolutions on a CPU are faster in the layout that PyTorch recommends.
    channels_last: bool = False
    # With a larger one and no warm-up, losses of any two programs differ.
    rate: float = 1e-4
    # Changes the module where PyTorch's exporter fails for what PyTorch itself runs.
    before_export: typing.Callable | None = None

    def options(self):
        """Options of mpc compile."""
        if self.loss == "output":
            return ["--loss=output:output"]
        options = [f"--loss={self.loss}:output"]
        if self.loss == "softmax-cross-entropy":
            options.append(f"--label-axis={self.class_axis}")
        return options

    def arrays(self):
        """The batch by mpc's names of the inputs."""
        name = "labels" if self.loss == "softmax-cross-entropy" else "targets"
        return {**self.inputs, **({name: self.wanted} if self.wanted is not None else {})}

    def compute_loss(self):
        output = self.module(*self.inputs.values())
        if self.loss == "output":
            return output
        if self.loss == "mse":
            return functional.mse_loss(output, self.wanted)
        if self.loss == "bce-with-logits":
            return functional.binary_cross_entropy_with_logits(output, self.wanted)
        if self.class_axis == -1:
            return functional.cross_entropy(output.flatten(0, -2), self.wanted.flatten())
        return functional.cross_entropy(output, self.wanted)

    def move_to(self, device):
        self.module.to(device)
        self.inputs = {name: tensor.to(device) for name, tensor in self.inputs.items()}
        if self.wanted is not None:
            self.wanted = self.wanted.to(device)

    def use_channels_last(self):
        layout = torch.channels_last
        self.module.to(memory_format=layout)
        for name, tensor in self.inputs.items():
            if tensor.dim() == 4:
                self.inputs[name] = tensor.contiguous(memory_format=layout)


def images(batch, pixels, channels=3):
    return torch.randn(batch, channels, pixels, pixels)


def classes(*shape, count=CLASSES):
    return torch.randint(count, shape)
