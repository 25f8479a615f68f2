"""mpc.from_torch: losses of 60 steps are those of PyTorch, with what the module says."""

import copy
import unittest
import warnings

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

import mpc

BATCH, STEPS = 8, 60


class Tied(nn.Module):
    """Tied embeddings, one of whose rows is padding."""

    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 16, padding_idx=0)
        self.hidden = nn.Linear(16, 16)
        self.head = nn.Linear(16, 12, bias=False)
        self.head.weight = self.embedding.weight

    def forward(self, tokens):
        return self.head(torch.tanh(self.hidden(self.embedding(tokens).mean(1))))


class Padded(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 8, padding_idx=3)
        self.head = nn.Linear(8, 5)

    def forward(self, tokens):
        return self.head(self.embedding(tokens).sum(1))


class Detached(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second, self.third = nn.Linear(6, 8), nn.Linear(8, 5), nn.Linear(8, 5)

    def forward(self, x):
        h = torch.relu(self.first(x))
        return self.second(h.detach()) + self.third(torch.tanh(h).detach() + x[:, :1])


class Buffers(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(6, 5)
        self.register_buffer("scale", torch.linspace(0.5, 1.5, 6))

    def forward(self, x):
        return self.linear(x * self.scale)


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(12, 16)
        self.attention = nn.MultiheadAttention(16, 2, batch_first=True)
        self.norm = nn.LayerNorm(16)
        self.head = nn.Linear(16, 5)

    def forward(self, tokens):
        x = self.embedding(tokens)
        x = self.norm(x + self.attention(x, x, x, need_weights=False)[0])
        return self.head(x.mean(1))


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(1, 8, 3, padding=1)
        self.conv = nn.Conv2d(8, 8, 3, padding=1)
        self.norm = nn.GroupNorm(2, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        x = self.stem(x)
        x = F.silu(self.norm(x + self.conv(x)))
        return self.head(x.mean((2, 3)))


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(6, 8, batch_first=True)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.gru(x)[0][:, -1])


class TwoInputs(nn.Module):
    def __init__(self):
        super().__init__()
        self.left, self.right = nn.Linear(6, 5), nn.Linear(4, 5)

    def forward(self, a, b):
        return self.left(a) * torch.sigmoid(self.right(b))


def mlp():
    return nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 5))


def convolutional():
    return nn.Sequential(nn.Conv2d(1, 6, 3), nn.BatchNorm2d(6), nn.ReLU(), nn.MaxPool2d(2),
                         nn.Flatten(), nn.Linear(54, 5))


def with_frozen_norm():
    """Its BatchNorm is in evaluation mode, the rest in training mode."""
    model = convolutional()
    with torch.no_grad():
        model[1].running_mean.uniform_(-0.2, 0.2)
        model[1].running_var.uniform_(0.5, 2)
    model[1].eval()
    return model


class TwoNorms(nn.Module):
    """One in training mode, one in evaluation mode."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 5)
        self.trained, self.kept = nn.BatchNorm1d(8), nn.BatchNorm1d(8)
        with torch.no_grad():
            self.kept.running_var.uniform_(0.5, 2)
        self.kept.eval()

    def forward(self, x):
        return self.second(torch.relu(self.kept(self.trained(self.first(x)))))


def with_frozen_layer():
    model = mlp()
    model[0].requires_grad_(False)
    return model


def without_dropout():
    return nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.5), nn.Linear(16, 5)).eval()


def features(*shape):
    return lambda: (torch.randn(BATCH, *shape),)


def tokens():
    return (torch.randint(0, 12, (BATCH, 7)),)


# Biases whose gradients are zero but for rounding, which Adam makes steps of; the means that they
# move; and variances, which ONNX does not correct by n / (n - 1), of small batches.
WITHOUT_GRADIENT = {
    "attention": ("attention.in_proj_bias",),
    "convolutional": ("0.bias", "1.running_mean"),
    "two batch norms": ("first.bias", "trained.running_mean", "trained.running_var"),
}
CASES = {
    "mlp": (mlp, features(6), 5),
    "convolutional": (convolutional, features(1, 8, 8), 5),
    "batch norm in evaluation mode": (with_frozen_norm, features(1, 8, 8), 5),
    "two batch norms": (TwoNorms, features(6), 5),
    "frozen layer": (with_frozen_layer, features(6), 5),
    "no dropout in evaluation mode": (without_dropout, features(6), 5),
    "tied weights with padding": (Tied, tokens, 12),
    "padding_idx": (Padded, tokens, 5),
    "detach": (Detached, features(6), 5),
    "buffers": (Buffers, features(6), 5),
    "attention": (Attention, tokens, 5),
    "group norm": (Residual, features(1, 8, 8), 5),
    "gru": (Recurrent, features(4, 6), 5),
    "two inputs": (TwoInputs, lambda: (torch.randn(BATCH, 6), torch.randn(BATCH, 4)), 5),
}


def compile_quietly(module, inputs, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mpc.CompileNote)
        return mpc.from_torch(module, inputs, loss="cross-entropy", precision="fp32", **options)


class FromTorch(unittest.TestCase):
    def test_trains_as_torch(self):
        for case, (make, sample, classes) in CASES.items():
            with self.subTest(case):
                torch.manual_seed(1)
                module = make()
                data = [(sample(), torch.randint(0, classes, (BATCH,))) for _ in range(4)]
                kept = copy.deepcopy(module)
                before = {n: t.clone() for n, t in module.state_dict().items()}
                program = compile_quietly(module, data[0][0], lr=0.01)
                for name, tensor in module.state_dict().items():
                    torch.testing.assert_close(tensor, before[name], rtol=0, atol=0)
                optimizer = torch.optim.AdamW(
                    [p for p in kept.parameters() if p.requires_grad], lr=0.01, weight_decay=0.01
                )
                with mpc.Session(program, device="cpu", threads=1) as session:
                    for i in range(STEPS):
                        inputs, labels = data[i % len(data)]
                        loss = F.cross_entropy(kept(*inputs), labels)
                        optimizer.zero_grad()
                        loss.backward()
                        optimizer.step()
                        info = session.step((*inputs, labels))
                        self.assertAlmostEqual(info.loss, loss.item(), delta=1e-4, msg=f"step {i}")
                    session.load_into(module)
                    states = session.state_dict()
                for name, tensor in module.state_dict().items():
                    expected = kept.state_dict()[name]
                    is_count = name.endswith("num_batches_tracked")
                    if is_count or name in WITHOUT_GRADIENT.get(case, ()):
                        continue
                    torch.testing.assert_close(tensor, expected, rtol=0, atol=5e-3, msg=name)
                    if name in states:
                        np.testing.assert_array_equal(tensor.numpy(), states[name])

    def test_names_of_inputs(self):
        program = compile_quietly(TwoInputs(), (torch.zeros(4, 6), torch.zeros(4, 4)))
        self.assertEqual([spec.name for spec in program.inputs()], ["a", "b", "labels"])
        program = compile_quietly(TwoInputs(), {"b": torch.zeros(1, 4), "a": torch.zeros(1, 6)},
                                  batch=[4, 2])
        self.assertEqual(program.batch_sizes(), (4, 2))
        self.assertEqual({spec.name for spec in program.inputs()}, {"a", "b", "labels"})

    def test_dropout_in_training_mode(self):
        module = nn.Sequential(nn.Linear(6, 64), nn.Dropout(0.5), nn.Linear(64, 5))
        x, labels = torch.randn(BATCH, 6), torch.zeros(BATCH, dtype=torch.int64)
        program = compile_quietly(module, x, lr=0.0)
        with mpc.Session(program, device="cpu") as session:
            losses = {session.step((x, labels)).loss for _ in range(4)}
            self.assertGreater(len(losses), 1)
            torch.testing.assert_close(
                torch.from_numpy(session.predict(x)[program.outputs()[0].name]),
                module.eval()(x).detach(), rtol=1e-4, atol=1e-5,
            )

    def test_tensors_are_lent(self):
        from mpc._arrays import Copies

        x, labels = torch.randn(BATCH, 6), torch.zeros(BATCH, dtype=torch.int64)
        with mpc.Session(compile_quietly(mlp(), x), device="cpu") as session:
            before = Copies.count
            session.step((x, labels))
            self.assertEqual(Copies.count, before)
            session.step((x, labels.int()))
            self.assertEqual(Copies.count, before + 1)
            for wrong, words in (
                (x.double(), r"torch.float64, .* use array.to\(torch.float32\)"),
                (x.bfloat16(), r"torch.bfloat16, .* use array.to\(torch.float32\)"),
                (x.T.contiguous().T.requires_grad_(), r"requires a gradient; use array.detach\(\)"),
                (x.T.contiguous().T, "not contiguous"),
                (x.to("meta"), "on the device 'meta'; copy it to the host"),
            ):
                with self.subTest(words), self.assertRaisesRegex(mpc.InvalidArgument, words):
                    session.step((wrong, labels))

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "did you mean 'precision'"):
            mpc.from_torch(mlp(), torch.zeros(2, 6), precison="fp32")

        class Untraceable(nn.Module):
            def forward(self, x):
                return x if x.sum() > 0 else -x

        with self.assertRaisesRegex(mpc.CompileError, "PyTorch cannot export the module"):
            mpc.from_torch(Untraceable(), torch.zeros(2, 6))
        program = compile_quietly(mlp(), torch.zeros(2, 6))
        with mpc.Session(program, device="cpu") as session:
            with self.assertRaisesRegex(mpc.InvalidArgument, "lacks '0.weight'"):
                session.load_into(nn.Linear(2, 2))
        with mpc.Session(mpc.Program(program._package), device="cpu") as session:
            with self.assertRaisesRegex(mpc.InvalidArgument, "not made by mpc.from_torch"):
                session.load_into(mlp())

    def test_no_grad_is_reported(self):
        class NoGrad(nn.Module):
            def __init__(self):
                super().__init__()
                self.linear = nn.Linear(6, 5)

            def forward(self, x):
                with torch.no_grad():
                    mean = x.mean()
                return self.linear(x) - mean

        with self.assertWarnsRegex(mpc.CompileNote, "torch.no_grad"):
            mpc.from_torch(NoGrad(), torch.zeros(2, 6), loss="cross-entropy")


if __name__ == "__main__":
    unittest.main()
