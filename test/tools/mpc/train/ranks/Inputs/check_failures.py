"""Checks what happens if one of several processes fails, hangs, dies or is asked to stop."""

import os
import re
import signal
import sys
import time

from processes import ranks_of
from ranks import LAUNCHERS, run, start, train

digits = sys.argv[1]
data = ["--data", f"{digits}/digits-train.npz"]
run("mpc", "compile", f"{digits}/cnn.onnx", "--data-parallel", "--batch=16", "-o", "m.mpc")


def steps_in(folder):
    """The steps of the checkpoints in a folder."""
    names = os.listdir(folder) if os.path.isdir(folder) else []
    return [int(name[5:]) for name in names if re.fullmatch(r"step-\d+", name)]


def disturb(launcher, folder, how):
    """Sends a signal to rank 2 of a run; returns its status and what it prints."""
    process = start(
        launcher, 3, "mpc", "train", "m.mpc", *data, "--epochs=100000", "--threads=1", "--quiet",
        "--checkpoint-dir", folder, "--checkpoint-every=20", "--rank-timeout=4",
    )  # fmt: skip
    end = time.monotonic() + 60
    # The folder of one step does not stay for long.
    while max(steps_in(folder), default=0) < 40:
        if time.monotonic() > end:
            process.kill()
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.05)
    pids = ranks_of(process)
    assert len(pids) == 3, pids
    os.kill(pids[2], how)
    output, _ = process.communicate(timeout=30)
    left = [pid for pid in pids if os.path.exists(f"/proc/{pid}")]
    for _ in range(100):  # The launcher may end before those that it ends.
        left = [pid for pid in left if os.path.exists(f"/proc/{pid}")]
        time.sleep(0.05 if left else 0)
    assert not left, left
    return process.returncode, output


for launcher in LAUNCHERS:
    name = launcher.split(".")[1]
    # Asked to stop: all save, and say so.
    status, output = disturb(launcher, f"{name}-term", signal.SIGTERM)
    assert status == 75, (status, output)
    assert "stopped by SIGTERM on rank 2 after step" in output, output
    # Hung: the others name it.
    status, output = disturb(launcher, f"{name}-stop", signal.SIGSTOP)
    assert status == 9, (status, output)
    assert re.search(r"rank [01]: (step \d+: )?no answer from rank 2 on \S+ for 4 s", output), output
    # Dead.
    status, output = disturb(launcher, f"{name}-kill", signal.SIGKILL)
    assert status != 0, output
    # The last checkpoint is good, also for another number of ranks.
    for folder in ("term", "stop", "kill"):
        step = max(steps_in(f"{name}-{folder}"))
        train(
            "m.mpc", f"{name}-{folder}", *data, "--resume", f"--steps={step + 3}",
            launcher=launcher, ranks=2,
        )  # fmt: skip
        assert f"step-{step + 3}" in os.listdir(f"{name}-{folder}")

# Ranks that differ are refused.
script = 'exec mpc train "$0" --steps=3 --threads=1 "${@:1}" --seed=$((${OMPI_COMM_WORLD_RANK:-$PMI_RANK} / 2))'
for launcher in LAUNCHERS:
    output = run("bash", "-c", script, "m.mpc", *data, launcher=launcher, ranks=3, status=2)
    assert "all ranks must have the same order of samples" in output, output
    assert "rank 2 is shuffled with seed 1, and that of rank 0 is shuffled with seed 0" in output, output
    assert output.count("error:") == 1, output
script = 'exec mpc train "$0" --steps=3 "${@:1}" --checkpoint-dir o --checkpoint-every=$((1 + ${OMPI_COMM_WORLD_RANK:-$PMI_RANK}))'
output = run("bash", "-c", script, "m.mpc", *data, launcher=LAUNCHERS[0], ranks=2, status=2)
assert "all ranks must have the same options" in output and "--checkpoint-every=2" in output, output
# One rank cannot read the data.
script = '[ ${OMPI_COMM_WORLD_RANK:-$PMI_RANK} = 0 ] || set -- nowhere.npz; exec mpc train "$0" --steps=3 --data "$1"'
output = start(LAUNCHERS[0], 2, "bash", "-c", script, "m.mpc", data[1]).communicate(timeout=60)[0]
assert "rank 1: " in output and "nowhere.npz" in output, output
# A program for one process.
run("mpc", "compile", f"{digits}/mlp.onnx", "-o", "one.mpc")
output = run("mpc", "train", "one.mpc", *data, launcher=LAUNCHERS[0], ranks=2, status=2)
assert "compile the model with --data-parallel" in output, output
print("ok")
