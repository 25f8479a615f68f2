#!/usr/bin/env python3
"""Compares what `mpc train --json` wrote with a golden of digits/, transformers/,
detach/ or training_info/.

compare.py MODEL OPTIMIZER RUN.json --loss=TOLERANCE --norm=TOLERANCE
"""
import argparse
import json
import pathlib
import sys

parser = argparse.ArgumentParser()
parser.add_argument("model")
parser.add_argument("optimizer")
parser.add_argument("run", type=pathlib.Path)
parser.add_argument("--loss", type=float, required=True)
parser.add_argument("--norm", type=float, required=True)
options = parser.parse_args()

goldens = {}
for group in ("digits", "transformers", "detach", "training_info"):
    text = (pathlib.Path(__file__).parent / group / f"{group}.json").read_text()
    for model, runs in json.loads(text).items():
        goldens.setdefault(model, {}).update(runs)
golden = goldens[options.model][options.optimizer]
lines = [json.loads(line) for line in options.run.read_text().splitlines()]
steps = [line for line in lines if "step" in line and "loss" in line]

assert len(steps) == len(golden["loss"]), f"{len(steps)} steps"


def compare(what, found, expected, tolerance):
    error = max(abs(a - b) / abs(b) for a, b in zip(found, expected))
    print(f"{options.model} {options.optimizer}: {what} differs by {error:.1e}")
    return error <= tolerance


good = [
    compare("loss", [s["loss"] for s in steps], golden["loss"], options.loss),
    compare("norm", [s["grad_norm"] for s in steps], golden["grad_norm"], options.norm),
]
if "eval_loss" in golden:
    evaluation = next(line for line in reversed(lines) if "eval_loss" in line)
    good.append(
        compare("eval", [evaluation["eval_loss"]], [golden["eval_loss"]], options.loss)
    )
sys.exit(not all(good))
