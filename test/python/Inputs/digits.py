"""The digits and programs for them, shared by the tests of this folder."""

import functools
import os
import pathlib
import subprocess
import warnings

import numpy as np

import mpc

FOLDER = pathlib.Path(os.environ["MPC_DIGITS"])
MLP = FOLDER / "mlp.onnx"


@functools.cache
def train_data():
    with np.load(FOLDER / "digits-train.npz") as file:
        return {name: file[name] for name in file.files}


def batches(size=64, count=None):
    """Consecutive full batches, as `mpc train --no-shuffle` takes them."""
    data = train_data()
    available = len(data["labels"]) // size
    for i in range(available if count is None else count):
        at = i % available * size
        yield {name: array[at : at + size] for name, array in data.items()}


@functools.cache
def program(**options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mpc.CompileNote)
        return mpc.compile(MLP, **{"batch": 64, **options})


def session(**options):
    return mpc.Session(program(), device="cpu", threads=1, **options)


def run_mpc(*arguments):
    """The output of the command."""
    command = [os.environ["MPC_COMMAND"], *map(str, arguments)]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout
