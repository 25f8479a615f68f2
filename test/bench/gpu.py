#!/usr/bin/env python3
"""Training steps on a GPU compared with PyTorch, on the same GPU in one run.

Sides take turns in every round, each in a separate process; the peak rates of the
machine are measured before and after, with a product of 8192 x 8192 random matrices
in bf16 and a copy of 8 GB. Prints medians, minimum and maximum, and ratios per
round. Losses of the first steps are compared before anything is timed.

Needs numpy, onnx and PyTorch with CUDA, the target mpc-gpu-bench, and either the
compiler or packages that were made with --make-packages elsewhere.

--dry-run tests everything on a CPU with small models: models are valid, PyTorch's
twins have the same losses as our CPU target, and the answers make a table.
"""
import argparse
import concurrent.futures
import contextlib
import csv
import dataclasses
import glob
import io
import json
import lzma
import math
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

from side import Failed, Side

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PEERS = ("eager", "compile", "reduce-overhead", "graph")
WARM_UP = 10
LEAST_STEPS = 30
# Maximum relative difference of losses: between two orders of summation in f32, between
# programs that round to bf16 in different places, and with operands that have 3 fraction
# bits.
TOLERANCE = {"fp32": 1e-4, "bf16": 2e-2, "fp8": 5e-2}


def with_cuda_libraries():
    """The environment, with the libraries of PyTorch's wheels."""
    paths = [os.environ["LD_LIBRARY_PATH"]] if os.environ.get("LD_LIBRARY_PATH") else []
    for place in sys.path:
        paths += sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib")))
    return dict(os.environ, LD_LIBRARY_PATH=":".join(paths))


class Benchmark:
    def __init__(self, args, folder):
        self.args = args
        self.environment = with_cuda_libraries()
        self.folder = pathlib.Path(folder)
        self.bin = args.build / "bin"
        self.device = "cpu" if args.dry_run else "cuda"

    # --- Sides ----------------------------------------------------------------

    def package(self, work, precision):
        """Compiles the model, or finds a package that was compiled elsewhere."""
        if self.args.packages:
            return self.unpack(work)
        path = self.folder / f"{work.name}-{precision}.mpc"
        target = "cpu" if self.args.dry_run else self.args.target
        command = [self.bin / "mpc", "compile", work.model, "-o", path]
        command += [f"--precision={precision}", f"--batch={work.batch}"]
        command += [f"--target={target}", f"--lr={work.rate}", *work.options]
        done = subprocess.run(
            [str(part) for part in command], capture_output=True, text=True
        )
        if done.returncode != 0:
            raise Failed(f"mpc compile: {done.stderr.strip()}")
        return path

    def unpack(self, work):
        packed = self.args.packages / f"{work.name}.mpc.xz"
        if not packed.exists():
            raise Failed(f"{packed} is missing")
        path = self.folder / f"{work.name}.mpc"
        if not path.exists():
            with lzma.open(packed) as source, open(path, "wb") as target:
                shutil.copyfileobj(source, target, 1 << 24)
        return path

    def ours(self, work, package, deadline, warm_up=WARM_UP):
        command = [self.bin / "mpc-gpu-bench", package, f"--data={work.data}"]
        command += [f"--device={self.device}", f"--inputs={work.inputs}"]
        command += [f"--part={work.part}", f"--warm-up={warm_up}"]
        if self.args.packages:
            command.append(f"--weights={self.weights(work)}")
        return Side("ours", command, deadline, self.environment)

    def weights(self, work):
        """Loads weights, which packages compiled elsewhere do not have."""
        import gpu_models

        path = self.folder / f"{work.name}-weights.npz"
        if not path.exists():
            gpu_models.write_weights(work.model, path)
        return path

    def torch(self, work, mode, deadline, precision="bf16", cold=False):
        job = {
            "twin": work.twin,
            "model": str(work.model),
            "data": str(work.data),
            "mode": mode,
            "precision": precision,
            "device": self.device,
            "inputs": work.inputs,
            "part": work.part,
            "rate": work.rate,
            "cold": cold,
        }
        command = [sys.executable, HERE / "gpu_torch.py", json.dumps(job)]
        return Side(mode, command, deadline)

    def ceilings(self):
        job = {"twin": ["ceilings"], "gemm": 8192, "copy": 8_000_000_000}
        command = [sys.executable, HERE / "gpu_torch.py", json.dumps(job)]
        side = Side("ceilings", command, time.monotonic() + 120)
        try:
            return {**side.ask("gemm"), **side.ask("copy"), **clocks()}
        finally:
            side.close()

    # --- Parts ----------------------------------------------------------------

    def compare_losses(self, work, precision, deadline):
        """The first losses of ours and of PyTorch's twin, from the same weights."""
        import gpu_models

        if self.args.packages and work.twin[0] == "DigitsMlp":
            return {"skipped": "the package was compiled with dropout"}
        if self.args.packages and work.accumulates:
            return {"skipped": "the package accumulates gradients"}
        work = gpu_models.without_dropout(work, self.folder)
        # With everything in f32, there is no choice for single ops.
        without = ["--accumulate"] + ["--op-precision"] * (precision == "fp32")
        options = [o for o in work.options if not o.startswith(tuple(without))]
        work = dataclasses.replace(work, part="step", options=tuple(options))
        sides = {}
        sides["ours"] = lambda: self.ours(
            work, self.package(work, precision), deadline, warm_up=0
        )
        twin = "bf16" if precision == "fp8" else precision
        sides["eager"] = lambda: self.torch(work, "eager", deadline, twin, True)
        if precision != "fp32":
            sides["fp32"] = lambda: self.torch(work, "eager", deadline, "fp32", True)
        losses = {}
        for name, start in sides.items():
            side = start()
            try:
                losses[name] = side.ask(f"losses {self.args.losses}")["losses"]
            finally:
                side.close()
        best = losses.get("fp32", losses["eager"])
        worst = max_difference(losses["ours"], best)
        found = {"losses": losses, "worst": worst, "tolerance": TOLERANCE[precision]}
        if "fp32" in losses:
            found["worst_of_eager"] = max_difference(losses["eager"], best)
        return found

    def open_sides(self, work, deadline):
        """Starts the processes of all sides, and waits until they are ready. Ours times
        its kernels when it starts, so the others start, side by side, after that.
        """
        sides, failures = {}, {}
        starts = {
            "ours": lambda: self.ours(
                work, self.package(work, work.precision), deadline
            )
        }
        # The update alone is the same kernel in every mode.
        modes = ("eager", "graph") if work.part == "apply" else PEERS
        for mode in filter(modes.__contains__, self.args.peers):
            starts[mode] = lambda mode=mode: self.torch(work, mode, deadline)
        with concurrent.futures.ThreadPoolExecutor(len(starts)) as pool:
            started = {}
            for name, start in starts.items():
                started[name] = pool.submit(start)
                if name == "ours":
                    concurrent.futures.wait([started[name]])
        for name, future in started.items():
            try:
                sides[name] = future.result()
            except Failed as failure:
                failures[name] = str(failure)
        return sides, failures

    def count_steps(self, side):
        """The number of steps for which a round of one side takes about the requested time."""
        first = side.ask(f"steps {self.args.steps}")["seconds"] / self.args.steps
        return max(self.args.steps, min(5000, int(self.args.round_seconds / first)))

    def measure(self, work, sides, failures):
        times = {name: [] for name in sides}
        events = {name: [] for name in sides}
        try:
            steps = {name: self.count_steps(side) for name, side in sides.items()}
            for number in range(self.args.rounds):
                names = list(sides)
                # Alternate the order, so that no side always runs first.
                for name in names if number % 2 == 0 else reversed(names):
                    found = sides[name].ask(f"steps {steps[name]}")
                    times[name].append(found["seconds"] / steps[name])
                    if "event_seconds" in found:
                        events[name].append(found["event_seconds"] / steps[name])
        except Failed as failure:
            failures["run"] = str(failure)
        finally:
            for side in sides.values():
                side.close()
        # A round counts only if every side took part.
        rounds = min(map(len, times.values()), default=0)
        times = {name: values[:rounds] for name, values in times.items()}
        numbers = summarize(work, times)
        # Times of the device's clock, to be compared with the host's.
        for name in numbers:
            if events[name]:
                numbers[name]["event_us"] = statistics.median(events[name]) * 1e6
            # The time until a side was ready, and for ours the device.
            numbers[name]["ready"] = sides[name].ready
        return numbers

    def run(self, name):
        import gpu_models

        deadline = time.monotonic() + self.args.part_seconds
        result = {"part": name}
        try:
            work = gpu_models.PARTS[name](self.folder, self.args.dry_run)
            result["parameters"] = work.parameters
            result["losses"] = self.compare_losses(work, work.precision, deadline)
            if self.args.dry_run and not self.args.packages:
                exact = self.compare_losses(work, "fp32", deadline)
                result["losses_fp32"] = exact
            sides, result["failures"] = self.open_sides(work, deadline)
            result["sides"] = self.measure(work, sides, result["failures"])
            if self.args.kernels:
                result["kernels"] = self.kernels(work, deadline)
        except Failed as failure:
            result.setdefault("failures", {})["part"] = str(failure)
        return result

    def run_together(self, names):
        """Measures the parts one after the other, with the sides of all of them started
        at once: most of a part's time is PyTorch's compilation. Compares no losses.
        """
        import gpu_models

        deadline = time.monotonic() + self.args.part_seconds
        works = [gpu_models.PARTS[name](self.folder, self.args.dry_run) for name in names]
        for work in works:
            # While nothing else runs, ours times its kernels, and remembers.
            with contextlib.suppress(Failed):
                self.ours(work, self.package(work, work.precision), deadline).close()
        with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
            opened = list(pool.map(lambda work: self.open_sides(work, deadline), works))
        for work, (sides, failures) in zip(works, opened):
            result = {"part": work.name, "parameters": work.parameters}
            result["losses"] = {"skipped": "--together"}
            result["failures"] = failures
            result["sides"] = self.measure(work, sides, failures)
            yield result

    # --- Kernels --------------------------------------------------------------

    def kernels(self, work, deadline):
        """Time in each kernel of one step: ours from ncu, PyTorch's from its own
        profiler."""
        found = {}
        if not shutil.which("ncu"):
            found["ours"] = {"skipped": "there is no ncu on the path"}
        else:
            package = self.package(work, work.precision)
            counts = [self.profile(work, package, n, deadline) for n in (2, 3)]
            found["ours"] = subtract_kernels(*counts)
        side = self.torch(work, "compile", deadline)
        try:
            found["compile"] = side.ask("kernels 3")["kernels"]
        finally:
            side.close()
        return found

    def profile(self, work, package, steps, deadline):
        command = ["ncu", "--csv", "--clock-control", "none", "--metrics"]
        command += ["gpu__time_duration.sum,dram__bytes.sum"]
        command += [self.bin / "mpc-gpu-bench", package, f"--data={work.data}"]
        command += [f"--inputs={work.inputs}", "--warm-up=0"]
        try:
            done = subprocess.run(
                [str(part) for part in command],
                input=f"steps {steps}\n",
                capture_output=True,
                text=True,
                timeout=max(1, deadline - time.monotonic()),
                env=self.environment,
            )
        except subprocess.TimeoutExpired:
            raise Failed("ncu: no answer within its time") from None
        if done.returncode != 0:
            raise Failed(f"ncu: {(done.stderr or done.stdout).strip()[-300:]}")
        return parse_kernels(done.stdout)


# --- Numbers ------------------------------------------------------------------


def max_difference(losses, reference):
    """The maximum relative difference; infinite if a loss is not finite."""
    if len(losses) != len(reference) or not losses:
        return math.inf
    worst = 0.0
    for loss, other in zip(losses, reference):
        if loss is None or not math.isfinite(loss) or not math.isfinite(other):
            return math.inf
        worst = max(worst, abs(loss - other) / max(abs(other), 1e-6))
    return worst


def summarize(work, times):
    """For each side: median, extremes, ratio to ours, and rates per second."""
    sides = {}
    if not any(times.values()):
        return sides
    ours = times.get("ours")
    for name, values in times.items():
        median = statistics.median(values)
        side = {
            "median_us": median * 1e6,
            "min_us": min(values) * 1e6,
            "max_us": max(values) * 1e6,
            "rounds": len(values),
        }
        if work.flops:
            side["tflops"] = work.flops / median / 1e12
        if work.bytes:
            side["tbytes_per_second"] = work.bytes / median / 1e12
        if ours and name != "ours":
            ratios = [peer / own for peer, own in zip(values, ours)]
            side["ratio"] = median / statistics.median(ours)
            side["ratio_min"], side["ratio_max"] = min(ratios), max(ratios)
            # No side wins if rounds disagree.
            side["counts"] = side["ratio_min"] > 1 or side["ratio_max"] < 1
        sides[name] = side
    return sides


def parse_kernels(text):
    """ncu's CSV as {kernel: [calls, us, bytes]}."""
    lines = text.splitlines()
    first = next((i for i, line in enumerate(lines) if line.startswith('"ID"')), None)
    if first is None:
        raise Failed("ncu: printed no table")
    to_us = {"nsecond": 1e-3, "ns": 1e-3, "usecond": 1, "us": 1, "msecond": 1e3}
    to_bytes = {"byte": 1, "Kbyte": 1e3, "Mbyte": 1e6, "Gbyte": 1e9}
    kernels = {}
    for row in csv.DictReader(io.StringIO("\n".join(lines[first:]))):
        kernel = kernels.setdefault(row["Kernel Name"], [0, 0.0, 0.0])
        value, unit = float(row["Metric Value"].replace(",", "")), row["Metric Unit"]
        if row["Metric Name"] == "gpu__time_duration.sum":
            kernel[0] += 1
            kernel[1] += value * to_us[unit]
        elif row["Metric Name"] == "dram__bytes.sum":
            kernel[2] += value * to_bytes[unit]
    return kernels


def subtract_kernels(fewer, more):
    """The difference for one more step; kernels that run once at the beginning are in
    both."""
    rows = []
    for name, (calls, us, size) in more.items():
        before = fewer.get(name, [0, 0.0, 0.0])
        if calls > before[0]:
            us, size = us - before[1], size - before[2]
            row = {"kernel": name, "calls": calls - before[0], "us": us}
            if us > 0:
                row["tbytes_per_second"] = size / us / 1e6
            rows.append(row)
    return sorted(rows, key=lambda row: -row["us"])


# --- The machine --------------------------------------------------------------


def output_of(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def clocks():
    fields = ("clocks.sm", "clocks.mem", "power.draw", "temperature.gpu")
    text = output_of("nvidia-smi", f"--query-gpu={','.join(fields)}", "--format=csv,noheader")
    return dict(zip(fields, text.splitlines()[0].split(", "))) if text else {}


def describe_machine(args):
    import torch

    found = {
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "mpc": output_of(str(args.build / "bin/mpc"), "--version"),
        "driver": output_of(
            "nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"
        ),
    }
    if torch.cuda.is_available():
        found["gpu"] = torch.cuda.get_device_name()
        found["cudnn"] = torch.backends.cudnn.version()
    revision = ROOT / "REVISION"
    if revision.exists():
        found["revision"] = revision.read_text().strip()
    else:
        found["revision"] = output_of(
            "git", "-C", str(ROOT), "describe", "--always", "--dirty"
        )
    return found


# --- Output -------------------------------------------------------------------


def show(result, ceilings):
    def line(side, numbers):
        text = f"{result['part']:16} {side:16}"
        for key in ("median_us", "min_us", "max_us"):
            text += f" {numbers[key]:10.1f}"
        if "ratio" in numbers:
            text += f" {numbers['ratio']:6.2f}"
            text += f" {numbers['ratio_min']:6.2f}-{numbers['ratio_max']:.2f}"
            text += "" if numbers["counts"] else " within the spread"
        for key, unit in (("tflops", "TFLOP/s"), ("tbytes_per_second", "TB/s")):
            if key in numbers:
                text += f"  {numbers[key]:.2f} {unit}"
                if ceilings:
                    share = numbers[key] / max(c[key] for c in ceilings)
                    text += f" ({100 * share:.0f} %)"
        print(text, flush=True)

    for side, numbers in result.get("sides", {}).items():
        line(side, numbers)
    for side, why in result.get("failures", {}).items():
        print(f"{result['part']:16} {side:16} failed: {why}", flush=True)
    for key in ("losses", "losses_fp32"):
        found = result.get(key, {})
        if "worst" in found:
            more = ""
            if "worst_of_eager" in found:
                more = f", eager's {found['worst_of_eager']:.1e}"
            verdict = "ok" if found["worst"] <= found["tolerance"] else "TOO FAR"
            print(
                f"{result['part']:16} losses{key[6:]:10} {verdict}:"
                f" ours differ by {found['worst']:.1e}{more}",
                flush=True,
            )
        elif "skipped" in found:
            print(f"{result['part']:16} losses skipped: {found['skipped']}")


def is_sound(result, dry_run):
    """False if losses differ, or if a part could not be run at all."""
    for key in ("losses", "losses_fp32"):
        found = result.get(key, {})
        if "worst" in found and not found["worst"] <= found["tolerance"]:
            return False
    failures = set(result.get("failures", {}))
    return not failures if dry_run else not failures & {"ours", "part", "run"}


def make_packages(args):
    """Compiles all parts for a machine without the compiler. Weights are zero, so that
    packages are small; the run supplies them."""
    import gpu_models

    args.make_packages.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        bench = Benchmark(args, folder)
        for name in args.parts:
            work = gpu_models.PARTS[name](bench.folder, args.tiny)
            gpu_models.clear_weights(work)
            path = bench.package(work, work.precision)
            packed = args.make_packages / f"{name}.mpc.xz"
            with open(path, "rb") as source, lzma.open(packed, "wb", preset=1) as target:
                shutil.copyfileobj(source, target, 1 << 24)
            path.unlink()
            print(f"{packed}: {packed.stat().st_size} bytes")


def parse_arguments():
    import gpu_models

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parts = list(gpu_models.PARTS)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build")
    parser.add_argument("--parts", nargs="+", default=parts, choices=parts)
    parser.add_argument("--peers", nargs="*", default=list(PEERS), choices=PEERS)
    parser.add_argument("--target", default="cuda", help="of mpc compile")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--steps", type=int, default=LEAST_STEPS, help="at least")
    parser.add_argument("--round-seconds", type=float, default=0.5)
    parser.add_argument("--losses", type=int, default=20, help="that are compared")
    parser.add_argument("--part-seconds", type=float, default=180)
    parser.add_argument("--kernels", action="store_true", help="time each kernel too")
    parser.add_argument(
        "--together",
        action="store_true",
        help="start all parts at once, without comparing losses: faster, and needs memory for all",
    )
    parser.add_argument("--json", type=pathlib.Path, help="file to write")
    parser.add_argument("--packages", type=pathlib.Path, help="made elsewhere")
    parser.add_argument("--make-packages", type=pathlib.Path, help="folder; no more")
    parser.add_argument("--tiny", action="store_true", help="with --make-packages")
    parser.add_argument("--dry-run", action="store_true", help="on a CPU, small")
    args = parser.parse_args()
    if args.dry_run:
        args.peers = ["eager"]
        args.rounds, args.steps, args.losses = 2, 2, 3
        args.round_seconds = 0
    return args


def main():
    args = parse_arguments()
    if args.make_packages:
        return make_packages(args)
    if not args.dry_run:
        import torch

        if not torch.cuda.is_available():
            sys.exit("gpu.py: skipped: PyTorch finds no CUDA device")
    report = {"machine": describe_machine(args), "ceilings": [], "parts": []}
    print(f"{report['machine']}\n")
    with tempfile.TemporaryDirectory() as folder:
        bench = Benchmark(args, folder)
        if not args.dry_run:
            report["ceilings"].append(bench.ceilings())
        print("part             side             median us     min us     max us  ratio")
        if args.together:
            results = bench.run_together(args.parts)
        else:
            results = map(bench.run, args.parts)
        for result in results:
            report["parts"].append(result)
            show(report["parts"][-1], report["ceilings"])
            if args.json:  # Save this part, in case a later one fails.
                args.json.write_text(json.dumps(report, indent=1) + "\n")
        if not args.dry_run:
            report["ceilings"].append(bench.ceilings())
    if args.json:
        args.json.write_text(json.dumps(report, indent=1) + "\n")
    for ceiling in report["ceilings"]:
        print(f"ceilings: {ceiling}")
    bad = [r["part"] for r in report["parts"] if not is_sound(r, args.dry_run)]
    if bad:
        sys.exit(f"gpu.py: these parts are not right: {', '.join(bad)}")


if __name__ == "__main__":
    main()
