"""Checks runs of other numbers of processes: repeated, resumed, and with few batches left."""

import json
import re
import shutil
import sys

from ranks import LAUNCHERS, different, run, states, train

digits = sys.argv[1]
first, last = LAUNCHERS[0], LAUNCHERS[-1]
data = ["--data", f"{digits}/digits-train.npz"]
tested = ["--eval-data", f"{digits}/digits-test.npz"]

# Dropout: each rank draws its own numbers, but a run always draws the same.
run("mpc", "compile", f"{digits}/mlp.onnx", "--data-parallel", "--accumulate=2", "--batch=16", "-o", "m.mpc")
for folder, launcher in (("a", first), ("b", last)):
    output = train("m.mpc", folder, *data, *tested, "--epochs=3", launcher=launcher, ranks=3)
    # 93 batches, 6 in an update: 16 updates in an epoch; the last one has 3.
    assert "trained 48 steps" in output, output
    accuracy = re.findall(r"accuracy ([\d.]+) %", output)
    assert float(accuracy[-1]) > 90, output
    # One rank speaks for all.
    assert len(accuracy) == 4 and output.count("left out in each epoch") == 1, output
assert not different(states("a"), states("b"))

# They share evaluations, whose sums are those of one process bit for bit.
for metrics in ([], ["--metrics=f1"]):
    shutil.rmtree("g", ignore_errors=True)
    output = train("m.mpc", "g", *data, *tested, "--steps=9", "--json", *metrics, launcher=first, ranks=3)
    rows = [json.loads(line) for line in output.splitlines() if line.startswith('{"eval_loss')]
    alone = run("mpc", "eval", "m.mpc", "--data", tested[1], "--checkpoint", "g", "--json", *metrics)
    expected = json.loads(alone.splitlines()[-1])
    assert len(expected) == 2 + len(metrics), expected
    assert expected.items() <= rows[-1].items(), (expected, rows)

# What 3 processes began 5, 4, 2 and 1 can continue.
train("m.mpc", "c", *data, "--epochs=1", launcher=last, ranks=3)
for ranks, steps in ((5, 16 + 10), (4, 16 + 12), (2, 16 + 24), (1, 16 + 47)):
    folder = f"c{ranks}"
    shutil.copytree("c", folder)
    output = train(
        "m.mpc", folder, *data, "--epochs=2", "--resume",
        launcher=first if ranks > 1 else None, ranks=ranks,
    )  # fmt: skip
    assert f"trained {steps - 16} steps" in output, output
# As many as began continue as if nothing had happened.
train("m.mpc", "c", *data, "--epochs=3", "--resume", launcher=first, ranks=3)
assert not different(states("a"), states("c"))

# An interrupted run of ranks continues bit for bit within an epoch.
train("m.mpc", "d", *data, "--steps=20", launcher=first, ranks=3)
train("m.mpc", "d", *data, "--epochs=3", "--resume", launcher=last, ranks=3)
assert not different(states("a"), states("d"))

# Gradients that overflow: all ranks skip the same steps, and go on.
run("mpc", "compile", f"{digits}/mlp.onnx", "--data-parallel", "--precision=fp16", "--loss-scale-init=16777216", "-o", "s.mpc")
outputs = [
    train("s.mpc", folder, *data, "--epochs=3", launcher=launcher, ranks=2)
    for folder, launcher in (("s1", first), ("s2", last))
]
skipped = [re.search(r"(\d+) steps? .*skipped|skipped (\d+)", output) for output in outputs]
assert all(skipped) and skipped[0].group() == skipped[1].group(), outputs
assert not different(states("s1"), states("s2"))

# One process needs no launcher, and a launcher may start one.
train("m.mpc", "e", *data, "--steps=5")
train("m.mpc", "f", *data, "--steps=5", launcher=first, ranks=1)
assert not different(states("e"), states("f"))
print("ok")
