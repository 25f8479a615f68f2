"""PyTorch's side of models.py, in the folder test/bench:

    python -m models.worker '{"name": ..., "mode": ..., "precision": ..., "tiny": ...}'

builds one model, then answers each line on stdin with one line of JSON:

    steps N     seconds of N steps
    losses N    the losses of N steps

With the mode "prepare" it exports the model to `folder` instead, and prints what
models.py must know about it; with the mode "peak" it prints the rates of a product of
large matrices.
"""
import contextlib
import importlib
import json
import math
import pathlib
import resource
import sys
import time

import torch

from models import CATALOG
from models.case import SEED
from side import say, serve


def make_case(job):
    """The case of a job, always with the same weights and batch."""
    entry = next(entry for entry in CATALOG if entry.name == job["name"])
    arguments = entry.tiny if job["tiny"] else job.get("arguments", {})
    module, function = entry.maker.split(".")
    torch.manual_seed(SEED)
    maker = getattr(importlib.import_module(f"models.{module}"), function)
    case = maker(**arguments)
    case.module.train()
    return case


class Training:
    """A model with its optimizer and one batch; `step` is what is timed."""

    def __init__(self, case, mode="eager", precision="fp32", device="cpu"):
        case.move_to(device)
        if case.channels_last:
            case.use_channels_last()
        self.case = case
        self.device = device
        self.low = precision == "bf16"
        self.optimizer = torch.optim.AdamW(
            case.module.parameters(), lr=case.rate, weight_decay=0.01, fused=True
        )
        self.mode = mode
        self.forward = self.compute_loss
        if mode == "compile":
            self.forward = torch.compile(self.compute_loss)
        elif mode == "reduce-overhead":
            self.forward = torch.compile(self.compute_loss, mode=mode)

    def compute_loss(self):
        low = contextlib.nullcontext()
        if self.low:
            low = torch.autocast(self.device, torch.bfloat16)
        with low:
            return self.case.compute_loss()

    def step(self):
        if self.mode == "reduce-overhead":
            torch.compiler.cudagraph_mark_step_begin()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.forward()
        loss.backward()
        self.optimizer.step()
        return loss.detach()

    def time(self, steps):
        """Waits for each step on a CPU only, as mpc does."""
        start = time.perf_counter()
        for _ in range(steps):
            loss = self.step()
            if self.device == "cpu":
                loss.item()
        loss.item()
        return {"seconds": time.perf_counter() - start}

    def losses(self, steps):
        return {"losses": [self.step().item() for _ in range(steps)]}


def count_conv_backward(grad, x, weight, _b, _s, _p, _d, transposed, _o, _g, wanted, **_):
    """FLOPs of the gradients of a convolution: each takes as many as the convolution.
    PyTorch's own function does not divide those of the weight by the number of groups."""
    pixels = (x if transposed else grad)[2:]
    batch_pixels = x[0] * math.prod(pixels)
    return 2 * batch_pixels * math.prod(weight) * (wanted[0] + wanted[1])


def count_gflops(case):
    """GFLOP of forward and backward pass, as PyTorch counts them: products only. Neither
    fused attention nor oneDNN's LSTM would be counted."""
    from torch.nn.attention import SDPBackend, sdpa_kernel
    from torch.utils.flop_counter import FlopCounterMode

    conv_backward = {torch.ops.aten.convolution_backward: count_conv_backward}
    counter = FlopCounterMode(display=False, custom_mapping=conv_backward)
    mkldnn = torch.backends.mkldnn.flags(enabled=False)
    with mkldnn, sdpa_kernel(SDPBackend.MATH), counter:
        case.compute_loss().backward()
    case.module.zero_grad(set_to_none=True)
    return counter.get_total_flops() / 1e9


def export(case, path, exporter):
    options = {"dynamo": True, "optimize": False, "verbose": False}
    if exporter == "torchscript":
        mode = torch.onnx.TrainingMode.TRAINING
        options = {"dynamo": False, "training": mode, "do_constant_folding": False}
    if case.before_export:
        case.before_export(case.module)
    torch.onnx.export(
        case.module,
        tuple(case.inputs.values()),
        str(path),
        input_names=list(case.inputs),
        output_names=["output"],
        external_data=False,
        **options,
    )


def prepare(job):
    """Writes NAME.onnx and NAME.npz, and describes the model. Each part begins with a new
    model, because a pass in training mode changes the statistics of batch norms."""
    import numpy as np

    folder = pathlib.Path(job["folder"])
    case = make_case(job)
    np.savez(folder / f"{job['name']}.npz", **{n: t.numpy() for n, t in case.arrays().items()})
    # Exporters print to stdout.
    with contextlib.redirect_stdout(sys.stderr):
        export(case, folder / f"{job['name']}.onnx", job["exporter"])
    parameters = sum(p.numel() for p in case.module.parameters() if p.requires_grad)
    return {
        "parameters": parameters,
        "options": [*case.options(), f"--lr={case.rate}", "--weight-decay=0.01"],
        "gflops": count_gflops(make_case(job)),
        "losses": Training(make_case(job)).losses(job["losses"])["losses"],
    }


def measure_peak(size):
    """GFLOP/s of a product of square matrices in f32 and bf16, the best of ten. Smaller
    matrices are enough where there are no instructions for bf16."""
    rates = {}
    for name, dtype in (("fp32", torch.float32), ("bf16", torch.bfloat16)):
        extent = size
        while extent > 256 and time_product(extent // 4, dtype) > 0.02:
            extent //= 2
        rates[name] = 2 * extent**3 / min(time_product(extent, dtype) for _ in range(10)) / 1e9
    return rates


def time_product(size, dtype):
    a, b = (torch.randn(size, size).to(dtype) for _ in range(2))
    out = torch.empty_like(a)
    start = time.perf_counter()
    torch.mm(a, b, out=out)
    return time.perf_counter() - start


def main():
    job = json.loads(sys.argv[1])
    if job["mode"] == "peak":
        return say(measure_peak(job["size"]))
    if job["mode"] == "prepare":
        return say(prepare(job))
    device = job.get("device", "cpu")
    training = Training(make_case(job), job["mode"], job["precision"], device)
    imported = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    say({"ready": True, "peak_bytes": imported})
    serve({"steps": training.time, "losses": training.losses})


if __name__ == "__main__":
    main()
