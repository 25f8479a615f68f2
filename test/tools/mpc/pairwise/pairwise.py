#!/usr/bin/env python3
"""Crosses options with each other: every two values of two options meet in at least one
model that is compiled, trained, resumed, evaluated, used and exported.

usage: pairwise.py MPC DIGITS FOLDER [--part=I/N] [--row=N]

For each row of a covering array (rows are the same in every run):

- `mpc compile` accepts the options;
- losses of training are finite, and the same bits when it is interrupted and resumed;
- `mpc eval`, `mpc predict` and `mpc export` take the checkpoint, and an exported model
  is compiled again.

No row has values that CONFLICTS lists; each of these is compiled alone, and must be
rejected with its message.

--part runs every N-th of rows and conflicts, --row only one. MPC_LONG runs all, and
MPC_HALF=0 or 1 every other one of a part.
"""
import argparse
import functools
import itertools
import json
import math
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys

# The values of each factor: options of mpc compile, then of mpc train.
COMPILE = {
    "model": ("mlp", "cnn"),
    "precision": ("bf16", "fp32", "fp16", "tf32", "fp8"),
    "optimizer": (
        "sgd",
        "momentum",
        "adam",
        "adamw",
        "hf-adamw",
        "nadam",
        "lamb",
        "lion",
        "adagrad",
        "rmsprop",
    ),
    "momentum": ("", "--momentum=0.8", "--nesterov"),
    "master": ("", "--master-weights=bf16-kahan", "--master-weights=bf16-stochastic"),
    "accumulate": ("", "--accumulate=3"),
    "clip": ("", "--clip-norm=0.5", "--clip-value=0.01"),
    "ema": ("", "--ema=0.9", "--ema=0.9 --ema-warmup"),
    "schedule": (
        "",
        "--lr-schedule=cosine --warmup=0.2 --total-steps=6",
        "--lr-schedule=one-cycle --total-steps=6",
        "--lr-schedule=step --lr-period=2",
    ),
    "decay": ("", "--weight-decay=0.1 --no-decay=norms,biases", "--weight-decay=0"),
    "group": ("", "--group=fc:lr=0.1x,weight-decay=0"),
    "trained": ("", "--freeze=^(fc1|conv1)", "--train-only=^fc"),
    "loss": (
        "",
        "--label-smoothing=0.1",
        "--loss=softmax-focal",
        "--class-weights=1,1,1,1,1,2,2,2,2,2",
        "--class-weights=balanced",
        "--ignore-index=3",
    ),
    "loss_scale": ("", "--loss-scale=off", "--loss-scale=128", "--loss-scale-init=1e7"),
    "residual": ("", "--residual=fp32"),
    "observe": ("", "--check-numerics"),
    "norms": ("", "--batchnorm=frozen"),
    # All take batches of 32, which a value of "size" chooses for training.
    "batch": ("--batch=32", "--batch=64,32", "--batch=32,48 --eval-batch=1,200"),
    "init": ("", "--init={weights}", "--init={weights} --map-names=^fc=fc"),
    "cpu": ("", "--target-cpu=x86-64-v3", "--target=reference"),
}
TRAIN = {
    "threads": ("--threads=1", "--threads=2 --deterministic"),
    "order": ("", "--no-shuffle", "--seed=7", "--sampling=balanced"),
    "last": ("", "--last-batch=train"),
    "augmentation": ("", "--augment=flip,pad=1,cutout=2"),
    "evaluation": ("", "--eval-split=0.1", "--eval-split=0.1 --eval-every=2 --keep-best=loss"),
    "nan": ("", "--on-nan=skip", "--on-nan=rollback"),
    "rate": ("", "--lr=0.01"),
    "size": ("", "--batch=32"),
    "saving": ("", "--checkpoint-every=1 --checkpoint-keep=1"),
}
FACTORS = {**COMPILE, **TRAIN}
STEPS, INTERRUPTED = 6, 3


def but(factor, *values):
    """The other values of the factor."""
    return tuple(value for value in FACTORS[factor] if value not in values)


# Values of two factors that exclude each other, and the message of `mpc compile`.
CONFLICTS = (
    (("momentum", COMPILE["momentum"][1:]), ("optimizer", but("optimizer", "momentum", "rmsprop")), "no effect"),
    (("momentum", ("--nesterov",)), ("optimizer", ("rmsprop",)), "no effect"),
    (("master", COMPILE["master"][1:]), ("precision", but("precision", "bf16", "fp8")), "no effect"),
    (("residual", ("--residual=fp32",)), ("model", ("mlp",)), "no residual stream"),
    (("loss_scale", COMPILE["loss_scale"][1:]), ("precision", but("precision", "fp16")), "."),
    (("loss_scale", COMPILE["loss_scale"][1:]), ("master", COMPILE["master"][1:]), "."),
)


def exclude_each_other(one, other):
    """Whether two (factor, value) are in CONFLICTS."""
    for (a, xs), (b, ys), _ in CONFLICTS:
        for (name, x), (second, y) in ((one, other), (other, one)):
            if name == a and second == b and x in xs and y in ys:
                return True
    return False


def conflicts():
    """A row for each pair of values in CONFLICTS, otherwise of first values, and the message
    that must reject it."""
    for (a, xs), (b, ys), message in CONFLICTS:
        for x, y in itertools.product(xs, ys):
            row = {name: values[0] for name, values in FACTORS.items()}
            yield {**row, a: x, b: y}, message


# --- Rows ---------------------------------------------------------------------


def cover(factors, seed=1, candidates=40):
    """Rows in which every two values of two factors meet: greedily, the best of some
    candidates that begin with a pair that is left."""
    draw = random.Random(seed)
    names = list(factors)
    left = {
        frozenset(((a, x), (b, y)))
        for a, b in itertools.combinations(names, 2)
        for x in factors[a]
        for y in factors[b]
        if not exclude_each_other((a, x), (b, y))
    }
    rows = []
    while left:
        best, found = None, set()
        first = sorted(map(sorted, left))
        for _ in range(candidates):
            row = complete(dict(draw.choice(first)), factors, left, draw)
            covered = {
                pair
                for pair in map(frozenset, itertools.combinations((row or {}).items(), 2))
                if pair in left
            }
            if len(covered) > len(found):
                best, found = row, covered
        rows.append({name: best[name] for name in names})
        left -= found
    return rows


def complete(row, factors, left, draw):
    """Adds values to the row, those that cover most pairs first; None if all values of a
    factor are excluded."""
    for name in draw.sample(list(factors), len(factors)):
        if name in row:
            continue
        gain = {
            value: sum(frozenset(((name, value), pair)) in left for pair in row.items())
            for value in factors[name]
            if not any(exclude_each_other((name, value), pair) for pair in row.items())
        }
        if not gain:
            return None
        most = max(gain.values())
        row[name] = draw.choice([value for value, count in gain.items() if count == most])
    return row


# --- Running ------------------------------------------------------------------


class Failed(Exception):
    """What a row did wrong."""


class Runner:
    def __init__(self, mpc, digits, folder):
        self.mpc, self.digits, self.folder = mpc, digits, folder

    def run(self, *command):
        command = [self.mpc, *map(str, command)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=300)
        return done, " ".join(command)

    def must_run(self, *command):
        done, text = self.run(*command)
        if done.returncode != 0:
            raise Failed(f"{text}\n  exit status {done.returncode}: {done.stderr.strip()[-600:]}")
        return done.stdout

    def compile(self, row, model, package):
        options = [f"--precision={row['precision']}", f"--optimizer={row['optimizer']}"]
        for name in COMPILE:
            if name not in ("model", "precision", "optimizer"):
                options += row[name].split()
        if row["init"]:
            weights = self.weights(row["model"])
            options = [option.replace("{weights}", str(weights)) for option in options]
        data = f"--data={self.digits / 'digits-test.npz'}"
        done, text = self.run("compile", model, "-o", package, data, *options)
        return done, text

    @functools.cache
    def weights(self, model):
        """A checkpoint of the model after a step."""
        package, folder = self.folder / f"{model}.mpc", self.folder / f"{model}-weights"
        shutil.rmtree(folder, ignore_errors=True)
        self.must_run("compile", self.digits / f"{model}.onnx", "-o", package, "--batch=64")
        data = f"--data={self.digits / 'digits-test.npz'}"
        self.must_run("train", package, data, "--steps=1", f"--checkpoint-dir={folder}")
        return folder

    def must_reject(self, row, message):
        """Checks an entry of CONFLICTS."""
        model = self.digits / f"{row['model']}.onnx"
        done, text = self.compile(row, model, self.folder / "rejected.mpc")
        if done.returncode != 2 or not re.search(message, done.stderr):
            raise Failed(
                f"{text}\n  exit status {done.returncode}, expected an error with '{message}':"
                f" {done.stderr.strip()[-600:]}"
            )
        return "rejected"

    def train(self, row, package, steps, folder, *more):
        options = [option for name in TRAIN for option in row[name].split()]
        data = f"--data={self.digits / 'digits-test.npz'}"
        if row["cpu"] == "--target=reference":
            options = [o for o in options if not o.startswith(("--threads", "--determ"))]
        text = self.must_run(
            *("train", package, data, f"--steps={steps}", f"--checkpoint-dir={folder}"),
            *("--json", *options, *more),
        )
        return text.splitlines()

    def check_in(self, folder, row):
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return self.check(row, folder)

    def check(self, row, folder):
        package = folder / "model.mpc"
        done, text = self.compile(row, self.digits / f"{row['model']}.onnx", package)
        if done.returncode != 0:
            raise Failed(f"{text}\n  exit status {done.returncode}: {done.stderr.strip()[-600:]}")
        whole = self.train(row, package, STEPS, folder / "whole")
        losses = [json.loads(line) for line in whole]
        losses = [line["loss"] for line in losses if "loss" in line and "step" in line]
        if len(losses) < STEPS or not all(map(math.isfinite, losses)):
            raise Failed(f"losses {losses}")
        parts = self.train(row, package, INTERRUPTED, folder / "parts")
        parts += self.train(row, package, STEPS, folder / "parts", "--resume")
        if not same_course(whole, parts):
            raise Failed("resumed losses differ:\n" + "\n".join(whole + ["--"] + parts))
        for file in ("model.safetensors", "optimizer.safetensors", "state.json"):
            one, two = (folder / name / f"step-{STEPS}" / file for name in ("whole", "parts"))
            if one.exists() != two.exists() or (one.exists() and one.read_bytes() != two.read_bytes()):
                raise Failed(f"{one} and {two} differ")
        self.use(package, folder)
        return f"loss {losses[0]:.3f} to {losses[-1]:.3f}"

    def use(self, package, folder):
        test = f"--data={self.digits / 'digits-test.npz'}"
        checkpoint = f"--checkpoint={folder / 'whole'}"
        found = json.loads(self.must_run("eval", package, test, checkpoint, "--json"))
        if not math.isfinite(found["eval_loss"]):
            raise Failed(f"mpc eval: {found}")
        self.must_run("predict", package, test, checkpoint, f"--output={folder / 'p.npz'}")
        exported = folder / "trained.onnx"
        self.must_run("export", package, checkpoint, "-o", exported)
        self.must_run("compile", exported, "-o", folder / "again.mpc", "--batch=64")


def same_course(whole, parts):
    """Whether two runs have the same steps, and the same evaluations where both evaluate:
    an interrupted run also does at its end."""
    steps, evaluations = [], []
    for lines in (whole, parts):
        lines = list(map(json.loads, lines))
        steps.append([line for line in lines if "loss" in line and "step" in line])
        evaluations.append({line["step"]: line for line in lines if "eval_loss" in line})
    shared = set(evaluations[0]) & set(evaluations[1])
    return steps[0] == steps[1] and all(
        evaluations[0][step] == evaluations[1][step] for step in shared
    )


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("mpc")
    parser.add_argument("digits", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--part", default="0/1")
    parser.add_argument("--row", type=int)
    args = parser.parse_args()
    if os.environ.get("MPC_LONG"):
        args.part = "0/1"
    rows = cover(FACTORS)
    part, parts = map(int, args.part.split("/"))
    runner = Runner(args.mpc, args.digits, args.folder)
    checks = []
    for number, row in enumerate(rows):
        name = f"row {number}: {' '.join(filter(None, row.values()))}"
        checks.append((name, functools.partial(runner.check_in, args.folder / "row", row)))
    for row, message in conflicts():
        name = f"conflict: {' '.join(filter(None, row.values()))}"
        checks.append((name, functools.partial(runner.must_reject, row, message)))
    chosen = checks[part::parts] if args.row is None else [checks[args.row]]
    if "MPC_HALF" in os.environ:
        chosen = chosen[int(os.environ["MPC_HALF"]) :: 2]
    failures = 0
    for name, check in chosen:
        try:
            print(f"{name}: {check()}", flush=True)
        except (Failed, subprocess.TimeoutExpired, ValueError, KeyError) as failure:
            failures += 1
            print(f"{name} FAILED\n  {failure}", flush=True)
    print(f"{len(chosen)} rows and conflicts, {failures} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
