"""Parses the pipeline that a stage prints, prints it again and compares.

usage: pipeline_text.py MPC_OPT STAGE
"""

import subprocess
import sys

mpc_opt, stage = sys.argv[1:]


def dump(argument):
    command = [mpc_opt, "-", argument, "--dump-pass-pipeline"]
    result = subprocess.run(command, input="module {}", capture_output=True, text=True)
    # The model lacks a function, which is an error of the first pass.
    lines = result.stderr.splitlines()
    begin = lines.index("builtin.module(")
    return "".join(lines[begin : lines.index(")", begin) + 1])


first = dump(stage)
assert dump("--pass-pipeline=" + first) == first
print(first)
