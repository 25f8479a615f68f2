#!/usr/bin/env python3
"""Fails unless programs and libraries are linked as hardened ones are.

Usage: check_elf.py FILE... Prints one line per fault: a table of addresses that
stays writable (no RELRO, or bound lazily), a stack or a segment that can be
executed and written, code whose place in memory is fixed.
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


if __name__ == "__main__":
    found = [f"{path} {fault}" for path in sys.argv[1:] for fault in faults(path)]
    print(*found, sep="\n", end="")
    sys.exit(bool(found))
