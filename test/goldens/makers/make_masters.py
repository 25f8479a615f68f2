#!/usr/bin/env python3
"""Makes masters/: 16-bit master weights compared with PyTorch's optimizers.

The model's loss is sum(x * w), so that the gradient of w is x, to the bit. The
update is torch.optim's, of an f32 tensor; around it stands what keeps weights
in bf16: bf16-kahan splits the new weight into a value and a rest, both rounded
by PyTorch, and updates their sum; bf16-stochastic rounds it by the words of
Philox2x32-10, which is written out here from Salmon et al. (SC'11).

steady.npz has gradients of one sign whose updates are below half a step of
bf16.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
from onnx import TensorProto, helper

OUT = pathlib.Path(__file__).resolve().parents[1] / "masters"
COUNT, STEPS, SEED = 256, 40, 7
SLOTS = {"w": 0}  # The only weight is at the beginning of the pack.


def make_model(weights):
    graph = helper.make_graph(
        [helper.make_node("Mul", ["x", "w"], ["product"]),
         helper.make_node("ReduceSum", ["product"], ["loss"], keepdims=0)],
        "sum",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, COUNT])],
        [helper.make_tensor_value_info("loss", TensorProto.FLOAT, [])],
        [onnx.numpy_helper.from_array(weights, "w")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    model.ir_version = 8
    onnx.save(model, OUT / "sum.onnx")


def split_mix(word):
    mask = (1 << 64) - 1
    word = (word + 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


def philox(counter, step, key):
    """Word 0 of Philox2x32-10 for counters (counter[i], step)."""
    low, high = counter.astype(np.uint64), np.full_like(counter, step, np.uint64)
    mask = np.uint64(0xFFFFFFFF)
    for _ in range(10):
        product = low * np.uint64(0xD256D193)
        low, high = (product >> np.uint64(32)) ^ np.uint64(key) ^ high, product & mask
        key = (key + 0x9E3779B9) & 0xFFFFFFFF
    return low.astype(np.uint32)


def round_by_chance(weights, step):
    index = (1 << 64) - 1
    key = split_mix(SEED ^ split_mix(index)) >> 32
    words = philox(np.arange(COUNT, dtype=np.uint64), step, key)
    bits = weights.numpy().view(np.uint32) + (words & np.uint32(0xFFFF))
    return torch.from_numpy((bits & np.uint32(0xFFFF0000)).view(np.float32).copy())


def bits_of(tensor):
    return [int(b) & 0xFFFF for b in tensor.bfloat16().view(torch.int16)]


OPTIMIZERS = {
    "sgd": lambda w: torch.optim.SGD([w], lr=0.01, foreach=False),
    "adamw": lambda w: torch.optim.AdamW([w], lr=0.01, weight_decay=0.01, foreach=False),
}


def train(masters, optimizer, weights, gradients):
    whole = torch.nn.Parameter(torch.from_numpy(weights.copy()))
    step_of = OPTIMIZERS[optimizer](whole)
    value = whole.detach().bfloat16().float()
    rest = (whole.detach() - value).bfloat16().float()
    for step, gradient in enumerate(gradients):
        with torch.no_grad():
            whole.copy_(value + rest if masters == "bf16-kahan" else value)
        whole.grad = torch.from_numpy(gradient.copy())
        step_of.step()
        new = whole.detach().clone()
        if masters == "bf16-kahan":
            value = new.bfloat16().float()
            rest = (new - value).bfloat16().float()
        else:
            value = round_by_chance(new, step)
    result = {"value": bits_of(value)}
    if masters == "bf16-kahan":
        result["rest"] = bits_of(rest)
    return result


def main():
    OUT.mkdir(exist_ok=True)
    random = np.random.default_rng(12)
    weights = random.normal(size=COUNT).astype(np.float32)
    gradients = random.normal(size=(STEPS, COUNT)).astype(np.float32)
    make_model(weights)
    np.savez(OUT / "data.npz", x=gradients)
    # Updates of 0.0001 on average, where half a step of bf16 is at least 0.002.
    steady = random.uniform(0, 2, size=(100, COUNT)).astype(np.float32)
    np.savez(OUT / "steady.npz", x=steady)
    golden = {masters: {name: train(masters, name, weights, gradients)
                        for name in OPTIMIZERS}
              for masters in ("bf16-kahan", "bf16-stochastic")}
    golden["weights"] = [float(w) for w in weights]
    golden["steady"] = [float(s) for s in steady.mean(axis=0, dtype=np.float64)]
    (OUT / "masters.json").write_text(json.dumps(golden) + "\n")


main()
