"""Checks --sync-batchnorm: ranks with small batches train as one process with the batches of all of them
does, also with --accumulate, --shard and after --resume; and what is refused."""

import json
import math
import os
import shutil
import sys
from array import array

from ranks import LAUNCHERS, different, run, states, train

digits = sys.argv[1]
data = ["--data", f"{digits}/digits-train.npz", "--no-shuffle"]
first, last = LAUNCHERS[0], LAUNCHERS[-1]


def compile_cnn(name, batch, *options, model="cnn", status=0):
    return run(
        "mpc", "compile", f"{digits}/{model}.onnx", f"--batch={batch}", "--lr=0.003", *options,
        "-o", f"{name}.mpc", status=status,
    )  # fmt: skip


def losses(name, *options, **how):
    output = train(f"{name}.mpc", name, *data, "--json", *options, **how)
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    return [line["loss"] for line in lines if "loss" in line and "step" in line]


def apart(found, expected):
    assert len(found) == len(expected) > 10, (found, expected)
    return max(abs(a - b) / abs(b) for a, b in zip(found, expected))


def distance(a, b, part):
    """How far the tensors whose names contain `part` are from each other, relative to their length."""
    off = length = 0.0
    for name in a:
        if part in name and "/" not in name:
            for x, y in zip(array("f", a[name]), array("f", b[name]), strict=True):
                off, length = off + (x - y) ** 2, length + y**2
    assert length > 0, (part, a.keys())
    return math.sqrt(off / length)


def check(name, ranks, compiled, tolerance):
    """`ranks` ranks with batches of 16 and one process with batches of all of them."""
    compile_cnn(f"{name}-one", 16 * ranks, *compiled)
    compile_cnn(f"{name}-own", 16, "--data-parallel", *compiled)
    compile_cnn(f"{name}-all", 16, "--data-parallel", "--sync-batchnorm", *compiled)
    one = losses(f"{name}-one", "--steps=12")
    own = losses(f"{name}-own", "--steps=12", launcher=first, ranks=ranks)
    synced = losses(f"{name}-all", "--steps=12", launcher=first, ranks=ranks)
    off = apart(synced, one)
    print(f"{name}: losses are {off:.1e} apart, {apart(own, one):.1e} without")
    assert off < tolerance < apart(own, one), (name, synced, own, one)
    expected, found = states(f"{name}-one"), states(f"{name}-all")
    for part in ("running_mean", "running_var", "conv"):
        assert distance(found, expected, part) < 30 * tolerance, (name, part)


check("fp32", 2, ["--precision=fp32"], 1e-5)
check("accumulated", 3, ["--precision=fp32", "--accumulate=2", "--clip-norm=0.5"], 1e-5)
check("bf16", 2, [], 2e-2)

# An epoch of 31 rounds ends with an incomplete update.
for name in ("one", "all"):
    shutil.rmtree(f"accumulated-{name}")
whole = [losses(f"accumulated-{name}", "--epochs=1", **how) for name, how in (
    ("one", {}), ("all", {"launcher": last, "ranks": 3}))]  # fmt: skip
assert len(whole[0]) == 16 and apart(*whole) < 1e-4, whole
# Norms that are computed again in the backward pass have the same statistics.
compile_cnn("again", 16, "--data-parallel", "--sync-batchnorm", "--precision=fp32", "--recompute=full")
train("again.mpc", "again", *data, "--steps=12", launcher=first, ranks=2)
assert not different(states("again"), states("fp32-all"))

# The same bits with shared states, with another library, and from a checkpoint on.
expected = states("fp32-all")
for name, options, launcher in (
    ("shard", ["--shard=gradients"], first), ("other", [], last), ("rounded", ["--grad-comm=bf16"], first)
):
    train("fp32-all.mpc", name, *data, "--steps=12", *options, launcher=launcher, ranks=2)
    assert bool(different(states(name), expected)) == (name == "rounded"), name
train("fp32-all.mpc", "parts", *data, "--steps=5", launcher=first, ranks=2)
train("fp32-all.mpc", "parts", *data, "--steps=12", "--resume", launcher=first, ranks=2)
assert not different(states("parts"), expected)

# Another number of ranks leaves out what does not begin a round: after 15 batches, and at the end of an epoch.
train("fp32-all.mpc", "three", *data, "--steps=5", launcher=first, ranks=3)
output = train("fp32-all.mpc", "three", *data, "--steps=12", "--resume", launcher=first, ranks=2)
assert "training continues at batch 17 of epoch 1" in output, output
train("fp32-all.mpc", "alone", *data, "--steps=92")
output = train("fp32-all.mpc", "alone", *data, "--steps=93", "--resume", launcher=first, ranks=2)
assert "training continues at batch 1 of epoch 2" in output, output
train("fp32-all.mpc", "more", *data, "--steps=92", launcher=first, ranks=2)
train("fp32-all.mpc", "more", *data, "--steps=94", "--resume", launcher=first, ranks=3)

# 93 batches of an epoch leave one over; a process alone takes them all, and normalizes by its own.
output = train("fp32-all.mpc", "epochs", *data, "--epochs=2", launcher=first, ranks=2)
assert "93 batches cannot be divided evenly among 2 ranks" in output, output
assert "each epoch leaves out 1 batch and 12 samples that fill no batch" in output, output
assert "step-92" in os.listdir("epochs"), output
compile_cnn("plain", 16, "--precision=fp32", "--data-parallel")
for name in ("plain", "fp32-all"):
    train(f"{name}.mpc", f"{name}-alone", *data, "--steps=12")
assert not different(states("plain-alone"), states("fp32-all-alone"))

compile_cnn("large", 1024, "--data-parallel", "--sync-batchnorm")
output = train("large.mpc", "large", *data, launcher=first, ranks=2, status=None)
assert "has 1 batch, fewer than the 2 of an update" in output, output
output = compile_cnn("none", 16, "--data-parallel", "--sync-batchnorm", model="mlp")
assert "--sync-batchnorm has no effect: no BatchNormalization of the model" in output, output
output = compile_cnn("frozen", 16, "--data-parallel", "--sync-batchnorm", "--batchnorm=frozen")
assert "--sync-batchnorm has no effect: no BatchNormalization of the model" in output, output
output = train("frozen.mpc", "frozen", *data, "--epochs=1", launcher=first, ranks=2)
assert "evenly" not in output, output
output = compile_cnn("none", 16, "--sync-batchnorm", status=2)
assert "--sync-batchnorm requires --data-parallel" in output, output
output = compile_cnn("none", 16, "--data-parallel", "--sync-batchnorm", "--target=cuda", status=2)
assert "--sync-batchnorm works on CPUs only, found --target=cuda" in output, output
print("ok")
