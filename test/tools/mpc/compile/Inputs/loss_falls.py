"""loss_falls.py LOG: of the losses that `mpc train --json` wrote the last is at
least a tenth below the first."""
import json
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
losses = [line["loss"] for line in lines if "step" in line and "loss" in line]
assert len(losses) >= 10 and losses[-1] < 0.9 * losses[0], losses
