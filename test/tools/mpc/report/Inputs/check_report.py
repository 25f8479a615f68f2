#!/usr/bin/env python3
"""Checks the devices of the report that `ptxas` beside this file had part in."""
import json
import sys

cpu, cuda = json.load(sys.stdin)["devices"]
assert (cpu["device"], cuda["device"]) == ("cpu", "cuda")
assert "architectures" not in cpu
for device in (cpu, cuda):
    names = {kernel["name"] for kernel in device["kernels"]}
    steps = [t for t in device["transposes"] if t["function"] == "step"]
    assert [t["bytes"] for t in steps] == [4608, 384], steps
    assert all(t["kernel"] in names and t["origin"] == "layout" for t in steps)
assert [a["name"] for a in cuda["architectures"]] == ["sm_90", "sm_80"]
for architecture in cuda["architectures"]:
    assert architecture["assembled"]
    assert {kernel["name"] for kernel in architecture["kernels"]} == names
    for kernel in architecture["kernels"]:
        spilled = 24 if kernel["name"] == "kernel_1" else 0
        assert kernel == {"name": kernel["name"], "registers": 33, "shared": 1500, "stack": spilled,
                          "spill_loads": spilled, "spill_stores": spilled}, kernel
