#!/usr/bin/env python3
"""Writes detach/: models of which PyTorch trains less than the graph suggests.

An actor with its critic: hidden numbers are rounded, and their gradients pass straight
through; the advantage is detached, and with it a second critic. And a model of texts whose
table of tokens, which is its last layer, too, has a padding row. detach.json has 20 steps
of training in PyTorch from the exported weights, in f32 and in file order.

Needs numpy, onnx, onnxscript and torch 2.13. The results are in the repository.
"""
import json
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parents[1] / "detach"
BATCH, STEPS, RATE, WIDTH, ACTIONS = 8, 20, 0.01, 16, 4
VOCABULARY, LENGTH, PADDING = 13, 8, 3


class Actor(nn.Module):
    def __init__(self):
        super().__init__()
        self.body, self.policy = nn.Linear(6, WIDTH), nn.Linear(WIDTH, ACTIONS)
        self.critic, self.judge = nn.Linear(WIDTH, 1), nn.Linear(6, 1)

    def forward(self, x, action, reward):
        hidden = torch.tanh(self.body(x))
        rest = (torch.round(4 * hidden) / 4 - hidden).detach()
        hidden = hidden + rest
        value = self.critic(hidden).squeeze(1)
        advantage = (reward - 0.5 * (value + self.judge(x).squeeze(1))).detach()
        log = F.log_softmax(self.policy(hidden), 1).gather(1, action[:, None]).squeeze(1)
        error = value - reward
        return (error * error - log * advantage).mean(), advantage, rest


class Texts(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens = nn.Embedding(VOCABULARY, WIDTH, padding_idx=PADDING)
        self.mix = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return torch.tanh(self.mix(self.tokens(x))) @ self.tokens.weight.T


def export(model, examples, name, inputs, outputs):
    path = HERE / f"{name}.onnx"
    torch.onnx.export(model, examples, path, input_names=inputs, output_names=outputs,
                      opset_version=18, optimize=False, external_data=False)
    proto = onnx.load(path)
    for node in proto.graph.node: # Remove local paths and stack traces.
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    onnx.save(proto, path)


def train(model, data, loss_of):
    update = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    tensors = [torch.from_numpy(values) for values in data.values()]
    losses, norms = [], []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        update.zero_grad()
        loss = loss_of(model, *(tensor[part] for tensor in tensors))
        loss.backward()
        losses.append(round(loss.item(), 7))
        grads = [p.grad.double() for p in model.parameters() if p.grad is not None]
        norms.append(round(torch.sqrt(sum((g**2).sum() for g in grads)).item(), 7))
        update.step()
    return {"adamw": {"loss": losses, "grad_norm": norms}}


def main():
    HERE.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    torch.manual_seed(1)
    count = STEPS * BATCH
    plays = {"x": random.standard_normal((count, 6), np.float32),
             "action": random.integers(0, ACTIONS, count),
             "reward": random.standard_normal(count, np.float32)}
    texts = {"x": random.integers(0, VOCABULARY, (count, LENGTH))}
    texts["x"][random.random((count, LENGTH)) < 0.3] = PADDING
    texts["labels"] = np.roll(texts["x"], 1, 1)
    np.savez(HERE / "plays.npz", **plays)
    np.savez(HERE / "texts.npz", **texts)
    golden = {}
    for name, model, data, outputs, loss_of in [
        ("actor", Actor(), plays, ["loss", "advantage", "rest"], lambda m, *a: m(*a)[0]),
        ("padded", Texts(), texts, ["logits"],
         lambda m, x, y: F.cross_entropy(m(x).flatten(0, 1), y.flatten())),
    ]:
        with torch.no_grad(): # Including the padding row, which is zero in PyTorch.
            for parameter in model.parameters():
                parameter.add_(0.05 * torch.randn_like(parameter))
        inputs = [key for key in data if key != "labels"]
        examples = tuple(torch.from_numpy(data[key][:BATCH]) for key in inputs)
        export(model, examples, name, inputs, outputs)
        golden[name] = train(model, data, loss_of)
    (HERE / "detach.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
