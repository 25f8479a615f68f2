#!/usr/bin/env python3
"""Compares a run of training artifacts with what ONNX Runtime made of them: golden.npz of
test/models/make_ort_artifacts.py. Errors are relative; of weights, to the largest element.

compare_ort.py GOLDEN.npz RUN.json CHECKPOINTS --loss=T --norm=T --weights=T
"""
import argparse
import json
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import npz

parser = argparse.ArgumentParser()
parser.add_argument("golden", type=pathlib.Path)
parser.add_argument("run", type=pathlib.Path)
parser.add_argument("checkpoints", type=pathlib.Path)
parser.add_argument("--loss", type=float, required=True)
parser.add_argument("--norm", type=float, required=True)
parser.add_argument("--weights", type=float, required=True)
parser.add_argument("--after", type=int, default=0, help="steps that came before")
options = parser.parse_args()

golden = {name: array.values() for name, array in npz.read(options.golden).items()}
lines = [json.loads(line) for line in options.run.read_text().splitlines()]
steps = [line for line in lines if "step" in line and "loss" in line]
expected = {name: golden[name][options.after :] for name in ("loss", "grad_norm")}
assert len(steps) == len(expected["loss"]), f"{len(steps)} steps"


def read(file):
    """The tensors of a safetensors file, which are all f32."""
    data = file.read_bytes()
    length, = struct.unpack("<Q", data[:8])
    for name, entry in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__":
            begin, end = (8 + length + offset for offset in entry["data_offsets"])
            yield name, [value for value, in struct.iter_unpack("<f", data[begin:end])]


def check(what, found, wanted, tolerance):
    error = max(abs(a - b) / max(abs(b), 1e-6) for a, b in zip(found, wanted))
    print(f"{options.golden.parent.name}: {what} differs by {error:.1e}")
    return len(found) == len(wanted) and error <= tolerance


good = [
    check("loss", [s["loss"] for s in steps], expected["loss"], options.loss),
    check("norm", [s["grad_norm"] for s in steps], expected["grad_norm"], options.norm),
]
evaluation = [line["eval_loss"] for line in lines if "eval_loss" in line]
if evaluation:
    good.append(check("eval", evaluation[-1:], golden["eval_loss"], options.loss))
newest = max(options.checkpoints.glob("step-*"), key=lambda p: int(p.name[5:]))
weights = dict(read(newest / "model.safetensors"))
for name, value in weights.items():
    wanted = golden[f"parameter/{name}"]
    error = max(abs(a - b) for a, b in zip(value, wanted))
    error /= max(max(map(abs, wanted)), 1e-6)
    good.append(error <= options.weights)
    if not good[-1]:
        print(f"{options.golden.parent.name}: '{name}' differs by {error:.1e}")
good.append(len(weights) > 0)
sys.exit(not all(good))
