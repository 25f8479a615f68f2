#!/usr/bin/env python3
"""Runs the code of a notebook, without Jupyter.

    PYTHONPATH=build/python python tools/docs/notebooks.py docs/notebooks/digits.ipynb [--update]

The folder of the notebook is the working folder, as in Jupyter. An exception ends the run. Cells with
the tag "figure" are skipped where matplotlib is missing. --update stores what the cells print, their
last values, and figures in the notebook; it needs matplotlib.
"""

import ast
import base64
import contextlib
import importlib.util
import io
import json
import os
import pathlib
import sys
import warnings

HAS_FIGURES = importlib.util.find_spec("matplotlib") is not None


def run_cell(source, names):
    """Runs the code of a cell; returns its last value if that is an expression."""
    tree = ast.parse(source)
    last = None
    if tree.body and isinstance(tree.body[-1], ast.Expr) and not source.rstrip().endswith(";"):
        last = ast.Expression(tree.body.pop().value)
    exec(compile(tree, "<cell>", "exec"), names)
    return eval(compile(last, "<cell>", "eval"), names) if last is not None else None


def take_figures():
    """All figures as PNG, and closes them."""
    if "matplotlib.pyplot" not in sys.modules:
        return []
    from matplotlib import pyplot

    images = []
    for number in pyplot.get_fignums():
        image = io.BytesIO()
        pyplot.figure(number).savefig(image, dpi=72)
        images.append(base64.b64encode(image.getvalue()).decode())
    pyplot.close("all")
    return images


def lines(text):
    return text.splitlines(keepends=True)


def outputs_of(printed, value, images, number):
    """In the form of nbformat 4."""
    outputs = []
    if printed:
        outputs.append({"name": "stdout", "output_type": "stream", "text": lines(printed)})
    if images:
        outputs += [
            {"data": {"image/png": image}, "metadata": {}, "output_type": "display_data"}
            for image in images
        ]
    elif value is not None:
        data = {"text/plain": lines(repr(value))}
        if hasattr(value, "_repr_html_"):
            data["text/html"] = lines(value._repr_html_())
        outputs.append({"data": data, "execution_count": number, "metadata": {},
                        "output_type": "execute_result"})
    return outputs


def read_cells(path):
    """The cells with code."""
    cells = json.loads(path.read_text())["cells"]
    return [cell for cell in cells if cell["cell_type"] == "code"]


def run_notebook(path, update):
    notebook = json.loads(path.read_text())
    names = {"__name__": "__main__"}
    number = 0
    with contextlib.chdir(path.parent):
        for cell in notebook["cells"]:
            if cell["cell_type"] != "code":
                continue
            if "figure" in cell["metadata"].get("tags", ()) and not HAS_FIGURES:
                continue
            number += 1
            printed = io.StringIO()
            try:
                with contextlib.redirect_stdout(printed):
                    value = run_cell("".join(cell["source"]), names)
            except Exception:
                print(f"{path.name}: cell {number} failed:\n{''.join(cell['source'])}", file=sys.stderr)
                raise
            cell["execution_count"] = number
            cell["outputs"] = outputs_of(printed.getvalue(), value, take_figures(), number)
    if update:
        path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False) + "\n")


def main():
    arguments = sys.argv[1:]
    update = "--update" in arguments
    paths = [pathlib.Path(argument) for argument in arguments if argument != "--update"]
    if not paths:
        sys.exit(__doc__)
    if update and not HAS_FIGURES:
        sys.exit("notebooks: --update needs matplotlib; use `pip install matplotlib`")
    if HAS_FIGURES:
        os.environ["MPLBACKEND"] = "agg"
    # Progress of libraries, and decisions that the text of the notebooks names.
    warnings.simplefilter("ignore")
    for path in paths:
        run_notebook(path.resolve(), update)


if __name__ == "__main__":
    main()
