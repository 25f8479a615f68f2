"""Tables: perceptron, recommender, and a transformer over columns."""
import torch
from torch import nn
from torch.nn import functional

from .case import Case, classes


def perceptron(*widths):
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def mlp(batch=256, width=1024, layers=4, count=10):
    module = perceptron(*[width] * layers, count)
    return Case(module, {"x": torch.randn(batch, width)}, classes(batch, count=count))


class Dlrm(nn.Module):
    def __init__(self, numbers, tables, rows, width):
        super().__init__()
        self.tables = nn.ModuleList(nn.Embedding(rows, width) for _ in range(tables))
        self.bottom = nn.Sequential(perceptron(numbers, 512, 256, width), nn.ReLU())
        left, right = torch.tril_indices(tables + 1, tables + 1, -1)
        self.register_buffer("pairs", left * (tables + 1) + right, persistent=False)
        self.top = perceptron(width + len(left), 512, 256, 1)

    def forward(self, numbers, choices):
        dense = self.bottom(numbers)
        rows = [table(choices[:, i]) for i, table in enumerate(self.tables)]
        vectors = torch.stack([dense, *rows], 1)
        products = torch.matmul(vectors, vectors.transpose(1, 2)).flatten(1)
        return self.top(torch.cat([dense, products[:, self.pairs]], 1)).squeeze(1)


def dlrm(batch=256, numbers=13, tables=26, rows=10000, width=32):
    inputs = {
        "numbers": torch.randn(batch, numbers),
        "choices": torch.randint(rows, (batch, tables)),
    }
    clicked = torch.randint(2, (batch,)).float()
    return Case(Dlrm(numbers, tables, rows, width), inputs, clicked, "bce-with-logits")


class ColumnBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(2 * width, width)

    def attend(self, x):
        batch, columns, width = x.shape
        q, k, v = (
            part.view(batch, columns, self.heads, -1).transpose(1, 2)
            for part in self.qkv(x).chunk(3, -1)
        )
        mixed = functional.scaled_dot_product_attention(q, k, v)
        return self.out(mixed.transpose(1, 2).reshape(batch, columns, width))

    def forward(self, x):
        x = x + self.attend(self.norm1(x))
        value, gate = self.up(self.norm2(x)).chunk(2, -1)
        return x + self.down(value * functional.relu(gate))


class FtTransformer(nn.Module):
    """A token for each column and one for the result; ReGLU, as in the paper."""

    def __init__(self, numbers, choices, rows, width, layers, heads):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(numbers, width) * 0.1)
        self.shift = nn.Parameter(torch.randn(numbers, width) * 0.1)
        self.table = nn.Embedding(choices * rows, width)
        self.register_buffer("starts", rows * torch.arange(choices), persistent=False)
        self.result = nn.Parameter(torch.randn(1, 1, width) * 0.1)
        self.blocks = nn.Sequential(*[ColumnBlock(width, heads) for _ in range(layers)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1)

    def forward(self, numbers, choices):
        columns = numbers[:, :, None] * self.scale + self.shift
        rows = self.table(choices + self.starts)
        result = self.result.expand(numbers.shape[0], -1, -1)
        x = self.blocks(torch.cat([result, columns, rows], 1))
        return self.head(functional.relu(self.norm(x[:, 0])))


def ft_transformer(batch=256, numbers=24, choices=8, rows=100):
    inputs = {
        "numbers": torch.randn(batch, numbers),
        "choices": torch.randint(rows, (batch, choices)),
    }
    module = FtTransformer(numbers, choices, rows, 192, 3, 8)
    return Case(module, inputs, torch.randn(batch, 1), "mse")
