#!/usr/bin/env python3
"""Writes digits/digits.json and digits/optimizers.json: what PyTorch computes where mpc trains.

digits.json has 20 steps of the two digits models from their committed weights, in
file order, in f32: losses, gradient norms, and the evaluation after the last step.
Dropout takes the masks that mpc documents (Philox2x32-10, keyed by SplitMix64), so
that the model is the committed one. Running statistics follow ONNX, which uses the
population's variance where PyTorch uses the sample's.

optimizers.json has every optimizer on one linear layer, in f64.

Needs numpy, onnx and torch. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import numpy_helper

HERE = pathlib.Path(__file__).resolve().parents[1] / "digits"
DIGITS = HERE.parents[2] / "runtime" / "examples" / "digits"
BATCH, STEPS = 64, 20

OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.05),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.02, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=1e-3),
    "adamw": lambda p: torch.optim.AdamW(p, lr=1e-3, weight_decay=0.01),
}


def philox(counter0, counter1, key):
    """Word 0 of Philox2x32-10 (Salmon et al., SC'11) for an array of counters."""
    mask = np.uint64(0xFFFFFFFF)
    c0, c1 = counter0.astype(np.uint64), np.full_like(counter0, counter1, np.uint64)
    for _ in range(10):
        product = c0 * np.uint64(0xD256D193)
        c0, c1 = (product >> np.uint64(32)) ^ np.uint64(key) ^ c1, product & mask
        key = (key + 0x9E3779B9) & 0xFFFFFFFF
    return c0


def mix(word):
    """One step of SplitMix64 (Steele et al., OOPSLA'14)."""
    mask = 2**64 - 1
    word = (word + 0x9E3779B97F4A7C15) & mask
    word = ((word ^ (word >> 30)) * 0xBF58476D1CE4E5B9) & mask
    word = ((word ^ (word >> 27)) * 0x94D049BB133111EB) & mask
    return word ^ (word >> 31)


def dropout(x, ratio, step, seed=0, op=0):
    key = mix(seed ^ mix(op)) >> 32
    words = philox(np.arange(x.numel(), dtype=np.uint64), step, key)
    kept = words >= np.uint64(int(ratio * 2**32))
    return x * torch.from_numpy(kept.reshape(x.shape)) / (1 - ratio)


class Net:
    """Runs the graph of an ONNX file with the ops of the digits models."""

    def __init__(self, name):
        self.graph = onnx.load(DIGITS / f"{name}.onnx").graph
        self.state = {
            i.name: torch.from_numpy(numpy_helper.to_array(i).copy())
            for i in self.graph.initializer
        }
        self.parameters = []
        for name, value in self.state.items():
            if "running" not in name and not name.endswith("ratio"):
                self.parameters.append(value.requires_grad_())

    def __call__(self, images, step=None):
        values = dict(self.state, images=images)
        for node in self.graph.node:
            x, *rest = [values[i] for i in node.input]
            a = {i.name: onnx.helper.get_attribute_value(i) for i in node.attribute}
            values[node.output[0]] = getattr(self, node.op_type)(x, rest, a, step)
        return values["logits"]

    def Flatten(self, x, rest, a, step):
        return x.flatten(1)

    def Gemm(self, x, rest, a, step):
        return F.linear(x, *rest)

    def LayerNormalization(self, x, rest, a, step):
        return F.layer_norm(x, x.shape[-1:], *rest, eps=a["epsilon"])

    def Gelu(self, x, rest, a, step):
        return F.gelu(x)

    def Dropout(self, x, rest, a, step):
        return x if step is None else dropout(x, float(rest[0]), step)

    def Conv(self, x, rest, a, step):
        return F.conv2d(x, *rest, padding=1)

    def BatchNormalization(self, x, rest, a, step):
        scale, bias, mean, var = rest
        if step is None:
            return F.batch_norm(x, mean, var, scale, bias, eps=a["epsilon"])
        with torch.no_grad():
            kept = a["momentum"]
            batch_var, batch_mean = torch.var_mean(x, (0, 2, 3), correction=0)
            mean.mul_(kept).add_(batch_mean, alpha=1 - kept)
            var.mul_(kept).add_(batch_var, alpha=1 - kept)
        return F.batch_norm(x, None, None, scale, bias, True, eps=a["epsilon"])

    def Relu(self, x, rest, a, step):
        return F.relu(x)

    def MaxPool(self, x, rest, a, step):
        return F.max_pool2d(x, 2)

    def Add(self, x, rest, a, step):
        return x + rest[0]

    def GlobalAveragePool(self, x, rest, a, step):
        return x.mean((2, 3), keepdim=True)


def train_digits(name, optimizer):
    train, test = (np.load(DIGITS / f"digits-{part}.npz") for part in ("train", "test"))
    net = Net(name)
    update = OPTIMIZERS[optimizer](net.parameters)
    losses, norms = [], []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        update.zero_grad()
        logits = net(torch.from_numpy(train["images"][part]), step)
        loss = F.cross_entropy(logits, torch.from_numpy(train["labels"][part]))
        loss.backward()
        losses.append(round(loss.item(), 7))
        norm = torch.sqrt(sum((p.grad.double() ** 2).sum() for p in net.parameters))
        norms.append(round(norm.item(), 7))
        update.step()
    with torch.no_grad():
        logits = net(torch.from_numpy(test["images"]))
        labels = torch.from_numpy(test["labels"])
        evaluation = F.cross_entropy(logits, labels).item()
        right = (logits.argmax(1) == labels).sum().item()
    return {
        "loss": losses,
        "grad_norm": norms,
        "eval_loss": round(evaluation, 7),
        "accuracy": right / len(labels),
    }


def optimizer_case(name, make, clip, accumulate, **options):
    random = np.random.default_rng(3)
    w = torch.from_numpy(random.uniform(-1, 1, (3, 2)).astype(np.float32)).double()
    b = torch.from_numpy(random.uniform(-1, 1, 2).astype(np.float32)).double()
    start = {"w": w.flatten().tolist(), "b": b.tolist()}
    parameters = [w.requires_grad_(), b.requires_grad_()]
    update = make(parameters)
    batches, losses, norms = [], [], []
    for step in range(5):
        update.zero_grad()
        for _ in range(accumulate):
            x = random.uniform(-1, 1, (4, 3))
            t = random.uniform(-1, 1, (4, 2))
            batches.append({"x": x.flatten().tolist(), "t": t.flatten().tolist()})
            loss = F.mse_loss(torch.from_numpy(x) @ w + b, torch.from_numpy(t))
            (loss / accumulate).backward()
            losses.append(loss.item())
        most = clip if clip else float("inf")
        norms.append(torch.nn.utils.clip_grad_norm_(parameters, most).item())
        update.step()
    return {
        "name": name,
        "options": dict(options, clipNorm=clip, accumulate=accumulate),
        "start": start,
        "batches": batches,
        "loss": losses,
        "grad_norm": norms,
        "end": {"w": w.flatten().tolist(), "b": b.tolist()},
    }


def optimizers():
    sgd, adam = torch.optim.SGD, torch.optim.Adam
    # Numbers that are not exact in binary, to test their rounding.
    kinds = [
        ("sgd", lambda p: sgd(p, lr=0.1), {}),
        ("sgd", lambda p: sgd(p, lr=0.1, weight_decay=0.03), {"weightDecay": 0.03}),
        ("momentum", lambda p: sgd(p, lr=0.1, momentum=0.9), {"momentum": 0.9}),
        (
            "momentum",
            lambda p: sgd(p, lr=0.1, momentum=0.8, nesterov=True, weight_decay=0.03),
            {"momentum": 0.8, "nesterov": True, "weightDecay": 0.03},
        ),
        ("adam", lambda p: adam(p, lr=0.1), {}),
        (
            "adam",
            lambda p: adam(p, lr=0.1, betas=(0.8, 0.99), weight_decay=0.03, eps=1e-3),
            {"beta1": 0.8, "beta2": 0.99, "weightDecay": 0.03, "epsilon": 1e-3},
        ),
        ("adamw", lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.01), {}),
        (
            "adamw",
            lambda p: torch.optim.AdamW(p, lr=0.1, weight_decay=0.3, eps=1e-3),
            {"weightDecay": 0.3, "epsilon": 1e-3},
        ),
    ]
    for number, (name, make, options) in enumerate(kinds):
        for clip, accumulate in ((0, 1), (0.4, 1), (0, 2), (0.4, 2)):
            options = dict(options, optimizer=name, lr=0.1)
            label = f"{name}{number}_clip{int(clip > 0)}_accumulate{accumulate}"
            yield optimizer_case(label, make, clip, accumulate, **options)


if __name__ == "__main__":
    torch.set_num_threads(1)
    digits = {
        name: {optimizer: train_digits(name, optimizer) for optimizer in OPTIMIZERS}
        for name in ("mlp", "cnn")
    }
    (HERE / "digits.json").write_text(json.dumps(digits, indent=1) + "\n")
    (HERE / "optimizers.json").write_text(json.dumps(list(optimizers())) + "\n")
