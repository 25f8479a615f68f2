"""Recurrent networks, scans and transformers of torch.nn."""
import torch
import torch.nn as nn
import torch.nn.functional as F
from registry import Then, family, floats, tokens

CLASSES = "softmax-cross-entropy"


class Recurrent(nn.Module):
    """Initial states are inputs if there are any; the head reads every step, or the last."""
    def __init__(self, net, last=False):
        super().__init__()
        self.net, self.last = net, last
        self.head = nn.Linear(net.hidden_size * (2 if net.bidirectional else 1), 5)

    def forward(self, x, *states):
        y, _ = self.net(x, (states if len(states) > 1 else states[0]) if states else None)
        return self.head(y[:, -1] if self.last else y)


def recurrent(kind, **options):
    return kind(6, 8, batch_first=True, **options)


@family(CLASSES, axis=2)
def lstm(n):
    return Recurrent(recurrent(nn.LSTM)), {"x": floats(n, 6, 6)}


@family(CLASSES, axis=2)
def lstm_bidirectional(n):
    return Recurrent(recurrent(nn.LSTM, num_layers=2, bidirectional=True)), {"x": floats(n, 5, 6)}


class Stateful(nn.Module):
    """In PyTorch the batch is the second dimension of a state; here it is the first, as in all inputs."""
    def __init__(self, kind):
        super().__init__()
        self.net, self.head = recurrent(kind), nn.Linear(8, 5)

    def forward(self, x, *states):
        states = [state[None] for state in states]
        y, last = self.net(x, tuple(states) if len(states) > 1 else states[0])
        last = sum(last) if len(states) > 1 else last
        return self.head(y[:, 0] + last[-1])


@family(CLASSES)
def lstm_states(n):
    return Stateful(nn.LSTM), {"x": floats(n, 5, 6), "h": floats(n, 8), "c": floats(n, 8)}


@family(CLASSES)
def gru_states(n):
    return Stateful(nn.GRU), {"x": floats(n, 5, 6), "h": floats(n, 8)}


@family(CLASSES, exporters="script dynamo optimized")
def gru(n):
    return Recurrent(recurrent(nn.GRU), last=True), {"x": floats(n, 6, 6)}


@family(CLASSES, axis=2)
def gru_bidirectional(n):
    return Recurrent(recurrent(nn.GRU, num_layers=2, bidirectional=True)), {"x": floats(n, 5, 6)}


@family(CLASSES, axis=2)
def rnn(n):
    return Recurrent(recurrent(nn.RNN, num_layers=2)), {"x": floats(n, 6, 6)}


@family(CLASSES, axis=2)
def rnn_relu(n):
    return Recurrent(recurrent(nn.RNN, nonlinearity="relu")), {"x": floats(n, 6, 6)}


class Cells(nn.Module):
    def __init__(self, cell):
        super().__init__()
        self.cell, self.head = cell, nn.Linear(8, 5)

    def forward(self, x):
        h = c = torch.zeros(x.shape[0], 8)
        outputs = []
        for step in range(x.shape[1]):
            if isinstance(self.cell, nn.LSTMCell):
                h, c = self.cell(x[:, step], (h, c))
            else:
                h = self.cell(x[:, step], h)
            outputs.append(h)
        return self.head(torch.stack(outputs, 1))


@family(CLASSES, axis=2)
def lstm_cells(n):
    return Cells(nn.LSTMCell(6, 8)), {"x": floats(n, 5, 6)}


@family(CLASSES, axis=2)
def gru_cells(n):
    return Cells(nn.GRUCell(6, 8)), {"x": floats(n, 5, 6)}


class TextClassifier(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(24, 6)
        self.net, self.head = recurrent(nn.LSTM, bidirectional=True), nn.Linear(16, 3)

    def forward(self, ids):
        _, (last, _) = self.net(self.table(ids))
        return self.head(torch.cat([last[0], last[1]], 1))


@family(CLASSES)
def lstm_text(n):
    return TextClassifier(), {"ids": tokens(n, 6)}


class Translator(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target, self.head = nn.Embedding(24, 6), nn.Embedding(24, 6), nn.Linear(16, 24)
        self.encoder, self.decoder = recurrent(nn.GRU), recurrent(nn.GRU)

    def forward(self, source, target):
        seen, state = self.encoder(self.source(source))
        y, _ = self.decoder(self.target(target), state)
        weights = torch.softmax(torch.bmm(y, seen.transpose(1, 2)), -1)
        return self.head(torch.cat([y, torch.bmm(weights, seen)], -1))


@family(CLASSES)
def seq2seq(n):
    return Translator(), {"source": tokens(n, 5), "target": tokens(n, 4)}


class Gated(nn.Module):
    """A causal dilated convolution with the gates of WaveNet."""
    def __init__(self, dilation):
        super().__init__()
        self.dilation, self.out = dilation, nn.Conv1d(8, 8, 1)
        self.filter, self.gate = (nn.Conv1d(8, 8, 2, dilation=dilation) for _ in range(2))

    def forward(self, x):
        past = F.pad(x, (self.dilation, 0))
        return x + self.out(torch.tanh(self.filter(past)) * torch.sigmoid(self.gate(past)))


@family("mse")
def wavenet(n):
    return nn.Sequential(nn.Conv1d(2, 8, 1), Gated(1), Gated(2), Gated(4), nn.Conv1d(8, 2, 1)), {"x": floats(n, 2, 16)}


class SelectiveScan(nn.Module):
    """A Mamba block with its scan as a loop."""
    def __init__(self):
        super().__init__()
        self.inner, self.conv = nn.Linear(8, 32), nn.Conv1d(16, 16, 4, padding=3, groups=16)
        self.parts, self.rate, self.head = nn.Linear(16, 10), nn.Linear(2, 16), nn.Linear(16, 8)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, 5.0).repeat(16, 1)))
        self.skip = nn.Parameter(torch.ones(16))

    def forward(self, x):
        length = x.shape[1]
        x, gate = self.inner(x).chunk(2, -1)
        x = F.silu(self.conv(x.transpose(1, 2))[..., :length].transpose(1, 2))
        rate, into, out = self.parts(x).split([2, 4, 4], -1)
        rate, decay = F.softplus(self.rate(rate)), -torch.exp(self.decay)
        state, outputs = torch.zeros(x.shape[0], 16, 4), []
        for t in range(length):
            d = rate[:, t, :, None]
            state = torch.exp(d * decay) * state + d * into[:, t, None, :] * x[:, t, :, None]
            outputs.append((state * out[:, t, None, :]).sum(-1))
        return self.head((torch.stack(outputs, 1) + x * self.skip) * F.silu(gate))


@family("mse")
def mamba(n):
    return SelectiveScan(), {"x": floats(n, 6, 8)}


class Wkv(nn.Module):
    """The recurrence of RWKV in the log domain."""
    def __init__(self):
        super().__init__()
        self.key, self.value, self.gate, self.head = (nn.Linear(8, 8) for _ in range(4))
        self.decay, self.bonus = nn.Parameter(torch.randn(8)), nn.Parameter(torch.randn(8))

    def forward(self, x):
        key, value, gate = self.key(x), self.value(x), torch.sigmoid(self.gate(x))
        above = below = torch.zeros(x.shape[0], 8)
        largest, outputs = torch.full((x.shape[0], 8), -1e38), []
        for t in range(x.shape[1]):
            k, v = key[:, t], value[:, t]
            q = torch.maximum(largest, self.bonus + k)
            a, b = torch.exp(largest - q), torch.exp(self.bonus + k - q)
            outputs.append((a * above + b * v) / (a * below + b))
            q = torch.maximum(largest - torch.exp(self.decay), k)
            a, b = torch.exp(largest - torch.exp(self.decay) - q), torch.exp(k - q)
            above, below, largest = a * above + b * v, a * below + b, q
        return self.head(gate * torch.stack(outputs, 1))


@family("mse")
def rwkv(n):
    return Wkv(), {"x": floats(n, 5, 8)}


class LinearAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(8, 8) for _ in range(3))

    def forward(self, x):
        q, k, v = F.elu(self.query(x)) + 1, F.elu(self.key(x)) + 1, self.value(x)
        sums = torch.cumsum(torch.einsum("btd,bte->btde", k, v), 1)
        norm = torch.einsum("btd,btd->bt", q, torch.cumsum(k, 1))
        return torch.einsum("btd,btde->bte", q, sums) / norm[..., None]


@family("mse")
def linear_attention(n):
    return LinearAttention(), {"x": floats(n, 6, 8)}


def layer(**options):
    return nn.TransformerEncoderLayer(16, 2, 24, dropout=0, batch_first=True, **options)


@family("mse")
def encoder_layers(n):
    return Then(nn.TransformerEncoder(layer(), 2), nn.Linear(16, 4)), {"x": floats(n, 5, 16)}


class CausalEncoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.tokens, self.positions, self.head = nn.Embedding(24, 16), nn.Embedding(8, 16), nn.Linear(16, 24)
        self.layers = nn.TransformerEncoder(layer(norm_first=True, activation="gelu"), 1)

    def forward(self, ids):
        length = ids.shape[1]
        x = self.tokens(ids) + self.positions(torch.arange(length))
        return self.head(self.layers(x, mask=nn.Transformer.generate_square_subsequent_mask(length), is_causal=True))


@family(CLASSES)
def causal_encoder(n):
    return CausalEncoder(), {"ids": tokens(n, 6)}


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.source, self.target, self.head = nn.Embedding(24, 16), nn.Embedding(24, 16), nn.Linear(16, 24)
        self.net = nn.Transformer(16, 2, 1, 1, 24, dropout=0, batch_first=True)

    def forward(self, source, target):
        future = torch.triu(torch.full((4, 4), float("-inf")), 1)
        return self.head(self.net(self.source(source), self.target(target), tgt_mask=future, tgt_is_causal=True))


@family(CLASSES)
def encoder_decoder(n):
    return Transformer(), {"source": tokens(n, 5), "target": tokens(n, 4)}


class Experts(nn.Module):
    """The best two of four experts, selected with a mask."""
    def __init__(self):
        super().__init__()
        self.gate, self.experts = nn.Linear(8, 4), nn.ModuleList([nn.Linear(8, 8) for _ in range(4)])

    def forward(self, x):
        scores = self.gate(x)
        values, places = torch.topk(scores, 2, -1)
        weights = torch.zeros_like(scores).scatter(1, places, torch.softmax(values, -1))
        return torch.stack([expert(x) for expert in self.experts], 1).mul(weights[..., None]).sum(1)


@family("mse", batch=8)
def mixture_of_experts(n):
    return Experts(), {"x": floats(n, 8)}


class Decomposed(nn.Module):
    """DLinear: a moving average and the remainder, with a linear layer for each."""
    def __init__(self):
        super().__init__()
        self.trend, self.rest = nn.Linear(12, 4), nn.Linear(12, 4)

    def forward(self, x):
        padded = torch.cat([x[:, :1].repeat(1, 2, 1), x, x[:, -1:].repeat(1, 2, 1)], 1)
        trend = F.avg_pool1d(padded.transpose(1, 2), 5, 1)
        return (self.trend(trend) + self.rest(x.transpose(1, 2) - trend)).transpose(1, 2)


@family("mse")
def dlinear(n):
    return Decomposed(), {"x": floats(n, 12, 3)}
