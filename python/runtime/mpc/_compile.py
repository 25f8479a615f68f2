"""mpc.compile, whose keywords are the options of the compiler."""

from __future__ import annotations

import functools
import inspect
import os
import re
import types
import warnings
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from mpc._arrays import suggest
from mpc._errors import (
    CompileError,
    CompileMessage,
    CompileNote,
    InvalidArgument,
    make_error,
)
from mpc._policy import read_policy
from mpc._program import Program

# In the order of mpc_option_type_t (compiler.h).
TEXT, SWITCH, INTEGER, NUMBER, TEXTS, INTEGERS, PAIRS = range(7)
_ANNOTATIONS = {
    TEXT: str,
    SWITCH: bool,
    INTEGER: int,
    NUMBER: float,
    TEXTS: str | Sequence[str],
    INTEGERS: int | Sequence[int],
    PAIRS: Mapping[str, int],
}
# In the order of mpc_compile_message_kind_t.
NOTE, WARNING, ERROR, DETAIL = range(4)


class Option(NamedTuple):
    """An option of `mpc compile`, as a keyword."""

    keyword: str
    name: str
    type: int
    metavar: str
    default: Any
    section: str
    help: str


def load_compiler() -> types.ModuleType:
    """The extension module of mpc-compiler."""
    try:
        from mpc_compiler import _compiler as compiler
    except ModuleNotFoundError as error:
        if error.name != "mpc_compiler":
            raise
        raise ImportError(
            "mpc.compile needs the compiler, which is not installed; use `pip install mpc-compiler`"
        ) from None
    module: types.ModuleType = compiler
    return module


@functools.cache
def list_options() -> dict[str, Option]:
    """The options by keyword, in the order of `mpc compile --help-all`."""
    result = {}
    for name, type, metavar, default, section, help in load_compiler().options():
        keyword = name.replace("-", "_")
        value = _default(type, default)
        result[keyword] = Option(keyword, name, type, metavar, value, section, _in_keywords(help))
    return result


def _default(type: int, text: str) -> Any:
    if text == "":
        return None
    if type == SWITCH:
        return text == "yes"
    if type == TEXTS:
        return tuple(text.split(","))
    if type in (INTEGER, NUMBER):
        number = float(text)
        # Hyper-parameters that take the default of their optimizer are -1.
        return None if number == -1 else int(number) if type == INTEGER else number
    return text


def _in_keywords(text: str) -> str:
    """Messages call an option "option 'eval-batch'"; here it is the keyword eval_batch."""
    return re.sub(
        r"option '([a-z0-9-]+)'(=?)",
        lambda match: f"`{match[1].replace('-', '_')}{match[2]}`",
        text,
    )


def to_text(option: Option, value: Any) -> list[str]:
    """The values for mpc_compile_options_set, one for each call."""
    keyword, type = option.keyword, option.type

    def wrong(expected: str) -> TypeError:
        return TypeError(f"{keyword} must be {expected}, but is {value!r}")

    def integer(item: Any) -> str:
        if isinstance(item, bool) or not hasattr(item, "__index__"):
            raise wrong(_EXPECTED[type])
        return str(int(item))

    is_sequence = isinstance(value, (list, tuple))
    if type == SWITCH:
        if not isinstance(value, bool):
            raise wrong("True or False")
        return ["yes" if value else "no"]
    if type == INTEGER:
        return [integer(value)]
    if type == NUMBER:
        if isinstance(value, (bool, str)) or not hasattr(value, "__float__"):
            raise wrong("a number")
        # A warm-up of 3 is a count, and 3.0 is not.
        return [str(int(value)) if hasattr(value, "__index__") else repr(float(value))]
    if type == INTEGERS:
        return [",".join(integer(item) for item in (value if is_sequence else [value]))]
    if type == PAIRS:
        if not isinstance(value, Mapping):
            raise wrong("a dict of names and integers")
        separator = ":" if ":" in option.metavar else "="
        return [f"{name}{separator}{integer(number)}" for name, number in value.items()]
    if type == TEXTS:
        items = list(value) if is_sequence else [value]
        if not all(isinstance(item, (str, os.PathLike)) for item in items):
            raise wrong("a string or a list of strings")
        return [os.fspath(item) for item in items]
    if is_sequence:
        return [",".join(str(item) for item in value)]
    if isinstance(value, bool) or not isinstance(value, (str, int, float, os.PathLike)):
        raise wrong("a string")
    return [str(value)]


_EXPECTED = {INTEGER: "an integer", INTEGERS: "an integer or a list of integers",
             PAIRS: "a dict of names and integers"}


def to_model(model: Any) -> str | bytes:
    """A path, or the bytes of a model."""
    if isinstance(model, (str, os.PathLike)):
        return os.fspath(model)
    if isinstance(model, (bytes, bytearray, memoryview)):
        return bytes(model)
    if hasattr(model, "SerializeToString"):
        try:
            data: bytes = model.SerializeToString()
            return data
        except ValueError as error:  # protobuf's limit of 2 GiB
            raise InvalidArgument(
                f"the model cannot be passed in memory ({error}); save it with external data and "
                "pass the path"
            ) from error
    if hasattr(model, "state_dict"):
        raise TypeError("a PyTorch module needs example inputs: use mpc.from_torch(module, inputs)")
    raise TypeError(
        f"model must be a path, the bytes of an ONNX file or an onnx.ModelProto, "
        f"not {type(model).__name__}"
    )


def gather(rows: Sequence[tuple[int, str, str, str, str]], kind: int) -> tuple[CompileMessage, ...]:
    """The messages of a kind, with their details."""
    result: list[CompileMessage] = []
    last = None
    for row_kind, node, op, text, rule in rows:
        text = _in_keywords(text)
        if row_kind == kind:
            result.append(CompileMessage(text, node, op, rule=rule))
        elif row_kind == DETAIL and last == kind and result:
            detail = str(CompileMessage(text, node, op))
            result[-1] = result[-1]._replace(details=(*result[-1].details, detail))
        if row_kind != DETAIL:
            last = row_kind
    return tuple(result)


def run(
    model: Any,
    output: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str] | None,
    keywords: Mapping[str, Any],
    stacklevel: int,
) -> Program:
    compiler = load_compiler()
    known = list_options()
    given: list[tuple[str, str]] = []
    if keywords.get("policy") is not None:
        # Options take precedence over the file.
        chosen = {name: value for name, value in keywords.items() if value is not None}
        keywords = {**chosen, **read_policy(chosen.pop("policy")), **chosen}
    for keyword, value in keywords.items():
        option = known.get(keyword)
        if option is None:
            raise TypeError(
                f"mpc.compile has no option '{keyword}'{suggest(keyword, list(known))}"
            )
        if value is not None:
            given += [(option.name, text) for text in to_text(option, value)]
    code, text, rows, package = compiler.compile(
        to_model(model),
        None if folder is None else os.fspath(folder),
        None if output is None else os.fspath(output),
        given,
    )
    text = _in_keywords(text)
    if code:
        if code != 1:  # MPC_INVALID_ARGUMENT
            raise make_error(code, text)
        raise CompileError(text, gather(rows, ERROR) or (CompileMessage(text),))
    for message in gather(rows, WARNING):
        warnings.warn(str(message), CompileNote, stacklevel=stacklevel)
    notes = tuple(message.text for message in gather(rows, NOTE))
    for note in notes:
        warnings.warn(note, CompileNote, stacklevel=stacklevel)
    program = Program(package) if output is None else Program.load(output)
    program.notes = notes
    return program


def compile(
    model: Any,
    /,
    *,
    output: str | os.PathLike[str] | None = None,
    folder: str | os.PathLike[str] | None = None,
    **options: Any,
) -> Program:
    """Compiles an ONNX model into a training program, as `mpc compile` does.

    Decisions that the options leave open are warnings of the class `mpc.CompileNote`, and are in
    `Program.notes`.

    Args:
        model: A path, the bytes of an ONNX file, or an `onnx.ModelProto`.
        output: A path to write the package to, which needs less memory than keeping it.
        folder: For a model in memory: where the files with its external data are.
        options: The options of `mpc compile`, with `_` in their names. None is the default.
            Options with several values take a list, those of the form NAME=N a dict.

    Raises:
        CompileError: The model cannot be compiled, or an option does not fit it.
        TypeError: There is no such option, or its value is of another type.
        IoError: A file cannot be read or written.
        ImportError: mpc-compiler is not installed.
    """
    return run(model, output, folder, options, stacklevel=3)


def make_compile() -> Callable[..., Program]:
    """`compile` with the options in its signature and documentation, if mpc_compiler is there."""
    try:
        options = list_options()
    except ImportError:
        return compile
    signature = inspect.signature(compile)
    parameters = [p for p in signature.parameters.values() if p.kind is not p.VAR_KEYWORD]
    parameters += [
        inspect.Parameter(
            option.keyword,
            inspect.Parameter.KEYWORD_ONLY,
            default=option.default,
            annotation=_ANNOTATIONS[option.type],
        )
        for option in options.values()
    ]
    compile.__signature__ = signature.replace(parameters=parameters)  # type: ignore[attr-defined]
    lines = []
    section = None
    for option in options.values():
        if option.section != section:
            section = option.section
            lines += ["", f"    {section}:"]
        lines.append(f"        {option.keyword}: {option.help}")
    compile.__doc__ = f"{compile.__doc__}\n" + "\n".join(lines) + "\n"
    compile.__module__ = "mpc"
    return compile
