"""mpc.ranges."""

from __future__ import annotations

import json
import math
import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mpc._command import run_command
from mpc._compile import run
from mpc._diagnosis.records import new_axes, to_dataframe, to_html, write_text
from mpc._diagnosis.runs import data_as_file, to_flags

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# Tensors whose ranges a figure shows.
_SHOWN = 40


@dataclass(slots=True, frozen=True)
class TensorRange:
    """The values of a tensor in all steps.

    Attributes:
        name: Its node, input or state; the second tensor of the name "fc1" is "fc1#1".
        kind: "input", "state", "constant", "forward", "backward" or "update".
        op: The operation of mpc that computes it; "" if none does.
        type: The type of the node; "" without one.
        shape: In one step.
        count: Elements in all steps.
        nans: How many of them are NaN.
        infinities: How many are infinite.
        zeros: How many are 0.
        smallest: The smallest magnitude that is not 0; 0 if there is none.
        largest: The largest magnitude.
        exponents: How many elements have the magnitude 2**e to 2**(e+1), by e. The first and the
            last also count everything beyond.
        sensitivity: By format, such as "bf16": the mean square of the change of the loss, to first
            order, if the tensor is rounded; empty without a gradient.
    """

    name: str
    kind: str
    op: str
    type: str
    shape: tuple[int, ...]
    count: int
    nans: int
    infinities: int
    zeros: int
    smallest: float
    largest: float
    exponents: dict[int, int]
    sensitivity: dict[str, float]


@dataclass(slots=True, frozen=True, repr=False)
class Ranges:
    """The result of mpc.ranges.

    Attributes:
        steps: Steps that were measured.
        tensors: In the order of the program.
        profile: The text of a file for the option `profile` of mpc.compile, which then chooses
            formats by these ranges.
    """

    steps: int
    tensors: list[TensorRange]
    profile: str

    def to_dataframe(self) -> pandas.DataFrame:
        """`tensors` as a pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        return to_dataframe(self.tensors)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws the magnitudes of each tensor beside the range of f16.

        Args:
            axes: Where to draw; None: in a new figure.

        Raises:
            ImportError: matplotlib is not installed.
        """
        shown = [one for one in self.tensors if one.largest > 0][:_SHOWN][::-1]
        axes = new_axes(axes, 1 + 0.2 * len(shown))
        # Normal numbers of f16.
        axes.axvspan(-14, 16, color="0.93")
        for position, one in enumerate(shown):
            first, last = math.log2(one.smallest), math.log2(one.largest)
            axes.plot([first, last], [position] * 2, color="tab:blue", linewidth=3)
        axes.set_yticks(range(len(shown)), [f"{one.name} ({one.kind})" for one in shown])
        axes.set_xlabel("log2 of the magnitude; gray: f16")
        axes.set_title(f"{len(shown)} of {len(self.tensors)} tensors, {self.steps} steps")
        return axes

    def save_profile(self, path: str | os.PathLike[str]) -> None:
        """Writes the profile to a file.

        Raises:
            IoError: It cannot be written.
        """
        write_text(path, self.profile)

    def __repr__(self) -> str:
        return f"<mpc.Ranges of {len(self.tensors)} tensors over {self.steps} steps>"

    def _repr_html_(self) -> str:
        return to_html(repr(self)[1:-1], self.tensors)


def ranges(
    model: Any,
    data: Any,
    *,
    steps: int = 20,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    deterministic: bool = False,
    **options: Any,
) -> Ranges:
    """Trains a model in fp32 and measures the range of values of every tensor.

    Runs `mpc profile`. mpc.profile measures times.

    Args:
        model: A path, the bytes of an ONNX file, or an `onnx.ModelProto`.
        data: A path that `mpc train --data` takes, or a dict of arrays by input name.
        steps: Steps to train.
        seed: For the order of samples and dropout.
        device: See mpc.Session.
        threads: See mpc.Session.
        deterministic: See mpc.Session.
        options: Other options of mpc.compile.

    Raises:
        CompileError: The model cannot be compiled.
        InvalidArgument: The data does not fit.
        NumericError: Training diverged.
        TypeError: There is no such option.
        ImportError: mpc-compiler is not installed.

    >>> mpc.ranges("mlp.onnx", "digits-train.npz", steps=2, batch=64).tensors[0].kind  # doctest: +SKIP
    'input'
    """
    for name in ("precision", "observe"):
        if name in options:
            raise TypeError(f"mpc.ranges has no option '{name}': it measures in fp32")
    program = run(model, None, None, {**options, "precision": "fp32", "observe": "profile"}, 3)
    with tempfile.TemporaryDirectory() as folder, data_as_file(data) as path:
        package, output = os.path.join(folder, "model.mpc"), os.path.join(folder, "profile.json")
        program.save(package)
        run_command(
            "profile", package, f"--data={path}", f"--output={output}",
            *to_flags({"steps": steps, "seed": seed, "device": device, "threads": threads,
                       "deterministic": deterministic}),
        )
        with open(output, encoding="utf-8") as file:
            text = file.read()
    content = json.loads(text)
    first = content["exponents"]["first"]
    return Ranges(
        content["steps"],
        [
            TensorRange(
                name, row["kind"], row.get("op", ""), row.get("type", ""), tuple(row["shape"]),
                row["count"], row["nans"], row["infinities"], row["zeros"], row["smallest"],
                row["largest"],
                {first + i: count for i, count in enumerate(row["exponents"]) if count},
                row.get("sensitivity", {}),
            )
            for name, row in content["tensors"].items()
        ],
        text,
    )
