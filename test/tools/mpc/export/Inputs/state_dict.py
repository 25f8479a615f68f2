"""state_dict.py make TRAINED LIKE [--transpose]: writes what a module of PyTorch might have had before training:
the tensors of TRAINED with other values (fc2.weight transposed, if wanted), copy.weight, which is tied to
fc1.weight, and a buffer of integers, table.

state_dict.py check TRAINED LIKE RESULT: compares what `mpc export --like` wrote.
"""
import json
import random
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + size])
    header.pop("__metadata__", None)
    return {
        name: (entry["dtype"], entry["shape"], data[8 + size + entry["data_offsets"][0] : 8 + size + entry["data_offsets"][1]])
        for name, entry in header.items()
    }


def write(path, tensors):
    header, data = {}, b""
    for name, (dtype, shape, values) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(values)]}
        data += values
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def transposed(tensor):
    dtype, (rows, columns), data = tensor
    values = [data[4 * i : 4 * i + 4] for i in range(rows * columns)]
    return dtype, [columns, rows], b"".join(values[r * columns + c] for c in range(columns) for r in range(rows))


trained = read(sys.argv[2])
if sys.argv[1] == "make":
    random.seed(7)
    like = {
        name: (dtype, shape, b"".join(struct.pack("<f", random.random()) for _ in range(len(data) // 4)))
        for name, (dtype, shape, data) in trained.items()
    }
    if "--transpose" in sys.argv:
        like["fc2.weight"] = transposed(like["fc2.weight"])
    like["copy.weight"] = like["fc1.weight"]
    like["table"] = ("I64", [3], struct.pack("<3q", 1, 2, 3))
    write(sys.argv[3], like)
else:
    like, result = read(sys.argv[3]), read(sys.argv[4])
    expected = dict(trained, table=like["table"])
    expected["copy.weight"] = trained["fc1.weight"]
    if like["fc2.weight"][1] != trained["fc2.weight"][1]:
        expected["fc2.weight"] = transposed(trained["fc2.weight"])
    assert result == expected, [name for name in {*result, *expected} if result.get(name) != expected.get(name)]
