"""Disturbs runs of three processes at random times, and checks that all of them end, that the last
checkpoint is good, and that a run that continues it ends with the bits of an undisturbed one. Half of
the runs share their states, but not those that continue them.

    MPC_TOOLS=build/bin python3 test/bench/ranks/failures.py [--points 200] [--seed 0]

One process is killed, stopped (SIGSTOP), asked to end (SIGTERM), or finds the disk full. Prints one
line for each way, or the first difference.
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
sys.path.insert(0, str(ROOT / "test/tools/mpc/train/ranks/Inputs"))
os.environ["MPC_TOOLS"] = str(pathlib.Path(os.environ["MPC_TOOLS"]).resolve())

from processes import ranks_of  # noqa: E402
from ranks import LAUNCHERS, different, run, start, states, train  # noqa: E402

DIGITS = ROOT / "runtime/examples/digits"
RANKS = 3
TIMEOUT = 3
STEPS = 1500
WAYS = {"kill": signal.SIGKILL, "stop": signal.SIGSTOP, "term": signal.SIGTERM, "disk": None}


def command(folder, shard="none"):
    return [
        "m.mpc", "--data", f"{DIGITS}/digits-train.npz", f"--steps={STEPS}", "--checkpoint-dir", folder,
        "--checkpoint-every=40", "--threads=1", "--quiet", f"--rank-timeout={TIMEOUT}",
        f"--shard={shard}",
    ]  # fmt: skip


def disturb(way, folder, shard, launcher, chance):
    """Disturbs a run; returns the seconds until it has ended, or None if it was too late."""
    arguments = command(folder, shard)
    if way == "disk":
        # A limit on the size of files is a disk that is full for one rank: the first one writes.
        limited = f"ulimit -f {chance.choice([1, 40, 90])}; exec mpc train " + " ".join(arguments)
        begin = time.monotonic()
        process = start(launcher, RANKS, "bash", "-c", limited)
        process.communicate(timeout=60)
        return time.monotonic() - begin
    process = start(launcher, RANKS, "mpc", "train", *arguments)
    time.sleep(chance.uniform(0.3, 2.5))
    pids = ranks_of(process)
    if len(pids) < RANKS:
        process.communicate(timeout=60)
        return None
    begin = time.monotonic()
    try:
        os.kill(chance.choice(pids), WAYS[way])
    except ProcessLookupError:
        pass
    process.communicate(timeout=60)
    took = time.monotonic() - begin
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        if time.monotonic() - begin > 60:
            sys.exit(f"{way}: processes are left")
        time.sleep(0.01)
    return took


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    chance = random.Random(arguments.seed)
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        run("mpc", "compile", DIGITS / "mlp.onnx", "--data-parallel", "--batch=16", "-o", "m.mpc")
        run("mpc", "train", *command("whole"), launcher=LAUNCHERS[0], ranks=RANKS)
        whole = states("whole")
        times, late = collections.defaultdict(list), 0
        for point in range(arguments.points):
            way = list(WAYS)[point % len(WAYS)]
            launcher = LAUNCHERS[point % len(LAUNCHERS)]
            shutil.rmtree("cut", ignore_errors=True)
            shard = ("none", "gradients")[point // len(WAYS) % 2]
            took = disturb(way, "cut", shard, launcher, chance)
            if took is None:
                late += 1
            else:
                times[way].append(took)
            # What another number of ranks can continue, these can continue bit for bit.
            if point % 5 == 0 and os.path.isdir("cut") and any(
                name.startswith("step-") for name in os.listdir("cut")
            ):
                shutil.rmtree("other", ignore_errors=True)
                shutil.copytree("cut", "other")
                run(
                    "mpc", "train", *command("other"), "--resume",
                    launcher=launcher, ranks=1 + point % 2,
                )  # fmt: skip
            run("mpc", "train", *command("cut"), "--resume", launcher=launcher, ranks=RANKS)
            if wrong := different(whole, states("cut")):
                sys.exit(f"point {point}, {way}: {wrong} differ")
            if (point + 1) % 20 == 0:
                print(f"{point + 1} points", flush=True)
    for way, list_ in times.items():
        print(f"{way}: {len(list_)} times, ended after {max(list_):.1f} s at most, bits equal")
    print(f"too late: {late}")


if __name__ == "__main__":
    main()
