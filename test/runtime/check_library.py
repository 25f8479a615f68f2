#!/usr/bin/env python3
"""Fails if libmpcrt.so is too large, has dependencies that it should not have, or exports
other symbols than the functions that its headers declare, each with a version (MPC_0.1).

Usage: check_library.py LIBMPCRT.SO HEADERS, a folder. Prints one line per fault.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Libraries that libmpcrt.so may need. An embedder would have to ship any other.
NEEDED = re.compile(r"lib(dnnl|gomp|stdc\+\+|gcc_s|m|c|dl)\.so|ld-linux")
EXPORTED = re.compile(r"(mpc_\w+)@@MPC_\d+\.\d+")
DECLARED = re.compile(r"\bMPC_API\b[^;{]*?\b(mpc_\w+)\(")
MOST_BYTES = 2_000_000  # Stripped.


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbol_faults(library, headers):
    declared = {name for path in pathlib.Path(headers).rglob("*.h")
                for name in DECLARED.findall(path.read_text())}
    exported = set()
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        kind, symbol = line.split()[-2:]
        if kind == "A" and re.fullmatch(r"MPC_\d+\.\d+", symbol):
            continue  # A version itself.
        if match := EXPORTED.fullmatch(symbol):
            exported.add(match[1])
        else:
            yield f"exports {symbol}"
    for name in sorted(declared ^ exported):
        yield f"does not export {name} (libmpcrt.map)" if name in declared else f"exports {name}, which no header declares"


def faults(library, headers):
    for name in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)):
        if not NEEDED.match(name):
            yield f"needs {name}"
    yield from symbol_faults(library, headers)
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        output("strip", "-o", stripped, library)
        if os.path.getsize(stripped) > MOST_BYTES:
            yield f"has {os.path.getsize(stripped)} bytes"


if __name__ == "__main__":
    found = [f"libmpcrt.so {fault}" for fault in faults(*sys.argv[1:])]
    print(*found, sep="\n", end="")
    sys.exit(bool(found))
