"""best.py LOG BEST: checks that BEST is the evaluation of LOG with the highest loss."""
import json
import sys

log = [json.loads(line) for line in open(sys.argv[1])]
evaluations = [entry["eval_loss"] for entry in log if "eval_loss" in entry]
best = json.load(open(sys.argv[2]))["eval_loss"]
assert len(evaluations) == 6, evaluations
assert best == max(evaluations), (best, evaluations)
assert best != evaluations[-1], "the last evaluation must not be the best"
