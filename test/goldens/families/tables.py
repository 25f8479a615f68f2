"""Recommenders, graphs, points, metrics and physics."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import family, floats, tokens

CLICK = "bce-with-logits"


class Dlrm(nn.Module):
    def __init__(self, bags):
        super().__init__()
        self.bottom = nn.Sequential(nn.Linear(6, 16), nn.ReLU(), nn.Linear(16, 8), nn.ReLU())
        self.tables = nn.ModuleList(
            [nn.EmbeddingBag(24, 8, mode="sum") if bags else nn.Embedding(24, 8) for _ in range(3)])
        self.top, self.bags = nn.Sequential(nn.Linear(8 + 6, 16), nn.ReLU(), nn.Linear(16, 1)), bags

    def forward(self, dense, sparse):
        x = self.bottom(dense)
        rows = [table(sparse[:, i:i + 1] if self.bags else sparse[:, i]) for i, table in enumerate(self.tables)]
        rows = torch.stack([x, *rows], 1)
        i, j = torch.tril_indices(4, 4, -1)
        return self.top(torch.cat([x, torch.bmm(rows, rows.transpose(1, 2))[:, i, j]], 1))


@family(CLICK, batch=8, exporters="script dynamo optimized")
def dlrm(n):
    return Dlrm(bags=False), {"dense": floats(n, 6), "sparse": tokens(n, 3)}


@family(CLICK, batch=8)
def dlrm_bags(n):
    return Dlrm(bags=True), {"dense": floats(n, 6), "sparse": tokens(n, 3)}


class Ncf(nn.Module):
    def __init__(self):
        super().__init__()
        self.users, self.items, self.deep_users, self.deep_items = (nn.Embedding(24, 8) for _ in range(4))
        self.deep, self.head = nn.Sequential(nn.Linear(16, 8), nn.ReLU()), nn.Linear(16, 1)

    def forward(self, user, item):
        deep = self.deep(torch.cat([self.deep_users(user), self.deep_items(item)], -1))
        return self.head(torch.cat([self.users(user) * self.items(item), deep], -1)).squeeze(-1)


def indices(n):
    return torch.randint(0, 24, (n,))


@family(CLICK, batch=8)
def ncf(n):
    return Ncf(), {"user": indices(n), "item": indices(n)}


class Bpr(nn.Module):
    """The difference of two scores; the loss treats it as a logit with target 1."""
    def __init__(self):
        super().__init__()
        self.users, self.items, self.bias = nn.Embedding(24, 8), nn.Embedding(24, 8), nn.Embedding(24, 1)

    def forward(self, user, liked, other):
        def score(item):
            return (self.users(user) * self.items(item)).sum(-1) + self.bias(item)[:, 0]
        return score(liked) - score(other)


@family(CLICK, batch=8)
def bpr(n):
    return Bpr(), {"user": indices(n), "liked": indices(n), "other": indices(n)}


class DeepCross(nn.Module):
    def __init__(self):
        super().__init__()
        self.table, self.head = nn.Embedding(24, 4), nn.Linear(24, 1)
        self.deep = nn.Sequential(nn.Linear(16, 8), nn.ReLU())
        self.weights = nn.ParameterList([nn.Parameter(torch.randn(16) * 0.2) for _ in range(2)])
        self.biases = nn.ParameterList([nn.Parameter(torch.randn(16) * 0.1) for _ in range(2)])
        self.register_buffer("offsets", torch.tensor([0, 8, 16]))

    def forward(self, sparse, dense):
        first = x = torch.cat([self.table(sparse + self.offsets).flatten(1), dense], 1)
        for weight, bias in zip(self.weights, self.biases):
            x = first * (x @ weight)[:, None] + bias + x
        return self.head(torch.cat([x, self.deep(first)], 1))


@family(CLICK, batch=8)
def deep_cross(n):
    return DeepCross(), {"sparse": tokens(n, 3, high=8), "dense": floats(n, 4)}


class FactorizationMachine(nn.Module):
    def __init__(self):
        super().__init__()
        self.pairs, self.linear = nn.Embedding(24, 8), nn.Embedding(24, 1)

    def forward(self, sparse):
        rows = self.pairs(sparse)
        return self.linear(sparse).sum(1)[:, 0] + 0.5 * (rows.sum(1) ** 2 - (rows ** 2).sum(1)).sum(1)


@family(CLICK, batch=8)
def factorization_machine(n):
    return FactorizationMachine(), {"sparse": tokens(n, 4)}


class WideDeep(nn.Module):
    def __init__(self):
        super().__init__()
        self.wide, self.table, self.deep = nn.Linear(24, 1), nn.Embedding(24, 8), nn.Linear(8, 1)

    def forward(self, sparse):
        return self.wide(F.one_hot(sparse, 24).float()) + self.deep(self.table(sparse))


@family(CLICK, batch=8)
def wide_deep(n):
    return WideDeep(), {"sparse": indices(n)}


class Word2Vec(nn.Module):
    def __init__(self):
        super().__init__()
        self.centers, self.contexts = nn.Embedding(24, 8), nn.Embedding(24, 8)

    def forward(self, center, context):
        return torch.bmm(self.contexts(context), self.centers(center).unsqueeze(2)).squeeze(2)


@family(CLICK, batch=8)
def word2vec(n):
    return Word2Vec(), {"center": indices(n), "context": tokens(n, 5)}


class DenseGcn(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 12), nn.Linear(12, 3)

    def forward(self, x, edges):
        scale = edges.sum(-1).clamp(min=1).rsqrt()
        edges = scale[:, :, None] * edges * scale[:, None, :]
        return edges @ self.second(F.relu(edges @ self.first(x)))


def adjacency(n):
    return ((torch.rand(n, 8, 8) < 0.4) | torch.eye(8).bool()).float()


@family("softmax-cross-entropy", axis=2)
def gcn_dense(n):
    return DenseGcn(), {"x": floats(n, 8, 6), "edges": adjacency(n)}


class ScatterGcn(nn.Module):
    """Edges are pairs of nodes; messages are summed at their targets."""
    def __init__(self):
        super().__init__()
        self.message, self.update = nn.Linear(6, 12), nn.Linear(12, 3)

    def forward(self, x, source, goal):
        messages = self.message(torch.gather(x, 1, source[..., None].expand(-1, -1, 6)))
        places = goal[..., None].expand(-1, -1, 12)
        sums = torch.zeros(x.shape[0], 8, 12, dtype=messages.dtype).scatter_add(1, places, messages)
        count = torch.zeros(x.shape[0], 8).scatter_add(1, goal, torch.ones(goal.shape)).clamp(min=1)
        return self.update(F.relu(sums / count[..., None]))


@family("softmax-cross-entropy", axis=2)
def gcn_scatter(n):
    return ScatterGcn(), {"x": floats(n, 8, 6), "source": tokens(n, 20, high=8), "goal": tokens(n, 20, high=8)}


class GraphAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.rows, self.goal, self.source = nn.Linear(6, 12), nn.Linear(12, 1), nn.Linear(12, 1)

    def forward(self, x, edges):
        h = self.rows(x)
        scores = F.leaky_relu(self.goal(h) + self.source(h).transpose(1, 2), 0.2)
        scores = torch.where(edges > 0, scores, torch.full_like(scores, -9e15))
        return F.elu(torch.softmax(scores, -1) @ h)


@family("mse")
def graph_attention(n):
    return GraphAttention(), {"x": floats(n, 8, 6), "edges": adjacency(n)}


class PointNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.points = nn.Sequential(nn.Conv1d(3, 8, 1), nn.BatchNorm1d(8), nn.ReLU(), nn.Conv1d(8, 16, 1))
        self.turn, self.head = nn.Linear(16, 9), nn.Linear(16, 5)

    def forward(self, x):
        turn = self.turn(self.points(x).max(2)[0]).view(-1, 3, 3) + torch.eye(3)
        return self.head(self.points(torch.bmm(x.transpose(1, 2), turn).transpose(1, 2)).max(2)[0])


@family("softmax-cross-entropy", batch=8)
def pointnet(n):
    return PointNet(), {"x": floats(n, 3, 16)}


class Siamese(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(36, 8))

    def forward(self, a, b):
        return F.pairwise_distance(self.net(a), self.net(b))


@family("mse", batch=8)
def siamese(n):
    return Siamese(), {"a": floats(n, 1, 8, 8), "b": floats(n, 1, 8, 8)}


class Triplet(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 8))

    def forward(self, anchor, near, far):
        anchor, near, far = (F.normalize(self.net(x).float(), dim=-1) for x in (anchor, near, far))
        return F.pairwise_distance(anchor, near) - F.pairwise_distance(anchor, far) + F.cosine_similarity(anchor, far)


@family(CLICK, batch=8)
def triplet(n):
    return Triplet(), {"anchor": floats(n, 8), "near": floats(n, 8), "far": floats(n, 8)}


class Contrastive(nn.Module):
    """Similarities of all pairs in a batch, with a learned temperature."""
    def __init__(self):
        super().__init__()
        self.first, self.second, self.scale = nn.Linear(8, 6), nn.Linear(10, 6), nn.Parameter(torch.tensor(1.0))

    def forward(self, x, y):
        x, y = self.first(x), self.second(y)
        x, y = x / x.norm(dim=1, keepdim=True), y / y.norm(dim=1, keepdim=True)
        return self.scale.exp() * x @ y.t()


@family("softmax-cross-entropy", batch=8)
def contrastive(n):
    return Contrastive(), {"x": floats(n, 8), "y": floats(n, 10)}


class Nerf(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(15, 16), nn.ReLU(), nn.Linear(16, 16), nn.ReLU())
        self.head = nn.Linear(31, 4)

    def forward(self, x):
        code = torch.cat([x, *[wave(x * scale) for scale in (1, 2) for wave in (torch.sin, torch.cos)]], -1)
        y = self.head(torch.cat([self.net(code), code], -1))
        density = F.softplus(y[..., 3]) * 0.3
        seen = torch.exp(density - torch.cumsum(density, 1))
        return (((1 - torch.exp(-density)) * seen)[..., None] * torch.sigmoid(y[..., :3])).sum(1)


@family("mse", batch=8)
def nerf(n):
    return Nerf(), {"x": floats(n, 5, 3)}


class Siren(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.head = nn.Linear(2, 16), nn.Linear(16, 16), nn.Linear(16, 1)

    def forward(self, x):
        return self.head(torch.sin(self.second(torch.sin(2 * self.first(x)))))


@family("mse", batch=8)
def siren(n):
    return Siren(), {"x": floats(n, 2)}


class Field(nn.Module):
    """The right side of a differential equation, and its steps."""
    def __init__(self, method):
        super().__init__()
        self.net, self.method = nn.Sequential(nn.Linear(5, 16), nn.Tanh(), nn.Linear(16, 4)), method

    def slope(self, time, y):
        return self.net(torch.cat([y, torch.full_like(y[:, :1], time)], 1))

    def euler(self, time, y, step):
        return y + step * self.slope(time, y)

    def rk4(self, time, y, step):
        a = self.slope(time, y)
        b = self.slope(time + step / 2, y + step / 2 * a)
        c = self.slope(time + step / 2, y + step / 2 * b)
        d = self.slope(time + step, y + step * c)
        return y + step / 6 * (a + 2 * b + 2 * c + d)

    def forward(self, y):
        path = []
        for i in range(3):
            y = getattr(self, self.method)(0.25 * i, y, 0.25)
            path.append(y)
        return torch.stack(path, 1)


@family("mse", batch=8)
def ode_euler(n):
    return Field("euler"), {"x": floats(n, 4)}


@family("mse", batch=8)
def ode_rk4(n):
    return Field("rk4"), {"x": floats(n, 4)}


class Flow(nn.Module):
    """Two affine couplings and the logarithm of their Jacobian determinant."""
    def __init__(self):
        super().__init__()
        self.nets = nn.ModuleList([nn.Sequential(nn.Linear(3, 12), nn.ReLU(), nn.Linear(12, 6)) for _ in range(2)])

    def forward(self, x):
        determinant = 0
        for net in self.nets:
            kept, moved = x.chunk(2, 1)
            shift, scale = net(kept).chunk(2, 1)
            scale = torch.tanh(scale)
            x, determinant = torch.cat([moved * torch.exp(scale) + shift, kept], 1), determinant + scale.sum(1)
        return determinant - 0.5 * (x ** 2).sum(1)


@family("mse", batch=8)
def normalizing_flow(n):
    return Flow(), {"x": floats(n, 6)}


class Policy(nn.Module):
    """A dueling network, and a squashed Gaussian with the noise as an input."""
    def __init__(self):
        super().__init__()
        self.body, self.value, self.advantage = nn.Linear(6, 16), nn.Linear(16, 1), nn.Linear(16, 4)
        self.mean, self.spread = nn.Linear(16, 2), nn.Linear(16, 2)

    def forward(self, x, noise):
        h = torch.tanh(self.body(x))
        advantage, spread = self.advantage(h), self.spread(h).clamp(-5, 2)
        action = torch.tanh(self.mean(h) + spread.exp() * noise)
        chance = (-0.5 * noise ** 2 - spread - torch.log(1 - action ** 2 + 1e-4)).sum(1, keepdim=True)
        return torch.cat([self.value(h) + advantage - advantage.mean(1, keepdim=True), action, chance], 1)


@family("mse", batch=8)
def policy(n):
    return Policy(), {"x": floats(n, 6), "noise": floats(n, 2)}
