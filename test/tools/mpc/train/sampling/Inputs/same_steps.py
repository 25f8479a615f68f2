#!/usr/bin/env python3
"""Compares a run of two steps with one of the first step and one of the second.

usage: same_steps.py WHOLE.log FIRST.log SECOND.log WHOLE-CHECKPOINT SECOND-CHECKPOINT

Losses and weights may differ by the rounding errors of f32.
"""
import json
import math
import pathlib
import struct
import sys


def losses(log):
    lines = (json.loads(line) for line in pathlib.Path(log).read_text().splitlines())
    return [line["loss"] for line in lines if "loss" in line]


def weights(checkpoint):
    data = (pathlib.Path(checkpoint) / "model.safetensors").read_bytes()
    (size,) = struct.unpack_from("<Q", data)
    header = json.loads(data[8 : 8 + size])
    begin, end = header["w"]["data_offsets"]
    return [value for value, in struct.iter_unpack("<f", data[8 + size + begin : 8 + size + end])]


def check(what, found, wanted):
    same = len(found) == len(wanted) and found and all(
        math.isclose(a, b, rel_tol=1e-6, abs_tol=1e-6) for a, b in zip(found, wanted)
    )
    if not same:
        sys.exit(f"{what}: {found}, not {wanted}")


whole, first, second, whole_checkpoint, second_checkpoint = sys.argv[1:]
check("losses", losses(whole), losses(first) + losses(second))
check("weights", weights(whole_checkpoint), weights(second_checkpoint))
