#!/usr/bin/env python3
"""Writes models with external data, valid and malicious, for external-data.test.

Usage: external_models.py FOLDER, which has a folder `sub` and beside it a file
`secret.bin` that no model may reach.
"""
import hashlib
import os
import struct
import sys

MODEL = """opset_import {{ version: 17 }}
graph {{
  {tensors}
  {nodes}
}}
"""


def tensor(name, count, **entries):
    return tensor_of(name, count, list(entries.items()))


def tensor_of(name, count, entries):
    data = "".join(f'external_data {{ key: "{k}" value: "{v}" }} ' for k, v in entries)
    return f'initializer {{ name: "{name}" data_type: 1 dims: {count} data_location: EXTERNAL {data} }}'


def write(folder, name, tensors, names):
    nodes = "".join(
        f'node {{ op_type: "Relu" input: "{n}" output: "y_{n}" }} output {{ name: "y_{n}" }}\n' for n in names
    )
    with open(f"{folder}/{name}.textproto", "w") as file:
        file.write(MODEL.format(tensors="\n  ".join(tensors), nodes=nodes))


def main(folder):
    numbers = struct.pack("<40f", 0, *range(1, 40))
    # An odd byte before the last tensor: it is not aligned.
    data = struct.pack("<4f", 1, 2, 3, 4) + numbers + b"?" + numbers + b"????"
    with open(f"{folder}/good.bin", "wb") as file:
        file.write(data)
    sha1 = hashlib.sha1(data[8:16]).hexdigest()
    good = [
        tensor("a", 2, location="good.bin", offset=0, length=8),
        tensor("b", 2, location="./good.bin", offset=8, length=8, checksum=sha1),
        tensor("big", 40, location="good.bin", offset=16, length=160),
        tensor("crooked", 40, location="good.bin", offset=177, length=160),
    ]
    write(folder, "good", good, ["a", "b", "big", "crooked"])

    os.symlink("../secret.bin", f"{folder}/link.bin")
    os.symlink("..", f"{folder}/out")
    os.mkfifo(f"{folder}/pipe.bin")
    os.link(f"{folder}/../secret.bin", f"{folder}/hard.bin")

    hostile = {
        "absent": [("location", "absent.bin")],
        "parent": [("location", "../secret.bin")],
        "inner-parent": [("location", "sub/../../secret.bin")],
        "absolute": [("location", "/etc/passwd")],
        "symlink": [("location", "link.bin")],
        "folder-link": [("location", "out/secret.bin")],
        "hardlink": [("location", "hard.bin")],
        "fifo": [("location", "pipe.bin")],
        "folder": [("location", "sub")],
        "no-location": [("offset", "0")],
        "offset": [("location", "good.bin"), ("offset", str(2**64 - 8)), ("length", "8")],
        "overflow": [("location", "good.bin"), ("offset", "16"), ("length", str(2**64 - 8))],
        "minus": [("location", "good.bin"), ("offset", "-8"), ("length", "8")],
        "length": [("location", "good.bin"), ("length", "12")],
        "key": [("location", "good.bin"), ("length", "8"), ("basepath", "/")],
        "key-twice": [("location", "good.bin"), ("location", "/etc/passwd")],
        "checksum": [("location", "good.bin"), ("length", "8"), ("checksum", sha1)],
    }
    for name, entries in hostile.items():
        write(folder, name, [tensor_of("w", 2, entries)], ["w"])


if __name__ == "__main__":
    main(sys.argv[1])
