"""Writes chain.onnxtxt, products that read each other's results directly, as
low-rank adapters do, and chain.npz with a batch of data.

usage: chained_products.py TEST_FOLDER
"""
import random
import struct
import sys

sys.path.insert(0, sys.argv[1])
import npz

random.seed(3)
WIDTH = 32


def numbers(count, scale):
    return [random.gauss(0, scale) for _ in range(count)]


weights = ",\n   ".join(
    f"float[{WIDTH}, {WIDTH}] w{i} = {{{', '.join(f'{x:.5g}' for x in numbers(WIDTH**2, WIDTH**-0.5))}}}"
    for i in range(5))
with open("chain.onnxtxt", "w") as file:
    file.write(f"""<ir_version: 8, opset_import: ["" : 17]>
chain (float[{WIDTH}, {WIDTH}] x) => (float[{WIDTH}, {WIDTH}] y)
  <{weights}>
{{
  a = MatMul(x, w0)
  b = MatMul(a, w1)
  c = MatMul(b, w2)
  d = Add(a, c)
  e = MatMul(d, w3)
  y = MatMul(e, w4)
}}
""")


def tensor():
    return npz.Array("<f4", (WIDTH, WIDTH), struct.pack(f"{WIDTH**2}f", *numbers(WIDTH**2, 1)))


npz.write("chain.npz", {"x": tensor(), "targets": tensor()})
