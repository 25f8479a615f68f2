#!/usr/bin/env python3
"""Writes transformers/: small models as PyTorch's two exporters write them.

A GPT, the attention of which is written out, with a mask, or scaled_dot_product_attention;
and PyTorch's own encoder layer. The TorchScript exporter gives ONNX's opset 18, the other
one 23. transformers.json has 20 steps of training in PyTorch from the exported weights, in
f32 and in file order.

Needs numpy, onnx, onnxscript and torch 2.13. The results are in the repository.
"""
import json
import math
import pathlib

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parents[1] / "transformers"
VOCABULARY, LENGTH, WIDTH, HEADS, LAYERS = 13, 8, 16, 2, 2
BATCH, STEPS, RATE = 4, 20, 0.01


class Block(nn.Module):
    def __init__(self, written_out):
        super().__init__()
        self.before, self.between = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.heads, self.join = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.written_out = written_out

    def attention(self, q, k, v):
        if not self.written_out:
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)
        scores = (q @ k.transpose(-2, -1)) * (1 / math.sqrt(k.size(-1)))
        mask = torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH)
        return F.softmax(scores.masked_fill(mask == 0, float("-inf")), -1) @ v

    def forward(self, x):
        batch, length, width = x.shape
        parts = self.heads(self.before(x)).split(width, dim=2)
        q, k, v = [p.view(batch, length, HEADS, -1).transpose(1, 2) for p in parts]
        y = self.attention(q, k, v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.join(y)
        return x + self.down(F.gelu(self.up(self.between(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, written_out):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*[Block(written_out) for _ in range(LAYERS)])
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x))).transpose(1, 2) # Classes second.


def make(kind):
    torch.manual_seed(1)
    if kind == "encoder":
        model = nn.TransformerEncoderLayer(WIDTH, HEADS, 2 * WIDTH, dropout=0, batch_first=True)
    else:
        model = Gpt(written_out=kind == "plain")
    with torch.no_grad(): # The TorchScript exporter merges equal parameters.
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return model


def export(model, example, name, dynamo):
    path = HERE / f"{name}.onnx"
    options = dict(opset_version=23, optimize=True, external_data=False) if dynamo else dict(
        opset_version=18, do_constant_folding=False)
    # In training mode the encoder layer uses separate ops; without dropout the result is the same.
    torch.onnx.export(model, (example,), path, input_names=["x"], output_names=["y"],
                      dynamo=dynamo, training=torch.onnx.TrainingMode.TRAINING, **options)
    proto = onnx.load(path)
    for node in proto.graph.node: # Remove local paths and stack traces.
        node.ClearField("metadata_props")
        node.ClearField("doc_string")
    onnx.save(proto, path)


def keep_classes_last(name, to):
    """Logits [B, T, V], like those of most language models: without the last Transpose."""
    proto = onnx.load(HERE / f"{name}.onnx")
    last, output = proto.graph.node[-1], proto.graph.output[0]
    assert last.op_type == "Transpose" and last.output[0] == output.name
    for node in proto.graph.node:
        for i, result in enumerate(node.output):
            if result == last.input[0]:
                node.output[i] = output.name
    del proto.graph.node[-1]
    dims = output.type.tensor_type.shape.dim
    dims[1].CopyFrom(onnx.TensorShapeProto.Dimension(dim_value=LENGTH))
    dims[2].CopyFrom(onnx.TensorShapeProto.Dimension(dim_value=VOCABULARY))
    onnx.save(proto, HERE / f"{to}.onnx")


def train(model, data, criterion):
    update = torch.optim.AdamW(model.parameters(), lr=RATE, weight_decay=0.01)
    inputs, targets = [torch.from_numpy(values) for values in data.values()]
    losses, norms = [], []
    for step in range(STEPS):
        part = slice(step * BATCH, (step + 1) * BATCH)
        update.zero_grad()
        loss = criterion(model(inputs[part]), targets[part])
        loss.backward()
        losses.append(round(loss.item(), 7))
        norm = torch.sqrt(sum((p.grad.double() ** 2).sum() for p in model.parameters()))
        norms.append(round(norm.item(), 7))
        update.step()
    return {"loss": losses, "grad_norm": norms}


def main():
    HERE.mkdir(exist_ok=True)
    random = np.random.default_rng(1)
    text = random.integers(0, VOCABULARY, (STEPS * BATCH, LENGTH))
    texts = {"x": text, "labels": (text + np.roll(text, 1, 1)) % VOCABULARY}
    signals = {name: random.standard_normal((STEPS * BATCH, LENGTH, WIDTH), np.float32)
               for name in ("x", "targets")}
    np.savez(HERE / "texts.npz", **texts)
    np.savez(HERE / "signals.npz", **signals)
    for name in ("plain-script", "plain-dynamo", "sdpa-script", "sdpa-dynamo",
                 "encoder-dynamo"): # The TorchScript exporter fails on the encoder layer.
        kind, exporter = name.split("-")
        example = signals["x"] if kind == "encoder" else text
        export(make(kind), torch.from_numpy(example[:BATCH]), name, exporter == "dynamo")
    keep_classes_last("plain-script", "logits-script")
    golden = {"gpt": {"adamw": train(make("plain"), texts, F.cross_entropy)},
              "encoder": {"adamw": train(make("encoder"), signals, F.mse_loss)}}
    (HERE / "transformers.json").write_text(json.dumps(golden, indent=1) + "\n")


if __name__ == "__main__":
    main()
