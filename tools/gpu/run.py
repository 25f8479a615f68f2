#!/usr/bin/env python3
"""Runs the suite and the benchmarks that check.sh packed; run.sh starts it.

Writes results.json, table.txt, bench.json and logs/ to --out. The first two are
rewritten after each check, and logs are written while programs run, because the
machine may become unavailable at any time. --resume runs only what results.json
does not have. The exit code is 1 if a check failed; a skipped check is not a failure.
"""
import argparse
import concurrent.futures
import functools
import glob
import json
import os
import pathlib
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

# In this order: stages that are quick and tell most come first.
STAGES = ("doctor", "smoke", "steps", "suite", "digits", "sanitizer", "bench")
# The number of tests of a program that share a process, and its time limit.
SHARD = 20
SHARD_SECONDS = 60
SMOKE_SECONDS = 20
LIST_SECONDS = 60
# The number of processes of a program that may hang before its other tests are
# skipped: each costs a minute.
MAX_HANGS = 3
# The accuracy of PyTorch on the digits; see test/tools/mpc/train/digits.test.
ACCURACY = {"mlp": 0.97, "cnn": 0.98}
FP8_LOSES = 0.01
STEPS = 200
WINDOW = 20
# The largest relative difference between mean losses over 20 steps: devices add in
# different orders and round at different places.
AGREEMENT = {"fp32": 1e-4, "bf16": 1e-2, "fp16": 1e-2, "fp8": 5e-2}


def find_cuda_libraries():
    """Folders of NVIDIA's libraries, which PyTorch's wheels contain."""
    folders = []
    for place in sys.path:
        folders += sorted(glob.glob(os.path.join(place, "nvidia", "*", "lib")))
    usual = ("/usr/local/cuda/lib64", "/usr/local/nvidia/lib64")
    return folders + [folder for folder in usual if os.path.isdir(folder)]


class Skipped(Exception):
    """The reason why a check cannot run here."""


class Failure(Exception):
    """What is wrong with a check that ran."""


class TimedOut(Failure):
    """A program did not finish in time."""


class Done:
    """The exit code and the output of a program."""

    def __init__(self, returncode, stdout, stderr):
        self.returncode = returncode
        self.stdout = stdout
        self.stderr = stderr


def read_text(path, offset=0):
    """The contents of a file from an offset on, even if they are not valid text."""
    with open(path, "rb") as file:
        file.seek(offset)
        return file.read().decode("utf-8", "replace")


class Runner:
    def __init__(self, args):
        self.args = args
        self.content = args.content
        self.out = args.out
        self.results = []
        self.machine = {}
        self.known = load_results(self.out) if args.resume else {}
        self.scratch = pathlib.Path(tempfile.mkdtemp())
        self.logs = self.out / "logs"
        self.logs.mkdir(exist_ok=True)
        self.environment = dict(os.environ)
        paths = find_cuda_libraries()
        if os.environ.get("LD_LIBRARY_PATH"):
            paths.insert(0, os.environ["LD_LIBRARY_PATH"])
        self.environment["LD_LIBRARY_PATH"] = ":".join(paths)
        # For mpc-gpu-programs-test.
        self.environment["MPC_GPU_PROGRAMS"] = str(self.content / "packages/programs")
        self.no_device = ""
        self.lists = {}  # Names of tests, by program.
        self.lock = threading.Lock()  # Guards `results` and what is printed and written.

    # --- Running --------------------------------------------------------------

    def run(self, name, command, seconds=300):
        """Runs a program. Its output is written to a log immediately, and returned."""
        command = [str(part) for part in command]
        log, errors = self.logs / f"{name}.log", self.logs / f"{name}.err"
        with open(log, "ab") as out, open(errors, "ab") as err:
            for file in (out, err):
                file.write(f"$ {' '.join(command)}\n".encode())
                file.flush()
            begin, begin_err = out.tell(), err.tell()
            # A separate process group, so that child processes can be ended as well.
            process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env=self.environment,
                start_new_session=True,
            )
            try:
                process.wait(timeout=seconds)
            except subprocess.TimeoutExpired:
                raise TimedOut(f"took more than {seconds} s") from None
            finally:
                end_group(process)
        return Done(process.returncode, read_text(log, begin), read_text(errors, begin_err))

    def must_run(self, name, command, seconds=300):
        done = self.run(name, command, seconds)
        if done.returncode != 0:
            lines = (done.stderr or done.stdout).strip().splitlines()
            why = lines[-1] if lines else "no message"
            raise Failure(f"exit status {done.returncode}: {why}")
        return done.stdout

    def record(self, stage, name, work, rest=None):
        """Runs one check and records its result; never raises. The result includes
        what `work` put into `rest`: the tests that must run in another process.
        """
        begin = time.monotonic()
        if (stage, name) in self.known:
            entry = self.known[stage, name]
            if rest is not None:
                rest[:] = entry.get("rest", [])
            self.keep(entry)
            return
        entry = {"stage": stage, "name": name}
        try:
            entry["status"], entry["detail"] = "passed", work() or ""
        except Skipped as skipped:
            entry["status"], entry["detail"] = "skipped", str(skipped)
        except Failure as failure:
            entry["status"], entry["detail"] = "failed", str(failure)
        except Exception as error:  # Output or files of a program that are not as expected.
            entry["status"] = "failed"
            entry["detail"] = f"{type(error).__name__}: {error}"
            with open(self.logs / "exceptions.log", "a", encoding="utf-8") as file:
                file.write(f"{stage} {name}\n{traceback.format_exc()}\n")
        entry["seconds"] = round(time.monotonic() - begin, 2)
        if rest:
            entry["rest"] = list(rest)
        self.keep(entry)

    def keep(self, entry):
        with self.lock:
            self.results.append(entry)
            print(line_of(entry), flush=True)
            self.write()

    def side_by_side(self, tasks):
        """Runs functions in up to --jobs threads."""
        with concurrent.futures.ThreadPoolExecutor(self.args.jobs) as pool:
            for future in [pool.submit(task) for task in tasks]:
                future.result()

    def need_device(self):
        if self.no_device:
            raise Skipped(self.no_device)

    def program(self, name):
        return self.args.programs / name

    # --- Stages ---------------------------------------------------------------

    def doctor(self):
        """Always runs, because all other stages need its result about the device."""
        text = self.must_run("doctor", [self.program("mpc"), "doctor", "--device", "--json"])
        found = json.loads(text)
        self.machine["doctor"] = found
        if not found["ready"]:
            # Only the first word of each; the log has the advice.
            lacks = [text.split(":")[0] for text in found["missing"]]
            self.no_device = f"no device (missing: {'; '.join(lacks)})"
            raise Skipped(self.no_device)
        return ", ".join(device["name"] for device in found["devices"])

    def smoke(self):
        """A first check that takes a minute: one process for each kind of work."""
        self.run_each_alone("smoke", r"Smoke\.", SMOKE_SECONDS)

    def steps(self):
        """Trains each package for a few steps, then models with ops that the digits lack."""
        self.side_by_side(
            functools.partial(
                self.record,
                "steps",
                f"{package.stem} {WINDOW} steps",
                functools.partial(self.check_steps, package),
            )
            for package in sorted(self.content.glob("packages/*.mpc"))
        )
        self.run_each_alone("steps", r"GpuModels.*(gpt|fp8)", SHARD_SECONDS)

    def suite(self):
        self.side_by_side(
            shard
            for program in self.suite_programs()
            for shard in self.shards("suite", program, self.tests_of("suite", program, ""))
        )

    def suite_programs(self):
        return (self.content / "suite.txt").read_text().split()

    # --- Tests of a program ---------------------------------------------------

    def tests_of(self, stage, program, pattern):
        """Names of a program's tests that contain a text; fails if it lists none."""
        if program not in self.lists:
            command = [self.program(program), "--gtest_list_tests"]
            seconds = min(LIST_SECONDS, self.args.shard_seconds)
            try:
                text = self.must_run(f"{program}-list", command, seconds)
                self.lists[program] = parse_test_list(text)
                failure = None if self.lists[program] else Failure("it lists no tests")
            except Exception as error:
                self.lists[program], failure = [], error
            if failure:
                self.known.pop((stage, f"{program} list"), None)
                self.record(stage, f"{program} list", lambda: throw(failure))
        return [test for test in self.lists[program] if re.search(pattern, test)]

    def run_each_alone(self, stage, pattern, seconds):
        """Runs each test whose name contains the pattern in a separate process."""
        self.side_by_side(
            functools.partial(
                self.record,
                stage,
                test,
                functools.partial(self.run_alone, program, test, seconds),
            )
            for program in self.suite_programs()
            for test in self.tests_of(stage, program, pattern)
        )

    def run_alone(self, program, test, seconds):
        command = [self.program(program), f"--gtest_filter={test}"]
        log = f"{program}-{file_name(test)}"
        done = self.run(log, command, min(seconds, self.args.shard_seconds))
        return judge_tests([test], parse_test_results(done.stdout), done)

    def shards(self, stage, program, tests, wrapper=(), seconds=None):
        """Functions that each run twenty tests and continue after one that crashes or
        hangs."""
        shard = Shard(self, program, wrapper, seconds or self.args.shard_seconds)
        for begin in range(0, len(tests), SHARD):
            yield functools.partial(self.run_shard, stage, shard, tests, begin)

    def run_shard(self, stage, shard, tests, begin):
        left = tests[begin : begin + SHARD]
        log = f"{shard.log_name}-{begin + 1}"
        while left:
            first, last = tests.index(left[0]) + 1, tests.index(left[-1]) + 1
            name = f"{shard.label} {first}-{last} of {len(tests)}"
            rest = []
            self.record(stage, name, lambda: shard.run(log, left, rest), rest)
            left = rest

    def digits(self):
        self.side_by_side(
            functools.partial(self.check_digits, package)
            for package in sorted(self.content.glob("packages/*.mpc"))
        )

    def check_digits(self, package):
        model, precision = package.stem.split("-")
        checks = [
            ("cpu", lambda: self.train_on_cpu(package)),
            ("accuracy", lambda: self.check_accuracy(package, model, precision)),
            ("agrees with the cpu", lambda: self.check_agreement(package, precision)),
            ("resumes", lambda: self.check_resume(package)),
        ]
        if precision == "fp16":
            checks.append(("skips overflows", lambda: self.check_skips(package)))
        for what, check in checks:
            self.record("digits", f"{package.stem} {what}", check)

    def train(self, package, device, *options):
        """The losses, skipped steps and last accuracy of a run, and what it reported
        about its device."""
        data = self.content / "runtime/examples/digits"
        command = [self.program("mpc"), "train", package, f"--device={device}"]
        command += ["--data", data / "digits-train.npz", "--json", *options]
        name = f"digits-{package.stem}-{device}"
        lines = self.must_run(name, command).splitlines()
        steps = [parse_line(line) for line in lines]
        device = next((step for step in steps if "kernels" in step), {})
        accuracies = [step["accuracy"] for step in steps if "accuracy" in step]
        steps = [step for step in steps if "loss" in step]
        return steps, accuracies[-1] if accuracies else None, device

    def train_on_cpu(self, package):
        """Checks that the package and what is packed with it are complete."""
        steps, _, _ = self.train(package, "cpu", f"--steps={WINDOW}", "--threads=2")
        if len(steps) != WINDOW or not steps[-1]["loss"] < steps[0]["loss"]:
            raise Failure(f"{len(steps)} steps, and the loss did not fall")
        return f"loss {steps[0]['loss']:.3f} to {steps[-1]['loss']:.3f}"

    def check_steps(self, package):
        self.need_device()
        precision = package.stem.split("-")[1]
        worst, ran_on = self.compare_devices(package, precision, WINDOW)
        return f"losses differ by {worst:.1e}{describe_kernels(ran_on)}"

    def compare_devices(self, package, precision, count):
        """The difference between the losses of the CPU and of the GPU, and what the
        latter reported about its device. Over many steps, losses of deep models also
        differ between one thread and two: by as much, the GPU may differ, too.
        """
        steps = f"--steps={count}"
        runs = [
            self.train(package, "cpu", steps, "--threads=1"),
            self.train(package, "cpu", steps, "--threads=2"),
            self.train(package, "cuda", steps),
        ]
        one, two, gpu = ([step["loss"] for step in run[0]] for run in runs)
        worst = compare_curves(one, gpu)
        limit = max(AGREEMENT[precision], 2 * compare_curves(one, two))
        if not worst <= limit:
            raise Failure(f"losses differ by {worst:.1e}, more than {limit:.0e}")
        return worst, runs[2][2]

    def check_accuracy(self, package, model, precision):
        self.need_device()
        test = self.content / "runtime/examples/digits/digits-test.npz"
        _, accuracy, _ = self.train(package, "cuda", "--epochs=30", "--eval-data", test)
        least = ACCURACY[model] - (FP8_LOSES if precision == "fp8" else 0)
        if accuracy is None or accuracy < least:
            raise Failure(f"accuracy {accuracy}, less than {least}")
        return f"accuracy {accuracy:.4f}"

    def check_agreement(self, package, precision):
        self.need_device()
        worst, _ = self.compare_devices(package, precision, STEPS)
        return f"losses differ by {worst:.1e}"

    def check_resume(self, package):
        """Checks that a resumed run has the same losses as an uninterrupted one, bit for bit.
        On a GPU only --deterministic guarantees that.
        """
        self.need_device()
        fixed = "--deterministic"
        whole = self.train(package, "cuda", f"--steps={STEPS}", fixed)[0]
        folder = self.scratch / package.stem
        options = [fixed, "--checkpoint-dir", folder]
        parts = self.train(package, "cuda", f"--steps={STEPS // 2}", *options)[0]
        parts += self.train(package, "cuda", f"--steps={STEPS}", "--resume", *options)[0]
        if parts != whole:
            raise Failure("a run that was stopped in the middle went another way")
        return f"{STEPS} steps, bit for bit"

    def check_skips(self, package):
        self.need_device()
        steps = self.train(package, "cuda", "--steps=60", "--loss-scale-init=1e9")[0]
        skipped = [step["skipped"] for step in steps]
        # The scale halves until gradients are finite; then no step is skipped.
        if not skipped[0] or skipped[-1] or not steps[-1]["loss_scale"] < 1e9:
            raise Failure(f"skipped {sum(skipped)} of {len(steps)} steps")
        return f"skipped {sum(skipped)} of {len(steps)} steps"

    def sanitizer(self):
        """Checks all programs for memory errors, and our own kernels for races."""
        for program in self.suite_programs():
            for tool, pattern in (
                ("memcheck", r"^(?!.*Large)"),
                ("racecheck", r"^(?!.*Large).*(GpuKernels|Pool|Embedding|Observe|Composed)"),
            ):
                name = f"{program} {tool}"
                if self.no_device or not shutil.which("compute-sanitizer"):
                    self.record("sanitizer", name, self.need_sanitizer)
                    continue
                tests = self.tests_of("sanitizer", program, pattern)
                wrapper = ["compute-sanitizer", "--tool", tool, "--error-exitcode", "9"]
                # The library looks up kernels in several modules.
                wrapper += ["--report-api-errors", "no"]
                seconds = 9 * self.args.shard_seconds
                self.side_by_side(self.shards("sanitizer", program, tests, wrapper, seconds))

    def need_sanitizer(self):
        self.need_device()
        raise Skipped("there is no compute-sanitizer on the path")

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
        shutil.rmtree(self.scratch)
        return any(entry["status"] == "failed" for entry in self.results)

    def write(self):
        """Saves the results so far, because the machine may become unavailable."""
        report = {"machine": self.machine, "results": self.results}
        # Write and rename: with half a file, --resume would lose all results.
        fresh = self.out / "results.json.new"
        fresh.write_text(json.dumps(report, indent=1) + "\n")
        fresh.replace(self.out / "results.json")
        counts = {"passed": 0, "failed": 0, "skipped": 0}
        for entry in self.results:
            counts[entry["status"]] += 1
        total = ", ".join(f"{count} {status}" for status, count in counts.items())
        table = [line_of(entry) for entry in self.results] + [total]
        (self.out / "table.txt").write_text("\n".join(table) + "\n")
        return total


class Shard:
    """Runs the tests of one program in several processes, one after the other."""

    def __init__(self, runner, program, wrapper, seconds):
        self.runner = runner
        self.command = [*wrapper, runner.program(program)]
        self.label = f"{program} {wrapper[2]}" if wrapper else program
        self.log_name = f"{file_name(self.label)}-shard"
        self.has_wrapper = bool(wrapper)
        self.seconds = seconds
        self.hangs = 0

    def run(self, log_name, tests, rest):
        """Runs `tests` in one process. If it ends or hangs before all tests have
        ended, `rest` gets the others, except the one to blame.
        """
        if self.hangs >= MAX_HANGS:
            raise Skipped(f"{self.hangs} tests of this program hung")
        log = self.runner.logs / f"{log_name}.log"
        begin = log.stat().st_size if log.exists() else 0
        command = [*self.command, f"--gtest_filter={':'.join(tests)}"]
        try:
            done = self.runner.run(log_name, command, self.seconds)
        except TimedOut as hung:
            output = read_text(log, begin)
            return self.judge_hang(tests, rest, parse_test_results(output), output, hung)
        results = parse_test_results(done.stdout)
        culprit = unfinished(tests, results)
        if culprit:
            rest.extend(tests[tests.index(culprit) + 1 :])
            raise Failure(
                f"{culprit} crashed: {describe_exit(done.returncode)}{and_failed(tests, results)}"
            )
        if results:  # The process ended between two tests.
            rest.extend(test for test in tests if test not in results)
        return judge_tests(tests, results, done)

    def judge_hang(self, tests, rest, results, output, hung):
        culprit = unfinished(tests, results)
        if culprit and culprit != tests[0]:
            # The test may only be slow, so it runs first in the next process.
            first = tests.index(culprit)
            rest.extend(tests[first:])
            said = sanitizer_remarks(output) if self.has_wrapper else []
            if said:
                raise Failure(f"{said[0]}; then time was up")
            failed = any(results.get(test, [""])[0] == "failed" for test in tests)
            done = Done(int(failed), output, "")
            return judge_tests(tests[:first], results, done) + "; then time was up"
        self.hangs += 1
        others = and_failed(tests, results)
        if culprit:
            rest.extend(tests[1:])
            raise Failure(f"{culprit} hung: {hung}{others}")
        left = [test for test in tests if test not in results]
        # If no test began, the same tests would hang again, so blame the first one.
        rest.extend(left[1:] if left == tests else left)
        where = f"before {left[0]}" if left else "after its last test"
        raise Failure(f"hung {where}: {hung}{others}")


def unfinished(tests, results):
    """The test that began and did not end; None if there is none."""
    return next((test for test in tests if results.get(test, [""])[0] == "began"), None)


def and_failed(tests, results):
    """The names of the failed tests, to append to a message."""
    failed = [test for test in tests if results.get(test, [""])[0] == "failed"]
    return f"; and failed: {', '.join(failed)}" if failed else ""


def sanitizer_remarks(output):
    """What compute-sanitizer reported before it was ended."""
    lines = [line for line in output.splitlines() if line.startswith("=========")]
    return [line.strip("= ") for line in lines if "COMPUTE-SANITIZER" not in line]


def line_of(entry):
    detail = entry["detail"]
    if entry["status"] == "skipped":
        detail = f"skipped: {detail}"
    elif entry["status"] == "failed":
        detail = f"FAILED: {detail}"
    return f"{entry['stage']:10} {entry['name']:32} {entry['seconds']:7.1f} s  {detail}"


def file_name(text):
    """The text, with characters that are awkward in names of files replaced."""
    return re.sub(r"[^\w.-]+", "-", text)


def throw(error):
    raise error


def end_group(process):
    """Ends a program and its remaining child processes."""
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    process.wait()


def load_results(out):
    """Results of an earlier run, by stage and name. Skipped checks run again."""
    try:
        report = json.loads((out / "results.json").read_text())
        return {
            (entry["stage"], entry["name"]): entry
            for entry in report["results"]
            if entry["status"] != "skipped" and entry["stage"] != "doctor"
        }
    except FileNotFoundError:
        return {}
    except (ValueError, KeyError, TypeError) as error:
        sys.exit(f"run.sh: error: --resume: {out / 'results.json'} is damaged: {error}")


def parse_line(line):
    """One line of `mpc train --json`."""
    try:
        step = json.loads(line)
    except ValueError:
        step = None
    if not isinstance(step, dict):
        raise Failure(f"mpc train printed what is no object: {line[:80]!r}")
    return step


def describe_kernels(ran_on):
    """What a session reports about its kernels; fails if it used a fallback."""
    if not ran_on:
        return ""
    if "without CUDA graphs" in ran_on["device"]:
        raise Failure(f"the step is no graph: {ran_on['device']}")
    for kernel in ran_on["kernels"]:
        if "as a trial failed" in kernel["implementation"]:
            raise Failure(f"{kernel['kernel']}: {kernel['implementation']}")
    return f", {len(ran_on['kernels'])} library kernels"


def parse_test_list(text):
    """The names of tests in the output of --gtest_list_tests."""
    tests, suite = [], ""
    for line in text.splitlines():
        name = line.split("#")[0].rstrip()
        if not name.startswith(" "):
            suite = name if re.fullmatch(r"[\w/]+\.", name) else ""
        elif suite and re.fullmatch(r"  [\w/]+", name):
            test = suite + name.strip()
            if "DISABLED_" not in test:
                tests.append(test)
    return tests


RESULT = re.compile(r"^\[ *(RUN|OK|FAILED|SKIPPED) *\] ([\w/]+\.[\w/]+)")
STATUS = {"RUN": "began", "OK": "passed", "FAILED": "failed", "SKIPPED": "skipped"}


def parse_test_results(text):
    """The outcome and the output of each test that began."""
    results, current = {}, None
    for line in text.splitlines():
        found = RESULT.match(line)
        if found:
            word, test = found.groups()
            if word == "RUN":
                results[test] = ["began", []]
                current = test
            elif results.get(test, [""])[0] == "began":
                results[test][0] = STATUS[word]
                current = None
        elif current:
            results[current][1].append(line)
    return results


def describe_exit(returncode):
    if returncode is not None and returncode < 0:
        try:
            return signal.Signals(-returncode).name
        except ValueError:
            pass
    return f"exit status {returncode}"


def judge_tests(tests, results, done):
    """A summary of these tests; fails unless all that ran passed."""
    status = {test: results.get(test, ["never began", []]) for test in tests}
    wrong = [test for test in tests if status[test][0] not in ("passed", "skipped")]
    if wrong:
        first = wrong[0]
        said = " ".join(" ".join(status[first][1]).split())[:300]
        names = ", ".join(f"{test} {status[test][0]}" for test in wrong[:5])
        raise Failure(f"{len(wrong)} of {len(tests)} tests: {names}: {said}")
    if done.returncode != 0:
        raise Failure(f"{describe_exit(done.returncode)}, though every test passed")
    skipped = [test for test in tests if status[test][0] == "skipped"]
    if len(skipped) == len(tests):
        said = [line for line in status[tests[0]][1] if not line.endswith(": Skipped")]
        raise Skipped(said[0].strip() if said else "no test ran")
    more = f", {len(skipped)} skipped" if skipped else ""
    return f"{len(tests) - len(skipped)} tests{more}"


def compare_curves(losses, others):
    """The largest relative difference between moving means of two runs."""
    if len(losses) != len(others) or len(losses) < WINDOW:
        return float("inf")
    worst = 0.0
    for end in range(WINDOW, len(losses) + 1):
        # null stands for a loss that is not finite.
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
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shard-seconds", type=float, default=SHARD_SECONDS)
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
