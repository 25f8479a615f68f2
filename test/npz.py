"""Reads and writes arrays of .npz files for tests, because CI has no NumPy."""
import ast
import math
import struct
import zipfile

CODES = {"<f4": "f", "<f8": "d", "<i8": "q", "<i4": "i", "|b1": "?"}


class Array:
    """An array: row-major elements as bytes."""

    def __init__(self, kind, shape, data):
        self.kind, self.shape, self.data = kind, tuple(shape), data

    def values(self):
        return [value for value, in struct.iter_unpack("<" + CODES[self.kind], self.data)]

    def rows(self, begin, end):
        """The elements from `begin` to `end` (exclusive) along dimension 0."""
        size = len(self.data) // self.shape[0]
        end = self.shape[0] if end is None else end
        return Array(self.kind, (end - begin, *self.shape[1:]), self.data[begin * size : end * size])


def read(path):
    arrays = {}
    with zipfile.ZipFile(path) as archive:
        for entry in archive.namelist():
            data = archive.read(entry)
            size, = struct.unpack_from("<H", data, 8)
            header = ast.literal_eval(data[10 : 10 + size].decode("latin1"))
            arrays[entry.removesuffix(".npy")] = Array(header["descr"], header["shape"],
                                                       data[10 + size :])
    return arrays


def write(path, arrays):
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            text = {"descr": array.kind, "fortran_order": False, "shape": array.shape}
            header = (str(text) + "\n").encode("latin1")
            header = b" " * (-(10 + len(header)) % 64) + header
            head = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header))
            archive.writestr(name + ".npy", head + header + array.data)


def count(shape):
    return math.prod(shape)
