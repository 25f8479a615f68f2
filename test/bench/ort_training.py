#!/usr/bin/env python3
"""A training step of ONNX Runtime's artifacts: mpc compared with the package that made them.

usage: ort_training.py MPC [--rounds=N] [--models=REGEX]

Runs in an environment with onnxruntime-training==1.19.2 and what it needs (see
test/models/make_ort_artifacts.py). Both run in turn, on all cores, in the same process
tree; the ratio of a round is ONNX Runtime's time over mpc's. Prints a table of medians.
"""
import argparse
import pathlib
import re
import statistics
import subprocess
import tempfile
import time

import numpy as np
import onnx
import torch
import torch.nn as nn
from onnxruntime.training import api, artifacts


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (p.reshape(b, t, self.heads, -1).transpose(1, 2)
                   for p in self.qkv(self.norm1(x)).split(w, 2))
        scores = torch.softmax(q @ k.transpose(2, 3) * (w // self.heads) ** -0.5, 3)
        x = x + self.out((scores @ v).transpose(1, 2).reshape(b, t, w))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Transformer(nn.Module):
    def __init__(self, width=128, layers=4, words=512, length=64):
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Parameter(torch.zeros(1, length, width))
        self.blocks = nn.Sequential(*[Block(width, 4) for _ in range(layers)])
        self.head = nn.Linear(width, 10)

    def forward(self, x):
        return self.head(self.blocks(self.words(x) + self.places).mean(1))


def mlp():
    return nn.Sequential(nn.Linear(784, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(),
                         nn.Linear(512, 10))


def cnn():
    layers, before = [], 3
    for channels in (32, 64, 128):
        layers += [nn.Conv2d(before, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU(),
                   nn.MaxPool2d(2)]
        before = channels
    return nn.Sequential(*layers, nn.Flatten(), nn.Linear(128 * 16, 10))


class Embedding(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.last = nn.Embedding(20000, 64), nn.Linear(64, 10)

    def forward(self, x):
        return self.last(self.table(x).mean(1))


MODELS = {
    "mlp 784-512-512-10, batch 64": (mlp, 64, (784,), 0, 200),
    "cnn 3 x conv, batch norm, 32 x 32, batch 32": (cnn, 32, (3, 32, 32), 0, 30),
    "transformer d 128, 4 layers, T 64, batch 16": (Transformer, 16, (64,), 512, 15),
    "embedding 20000 x 64, T 16, batch 64": (Embedding, 64, (16,), 20000, 100),
}


def generate(make, batch, shape, words, folder):
    torch.manual_seed(0)
    model = make().train()
    x = (torch.randint(words, (batch, *shape)) if words else torch.randn(batch, *shape))
    path = folder / "forward.onnx"
    torch.onnx.export(model, (x,), path, input_names=["x"], output_names=["output"],
                      opset_version=15, dynamo=False, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING)
    proto = onnx.load(path)
    names = [t.name for t in proto.graph.initializer]
    frozen = [n for n in names if "running_" in n]
    trained = [n for n, _ in model.named_parameters()]
    artifacts.generate_artifacts(proto, requires_grad=trained, frozen_params=frozen,
                                 loss=artifacts.LossType.CrossEntropyLoss,
                                 optimizer=artifacts.OptimType.AdamW, artifact_directory=folder)
    path.unlink()
    return x.numpy()


class Package:
    """ONNX Runtime's own package."""

    def __init__(self, folder, x, labels):
        self.module = api.Module(str(folder / "training_model.onnx"),
                                 api.CheckpointState.load_checkpoint(str(folder / "checkpoint")))
        self.optimizer = api.Optimizer(str(folder / "optimizer_model.onnx"), self.module)
        self.x, self.labels = x, labels

    def run(self, steps):
        self.module.train()
        begin = time.perf_counter()
        for _ in range(steps):
            self.module(self.x, self.labels)
            self.optimizer.step()
            self.module.lazy_reset_grad()
        return (time.perf_counter() - begin) / steps


class Compiled:
    """mpc, with data from a file."""

    def __init__(self, mpc, folder, precision, data):
        self.mpc, self.data = mpc, data
        self.package = folder / f"{precision}.mpc"
        subprocess.run([mpc, "compile", folder, f"--precision={precision}", "-o", self.package],
                       check=True, capture_output=True)

    def run(self, steps):
        out = subprocess.run([self.mpc, "train", self.package, "--data", self.data,
                              f"--steps={steps}"], check=True, capture_output=True, text=True)
        value, unit = re.search(r"steps in ([\d.]+) (ms|s)", out.stdout).groups()
        return float(value) * {"ms": 1e-3, "s": 1}[unit] / steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpc")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--models", default="")
    options = parser.parse_args()
    print("| model | ONNX Runtime ms | mpc fp32 ms | ratio | mpc bf16 ms | ratio |")
    print("| --- | --- | --- | --- | --- | --- |")
    for name, (make, batch, shape, words, steps) in MODELS.items():
        if not re.search(options.models, name):
            continue
        with tempfile.TemporaryDirectory() as place:
            folder = pathlib.Path(place)
            x = generate(make, batch, shape, words, folder)
            labels = np.random.default_rng(0).integers(0, 10, batch)
            np.savez(folder / "data.npz", x=x, labels=labels)
            package = Package(folder, x, labels)
            compiled = [Compiled(options.mpc, folder, p, folder / "data.npz")
                        for p in ("fp32", "bf16")]
            rounds = []
            for runner in (package, *compiled):
                runner.run(3)
            for _ in range(options.rounds):
                rounds.append([runner.run(steps) for runner in (package, *compiled)])
            times = [statistics.median(column) for column in zip(*rounds)]
            ratios = [statistics.median(r[0] / r[i] for r in rounds) for i in (1, 2)]
            print(f"| {name} | {1e3 * times[0]:.2f} | {1e3 * times[1]:.2f} | {ratios[0]:.2f} | "
                  f"{1e3 * times[2]:.2f} | {ratios[1]:.2f} |", flush=True)


main()
