#!/usr/bin/env python3
"""Fails unless programs and libraries are compiled and linked with hardening.

Usage: check_elf.py FILE... Prints one line per fault: a table of addresses that
stays writable (no RELRO, or lazy binding), a stack or a segment that is both
executable and writable, code at a fixed address, no stack protector, no
FORTIFY_SOURCE, an exported function that does not start with ENDBR64.
"""
import re
import subprocess
import sys


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def faults(path):
    segments = re.findall(r"^  (\w+) .*?0x\w+ 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([RWE ]{3})",
                          output("readelf", "-lW", path), re.M)
    flags = {name: access for name, access in segments}
    if "GNU_RELRO" not in flags:
        yield "has no RELRO segment"
    if "E" in flags.get("GNU_STACK", "E"):
        yield "has a stack that can be executed"
    for name, access in segments:
        if name == "LOAD" and "W" in access and "E" in access:
            yield "has a segment that can be written and executed"
    dynamic = output("readelf", "-d", path)
    if not re.search(r"BIND_NOW|Flags:.*NOW", dynamic):
        yield "binds addresses lazily"
    if not re.search(r"Type:\s+DYN", output("readelf", "-h", path)):
        yield "is not position-independent"


def compiler_faults(path):
    table = output("readelf", "-W", "--dyn-syms", path)
    symbols = re.findall(r"\sUND (\w+)", table)
    exported = {"main", *re.findall(r"FUNC +GLOBAL +DEFAULT +\d+ (mpc_\w+)", table)}
    if "__stack_chk_fail" not in symbols:
        yield "has no stack protector"
    if not any(re.fullmatch(r"__\w+_chk", symbol) for symbol in symbols):
        yield "calls no checked function of the C library (FORTIFY_SOURCE)"
    code = output("objdump", "-d", "--no-show-raw-insn", path)
    functions = [(name, first) for name, first
                 in re.findall(r"^\w+ <(\w+)>:\n\s*\w+:\s+(\w+)", code, re.M)
                 if name in exported]
    if not functions:
        yield "has neither main nor exported functions"
    for name, first in functions:
        if first != "endbr64":
            yield f"has a function without ENDBR64: {name}"


if __name__ == "__main__":
    found = [f"{path} {fault}" for path in sys.argv[1:]
             for fault in (*faults(path), *compiler_faults(path))]
    print(*found, sep="\n", end="")
    sys.exit(bool(found))
