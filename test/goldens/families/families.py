#!/usr/bin/env python3
"""Trains the models of GROUP/ for 20 steps and compares their losses with PyTorch's in GROUP/GROUP.json (make_families.py).

families.py MPC GROUP FOLDER [--only REGEX]: FOLDER is for what it writes. Every file is trained in fp32, and the first
of each model in bf16 too. MPC_HALF=0 or 1 runs every other one.
"""
import argparse
import itertools
import json
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
STEPS = 20
# In fp32 rounding causes errors of 1e-7; a change of the weights by a millionth causes up to 2e-5 (make_families.py).
FP32 = 1e-4
# bf16 rounds in other places than PyTorch; if that matters more, the error must not exceed PyTorch's own.
BF16 = 1e-2


def run(*command):
    done = subprocess.run([*map(str, command)], text=True, capture_output=True)
    if done.returncode != 0:
        lines = done.stderr.splitlines()
        raise RuntimeError(next((line for line in lines if "error" in line), f"exit status {done.returncode}"))
    return done.stdout


def losses_of(mpc, model, data, options, package):
    run(mpc, "compile", model, *options, "--optimizer=adamw", "--lr=0.003", "-o", package)
    lines = run(mpc, "train", package, f"--data={data}", f"--steps={STEPS}", "--no-shuffle", "--threads=1",
                "--device=cpu", "--json").splitlines()
    package.unlink()
    return [line["loss"] for line in map(json.loads, lines) if "step" in line and "loss" in line]


def worst(found, expected):
    """The step (from 1) with the largest error, and the error. NaN counts as infinite."""
    apart = [abs(a - b) / abs(b) for a, b in zip(found, expected, strict=True)]
    step = max(range(len(apart)), key=lambda i: apart[i] if apart[i] == apart[i] else float("inf"))
    return step + 1, apart[step]


def check(found, golden, precision):
    """The report on a model, and whether it passes."""
    if len(found) != STEPS or None in found:
        return f"{len(found)} losses, not all numbers: {found}", False
    expected = golden[precision] or golden["fp32"] # PyTorch cannot run some models in bf16.
    step, apart = worst(found, expected)
    text = f"{apart:.1e} at step {step}: mpc {found[step - 1]:.8g}, PyTorch {expected[step - 1]:.8g}"
    if precision == "fp32":
        return text, apart <= FP32
    step, ours = worst(found, golden["fp32"])
    theirs = worst(expected, golden["fp32"])[1]
    return f"{text}; from fp32 {ours:.1e} at step {step}, PyTorch {theirs:.1e}", apart <= BF16 or ours < theirs


def half():
    """Endless: whether to run the first, second, ... training."""
    chosen = os.environ.get("MPC_HALF")
    return itertools.cycle((chosen != "1", chosen != "0"))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpc")
    parser.add_argument("group")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--only", default="")
    arguments = parser.parse_args()
    goldens = json.loads((HERE / arguments.group / f"{arguments.group}.json").read_text())
    folder, failures = HERE / arguments.group, []
    listed = {f"{name}-{exporter}" for name, golden in goldens.items() for exporter in golden["exporters"]}
    assert listed and listed == {file.stem for file in folder.glob("*.onnx")}, f"{folder} has other models than its .json"
    chosen = half()
    for name, golden in goldens.items():
        if not re.search(arguments.only, name):
            continue
        for exporter in golden["exporters"]:
            for precision in ("fp32", "bf16") if exporter == golden["exporters"][0] else ("fp32",):
                if not next(chosen):
                    continue
                what, options = f"{name} {exporter} {precision}", [*golden["options"], f"--precision={precision}"]
                try:
                    found = losses_of(arguments.mpc, folder / f"{name}-{exporter}.onnx", folder / f"{name}.npz",
                                      options, arguments.folder / f"{name}.mpc")
                    text, good = check(found, golden, precision)
                except RuntimeError as error:
                    text, good = str(error), False
                print(f"{what}: {text}", flush=True)
                if not good:
                    failures.append(f"{what}: {text}")
    sys.exit("\nnot as PyTorch:\n" + "\n".join(failures) if failures else 0)


if __name__ == "__main__":
    main()
