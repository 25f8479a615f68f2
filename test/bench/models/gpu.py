"""Training steps of the models of models.py on a GPU, compared with PyTorch, in the folder
test/bench:

    python -m models.gpu prepare FOLDER [--mpc=PATH] [--target=cuda:sm_90] [--models=REGEX]
    python -m models.gpu run FOLDER --bench=PATH [--models=REGEX] [--json=FILE]

`prepare` exports models and compiles them in bf16; FOLDER then has a few hundred kB for
each, because weights are zeros and batches are described. `run` fills both with random
numbers, because products of zeros are faster. mpc chooses its kernels first, one model
after the other, while nothing else runs; then PyTorch compiles all of its sides at once;
and then the sides of each model take turns. No losses are compared; models.py does that.

Both need PyTorch and numpy, `prepare` onnx and onnxscript, and most models timm or
transformers.
"""
import argparse
import concurrent.futures
import json
import lzma
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

from gpu import with_cuda_libraries
from models import CATALOG
from rounds import turns
from side import Failed, Side

FOLDER = pathlib.Path(__file__).resolve().parent.parent
LARGE = 4096  # Elements of a weight that is stored as zeros.
MODES = ("eager", "compile", "reduce-overhead")
DEVIATION = 0.02  # The standard deviation of random weights.


# --- Preparing ----------------------------------------------------------------


def clear_weights(path):
    """Replaces large weights by zeros. Returns the shapes of all weights by name."""
    import onnx
    from onnx import numpy_helper

    model = onnx.load(path)
    shapes = {}
    for tensor in model.graph.initializer:
        array = numpy_helper.to_array(tensor)
        if array.dtype != np.float32 or array.size < 2:
            continue
        shapes[tensor.name] = array.shape
        if array.size > LARGE:
            tensor.CopyFrom(numpy_helper.from_array(np.zeros_like(array), tensor.name))
    onnx.save(model, path)
    return shapes


def describe(array):
    """Integers as they are; floats are random numbers anyway."""
    found = {"shape": array.shape, "dtype": str(array.dtype)}
    if array.dtype.kind != "f":
        found["values"] = array.flatten().tolist()
    return found


def pack(source, target):
    with open(source, "rb") as file, lzma.open(target, "wb", preset=1) as packed:
        shutil.copyfileobj(file, packed, 1 << 24)


def prepare_one(entry, args, scratch):
    from models.worker import export, make_case

    arguments = entry.tiny if args.dry_run else entry.gpu
    case = make_case({"name": entry.name, "tiny": args.dry_run, "arguments": arguments})
    model, package = scratch / f"{entry.name}.onnx", scratch / f"{entry.name}.mpc"
    batch = {name: describe(tensor.numpy()) for name, tensor in case.arrays().items()}
    export(case, model, "torchscript" if args.dry_run else "dynamo")
    shapes = clear_weights(model)
    command = [args.mpc, "compile", model, "-o", package, "--precision=bf16"]
    command += [f"--target={args.target}", f"--lr={case.rate}", "--weight-decay=0.01"]
    command += case.options()
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
    if done.returncode != 0:
        raise Failed(f"mpc compile: {done.stderr.strip()}")
    pack(package, args.folder / f"{entry.name}.mpc.xz")
    package.unlink()
    found = {"arguments": arguments, "batch": batch, "weights": shapes}
    (args.folder / f"{entry.name}.json").write_text(json.dumps(found))


def prepare(args, chosen):
    args.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for entry in chosen:
            prepare_one(entry, args, pathlib.Path(scratch))
            print(f"{entry.name}: prepared", flush=True)


# --- Running ------------------------------------------------------------------


class Benchmark:
    def __init__(self, args, scratch):
        self.args = args
        self.scratch = scratch
        self.deadline = time.monotonic() + args.seconds

    def unpack(self, entry):
        """Writes the package, a batch and weights. Returns what `prepare` wrote."""
        found = json.loads((self.args.folder / f"{entry.name}.json").read_text())
        package = self.args.folder / f"{entry.name}.mpc.xz"
        with lzma.open(package) as packed, open(self.path(entry, "mpc"), "wb") as file:
            shutil.copyfileobj(packed, file, 1 << 24)
        random = np.random.default_rng(1)
        batch = {}
        for name, array in found["batch"].items():
            if "values" in array:
                batch[name] = np.array(array["values"], array["dtype"]).reshape(array["shape"])
            else:
                batch[name] = random.standard_normal(array["shape"], dtype=np.float32)
        np.savez(self.path(entry, "npz"), **batch)
        return found

    def path(self, entry, extension):
        return self.scratch / f"{entry.name}.{extension}"

    def mpc(self, entry, found):
        """Our side, with random weights for all states that the program has: constants
        of the exporter are no states."""
        command = [self.args.bench, self.path(entry, "mpc")]
        command += [f"--data={self.path(entry, 'npz')}", f"--device={self.args.device}"]
        command += ["--inputs=device"] if self.args.device != "cpu" else []
        random = np.random.default_rng(2)
        weights = {
            name: np.ones(shape, np.float32)
            if len(shape) == 1
            else random.standard_normal(shape, dtype=np.float32) * np.float32(DEVIATION)
            for name, shape in found["weights"].items()
        }
        environment = with_cuda_libraries()
        while True:
            file = self.path(entry, "weights.npz")
            np.savez(file, **weights)
            try:
                return Side("mpc", [*command, f"--weights={file}"], self.deadline, environment)
            except Failed as failure:
                missing = re.search(r"the program has no state '(.*)'", str(failure))
                if not missing or missing[1] not in weights:
                    raise
                del weights[missing[1]]
            finally:
                file.unlink()

    def torch(self, entry, found, mode):
        job = {"name": entry.name, "arguments": found["arguments"], "mode": mode}
        job.update(precision="bf16", device=self.args.device, tiny=self.args.dry_run)
        command = [sys.executable, "-m", "models.worker", json.dumps(job)]
        side = Side(mode, command, self.deadline, folder=FOLDER)
        side.ask("steps 5")
        return side

    def open_sides(self, entries, modes):
        """By model: its sides, and why those that failed did."""
        sides = {entry.name: {} for entry in entries}
        failures = {entry.name: {} for entry in entries}
        found = {entry.name: self.unpack(entry) for entry in entries}
        starts = {}
        with concurrent.futures.ThreadPoolExecutor(max(1, len(entries) * len(modes))) as pool:
            for entry in entries:
                begin = time.monotonic()
                starts[entry.name, "mpc"] = pool.submit(self.mpc, entry, found[entry.name])
                concurrent.futures.wait([starts[entry.name, "mpc"]])
                print(f"{entry.name}: mpc is ready after {time.monotonic() - begin:.1f} s", flush=True)
            for entry in entries:
                for mode in modes:
                    starts[entry.name, mode] = pool.submit(self.torch, entry, found[entry.name], mode)
        for (name, side), start in starts.items():
            try:
                sides[name][side] = start.result()
            except Failed as failure:
                failures[name][side] = str(failure)
        return sides, failures

    def measure(self, sides):
        """Milliseconds of a step in each round, by side."""
        steps, times = {}, {name: [] for name in sides}
        for name, side in sides.items():
            side.ask("steps 3")
            each = side.ask("steps 3")["seconds"] / 3
            steps[name] = max(1, min(5000, int(self.args.round_seconds / each)))
        for number in range(self.args.rounds):
            for name in turns(sides, number):
                seconds = sides[name].ask(f"steps {steps[name]}")["seconds"]
                times[name].append(1e3 * seconds / steps[name])
        return times

    def run(self, entries, modes):
        sides, failures = self.open_sides(entries, modes)
        for entry in entries:
            name = entry.name
            result = {"model": name, "times": {}, "failures": failures[name]}
            try:
                result["times"] = self.measure(sides[name])
            except Failed as failure:
                result["failures"]["run"] = str(failure)
            for side in sides[name].values():
                side.close()
            yield result


def row_of(result, modes):
    medians = {
        name: statistics.median(times) for name, times in result["times"].items() if times
    }
    peers = [medians[mode] for mode in modes if mode in medians]
    ratio = min(peers) / medians["mpc"] if peers and "mpc" in medians else None
    cells = [result["model"], *(medians.get(name) for name in ("mpc", *modes)), ratio]
    return [f"{cell:.2f}" if isinstance(cell, float) else cell or "-" for cell in cells]


def run(args, chosen):
    chosen = [entry for entry in chosen if (args.folder / f"{entry.name}.json").exists()]
    modes = ("eager",) if args.dry_run else args.modes
    results = []
    with tempfile.TemporaryDirectory() as scratch:
        for result in Benchmark(args, pathlib.Path(scratch)).run(chosen, modes):
            if not results:
                print(f"| {' | '.join(('model', 'mpc ms', *modes, 'ratio'))} |")
                print("| --- " * (len(modes) + 3) + "|")
            results.append(result)
            print(f"| {' | '.join(row_of(result, modes))} |", flush=True)
            for side, why in result["failures"].items():
                print(f"{result['model']} {side}: {why}", flush=True)
            if args.json:  # Save this model, in case a later one fails.
                args.json.write_text(json.dumps(results, indent=1) + "\n")
    if any({"mpc", "run"} & set(result["failures"]) for result in results):
        sys.exit("models.gpu: some models failed")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=("prepare", "run"))
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--models", default="", metavar="REGEX", help="only these")
    parser.add_argument("--mpc", type=pathlib.Path, default=FOLDER.parent.parent / "build/bin/mpc")
    parser.add_argument("--target", default="cuda:sm_90", help="of mpc compile")
    parser.add_argument("--bench", type=pathlib.Path, help="the program mpc-gpu-bench")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--modes", nargs="+", default=MODES, choices=MODES, help="of PyTorch")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--round-seconds", type=float, default=0.3)
    parser.add_argument("--seconds", type=float, default=600, help="for everything")
    parser.add_argument("--json", type=pathlib.Path, help="file for the results so far")
    parser.add_argument("--dry-run", action="store_true", help="tiny models, for a CPU")
    args = parser.parse_args()
    chosen = [entry for entry in CATALOG if re.search(args.models, entry.name)]
    chosen = [entry for entry in chosen if (entry.tiny if args.dry_run else entry.gpu) is not None]
    if args.command == "run" and not args.bench:
        parser.error("run needs --bench")
    {"prepare": prepare, "run": run}[args.command](args, chosen)


if __name__ == "__main__":
    main()
