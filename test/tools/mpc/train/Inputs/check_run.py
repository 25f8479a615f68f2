"""check_run.py LOG STEPS ACCURACY: checks what `mpc train --json` printed.

Every line has exactly the documented fields, there are STEPS steps, the loss
falls, and the last evaluation has at least ACCURACY.
"""
import json
import math
import sys

lines = [json.loads(line) for line in open(sys.argv[1])]
steps = [line for line in lines if "loss" in line]
evaluations = [line for line in lines if "eval_loss" in line]
assert len(steps) + len(evaluations) == len(lines)
fields = ["step", "loss", "loss_scale", "skipped", "lr", "grad_norm"]
assert all(list(line) == fields for line in steps), steps[:1]
told = ["eval_loss", "accuracy", "step", "epoch"]
assert all(list(line) == told for line in evaluations), evaluations[:1]
epochs = [line["epoch"] for line in evaluations]
assert epochs == list(range(1, len(epochs) + 1)), epochs
at = [line["step"] for line in evaluations]
assert at == sorted(set(at)) and at[-1] == int(sys.argv[2]), at
assert [line["step"] for line in steps] == list(range(1, int(sys.argv[2]) + 1))
assert all(math.isfinite(line["loss"]) for line in steps if not line["skipped"])
assert steps[-1]["loss"] < steps[0]["loss"] / 4, (steps[0], steps[-1])
accuracy = evaluations[-1]["accuracy"]
assert accuracy >= float(sys.argv[3]), accuracy
# A fraction of all 297 images: the last batch counted, and only once.
assert abs(accuracy * 297 - round(accuracy * 297)) < 1e-9, accuracy
