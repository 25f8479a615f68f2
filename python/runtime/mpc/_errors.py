"""The exceptions of mpc, by what the caller can do about them."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from mpc._runtime import StepInfo


class Error(Exception):
    """The base class of all errors of mpc."""


class InvalidArgument(Error, ValueError):
    """An argument is wrong: fix the call."""


class Incompatible(Error):
    """The program or checkpoint is for another machine, program or version: compile again."""


class OutOfMemory(Error, MemoryError):
    """There is not enough memory: use a smaller batch, or free something."""


class Unavailable(Error):
    """There is no such device or library, or the program has no code for it."""


class DeviceLost(Error):
    """The device failed: destroy all objects that use it."""


class Internal(Error):
    """A bug in mpc: please report it."""


class IoError(Error, OSError):
    """A file cannot be read or written: check path, permissions and disk space."""


class Damaged(Error):
    """A file is incomplete or has changed: use another copy."""


class RankLost(Error):
    """Another process of the run is gone or does not answer: start all again, from a checkpoint."""


class NumericError(Error, ArithmeticError):
    """Training diverged: a loss, a gradient or a weight is not finite.

    The message names where the first such value appears. The step changed no weight; `info`
    describes it.
    """

    info: StepInfo | None = None


class CompileMessage(NamedTuple):
    """One message about a model."""

    text: str
    node: str = ""  #: The ONNX node, or "" if the message is about none.
    op: str = ""  #: The type of the node ("Gemm"), or a kind of object ("initializer").
    details: tuple[str, ...] = ()  #: Further lines, such as where a value comes from.
    rule: str = ""  #: What is wrong, as an id that stays the same: "unsupported-op".

    def __str__(self) -> str:
        subject = ""
        if self.op[:1].islower():
            subject = f"{self.op} '{self.node}': "
        elif self.node:
            subject = f"node '{self.node}' ({self.op}): " if self.op else f"node '{self.node}': "
        return "\n  ".join((subject + self.text, *self.details))


class CompileError(InvalidArgument):
    """The model cannot be compiled, or an option does not fit it.

    `errors` has a `CompileMessage` for each problem.
    """

    def __init__(self, message: str, errors: tuple[CompileMessage, ...] = ()) -> None:
        super().__init__(message)
        self.errors = errors


class CompileNote(UserWarning):
    """A decision of the compiler, such as the loss that it chose; see `Program.notes`."""


class TrainNote(UserWarning):
    """What an mpc.Trainer says about data, checkpoints and steps."""


# In the order of mpc_code_t (status.h).
_BY_CODE: tuple[type[Error], ...] = (
    Internal,
    InvalidArgument,
    Incompatible,
    OutOfMemory,
    Unavailable,
    DeviceLost,
    Internal,
    IoError,
    Damaged,
    NumericError,
    RankLost,
)


def make_error(code: int, message: str) -> Error:
    """The exception for a status of the C API."""
    return (_BY_CODE[code] if code < len(_BY_CODE) else Internal)(message)


# The exit status of the command; see docs/guide/command-line.md.
_BY_EXIT: dict[int, type[Error]] = {
    1: Internal,
    2: InvalidArgument,
    3: InvalidArgument,
    4: IoError,
    5: Damaged,
    6: NumericError,
    7: OutOfMemory,
    8: Unavailable,
    9: RankLost,
}


def error_of_exit(status: int, message: str) -> Error:
    """The exception for a failed run of the command."""
    return _BY_EXIT.get(status, Error)(message.removeprefix("mpc: ").removeprefix("error: "))


def user_level() -> int:
    """The `stacklevel` of a warning about the call of the user, for a caller in this package."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] in (
        "mpc", "contextlib"
    ):
        frame, level = frame.f_back, level + 1
    return level
