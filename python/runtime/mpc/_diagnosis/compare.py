"""mpc.compare."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mpc._diagnosis.records import new_axes, to_dataframe, to_html
from mpc._diagnosis.runs import run_json

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

# Ops whose errors a figure shows.
_SHOWN_OPS = 15


@dataclass(slots=True, frozen=True)
class ComparedStep:
    """A step of training in both precisions; numbers are nan if they are not finite."""

    loss: float
    reference_loss: float
    grad_norm: float
    reference_grad_norm: float


@dataclass(slots=True, frozen=True)
class ComparedOp:
    """The largest error of an op's result in all steps, each from the same states.

    Attributes:
        node: The ONNX node.
        op: The operation of mpc.
        type: The type of the node.
        module: The module of the node, such as "encoder.0".
        phase: "forward", "backward" or "update".
        format: In which it computes: "bf16".
        error: Relative to the reference (L2 norm); inf if it is not finite.
        inputs_error: The same for what it reads.
        step: Where the error was largest, from 1.
    """

    node: str
    op: str
    type: str
    module: str
    phase: str
    format: str
    error: float
    inputs_error: float
    step: int


@dataclass(slots=True, frozen=True, repr=False)
class Comparison:
    """The result of mpc.compare.

    Attributes:
        precision: The precision that was examined.
        against: That of the reference.
        holds: Whether all losses, and all tensors of a step, are within the tolerances.
        verdict: The result in one sentence.
        loss_error: The largest relative deviation of the loss; inf if a step was not finite.
        parting: The op that introduces the error, or None.
        steps: Losses and norms of the gradients of each step.
        ops: Errors of each op, in the order of the program.
    """

    precision: str
    against: str
    holds: bool
    verdict: str
    loss_error: float
    parting: ComparedOp | None
    steps: list[ComparedStep]
    ops: list[ComparedOp]

    def to_dataframe(self) -> pandas.DataFrame:
        """`ops` as a pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        return to_dataframe(self.ops)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws the largest errors of ops beside the errors of what they read.

        Args:
            axes: Where to draw; None: in a new figure.

        Raises:
            ImportError: matplotlib is not installed.
        """
        shown = self._largest(_SHOWN_OPS)[::-1]
        axes = new_axes(axes, 1 + 0.25 * len(shown))
        top = max((op.error for op in shown if math.isfinite(op.error)), default=1.0) or 1.0
        for position, op in enumerate(shown):
            error = op.error if math.isfinite(op.error) else 10 * top
            read = min(op.inputs_error, 10 * top)
            axes.plot([read, error], [position] * 2, color="0.7", zorder=1)
            axes.scatter(read, position, color="0.5", s=14, zorder=2)
            color = "tab:red" if self.parting in (op,) else "tab:blue"
            axes.scatter(error, position, color=color, s=22, zorder=3)
        axes.set_yticks(range(len(shown)), [f"{op.node} ({op.type}, {op.format})" for op in shown])
        axes.set_xscale("log", subs=(2, 5))
        axes.xaxis.set_major_formatter("{x:g}")
        axes.xaxis.set_minor_formatter("{x:g}")
        axes.set_xlabel("relative error; gray: of what the op reads")
        axes.set_title(f"{self.precision} against {self.against}")
        return axes

    def plot_losses(self, axes: Axes | None = None) -> Axes:
        """Draws the losses of both precisions; see plot."""
        axes = new_axes(axes, 3.5)
        numbers = range(1, len(self.steps) + 1)
        axes.plot(numbers, [step.reference_loss for step in self.steps], label=self.against)
        axes.plot(numbers, [step.loss for step in self.steps], "--", label=self.precision)
        axes.set_xlabel("step")
        axes.set_ylabel("loss")
        axes.legend()
        return axes

    def _largest(self, count: int) -> list[ComparedOp]:
        return sorted(self.ops, key=lambda op: -op.error)[:count]

    def __repr__(self) -> str:
        return f"<mpc.Comparison {self.verdict}>"

    def _repr_html_(self) -> str:
        return to_html(self.verdict, self._largest(len(self.ops)))


def compare(
    model: Any,
    data: Any,
    *,
    precision: str = "bf16",
    against: str = "fp32",
    steps: int = 20,
    tolerance: float = 0.01,
    tensor_tolerance: float = 0.25,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    deterministic: bool = False,
    **options: Any,
) -> Comparison:
    """Trains a model in two precisions and finds the op that makes the difference.

    Runs `mpc compare`: before every step, both programs also compute one step from the same states,
    and return the result of each op.

    Args:
        model: A path, the bytes of an ONNX file, or an `onnx.ModelProto`.
        data: A path that `mpc train --data` takes, or a dict of arrays by input name.
        precision: What to examine.
        against: The reference: "fp32", "bf16", "fp16", or "fp64", which is interpreted op by op.
        steps: Steps to train.
        tolerance: Largest relative deviation of a loss.
        tensor_tolerance: Largest relative deviation of a tensor in one step.
        seed: For the order of samples and dropout.
        device: See mpc.Session.
        threads: See mpc.Session.
        deterministic: See mpc.Session.
        options: Other options of mpc.compile.

    Raises:
        InvalidArgument: The model cannot be compiled, or the data does not fit.
        TypeError: There is no such option.
        ImportError: mpc-compiler is not installed.

    >>> mpc.compare("mlp.onnx", "digits-train.npz", steps=2, batch=64).holds  # doctest: +SKIP
    True
    """
    content = run_json(
        ("compare",), model, data,
        {"against": against, "steps": steps, "tolerance": tolerance,
         "tensor-tolerance": tensor_tolerance, "seed": seed, "device": device,
         "threads": threads, "deterministic": deterministic},
        {"precision": precision, **options},
    )
    ops = [
        ComparedOp(
            row["node"], row["op"], row["type"], row["module"], row["phase"], row["format"],
            _error(row["error"]), _error(row["inputs_error"]), row["step"],
        )
        for row in content["ops"]
    ]
    parting = content["parting"]
    return Comparison(
        content["precision"],
        content["against"],
        content["holds"],
        content["verdict"],
        _error(content["loss_error"]),
        ops[parting["op"]] if parting else None,
        [
            ComparedStep(
                *(
                    math.nan if row[name] is None else row[name]
                    for name in ("loss", "reference_loss", "grad_norm", "reference_grad_norm")
                )
            )
            for row in content["steps"]
        ],
        ops,
    )


def _error(value: float | None) -> float:
    """JSON has no infinity."""
    return math.inf if value is None else value
