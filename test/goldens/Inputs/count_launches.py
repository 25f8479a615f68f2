"""Compares launches and traffic of the step in estimates (`mpc report --cost --json`)."""
import json
import sys

# By precision: launches of generated kernels, the bytes that they read and write, and
# calls of library kernels.
CALLS = {
    "matmul": 27,
    "biased_attention": 2,
    "biased_attention_grad": 2,
    "embedding": 1,
    "embedding_grad": 1,
    "zero": 16,
    "copy": 1,
}
EXPECTED = {
    "bf16": {
        "launches": 33,
        "bytes": 173763,
        "calls": {**CALLS, "matmul": 23, "matmul_gelu": 2, "matmul_gelu_grad": 2},
    },
    "fp32": {"launches": 35, "bytes": 207427, "calls": CALLS},
}


def count(path):
    entries = json.load(open(path))["entries"]
    (step,) = (entry for entry in entries if entry["name"] == "step")
    generated = [row for row in step["instructions"] if row["generated"]]
    calls = {}
    for row in step["instructions"]:
        if not row["generated"]:
            calls[row["kernel"]] = calls.get(row["kernel"], 0) + row["launches"]
    return {
        "launches": sum(row["launches"] for row in generated),
        "bytes": sum(row["launches"] * row["bytes"] for row in generated),
        "calls": calls,
    }


changed = False
for path in sys.argv[1:]:
    precision = path.rpartition("/")[2].removesuffix(".json")
    found = count(path)
    if found != EXPECTED[precision]:
        print(f"{precision}: expected {EXPECTED[precision]}, found {found}")
        changed = True
sys.exit(changed)
