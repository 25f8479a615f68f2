"""Milliseconds of a training step of several processes, one thread each: mpc under mpirun, and
PyTorch's DistributedDataParallel.

    PYTHONPATH=test/bench PYTHON test/bench/ranks/against_ddp.py NAME... [--mpc PROGRAM] \\
        [--ranks N] [--rounds N] [--seconds S] [--launcher mpirun.openmpi] [--backend gloo] \\
        [--precision fp32|bf16]

The names are those of models.py. Each rank has the batch of models.py; PyTorch's step has fused
AdamW. The sides take turns; the table has the best round of each, because other work on the machine
only makes steps slower, and the time of one process of mpc alone, so that what the ranks cost is
visible.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

import numpy as np

HERE = pathlib.Path(__file__).parent
# As in the tests of several processes.
LAUNCHER = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_rmaps_base_oversubscribe": "1",
}
ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1"}


def run(*command, **environment):
    command = [str(part) for part in command]
    environment = {**os.environ, **LAUNCHER, **ONE_THREAD, **environment}
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stderr[-2000:]}")
    return done.stdout


def prepare(name, folder, arguments):
    """Exports a model, repeats its batch for all ranks and compiles it twice."""
    job = {"name": name, "mode": "prepare", "tiny": False, "folder": str(folder)}
    job |= {"exporter": "dynamo", "losses": 1}
    facts = json.loads(
        run(sys.executable, "-m", "models.worker", json.dumps(job)).splitlines()[-1]
    )
    arrays = dict(np.load(folder / f"{name}.npz"))
    repeated = {key: np.concatenate([array] * arguments.ranks) for key, array in arrays.items()}
    np.savez(folder / f"{name}.npz", **repeated)
    batch = len(next(iter(arrays.values())))
    for kind, flags in (("alone", []), ("ranks", ["--data-parallel"])):
        run(
            arguments.mpc, "compile", folder / f"{name}.onnx", *facts["options"], *flags,
            f"--batch={batch}", f"--precision={arguments.precision}", "-o", folder / f"{name}-{kind}.mpc",
        )  # fmt: skip
    return facts["parameters"]


def measure_mpc(program, package, data, seconds, launcher):
    """Seconds of a step: by how much a longer run takes longer."""
    steps, found = 4, None
    while True:
        start = time.perf_counter()
        run(
            *launcher, program, "train", package, "--data", data, f"--steps={steps}", "--threads=1",
            "--no-shuffle", "--quiet",
        )  # fmt: skip
        took = time.perf_counter() - start
        if found is not None:
            return (took - found[1]) / (steps - found[0])
        found = (steps, took)
        # One step may take milliseconds, but starting the processes takes a second.
        each = max(took - 1, 0.02 * steps) / steps
        steps += max(4, int(seconds / each))


def measure_ddp(name, arguments):
    output = run(
        sys.executable, "-m", "torch.distributed.run", f"--nproc-per-node={arguments.ranks}",
        "--master-port=29555", HERE / "ddp_worker.py", name, arguments.backend, arguments.seconds,
        arguments.precision,
    )  # fmt: skip
    return float(output.split()[-1])


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="+")
    parser.add_argument("--mpc", default="build/bin/mpc")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--launcher", default="mpirun.openmpi")
    parser.add_argument("--backend", default="gloo")
    parser.add_argument("--precision", default="fp32")
    arguments = parser.parse_args()
    arguments.mpc = pathlib.Path(arguments.mpc).resolve()
    launcher = [arguments.launcher, "-n", arguments.ranks]
    print("| model | parameters | one process | mpc | DDP | DDP / mpc |\n" + "| --- " * 6 + "|")
    for name in arguments.names:
        with tempfile.TemporaryDirectory() as folder:
            folder = pathlib.Path(folder)
            parameters = prepare(name, folder, arguments)
            best = {}
            for _ in range(arguments.rounds):
                data = folder / f"{name}.npz"
                times = {
                    "alone": measure_mpc(
                        arguments.mpc, folder / f"{name}-alone.mpc", data, arguments.seconds, []
                    ),
                    "ranks": measure_mpc(
                        arguments.mpc, folder / f"{name}-ranks.mpc", data, arguments.seconds, launcher
                    ),
                    "ddp": measure_ddp(name, arguments),
                }
                for side, value in times.items():
                    best[side] = min(value, best.get(side, value))
        alone, ranks, ddp = (1e3 * best[side] for side in ("alone", "ranks", "ddp"))
        print(
            f"| {name} | {parameters / 1e6:.1f} M | {alone:.1f} | {ranks:.1f} | {ddp:.1f} "
            f"| {ddp / ranks:.2f} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
