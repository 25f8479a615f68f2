"""mpc.profile."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable

from mpc._diagnosis.records import new_axes, to_dataframe, to_html, write_text
from mpc._errors import InvalidArgument
from mpc._session import Batch, Session

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# In the order of mpc_profile_kind_t (profile.h).
_KINDS = ("kernel", "generated", "move", "inputs", "dispatch")
# Instructions whose times a figure shows.
_SHOWN = 15


@dataclass(slots=True, frozen=True)
class InstructionTime:
    """The time of an instruction, or of a part of all calls.

    Attributes:
        kind: "kernel" (of the library), "generated" (compiled by mpc), "move", "inputs" (copying
            them) or "dispatch" (the time between instructions).
        entry: "step"; "" for parts of all calls.
        nodes: The ONNX nodes: "fc1 and 3 more".
        kernel: "matmul"; the symbol of a generated function.
        implementation: "brg:avx512_core_bf16"; "" if generated.
        dtype: The type of the first operand: "bf16"; "" for parts of all calls.
        calls: How often it ran.
        seconds: Wall-clock time of all runs.
        min_seconds: That of the fastest run.
        bytes: The size of all operands of one run; 0 if unknown.
        flops: Floating-point operations of one run; 0 if unknown.
        share: Of the time of all calls.
    """

    kind: str
    entry: str
    nodes: str
    kernel: str
    implementation: str
    dtype: str
    calls: int
    seconds: float
    min_seconds: float
    bytes: int
    flops: int
    share: float


@dataclass(slots=True, frozen=True, repr=False)
class Profile:
    """The result of mpc.profile.

    Attributes:
        calls: Steps or other calls that were measured.
        seconds: Their wall-clock time.
        instructions: Those that ran, the longest time first.
        trace: A timeline of the last calls as JSON, which ui.perfetto.dev shows.
    """

    calls: int
    seconds: float
    instructions: list[InstructionTime]
    trace: str

    def to_dataframe(self) -> pandas.DataFrame:
        """`instructions` as a pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        return to_dataframe(self.instructions)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws the instructions that take the most time.

        Args:
            axes: Where to draw; None: in a new figure.

        Raises:
            ImportError: matplotlib is not installed.
        """
        shown = self.instructions[:_SHOWN][::-1]
        axes = new_axes(axes, 1 + 0.25 * len(shown))
        names = [f"{one.kernel}: {one.nodes}" if one.nodes else one.kernel for one in shown]
        axes.barh(range(len(shown)), [1e6 * one.seconds / self.calls for one in shown])
        axes.set_yticks(range(len(shown)), names)
        axes.set_xlabel("microseconds per call")
        axes.set_title(f"{1e6 * self.seconds / self.calls:.0f} microseconds per call")
        return axes

    def save_trace(self, path: str | os.PathLike[str]) -> None:
        """Writes the timeline to a file.

        Raises:
            IoError: It cannot be written.
        """
        write_text(path, self.trace)

    def __repr__(self) -> str:
        return (
            f"<mpc.Profile {self.calls} calls, {1e6 * self.seconds / self.calls:.1f} us each, "
            f"{len(self.instructions)} instructions>"
        )

    def _repr_html_(self) -> str:
        return to_html(repr(self)[1:-1], self.instructions)


def profile(session: Session, batch: Batch, *, steps: int = 20, entry: str = "step") -> Profile:
    """Measures the time of every instruction of a session, as `mpc bench --profile` does.

    Args:
        session: What to measure. Steps train it on the batch.
        batch: What Session.step, evaluate or predict takes.
        steps: Calls to measure; three calls before them are not.
        entry: "step", "evaluate" or "predict".

    Raises:
        InvalidArgument: The batch does not fit, or the program has no such entry point.

    >>> profile = mpc.profile(session, {"images": images[:64], "labels": labels[:64]}, steps=5)
    >>> profile.calls, abs(1 - sum(one.share for one in profile.instructions)) < 1e-9
    (5, True)
    """
    calls: dict[str, Callable[[Batch], Any]] = {
        "step": session.step, "evaluate": session.evaluate, "predict": session.predict
    }
    if entry not in calls:
        raise InvalidArgument(f"entry must be 'step', 'evaluate' or 'predict', but is '{entry}'")
    if steps < 1:
        raise InvalidArgument(f"steps must be at least 1, but is {steps}")
    call = calls[entry]
    for _ in range(3):
        call(batch)
    session.start_profile(steps)
    try:
        for _ in range(steps):
            call(batch)
    finally:
        count, nanoseconds, rows, trace = session.stop_profile()
    total = nanoseconds or 1
    instructions = [
        InstructionTime(
            _KINDS[kind], entry_name, nodes, kernel, implementation, dtype, runs, total_ns / 1e9,
            min_ns / 1e9, size, flops, total_ns / total,
        )
        for (kind, entry_name, nodes, kernel, implementation, dtype, runs, total_ns, min_ns, size,
             flops) in rows
        if runs
    ]
    instructions.sort(key=lambda one: -one.seconds)
    return Profile(count, nanoseconds / 1e9, instructions, trace)
