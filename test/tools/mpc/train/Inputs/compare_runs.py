"""Compares the losses of two runs, step by step.

Usage: compare_runs.py LOG LOG STEPS TOLERANCE. The logs are what `mpc train --json`
writes; the tolerance is relative to the loss of the first log, or to 1 where that is
less. Prints the largest difference.
"""
import json
import sys


def read_losses(path):
    lines = [line for line in open(path) if line.startswith("{")]
    rows = [json.loads(line) for line in lines]
    return [row["loss"] for row in rows if "step" in row and "loss" in row]


def main(first, second, steps, tolerance):
    losses, others = read_losses(first), read_losses(second)
    assert len(losses) == len(others) == int(steps), (len(losses), len(others))
    worst = max(abs(a - b) / max(1.0, abs(a)) for a, b in zip(losses, others))
    print(f"largest difference: {worst:.3g}")
    assert worst <= float(tolerance), f"{worst} > {tolerance}"
    assert losses[-1] < 0.7 * losses[0], "the model does not learn"


if __name__ == "__main__":
    main(*sys.argv[1:])
