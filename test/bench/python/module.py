"""Milliseconds of a training step of PyTorch: eager, torch.compile, and mpc.torch.Module.

    PYTHONPATH=build/python:test/bench PYTHON test/bench/python/module.py [NAME...] \\
        [--precision fp32|bf16] [--rounds N] [--seconds S] [--no-compile]

The names are those of models.py; PyTorch's loss and fused AdamW belong to all steps. All sides of
a model live in one process and take turns; each round gives the median of its steps, and the
table the best round. The table also has the time of the first step, which compiles, and by how
much the losses of mpc's first steps differ from those of eager PyTorch.
"""

import argparse
import statistics
import time
import warnings

import torch

import mpc.torch
from models.worker import Training, make_case

warnings.simplefilter("ignore")
DEFAULT = ["gpt2", "llama", "bert", "vit", "lstm", "resnet50"]


class Compiled(Training):
    """Training with the module compiled by mpc."""

    def __init__(self, case, precision):
        super().__init__(case, precision=precision)
        case.module = mpc.torch.Module(case.module, precision=precision)
        self.low = False


def make_side(name, side, precision):
    job = {"name": name, "tiny": False}
    if side == "mpc":
        return Compiled(make_case(job), precision)
    return Training(make_case(job), mode=side, precision=precision)


def median_step(training, seconds):
    times = []
    begin = time.perf_counter()
    while not times or time.perf_counter() - begin < seconds:
        start = time.perf_counter()
        training.step()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def measure(name, sides, arguments):
    trainings, first, losses = {}, {}, {}
    for side in sides:
        trainings[side] = make_side(name, side, arguments.precision)
        start = time.perf_counter()
        losses[side] = [float(trainings[side].step())]
        first[side] = time.perf_counter() - start
        losses[side] += [float(trainings[side].step()) for _ in range(4)]
    best = {side: float("inf") for side in sides}
    for number in range(arguments.rounds):
        for side in sides if number % 2 == 0 else reversed(sides):
            best[side] = min(best[side], median_step(trainings[side], arguments.seconds))
    apart = max(abs(a - b) / abs(b) for a, b in zip(losses["mpc"], losses["eager"]))
    others = min(best[side] for side in sides if side != "mpc")
    print(
        f"| {name} | "
        + " | ".join(f"{1000 * best[side]:.1f}" for side in sides)
        + f" | {others / best['mpc']:.2f} | {first['mpc']:.1f} s | {apart:.1e} |",
        flush=True,
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=DEFAULT)
    parser.add_argument("--precision", default="fp32")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--no-compile", action="store_true")
    arguments = parser.parse_args()
    sides = ["eager", "mpc"] if arguments.no_compile else ["eager", "compile", "mpc"]
    print(f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads, {arguments.precision}")
    print("| model | " + " | ".join(sides) + " | ratio to the better | first step | losses apart |")
    print("|" + " --- |" * (len(sides) + 4))
    for name in arguments.names:
        measure(name, sides, arguments)


if __name__ == "__main__":
    main()
