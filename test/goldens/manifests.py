"""Writes and checks MANIFEST.json, which records how the files of a folder of goldens were made.

A manifest names the generator, the command, the seeds, the versions of packages, and the SHA-256 of each file by its
path in the folder. It lists every file of the folder except itself and README.md. Checking needs only Python.
"""
import hashlib
import json
import pathlib
import platform
from importlib import metadata

NAME = "MANIFEST.json"
KEYS = ("generator", "command", "seeds", "versions", "repeats", "files")


def hash_files(folder):
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest()
        for path in paths
        if path.name not in (NAME, "README.md") and "__pycache__" not in path.parts
    }


def find_version(package):
    if package == "python":
        return platform.python_version()
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"


def write(folder, generator, command, seeds, packages, repeats):
    """Lists the files of `folder`, which this process or a child process made."""
    manifest = {
        "generator": generator,
        "command": command,
        "seeds": seeds,
        "versions": {package: find_version(package) for package in ("python", *packages)},
        "repeats": repeats,
        "files": hash_files(folder),
    }
    (folder / NAME).write_text(json.dumps(manifest, indent=1) + "\n")


def check(folder, root=None):
    """Yields a line for each fault of the files of `folder`. `root` is the folder with the generators."""
    path = folder / NAME
    if not path.exists():
        yield f"{path}: is missing"
        return
    manifest = json.loads(path.read_text())
    missing = [key for key in KEYS if not manifest.get(key)]
    if missing:
        yield f"{path}: lacks {', '.join(missing)}"
        return
    if root and not (root / manifest["generator"]).exists():
        yield f"{path}: the generator {manifest['generator']} is missing"
    found, listed = hash_files(folder), manifest["files"]
    for name in sorted({*found, *listed}):
        if name not in found:
            yield f"{folder / name}: is listed in {NAME}, but missing"
        elif name not in listed:
            yield f"{folder / name}: is not listed in {NAME}: an orphan?"
        elif found[name] != listed[name]:
            yield f"{folder / name}: differs from what '{manifest['command']}' made"
