#!/usr/bin/env python3
"""Checks what programs rely on in a report of blocks.py."""
import json
import pathlib
import re
import sys

ROWS = pathlib.Path(__file__).resolve().parents[4] / "compiler/Support/Precision/Rules.def"
RULES = set(re.findall(r'^MPC_RULE\(\w+, "([^"]+)"', ROWS.read_text(), re.MULTILINE))
assert len(RULES) > 40
PHASES = {"forward", "backward", "update"}

report = json.load(sys.stdin)
assert report["version"] == 1 and report["precision"] == "bf16"
for function in report["functions"]:
    for op in function["ops"]:
        assert op["rule_id"] in RULES and op["phase"] in PHASES, op
        for source in op["inputs"]:
            assert 0 <= source.get("op", 0) < len(function["ops"]) and source["bytes"] > 0, source
            assert 0 <= source.get("cast", 0) < max(1, len(function["casts"])), source
    assert len(function["casts"]) == function["totals"]["casts"]
    for key in ("flops", "bytes", "bytes_16bit"):
        assert sum(op[key] for op in function["ops"]) <= function["totals"][key], key

step = next(f for f in report["functions"] if f["name"] == "step")
weights = {source["state"] for op in step["ops"] for source in op["inputs"] if "state" in source}
assert "blocks.3.fc.weight" in weights and "head.weight" in weights, weights
assert {op["rule_id"] for op in step["ops"] if op["op"] == "train.relu"} == {"cut.moves-more"}

summary = next(f for f in report["summary"]["functions"] if f["name"] == "step")
folded = [m for m in summary["modules"] if m["times"] == 11]
assert [m["path"] for m in folded] == ["blocks.1"] and [m["name"] for m in folded[0]["modules"]] == ["fc", "act"]
assert summary["wide"][0]["rule_id"] == "class" and "optimizer" in summary["wide"][0]["examples"]

(device,) = report["devices"]
for entry in device["entries"]:
    assert entry["live_stride"] == 1 and len(entry["live_bytes"]) == entry["launches"] + entry["calls"]
    assert max(entry["live_bytes"]) <= device["arena_bytes"]

# Time is estimated for one machine, from what is computed and what kernels move.
(summed,) = report["summary"]["devices"]
assert summed["machine"] == device["machine"]["name"] and device["machine"]["bytes_per_ns"] > 0
rates = device["machine"]["flops_per_ns"]
for entry, moved in zip(summed["entries"], device["entries"]):
    totals = next(f for f in report["functions"] if f["name"] == entry["name"])["totals"]
    low = totals["flops_16bit"] / rates["16bit"] + moved["bytes_16bit"] / device["machine"]["bytes_per_ns"]
    assert 0 < moved["bytes_16bit"] < moved["bytes"] < totals["bytes"], moved
    assert abs(entry["time_ns"]["16bit"] - low) < 1e-6 * low and entry["time_ns"]["8bit"] == 0, entry
