#!/usr/bin/env python3
"""Training while the machine is busy: time and CPU time of a step, alone and with busy loops.

A busy loop per CPU (--loops) takes its share of every core, which leaves half of the
speed. Sides are programs with the arguments of mpc-step-bench: that of this build,
and for example `--side passive="env OMP_WAIT_POLICY=passive OTHER/mpc-step-bench"`.
They take turns in every round. Prints medians, and ratios to the first side.
"""
import argparse
import os
import pathlib
import shlex
import statistics
import subprocess

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


class BusyLoops:
    """Runs this many processes that compute during the block."""

    def __init__(self, count):
        self.count = count

    def __enter__(self):
        loop = ["sh", "-c", "while :; do :; done"]
        self.processes = [subprocess.Popen(loop) for _ in range(self.count)]

    def __exit__(self, *_):
        for process in self.processes:
            process.kill()
            process.wait()


def measure(command, package, steps, threads):
    """Microseconds per step, and of CPU time per step."""
    options = [f"--steps={steps}", f"--warm-up={steps // 5}", f"--threads={threads}"]
    process = subprocess.Popen([*command, package, *options], stdout=subprocess.PIPE)
    step = float(process.stdout.read()) / 1000
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != 0:
        raise SystemExit(f"busy.py: {command[0]} failed")
    return step, (usage.ru_utime + usage.ru_stime) * 1e6 / (steps * 1.2)


def compare(args, package, loops):
    results = {name: [] for name in args.sides}
    for number in range(args.rounds):
        order = list(args.sides.items())
        for name, command in order if number % 2 == 0 else reversed(order):
            with BusyLoops(loops):
                results[name].append(measure(command, package, args.steps, args.threads))
    first = statistics.median(step for step, _ in results[next(iter(results))])
    for name, values in results.items():
        step, cpu = (statistics.median(column) for column in zip(*values))
        print(
            f"{pathlib.Path(package).stem:12} {loops:5} {name:10} {step:10.1f}"
            f" {cpu:10.1f} {step / first:7.2f}",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("packages", nargs="+", help="what mpc compile wrote")
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--side", action="append", default=[], metavar="NAME=COMMAND")
    parser.add_argument("--loops", type=int, nargs="+", default=[0, os.cpu_count()])
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=500)
    args = parser.parse_args()
    args.sides = {"ours": [str(args.build / "bin/mpc-step-bench")]}
    for side in args.side:
        name, command = side.split("=", 1)
        args.sides[name] = shlex.split(command)
    print("package      loops side         us/step   CPU us/step  ratio")
    for package in args.packages:
        for loops in args.loops:
            compare(args, package, loops)


if __name__ == "__main__":
    main()
