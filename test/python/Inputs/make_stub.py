"""Writes python/runtime/mpc/_compile.pyi from the options of the compiler:

    PYTHONPATH=build/python build/python-venv/bin/python test/python/Inputs/make_stub.py
"""

import pathlib

import mpc
from mpc import _compile

TYPES = {
    _compile.TEXT: "str | float",
    _compile.SWITCH: "bool",
    _compile.INTEGER: "int",
    _compile.NUMBER: "float",
    _compile.TEXTS: "str | Sequence[str]",
    _compile.INTEGERS: "int | Sequence[int]",
    _compile.PAIRS: "Mapping[str, int]",
}
HEAD = '''# Made by test/python/Inputs/make_stub.py from the options of the compiler.
import os
import types
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from mpc._program import Program

TEXT: int
SWITCH: int
INTEGER: int
NUMBER: int
TEXTS: int
INTEGERS: int
PAIRS: int

class Option(NamedTuple):
    keyword: str
    name: str
    type: int
    metavar: str
    default: Any
    section: str
    help: str

def load_compiler() -> types.ModuleType: ...
def list_options() -> dict[str, Option]: ...
def to_text(option: Option, value: Any) -> list[str]: ...
def to_model(model: Any) -> str | bytes: ...
def run(
    model: Any,
    output: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str] | None,
    keywords: Mapping[str, Any],
    stacklevel: int,
) -> Program: ...
def make_compile() -> Callable[..., Program]: ...
def compile(
    model: Any,
    /,
    *,
    output: str | os.PathLike[str] | None = ...,
    folder: str | os.PathLike[str] | None = ...,
'''

lines = [HEAD]
for option in _compile.list_options().values():
    # A policy is a file.
    annotation = "str | os.PathLike[str]" if option.name == "policy" else TYPES[option.type]
    lines.append(f"    {option.keyword}: {annotation} | None = ...,\n")
lines.append(") -> Program: ...\n")
path = pathlib.Path(mpc.__file__).resolve().parent / "_compile.pyi"
path.write_text("".join(lines))
