"""Writes fp8/: a model of four linear layers, data, and what training in FP8
makes of them in NumPy (fp8.json), for compare_fp8.py.

The two inner layers multiply in FP8, as mpc-use-fp8 says, the others in bf16;
sums are in f64, where mpc has f32.

Needs NumPy and onnx.
"""

import json
import pathlib

import numpy as np
from onnx import TensorProto, helper, numpy_helper, save

FOLDER = pathlib.Path(__file__).resolve().parents[1] / "fp8"
DIMS = [16, 32, 48, 32, 16]
BATCH, STEPS, RATE, HISTORY = 32, 6, 0.1, 4
LARGEST = {"e4m3": 448.0, "e5m2": 57344.0}


def parameters():
    random = np.random.default_rng(0)
    weights = [
        (random.standard_normal((b, a)) * np.sqrt(2 / a)).astype(np.float32)
        for a, b in zip(DIMS, DIMS[1:])
    ]
    # Values that bf16 represents, so that both start with the same weights.
    return [bf16(w) for w in weights]


def bf16(x):
    bits = np.ascontiguousarray(x, np.float32).view(np.uint32)
    rounded = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
    return rounded.astype(np.uint32).view(np.float32)


def data():
    random = np.random.default_rng(1)
    x = random.standard_normal((BATCH * STEPS, DIMS[0])).astype(np.float32)
    labels = random.integers(0, DIMS[-1], BATCH * STEPS)
    return bf16(x), labels


def write_model():
    nodes, initializers, value = [], [], "x"
    for i, w in enumerate(parameters()):
        initializers.append(numpy_helper.from_array(w, f"w{i}"))
        nodes.append(
            helper.make_node("Gemm", [value, f"w{i}"], [f"h{i}"], f"fc{i}", transB=1)
        )
        value = f"h{i}"
        if i < 3:
            nodes.append(helper.make_node("Relu", [value], [f"a{i}"], f"act{i}"))
            value = f"a{i}"
    tensor = helper.make_tensor_value_info
    graph = helper.make_graph(
        nodes,
        "mlp",
        [tensor("x", TensorProto.FLOAT, [BATCH, DIMS[0]])],
        [tensor(value, TensorProto.FLOAT, [BATCH, DIMS[-1]])],
        initializers,
    )
    opsets = [helper.make_opsetid("", 17)]
    save(
        helper.make_model(graph, opset_imports=opsets, ir_version=8),
        FOLDER / "mlp.onnx",
    )
    x, labels = data()
    np.savez(FOLDER / "data.npz", x=x, labels=labels)


def scale_of(amax, largest, old):
    if not (0 < amax < np.inf):
        return old
    return float(np.clip(2.0 ** np.floor(np.log2(largest / amax)), 2.0**-60, 2.0**60))


def quantize(x, scale, kind):
    """x rounded to FP8: nearest, ties to even, saturated."""
    fraction, least = (3, -6) if kind == "e4m3" else (2, -14)
    scaled = np.clip(x.astype(np.float64) * scale, -LARGEST[kind], LARGEST[kind])
    size = np.maximum(np.abs(scaled), 2.0**-60)
    unit = 2.0 ** (np.maximum(np.floor(np.log2(size)), least) - fraction)
    return np.rint(scaled / unit) * unit / scale


class Delayed:
    """The scale of a tensor, from its magnitudes in the last updates."""

    def __init__(self, kind, first):
        self.kind, self.scale, self.history = kind, first, [0.0] * HISTORY

    def round(self, x, current):
        self.amax = float(np.abs(x).max())
        if current:
            self.scale = scale_of(self.amax, LARGEST[self.kind], 1.0)
        return quantize(x, self.scale, self.kind)

    def advance(self):
        self.history = [self.amax] + self.history[:-1]
        self.scale = scale_of(max(self.history), LARGEST[self.kind], self.scale)


def train(current):
    weights = [w.astype(np.float64) for w in parameters()]
    x, labels = data()
    inner = {i: (Delayed("e4m3", 1.0), Delayed("e5m2", float(BATCH))) for i in (1, 2)}
    losses = []
    for step in range(STEPS):
        rows = slice(step * BATCH, (step + 1) * BATCH)
        value, inputs, sums, narrow = x[rows].astype(np.float64), [], [], {}
        for i, w in enumerate(weights):
            w = bf16(w)
            if i in inner:
                value = inner[i][0].round(value, current)
                w = quantize(w, scale_of(np.abs(w).max(), LARGEST["e4m3"], 1.0), "e4m3")
            narrow[i] = w.astype(np.float64)
            inputs.append(value)
            value = value @ narrow[i].T
            sums.append(value if i == 3 else bf16(value).astype(np.float64))
            value = sums[-1] if i == 3 else np.maximum(sums[-1], 0)
        value = value - value.max(1, keepdims=True)
        logarithms = value - np.log(np.exp(value).sum(1, keepdims=True))
        picked = np.arange(BATCH), labels[rows]
        losses.append(-logarithms[picked].mean())
        grad = np.exp(logarithms)
        grad[picked] -= 1
        grad /= BATCH
        grads = [None] * 4
        for i in range(3, -1, -1):
            grad = bf16(grad).astype(np.float64)
            if i in inner:
                grad = inner[i][1].round(grad, current)
            grads[i] = grad.T @ inputs[i]
            if i > 0:
                grad = (grad @ narrow[i]) * (sums[i - 1] > 0)
        for w, g in zip(weights, grads):
            w -= RATE * g
        for pair in inner.values():
            for tensor in pair:
                tensor.advance()
    return losses, [*inner[1], *inner[2]]


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    write_model()
    goldens = {}
    for kind in ("delayed", "current"):
        losses, tensors = train(kind == "current")
        goldens[kind] = {"loss": [float(loss) for loss in losses]}
        if kind == "delayed":
            goldens[kind]["scales"] = [tensor.scale for tensor in tensors]
            goldens[kind]["history"] = [tensor.history for tensor in tensors]
    (FOLDER / "fp8.json").write_text(json.dumps(goldens, indent=1) + "\n")
