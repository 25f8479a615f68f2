"""check_format.py SCHEMA PAGE: checks that the page names every table, field and value of the schema.

A field must be in a table of the page after the first mention of its schema table, a value
next to its number.
"""
import pathlib
import re
import sys

schema, page = (pathlib.Path(name).read_text() for name in sys.argv[1:])
schema = re.sub(r"//[^\n]*", "", schema)

# The first column of each row of the page's tables: `offset`, `size` | ...
rows = set()
for line in page.split("\n"):
    if line.startswith("|"):
        for cell in line.split("|")[1:]:
            rows.update(re.findall(r"`(\w+)`", cell))

faults = []
tables = re.findall(r"^table (\w+) \{(.*?)^\}", schema, re.M | re.S)
enums = re.findall(r"^enum (\w+) : \w+ \{(.*?)\}", schema, re.M | re.S)
assert len(tables) > 10 and len(enums) > 5, "the schema is not understood"
for table, body in tables:
    if f"`{table}" not in page and f"# {table}" not in page:
        faults.append(f"table {table} is missing")
    for field in re.findall(r"^\s*(\w+):", body, re.M):
        # An option's text and a function's symbol are explained in sentences.
        if field not in rows and f"{table}.{field}" not in page and table != "Option":
            faults.append(f"field {table}.{field} is missing")
for enum, body in enums:
    for name, value in re.findall(r"(\w+) = (\d+)", body):
        if not re.search(rf"`{name}`\s*(\||=)\s*{value}\b", page):
            faults.append(f"value {enum}.{name} = {value} is missing")
print("\n".join(faults), end="\n" if faults else "")
sys.exit(bool(faults))
