"""Compares the losses of two logs: near.py LOG LOG MOST_RELATIVE_DIFFERENCE."""
import json
import sys

losses = [
    [json.loads(line)["loss"] for line in open(path) if '"loss"' in line]
    for path in sys.argv[1:3]
]
assert losses[0] and len(losses[0]) == len(losses[1]), losses
for step, (a, b) in enumerate(zip(*losses), 1):
    assert abs(a - b) <= float(sys.argv[3]) * abs(b), f"step {step}: {a} and {b}"
