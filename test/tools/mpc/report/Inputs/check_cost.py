"""Checks the estimate that `mpc report --cost --json` prints."""
import json
import sys

cost = json.load(open(sys.argv[1]))
machine = cost["machine"]
assert cost["device"] == machine["device"] == "cpu" and machine["f32_gflops"] == 280, machine


def near(a, b):
    return abs(a - b) <= 1e-6 * max(abs(a), abs(b))


for entry in cost["entries"]:
    rows = entry["instructions"]
    assert rows == sorted(rows, key=lambda row: -row["time_ns"])
    assert sum(row["launches"] for row in rows) == entry["launches"]
    for key in ("flops", "bytes"):
        assert near(sum(row["launches"] * row[key] for row in rows), entry[key]), key
    assert near(sum(row["time_ns"] for row in rows), entry["time_ns"])
    assert near(sum(entry["time_ns_by_limit"].values()), entry["time_ns"])
    assert entry["bound_ns"] < entry["time_ns"]

(step,) = (entry for entry in cost["entries"] if entry["name"] == "step")
conv = next(row for row in step["instructions"] if row["kernel"] == "conv_grad_weight")
rate = conv["flops"] / machine["bf16_gflops"]
assert conv["limit"] == "flop" and conv["dtype"] == "bf16" and not conv["generated"], conv
assert near(conv["time_ns"], conv["launches"] * (rate + 1000 * machine["launch_us"])), conv
generated = [row for row in step["instructions"] if row["generated"]]
assert generated and all(row["flops"] > 0 or row["bytes"] > 0 for row in generated)
