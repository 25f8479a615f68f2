"""check_report.py REPO_ROOT REPORT...: checks reports against docs/format/report.schema.json.

Prints one line per fault. The schema must name the rows of the tables that it refers to.
"""
import json
import pathlib
import re
import sys

import jsonschema

root = pathlib.Path(sys.argv[1])
schema = json.loads((root / "docs/format/report.schema.json").read_text())
jsonschema.Draft202012Validator.check_schema(schema)


def rows(table, macro):
    """The names that rows of a table of the compiler begin with."""
    return re.findall(rf'^{macro}\(\w+, "([^"]+)"', (root / "compiler/Support/Precision" / table).read_text(), re.M)


faults = []
for title, part, names in (
    ("rule_id", schema["$defs"]["rule_id"], rows("Rules.def", "MPC_RULE")),
    ("precision", schema["properties"]["precision"], rows("Precisions.def", "MPC_PRECISION")),
):
    assert names, title
    if part["enum"] != names:
        faults.append(f"schema: {title}: the rows are {names}")
validator = jsonschema.Draft202012Validator(schema)
for path in sys.argv[2:]:
    report = json.loads(pathlib.Path(path).read_text())
    faults += [f"{path}: {error.json_path}: {error.message}" for error in validator.iter_errors(report)]
print("".join(fault + "\n" for fault in faults), end="")
sys.exit(bool(faults))
