#!/usr/bin/env python3
"""Trains the models of precision/ in three precisions and compares.

precision.py MPC DIGITS FOLDER: FOLDER is for output files. Gradients are computed from one
step of SGD with learning rate 1 from the weights in the file: the difference between two
precisions after it is the difference of their gradients.
"""
import json
import math
import pathlib
import struct
import subprocess
import sys

mpc, digits, folder = sys.argv[1], pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
here = pathlib.Path(__file__).resolve().parent / "precision"
# One batch is a sample of rounding errors: ours and autocast's differ by a tenth even if
# they round the same tensors.
SLACK = 1.1
POINT = 0.01 # Largest difference in accuracy.
failures = []


def run(*arguments):
    done = subprocess.run([mpc, *map(str, arguments)], text=True, capture_output=True)
    if done.returncode != 0:
        sys.exit(done.stderr)
    return done.stdout


def prepare(name, precision, *options):
    package = folder / f"{name}-{precision}.mpc"
    # PyTorch's buffers are initializers in the file, and would be trained.
    options += ("--freeze=mean|spread",) if name == "centre" else ()
    scale = ["--loss-scale-init=1024"] if precision == "fp16" else []
    run("compile", here / f"{name}.onnx", f"--precision={precision}", "--loss=softmax-cross-entropy", *scale, *options,
        "-o", package)
    return package


def weights(checkpoint):
    data = (checkpoint / "model.safetensors").read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    return {name: struct.unpack(f"<{(end - begin) // 4}f", data[8 + length + begin:8 + length + end])
            for name, entry in json.loads(data[8:8 + length]).items() if name != "__metadata__"
            for begin, end in [entry["data_offsets"]]}


def step_once(name, precision):
    package = prepare(name, precision, "--optimizer=sgd", "--lr=1", "--weight-decay=0")
    saved = folder / f"{name}-{precision}-once"
    lines = run("train", package, "--data", digits / "digits-train.npz", "--no-shuffle", "--steps=1", "--threads=1",
                f"--checkpoint-dir={saved}", "--json").splitlines()
    step = next(line for line in map(json.loads, lines) if "step" in line and "loss" in line)
    return weights(saved / "step-1"), step["grad_norm"]


def accuracy(name, precision):
    package = prepare(name, precision, "--optimizer=adamw", "--lr=0.003")
    saved = folder / f"{name}-{precision}-run"
    run("train", package, "--data", digits / "digits-train.npz", "--epochs=20", "--threads=1", f"--checkpoint-dir={saved}")
    result = run("eval", package, "--data", digits / "digits-test.npz", f"--checkpoint={saved}", "--json")
    return json.loads(result.splitlines()[-1])["accuracy"]


for name, golden in json.loads((here / "precision.json").read_text()).items():
    exact, norm = step_once(name, "fp32")
    best = accuracy(name, "fp32")
    for precision, autocast in golden.items():
        found, _ = step_once(name, precision)
        error = math.sqrt(sum((a - b) ** 2 for key in exact for a, b in zip(found[key], exact[key]))) / norm
        reached = accuracy(name, precision)
        print(f"{name} {precision}: gradient error {error:.1e}, autocast's {autocast:.1e}; "
              f"accuracy {reached:.2%}, fp32's {best:.2%}")
        if not error <= SLACK * autocast:
            failures.append(f"{name} {precision}: gradients")
        if not reached >= best - POINT:
            failures.append(f"{name} {precision}: accuracy")
sys.exit("\n".join(failures) or 0)
