#!/usr/bin/env python3
"""Runs the suite and the benchmarks that check.sh packed; run.sh starts it.

Writes results.json and table.txt, both anew after each check, bench.json and, at
the end, logs.tar.gz into --out. The exit status is 1 if anything failed; what was
skipped did not.
"""
import argparse
import glob
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time

STAGES = ("doctor", "suite", "digits", "sanitizer", "bench")
# What PyTorch reaches on the digits; see test/tools/mpc/digits.test.
ACCURACY = {"mlp": 0.97, "cnn": 0.98}
STEPS = 200
WINDOW = 20
# Of the mean loss of 20 steps: sums in another order, rounding at other places.
AGREEMENT = {"fp32": 1e-4, "bf16": 1e-2, "fp16": 1e-2}


def find_cuda_libraries():
    """Folders of NVIDIA's libraries: PyTorch's wheels bring them along."""
    folders = []
    for place in sys.path:
        folders += sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib")))
    usual = ("/usr/local/cuda/lib64", "/usr/local/nvidia/lib64")
    return folders + [folder for folder in usual if os.path.isdir(folder)]


class Skipped(Exception):
    """Something that cannot run here, and why."""


class Failure(Exception):
    """Something that ran and is not right."""


class Runner:
    def __init__(self, args):
        self.args = args
        self.content = args.content
        self.out = args.out
        self.results = []
        self.machine = {}
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.logs = self.scratch / "logs"
        self.logs.mkdir()
        self.environment = dict(os.environ)
        paths = find_cuda_libraries()
        if os.environ.get("LD_LIBRARY_PATH"):
            paths.insert(0, os.environ["LD_LIBRARY_PATH"])
        self.environment["LD_LIBRARY_PATH"] = ":".join(paths)
        # Of mpc-gpu-programs-test.
        self.environment["MPC_GPU_PROGRAMS"] = str(self.content / "packages/programs")
        self.no_device = ""

    # --- Running --------------------------------------------------------------

    def run(self, name, command, seconds=300):
        """Runs a program; its output goes to a log and is returned."""
        command = [str(part) for part in command]
        log = self.logs / f"{name}.log"
        with open(log, "a") as file:
            try:
                done = subprocess.run(
                    command,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                    timeout=seconds,
                    env=self.environment,
                )
            except subprocess.TimeoutExpired:
                raise Failure(f"took more than {seconds} s") from None
            file.write(f"{' '.join(command)}\n{done.stderr}\n{done.stdout}\n")
        return done

    def must_run(self, name, command, seconds=300):
        done = self.run(name, command, seconds)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            why = lines[-1] if lines else "no message"
            raise Failure(f"exit status {done.returncode}: {why}")
        return done.stdout

    def record(self, stage, name, work):
        """Runs one check and keeps what became of it."""
        begin = time.monotonic()
        entry = {"stage": stage, "name": name}
        try:
            entry["status"], entry["detail"] = "passed", work() or ""
        except Skipped as skipped:
            entry["status"], entry["detail"] = "skipped", str(skipped)
        except Failure as failure:
            entry["status"], entry["detail"] = "failed", str(failure)
        entry["seconds"] = round(time.monotonic() - begin, 2)
        self.results.append(entry)
        print(line_of(entry), flush=True)
        self.write()

    def need_device(self):
        if self.no_device:
            raise Skipped(self.no_device)

    def program(self, name):
        return self.args.programs / name

    # --- Stages ---------------------------------------------------------------

    def doctor(self):
        """Always runs: all other stages ask it for the device."""
        text = self.must_run("doctor", [self.program("mpc"), "doctor", "--device", "--json"])
        found = json.loads(text)
        self.machine["doctor"] = found
        if not found["ready"]:
            # The first word of each; the log has what to do about it.
            lacks = [text.split(":")[0] for text in found["missing"]]
            self.no_device = f"no device (missing: {'; '.join(lacks)})"
            raise Skipped(self.no_device)
        return ", ".join(device["name"] for device in found["devices"])

    def suite(self):
        for name in (self.content / "suite.txt").read_text().split():
            self.record("suite", name, lambda name=name: self.run_tests(name))

    def run_tests(self, name):
        report = self.logs / f"{name}.json"
        report.unlink(missing_ok=True)
        command = [self.program(name), f"--gtest_output=json:{report}"]
        done = self.run(name, command, 900)
        if not report.exists():
            raise Failure(f"exit status {done.returncode}, and it left no report")
        return judge_tests(json.loads(report.read_text()), done)

    def digits(self):
        for package in sorted(self.content.glob("packages/*.mpc")):
            model, precision = package.stem.split("-")
            checks = [
                ("cpu", lambda: self.train_on_cpu(package)),
                ("accuracy", lambda: self.check_accuracy(package, model)),
                ("agrees with the cpu", lambda: self.check_agreement(package, precision)),
                ("resumes", lambda: self.check_resume(package)),
            ]
            if precision == "fp16":
                checks.append(("skips overflows", lambda: self.check_skips(package)))
            for what, check in checks:
                self.record("digits", f"{package.stem} {what}", check)

    def train(self, package, device, *options):
        """Losses, skipped steps and the last accuracy of a run."""
        data = self.content / "runtime/examples/digits"
        command = [self.program("mpc"), "train", package, f"--device={device}"]
        command += ["--data", data / "digits-train.npz", "--json", *options]
        name = f"digits-{package.stem}-{device}"
        lines = self.must_run(name, command).splitlines()
        steps = [json.loads(line) for line in lines]
        accuracies = [step["accuracy"] for step in steps if "accuracy" in step]
        steps = [step for step in steps if "loss" in step]
        return steps, accuracies[-1] if accuracies else None

    def train_on_cpu(self, package):
        """That the package and what is packed with it are whole."""
        steps, _ = self.train(package, "cpu", f"--steps={WINDOW}", "--threads=2")
        if len(steps) != WINDOW or not steps[-1]["loss"] < steps[0]["loss"]:
            raise Failure(f"{len(steps)} steps, and the loss did not fall")
        return f"loss {steps[0]['loss']:.3f} to {steps[-1]['loss']:.3f}"

    def check_accuracy(self, package, model):
        self.need_device()
        test = self.content / "runtime/examples/digits/digits-test.npz"
        _, accuracy = self.train(package, "cuda", "--epochs=30", "--eval-data", test)
        if accuracy is None or accuracy < ACCURACY[model]:
            raise Failure(f"accuracy {accuracy}, less than {ACCURACY[model]}")
        return f"accuracy {accuracy:.4f}"

    def check_agreement(self, package, precision):
        self.need_device()
        losses = [
            [step["loss"] for step in self.train(package, device, f"--steps={STEPS}")[0]]
            for device in ("cpu", "cuda")
        ]
        worst = compare_curves(*losses)
        if not worst <= AGREEMENT[precision]:
            raise Failure(f"losses differ by {worst:.1e}, more than {AGREEMENT[precision]:.0e}")
        return f"losses differ by {worst:.1e}"

    def check_resume(self, package):
        self.need_device()
        whole = self.train(package, "cuda", f"--steps={STEPS}")[0]
        folder = self.scratch / package.stem
        options = ["--checkpoint-dir", folder]
        parts = self.train(package, "cuda", f"--steps={STEPS // 2}", *options)[0]
        parts += self.train(package, "cuda", f"--steps={STEPS}", "--resume", *options)[0]
        if parts != whole:
            raise Failure("a run that was stopped in the middle went another way")
        return f"{STEPS} steps, bit for bit"

    def check_skips(self, package):
        self.need_device()
        steps = self.train(package, "cuda", "--steps=60", "--loss-scale-init=1e9")[0]
        skipped = [step["skipped"] for step in steps]
        # Halved until it fits, then none.
        if not skipped[0] or skipped[-1] or not steps[-1]["loss_scale"] < 1e9:
            raise Failure(f"skipped {sum(skipped)} of {len(steps)} steps")
        return f"skipped {sum(skipped)} of {len(steps)} steps"

    def sanitizer(self):
        for name in (self.content / "suite.txt").read_text().split():
            for tool in ("memcheck", "racecheck"):
                self.record(
                    "sanitizer", f"{name} {tool}", lambda: self.sanitize(name, tool)
                )

    def sanitize(self, name, tool):
        self.need_device()
        if not shutil.which("compute-sanitizer"):
            raise Skipped("there is no compute-sanitizer on the path")
        command = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]
        # Small shapes find what there is; it is a hundred times slower.
        command += [self.program(name), "--gtest_filter=-*Large*"]
        self.must_run(f"{name}-{tool}", command, 570)
        return "no errors"

    def bench(self):
        self.record("bench", "against PyTorch", self.run_bench)

    def run_bench(self):
        self.need_device()
        packages = self.content / "packages/bench"
        if not packages.is_dir():
            raise Skipped("packed with --small")
        needed = [sys.executable, "-c", "import numpy, onnx, torch"]
        if self.run("bench", needed).returncode != 0:
            raise Skipped(f"{sys.executable} lacks numpy, onnx or torch")
        command = [sys.executable, self.content / "test/bench/gpu.py"]
        command += [f"--build={self.args.programs.parent}", f"--packages={packages}"]
        command += [f"--json={self.out / 'bench.json'}", *self.args.bench_options]
        table = self.must_run("bench", command, 3600)
        print(table)
        return "bench.json"

    # --- All ------------------------------------------------------------------

    def run_all(self):
        self.machine["system"] = platform.platform()
        revision = self.content / "REVISION"
        self.machine["revision"] = revision.read_text().strip()
        self.record("doctor", "device", self.doctor)
        if self.results[0]["status"] == "failed":
            self.no_device = "mpc doctor failed"
        for stage in STAGES[1:]:
            if stage in self.args.only:
                getattr(self, stage)()
        print(f"{self.write()}; all of it in {self.out}")
        with tarfile.open(self.out / "logs.tar.gz", "w:gz") as archive:
            archive.add(self.logs, "logs")
        shutil.rmtree(self.scratch)
        return any(entry["status"] == "failed" for entry in self.results)

    def write(self):
        """Keeps what is known so far: the machine may be taken away."""
        report = {"machine": self.machine, "results": self.results}
        (self.out / "results.json").write_text(json.dumps(report, indent=1) + "\n")
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        for entry in self.results:
            counts[entry["status"]] += 1
        total = ", ".join(f"{count} {status}" for status, count in counts.items())
        table = [line_of(entry) for entry in self.results] + [total]
        (self.out / "table.txt").write_text("\n".join(table) + "\n")
        return total


def line_of(entry):
    detail = entry["detail"]
    if entry["status"] == "skipped":
        detail = f"skipped: {detail}"
    elif entry["status"] == "failed":
        detail = f"FAILED: {detail}"
    return f"{entry['stage']:10} {entry['name']:32} {entry['seconds']:7.1f} s  {detail}"


def judge_tests(report, done):
    """What GoogleTest's report says; a failure unless all that ran passed."""
    counts = {"COMPLETED": 0, "SKIPPED": 0}
    failed = []
    for suite in report.get("testsuites", []):
        for test in suite["testsuite"]:
            counts[test["result"]] = counts.get(test["result"], 0) + 1
            if test.get("failures"):
                failed.append(f"{suite['name']}.{test['name']}")
    if failed or done.returncode != 0:
        what = ", ".join(failed[:3]) or f"exit status {done.returncode}"
        raise Failure(f"{len(failed)} of {sum(counts.values())} tests: {what}")
    if counts["COMPLETED"] == 0:
        # The reason stands in the line behind the place.
        _, _, said = done.stdout.partition(": Skipped\n")
        raise Skipped(said.splitlines()[0].strip() if said else "no test ran")
    skipped = f", {counts['SKIPPED']} skipped" if counts["SKIPPED"] else ""
    return f"{counts['COMPLETED']} tests{skipped}"


def compare_curves(losses, others):
    """Most relative difference between moving means of two runs."""
    if len(losses) != len(others) or len(losses) < WINDOW:
        return float("inf")
    worst = 0.0
    for end in range(WINDOW, len(losses) + 1):
        # null stands for what is no number.
        if None in losses[end - WINDOW : end] + others[end - WINDOW : end]:
            return float("inf")
        mean = sum(losses[end - WINDOW : end]) / WINDOW
        other = sum(others[end - WINDOW : end]) / WINDOW
        worst = max(worst, abs(mean - other) / max(abs(mean), 1e-6))
    return worst


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--content", type=pathlib.Path, required=True)
    parser.add_argument("--programs", type=pathlib.Path, required=True)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    parser.add_argument("--only", required=True)
    parser.add_argument("bench_options", nargs="*")
    args = parser.parse_args()
    args.only = args.only.split(",")
    unknown = set(args.only) - set(STAGES)
    if unknown:
        sys.exit(f"run.sh: error: --only: {', '.join(sorted(unknown))} is none of {', '.join(STAGES)}")
    args.out = args.out.resolve()
    args.out.mkdir(parents=True, exist_ok=True)
    return args


if __name__ == "__main__":
    sys.exit(Runner(parse_arguments()).run_all())
