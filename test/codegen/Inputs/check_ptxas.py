#!/usr/bin/env python3
"""Assembles PTX with ptxas and fails if a kernel uses local memory.

Usage: check_ptxas.py ARCH PTX. Prints one line per kernel: registers, shared
memory in bytes, name.
"""
import re
import subprocess
import sys

FUNCTION = re.compile(r"Compiling entry function '(\w+)'")
FRAME = re.compile(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads")
REGISTERS = re.compile(r"Used (\d+) registers")
SHARED = re.compile(r"(\d+) bytes smem")


def main(arch, ptx):
    run = subprocess.run(["ptxas", f"-arch={arch}", "-v", "-o", "/dev/null", ptx],
                         capture_output=True, text=True)
    if run.returncode:
        sys.exit(run.stderr)
    wrong = kernels = 0
    name = ""
    for line in run.stderr.splitlines() + run.stdout.splitlines():
        if found := FUNCTION.search(line):
            name = found[1]
            kernels += 1
        if (found := FRAME.search(line)) and found.groups() != ("0", "0", "0"):
            print(f"{name}: {line.strip()}")
            wrong += 1
        if found := REGISTERS.search(line):
            shared = SHARED.search(line)
            print(f"{found[1]:>4} registers {shared[1] if shared else 0:>6} shared  {name}")
    text = open(ptx).read()
    if kernels != text.count(".visible .entry"):
        sys.exit(f"{kernels} kernels were assembled of {text.count('.visible .entry')}")
    if wrong:
        sys.exit(f"{wrong} kernels use local memory")


main(*sys.argv[1:])
