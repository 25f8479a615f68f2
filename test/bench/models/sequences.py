"""Sequences: recurrent and convolutional networks, and a mixture of experts."""
import torch
from torch import nn
from torch.nn import functional

from .case import Case, classes


class Recurrent(nn.Module):
    """Two layers and a class for each time step, as for phonemes."""

    def __init__(self, kind, features, width, count):
        super().__init__()
        self.layers = kind(features, width, num_layers=2, batch_first=True)
        self.head = nn.Linear(width, count)

    def forward(self, x):
        return self.head(self.layers(x)[0])


def recurrent(kind, batch, length, width, features=80, count=48):
    inputs = {"sound": torch.randn(batch, length, features)}
    labels = classes(batch, length, count=count)
    return Case(Recurrent(kind, features, width, count), inputs, labels)


def lstm(batch=32, length=64, width=256):
    return recurrent(nn.LSTM, batch, length, width)


def gru(batch=32, length=64, width=256):
    return recurrent(nn.GRU, batch, length, width)


class CausalBlock(nn.Module):
    def __init__(self, width, dilation, kernel=3):
        super().__init__()
        self.padding = (kernel - 1) * dilation
        self.conv1 = nn.Conv1d(width, width, kernel, dilation=dilation)
        self.conv2 = nn.Conv1d(width, width, kernel, dilation=dilation)

    def forward(self, x):
        inner = functional.relu(self.conv1(functional.pad(x, (self.padding, 0))))
        inner = functional.relu(self.conv2(functional.pad(inner, (self.padding, 0))))
        return functional.relu(x + inner)


class Tcn(nn.Module):
    def __init__(self, features, width, levels, count):
        super().__init__()
        self.first = nn.Conv1d(features, width, 1)
        self.blocks = nn.Sequential(*[CausalBlock(width, 1 << i) for i in range(levels)])
        self.head = nn.Linear(width, count)

    def forward(self, x):
        return self.head(self.blocks(self.first(x))[:, :, -1])


def tcn(batch=32, length=256, features=16, count=10):
    inputs = {"signal": torch.randn(batch, features, length)}
    return Case(Tcn(features, 64, 8, count), inputs, classes(batch, count=count))


class Experts(nn.Module):
    """Computes all experts for each token, weighted by the router; weights of all but
    the best two are zero."""

    def __init__(self, width, experts=8, best=2):
        super().__init__()
        self.best = best
        self.router = nn.Linear(width, experts, bias=False)
        self.up = nn.Parameter(torch.randn(experts, width, 2 * width) * width**-0.5)
        self.down = nn.Parameter(torch.randn(experts, 2 * width, width) * width**-0.5)

    def forward(self, x):
        tokens = x.flatten(0, 1)
        scores = self.router(tokens)
        values, chosen = scores.topk(self.best, -1)
        best = values.softmax(-1).type_as(scores)  # Autocast computes softmax in f32.
        weights = torch.zeros_like(scores).scatter(-1, chosen, best)
        inner = functional.gelu(torch.matmul(tokens, self.up))
        outputs = torch.matmul(inner, self.down)
        return (outputs * weights.t().unsqueeze(-1)).sum(0).reshape(x.shape)


class MoeBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.experts = Experts(width)

    def attend(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).reshape(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*qkv.unbind(0), is_causal=True)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        return x + self.experts(self.norm2(x))


class Moe(nn.Module):
    def __init__(self, width, layers, heads, vocabulary, length):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.places = nn.Parameter(torch.randn(length, width) * 0.02)
        self.blocks = nn.Sequential(*[MoeBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, vocabulary)

    def forward(self, tokens):
        x = self.words(tokens) + self.places
        return self.head(self.norm(self.blocks(x)))


def moe(batch=4, length=128, vocabulary=4096):
    tokens = classes(batch, length + 1, count=vocabulary)
    inputs = {"tokens": tokens[:, :-1].contiguous()}
    module = Moe(256, 4, 4, vocabulary, length)
    return Case(module, inputs, tokens[:, 1:].contiguous())
