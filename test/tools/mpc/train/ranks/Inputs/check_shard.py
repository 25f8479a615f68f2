"""Checks --shard: the same bits as without it, in all precisions and with other options; checkpoints
that runs with and without it exchange; and errors.
"""

import os
import re
import sys

from ranks import LAUNCHERS, different, run, states, train

digits = sys.argv[1]
data = ["--data", f"{digits}/digits-train.npz", "--seed=3"]
launchers = list(LAUNCHERS)


def compile_cnn(name, *options):
    run("mpc", "compile", f"{digits}/cnn.onnx", "--batch=32", "--data-parallel", *options, "-o", f"{name}.mpc")


def check(name, ranks, kept, *options):
    """`kept`: the largest part of its states that the first rank may keep."""
    compile_cnn(name, *options)
    launchers.append(launchers.pop(0))
    train(f"{name}.mpc", f"{name}-none", *data, "--steps=20", launcher=launchers[0], ranks=ranks)
    expected = states(f"{name}-none")
    for shard in ("optimizer", "gradients"):
        folder = f"{name}-{shard}"
        output = train(
            f"{name}.mpc", folder, *data, "--steps=20", f"--shard={shard}",
            launcher=launchers[0], ranks=ranks,
        )  # fmt: skip
        wrong = different(expected, states(folder))
        # Gradients of other ranks' parts are not in a checkpoint, or zeros.
        assert not wrong, (name, shard, wrong)
        found = re.search(r"ranks share ([\d.]+) kB of states; this one keeps ([\d.]+) kB", output)
        assert float(found[2]) <= kept * float(found[1]), output


check("bf16", 2, 0.5, "--clip-norm=0.5", "--ema=0.9")
check("fp32", 3, 0.34, "--precision=fp32", "--accumulate=2", "--clip-value=0.1")
check("fp16", 4, 0.25, "--precision=fp16", "--loss-scale-init=1048576", "--optimizer=lamb")
check("fp8", 2, 0.5, "--precision=fp8", "--optimizer=momentum")
check("kahan", 2, 0.5, "--master-weights=bf16-kahan", "--optimizer=lion")

# Runs with and without shares continue each other's checkpoints, also on other numbers of ranks.
first, last = LAUNCHERS[0], LAUNCHERS[-1]
plain, shared = [], ["--shard=gradients"]
for name, begin, end in (("to", plain, shared), ("from", shared, plain)):
    train("bf16.mpc", name, *data, "--steps=8", *begin, launcher=first, ranks=2)
    train("bf16.mpc", name, *data, "--steps=20", "--resume", *end, launcher=last, ranks=2)
    assert not different(states("bf16-none"), states(name)), name
train("bf16.mpc", "other", *data, "--steps=20", launcher=first, ranks=2)
train("bf16.mpc", "other", *data, "--steps=30", "--resume", launcher=first, ranks=3)
train("bf16.mpc", "more", *data, "--steps=20", *shared, launcher=first, ranks=2)
train("bf16.mpc", "more", *data, "--steps=30", "--resume", *shared, launcher=first, ranks=3)
assert not different(states("other"), states("more"))

# Evaluation, the best checkpoint and a rollback read or replace shared states.
tested = ["--eval-data", f"{digits}/digits-test.npz", "--eval-every=10", "--keep-best=loss"]
outputs = [
    train("bf16.mpc", f"best{len(how)}", *data, *tested, "--steps=30", *how, launcher=last, ranks=2)
    for how in (plain, shared)
]
losses = [sorted(re.findall(r"eval loss [\d.]+", output)) for output in outputs]
assert losses[0] == losses[1] and len(losses[0]) >= 3, outputs
assert not different(states("best0"), states("best1"))
with open("best0/best/model.safetensors", "rb") as a, open("best1/best/model.safetensors", "rb") as b:
    assert a.read() == b.read()

# The first rank cannot save: all end with its message.
os.mkdir("full")
with open("full/best", "w") as file:
    file.write("not a checkpoint")
output = train(
    "bf16.mpc", "full", *data, *tested, "--steps=20", *shared, launcher=first, ranks=2, status=None,
)  # fmt: skip
assert "is not a checkpoint" in output and "rank 1" not in output, output

# Nothing to share, and nobody to share with.
compile_cnn("sgd", "--precision=fp32", "--optimizer=sgd")
output = train("sgd.mpc", "sgd", *data, *shared, launcher=first, ranks=2, status=None)
assert "there is nothing that ranks could share: the optimizer 'sgd'" in output, output
output = train("bf16.mpc", "one", *data, "--steps=2", *shared)
assert "--shard has no effect: this is the only process" in output, output
# All ranks must share alike.
script = 'if [ "${OMPI_COMM_WORLD_RANK:-$PMI_RANK}" = 1 ]; then set -- "$@" --shard=gradients; fi; exec "$@"'
output = run(
    "bash", "-c", script, "bash", "mpc", "train", "bf16.mpc", "--steps=2", *data,
    launcher=first, ranks=2, status=None,
)  # fmt: skip
assert "all ranks must have the same options" in output, output
print("ok")
