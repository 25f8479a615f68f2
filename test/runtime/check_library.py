#!/usr/bin/env python3
"""Fails if libmpcrt.so, libmpctrain.so or libmpccompiler.so is too large, has dependencies
that it should not have, or exports other symbols than the functions that its headers
declare, each with a version (MPC_0.1). The symbols of libmpccompiler have no version, and
the identities of MLIR's types are among them (passes/Library/mpccompiler.map).

Usage: check_library.py LIBRARY.SO HEADERS, a folder. Prints one line per fault.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# Libraries that each may need. An embedder would have to ship any other.
BASE = r"stdc\+\+|gcc_s|m|c|dl"
NEEDED = {
    "libmpcrt": re.compile(rf"lib(dnnl|gomp|{BASE})\.so|ld-linux"),
    "libmpctrain": re.compile(rf"lib(mpcrt|jpeg|png16|zip|z|{BASE})\.so|ld-linux"),
    "libmpccompiler": re.compile(
        rf"lib(mpcrt|MLIR|LLVM|onnx|onnx_proto|protobuf|absl_\w+|z|zstd|{BASE})\.so|ld-linux"),
}
VERSIONED = re.compile(r"(mpc_\w+)@@MPC_\d+\.\d+")
PLAIN = re.compile(r"(mpc_\w+)")
TYPE_ID = re.compile(r"_Z(GVZ|Z)?N4mlir6detail14TypeIDResolver\w+")
DECLARED = re.compile(r"\bMPC_API\b[^;{]*?\b(mpc_\w+)\(")
# Stripped.
MOST_BYTES = {"libmpcrt": 2_000_000, "libmpctrain": 2_000_000, "libmpccompiler": 20_000_000}


def output(*command):
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def symbol_faults(library, name, headers):
    declared = {function for path in pathlib.Path(headers).rglob("*.h")
                if (path.name == "train.h") == (name == "libmpctrain")
                for function in DECLARED.findall(path.read_text())}
    exported = set()
    is_compiler = name == "libmpccompiler"
    pattern = PLAIN if is_compiler else VERSIONED
    for line in output("nm", "-D", "--defined-only", library).splitlines():
        kind, symbol = line.split()[-2:]
        if kind == "A" and re.fullmatch(r"MPC_\d+\.\d+", symbol):
            continue  # A version itself.
        if match := pattern.fullmatch(symbol):
            exported.add(match[1])
        elif is_compiler and TYPE_ID.fullmatch(symbol):
            continue
        else:
            yield f"exports {symbol}"
    for function in sorted(declared ^ exported):
        yield (f"does not export {function} ({name}.map)" if function in declared
               else f"exports {function}, which no header declares")


def faults(library, name, headers):
    for needed in re.findall(r"NEEDED.*\[(.*)\]", output("readelf", "-d", library)):
        if not NEEDED[name].match(needed):
            yield f"needs {needed}"
    yield from symbol_faults(library, name, headers)
    with tempfile.TemporaryDirectory() as folder:
        stripped = os.path.join(folder, "stripped.so")
        output("strip", "-o", stripped, library)
        if os.path.getsize(stripped) > MOST_BYTES[name]:
            yield f"has {os.path.getsize(stripped)} bytes"


if __name__ == "__main__":
    library, headers = sys.argv[1:]
    name = os.path.basename(library).split(".")[0]
    found = [f"{name}.so {fault}" for fault in faults(library, name, headers)]
    print(*found, sep="\n", end="")
    sys.exit(bool(found))
