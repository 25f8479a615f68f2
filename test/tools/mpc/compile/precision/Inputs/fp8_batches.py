"""fp8_batches.py FROM.npz TO.npz KIND...: batches of 32 samples for models of FP8.

A batch is the next one of FROM ("data"), the same with one infinity ("infinite"), or
all zeros ("zero").
"""
import pathlib
import struct
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parents[5]))
import npz

SAMPLES = 32

arrays = npz.read(sys.argv[1])
x, labels = b"", b""
for number, kind in enumerate(sys.argv[3:]):
    batch = arrays["x"].rows(number * SAMPLES, (number + 1) * SAMPLES).data
    if kind == "zero":
        batch = bytes(len(batch))
    elif kind == "infinite":
        batch = struct.pack("<f", float("inf")) + batch[4:]
    x += batch
    labels += arrays["labels"].rows(number * SAMPLES, (number + 1) * SAMPLES).data
count = SAMPLES * len(sys.argv[3:])
npz.write(sys.argv[2], {"x": npz.Array("<f4", (count, *arrays["x"].shape[1:]), x),
                        "labels": npz.Array("<i8", (count,), labels)})
