"""Reductions of 10^6 elements and more with `mpc predict`, compared with sums in f64.

The elements repeat a pattern of 1024 numbers, which a model expands, so the true
sums are known and no file is large. `tools/test.sh --long` goes up to 10^9.
"""
import math
import os
import random
import struct
import subprocess
import sys

sys.path.insert(0, sys.argv[1])
import npz

TOLERANCE = 1e-6
WIDTH = 1024

# By op: the result from the sum of what it adds up and the number of terms, and
# what it adds up.
OPS = {
    "ReduceSum": (lambda total, count: total, lambda x: x),
    "ReduceMean": (lambda total, count: total / count, lambda x: x),
    "ReduceL1": (lambda total, count: total, abs),
    "ReduceL2": (lambda total, count: math.sqrt(total), lambda x: x * x),
    "ReduceSumSquare": (lambda total, count: total, lambda x: x * x),
    "ReduceLogSum": (lambda total, count: math.log(total), lambda x: x),
    "ReduceLogSumExp": (lambda total, count: math.log(total), math.exp),
}


def rounded(value):
    return struct.unpack("f", struct.pack("f", value))[0]


def patterns():
    random.seed(1)
    # Rounding errors of equal numbers are all alike.
    yield "equal", [rounded(0.1)] * WIDTH
    yield "uniform", [rounded(random.random() + 1e-3) for _ in range(WIDTH)]
    yield "spread", [rounded(random.lognormvariate(0, 3)) for _ in range(WIDTH)]


def model(op, rows, axes):
    """`op` of x, which is expanded to `rows` rows."""
    kept = [1 if axis in axes else (rows, WIDTH)[axis] for axis in (0, 1)]
    return f"""<ir_version: 8, opset_import: ["" : 18]>
g (float[1, {WIDTH}] x) => (float[{kept[0]}, {kept[1]}] y)
  <int64[2] shape = {{{rows}, {WIDTH}}}, int64[{len(axes)}] axes = {{{", ".join(map(str, axes))}}},
   float[1, 1] one = {{1.0}}>
{{
  e = Expand(x, shape)
  m = Mul(e, one)
  y = {op}<keepdims = 1>(m, axes)
}}"""


def check(op, rows, axes, name, pattern):
    finish, term = OPS[op]
    terms = [term(value) for value in pattern]
    if axes == [0]:
        wanted = [finish(value * rows, rows) for value in terms]
    else:
        wanted = [finish(math.fsum(terms) * rows, rows * WIDTH)]
    with open("sum.onnxtxt", "w") as file:
        file.write(model(op, rows, axes))
    npz.write("sum.npz", {"x": npz.Array("<f4", (1, WIDTH), struct.pack(f"{WIDTH}f", *pattern))})
    for command in (["compile", "sum.onnxtxt", "--precision=fp32", "-o", "sum.mpc"],
                    ["predict", "sum.mpc", "--data=sum.npz", "-o", "y.npz"]):
        run = subprocess.run([sys.argv[2], *command], capture_output=True, text=True)
        assert run.returncode == 0, run.stderr
    found = npz.read("y.npz")["y"].values()
    assert len(found) == len(wanted)
    # Logarithms near 0 have the absolute error of the sum's relative one.
    error = max(abs(f - w) / max(abs(w), 1 if "Log" in op else 0)
                for f, w in zip(found, wanted))
    assert error <= TOLERANCE, f"{op} of {rows * WIDTH} elements ({name}) over {axes}: {error:.1e} off"


equal, uniform, spread = patterns()
cases = [(op, 1000, axes, *pattern) for op in OPS for axes in ([0, 1], [0])
         for pattern in (equal, uniform, spread)
         if op != "ReduceLogSumExp" or pattern is not spread]
cases += [("ReduceSum", 16384, axes, *pattern) for axes in ([0, 1], [0])
          for pattern in (equal, uniform, spread)]
if os.environ.get("MPC_LONG"):  # 4 GB each.
    cases += [("ReduceSum", 1_000_000, [0, 1], *equal), ("ReduceSum", 1_000_000, [0], *equal),
              ("ReduceMean", 1_000_000, [0, 1], *spread)]
for case in cases:
    check(*case)
print(len(cases), "reductions are right")
