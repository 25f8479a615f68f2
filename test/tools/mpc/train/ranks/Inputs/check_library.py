"""Checks that the trainers of libmpctrain are ranks as those of `mpc train` are."""

import sys

from ranks import LAUNCHERS, different, run, states, train

digits = sys.argv[1]
data = f"{digits}/digits-train.npz"
run("mpc", "compile", f"{digits}/mlp.onnx", "--data-parallel", "--accumulate=2", "--batch=16", "-o", "m.mpc")
for launcher in LAUNCHERS:
    name = launcher.split(".")[1]
    train("m.mpc", f"{name}-command", "--data", data, "--epochs=2", launcher=launcher, ranks=3)
    output = run(
        "mpc-train-driver", "ranks", "m.mpc", "file", data, "epochs=2", "threads=1",
        f"checkpoint-dir={name}-library", launcher=launcher, ranks=3,
    )  # fmt: skip
    assert "done 1 after step 32 of 32" in output, output
    assert not different(states(f"{name}-command"), states(f"{name}-library"))
print("ok")
