"""make_npz.py FILE.npz NAME=TYPE:VALUES...: writes arrays without NumPy.

TYPE is NumPy's letters ("f4", "i8"). VALUES are numbers with commas between
them; a slash begins the next row. "3*0,1" stands for 0,0,0,1. "i8[2,3,4]" gives
the shape.
"""
import struct
import sys
import zipfile

CODES = {"f4": "f", "f8": "d", "i4": "i", "i8": "q", "u1": "B", "b1": "B"}


def numbers(text, code):
    for item in text.split(","):
        count, _, value = item.rpartition("*")
        yield from int(count or 1) * [float(value) if code in "fd" else int(value)]


with zipfile.ZipFile(sys.argv[1], "w") as archive:
    for argument in sys.argv[2:]:
        name, _, described = argument.partition("=")
        letters, _, text = described.partition(":")
        letters, _, extents = letters.rstrip("]").partition("[")
        code = CODES[letters]
        rows = [list(numbers(row, code)) for row in text.split("/")]
        shape = (len(rows), len(rows[0])) if len(rows) > 1 else (len(rows[0]),)
        if extents:
            shape = tuple(int(extent) for extent in extents.split(","))
        order = "|" if letters[1] == "1" else "<"
        header = str({"descr": order + letters, "fortran_order": False, "shape": shape})
        header += " " * (63 - (10 + len(header)) % 64) + "\n"
        values = [value for row in rows for value in row]
        archive.writestr(
            name + ".npy",
            b"\x93NUMPY\x01\x00"
            + struct.pack("<H", len(header))
            + header.encode()
            + struct.pack(f"<{len(values)}{code}", *values),
        )
