"""Helpers of the tests that start several processes: launchers, and states of checkpoints."""

import json
import os
import shutil
import struct
import subprocess
import sys

# The folder of mpc first. Open MPI refuses to run as root, or more processes than CPUs, unless asked.
os.environ["PATH"] = os.environ["MPC_TOOLS"] + ":" + os.environ["PATH"]
ENVIRONMENT = {
    **os.environ,
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
    "PRTE_MCA_rmaps_default_mapping_policy": ":oversubscribe",
}
# Names of Debian, where both can be installed.
LAUNCHERS = [name for name in ("mpirun.openmpi", "mpirun.mpich") if shutil.which(name)]


def start(launcher, ranks, *command, **how):
    """Starts `command` as `ranks` processes, on one thread each."""
    launched = [launcher, "-n", str(ranks), *command]
    return subprocess.Popen(
        launched, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how
    )


def run(*command, launcher=None, ranks=1, status=0):
    """Runs `command` and returns what it prints; exits if its status is another, or with None if it
    is 0."""
    if launcher:
        process = start(launcher, ranks, *command)
    else:
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
    output, _ = process.communicate(timeout=120)
    if process.returncode != status and (status is not None or process.returncode == 0):
        sys.exit(f"{command}: exit status {process.returncode}, not {status}:\n{output}")
    return output


def train(package, folder, *options, launcher=None, ranks=1, status=0):
    return run(
        "mpc", "train", package, "--checkpoint-dir", folder, "--threads=1", *options,
        launcher=launcher, ranks=ranks, status=status,
    )  # fmt: skip


def states(folder):
    """The states of the newest checkpoint in a folder, as bytes by name."""
    steps = [name for name in os.listdir(folder) if name.startswith("step-")]
    newest = os.path.join(folder, max(steps, key=lambda name: int(name[5:])))
    found = {}
    for name in os.listdir(newest):
        if not name.endswith(".safetensors"):
            continue
        with open(os.path.join(newest, name), "rb") as file:
            (size,) = struct.unpack("<Q", file.read(8))
            header = json.loads(file.read(size))
            data = file.read()
        for tensor, place in header.items():
            if tensor != "__metadata__":
                begin, end = place["data_offsets"]
                found[tensor] = data[begin:end]
    return found


def different(a, b):
    """The names of states that differ, or that only one of two checkpoints has."""
    return sorted(name for name in a.keys() | b.keys() if a.get(name) != b.get(name))
