"""Compares loss and gradients of deep nets with f64, next to PyTorch's own in f32.

usage: deep_nets.py MPC [--only=REGEX] [--batch=2,8] [--batches=4] [--smooth] [--results=FILE]

Each net is trained for one step from the same weights on each of several
batches, by mpc in fp32, by PyTorch in f32, and by PyTorch in f64, which is the
reference. An error is the relative distance from it in the L2 norm; over the
batches, the root mean square. The columns are: the error of the loss, of the
gradient as one vector, and of its norm, each with the ratio of mpc's error to
PyTorch's in brackets; the median and the worst ratio of single tensors; and the
same ratio of the gradient for PyTorch without oneDNN, which shows the effect of
another order of summation.

--smooth replaces ReLU by Softplus and maxima by means. If the input of a ReLU is
within a rounding error of zero, errors depend on chance; in a smooth net they do
not. Nets that are not defined here are from timm (pip install timm onnxscript; no
torchvision is needed).
"""
import argparse
import json
import logging
import os
import re
import statistics
import sys
import tempfile
import warnings

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [HERE, os.path.join(HERE, "..", "..")]
warnings.filterwarnings("ignore")
import torch
import torch.nn as nn
import torch.nn.functional as F

import deep_sweep
import no_torchvision
import npz

CLASSES = 5
ULP = 2.0**-23


def timm_net(name, **options):
    def make():
        no_torchvision.install()
        import timm
        if name == "densenet":
            from timm.models.densenet import DenseNet
            return DenseNet(num_classes=CLASSES, **options)
        return timm.create_model(name, num_classes=CLASSES, **options)
    return make


class PreActivation(nn.Module):
    def __init__(self, before, width, stride):
        super().__init__()
        after = 4 * width
        self.norm1, self.conv1 = nn.BatchNorm2d(before), nn.Conv2d(before, width, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, stride, 1, bias=False)
        self.norm3, self.conv3 = nn.BatchNorm2d(width), nn.Conv2d(width, after, 1, bias=False)
        self.act = nn.ReLU()
        self.down = nn.Conv2d(before, after, 1, stride, bias=False) \
            if before != after or stride > 1 else None

    def forward(self, x):
        inner = self.act(self.norm1(x))
        x = x if self.down is None else self.down(inner)
        inner = self.conv1(inner)
        inner = self.conv2(self.act(self.norm2(inner)))
        return x + self.conv3(self.act(self.norm3(inner)))


class ResNet1001(nn.Module):
    def __init__(self, width=4, blocks=111):
        super().__init__()
        self.stem = nn.Conv2d(3, 16, 3, 1, 1, bias=False)
        layers, before = [], 16
        for stage in range(3):
            for block in range(blocks):
                layers.append(PreActivation(before, width << stage,
                                            2 if stage and not block else 1))
                before = 4 * (width << stage)
        self.blocks, self.norm = nn.Sequential(*layers), nn.BatchNorm2d(before)
        self.act, self.head = nn.ReLU(), nn.Linear(before, CLASSES)

    def forward(self, x):
        return self.head(self.act(self.norm(self.blocks(self.stem(x)))).mean((2, 3)))


class Layer(nn.Module):
    def __init__(self, width, heads, is_pre_norm):
        super().__init__()
        self.heads, self.is_pre_norm = heads, is_pre_norm
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.inner, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)
        self.act = nn.GELU() if is_pre_norm else nn.ReLU()

    def attend(self, x):
        batch, length, width = x.shape
        q, k, v = (part.reshape(batch, length, self.heads, -1).transpose(1, 2)
                   for part in self.inner(x).chunk(3, 2))
        return self.out(F.scaled_dot_product_attention(q, k, v).transpose(1, 2)
                        .reshape(batch, length, width))

    def forward(self, x):
        if self.is_pre_norm:
            x = x + self.attend(self.norm1(x))
            return x + self.down(self.act(self.up(self.norm2(x))))
        x = self.norm1(x + self.attend(x))
        return self.norm2(x + self.down(self.act(self.up(x))))


class Transformer(nn.Module):
    def __init__(self, is_pre_norm, layers=200, width=32):
        super().__init__()
        self.tokens, self.places = nn.Embedding(50, width), nn.Embedding(16, width)
        self.layers = nn.Sequential(*[Layer(width, 2, is_pre_norm) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, CLASSES)

    def forward(self, x):
        x = self.layers(self.tokens(x) + self.places.weight)
        return self.head(self.norm(x).mean(1))


def batch_norm_mlp(layers, width=32):
    def make():
        parts, before = [], 16
        for _ in range(layers):
            parts += [nn.Linear(before, width), nn.BatchNorm1d(width), nn.ReLU()]
            before = width
        return nn.Sequential(*parts, nn.Linear(width, CLASSES))
    return make


class Recurrent(nn.Module):
    def __init__(self, kind, layers=8, width=24):
        super().__init__()
        self.cells = kind(12, width, layers, batch_first=True)
        self.head = nn.Linear(width, CLASSES)

    def forward(self, x):
        return self.head(self.cells(x)[0][:, -1])


# The input of each net: the shape of a sample, or of tokens.
NETS = {
    "bn-mlp-100": (batch_norm_mlp(100), (16,)),
    "bn-mlp-200": (batch_norm_mlp(200), (16,)),
    "post-norm-200": (lambda: Transformer(False), "tokens"),
    "pre-norm-200": (lambda: Transformer(True), "tokens"),
    "lstm-8": (lambda: Recurrent(nn.LSTM), (16, 12)),
    "gru-8": (lambda: Recurrent(nn.GRU), (16, 12)),
    "densenet": (timm_net("densenet", growth_rate=48, block_config=(6, 12, 64, 48)), (3, 64, 64)),
    "mobilenetv3": (timm_net("mobilenetv3_small_050"), (3, 64, 64)),
    "convnext": (timm_net("convnext_atto"), (3, 64, 64)),
    "efficientnet": (timm_net("efficientnet_b0"), (3, 64, 64)),
    "regnet": (timm_net("regnety_004"), (3, 64, 64)),
    "dla102": (timm_net("dla102"), (3, 64, 64)),
    "inception": (timm_net("inception_v3"), (3, 96, 96)),
    "resnet-152": (timm_net("resnet152"), (3, 64, 64)),
    "resnet-1001": (ResNet1001, (3, 32, 32)),
    "dpn107": (timm_net("dpn107"), (3, 64, 64)),
}


class WithLoss(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, x, labels):
        return F.cross_entropy(self.net(x), labels)


def smoothen(module):
    for name, child in module.named_children():
        if isinstance(child, (nn.ReLU, nn.ReLU6, nn.Hardswish)):
            setattr(module, name, nn.Softplus())
        elif isinstance(child, nn.Hardsigmoid):
            setattr(module, name, nn.Sigmoid())
        elif isinstance(child, nn.MaxPool2d):
            setattr(module, name, nn.AvgPool2d(child.kernel_size, child.stride, child.padding))
        else:
            smoothen(child)


def make(name, seed, smooth):
    torch.manual_seed(seed)
    net = NETS[name][0]()
    if smooth:
        smoothen(net)
    for part in net.modules():
        if isinstance(part, nn.modules.dropout._DropoutNd):
            part.p = 0.0
    with torch.no_grad():
        for parameter in net.parameters():
            parameter.add_(0.02 * torch.randn_like(parameter))
    return WithLoss(net).train()


def make_batches(name, batch, count):
    generator = torch.Generator().manual_seed(batch)
    shape = NETS[name][1]
    for _ in range(count):
        labels = torch.randint(CLASSES, (batch,), generator=generator)
        if shape == "tokens":
            yield torch.randint(50, (batch, 16), generator=generator), labels
        else:
            yield torch.randn((batch, *shape), generator=generator), labels


def run(module, x, labels, dtype):
    """Like torch_ops.run; restores the statistics of the module."""
    kept = {name: value.clone() for name, value in module.state_dict().items()}
    module.to(dtype)
    loss = module(x.to(dtype) if x.is_floating_point() else x, labels)
    parameters = dict(module.named_parameters())
    found = torch.autograd.grad(loss, list(parameters.values()), allow_unused=True)
    found = {name: (torch.zeros_like(parameters[name]) if gradient is None else gradient).double()
             for name, gradient in zip(parameters, found)}
    module.to(torch.float32).load_state_dict(kept)
    return loss.item(), found


def compile_net(program, module, x, labels, folder):
    logging.disable(logging.WARNING)
    torch.onnx.export(module, (x, labels), f"{folder}/net.onnx", dynamo=True, optimize=False,
                      input_names=["x", "labels"], output_names=["loss"], verbose=False)
    deep_sweep.mpc(program, "compile", "net.onnx", "--precision=fp32", "--optimizer=sgd",
                   f"--lr={deep_sweep.RATE:.0f}", "--loss=output:loss", "-o", "net.mpc",
                   folder=folder)


def step(program, module, x, labels, folder, index):
    kinds = {torch.float32: "<f4", torch.int64: "<i8"}
    npz.write(f"{folder}/{index}.npz", {
        name: npz.Array(kinds[value.dtype], value.shape, value.numpy().tobytes())
        for name, value in (("x", x), ("labels", labels))})
    out = deep_sweep.mpc(program, "train", "net.mpc", f"--data={index}.npz", "--steps=1",
                         f"--checkpoint-dir=run{index}", "--json", "--no-shuffle", folder=folder)
    after = deep_sweep.read_safetensors(f"{folder}/run{index}/step-1/model.safetensors")
    gradients = {}
    for name, parameter in module.named_parameters():
        before = parameter.detach().double()
        gradients[name] = (before - after.pop(name, before)) / deep_sweep.RATE
    return json.loads(out.splitlines()[0])["loss"], gradients


def norm(gradients):
    return sum(gradient.norm().item()**2 for gradient in gradients.values()) ** 0.5


def errors(found, reference):
    """Relative errors; for tensors without a gradient, relative to the whole gradient."""
    total = norm(reference[1])
    return {"loss": abs(found[0] - reference[0]) / abs(reference[0]),
            "gradient": norm({k: found[1][k] - g for k, g in reference[1].items()}) / total,
            "norm": abs(norm(found[1]) - total) / total,
            "tensors": {k: (found[1][k] - g).norm().item() / max(g.norm().item(), 1e-9 * total)
                        for k, g in reference[1].items()}}


def root_mean_square(values):
    return statistics.fmean(value * value for value in values) ** 0.5


def over_batches(rows):
    return {key: root_mean_square([row[key] for row in rows]) for key in ("loss", "gradient", "norm")} \
        | {"tensors": {name: root_mean_square([row["tensors"][name] for row in rows])
                       for name in rows[0]["tensors"]}}


def measure(name, batch, options, folder):
    module = make(name, options.seed, options.smooth)
    batches = list(make_batches(name, batch, options.batches))
    compile_net(options.mpc, module, *batches[0], folder)
    rows = {"mpc": [], "torch": [], "plain": []}
    for index, (x, labels) in enumerate(batches):
        reference = run(module, x, labels, torch.float64)
        rows["torch"].append(errors(run(module, x, labels, torch.float32), reference))
        with torch.backends.mkldnn.flags(enabled=False):
            rows["plain"].append(errors(run(module, x, labels, torch.float32), reference))
        rows["mpc"].append(errors(step(options.mpc, module, x, labels, folder, index), reference))
    found = {side: over_batches(of_side) for side, of_side in rows.items()}
    return {"net": name, "batch": batch, "smooth": options.smooth, "seed": options.seed,
            "batches": options.batches, **found,
            "each": {side: [{key: row[key] for key in ("loss", "gradient", "norm")}
                            for row in of_side] for side, of_side in rows.items()}}


def show(record):
    mine, theirs, plain = record["mpc"], record["torch"], record["plain"]

    def pair(key, floor):
        return f"{mine[key]:.1e} ({mine[key] / max(theirs[key], floor):.2f})"

    usual = statistics.median(theirs["tensors"].values())
    ratios = {k: e / max(theirs["tensors"][k], usual, ULP)
              for k, e in mine["tensors"].items()}
    worst = max(ratios, key=ratios.get)
    gradient = plain["gradient"] / max(theirs["gradient"], ULP)
    print(f"{record['net'] + (' smooth' if record['smooth'] else ''):22}{record['batch']:3}  "
          f"{pair('loss', ULP):16}{pair('gradient', ULP):16}"
          f"{pair('norm', ULP):16}{statistics.median(ratios.values()):6.2f}"
          f"{ratios[worst]:8.2f}{gradient:7.2f}  {worst}", flush=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("mpc", type=os.path.abspath)
    parser.add_argument("--only", default="")
    parser.add_argument("--batch", default="2,8")
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--smooth", action="store_true")
    parser.add_argument("--results")
    options = parser.parse_args()
    print(f"{'net':20}batch  loss            gradient        its norm        tensors: middle, "
          f"worst, plain PyTorch")
    for name in NETS:
        for batch in map(int, options.batch.split(",")):
            if not re.search(options.only, name):
                continue
            with tempfile.TemporaryDirectory(prefix="deep-") as folder:
                try:
                    record = measure(name, batch, options, folder)
                except deep_sweep.Failed as failure:
                    print(f"{name} {batch}: {failure}", flush=True)
                    continue
            if options.results:
                with open(options.results, "a") as file:
                    file.write(json.dumps(record) + "\n")
            show(record)


if __name__ == "__main__":
    main()
