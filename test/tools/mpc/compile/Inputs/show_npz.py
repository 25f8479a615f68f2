"""show_npz.py FILE.npz NAME: prints the rows of an array of float32, without NumPy."""
import ast
import math
import struct
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as archive:
    data = archive.read(sys.argv[2] + ".npy")
(length,) = struct.unpack("<H", data[8:10])
header = ast.literal_eval(data[10 : 10 + length].decode())
assert header["descr"] == "<f4" and not header["fortran_order"], header
*leading, columns = header["shape"]
rows = math.prod(leading)
values = struct.unpack(f"<{rows * columns}f", data[10 + length :])
for row in range(rows):
    print(*(f"{v:.4f}" for v in values[row * columns : (row + 1) * columns]))
