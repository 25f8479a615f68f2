"""mpc.torch.Module beside PyTorch: the same losses with PyTorch's loss and optimizer."""

import copy
import importlib.util
import inspect
import os
import pathlib
import re
import unittest
import warnings

import mpc
import mpc.torch
import numpy as np
import torch
from torch import nn

warnings.simplefilter("ignore", mpc.CompileNote)
STEPS = int(os.environ.get("MPC_TORCH_STEPS", "60"))
T = torch.nn.functional


class Transformer(nn.Module):
    def __init__(self):
        super().__init__()
        self.embed = nn.Embedding(20, 16, padding_idx=0)
        layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
        self.head = nn.Linear(16, 20, bias=False)
        self.head.weight = self.embed.weight

    def forward(self, tokens):
        return self.head(self.encoder(self.embed(tokens)))


class Convolutional(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(8)
        self.frozen = nn.Conv2d(8, 8, 1)
        self.frozen.requires_grad_(False)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.frozen(self.norm(self.conv(x)).relu()).mean((2, 3)))


class Two(nn.Module):
    """Several outputs in a dict, a keyword, an integer output, a buffer."""

    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(6, 8), nn.Linear(8, 3)
        self.register_buffer("shift", torch.full((8,), 0.5))

    def forward(self, x, *, scale):
        hidden = torch.tanh(self.a(x) * scale + self.shift)
        scores = self.b(hidden)
        return {"hidden": hidden, "scores": scores, "best": scores.argmax(1)}


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(5, 12, batch_first=True)
        self.head = nn.Linear(12, 4)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


class Gated(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.LayerNorm(10)
        self.up, self.gate, self.down = nn.Linear(10, 24), nn.Linear(10, 24), nn.Linear(24, 10)

    def forward(self, x):
        y = self.norm(x)
        return x + self.down(T.silu(self.gate(y)) * self.up(y))


def classify(outputs, targets):
    return T.cross_entropy(outputs.flatten(0, -2), targets.flatten())


CASES = {
    "mlp": (
        lambda: nn.Sequential(nn.Linear(6, 16), nn.GELU(), nn.Linear(16, 5)),
        lambda: ((torch.randn(32, 6),), {}), lambda: torch.randint(5, (32,)), classify,
        lambda p: torch.optim.AdamW(p, lr=1e-2),
    ),
    "transformer": (
        Transformer,
        lambda: ((torch.randint(0, 20, (4, 7)),), {}), lambda: torch.randint(20, (4, 7)), classify,
        lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    ),
    "convolutional": (
        Convolutional,
        lambda: ((torch.randn(8, 3, 6, 6),), {}), lambda: torch.randint(5, (8,)), classify,
        lambda p: torch.optim.RMSprop(p, lr=1e-3),
    ),
    "two": (
        Two,
        lambda: ((torch.randn(16, 6),), {"scale": torch.rand(16, 1)}),
        lambda: torch.randn(16, 3),
        lambda out, y: T.mse_loss(out["scores"], y) + 0.1 * out["hidden"].square().sum(),
        lambda p: torch.optim.Adam(p, lr=1e-2),
    ),
    "recurrent": (
        Recurrent,
        lambda: ((torch.randn(8, 9, 5),), {}), lambda: torch.randint(4, (8,)), classify,
        lambda p: torch.optim.Adagrad(p, lr=1e-2),
    ),
    "gated": (
        Gated,
        lambda: ((torch.randn(3, 7, 10),), {}), lambda: torch.randn(3, 7, 10), T.smooth_l1_loss,
        lambda p: torch.optim.NAdam(p, lr=1e-2),
    ),
}


def train(module, batches, loss_of, make_optimizer):
    optimizer = make_optimizer([p for p in module.parameters() if p.requires_grad])
    losses = []
    for (args, kwargs), targets in batches:
        loss = loss_of(module(*args, **kwargs), targets)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 5.0)
        optimizer.step()
        losses.append(float(loss))
    return np.array(losses)


class BesideTorch(unittest.TestCase):
    def check(self, name, **options):
        make, inputs, targets, loss_of, make_optimizer = CASES[name]
        torch.manual_seed(7)
        eager = make()
        other = copy.deepcopy(eager)
        batches = [(inputs(), targets()) for _ in range(STEPS)]
        compiled = mpc.torch.Module(other, **options)
        losses = train(compiled, batches, loss_of, make_optimizer)
        return eager, other, compiled, losses, train(eager, batches, loss_of, make_optimizer)

    def test_losses_and_weights(self):
        for name in CASES:
            with self.subTest(name):
                eager, other, compiled, losses, expected = self.check(name)
                np.testing.assert_allclose(losses, expected, atol=1e-4, rtol=1e-4)
                self.assertEqual(list(compiled.state_dict()), list(eager.state_dict()))
                for key, value in eager.state_dict().items():
                    if "running_var" in key:  # ONNX divides by n, PyTorch by n - 1.
                        continue
                    torch.testing.assert_close(
                        other.state_dict()[key], value, atol=2e-3, rtol=2e-3, msg=key
                    )
                self.assertEqual(len(compiled.programs), 1)

    def test_bf16_follows(self):
        *_, losses, expected = self.check("gated", precision="bf16")
        np.testing.assert_allclose(losses[:10], expected[:10], rtol=0.03)

    def test_fp16_with_the_callers_scale(self):
        module = mpc.torch.Module(CASES["mlp"][0](), precision="fp16")
        x = torch.randn(32, 6)
        loss = module(x).square().mean()
        (loss * 1024).backward()
        reference = [p.grad / 1024 for p in module.parameters()]
        module.zero_grad()
        plain = copy.deepcopy(module.module)
        plain(x).square().mean().backward()
        for a, b in zip(reference, plain.parameters()):
            torch.testing.assert_close(a, b.grad, atol=2e-3, rtol=2e-2)


class Autograd(unittest.TestCase):
    def pair(self, make=None):
        torch.manual_seed(3)
        eager = make() if make else nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
        return eager, mpc.torch.Module(copy.deepcopy(eager))

    def assert_same_gradients(self, eager, compiled, **tolerance):
        for (name, a), b in zip(eager.named_parameters(), compiled.parameters()):
            torch.testing.assert_close(b.grad, a.grad, msg=lambda text: f"{name}: {text}", **tolerance)

    def test_input_gradients(self):
        eager, compiled = self.pair()
        x, y = torch.randn(5, 4, requires_grad=True), torch.randn(5, 4, requires_grad=True)
        eager(x * 2).sin().sum().backward()
        with torch.no_grad():
            y.copy_(x)
        compiled(y * 2).sin().sum().backward()
        torch.testing.assert_close(y.grad, x.grad)
        self.assert_same_gradients(eager, compiled)

    def test_gradcheck(self):
        module = nn.Sequential(nn.Linear(3, 4), nn.Softplus(), nn.Linear(4, 2)).double()
        compiled = mpc.torch.Module(module, precision="fp64")
        x = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
        self.assertTrue(torch.autograd.gradcheck(compiled, (x,)))

    def test_calls_before_their_backward_passes(self):
        """As for a GAN or a siamese network: the first call is computed again."""
        def make():
            return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Tanh(), nn.Linear(8, 2))
        eager, compiled = self.pair(make)
        x, y = torch.randn(5, 4), torch.randn(5, 4)
        for module in (eager, compiled):
            (module(x) * module(y)).sum().backward()
        self.assert_same_gradients(eager, compiled)
        torch.testing.assert_close(compiled.module[1].running_mean, eager[1].running_mean)
        self.assertEqual(int(compiled.module[1].num_batches_tracked), 2)

    def test_accumulation_and_retain_graph(self):
        eager, compiled = self.pair()
        for module in (eager, compiled):
            for seed in range(3):
                x = torch.full((5, 4), seed / 2.0)
                out = module(x)
                out.sum().backward(retain_graph=True)
                out.square().sum().backward()
        self.assert_same_gradients(eager, compiled)

    def test_dropout_is_the_same_when_computed_again(self):
        _, compiled = self.pair(lambda: nn.Sequential(nn.Linear(4, 64), nn.Dropout(0.5)))
        x = torch.randn(2, 4)
        first = compiled(x)
        second = compiled(x)
        self.assertFalse(torch.equal(first, second))
        first.sum().backward()
        kept = first.detach() != 0
        torch.testing.assert_close(compiled.module[0].bias.grad, 2.0 * kept.sum(0))

    def test_double_backward_is_refused(self):
        _, compiled = self.pair()
        x = torch.randn(5, 4, requires_grad=True)
        gradient, = torch.autograd.grad(compiled(x).sum(), x, create_graph=True)
        with self.assertRaisesRegex(RuntimeError, "once_differentiable|differentiate twice|does not require grad"):
            gradient.sum().backward()

    def test_changed_weights_are_refused_only_if_needed(self):
        _, compiled = self.pair()
        x = torch.randn(5, 4)
        first = compiled(x)
        compiled(x)
        with torch.no_grad():
            compiled.module[0].weight.add_(1)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            first.sum().backward()

    def test_changes_through_data(self):
        eager, compiled = self.pair()
        x = torch.randn(5, 4)
        compiled(x)
        for module in (eager, compiled.module):
            module[0].weight.data.clamp_(-0.1, 0.1)
        torch.testing.assert_close(compiled(x), eager(x))

    def test_frozen_weights_that_change(self):
        eager, compiled = self.pair()
        for module in (eager, compiled.module):
            module[0].requires_grad_(False)
        x = torch.randn(5, 4)
        for _ in range(2):
            torch.testing.assert_close(compiled(x), eager(x))
            for module in (eager, compiled.module):
                with torch.no_grad():
                    module[0].weight.mul_(0.5)

    def test_modes_shapes_and_sharing(self):
        def make():
            return nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.5))
        eager, compiled = self.pair(make)
        compiled(torch.randn(6, 4))
        eager.load_state_dict(compiled.state_dict())
        compiled.eval()
        eager.eval()
        self.assertFalse(compiled.module.training)
        with torch.no_grad():
            x = torch.randn(3, 4)
            torch.testing.assert_close(compiled(x), eager(x))
        for module in (compiled, eager):
            module.zero_grad()
            module(torch.ones(3, 4)).sum().backward()
        self.assert_same_gradients(eager, compiled)
        self.assertEqual(len(compiled.programs), 2)
        parent = nn.Sequential(compiled, nn.Linear(8, 1))
        self.assertEqual(list(parent.state_dict())[:2], ["0.0.weight", "0.0.bias"])
        parent.load_state_dict(parent.state_dict())
        self.assertIs(next(parent.parameters()), compiled.module[0].weight)

    def test_programs_are_limited(self):
        compiled = mpc.torch.Module(nn.Linear(2, 1), max_programs=2)
        for size in (1, 2, 3, 2, 1):
            compiled(torch.ones(size, 2)).sum().backward()
        self.assertEqual(len(compiled.programs), 2)
        torch.testing.assert_close(compiled.bias.grad, torch.tensor([9.0]))

    def test_seed(self):
        def run():
            torch.manual_seed(5)
            compiled = mpc.torch.Module(nn.Sequential(nn.Linear(4, 32), nn.Dropout(0.5)))
            return compiled(torch.ones(1, 4))
        self.assertTrue(torch.equal(run(), run()))

    def test_errors(self):
        with self.assertRaisesRegex(TypeError, "must be a torch.nn.Module, not function"):
            mpc.torch.Module(lambda x: x)
        with self.assertRaisesRegex(TypeError, "chooses the option 'loss' itself"):
            mpc.torch.Module(nn.Linear(1, 1), loss="mse")
        with self.assertRaisesRegex(TypeError, "no option 'precisoin'.*'precision'"):
            mpc.torch.Module(nn.Linear(1, 1), precisoin="bf16")(torch.ones(1, 1))
        with self.assertRaisesRegex(TypeError, "cannot be copied or pickled"):
            copy.deepcopy(mpc.torch.Module(nn.Linear(1, 1)))
        with self.assertRaisesRegex(AttributeError, "config"):
            mpc.torch.Module(nn.Linear(1, 1)).config

        class Counts(nn.Module):
            def __init__(self):
                super().__init__()
                self.register_buffer("calls", torch.zeros(()))
                self.linear = nn.Linear(2, 2)

            def forward(self, x):
                self.calls += 1
                return self.linear(x) * self.calls

        with self.assertRaisesRegex(mpc.CompileError, "changes buffers in forward.*: calls"):
            mpc.torch.Module(Counts())(torch.ones(1, 2))


@unittest.skipUnless(importlib.util.find_spec("transformers"), "the package transformers")
class HuggingFace(unittest.TestCase):
    def test_models_with_their_own_loss(self):
        import transformers

        small = dict(hidden_size=32, intermediate_size=64, num_hidden_layers=2)
        tokens = torch.randint(0, 90, (2, 12))
        models = [
            (transformers.LlamaForCausalLM(transformers.LlamaConfig(
                vocab_size=90, num_attention_heads=4, num_key_value_heads=2, **small)),
             dict(input_ids=tokens, labels=tokens)),
            (transformers.BertForSequenceClassification(transformers.BertConfig(
                vocab_size=90, num_attention_heads=2, hidden_dropout_prob=0,
                attention_probs_dropout_prob=0, num_labels=3, **small)),
             dict(input_ids=tokens, attention_mask=(tokens > 9).long(), labels=tokens[:, 0] % 3)),
        ]
        for eager, batch in models:
            with self.subTest(type(eager).__name__):
                compiled = mpc.torch.Module(copy.deepcopy(eager))
                names = list(inspect.signature(compiled.forward).parameters)
                self.assertEqual(names, list(inspect.signature(eager.forward).parameters))
                self.assertIs(compiled.config, compiled.module.config)
                losses = []
                for module in (eager.train(), compiled.train()):
                    optimizer = torch.optim.AdamW(module.parameters(), lr=1e-3)
                    for _ in range(5):
                        outputs = module(**batch)
                        optimizer.zero_grad()
                        outputs.loss.backward()
                        optimizer.step()
                    losses.append(float(outputs.loss))
                self.assertAlmostEqual(*losses, places=5)
                self.assertEqual(compiled.config.use_cache, eager.config.use_cache)


class Guide(unittest.TestCase):
    def test_blocks(self):
        guide = pathlib.Path(os.environ["MPC_GUIDE"]).read_text()
        blocks = [b for b in re.findall(r"```python\n(.*?)```", guide, re.S) if "torch" in b]
        self.assertEqual(len(blocks), 2)
        names = {"mpc": mpc}
        for block in blocks:
            exec(block, names)


class Gradients(unittest.TestCase):
    def test_beside_torch(self):
        torch.manual_seed(1)
        module = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
        x, labels = torch.randn(6, 4, requires_grad=True), torch.randint(3, (6,))
        loss = T.cross_entropy(module(x), labels)
        loss.backward()
        program = mpc.from_torch(
            module, x.detach(), loss="cross-entropy", precision="fp32", optimizer="none",
            input_gradients=[next(n for n in ("input", "x"))],
        )
        found, gradients = mpc.gradients(program, (x.detach(), labels))
        self.assertAlmostEqual(found, float(loss), places=6)
        torch.testing.assert_close(torch.from_numpy(gradients.pop("input")), x.grad)
        for name, parameter in module.named_parameters():
            torch.testing.assert_close(torch.from_numpy(gradients[name]), parameter.grad)


if __name__ == "__main__":
    unittest.main()
