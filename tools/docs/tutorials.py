#!/usr/bin/env python3
"""Applies the diffs of tutorials, and compiles what they change.

usage: tutorials.py PAGE... --check BUILD_FOLDER [--most N] [--but FOLDER] [--also FILE]
       tutorials.py PAGE... --build FOLDER
  --check   apply the diffs to copies of the files, generate code from changed .td and .fbs
            files and check the syntax of changed .cpp files, with the commands of a build
  --most    maximum number of files that a tutorial may change, except tests
  --but     do not count files in folders of this name, which may be new
  --also    also check the syntax of this file, which includes changed ones
  --build   apply the diffs in FOLDER, a clone that is created if it does not exist, and
            run the commands of the pages (```sh) in it: build them and run their tests

A tutorial is a page with diffs (```diff) that apply one after the other. Lines before a
change may be left out, so choose lines of context without prose, which may change. --check
prints what is wrong, and nothing if there are no faults.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
BLOCK = re.compile(r"^```(diff|sh)\n(.*?)^```$", re.M | re.S)
MAX_LINES = 10  # Maximum number of lines of an error that are shown.
FILE = re.compile(r"(?=^--- \S+\n\+\+\+ )", re.M)
CHANGED = re.compile(r"^\+\+\+ b/(\S+)", re.M)


class Fault(Exception):
    """What is wrong with a tutorial."""


def run(command, folder, **options):
    """Runs a command silently; its output is a fault if it fails."""
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    if done.returncode:
        lines = done.stdout.strip().split("\n")
        errors = [line for line in lines if "error:" in line]
        raise Fault("\n".join((errors or lines)[:MAX_LINES]))


def blocks(page, language):
    return [text for name, text in BLOCK.findall(page.read_text()) if name == language]


def apply_diffs(page, folder):
    # Keep Git from finding a repository: the folder may be one or be inside of one.
    environment = {**os.environ, "GIT_DIR": os.devnull}
    for diff in blocks(page, "diff"):
        # With --recount, Git takes the header of a second file for lines of the first.
        for part in filter(None, FILE.split(diff)):
            run(["git", "apply", "--recount", "-"], folder, input=part, env=environment)


def changed_files(page):
    return sorted({name for diff in blocks(page, "diff") for name in CHANGED.findall(diff)})


class Build:
    """The build commands of Ninja."""

    def __init__(self, folder):
        self.folder = folder
        listed = subprocess.run(["ninja", "-C", folder, "-t", "compdb"], check=True, capture_output=True, text=True)
        self.entries = json.loads(listed.stdout)

    def generators(self, source):
        """(command, file) of each file that is generated from a .td file."""
        for entry in self.entries:
            made = self.folder / entry["output"]
            depends = made.with_name(made.name + ".d")
            if "-tblgen" in entry["file"] and depends.exists() and str(source) in depends.read_text().split():
                # The commands after it are only for Ninja.
                yield shlex.split(entry["command"].split(" && ")[1]), made

    def schema_compiler(self, source):
        """The command that generates a header from a .fbs file, and the header."""
        for entry in self.entries:
            if entry["file"] == str(source) and "flatc" in entry["command"]:
                return shlex.split(entry["command"].split(" && ")[1]), self.folder / entry["output"]
        raise Fault(f"{source}: nothing is generated from it")

    def compiler(self, source):
        """The arguments that a .cpp file is compiled with, alone or in a file that includes it. A new file is
        compiled like a file in a folder beside its own."""
        beside = sorted(source.parent.parent.glob("*/*.cpp"))
        for candidate in [source] if source.exists() else beside:
            for entry in self.entries:
                file = pathlib.Path(entry["file"])
                if entry["output"].startswith("test/") or not entry["output"].endswith(".o"):
                    continue
                if file == candidate or "/Unity/" in entry["file"] and f'"{candidate}"' in file.read_text():
                    return strip_outputs(shlex.split(entry["command"]))
        raise Fault(f"{source}: nothing compiles it")


def strip_outputs(arguments):
    """Removes the arguments that name the source and the outputs."""
    kept = iter(arguments)
    return [a for a in kept if not (a in ("-c", "-o", "-MT", "-MF") and next(kept)) and a != "-MD"]


class Overlay:
    """Changed copies of files, and files generated from them, which take precedence over the tree and the build."""

    def __init__(self, page, build, folder, also=()):
        self.page, self.build, self.also = page, build, also
        self.tree, self.made = folder / "tree", folder / "build"
        self.changed = [pathlib.Path(name) for name in changed_files(page)]
        for name in self.changed:
            (self.tree / name.parent).mkdir(parents=True, exist_ok=True)
            if (ROOT / name).exists():
                shutil.copy(ROOT / name, self.tree / name)
        apply_diffs(page, self.tree)

    def includes(self, command=()):
        """Hides folders of headers, those that `command` has."""
        found = [f"-I{self.tree}", f"-I{self.made}"]
        for argument in command:
            path = pathlib.Path(argument[2:])
            for root, copies in ((self.build.folder, self.made), (ROOT, self.tree)):
                if argument.startswith("-I/") and path.is_relative_to(root):
                    found.append(f"-I{copies / path.relative_to(root)}")
                    break
        return found

    def generate(self):
        done = set()
        for name in self.changed:
            if name.suffix == ".fbs":
                command, made = self.build.schema_compiler(ROOT / name)
                out = self.made / made.relative_to(self.build.folder)
                out.parent.mkdir(parents=True, exist_ok=True)
                run([str(out.parent) if a == str(made.parent) else self.in_overlay(a) for a in command], made.parent)
            if name.suffix != ".td":
                continue
            for command, made in self.build.generators(ROOT / name):
                if made in done:
                    continue
                done.add(made)
                out = self.made / made.relative_to(self.build.folder)
                out.parent.mkdir(parents=True, exist_ok=True)
                replaced = [str(out) if a == made.name else self.in_overlay(a) for a in command]
                at = replaced.index("-d")
                run([replaced[0], *self.includes(), *replaced[1:at]], made.parent)
            if not done:
                raise Fault(f"{name}: nothing is generated from it")

    def in_overlay(self, argument):
        path = pathlib.Path(argument)
        changed = path.is_absolute() and path.is_relative_to(ROOT) and path.relative_to(ROOT) in self.changed
        return str(self.tree / path.relative_to(ROOT)) if changed else argument

    def sources(self):
        """Changed .cpp files, and those in the folder of a changed table that include it."""
        found = {name for name in self.changed if name.suffix == ".cpp" and not is_test(name)} | set(self.also)
        for name in self.changed:
            if name.suffix == ".def":
                for source in (ROOT / name).parent.glob("*.cpp"):
                    if f'#include "{name}"' in source.read_text():
                        found.add(source.relative_to(ROOT))
        return sorted(found)

    def check_syntax(self, name):
        source = self.tree / name if name in self.changed else ROOT / name
        command = self.build.compiler(ROOT / name)
        at = next(i for i, a in enumerate(command) if a.startswith(("-I", "-D", "-isystem")))
        # No warnings: generated files have some, which the build suppresses.
        run([*command[:at], *self.includes(command), *command[at:], "-w", "-fsyntax-only", source], self.build.folder)


def is_test(name):
    return pathlib.Path(name).parts[0] == "test"


def check(page, build, given):
    """Yields the faults of a tutorial."""
    most = given.most
    counted = [
        name
        for name in changed_files(page)
        if not is_test(name) and pathlib.Path(name).parent.name not in given.but
    ]
    if not counted:
        yield "changes nothing"
        return
    if most is not None and len(counted) > most:
        yield f"changes {len(counted)} files, at most {most} are allowed: {', '.join(counted)}"
        return
    with tempfile.TemporaryDirectory() as folder:
        try:
            overlay = Overlay(page, build, pathlib.Path(folder), given.also)
            overlay.generate()
            with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
                list(pool.map(overlay.check_syntax, overlay.sources()))
        except Fault as fault:
            yield str(fault)


def build_really(pages, folder):
    if not folder.exists():
        subprocess.run(["git", "clone", "-q", ROOT, folder], check=True)
    for page in pages:
        apply_diffs(page, folder)
    for page in pages:
        for commands in blocks(page, "sh"):
            print(f"{page.name}:\n{commands}", end="", flush=True)
            subprocess.run(["bash", "-euo", "pipefail", "-c", commands], cwd=folder, check=True)


def main():
    parser = argparse.ArgumentParser(usage=__doc__.partition("usage: ")[2].partition("\n\n")[0])
    parser.add_argument("pages", nargs="+", type=lambda name: pathlib.Path(name).resolve())
    parser.add_argument("--check", type=pathlib.Path)
    parser.add_argument("--most", type=int)
    parser.add_argument("--but", action="append", default=[])
    parser.add_argument("--also", action="append", default=[], type=pathlib.Path)
    parser.add_argument("--build", type=pathlib.Path)
    given = parser.parse_args()
    if bool(given.check) == bool(given.build):
        parser.error("give --check or --build")
    if given.build:
        build_really(given.pages, given.build.resolve())
        return 0
    build = Build(given.check.resolve())
    faults = [f"{page.name}: {fault}" for page in given.pages for fault in check(page, build, given)]
    print("".join(fault + "\n" for fault in faults), end="")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
