#!/usr/bin/env python3
"""Writes what mpc takes of the data of test/models/ort: all batches, and the first, by
which ONNX Runtime evaluated. Labels that it takes as one list get a row for each sample.

ort_data.py FOLDER ALL.npz FIRST.npz
"""
import pathlib
import sys

import numpy as np

folder, everything, first = map(pathlib.Path, sys.argv[1:])
batch = int(np.load(folder / "golden.npz")["batch"])
data = dict(np.load(folder / "data.npz"))
samples = min(len(array) for array in data.values())
data = {n: a if len(a) == samples else a.reshape(samples, -1) for n, a in data.items()}
np.savez(everything, **data)
np.savez(first, **{n: a[:batch] for n, a in data.items()})
