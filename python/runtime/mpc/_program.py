"""Programs: compiled models."""

from __future__ import annotations

import os
import secrets
import shutil
from typing import Any, BinaryIO, NamedTuple, Self

import numpy as np

from mpc import _runtime
from mpc._arrays import DTYPES, suggest
from mpc._errors import InvalidArgument, IoError
from mpc._report import Report

# In the order of mpc_state_role_t (program.h).
ROLES = (
    *("unknown", "parameter", "statistic", "constant", "optimizer", "first_moment"),
    *("second_moment", "gradient_sum", "average", "compensation", "pending"),
    *("pending_control", "fp8_scales", "fp8_history", "fp8_amax", "working_copy", "derived"),
    *("control", "step_count", "micro_step", "average_count", "total_steps", "learning_rate"),
    *("random_seed", "loss_sum", "loss_divisor", "loss_scale", "loss_scale_streak"),
    *("optimizer_number", "fault_place", "fault_value", "residual", "rank_seed", "rank_gradients"),
)


class TensorSpec(NamedTuple):
    """An input or output of a program."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    batch_dim: int | None  #: The dimension that counts samples, or None.


class StateSpec(NamedTuple):
    """A tensor that a program keeps between steps, by its ONNX name."""

    name: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    role: str  #: "parameter", "statistic", "first_moment", "learning_rate", ...
    weight: str | None  #: The weight that a moment or average belongs to, or None.


class Program:
    """A compiled model. Programs are immutable; sessions and threads may share one.

    `mpc.compile` makes a program, `Program.load` reads one that `save` or `mpc compile` wrote.

    Attributes:
        notes: Decisions of the compiler, such as the loss that it chose. Empty for a loaded
            program.
    """

    __slots__ = ("_handle", "_package", "_path", "notes", "_names")

    _handle: _runtime.Program
    _package: bytes | None
    _path: str | None
    notes: tuple[str, ...]
    _names: dict[str, str]  # from_torch: the names of states by those of the module

    def __init__(self, package: bytes) -> None:
        """Takes the bytes of a package.

        Raises:
            Damaged: The bytes are not a complete package.
            Incompatible: This version of mpc, or this CPU, cannot run it.
        """
        if not isinstance(package, bytes):
            raise TypeError(
                f"mpc.Program takes the bytes of a package, not {type(package).__name__}; use "
                "mpc.Program.load(path) for a file"
            )
        self._handle = _runtime.Program.from_bytes(package)
        self._package = package
        self._path = None
        self.notes = ()
        self._names = {}

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Reads and validates a package; runs none of its code.

        Raises:
            IoError: The file cannot be read.
            Damaged: The file is not a complete package.
            Incompatible: This version of mpc, or this CPU, cannot run it.
        """
        program = cls.__new__(cls)
        program._handle = _runtime.Program.load(os.fspath(path))
        program._package = None
        program._path = os.path.abspath(path)
        program.notes = ()
        program._names = {}
        return program

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the package, completely or not at all. `mpc train` and `Program.load` read it.

        A loaded program is copied from its file, which must still be there.

        Raises:
            IoError: The file cannot be written.
        """
        part = f"{os.fspath(path)}.{secrets.token_hex(4)}.part"
        try:
            with open(part, "xb") as file:
                try:
                    self._write(file)
                    os.replace(part, path)
                except BaseException:
                    os.unlink(part)
                    raise
        except OSError as error:
            raise IoError(f"cannot write '{os.fspath(path)}': {error.strerror}") from error

    def _write(self, file: BinaryIO) -> None:
        if self._path is None:
            assert self._package is not None
            file.write(self._package)
        else:
            with open(self._path, "rb") as source:
                shutil.copyfileobj(source, file)
        file.flush()

    def __reduce__(self) -> Any:
        """Other processes load the file, or get the package."""
        if self._path is not None:
            return Program.load, (self._path,)
        return Program, (self._package,)

    def _entry(self, entry: str) -> str:
        if not isinstance(entry, str):
            raise TypeError(f"an entry point is named by a string, not {type(entry).__name__}")
        if entry not in self.entries and not self._handle.has_entry(entry):
            raise InvalidArgument(
                f"the program has no entry point '{entry}'{suggest(entry, self.entries)}"
            )
        return entry

    @property
    def entries(self) -> tuple[str, ...]:
        """The functions of the program, such as "step", "evaluate" and "predict"."""
        known = (
            *("step", "accumulate", "apply", "forward", "backward", "evaluate", "predict"),
            *("initialize", "observe"),
        )
        return tuple(name for name in known if self._handle.has_entry(name))

    def _training_entry(self) -> str:
        known = ("accumulate", "forward")
        return next((name for name in known if self._handle.has_entry(name)), "step")

    def inputs(self, entry: str = "step") -> tuple[TensorSpec, ...]:
        """The inputs of an entry point, in their order; "step" is what `Session.step` takes.

        >>> [spec.name for spec in program.inputs()]
        ['images', 'labels']
        """
        entry = self._training_entry() if entry == "step" else entry
        return tuple(_spec(*row) for row in self._handle.inputs(self._entry(entry)))

    def outputs(self, entry: str = "predict") -> tuple[TensorSpec, ...]:
        """The outputs of an entry point, in their order.

        >>> program.outputs()[0].shape
        (64, 10)
        """
        return tuple(_spec(*row) for row in self._handle.outputs(self._entry(entry)))

    def batch_sizes(self, entry: str = "step") -> tuple[int, ...]:
        """The batch sizes that the program was compiled for.

        >>> program.batch_sizes()
        (64,)
        """
        entry = self._training_entry() if entry == "step" else entry
        return tuple(self._handle.batch_sizes(self._entry(entry)))

    @property
    def states(self) -> tuple[StateSpec, ...]:
        """All tensors that a session of the program keeps.

        >>> [spec.name for spec in program.states if spec.role == "parameter"][:2]
        ['fc1.weight', 'fc1.bias']
        """
        return tuple(
            StateSpec(name, DTYPES[dtype], shape, ROLES[role], weight)
            for name, dtype, shape, role, weight in self._handle.states()
        )

    @property
    def options(self) -> dict[str, str]:
        """The options that the program records, as text, with `_` in their names.

        >>> program.options["precision"]
        'bf16'
        """
        return {name.replace("-", "_"): text for name, text in self._handle.options().items()}

    @property
    def memory(self) -> dict[str, int]:
        """The memory of a session in bytes: "states", and "arena" for intermediate results."""
        return self._handle.memory()

    def report(self, device: str | None = None) -> Report:
        """The format of each op and the rule that decided it, for a kind of device ("cuda")."""
        if device is not None and not isinstance(device, str):
            raise TypeError(f"a device is named by a string, not {type(device).__name__}")
        text = self._handle.report(device)
        if text is None:
            raise InvalidArgument(f"the program has no code for the device '{device}'")
        return Report(text)

    def __repr__(self) -> str:
        entry = self._training_entry()
        entry = entry if self._handle.has_entry(entry) else "predict"
        inputs = ", ".join(f"{s.name}: {s.dtype}{list(s.shape)}" for s in self.inputs(entry))
        return f"<mpc.Program {entry}({inputs})>"


def _spec(name: str, dtype: str, shape: tuple[int, ...], batch_dim: int) -> TensorSpec:
    return TensorSpec(name, DTYPES[dtype], shape, None if batch_dim < 0 else batch_dim)
