#!/usr/bin/env python3
"""Time of a training step of the digits models, compared with PyTorch.

Needs `pip install torch==2.13.0` and the target mpc-benchmarks. Sides take turns
in every round, each in a separate process with the same threads; a round in
which the machine was slower than 95 % of its best does not count.
"""
import argparse
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile

from rounds import parse_canary, sound_rounds, turns

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
OURS = ("ours", "deterministic")


class TorchWorker:
    def __init__(self, args, model, precision, mode, environment):
        command = [sys.executable, str(HERE / "torch_worker.py"), model, precision]
        self.process = subprocess.Popen(
            [*command, mode, str(args.batch), str(args.threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )
        self.answer()

    def answer(self):
        line = self.process.stdout.readline()
        if not line:
            sys.exit("digits.py: a PyTorch process ended; its message is above")
        return line

    def round(self, steps):
        self.process.stdin.write(f"{steps}\n")
        self.process.stdin.flush()
        return float(self.answer())

    def close(self):
        self.process.stdin.close()
        self.process.wait()


class Benchmark:
    def __init__(self, args):
        self.args = args
        self.bin = args.build / "bin"
        # All processes pin threads in the same way; only one works at a time.
        self.environment = dict(
            os.environ,
            OMP_NUM_THREADS=str(args.threads),
            OMP_PROC_BIND="true",
        )

    def output(self, *command):
        done = subprocess.run(
            [str(part) for part in command],
            env=self.environment,
            capture_output=True,
            text=True,
        )
        if done.returncode != 0:
            sys.exit(f"digits.py: {command[0]} failed: {done.stderr}")
        return done.stdout

    def canary(self, precision):
        return parse_canary(self.output(self.bin / "mpc-canary"), precision)

    def compile(self, model, precision, batch, folder):
        package = pathlib.Path(folder) / f"{model}-{precision}-{batch}.mpc"
        source = ROOT / "runtime/examples/digits" / f"{model}.onnx"
        options = [f"--precision={precision}", f"--batch={batch}"]
        self.output(self.bin / "mpc", "compile", source, "-o", package, *options)
        return package

    def step(self, package, deterministic=False):
        """Nanoseconds per step."""
        options = [f"--steps={self.args.steps}", f"--threads={self.args.threads}"]
        if deterministic:
            options.append("--deterministic")
        return float(self.output(self.bin / "mpc-step-bench", package, *options))

    def instructions(self, model, precision, batch, folder):
        """The number of instructions of a step, from the IR of the last stage."""
        source = ROOT / "runtime/examples/digits" / f"{model}.onnx"
        options = [f"--precision={precision}", f"--batch={batch}"]
        dump = pathlib.Path(folder) / f"{model}-{precision}"
        unused = pathlib.Path(folder) / "unused.mpc"
        command = [self.bin / "mpc", "compile", source, "-o", unused]
        self.output(*command, *options, f"--dump-stages={dump}")
        text = next(dump.glob("*-codegen.mlir")).read_text()
        step = text.split("exec.entry @step", 1)[1].split("exec.entry @", 1)[0]
        return len(re.findall(r"^\s*exec\.(?:launch|call) ", step, re.MULTILINE))

    def compare(self, model, precision, folder):
        package = self.compile(model, precision, self.args.batch, folder)
        workers = {
            mode: TorchWorker(self.args, model, precision, mode, self.environment)
            for mode in self.args.peers
        }
        times = {side: [] for side in (*OURS, *workers)}
        canaries = []
        for number in range(self.args.rounds):
            before = self.canary(precision)
            for side in turns(times, number):
                if side in workers:
                    time = workers[side].round(self.args.steps)
                else:
                    time = self.step(package, side == "deterministic")
                times[side].append(time)
            canaries.append(min(before, self.canary(precision)))
        for worker in workers.values():
            worker.close()
        return self.summarize(model, precision, times, canaries)

    @staticmethod
    def summarize(model, precision, times, canaries):
        sound = sound_rounds(canaries)
        result = {
            "model": model,
            "precision": precision,
            "rounds": len(canaries),
            "used": len(sound),
            "canary_gflops": max(canaries),
            "sides": {},
        }
        ours = statistics.median(times["ours"][i] for i in sound)
        for side, values in times.items():
            used = [values[i] / 1000 for i in sound]
            median = statistics.median(used)
            result["sides"][side] = {
                "median_us": median,
                "min_us": min(used),
                "max_us": max(used),
                "ratio": median * 1000 / ours,
            }
        return result


def show(result):
    for side, numbers in result["sides"].items():
        print(
            f"{result['model']:5} {result['precision']:5} {side:14}"
            f" {numbers['median_us']:9.1f} {numbers['min_us']:9.1f}"
            f" {numbers['max_us']:9.1f} {numbers['ratio']:7.2f}"
            f"   {result['used']}/{result['rounds']}",
            flush=True,
        )


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--models", nargs="+", default=["mlp", "cnn"])
    parser.add_argument("--precisions", nargs="+", default=["fp32", "bf16"])
    parser.add_argument(
        "--peers", nargs="*", default=["eager", "compile"], help="none: ours alone"
    )
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--steps", type=int, default=500, help="in each round")
    parser.add_argument("--json", type=pathlib.Path, help="file to write")
    return parser.parse_args()


def main():
    args = parse_arguments()
    bench = Benchmark(args)
    results, overheads = [], []
    with tempfile.TemporaryDirectory() as folder:
        print("model prec. side              median       min       max   ratio   used")
        for model in args.models:
            for precision in args.precisions:
                results.append(bench.compare(model, precision, folder))
                show(results[-1])
        print("\nus per step at batch 1: at least what dispatch takes, so a bound on it")
        for model in args.models:
            for precision in args.precisions:
                package = bench.compile(model, precision, 1, folder)
                rounds = [bench.step(package) / 1000 for _ in range(args.rounds)]
                count = bench.instructions(model, precision, 1, folder)
                entry = {"model": model, "precision": precision}
                entry.update(us=statistics.median(rounds), instructions=count)
                overheads.append(entry)
                print(f"{model:5} {precision:5} {entry['us']:9.1f} us, {count} instructions")
    if args.json:
        text = json.dumps({"steps": results, "batch_1": overheads}, indent=1)
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    main()
