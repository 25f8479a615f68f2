#!/usr/bin/env python3
"""Compares what `mpc train --json` wrote, and the states of delayed scaling in a
checkpoint, with fp8/fp8.json (makers/make_fp8.py).

compare_fp8.py KIND RUN.json [optimizer.safetensors]
"""
import json
import pathlib
import struct
import sys


def read(path, name):
    """A state of a checkpoint: rows of floats."""
    file = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", file)
    entry = json.loads(file[8 : 8 + size])[name]
    rows, columns = entry["shape"]
    begin = 8 + size + entry["data_offsets"][0]
    return [struct.unpack_from(f"<{columns}f", file, begin + 4 * columns * row)
            for row in range(rows)]


def differ(found, wanted):
    return max(abs(a - b) / abs(b) for a, b in zip(found, wanted, strict=True))


kind, run, *checkpoint = sys.argv[1:]
golden = json.loads((pathlib.Path(__file__).parent / "fp8/fp8.json").read_text())[kind]
lines = [json.loads(line) for line in pathlib.Path(run).read_text().splitlines()]
error = differ([line["loss"] for line in lines if "step" in line], golden["loss"])
print(f"{kind}: losses differ by {error:.1e}")
good = error <= 1e-5
if checkpoint:
    scales = [row[0] for row in read(checkpoint[0], "fp8.scales")]
    print("scales", scales, golden["scales"])
    good &= scales == golden["scales"]
    history = list(zip(*read(checkpoint[0], "fp8.amax_history"), strict=True))
    for found, wanted in zip(history, golden["history"], strict=True):
        print("magnitudes", found, wanted)
        # Sums are rounded to bf16.
        good &= differ(found, wanted) <= 0.01
sys.exit(not good)
