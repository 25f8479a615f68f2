"""check_metrics.py GOLDENS CASE RESULT.json: compares every metric of a case to 1e-6."""
import json
import sys

golden = json.load(open(sys.argv[1]))[sys.argv[2]]
result = json.load(open(sys.argv[3]))


def flat(value):
    return [item for part in value for item in flat(part)] if isinstance(value, list) else [value]


for name, expected in golden.items():
    assert name in result, f"no {name}: {result}"
    left, right = flat(expected), flat(result[name])
    assert len(left) == len(right), (name, expected, result[name])
    for a, b in zip(left, right):
        assert b is not None and abs(a - b) <= 1e-6 * max(1, abs(a)), (name, expected, result[name])
