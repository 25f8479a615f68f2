"""Arrays in other forms than the C API borrows: converted if nothing is lost, else refused."""

from __future__ import annotations

import difflib
from typing import Any, Mapping, Sequence

import ml_dtypes
import numpy as np

from mpc._errors import InvalidArgument

#: NumPy's types by the names of mpc.
DTYPES: dict[str, np.dtype[Any]] = {
    "f32": np.dtype(np.float32),
    "f16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "f64": np.dtype(np.float64),
    "i64": np.dtype(np.int64),
    "i32": np.dtype(np.int32),
    "u8": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
    "f8e4m3": np.dtype(ml_dtypes.float8_e4m3fn),
    "f8e5m2": np.dtype(ml_dtypes.float8_e5m2),
}


class Copies:
    """Counts the arrays that were copied on their way into a program, for tests."""

    count = 0


def suggest(name: str, known: Sequence[str]) -> str:
    """`; did you mean 'labels'?`, or the known names."""
    near = difflib.get_close_matches(name, known, n=3)
    if near:
        return "; did you mean " + " or ".join(f"'{word}'" for word in near) + "?"
    return "; known are " + ", ".join(f"'{word}'" for word in known)


def by_order(batch: Any, names: list[str]) -> list[Any]:
    """The arrays of a batch in the order of the inputs.

    Entries of a mapping that are no inputs are ignored if there are more entries than inputs:
    `predict` takes the batches of `step`.
    """
    if isinstance(batch, Mapping) or hasattr(batch, "keys"):
        missing = [name for name in names if name not in batch]
        if missing:
            unused = [str(key) for key in batch.keys() if key not in names]
            hint = suggest(missing[0], unused) if unused else ""
            raise InvalidArgument(f"the batch lacks the input '{missing[0]}'{hint}")
        return [batch[name] for name in names]
    if isinstance(batch, (list, tuple)):
        if len(batch) != len(names):
            raise InvalidArgument(
                f"expected {len(names)} arrays, for the inputs {', '.join(names)}, but the batch "
                f"has {len(batch)}"
            )
        return list(batch)
    if len(names) != 1:
        raise InvalidArgument(
            f"expected arrays for {len(names)} inputs ({', '.join(names)}) as a dict or a "
            f"sequence, but the batch is of type {type(batch).__name__}"
        )
    return [batch]


def loses_nothing(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether `target` holds each value of `source`, and is the same kind of number."""
    if source.kind in "iu":
        return target.kind == "i" and np.can_cast(source, target, "safe")
    is_float = source.kind == "f" or source in (DTYPES["bf16"],)
    return is_float and target.kind == "f" and np.can_cast(source, target, "safe")


def on_host(subject: str, array: Any, writable: bool) -> np.ndarray[Any, Any]:
    """`array` as NumPy's, without a copy."""
    if isinstance(array, np.ndarray):
        return array
    if getattr(array, "requires_grad", False):
        raise InvalidArgument(f"{subject} requires a gradient; use array.detach()")
    device = getattr(array, "device", None)
    if device is not None and str(device).partition(":")[0] not in ("cpu", "TFRT_CPU_0"):
        raise InvalidArgument(
            f"{subject} is on the device '{device}'; copy it to the host first, as array.cpu() does"
        )
    if isinstance(array, (list, tuple, int, float)) or not (
        hasattr(array, "__dlpack__") or hasattr(array, "__array__") or hasattr(array, "__buffer__")
        or isinstance(array, (bytes, bytearray, memoryview))
    ):
        raise InvalidArgument(
            f"{subject} is of type {type(array).__name__}, not an array; use numpy.asarray(...)"
        )
    try:
        return np.from_dlpack(array)
    except (AttributeError, TypeError, ValueError, BufferError, RuntimeError):
        pass
    try:
        return np.asarray(array, copy=None if not writable else False)
    except (TypeError, ValueError, RuntimeError) as error:
        raise InvalidArgument(f"{subject} cannot be read as an array: {error}") from error


def fit(kind: str, name: str, array: Any, dtype: str, writable: bool, copy: bool) -> Any:
    """What the C API borrows instead of `array`; raises an error that says what to do."""
    subject = f"{kind} '{name}'"
    expected = DTYPES[dtype]
    found = getattr(array, "dtype", None)
    if type(found).__module__ == "torch" and str(found) != f"torch.{expected.name}":
        # NumPy has no bf16 to look at, and torch's own advice is better.
        if not (expected.kind == "i" and str(found) in ("torch.int32", "torch.uint8")):
            raise InvalidArgument(
                f"{subject} has the type {found}, but the program takes {dtype}; "
                f"use array.to(torch.{expected.name})"
            )
    host = on_host(subject, array, writable)
    if host.dtype != expected:
        if writable or not loses_nothing(host.dtype, expected):
            raise InvalidArgument(
                f"{subject} has the type {host.dtype}, but the program takes {dtype}; "
                f"use array.astype({_spelling(expected)})"
            )
        Copies.count += 1
        host = host.astype(expected)
    if writable and not host.flags.writeable:
        raise InvalidArgument(f"{subject} is read-only; pass an array that can be written")
    if not host.flags.c_contiguous:
        if writable or not copy:
            raise InvalidArgument(
                f"{subject} is not contiguous; use numpy.ascontiguousarray(array)"
                + ("" if writable else ", or mpc.Session(..., copy=True)")
            )
        Copies.count += 1
        host = np.ascontiguousarray(host)
    return host.view(np.uint16) if dtype == "bf16" else host


def _spelling(dtype: np.dtype[Any]) -> str:
    module = "ml_dtypes" if dtype.kind == "V" else "numpy"
    return f"{module}.{dtype.name}"
