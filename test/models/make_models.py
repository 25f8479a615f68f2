#!/usr/bin/env python3
"""Writes goldens/: the small models of cases.py, and what others compute for them.

GROUP/NAME.onnxtxt is a model, as mpc reads it, and GROUP/NAME.json has its numbers; the
group is the file that has the row: cases_of_elements.py, cases_by_index.py. The outputs are those of onnxruntime in f32, or of ONNX's own reference for ops that
it lacks. Where a row gives the same function in
PyTorch, three steps of plain descent on a mean squared error follow, in f64: the
losses and the norms of all gradients.

Run by test/goldens/make.py models. Needs numpy, onnx, onnxruntime and torch. The
results are in the repository.
"""
import json
import pathlib
import re
import shutil
import textwrap
import zlib

import numpy as np
import onnx.parser
import onnx.reference
import onnxruntime
import torch
from onnxruntime.capi import onnxruntime_pybind11_state as state

from cases import CASES

onnxruntime.set_default_logger_severity(3)
FOLDER = pathlib.Path(__file__).resolve().parent / "goldens"
LEARNING_RATE, STEPS = 0.02, 3
TYPES = {"float32": "float", "int64": "int64", "bool": "bool"}


def parameter(name, shape, positive=False):
    """Numbers that depend only on the name, are short to write, and are not exact in binary."""
    random = np.random.default_rng(zlib.crc32(name.encode()))
    values = np.round(0.7 * random.standard_normal(shape), 3)
    return np.abs(values) + 0.5 if positive else values


def fill(name, shape):
    """Numbers in [-2, 2), the same as in models_test.cpp: SplitMix64 seeded by FNV-1a."""
    mask = 2**64 - 1
    state = 0xCBF29CE484222325
    for byte in name.encode():
        state = (state ^ byte) * 0x100000001B3 & mask
    values = []
    for _ in range(np.prod(shape, dtype=int)):
        state = (state + 0x9E3779B97F4A7C15) & mask
        word = (state ^ (state >> 30)) * 0xBF58476D1CE4E5B9 & mask
        word = (word ^ (word >> 27)) * 0x94D049BB133111EB & mask
        values.append(((word ^ (word >> 31)) >> 11) / 2**53)
    return np.array(4 * np.array(values) - 2, np.float32).reshape(shape).astype(float)


def text(values):
    return ", ".join(np.format_float_positional(v, trim="0") for v in values.ravel())


def wrap(line, indent):
    return textwrap.fill(line, 100, subsequent_indent=indent + "  ", initial_indent=indent,
                         break_long_words=False, break_on_hyphens=False).strip()


def declare(kind, name, shape):
    return f"{kind}[{', '.join(map(str, shape))}] {name}" if shape else f"{kind} {name}"


class Model:
    """A row of cases.py: its tensors, and the model in ONNX's text syntax."""

    def __init__(self, case):
        self.case = case
        tensors = re.findall(r"(\w+)\[([\d,]*)\](\+?)", case.tensors)
        tensors = [(n, [int(d) for d in dims.split(",") if d], s) for n, dims, s in tensors]
        self.first, self.shape, _ = tensors[0]
        self.data = fill(case.name, self.shape)
        if case.values is None:
            tensors[0] = ("w0", [1, *self.shape[1:]], "")
        else:
            self.data = np.array(case.values).reshape(self.shape)
            tensors[0] = ("one", [], "")
        self.parameters = {
            name: parameter(f"{case.name} {name}", shape, sign == "+")
            for name, shape, sign in tensors
        }
        if case.values is not None:
            self.parameters["one"] = np.ones(())

    def write(self, results):
        """The model with `results`, the declarations of its outputs."""
        inputs = [declare("float", "input", self.shape)]
        for name, value in self.parameters.items():
            inputs.append(wrap(f"{declare('float', name, value.shape)} = {{{text(value)}}}", "  "))
        return "\n".join([
            f'<ir_version: 8, opset_import: ["" : {self.case.opset}]>',
            f"{self.case.name} (",
            *(f"  {line}," for line in inputs[:-1]),
            f"  {inputs[-1]}",
            f") => ({', '.join(results)})",
            "{",
            f"  {self.first} = Mul (input, {next(iter(self.parameters))})",
            *("  " + line.strip() for line in self.case.body.strip().split("\n")),
            "}",
        ]) + "\n"

    def predict(self, data, weights):
        factor, *others = weights
        return self.case.function(data * factor, *others)


def infer(text, data):
    """The results of onnxruntime: (name, type, values) of each output."""
    model = onnx.parser.parse_model(text)
    # The text declares initializers as inputs, which onnxruntime would require.
    del model.graph.input[1:]
    feeds = {"input": data.astype(np.float32)}
    try:
        session = onnxruntime.InferenceSession(
            model.SerializeToString(), providers=["CPUExecutionProvider"]
        )
        names = [output.name for output in session.get_outputs()]
        values = session.run(None, feeds)
    except (state.Fail, state.InvalidGraph, state.NotImplemented):
        names = [output.name for output in model.graph.output]
        values = onnx.reference.ReferenceEvaluator(model).run(None, feeds)
    return [(name, TYPES[value.dtype.name], value) for name, value in zip(names, values)]


def numbers(values, digits=7):
    """Seven digits, or nine if values must be exact. JSON has no infinity; 1e39 is infinite in f32."""
    finite = np.nan_to_num(values.astype(np.float64), posinf=1e39, neginf=-1e39)
    return [float(f"{value:.{digits}g}") for value in finite.ravel()]


def descend(model, targets):
    """A few steps of plain gradient descent in f64."""
    data, targets = torch.tensor(model.data), torch.tensor(targets)
    weights = [torch.tensor(value) for value in model.parameters.values()]
    losses, norms = [], []
    for _ in range(STEPS):
        weights = [weight.detach().requires_grad_() for weight in weights]
        loss = torch.nn.functional.mse_loss(model.predict(data, weights), targets)
        gradients = torch.autograd.grad(loss, weights, materialize_grads=True)
        weights = [w - LEARNING_RATE * g for w, g in zip(weights, gradients)]
        losses.append(loss.item())
        norms.append(torch.sqrt(sum((g**2).sum() for g in gradients)).item())
    return {"loss": numbers(np.array(losses)), "grad_norm": numbers(np.array(norms))}


def make(case):
    model = Model(case)
    open_shapes = []
    for output in case.outputs.split():
        name, _, kind = output.partition(":")
        open_shapes.append(f"{kind or 'float'}[] {name}")
    outputs = infer(model.write(open_shapes), model.data)
    written = model.write([declare(kind, name, v.shape) for name, kind, v in outputs])
    outputs = infer(written, model.data)
    digits = 9 if case.values is not None else 7
    result = {"outputs": {name: numbers(value, digits) for name, _, value in outputs}}
    if case.values is not None:
        result["input"] = numbers(model.data, digits)
    if case.function:
        result["training"] = descend(model, fill(case.name + " targets", outputs[0][2].shape))
    return written, result


def format_json(value, indent=""):
    """Formats JSON, with lists of numbers as wrapped lines."""
    if isinstance(value, list):
        return wrap(json.dumps(value), indent)
    entries = (f'{indent} "{key}": {format_json(v, indent + " ")}' for key, v in value.items())
    return "{\n" + ",\n".join(entries) + f"\n{indent}}}"


def main():
    shutil.rmtree(FOLDER, ignore_errors=True)
    made = set()
    for case in CASES:
        assert case.name not in made, case.name
        made.add(case.name)
        folder = FOLDER / case.group
        folder.mkdir(parents=True, exist_ok=True)
        model, result = make(case)
        (folder / f"{case.name}.onnxtxt").write_text(model)
        (folder / f"{case.name}.json").write_text(format_json(result) + "\n")


if __name__ == "__main__":
    main()
