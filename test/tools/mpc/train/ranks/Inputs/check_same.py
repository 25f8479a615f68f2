"""Checks that ranks are micro-batches: two processes train as one does with --accumulate. The 93
batches of an epoch are odd, so that rank 1 has none for the last update.
"""

import math
import os
import sys
from array import array

from ranks import LAUNCHERS, different, run, states, train

digits = sys.argv[1]
data = ["--data", f"{digits}/digits-train.npz", "--seed=3"]
launchers = list(LAUNCHERS)


def may_differ(name):
    """Running statistics are averaged over ranks, but follow micro-batches one by one. Ranks with
    one micro-batch add up no gradients, which would be 0 now."""
    return "running_" in name or name.startswith("gradients/")


def distance(a, b, names):
    """How far tensors of f32 are from each other, relative to their length."""
    apart = length = 0.0
    for name in names:
        for x, y in zip(array("f", a[name]), array("f", b[name]), strict=True):
            apart += (x - y) ** 2
            length += x**2
    return math.sqrt(apart / length)


def check(name, model, accumulate, compiled, trained=(), tolerance=0):
    """Two ranks with batches of 16 and one process with twice as many micro-batches."""
    compiled = [f"{digits}/{model}.onnx", "--batch=16", *compiled]
    own = [f"--accumulate={accumulate}"] if accumulate > 1 else []
    run("mpc", "compile", *compiled, *own, "--data-parallel", "-o", f"{name}-ranks.mpc")
    run("mpc", "compile", *compiled, f"--accumulate={2 * accumulate}", "-o", f"{name}-one.mpc")
    train(f"{name}-one.mpc", f"{name}-one", *data, *trained)
    # Take turns, so that both launchers are tested with some of the cases.
    launchers.append(launchers.pop(0))
    train(f"{name}-ranks.mpc", f"{name}-ranks", *data, *trained, launcher=launchers[0], ranks=2)
    one, ranks = states(f"{name}-one"), states(f"{name}-ranks")
    assert len(one) > 10, one.keys()
    wrong = [state for state in different(one, ranks) if not may_differ(state)]
    if tolerance:
        off = distance(one, ranks, wrong or ["fc.bias"])
        assert off < tolerance, (name, off)
        return print(f"{name}: {len(wrong)} states differ, by {off:.1e}")
    assert not wrong, (name, wrong)
    print(f"{name}: {len(one)} states are equal")


check("fp32", "cnn", 1, ["--precision=fp32", "--clip-norm=0.5", "--ema=0.9"], ["--epochs=2"])
check(
    "bf16", "cnn", 1, ["--precision=bf16", "--lr-schedule=cosine", "--warmup=5"], ["--epochs=2"]
)  # fmt: skip
# A micro-batch has half the share of the loss, so other gradients are subnormal.
check("fp16", "cnn", 1, ["--precision=fp16", "--optimizer=sgd"], ["--epochs=1"], tolerance=1e-3)
check("fp8", "cnn", 1, ["--precision=fp8"], ["--steps=20"])
if os.environ.get("MPC_LONG"):
    check("kahan", "cnn", 1, ["--precision=bf16", "--master-weights=bf16-kahan"], ["--epochs=2"])
