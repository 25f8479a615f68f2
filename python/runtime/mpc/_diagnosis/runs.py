"""Runs of commands that have no C API: `mpc compare`, `mpc debug bisect` and `mpc profile`."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from typing import Any, Iterator, Mapping

import numpy as np

from mpc._arrays import on_host, suggest
from mpc._command import run_command
from mpc._compile import SWITCH, list_options, load_compiler, to_model, to_text
from mpc._errors import InvalidArgument


def to_flags(values: Mapping[str, Any]) -> list[str]:
    """Options of a command by name; None is left out, True is a switch."""
    return [
        f"--{name}" if value is True else f"--{name}={value}"
        for name, value in values.items()
        if value is not None and value is not False
    ]


def run_json(
    command: tuple[str, ...], model: Any, data: Any, flags: Mapping[str, Any],
    options: Mapping[str, Any],
) -> dict[str, Any]:
    """What a command with --json prints.

    Args:
        flags: Options of the command itself, as to_flags takes them.
        options: Keywords of mpc.compile.
    """
    load_compiler()
    arguments = to_flags(flags)
    known = list_options()
    for keyword, value in options.items():
        option = known.get(keyword)
        if option is None:
            raise TypeError(
                f"mpc.{command[-1]} has no option '{keyword}'"
                f"{suggest(keyword, [*known, *(flag.replace('-', '_') for flag in flags)])}"
            )
        if value is None or value is False:
            continue
        texts = to_text(option, value)
        arguments += [f"--{option.name}" if option.type == SWITCH else f"--{option.name}={text}"
                      for text in texts]
    with _as_file(model) as model_path, data_as_file(data) as data_path:
        shown = run_command(
            *command, model_path, f"--data={data_path}", "--json", *arguments, results=(0, 1)
        )
    content: dict[str, Any] = json.loads(shown)
    return content


@contextlib.contextmanager
def _as_file(model: Any) -> Iterator[str]:
    source = to_model(model)
    if isinstance(source, str):
        yield source
        return
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model.onnx")
        with open(path, "wb") as file:
            file.write(source)
        yield path


@contextlib.contextmanager
def data_as_file(data: Any) -> Iterator[str]:
    """The path of data that a command reads."""
    if isinstance(data, (str, os.PathLike)):
        yield os.fspath(data)
        return
    if not hasattr(data, "keys"):
        raise TypeError(f"data must be a path or a dict of arrays, not {type(data).__name__}")
    arrays = {name: on_host(f"input '{name}'", data[name], False) for name in data.keys()}
    for name, array in arrays.items():
        if array.dtype.kind not in "fiub":
            raise InvalidArgument(
                f"input '{name}' has the type {array.dtype}, which files of NumPy do not have; use "
                "array.astype(numpy.float32)"
            )
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "data.npz")
        np.savez(path, **arrays)  # type: ignore[arg-type]
        yield path
