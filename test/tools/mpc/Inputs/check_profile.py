"""check_profile.py PROFILE.json: of one step of labels.onnxtxt on the batch that
profile.test makes, computed here by other means.
"""
import json
import math
import struct
import sys

X = [[0.0, 1.0], [1.0, -0.5]]
W = [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
LABELS = [0, 2]


def f32(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def f16(value):
    return struct.unpack("e", struct.pack("e", value))[0]


def bf16(value):
    bits = struct.unpack("I", struct.pack("f", value))[0]
    bits = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
    return struct.unpack("f", struct.pack("I", bits))[0]


def e4m3(value):
    numbers = [(f * 2.0**-9 if e == 0 else (8 + f) * 2.0 ** (e - 10), f) for e in range(16) for f in range(8)]
    size = min(numbers[:127], key=lambda n: (abs(n[0] - abs(value)), n[1] % 2))[0]
    return math.copysign(size, value)


def near(a, b, tolerance):
    assert math.isclose(a, b, rel_tol=tolerance, abs_tol=1e-12), (a, b)


def check(tensor, values):
    """What is counted of a tensor with these elements, in f32."""
    flat = [f32(v) for row in values for v in row]
    sizes = [abs(v) for v in flat if v != 0]
    assert tensor["count"] == len(flat), tensor
    assert tensor["shape"] == [len(values), len(values[0])], tensor
    assert tensor["zeros"] == len(flat) - len(sizes), tensor
    assert tensor["nans"] == tensor["infinities"] == 0, tensor
    near(tensor["largest"], max(sizes), 1e-6)
    near(tensor["smallest"], min(sizes), 1e-6)
    exponents = [0] * 64
    for size in sizes:
        exponents[math.frexp(size)[1] - 1 + 44] += 1
    assert tensor["exponents"] == exponents, (tensor["exponents"], exponents)


profile = json.load(open(sys.argv[1]))
assert profile["version"] == 1 and profile["steps"] == 1, profile
assert profile["exponents"] == {"first": -44, "count": 64}
tensors = profile["tensors"]
check(tensors["x"], X)
assert tensors["x"]["kind"] == "input" and "sensitivity" not in tensors["x"]
check(tensors["w"], W)
assert tensors["w"]["kind"] == "state"
y = [[f32(sum(a * w[j] for a, w in zip(row, [[f32(v) for v in r] for r in W]))) for j in range(3)] for row in X]
check(tensors["y"], y)
assert tensors["y"]["op"] == "train.matmul" and tensors["y"]["type"] == "MatMul"
assert tensors["y"]["kind"] == "forward"
gradient = []
for row, label in zip(y, LABELS):
    sums = sum(math.exp(v) for v in row)
    gradient.append([(math.exp(v) / sums - (j == label)) / 2 for j, v in enumerate(row)])
check(tensors["loss.grad"], gradient)
assert tensors["loss.grad"]["kind"] == "backward"
for name, rounding in (("bf16", bf16), ("f16", f16), ("e4m3", e4m3)):
    total = sum(g * (rounding(v) - v) for gs, vs in zip(gradient, y) for g, v in zip(gs, vs))
    near(tensors["y"]["sensitivity"][name], total * total, 1e-3)
