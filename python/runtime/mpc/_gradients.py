"""mpc.gradients: the gradients of one batch."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from mpc._program import Program
from mpc._session import Batch, Session


def gradients(
    model: Any,
    batch: Batch,
    /,
    *,
    inputs: Sequence[str] = (),
    precision: str = "fp32",
    device: str = "auto",
    **options: Any,
) -> tuple[float, dict[str, np.ndarray[Any, Any]]]:
    """Computes the loss of a model for a batch, and its gradients, for debugging.

    Args:
        model: What `mpc.compile` takes, or a program that was compiled with `optimizer="none"`.
        batch: As in `mpc.Session.step`.
        inputs: The names of inputs whose gradients are wanted as well.
        precision: How to compute.
        device: As in `mpc.Session`.
        options: Other options of `mpc.compile`.

    Returns:
        The loss, and NumPy arrays by the names of parameters and inputs.

    Raises:
        CompileError: The model cannot be compiled.
        InvalidArgument: An array does not fit, or the program updates its weights.
    """
    if not isinstance(model, Program):
        from mpc._compile import run

        chosen = {
            **options,
            "precision": precision,
            "optimizer": "none",
            "input_gradients": list(inputs) or None,
        }
        model = run(model, None, None, chosen, stacklevel=3)
    elif options or inputs:
        raise TypeError("options are those of a compilation, but the model is a program already")
    with Session(model, device) as session:
        return session.gradients(batch)
