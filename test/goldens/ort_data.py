#!/usr/bin/env python3
"""Writes data of test/models/ort for mpc: the batches from number AFTER on, and the first
one, which ONNX Runtime used for evaluation. Labels that ONNX Runtime takes as one list get
a row for each sample.

ort_data.py FOLDER BATCHES.npz FIRST.npz [AFTER]
"""
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
import npz

folder, batches, first = map(pathlib.Path, sys.argv[1:4])
after = int(sys.argv[4]) if len(sys.argv) > 4 else 0
batch, = npz.read(folder / "golden.npz")["batch"].values()
data = npz.read(folder / "data.npz")
samples = min(array.shape[0] for array in data.values())
for array in data.values():
    if array.shape[0] != samples:
        array.shape = (samples, npz.count(array.shape) // samples)
npz.write(batches, {name: array.rows(after * batch, None) for name, array in data.items()})
npz.write(first, {name: array.rows(0, batch) for name, array in data.items()})
