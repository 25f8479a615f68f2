"""Continues from each dump of a compilation and compares the results.

usage: continue_dumps.py MPC_OPT FOLDER STAGE...   STAGE: an argument of mpc-opt
"""

import pathlib
import subprocess
import sys

mpc_opt, folder, *stages = sys.argv[1:]
dumps = sorted(pathlib.Path(folder).glob("*.mlirbc"))
assert len(dumps) == len(stages) + 1, dumps


def run(dump, stages):
    """The module, but for the attributes that compilation takes out of it."""
    result = subprocess.run([mpc_opt, dump, *stages], capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    return [line for line in lines if not line.startswith("module attributes")]


expected = run(dumps[-1], [])
assert len(expected) > 100
for i, dump in enumerate(dumps[:-1]):
    assert run(dump, stages[i:]) == expected, dump
