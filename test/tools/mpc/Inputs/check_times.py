"""Checks what measures times: check_times.py table|trace|json FILE [KEY=VALUE...].

table: the shares add up to 100 %, and the totals to the time of all calls.
trace: Chrome's trace events; calls enclose the instructions. CALLS=N expects N calls.
json: the object of `mpc bench --json`, or the last one of `mpc train --json`.
"""
import json
import re
import sys

ROW = re.compile(r"^ *(\d+\.\d) % +(\d+\.\d{3}) +(\d+) +\d+\.\d +\d+\.\d ")


def check_table(text, expected):
    rows = [ROW.match(line) for line in text.splitlines()]
    rows = [row for row in rows if row]
    assert len(rows) >= 3, text
    share = sum(float(row[1]) for row in rows)
    assert abs(share - 100) <= 0.05 * len(rows) + 1e-6, share
    totals = [float(row[2]) for row in rows]
    if "other row" not in text:
        assert totals == sorted(totals, reverse=True), totals
    for name in ("share", "total ms", "calls", "mean us", "min us", "GB/s", "GFLOP/s", "ceiling", "kernel", "nodes",
                 "dispatch", "inputs"):
        assert name in text, name
    if "rows" in expected:
        assert len(rows) == int(expected["rows"]), rows


def check_trace(text, expected):
    trace = json.loads(text)
    assert trace["displayTimeUnit"] in ("ms", "ns")
    calls, inside = [], []
    for event in trace["traceEvents"]:
        assert isinstance(event["name"], str) and event["name"], event
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int), event
        assert isinstance(event["args"], dict), event
        if event["ph"] == "M":
            assert event["name"] in ("process_name", "thread_name") and event["args"]["name"], event
            continue
        assert event["ph"] == "X" and event["ts"] >= 0 and event["dur"] >= 0, event
        assert event["cat"] in ("kernel", "generated", "move", "inputs", "call"), event
        (calls if event["cat"] == "call" else inside).append(event)
    assert len(calls) == int(expected["calls"]), len(calls)
    assert any(e["args"].get("flops", 0) > 0 for e in inside)
    end = 0
    for event in inside:  # In order, without overlaps, each in one call.
        assert event["ts"] >= end - 1e-6, event
        end = event["ts"] + event["dur"]
        assert sum(c["ts"] <= event["ts"] + 1e-6 and end <= c["ts"] + c["dur"] + 1e-6 for c in calls) == 1, event
    if "entries" in expected:
        found = {e["args"]["entry"] for e in inside if "entry" in e["args"]}
        assert found == set(expected["entries"].split(",")), found


def check_json(text, expected):
    lines = [json.loads(line) for line in text.splitlines()]
    result = [line for line in lines if "profile" in line][-1]
    profile = result["profile"]
    assert sum(row["total_ns"] for row in profile["rows"]) == profile["total_ns"]
    assert abs(sum(row["share"] for row in profile["rows"]) - 1) < 1e-9
    assert profile["calls"] == int(expected["calls"]), profile["calls"]
    kinds = {row["kind"] for row in profile["rows"]}
    assert {"kernel", "generated", "inputs", "dispatch"} <= kinds, kinds
    products = [row for row in profile["rows"] if row["kernel"] == "matmul"]
    assert products and all(row["flops"] > 0 and row["bytes"] > 0 and row["flops_per_s"] > 0 for row in products)
    assert profile["ceilings"]["copy_bytes_per_s"] > 0
    if "package" not in result:  # mpc train
        assert profile["first_step"] <= profile["last_step"]
        return
    times = result["step_ns"]
    assert 0 < times["min"] <= times["p10"] <= times["median"] <= times["p90"], times
    assert result["steps"] == int(expected["calls"])
    samples = result["samples_per_step"]
    assert abs(result["samples_per_s"] * times["median"] * 1e-9 - samples) < 1e-6 * samples
    assert result["flops_per_step"] * profile["calls"] == sum(r["flops"] * r["calls"] for r in profile["rows"])
    assert result["resident_bytes"] is None or result["resident_bytes"] > result["arena_bytes"]


kind, path, *pairs = sys.argv[1:]
with open(path) as file:
    globals()["check_" + kind](file.read(), dict(pair.split("=") for pair in pairs))
