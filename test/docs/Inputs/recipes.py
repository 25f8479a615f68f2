"""recipes.py MPC REPOSITORY [--python=EXE] [--only=SECTION] [--keep-models=FOLDER]

Runs the commands of docs/guide/recipes.md, a section at a time, in a folder of its own
below the current one. Blocks of Python that begin with "# NAME.py" are written to that
file. If --python is not given, `python model.py` copies the model that
test/docs/recipes has for the section; --keep-models=test/docs/recipes, with --python,
writes these (it needs PyTorch, onnxscript and onnx). Comments of the page:

<!-- copy: PATHS -->     copies files of the repository to the folder
<!-- check: X >= Y -->   the last "X NUMBER" that the block before printed is at least Y
<!-- check: REGEX -->    what the block printed has this somewhere
"""
import argparse
import os
import pathlib
import re
import shutil
import subprocess
import sys

parser = argparse.ArgumentParser()
parser.add_argument("mpc", type=pathlib.Path)
parser.add_argument("repository", type=pathlib.Path)
parser.add_argument("--python")
parser.add_argument("--only", default="")
parser.add_argument("--keep-models", type=pathlib.Path)
args = parser.parse_args()
STORED = args.repository / "test/docs/recipes"
# Puts the weights into the file, and removes where in the source each node comes from.
STORE = """
import onnx, sys
model = onnx.load(sys.argv[1])
for node in model.graph.node:
    node.ClearField("metadata_props")
    node.ClearField("doc_string")
onnx.save(model, sys.argv[2])
"""


def stored_model(title):
    return title.lower().replace(" ", "-") + ".onnx"


def commands_in(folder):
    """A folder for PATH with `mpc`, and `python` as the page means it."""
    tools = folder / "tools"
    tools.mkdir()
    (tools / "mpc").symlink_to(args.mpc.resolve())
    python = tools / "python"
    stored = STORED / stored_model(folder.name)
    model = f'exec "{args.python}" "$@"' if args.python else f'exec cp "{stored}" model.onnx'
    python.write_text(
        f'#!/bin/sh\nif [ "$1" = model.py ]; then {model}; fi\nexec "{sys.executable}" "$@"\n'
    )
    python.chmod(0o755)
    return tools


def check(wanted, output, title):
    name, _, least = wanted.partition(" >= ")
    if least:
        found = re.findall(re.escape(name) + r"[: ]+([0-9.]+)", output)
        assert found and float(found[-1]) >= float(least), (title, wanted, output)
    else:
        assert re.search(wanted.replace("\\n", "\n"), output, re.MULTILINE), (title, wanted, output)


def run(title, text):
    folder = pathlib.Path(title.replace(" ", "-")).resolve()
    folder.mkdir()
    environment = dict(os.environ, PATH=f"{commands_in(folder)}:{os.environ['PATH']}")
    output = ""
    parts = re.findall(r"```(\w+)\n(.*?)```|<!-- (copy|check): (.*?) -->", text, re.DOTALL)
    for language, code, order, value in parts:
        if order == "copy":
            for path in value.split():
                shutil.copy(args.repository / path, folder)
        elif order == "check":
            check(value, output, title)
        elif language == "python":
            (folder / re.match(r"# (\S+\.py)\n", code)[1]).write_text(code)
        elif language == "sh":
            done = subprocess.run(["bash", "-ec", code], cwd=folder, env=environment, text=True,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
            output = done.stdout
            assert done.returncode == 0, (title, output)
    if args.keep_models and (folder / "model.onnx").exists():
        place = args.keep_models / stored_model(folder.name)
        subprocess.run([args.python, "-c", STORE, folder / "model.onnx", place], check=True)
    print(f"{title}: done")


page = (args.repository / "docs/guide/recipes.md").read_text()
for section in page.split("\n## ")[1:]:
    title, _, text = section.partition("\n")
    if args.only in ("", title):
        run(title, text)
