"""The type of the rows of make_special_points.py."""
import dataclasses
import typing

import numpy as np


@dataclasses.dataclass
class Row:
    name: str  # OP or OP_what
    inputs: dict
    nodes: str
    function: typing.Callable
    opset: int = 23
    # Initializers that are not trained.
    constants: dict = dataclasses.field(default_factory=dict)
    # Not tested with the op Gradient, which rejects ops with a different inference
    # form and differentiates the nodes as written, before mpc recognizes better forms.
    trained_only: bool = False
    # If mpc's gradient differs from PyTorch's on purpose: the gradients by input, and why.
    wanted: typing.Optional[dict] = None
    reason: str = ""

    @property
    def op(self):
        return self.name.partition("_")[0]


ROWS = []
INF, NAN = np.inf, np.nan


def row(name, inputs, nodes, function, **options):
    inputs = {key: np.asarray(value, np.float32) for key, value in inputs.items()}
    ROWS.append(Row(name, inputs, nodes, function, **options))


def ints(name, values, kind="int64"):
    """A constant of integers."""
    values = np.asarray(values)
    shape = "[" + ",".join(map(str, values.shape)) + "]" if values.shape else ""
    text = ", ".join(str(int(v)) for v in values.ravel())
    return f"{name} = Constant <value = {kind}{shape} {{{text}}}> ()\n"


def floats(**values):
    """Scalar constants."""
    return "".join(f"{name} = Constant <value = float {{{float(v)}}}> ()\n" for name, v in values.items())


def numbers(*shape, scale=1.0, seed=1):
    """Numbers with few digits, none of them 0."""
    random = np.random.default_rng(seed)
    values = np.round(scale * random.standard_normal(shape), 2)
    return np.where(values == 0, 0.25, values)
