#!/usr/bin/env python3
"""Fails if libmpcrt.so is too large or has dependencies or symbols that it should not have.

Usage: check_library.py LIBMPCRT.SO. Prints one line per fault.
"""
import os
import re
import subprocess
import sys
import tempfile

# Libraries that libmpcrt.so may need. An embedder would have to ship any other.
NEEDED = re.compile(r"lib(dnnl|gomp|stdc\+\+|gcc_s|m|c|dl)\.so|ld-linux")
MOST_BYTES = 2_000_000  # Stripped.


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def faults(library):
    for name in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)):
        if not NEEDED.match(name):
            yield f"needs {name}"
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        symbol = line.split()[-1]
        if not symbol.startswith("mpc_"):
            yield f"exports {symbol}"
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        output("strip", "-o", stripped, library)
        if os.path.getsize(stripped) > MOST_BYTES:
            yield f"has {os.path.getsize(stripped)} bytes"


if __name__ == "__main__":
    found = [f"libmpcrt.so {fault}" for fault in faults(sys.argv[1])]
    print(*found, sep="\n", end="")
    sys.exit(bool(found))
