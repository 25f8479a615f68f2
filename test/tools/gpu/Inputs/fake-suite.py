#!/usr/bin/env python3
"""Imitates a GoogleTest program, some of whose tests end the process.

The name of a test says what it does: it passes, is skipped, fails, crashes, hangs with a
child that also hangs, prints bytes that are not text, or ends the program after it.
The program may also hang between tests: FAKE_TESTS lists others than those below.
"""
import os
import signal
import subprocess
import sys
import time

TESTS = ["Smoke.Passes", "Smoke.Hangs", "All/GpuModels.Train/model_gpt_bf16"]
TESTS += [f"Many.Passes{i}" for i in range(20)]
TESTS += ["Odd.Passes", "Odd.Crashes", "Odd.PassesBehindIt", "Odd.Fails", "Odd.Hangs"]
TESTS += ["Odd.PrintsRubbish", "Odd.PassesButEndsBehind", "Odd.Skips", "Odd.PassesAtTheEnd"]
if "FAKE_TESTS" in os.environ:
    TESTS = os.environ["FAKE_TESTS"].split(":")


def wait():
    # Named after the log, so that concurrent tests can distinguish their processes.
    subprocess.Popen([os.environ["FAKE_LOG"], "1234.5"], executable="/bin/sleep").wait()


def show_list():
    suite = ""
    for test in TESTS:
        first, name = test.split(".")
        if first != suite:
            print(f"{first}.")
            suite = first
        print(f"  {name}  # GetParam() = 3")


def run(test):
    if "WaitsBefore" in test:
        wait()
    print(f"[ RUN      ] {test}", flush=True)
    if "Crashes" in test:
        os.kill(os.getpid(), signal.SIGSEGV)
    if "Hangs" in test:
        wait()
    if "Rubbish" in test:
        sys.stdout.flush()
        os.write(1, b"\xff\x00\xfe\n[ RUN \n")
    result = "FAILED" if "Fails" in test else "SKIPPED" if "Skips" in test else "OK"
    if result == "FAILED":
        print("file.cpp:7: Failure\nExpected 1, found 2")
    print(f"[ {result:>8} ] {test} (0 ms)", flush=True)
    if "WaitsBehind" in test:
        wait()
    return result == "FAILED"


def main():
    if "--gtest_list_tests" in sys.argv:
        return show_list()
    chosen = next(a for a in sys.argv if a.startswith("--gtest_filter=")).split("=")[1]
    with open(os.environ["FAKE_LOG"], "a") as log:
        log.write(chosen + "\n")
    failed = []
    for test in chosen.split(":"):
        failed.append(run(test))
        if "EndsBehind" in test:
            sys.exit(3)
    print("[  PASSED  ] 1 test.")
    sys.exit(any(failed))


main()
