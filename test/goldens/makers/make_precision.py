#!/usr/bin/env python3
"""Writes precision/: five models that can fail in 16 bit, and their results with autocast.

Each does by hand what a framework's lists do not see: it centres inputs that lie far from
zero, gates and normalizes a weight, slices one weight into two, shares a bias, writes out
RMSNorm on values above 256. precision.json has, for the first batch and the exported
weights, how far PyTorch's gradients under autocast are from those in f32: the norm of the
difference over that of the gradient. The data are the digits of runtime/examples.

Needs numpy, onnx, onnxscript and torch 2.13. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parents[1]
DIGITS = HERE.parents[1] / "runtime/examples/digits"
BATCH, WIDTH, CLASSES = 64, 64, 10
SCALE = 1024 # Loss scale, so that f16 can represent small gradients.


class Centre(nn.Module):
    """Pixels of 1000 to 1001, which 8 bits cannot distinguish."""

    def __init__(self, pixels):
        super().__init__()
        self.register_buffer("mean", 1000 + pixels.mean(0))
        self.register_buffer("spread", pixels.std(0) + 0.1)
        self.hidden, self.head = nn.Linear(64, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(F.relu(self.hidden((x + 1000 - self.mean) / self.spread)))


class Gate(nn.Module):
    def __init__(self, _):
        super().__init__()
        self.weight, self.gate = nn.Parameter(torch.randn(WIDTH, 64)), nn.Parameter(torch.randn(WIDTH, 1))
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        norm = torch.sqrt((self.weight * self.weight).sum(1, keepdim=True))
        return self.head(F.relu(F.linear(x, self.weight / norm * torch.sigmoid(self.gate))))


class Slice(nn.Module):
    def __init__(self, _):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(2 * WIDTH, 64) / 8)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        return self.head(F.linear(x, self.weight[:WIDTH]) * torch.sigmoid(F.linear(x, self.weight[WIDTH:])))


class Share(nn.Module):
    def __init__(self, _):
        super().__init__()
        self.bias = nn.Parameter(torch.randn(WIDTH) / 8)
        self.first, self.second = nn.Linear(64, WIDTH, bias=False), nn.Linear(WIDTH, WIDTH, bias=False)
        self.head = nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        h = torch.tanh(self.first(x) + self.bias)
        return self.head(torch.tanh(self.second(h) + self.bias))


class Norm(nn.Module):
    def __init__(self, _):
        super().__init__()
        self.scale = nn.Parameter(torch.ones(WIDTH))
        self.hidden, self.head = nn.Linear(64, WIDTH), nn.Linear(WIDTH, CLASSES)

    def forward(self, x):
        h = self.hidden(x * 500)
        h = h / torch.sqrt(h.pow(2).mean(1, keepdim=True) + 1e-6) * self.scale
        return self.head(F.relu(h))


def gradient(model, images, labels, low):
    model.zero_grad()
    with torch.autocast("cpu", low or torch.bfloat16, enabled=low is not None):
        output = model(images)
    (F.cross_entropy(output.float(), labels) * SCALE).backward()
    return torch.cat([p.grad.double().flatten() / SCALE for p in model.parameters()])


def main():
    folder = HERE / "precision"
    folder.mkdir(exist_ok=True)
    data = np.load(DIGITS / "digits-train.npz")
    images = torch.from_numpy(data["images"].reshape(-1, 64).astype(np.float32))
    labels = torch.from_numpy(data["labels"].astype(np.int64))
    golden = {}
    for kind in (Centre, Gate, Slice, Share, Norm):
        torch.manual_seed(1)
        name, model = kind.__name__.lower(), kind(images)
        path = folder / f"{name}.onnx"
        torch.onnx.export(nn.Sequential(nn.Flatten(), model), (torch.from_numpy(data["images"][:BATCH]),), path,
                          input_names=["images"], output_names=["logits"], dynamo=False, opset_version=18,
                          do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING)
        proto = onnx.load(path)
        for node in proto.graph.node: # Remove local paths.
            node.ClearField("doc_string")
        onnx.save(proto, path)
        batch = images[:BATCH], labels[:BATCH]
        exact = gradient(model, *batch, None)
        golden[name] = {
            precision: float(f"{((gradient(model, *batch, low) - exact).norm() / exact.norm()).item():.3g}")
            for precision, low in (("bf16", torch.bfloat16), ("fp16", torch.float16))}
    (folder / "precision.json").write_text(json.dumps(golden, indent=1) + "\n")
    print(json.dumps(golden, indent=1))


if __name__ == "__main__":
    main()
