#!/usr/bin/env python3
"""Training steps of models of all families on a CPU, compared with PyTorch.

Each model is exported once by PyTorch. mpc, PyTorch and torch.compile start from the
same weights and the same batch, each in a process of its own, and take turns in rounds;
a round in which the machine was slower than 95 % of its best does not count. A model
fails if the losses of the first steps differ from PyTorch's in f32.

Needs PyTorch, onnx, numpy, and for most models onnxscript, timm and transformers (no
torchvision); of mpc's targets mpc, mpc-canary and mpc-gpu-bench, in one folder. ratio is
the time of the faster one of PyTorch and torch.compile over mpc's; MB are the largest
resident memory of a process in fp32; % is the share of the rate of a product of large
matrices in PyTorch.

--dry-run trains tiny versions of two models, and needs only PyTorch and onnx.
"""
import argparse
import hashlib
import importlib.metadata
import importlib.util
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys
import tempfile
import time

from gpu import max_difference
from models import CATALOG
from rounds import parse_canary, sound_rounds, turns
from side import Failed, Side

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PRECISIONS = ("fp32", "bf16")
# Maximum relative difference between the losses and PyTorch's in f32.
TOLERANCE = {"fp32": 1e-3, "bf16": 2e-2}
# Maximum difference of what the losses fall by, relative to PyTorch's. Not in bf16, where
# a loss may round by more than it falls in a few steps.
CHANGE_TOLERANCE = 0.02
LOSSES = 3
# A side must answer within this time; torch.compile needs minutes for some models.
SECONDS = 1800
LARGE = 4096  # Rows of the matrices whose product measures the peak rate.


class Benchmark:
    def __init__(self, args, folder):
        self.args = args
        self.folder = folder
        self.bin = args.mpc.parent
        # All processes pin threads in the same way; only one works at a time.
        self.environment = dict(
            os.environ, OMP_NUM_THREADS=str(args.threads), OMP_PROC_BIND="true"
        )

    def worker(self, name, **job):
        job.update(name=name, tiny=self.args.dry_run)
        command = [sys.executable, "-m", "models.worker", json.dumps(job)]
        return Side(job["mode"], command, time.monotonic() + SECONDS, self.environment, HERE)

    def canary(self, precision):
        if self.args.dry_run:
            return 1.0
        command = [self.bin / "mpc-canary"]
        done = subprocess.run(command, env=self.environment, capture_output=True, text=True)
        if done.returncode != 0:
            raise Failed(f"mpc-canary: {done.stderr.strip()}")
        return parse_canary(done.stdout, precision)

    # --- Files ----------------------------------------------------------------

    def prepare(self, entry):
        """Exports the model, unless the folder has it from the same sources."""
        path = self.folder / f"{entry.name}.json"
        key = digest_sources(entry, self.args)
        if path.exists():
            found = json.loads(path.read_text())
            if found["key"] == key:
                return found
        job = {"folder": str(self.folder), "exporter": self.args.exporter}
        side = self.worker(entry.name, mode="prepare", losses=LOSSES, **job)
        side.close()
        found = {**side.ready, "key": key}
        path.write_text(json.dumps(found, indent=1) + "\n")
        return found

    def compile(self, entry, precision, prepared):
        """Compiles the model, and returns seconds, peak memory and notes."""
        command = [self.args.mpc, "compile", self.folder / f"{entry.name}.onnx"]
        command += ["-o", self.package(entry, precision), f"--precision={precision}", "--json"]
        command += prepared["options"]
        with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as errors:
            start = time.monotonic()
            process = subprocess.Popen(list(map(str, command)), stdout=out, stderr=errors)
            _, status, usage = os.wait4(process.pid, 0)
            seconds = time.monotonic() - start
            process.returncode = os.waitstatus_to_exitcode(status)
            out.seek(0)
            errors.seek(0)
            if process.returncode != 0:
                raise Failed(f"mpc compile: {errors.read().strip()}")
            found = json.loads(out.read())
        if found["trained"] != prepared["parameters"]:
            raise Failed(
                f"mpc trains {found['trained']} numbers, PyTorch {prepared['parameters']}"
            )
        peak = usage.ru_maxrss * 1024
        kept = {key: found[key] for key in ("bytes", "notes")}
        return {"seconds": seconds, "peak_bytes": peak, **kept}

    def package(self, entry, precision):
        return self.folder / f"{entry.name}-{precision}.mpc"

    # --- Sides ----------------------------------------------------------------

    def open_mpc(self, entry, precision):
        command = [self.bin / "mpc-gpu-bench", self.package(entry, precision)]
        command += [f"--data={self.folder / entry.name}.npz", "--device=cpu", "--warm-up=0"]
        command.append(f"--threads={self.args.threads}")
        return Side("mpc", command, time.monotonic() + SECONDS, self.environment)

    def open_sides(self, entry, precision, reference, result):
        """Starts all sides and compares their first losses with `reference`. A side that
        fails is left out."""
        sides = {}
        for name in self.args.sides:
            try:
                if name == "mpc":
                    side = self.open_mpc(entry, precision)
                else:
                    side = self.worker(entry.name, mode=name, precision=precision)
                sides[name] = side
                losses = side.ask(f"losses {LOSSES}")["losses"]
                result["sides"][name] = compare_losses(losses, reference)
                if name == "mpc":
                    require_same_losses(result["sides"][name], precision)
            except Failed as failure:
                result["failures"][name] = str(failure)
                if name in sides:
                    sides.pop(name).close()
        return sides

    def count_steps(self, side):
        """The number of steps of a round for which all rounds take about --seconds."""
        side.ask("steps 3")
        step = side.ask("steps 3")["seconds"] / 3
        return max(1, min(5000, int(self.args.seconds / self.args.rounds / step)))

    def take_turns(self, sides, precision, result):
        steps = {name: self.count_steps(side) for name, side in sides.items()}
        times = {name: [] for name in sides}
        canaries = []
        for number in range(self.args.rounds):
            before = self.canary(precision)
            for name in turns(sides, number):
                seconds = sides[name].ask(f"steps {steps[name]}")["seconds"]
                times[name].append(1e3 * seconds / steps[name])
            canaries.append(min(before, self.canary(precision)))
        sound = sound_rounds(canaries)
        result.update(rounds=len(canaries), used=len(sound), canary_gflops=max(canaries))
        for name, values in times.items():
            used = [values[i] for i in sound]
            result["sides"][name].update(
                ms=statistics.median(used),
                min_ms=min(used),
                max_ms=max(used),
                steps=steps[name],
                ready=sides[name].ready,
                peak_bytes=sides[name].peak_bytes(),
            )

    def measure(self, entry, precision, prepared):
        result = {"sides": {}, "failures": {}}
        sides = {}
        try:
            result["compile"] = self.compile(entry, precision, prepared)
            if self.args.compile_only:
                return result
            sides = self.open_sides(entry, precision, prepared["losses"], result)
            if sides:
                self.take_turns(sides, precision, result)
        except Failed as failure:
            result["failures"]["mpc" if not sides else "run"] = str(failure)
        finally:
            for side in sides.values():
                side.close()
        return result

    def run(self, entry):
        result = {"model": entry.name, "title": entry.title, "precisions": {}}
        try:
            prepared = self.prepare(entry)
        except Failed as failure:
            return {**result, "failure": str(failure)}
        result.update((key, prepared[key]) for key in ("parameters", "gflops", "losses"))
        for precision in self.args.precision:
            result["precisions"][precision] = self.measure(entry, precision, prepared)
        return result

    def peak(self):
        side = self.worker("", mode="peak", size=LARGE)
        side.close()
        return side.ready


def compare_losses(losses, reference):
    """The largest relative difference of the losses, and of what they fall by."""
    found = {"losses": losses, "worst": max_difference(losses, reference)}
    if math.isfinite(found["worst"]):
        changes = [[loss - series[0] for loss in series] for series in (losses, reference)]
        largest = max(map(abs, changes[1]))
        found["worst_change"] = max(abs(a - b) for a, b in zip(*changes)) / largest
    return found


def require_same_losses(found, precision):
    if not found["worst"] <= TOLERANCE[precision]:
        raise Failed(f"losses differ by {found['worst']:.1e}: {found['losses']}")
    if precision == "fp32" and not found["worst_change"] <= CHANGE_TOLERANCE:
        raise Failed(f"changes of losses differ by {found['worst_change']:.1e}: {found['losses']}")


def digest_sources(entry, args):
    """Changes with everything that an exported model depends on."""
    versions = [version_of(name) for name in ("torch", *entry.packages)]
    text = f"{entry} {args.exporter} {args.dry_run} {versions}"
    for module in (entry.maker.split(".")[0], "case", "worker"):
        text += (HERE / "models" / f"{module}.py").read_text()
    return hashlib.sha256(text.encode()).hexdigest()


def version_of(package):
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


# --- Output -------------------------------------------------------------------

COLUMNS = (
    *("model (batch)", "parameters"),
    *("mpc fp32 ms", "eager", "compile", "ratio"),
    *("mpc bf16 ms", "eager", "compile", "ratio", "bf16/fp32"),
    *("mpc MB", "eager MB", "GFLOP", "fp32 %", "bf16 %"),
)


def number_of(result, precision, side, key="ms"):
    found = result["precisions"].get(precision, {})
    return found.get("sides", {}).get(side, {}).get(key)


def ratio_of(result, precision):
    """The time of the faster one of PyTorch's sides over mpc's."""
    ours = number_of(result, precision, "mpc")
    peers = [number_of(result, precision, side) for side in ("eager", "compile")]
    peers = [peer for peer in peers if peer]
    return min(peers) / ours if ours and peers else None


def share_of_peak(result, precision, peak):
    ours = number_of(result, precision, "mpc")
    return 1e5 * result["gflops"] / ours / peak[precision] if ours and peak else None


def row_of(result, peak):
    cells = [result["title"], result.get("parameters")]
    for precision in PRECISIONS:
        for side in ("mpc", "eager", "compile"):
            cells.append(number_of(result, precision, side))
        cells.append(ratio_of(result, precision))
    ours = [number_of(result, precision, "mpc") for precision in PRECISIONS]
    cells.append(ours[1] / ours[0] if all(ours) else None)
    for side in ("mpc", "eager"):
        peak_bytes = number_of(result, "fp32", side, "peak_bytes")
        cells.append(round(peak_bytes / 1e6) if peak_bytes else None)
    cells.append(result.get("gflops"))
    cells += [share_of_peak(result, precision, peak) for precision in PRECISIONS]
    return cells


def text_of(cell):
    if cell is None:
        return "-"
    return f"{cell:.2f}" if isinstance(cell, float) else str(cell)


def print_row(cells):
    print(f"| {' | '.join(map(text_of, cells))} |", flush=True)


def failures_of(result):
    """What went wrong, one line each."""
    if "failure" in result:
        yield f"{result['model']}: {result['failure']}"
    for precision, found in result["precisions"].items():
        for side, why in found["failures"].items():
            yield f"{result['model']} {precision} {side}: {why}"


def is_sound(result):
    """False if mpc has no result. PyTorch's own failures are only printed."""
    failed = {side for found in result["precisions"].values() for side in found["failures"]}
    return "failure" not in result and not failed & {"mpc", "run"}


# --- Options ------------------------------------------------------------------


def choose(args):
    chosen = [entry for entry in CATALOG if re.search(args.models, entry.name)]
    if args.dry_run:
        chosen = [entry for entry in chosen if entry.tiny]
    if not chosen:
        names = ", ".join(entry.name for entry in CATALOG if entry.tiny or not args.dry_run)
        sys.exit(f"models.py: no model matches '{args.models}'; there are {names}")
    needed = {"torch", "onnx", "numpy"}.union(*(entry.packages for entry in chosen))
    if args.exporter == "dynamo":
        needed.add("onnxscript")
    missing = sorted(name for name in needed if not importlib.util.find_spec(name))
    if missing:
        sys.exit(f"models.py: needs {', '.join(missing)}: pip install {' '.join(missing)}")
    return chosen


def parse_arguments():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--mpc", type=pathlib.Path, default=ROOT / "build/bin/mpc")
    parser.add_argument("--models", default="", metavar="REGEX", help="only these")
    parser.add_argument("--precision", nargs="+", default=PRECISIONS, choices=PRECISIONS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=20, help="of each side, in all rounds")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", type=pathlib.Path, help="file for the results so far")
    parser.add_argument(
        "--keep", type=pathlib.Path, help="folder for models, which are used again, and packages"
    )
    parser.add_argument("--no-torch", action="store_true", help="do not time PyTorch")
    parser.add_argument(
        "--no-compile", action="store_true", help="do not time torch.compile"
    )
    parser.add_argument("--compile-only", action="store_true", help="only export and compile")
    parser.add_argument("--exporter", choices=("dynamo", "torchscript"), default="dynamo")
    parser.add_argument("--dry-run", action="store_true", help="two tiny models, to test this script")
    args = parser.parse_args()
    args.mpc = args.mpc.resolve()
    args.sides = ["mpc", "eager", "compile"]
    if args.dry_run:
        args.exporter = "torchscript"
        args.rounds, args.seconds = 1, 0.01
    if args.no_compile or args.dry_run:
        args.sides.remove("compile")
    if args.no_torch:
        args.sides = ["mpc"]
    return args


def describe_machine(args):
    text = pathlib.Path("/proc/cpuinfo").read_text()
    cpu = re.search(r"^model name\s*: (.*)$", text, re.MULTILINE)
    names = ("torch", "onnx", "timm", "transformers")
    return {
        "cpu": cpu[1] if cpu else "unknown",
        "threads": args.threads,
        **{name: version_of(name) for name in names},
    }


def run_all(args, chosen, folder):
    bench = Benchmark(args, folder)
    report = {"machine": describe_machine(args), "peak_gflops": None, "models": []}
    if not (args.dry_run or args.no_torch or args.compile_only):
        report["peak_gflops"] = bench.peak()
    print(f"{report['machine']}, GFLOP/s: {report['peak_gflops']}\n")
    print_row(COLUMNS)
    print_row(["---"] * len(COLUMNS))
    for entry in chosen:
        result = bench.run(entry)
        report["models"].append(result)
        print_row(row_of(result, report["peak_gflops"]))
        for line in failures_of(result):
            print(line, flush=True)
        if args.json:  # Save this model, in case a later one fails.
            args.json.write_text(json.dumps(report, indent=1) + "\n")
    bad = [result["model"] for result in report["models"] if not is_sound(result)]
    if bad:
        sys.exit(f"models.py: these models failed: {', '.join(bad)}")


def main():
    args = parse_arguments()
    chosen = choose(args)
    if args.keep:
        args.keep.mkdir(parents=True, exist_ok=True)
        return run_all(args, chosen, args.keep.resolve())
    with tempfile.TemporaryDirectory() as folder:
        run_all(args, chosen, pathlib.Path(folder))


if __name__ == "__main__":
    main()
