"""Whether memory stays flat and files are closed: 10^5 steps, 10^3 sessions, 10^3 programs.

    PYTHONPATH=build/python build/python-venv/bin/python test/bench/python/endurance.py MODEL.mpc

Prints resident memory and open files after a tenth of the calls and after all of them. Exits with 1
if memory grew by more than 4 MiB or a file stayed open.
"""

import gc
import os
import sys
import time

import numpy as np

import mpc

LIMIT = 4 << 20


def resident():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def open_files():
    return len(os.listdir("/proc/self/fd"))


def random_batch(program):
    random = np.random.default_rng(0)
    return {
        spec.name: random.random(spec.shape, np.float32)
        if spec.dtype.kind == "f"
        else np.zeros(spec.shape, spec.dtype)
        for spec in program.inputs("step")
    }


def measure(what, count, work):
    """Whether memory and files after all calls are those after a tenth of them."""
    begin = time.perf_counter()
    for _ in range(count // 10):
        work()
    gc.collect()
    memory, files = resident(), open_files()
    for _ in range(count - count // 10):
        work()
    gc.collect()
    after, files_after = resident(), open_files()
    print(
        f"{count:7} {what:14} {memory / 2**20:8.1f} MiB {after / 2**20:8.1f} MiB"
        f" {files:4} files {files_after:4} files {time.perf_counter() - begin:7.1f} s",
        flush=True,
    )
    return after - memory <= LIMIT and files_after == files


def main():
    path = sys.argv[1]
    program = mpc.Program.load(path)
    with open(path, "rb") as file:
        package = file.read()
    batch = random_batch(program)

    def one_session():
        with mpc.Session(program, device="cpu", threads=1) as session:
            session.step(batch)

    def one_trainer():
        args = mpc.TrainingArguments(max_steps=1, device="cpu", threads=1)
        with mpc.Trainer(program, args, train_dataset=batch) as trainer:
            trainer.train()

    with mpc.Session(program, device="cpu", threads=1) as session:
        results = [
            measure("steps", 100_000, lambda: session.step(batch)),
            measure("sessions", 1_000, one_session),
            measure("programs", 1_000, lambda: mpc.Program(package).report()),
            measure("loaded", 1_000, lambda: mpc.Program.load(path).inputs()),
            measure("trainers", 1_000, one_trainer),
        ]
    sys.exit(0 if all(results) else 1)


main()
