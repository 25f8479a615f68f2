"""Graphs and point clouds."""
import torch
from torch import nn
from torch.nn import functional

from .case import Case, classes


class Gcn(nn.Module):
    """Three graph convolutions as products with the normalized adjacency matrix."""

    def __init__(self, features, width, count):
        super().__init__()
        widths = [features, width, width, count]
        self.layers = nn.ModuleList(nn.Linear(*pair) for pair in zip(widths, widths[1:]))

    def forward(self, adjacency, x):
        for layer in self.layers[:-1]:
            x = functional.relu(adjacency @ layer(x))
        return adjacency @ self.layers[-1](x)


def gcn(nodes=2048, features=512, width=256, count=16):
    linked = (torch.rand(nodes, nodes) < 8 / nodes).float()
    linked = ((linked + linked.t()) > 0).float() + torch.eye(nodes)
    degrees = linked.sum(1).rsqrt()
    inputs = {
        "adjacency": degrees[:, None] * linked * degrees,
        "nodes": torch.randn(nodes, features),
    }
    return Case(Gcn(features, width, count), inputs, classes(nodes, count=count))


def layer(before, after, kind=nn.Conv1d):
    product = kind(before, after, 1) if kind is nn.Conv1d else kind(before, after)
    return [product, nn.BatchNorm1d(after), nn.ReLU()]


class Transform(nn.Module):
    """A square matrix for each cloud, the identity plus a function of all its points."""

    def __init__(self, size):
        super().__init__()
        self.size = size
        self.points = nn.Sequential(*layer(size, 64), *layer(64, 128), *layer(128, 1024))
        self.cloud = nn.Sequential(
            *layer(1024, 512, nn.Linear),
            *layer(512, 256, nn.Linear),
            nn.Linear(256, size * size),
        )

    def forward(self, x):
        matrix = self.cloud(self.points(x).amax(2)).reshape(-1, self.size, self.size)
        return torch.matmul(matrix + torch.eye(self.size, device=x.device), x)


class PointNet(nn.Module):
    def __init__(self, count):
        super().__init__()
        self.turn, self.turn_features = Transform(3), Transform(64)
        self.first = nn.Sequential(*layer(3, 64), *layer(64, 64))
        self.points = nn.Sequential(*layer(64, 64), *layer(64, 128), *layer(128, 1024))
        self.cloud = nn.Sequential(
            *layer(1024, 512, nn.Linear),
            *layer(512, 256, nn.Linear),
            nn.Linear(256, count),
        )

    def forward(self, x):
        x = self.turn_features(self.first(self.turn(x)))
        return self.cloud(self.points(x).amax(2))


def pointnet(batch=16, points=1024, count=40):
    inputs = {"points": torch.randn(batch, 3, points)}
    return Case(PointNet(count), inputs, classes(batch, count=count), rate=1e-6)
