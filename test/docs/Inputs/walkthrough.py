"""walkthrough.py MPC [--update] [--page=FILE]: checks excerpts of IR in docs/walkthrough.md against the output of MPC.

The page has the model, whose numbers `{...}` are filled in here, and the command that
compiles it. A comment above each excerpt says where it is from:

    <!-- ir: 3-precision @step "first text" "last text" -->

that is, a stage, a function (or none: the module), and what the first and the last
line contain. Attributes in HIDDEN, which would fill the page, are left out. --update
writes the excerpts anew instead of comparing them.
"""
import argparse
import difflib
import math
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs/walkthrough.md"
MODEL = re.compile(r"```\n(<ir_version.*?)```", re.S)
COMMAND = re.compile(r"^mpc compile (.*)$", re.M)
EXCERPT = re.compile(r"<!-- ir: (.*?) -->\n```mlir\n(.*?)```", re.S)
HIDDEN = re.compile(
    r'(?P<before>, )?(?:mpc\.precision\.\w+ = "[^"]*"|values = \[[^\]]*\])(?(before)|(?:, )?)'
)


def fill(model):
    """Fills each `{...}` with as many numbers as its shape needs."""

    def numbers(found):
        count = math.prod(int(extent) for extent in found[1].split(","))
        return found[0][: -len("{...}")] + "{" + ", ".join(str(i % 7 - 3) for i in range(count)) + "}"

    return re.sub(r"float\[([\d, ]+)\] \w+ = \{\.\.\.\}", numbers, model)


def clean(line):
    return HIDDEN.sub("", line).replace(" {}", "").rstrip()


def body_of(lines, function):
    """The lines of a function, or of the module outside of all functions."""
    if function:
        begin = next(i for i, line in enumerate(lines) if re.match(rf"  [\w.]+ (private )?{function}\b", line))
        end = next(i for i in range(begin, len(lines)) if lines[i].startswith("  }"))
        return lines[begin : end + 1]
    return [line for line in lines if re.match(r"  \S", line)]


def excerpt(folder, selector):
    stage, *words = shlex.split(selector)
    function = words.pop(0) if words[0].startswith("@") else None
    lines = body_of((folder / f"{stage}.mlir").read_text().split("\n"), function)
    first, last = words[0], words[-1]
    begin = next((i for i, line in enumerate(lines) if first in line), None)
    if begin is None:
        raise SystemExit(f"walkthrough: error: no line with '{first}' in {stage} {function or ''}")
    end = next((i for i in range(begin, len(lines)) if last in lines[i]), None)
    if end is None:
        raise SystemExit(f"walkthrough: error: no line with '{last}' in {stage} {function or ''}")
    lines = [clean(line) for line in lines[begin : end + 1]]
    indent = min(len(line) - len(line.lstrip()) for line in lines)
    return "".join(line[indent:] + "\n" for line in lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("mpc")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--page", type=pathlib.Path, default=PAGE)
    options = parser.parse_args()
    text = options.page.read_text()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        arguments = shlex.split(COMMAND.search(text)[1])
        (folder / arguments[0]).write_text(fill(MODEL.search(text)[1]))
        subprocess.run([pathlib.Path(options.mpc).resolve(), "compile", *arguments], cwd=folder, check=True,
                       stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        written = EXCERPT.sub(
            lambda found: f"<!-- ir: {found[1]} -->\n```mlir\n{excerpt(folder / 'stages', found[1])}```", text)
    assert EXCERPT.search(text), "the page has no excerpts"
    if options.update:
        options.page.write_text(written)
        return 0
    difference = difflib.unified_diff(text.split("\n"), written.split("\n"), "in the page", "by mpc", lineterm="", n=1)
    for line in difference:
        print(line)
    return text != written


if __name__ == "__main__":
    sys.exit(main())
