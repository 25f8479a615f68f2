"""Limits on the size of folders, files and paths, with exceptions in ceilings.txt.

A folder has at most 20 files, a source at most 800 lines, a test at most 300 lines, a
path at most 80 characters. README.md, CMakeLists.txt and dot files do not count as
files of a folder, because every folder may have them, nor do files that a MANIFEST.json
lists: scripts generate and check these, and nobody reads them one by one.

Exceptions may only shrink: one that is larger than the actual size, or that is not
needed, is a fault. check_tree.py --lower rewrites them.
"""
import json
import os
import pathlib

PARTS = ("compiler", "kernels", "passes", "python", "runtime", "test", "tools")
FILES, SOURCE_LINES, TEST_LINES, PATH = 20, 800, 300, 80
LIST = pathlib.PurePosixPath("tools/lint/ceilings.txt")

EVERYWHERE = ("README.md", "CMakeLists.txt")
TESTS = (".mlir", ".test", ".onnxtxt", ".textproto")
SOURCES = (
    *(".h", ".hpp", ".c", ".cpp", ".cu", ".cuh", ".td", ".def", ".fbs"),
    *(".cmake", ".css", ".html", ".js", ".py", ".sh", ".txt"),
)
HEADER = """\
# What is larger than ceilings.py allows, and how large it is: files of a folder, lines
# of a file, characters of a path. These numbers may only fall; when something shrank,
# `tools/lint/check_tree.py . --lower` rewrites this file.
"""


def list_files(root):
    """The files of the tree, by their paths from `root`."""
    for part in PARTS:
        for folder, folders, names in os.walk(root / part):
            folders[:] = sorted(f for f in folders if f != "__pycache__" and f[0] != ".")
            for name in sorted(names):
                yield (pathlib.Path(folder) / name).relative_to(root)


def is_test(path):
    return path.suffix in TESTS or (path.parts[0] == "test" and path.stem.endswith("_test"))


def measure(root):
    """Everything that has a limit: {(kind, path): (size, ceiling)}."""
    files = list(list_files(root))
    made = {
        path.parent / name
        for path in files
        if path.name == "MANIFEST.json"
        for name in json.loads((root / path).read_text())["files"]
    }
    sizes = {}
    for path in files:
        name = path.as_posix()
        sizes["path", name] = (len(name), PATH)
        if path in made:
            continue
        if path.name not in EVERYWHERE and not path.name.startswith("."):
            folder = "files", path.parent.as_posix()
            sizes[folder] = (sizes.get(folder, (0,))[0] + 1, FILES)
        if path.suffix in TESTS + SOURCES:
            lines = (root / path).read_bytes().count(b"\n")
            sizes["lines", name] = (lines, TEST_LINES if is_test(path) else SOURCE_LINES)
    return sizes


def read_exceptions(root):
    """The exceptions, {(kind, path): size}, and the faults of ceilings.txt."""
    exceptions, faults = {}, []
    path = root / LIST
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        kind, _, rest = line.partition(" ")
        size, _, name = rest.strip().partition(" ")
        if not line or line.startswith("#"):
            continue
        if kind not in ("files", "lines", "path") or not size.isdigit() or not name:
            faults.append(f"{LIST}:{number}: is not 'files', 'lines' or 'path', a number and a path")
        elif (kind, name) in exceptions:
            faults.append(f"{LIST}:{number}: {kind} of {name} stands here twice")
        else:
            exceptions[kind, name] = int(size)
    return exceptions, faults


NOUNS = {"files": "files", "lines": "lines", "path": "characters in its path"}


def check_ceilings(root):
    exceptions, faults = read_exceptions(root)
    yield from faults
    sizes = measure(root)
    for (kind, name), (size, ceiling) in sorted(sizes.items()):
        allowed = max(ceiling, exceptions.get((kind, name), 0))
        if size > allowed:
            yield f"{name}: has {size} {NOUNS[kind]}, at most {allowed} are allowed"
    for (kind, name), allowed in sorted(exceptions.items()):
        size, ceiling = sizes.get((kind, name), (0, 0))
        if size <= ceiling:
            yield f"{LIST}: {kind} of {name} needs no exception any more: remove it"
        elif size < allowed:
            yield f"{LIST}: {kind} of {name} allows {allowed}, but there are {size}: lower it"


def lower(root):
    """Lowers the exceptions to the actual sizes."""
    sizes = measure(root)
    lines = []
    for key, allowed in sorted(read_exceptions(root)[0].items()):
        size, ceiling = sizes.get(key, (0, 0))
        if size > ceiling:
            lines.append(f"{key[0]} {min(size, allowed)} {key[1]}\n")
    (root / LIST).write_text(HEADER + "".join(lines))
