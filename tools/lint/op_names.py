"""Counts places where passes refer to ops by name instead of by interface (op_names.txt)."""
import re

TABLE = "tools/lint/op_names.txt"
# The number of places outside recognisers that may name ops; may only fall.
MAX_SITES = 10
ISA = re.compile(r"\b(?:isa(?:_and_present|_and_nonnull)?|IsaPred)\s*<([^;{}()]*?)>")
NAME = re.compile(r"\btrain::(\w+Op)\b(?!::create)")
COMMENT = re.compile(r"//[^\n]*")
# Ops that structure a program. All other ops belong to a model or a gradient.
FRAME = {"StateOp", "ReadOp", "WriteOp", "PackOp", "UnpackOp", "ConstantOp", "RematBarrierOp"}


def read_table(root):
    """Recognisers, {file: number of places}, and {folder: ops that it may name}."""
    recognisers, sites, folders = set(), {}, {}
    for line in (root / TABLE).read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if words[0] == "recogniser":
            recognisers.add(words[1])
        elif words[0] == "folder":
            folders[words[1]] = set(words[2:])
        else:
            sites[words[1]] = int(words[0])
    return recognisers, sites, folders


def check_op_names(root):
    if not (root / TABLE).exists():
        return
    recognisers, allowed, folders = read_table(root)
    for name in sorted(recognisers | set(allowed)):
        if not (root / name).exists():
            yield f"{TABLE}: {name} does not exist"
    if sum(allowed.values()) > MAX_SITES:
        yield f"{TABLE}: allows {sum(allowed.values())} sites, which is more than {MAX_SITES}"
    for path in sorted((root / "passes").rglob("*")):
        name = path.relative_to(root).as_posix()
        if path.suffix not in {".cpp", ".h"}:
            continue
        text = COMMENT.sub("", path.read_text())
        for folder, known in folders.items():
            for op in sorted(set(NAME.findall(text)) - FRAME - known if name.startswith(folder + "/") else ()):
                yield f"{name}: must not name train::{op}; ask an interface (compiler/README.md)"
        if name in recognisers:
            continue
        found = sum(bool(NAME.search(match)) for match in ISA.findall(text))
        if found > allowed.get(name, 0):
            yield f"{name}: asks for ops by name in {found} places, but may in {allowed.get(name, 0)} ({TABLE}); ask an interface"
        elif found < allowed.get(name, 0):
            yield f"{TABLE}: {name} asks for ops by name in {found} places; lower its row"
