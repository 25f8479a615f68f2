"""Runs two processes in network namespaces that a link of limited bandwidth connects. As root, with
MPICH and the program ip:

    PYTHONPATH=test/bench PYTHON test/bench/ranks/network.py hidden [--rate 1gbit] [--batch N] [--shard WHAT]
        [--grad-comm TYPE]
    PYTHONPATH=test/bench PYTHON test/bench/ranks/network.py down [--points 20]

`hidden` trains a GPT-2 of 30 million parameters on one thread each and prints how much of the time
that the link needs is hidden behind the backward pass: the step takes longer by the rest. `down`
breaks the link at random times; all processes must end, and a run that continues the checkpoint must
end with the bits of an undisturbed one.
"""

import argparse
import contextlib
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[2]
os.environ.setdefault("MPC_TOOLS", str(ROOT / "build/bin"))
sys.path.insert(0, str(ROOT / "test/tools/mpc/train/ranks/Inputs"))

from ranks import different, states  # noqa: E402

MPC = pathlib.Path(os.environ["MPC_TOOLS"]).resolve() / "mpc"
DIGITS = ROOT / "runtime/examples/digits"
# All messages take the link, as between two machines.
NETWORK = {"MPIR_CVAR_NOLOCAL": "1", "UCX_TLS": "tcp,self", "UCX_NET_DEVICES": "link0"}
SPACES = ("mpc-rank0", "mpc-rank1")


def call(*command):
    subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True)


def is_up(space):
    found = subprocess.run(["ip", "-n", space, "link", "show", "link0"], capture_output=True, text=True)
    return "state UP" in found.stdout


@contextlib.contextmanager
def namespaces():
    """Two namespaces with a link between their devices link0."""
    try:
        for space in SPACES:
            call("ip", "netns", "add", space)
        call("ip", "link", "add", "link0", "netns", SPACES[0], "type", "veth", "peer", "name", "link0", "netns", SPACES[1])
        for number, space in enumerate(SPACES):
            inside = ["ip", "-n", space]
            call(*inside, "addr", "add", f"10.99.0.{number + 1}/24", "dev", "link0")
            call(*inside, "link", "set", "link0", "up")
            call(*inside, "link", "set", "lo", "up")
        while not all(is_up(space) for space in SPACES):
            time.sleep(0.01)
        yield
    finally:
        for space in SPACES:
            subprocess.run(["ip", "netns", "del", space], capture_output=True)


def limit(rate):
    for space in SPACES:
        shape = ["root", "tbf", "rate", rate, "burst", "256kb", "latency", "100ms"]
        call("tc", "-n", space, "qdisc", "add", "dev", "link0", *shape)


def set_link(state):
    call("ip", "-n", SPACES[0], "link", "set", "link0", state)


def start(*arguments):
    command = ["mpirun.mpich"]
    for space in SPACES:
        command += [":"] if len(command) > 1 else []
        command += ["-n", "1", "ip", "netns", "exec", space, MPC, "train", *arguments, "--threads=1"]
    return subprocess.Popen(
        [str(part) for part in command], env={**os.environ, **NETWORK}, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
    )  # fmt: skip


def train(*arguments):
    process = start(*arguments)
    output, _ = process.communicate()
    if process.returncode:
        sys.exit(output)


def time_step(package, data, how):
    """The median of the seconds between the lines that steps print."""
    process = start(
        package, "--data", data, "--steps=16", "--no-shuffle", "--json", *how
    )  # fmt: skip
    times, output = [], ""
    for line in process.stdout:
        output += line
        if line.startswith('{"step"'):
            times.append(time.perf_counter())
    if process.wait():
        sys.exit(output)
    # The first steps touch memory and open connections.
    return statistics.median(b - a for a, b in zip(times[3:], times[4:]))


def prepare(folder, batch):
    """Exports and compiles the model; returns the bytes of its gradients."""
    import numpy

    sizes = {"batch": batch, "n_layer": 8, "n_embd": 512, "n_head": 8, "vocab_size": 8192, "n_positions": 256}
    job = {"name": "gpt2", "mode": "prepare", "tiny": False, "folder": str(folder), "arguments": sizes}
    job |= {"exporter": "dynamo", "losses": 1}
    done = subprocess.run(
        [sys.executable, "-m", "models.worker", json.dumps(job)], capture_output=True, text=True
    )
    if done.returncode:
        sys.exit(done.stderr)
    facts = json.loads(done.stdout.splitlines()[-1])
    arrays = dict(numpy.load(folder / "gpt2.npz"))
    numpy.savez(folder / "gpt2.npz", **{name: numpy.concatenate([a, a]) for name, a in arrays.items()})
    call(
        MPC, "compile", folder / "gpt2.onnx", *facts["options"], "--data-parallel", "--precision=fp32",
        f"--batch={len(next(iter(arrays.values())))}", "-o", folder / "gpt2.mpc",
    )  # fmt: skip
    return 4 * facts["parameters"]


def predict(package, bandwidth, shard):
    """Prints the estimate of exact gradients."""
    shards = [] if shard == "none" else [f"--shard={shard}"]
    done = subprocess.run(
        [MPC, "report", package, "--cost", "--ranks=2", f"--bandwidth={bandwidth}", "--json", *shards],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    two = json.loads(done.stdout)["ranks"][1]
    print(
        f"estimated on all cores: {two['computing_ns'] / 1e9:.2f} s, messages {two['communicating_ns'] / 1e9:.2f} s, "
        f"{100 * (1 - two['exposed_ns'] / two['communicating_ns']):.0f} % hidden"
    )


def hidden(arguments):
    units = {"mbit": 1e6, "gbit": 1e9}
    bits = float(arguments.rate[:-4]) * units[arguments.rate[-4:]]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        size = prepare(folder, arguments.batch)
        package, data = folder / "gpt2.mpc", folder / "gpt2.npz"
        # Each of two ranks sends one half to be added up, and the sums of the other.
        link = 8 * size / bits / (2 if arguments.grad_comm == "bf16" else 1)
        how = [f"--shard={arguments.shard}", f"--grad-comm={arguments.grad_comm}"]
        predict(package, bits / 8e9, arguments.shard)
        found = []
        for _ in range(arguments.rounds):
            with namespaces():
                fast = time_step(package, data, how)
                limit(arguments.rate)
                slow = time_step(package, data, how)
            found.append((slow - fast, fast))
            print(
                f"a step takes {fast:.2f} s, with {arguments.rate} {slow:.2f} s; the link needs {link:.2f} s: "
                f"{100 * (1 - (slow - fast) / link):.0f} % hidden",
                flush=True,
            )  # fmt: skip
        print(f"median: {100 * (1 - sorted(found)[len(found) // 2][0] / link):.0f} % hidden")


def down(arguments):
    chance = random.Random(arguments.seed)
    steps, timeout = 3000, 3
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        call(MPC, "compile", DIGITS / "mlp.onnx", "--data-parallel", "--batch=16", "-o", "m.mpc")

        def command(folder):
            return [
                "m.mpc", "--data", f"{DIGITS}/digits-train.npz", f"--steps={steps}", "--quiet",
                "--checkpoint-dir", folder, "--checkpoint-every=100", f"--rank-timeout={timeout}",
            ]  # fmt: skip

        with namespaces():
            train(*command("whole"))
        whole, longest = states("whole"), 0
        for point in range(arguments.points):
            folder = f"cut{point}"
            with namespaces():
                process = start(*command(folder))
                time.sleep(chance.uniform(0.5, 2))
                set_link("down")
                begin = time.monotonic()
                output, _ = process.communicate(timeout=60)
                longest = max(longest, time.monotonic() - begin)
                if process.returncode == 0:
                    sys.exit(f"point {point}: the run had ended before; it needs more steps")
                if "rank" not in output:
                    sys.exit(output)
            with namespaces():
                train(*command(folder), "--resume")
            if wrong := different(whole, states(folder)):
                sys.exit(f"point {point}: {wrong} differ")
        print(f"{arguments.points} times, ended after {longest:.1f} s at most, bits equal")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["hidden", "down"])
    parser.add_argument("--rate", default="1gbit")
    parser.add_argument("--batch", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shard", default="none")
    parser.add_argument("--grad-comm", choices=["fp32", "bf16"], default="fp32")
    parser.add_argument("--points", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    {"hidden": hidden, "down": down}[arguments.what](arguments)


if __name__ == "__main__":
    main()
