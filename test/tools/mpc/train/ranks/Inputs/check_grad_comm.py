"""Checks --grad-comm=bf16: near the weights without it, the same bits with --shard, in another run
and after --resume; losses that fall as much; and errors.
"""

import json
import math
import sys
from array import array

from ranks import LAUNCHERS, different, run, states, train

digits = sys.argv[1]
data = ["--data", f"{digits}/digits-train.npz", "--seed=3"]
rounded = ["--grad-comm=bf16"]
launchers = list(LAUNCHERS)


def weights(found):
    return {name: array("f", found[name]) for name in ("conv1.weight", "conv2.weight", "fc.weight")}


def distance(a, b):
    """How far weights are from each other, relative to the length of the first."""
    apart = length = 0.0
    for name, values in weights(a).items():
        for x, y in zip(values, weights(b)[name], strict=True):
            apart += (x - y) ** 2
            length += x**2
    return math.sqrt(apart / length)


def check(name, ranks, *options):
    run("mpc", "compile", f"{digits}/cnn.onnx", "--batch=32", "--data-parallel", *options, "-o", f"{name}.mpc")
    launchers.append(launchers.pop(0))
    how = {"launcher": launchers[0], "ranks": ranks}
    steps = [*data, "--steps=24", "--checkpoint-every=12"]
    train(f"{name}.mpc", f"{name}-exact", *steps, **how)
    train(f"{name}.mpc", f"{name}-rounded", *steps, *rounded, **how)
    exact, found = states(f"{name}-exact"), states(f"{name}-rounded")
    off = distance(exact, found)
    assert 0 < off < 1e-2, (name, off)
    for other, more in (("again", ()), ("shard", ("--shard=gradients",))):
        train(f"{name}.mpc", f"{name}-{other}", *steps, *rounded, *more, **how)
        wrong = different(found, states(f"{name}-{other}"))
        assert not wrong, (name, other, wrong)
    # What rounding has lost is forgotten at a checkpoint, so that a run that continues has not lost it.
    # Checkpoints are saved at the same steps.
    train(f"{name}.mpc", f"{name}-two", *data, "--steps=12", "--checkpoint-every=12", *rounded, **how)
    train(f"{name}.mpc", f"{name}-two", *steps, "--resume", *rounded, **how)
    wrong = different(found, states(f"{name}-two"))
    assert not wrong, (name, wrong)
    print(f"{name}: {off:.1e} from exact gradients")


check("bf16", 2, "--clip-norm=0.5")
check("fp32", 3, "--precision=fp32", "--accumulate=2", "--optimizer=momentum", "--lr=0.05")
# The first updates overflow, and the loss scale changes.
check("fp16", 2, "--precision=fp16", "--loss-scale-init=16777216", "--loss-scale-interval=4")


def last_losses(folder, *options):
    output = train(
        "bf16.mpc", folder, *data, "--epochs=4", "--json", *options, launcher=launchers[0], ranks=2
    )  # fmt: skip
    lines = [json.loads(line) for line in output.splitlines() if line.startswith("{")]
    losses = [line["loss"] for line in lines if "loss" in line and "step" in line]
    return losses[0], sum(losses[-10:]) / 10


first, exact = last_losses("long-exact")
_, found = last_losses("long-rounded", *rounded)
assert exact < 0.3 * first and abs(found - exact) < 0.05 * first, (first, exact, found)

output = train("bf16.mpc", "one", *data, "--steps=2", *rounded)
assert "--grad-comm has no effect: this is the only process" in output, output
# All ranks must exchange alike.
script = 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then set -- "$@" --grad-comm=bf16; fi; exec "$@"'
output = run(
    "bash", "-c", script, "bash", "mpc", "train", "bf16.mpc", "--steps=2", *data,
    launcher=launchers[0], ranks=2, status=None,
)  # fmt: skip
assert "all ranks must have the same options" in output, output
run("mpc", "compile", f"{digits}/mlp.onnx", "--precision=fp64", "--data-parallel", "-o", "f64.mpc")
output = train("f64.mpc", "f64", *data, *rounded, launcher=launchers[0], ranks=2, status=None)
assert "gradients can be exchanged in bf16 only if they are f32, but those of this program are f64" in output, output
print("ok")
