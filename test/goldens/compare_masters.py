#!/usr/bin/env python3
"""Compares weights of a checkpoint with masters/masters.json (makers/make_masters.py).

compare_masters.py golden MASTERS OPTIMIZER CHECKPOINT MOST
    At most MOST of 256 weights differ from PyTorch's, by at most one unit in the
    last place that is kept.
compare_masters.py steady FP32 KAHAN STOCHASTIC
    Where rounding to nearest would change nothing, both follow f32.
"""
import json
import pathlib
import struct
import sys

GOLDEN = json.loads((pathlib.Path(__file__).parent / "masters/masters.json").read_text())


def read(path, name):
    file = pathlib.Path(path).read_bytes()
    size, = struct.unpack_from("<Q", file)
    entry = json.loads(file[8 : 8 + size])[name]
    begin, end = (8 + size + at for at in entry["data_offsets"])
    kind, width = {"F32": ("f", 4), "BF16": ("H", 2)}[entry["dtype"]]
    values = struct.unpack_from(f"<{(end - begin) // width}{kind}", file, begin)
    return list(values), entry["dtype"]


def widen(bits):
    return struct.unpack("<f", struct.pack("<I", bits << 16))[0]


def round_to_nearest(value):
    bits, = struct.unpack("<I", struct.pack("<f", value))
    return widen((bits + 0x7FFF + (bits >> 16 & 1)) >> 16)


def weights_of(checkpoint):
    values, dtype = read(f"{checkpoint}/model.safetensors", "w")
    if dtype == "F32":
        return values
    try:
        rest, _ = read(f"{checkpoint}/optimizer.safetensors", "compensation/w")
    except KeyError:
        rest = [0] * len(values)
    return [widen(v) + widen(r) for v, r in zip(values, rest, strict=True)]


def compare_golden(masters, optimizer, checkpoint, most):
    wanted = GOLDEN[masters][optimizer]
    found = {"value": read(f"{checkpoint}/model.safetensors", "w")[0]}
    if "rest" in wanted:
        found["rest"] = read(f"{checkpoint}/optimizer.safetensors", "compensation/w")[0]
    pairs = list(zip(zip(*found.values()), zip(*wanted.values()), strict=True))
    other = [(f, w) for f, w in pairs if f != w]
    sums = [(sum(map(widen, f)), sum(map(widen, w))) for f, w in pairs]
    error = max(abs(f - w) / abs(w) for f, w in sums)
    print(f"{masters}, {optimizer}: {len(other)} of {len(pairs)} with other bits, "
          f"off by {error:.1e} at most")
    step = 2**-15 if "rest" in wanted else 2**-7
    return len(other) <= int(most) and error <= step


def compare_steady(paths):
    """By chance a weight is off by 9 % of the way, as a standard deviation (10,000
    draws of 1.3 % each for a step of 2^-7), and the mean of 29 by 1.6 %."""
    rate = 1e-4
    first = GOLDEN["weights"]
    wide, *narrow = (weights_of(path) for path in paths)
    start = [round_to_nearest(w) for w in first]
    # Updates are at most 2e-4; away from zero, half a step of bf16 is 0.004.
    still = [i for i, w in enumerate(start)
             if w < -1.2 and round_to_nearest(w - 2 * rate) == w]
    way = [first[i] - wide[i] for i in still]
    print(f"{len(still)} weights that rounding to nearest would not move; "
          f"f32 moves them by {min(way):.3f} and more")
    good = len(still) >= 10 and min(way) > 0.5
    for name, weights, most, mean in zip(("kahan", "stochastic"), narrow, (0.02, 0.4),
                                         (0.005, 0.05), strict=True):
        shares = [(first[i] - weights[i]) / (first[i] - wide[i]) for i in still]
        average = sum(shares) / len(shares)
        furthest = max(abs(share - 1) for share in shares)
        print(f"{name}: {100 * average:.2f} % of the way in the mean, "
              f"{100 * furthest:.2f} % off at most")
        good &= furthest <= most and abs(average - 1) <= mean
    return good


kind, *rest = sys.argv[1:]
sys.exit(not (compare_golden(*rest) if kind == "golden" else compare_steady(rest)))
