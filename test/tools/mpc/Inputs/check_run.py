"""check_run.py LOG STEPS ACCURACY: checks what `mpc train --json` printed.

Every line has exactly the documented fields, there are STEPS steps, the loss
falls, and the last evaluation has at least ACCURACY.
"""
import json
import math
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
steps = [line for line in lines if "step" in line]
evaluations = [line for line in lines if "step" not in line]
fields = ["step", "loss", "loss_scale", "skipped", "lr", "grad_norm"]
assert all(list(line) == fields for line in steps), steps[:1]
assert all(list(line) == ["eval_loss", "accuracy"] for line in evaluations)
assert [line["step"] for line in steps] == list(range(1, int(sys.argv[2]) + 1))
assert all(math.isfinite(line["loss"]) for line in steps if not line["skipped"])
assert steps[-1]["loss"] < steps[0]["loss"] / 4, (steps[0], steps[-1])
accuracy = evaluations[-1]["accuracy"]
assert accuracy >= float(sys.argv[3]), accuracy
# A fraction of all 297 images: the last batch counted, and only once.
assert abs(accuracy * 297 - round(accuracy * 297)) < 1e-9, accuracy
