"""as_arrays.py PREDICTIONS.npz ARRAYS.npz: the predicted images under the name of an input, with labels."""
import struct
import sys
import zipfile

with zipfile.ZipFile(sys.argv[1]) as archive:
    images = archive.read("y.npy")
header = "{'descr': '<i8', 'fortran_order': False, 'shape': (8,)}"
header += " " * (63 - (10 + len(header)) % 64) + "\n"
labels = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + struct.pack("<8q", *[0] * 4 + [1] * 4)
with zipfile.ZipFile(sys.argv[2], "w") as archive:
    archive.writestr("image.npy", images)
    archive.writestr("labels.npy", labels)
