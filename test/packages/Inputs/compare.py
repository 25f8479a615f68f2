"""compare.py LOG EXPECTED FIRST: checks that the steps from FIRST on in a log of `mpc train --json` equal those expected, bit by bit."""
import json
import sys

log, expected, first = sys.argv[1], sys.argv[2], int(sys.argv[3])
steps = [line for line in map(json.loads, open(log)) if "loss" in line and "lr" in line]
wanted = [step for step in json.load(open(expected)) if step["step"] >= first]
assert wanted and len(steps) == len(wanted), (len(steps), len(wanted))
for ours, theirs in zip(steps, wanted):
    assert all(ours[key] == theirs[key] for key in theirs), (ours, theirs)
