#!/usr/bin/env python3
"""Writes goldens/update_scale.txt: loss scales as updated by PyTorch.

For each setting, by torch._amp_update_scale_, which GradScaler calls: every pattern of overflows of
length 1 to 16 from a fresh scaler, and a million longer ones, drawn by splitmix64, that begin
anywhere in the interval. A line is the setting (scale, growth, backoff, interval) and of either
kind an FNV-1a hash over scale and growth tracker as they stand after each pattern.

Needs numpy and torch 2.13. The results are in the repository.
"""
import pathlib

import numpy as np
import torch

HERE = pathlib.Path(__file__).resolve().parent
MASK = (1 << 64) - 1
SETTINGS = [
    (65536, 2, 0.5, 2000),  # PyTorch's defaults.
    (65536, 2, 0.5, 3),
    (1000, 1.5, float(np.float32(0.3)), 2),  # Not powers of two; factors are f32.
    (2.0**120, 2, 0.5, 1),  # Would grow to infinity.
]


class Random:
    """splitmix64."""

    def __init__(self):
        self.state = 20

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


class Scaler:
    def __init__(self, scale, growth, backoff, interval):
        self.scale = torch.tensor(scale, dtype=torch.float32)
        self.tracker = torch.tensor(0, dtype=torch.int32)
        self.initial, self.rule = scale, (growth, backoff, interval)
        self.found = [torch.tensor(0.0), torch.tensor(1.0)]
        self.hash = 0xCBF29CE484222325

    def run(self, streak, overflows, length):
        self.scale.fill_(self.initial)
        self.tracker.fill_(streak)
        for _ in range(length):
            torch._amp_update_scale_(self.scale, self.tracker, self.found[overflows & 1], *self.rule)
            overflows >>= 1
        bits = int(np.float32(self.scale.item()).view(np.uint32))
        for word in (bits, self.tracker.item()):
            self.hash = ((self.hash ^ word) * 0x100000001B3) & MASK


def every_pattern(scaler):
    for length in range(1, 17):
        for overflows in range(1 << length):
            scaler.run(0, overflows, length)
    return scaler.hash


def random_patterns(scaler, interval):
    random = Random()
    for _ in range(1000000):
        overflows = random.next()
        for _ in range(random.next() % 6):
            overflows &= random.next()
        streak = interval - 1 - random.next() % min(interval, 64)
        scaler.run(streak, overflows, 17 + random.next() % 48)
    return scaler.hash


def main():
    lines = ["# Made by make_update_scale.py with torch " + torch.__version__]
    for setting in SETTINGS:
        text = " ".join(f"{number:.9g}" for number in setting)
        every = every_pattern(Scaler(*setting))
        lines.append(f"{text} {every:016x} {random_patterns(Scaler(*setting), setting[3]):016x}")
    (HERE / "goldens/update_scale.txt").write_text("\n".join(lines) + "\n")


main()
