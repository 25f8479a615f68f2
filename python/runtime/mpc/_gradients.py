"""mpc.gradients and mpc.tensors: what a step computes for one batch."""

from __future__ import annotations

from typing import Any, Sequence

import numpy as np

from mpc._arrays import suggest
from mpc._errors import InvalidArgument
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


def tensors(
    model: Any,
    batch: Batch,
    names: Sequence[str],
    /,
    *,
    precision: str = "fp32",
    device: str = "auto",
    **options: Any,
) -> dict[str, np.ndarray[Any, Any]]:
    """Computes values inside a model for a batch as a training step does, for debugging.

    The model is compiled with these values as further outputs (`extra_outputs`), so ops are not
    fused beyond them.

    Args:
        model: What `mpc.compile` takes, or a program that was compiled with `extra_outputs`,
            `loss="external"` and `optimizer="none"`.
        batch: As in `mpc.Session.step`; labels may be left out.
        names: Names of values in the ONNX file: what nodes compute, not the nodes.
        precision: How to compute.
        device: As in `mpc.Session`.
        options: Other options of `mpc.compile`.

    Returns:
        NumPy arrays by name.

    Raises:
        CompileError: The model cannot be compiled, or has no such value.
        InvalidArgument: An array does not fit, or the program does not return such a value.
    """
    if isinstance(names, str):
        raise TypeError(f"names must be a list of names, not the string '{names}'")
    if not isinstance(model, Program):
        from mpc._compile import run

        chosen = {
            **options,
            "precision": precision,
            "loss": "external",
            "optimizer": "none",
            "extra_outputs": list(names),
        }
        model = run(model, None, None, chosen, stacklevel=3)
    elif options:
        raise TypeError("options are those of a compilation, but the model is a program already")
    with Session(model, device) as session:
        session._need("forward", "loss='external' and optimizer='none'")
        known = [spec.name for spec in model.outputs("forward")]
        for name in names:
            if name not in known:
                raise InvalidArgument(
                    f"the program has no output '{name}'{suggest(name, known)}; compile with "
                    f"extra_outputs=['{name}'] if that is a value of the model"
                )
        results = session.forward(_inputs_of(model, batch))
    return {name: results[name] for name in names}


def _inputs_of(program: Program, batch: Batch) -> Batch:
    """A batch without what only the loss reads."""
    names = [spec.name for spec in program.inputs("forward")]
    if hasattr(batch, "keys"):
        return {name: batch[name] for name in batch.keys() if name in names}
    return batch[: len(names)] if isinstance(batch, (tuple, list)) else batch
