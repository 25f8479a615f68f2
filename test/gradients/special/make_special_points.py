#!/usr/bin/env python3
"""Writes goldens/special_points.json: gradients where functions have kinks, ties, zeros and infinities.

A row has nodes that compute `z` from inputs, and a PyTorch function that computes the same. The golden is
the gradient of sum(z * weights) with respect to every input, in f64.

Needs numpy and torch. The result is in the repository.
"""
import json
import math
import pathlib

import numpy as np
import torch

import rows_of_elements  # noqa: F401
import rows_of_layers  # noqa: F401
import rows_of_sums  # noqa: F401
from row import ROWS

HERE = pathlib.Path(__file__).resolve().parent
torch.set_default_dtype(torch.float64)


def weights(count):
    """Distinct numbers of both signs, exact in binary and never 0."""
    return [(1 + i * 7 % 5) / 4 * (-1 if i % 3 == 1 else 1) for i in range(count)]


def numbers(values):
    """Writes infinity and NaN, which JSON does not have, as strings."""
    return [v if math.isfinite(v) else str(v) for v in map(float, np.asarray(values).ravel())]


def make(row):
    inputs = {k: torch.tensor(v.astype(float), requires_grad=True) for k, v in row.inputs.items()}
    z = row.function(*inputs.values())
    weight = torch.tensor(weights(z.numel())).reshape(z.shape)
    gradients = torch.autograd.grad(z, list(inputs.values()), weight, allow_unused=True, materialize_grads=True)
    result = {
        "op": row.op, "opset": row.opset, "nodes": row.nodes.strip().split("\n"),
        "inputs": {k: {"shape": list(v.shape), "values": numbers(v)} for k, v in row.inputs.items()},
        "z": {"shape": list(z.shape), "weights": numbers(weight), "values": numbers(z.detach())},
        "gradients": {k: numbers(g) for k, g in zip(inputs, gradients)},
    }
    if row.trained_only:
        result["trained_only"] = True
    if row.constants:
        result["constants"] = {k: {"shape": list(np.shape(v)), "values": numbers(v)} for k, v in row.constants.items()}
    if row.reason:
        result["reason"] = row.reason
        for name, values in row.wanted.items():
            assert len(numbers(values)) == inputs[name].numel(), row.name
            assert numbers(values) != result["gradients"][name], f"{row.name} does not deviate"
            result["gradients"][name] = numbers(values)
    return result


def main():
    made = {}
    for row in ROWS:
        assert row.name not in made, row.name
        made[row.name] = make(row)
    lines = [f"{json.dumps(name)}: {json.dumps(row)}" for name, row in made.items()]
    (HERE / "goldens/special_points.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(made)} rows")


if __name__ == "__main__":
    main()
