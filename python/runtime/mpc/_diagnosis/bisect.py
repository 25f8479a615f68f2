"""mpc.bisect."""

from __future__ import annotations

import os
import tempfile
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mpc._diagnosis.records import new_axes, to_dataframe, to_html, write_text
from mpc._diagnosis.runs import run_json

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes


@dataclass(slots=True, frozen=True)
class KeptOp:
    """A node that must stay in f32."""

    node: str


@dataclass(slots=True, frozen=True, repr=False)
class Bisection:
    """The result of mpc.bisect.

    Attributes:
        ops: The nodes that must stay in f32: without any one of them, training diverges from fp32.
        of: How many nodes compute in 16 bit without a policy.
        runs: How often the model was trained.
        policy: The text of a policy file: `mpc.compile(model, policy=path)` keeps these nodes.
    """

    ops: list[KeptOp]
    of: int
    runs: int
    policy: str

    def to_dataframe(self) -> pandas.DataFrame:
        """`ops` as a pandas DataFrame.

        Raises:
            ImportError: pandas is not installed.
        """
        return to_dataframe(self.ops)

    def plot(self, axes: Axes | None = None) -> Axes:
        """Draws how many nodes must stay in f32, of those that compute in 16 bit.

        Args:
            axes: Where to draw; None: in a new figure.

        Raises:
            ImportError: matplotlib is not installed.
        """
        axes = new_axes(axes, 1.6)
        count = len(self.ops)
        names = "\n".join(op.node for op in self.ops)
        for left, width, color, text in (
            (0, count, "tab:red", names), (count, self.of - count, "tab:blue", "16 bit")
        ):
            if width > 0:
                axes.barh(0, width, left=left, color=color)
                axes.text(left + width / 2, 0, text, ha="center", va="center", color="white")
        axes.set_yticks([])
        axes.set_xlabel("nodes")
        axes.set_title(f"{count} of {self.of} nodes must stay in f32 ({self.runs} runs)")
        return axes

    def save_policy(self, path: str | os.PathLike[str]) -> None:
        """Writes the policy to a file.

        Raises:
            IoError: It cannot be written.
        """
        write_text(path, self.policy)

    def __repr__(self) -> str:
        names = ", ".join(op.node for op in self.ops) or "none"
        return f"<mpc.Bisection {len(self.ops)} of {self.of} nodes must stay in f32: {names}>"

    def _repr_html_(self) -> str:
        return to_html(f"{len(self.ops)} of {self.of} nodes must stay in f32", self.ops)


def bisect(
    model: Any,
    data: Any,
    *,
    precision: str = "bf16",
    metric: str = "loss",
    tolerance: float = 0.01,
    steps: int = 20,
    seed: int = 0,
    device: str = "auto",
    threads: int | None = None,
    deterministic: bool = False,
    **options: Any,
) -> Bisection:
    """Finds a minimal set of nodes that must stay in f32 for training to match fp32.

    Runs `mpc debug bisect`, which trains the model repeatedly.

    Args:
        model: A path, the bytes of an ONNX file, or an `onnx.ModelProto`.
        data: A path that `mpc train --data` takes, or a dict of arrays by input name.
        precision: What to examine.
        metric: What to compare with fp32: "loss" or "grad-norm".
        tolerance: Largest relative deviation in a step.
        steps: Steps of each run.
        seed: For the order of samples and dropout.
        device: See mpc.Session.
        threads: See mpc.Session.
        deterministic: See mpc.Session.
        options: Other options of mpc.compile.

    Raises:
        InvalidArgument: The model cannot be compiled, or the data does not fit.
        TypeError: There is no such option.
        ImportError: mpc-compiler is not installed.

    >>> mpc.bisect("mlp.onnx", "digits-train.npz", steps=2, batch=64).ops  # doctest: +SKIP
    []
    """
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "policy.toml")
        content = run_json(
            ("debug", "bisect"), model, data,
            {"output": path, "metric": metric, "tolerance": tolerance, "steps": steps, "seed": seed,
             "device": device, "threads": threads, "deterministic": deterministic},
            {"precision": precision, **options},
        )
        policy = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                policy = file.read()
    return Bisection(
        [KeptOp(node) for node in content["ops"]], content["of"], content["runs"], policy
    )
