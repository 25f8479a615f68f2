#!/usr/bin/env python3
"""PyTorch's side of digits.py: builds one model, then answers each line

    STEPS

on stdin with nanoseconds per training step on stdout.

usage: torch_worker.py mlp|cnn fp32|bf16 eager|compile BATCH THREADS
"""
import contextlib
import sys
import time

import torch
from torch import nn


def conv_bn(channels_in, channels_out):
    return [
        nn.Conv2d(channels_in, channels_out, 3, padding=1),
        nn.BatchNorm2d(channels_out),
    ]


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(*conv_bn(1, 32), nn.ReLU(), nn.MaxPool2d(2))
        self.block = nn.Sequential(*conv_bn(32, 32), nn.ReLU(), *conv_bn(32, 32))
        self.last = nn.Sequential(nn.ReLU(), *conv_bn(32, 32), nn.ReLU())
        self.fc = nn.Linear(32, 10)

    def forward(self, images):
        x = self.stem(images)
        x = self.last(self.block(x) + x)
        return self.fc(x.mean((2, 3)))


def make_mlp():
    return nn.Sequential(
        nn.Flatten(),
        nn.Linear(64, 256),
        nn.LayerNorm(256),
        nn.GELU(),
        nn.Dropout(0.1),
        nn.Linear(256, 10),
    )


def main():
    model_name, precision, mode, batch, threads = sys.argv[1:6]
    torch.set_num_threads(int(threads))
    torch.manual_seed(1)
    model = make_mlp() if model_name == "mlp" else Cnn()
    images = torch.rand(int(batch), 1, 8, 8)
    if model_name == "cnn":
        # The layout PyTorch recommends for convolutions on a CPU.
        model = model.to(memory_format=torch.channels_last)
        images = images.contiguous(memory_format=torch.channels_last)
    labels = torch.randint(0, 10, (int(batch),))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)

    def forward():
        with (
            torch.autocast("cpu", torch.bfloat16)
            if precision == "bf16"
            else contextlib.nullcontext()
        ):
            return nn.functional.cross_entropy(model(images), labels)

    update = optimizer.step
    if mode == "compile":
        forward = torch.compile(forward)
        update = torch.compile(optimizer.step)

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        update()
        return loss

    for _ in range(100):
        step()
    print("ready", flush=True)
    for line in sys.stdin:
        steps = int(line)
        start = time.perf_counter_ns()
        for _ in range(steps):
            loss = step().item()  # mpc also returns the loss of every step.
        print((time.perf_counter_ns() - start) / steps, flush=True)


if __name__ == "__main__":
    main()
