"""Checks the estimates for several ranks in the folder of the test."""

import json
import sys


def read(name):
    with open(f"{sys.argv[1]}/{name}.json") as file:
        return json.load(file)


one = {entry["name"]: entry["time_ns"] for entry in read("one")["entries"]}
runs = {name: read(name)["ranks"] for name in ("all", "optimizer", "gradients", "slow")}
for rows in runs.values():
    assert [row["ranks"] for row in rows] == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000]
    for row in rows:
        assert row["time_ns"] == row["computing_ns"] + row["exposed_ns"], row
        assert 0 <= row["exposed_ns"] <= row["communicating_ns"] * (1 + 1e-9), row
    # One rank computes what the report of the package says.
    alone = one["accumulate"] + one["apply"]
    assert rows[0]["communicating_ns"] == 0 and abs(rows[0]["time_ns"] - alone) < 1e-6 * alone, (rows[0], one)
    times = [row["time_ns"] for row in rows[1:]]
    assert times == sorted(times), rows

for row, slow, optimizer, gradients in zip(*(runs[name][1:] for name in ("all", "slow", "optimizer", "gradients"))):
    # The bandwidth limits 8 ranks, but not 1000, which wait for their many messages.
    assert slow["time_ns"] - row["time_ns"] >= (1 if row["ranks"] <= 512 else 0), (slow, row)
    assert slow["computing_ns"] == row["computing_ns"]
    assert optimizer["computing_ns"] < row["computing_ns"]
    assert gradients["bytes"] < optimizer["bytes"] < row["bytes"] == runs["all"][0]["bytes"]
# A rank keeps its part: with 1,000 of them next to nothing of what 2 share.
saved = [row["bytes"] - other["bytes"] for row, other in zip(runs["all"], runs["optimizer"])]
assert 1.6 < saved[-1] / saved[1] < 2.2, saved
# Four norms, each with two messages in the forward pass and two in the backward pass, and one before.
sync = read("sync")["ranks"][1:]
for row, plain in zip(sync, runs["all"][1:]):
    assert row["communicating_ns"] - plain["communicating_ns"] >= 17 * 2000, (row, plain)
    assert abs(row["exposed_ns"] - row["communicating_ns"]) < 1e-6 * row["exposed_ns"], row
print("ok")
