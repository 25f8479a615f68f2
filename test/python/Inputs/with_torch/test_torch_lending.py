"""mpc.torch.Module without copies: parameters in the memory of a session, buffers for results, and
threads of PyTorch."""

import copy
import gc
import io
import os
import threading
import unittest
import unittest.mock
import warnings
import weakref

import mpc
import mpc.torch
from mpc import _compile
import torch
from torch import nn

warnings.simplefilter("ignore", mpc.CompileNote)
DONE = {}


def once(function, key):
    """`function`, which is not called again for arguments with the same key."""

    def call(*args, **kwargs):
        known = key(*args)
        if known not in DONE:
            DONE[known] = function(*args, **kwargs)
        return DONE[known]

    return call


def describe(torch, module, args, kwargs):
    return (
        repr(module), module.training, *((t.shape, t.dtype, t.requires_grad) for t in args),
        *(name for name, p in module.named_parameters(remove_duplicate=False) if p.requires_grad),
        *(name for name, _ in module.named_parameters()),
    )  # fmt: skip


EXPORT = mpc.torch.export


def export_copy(torch, module, args, kwargs, **options):
    return EXPORT(torch, copy.deepcopy(module), args, kwargs, **options)


def setUpModule():
    """Compiles modules of the same structure once: it takes nearly all of the time."""
    run = once(
        _compile.run, lambda model, _, __, options: (model.SerializeToString(), repr(options))
    )
    for patch in (
        unittest.mock.patch.object(mpc.torch, "export", once(export_copy, describe)),
        unittest.mock.patch.object(_compile, "run", run),
    ):
        patch.start()
        unittest.addModuleCleanup(patch.stop)


def make(*widths):
    torch.manual_seed(3)
    widths = widths or (4, 8, 2)
    layers = []
    for before, after in zip(widths, widths[1:]):
        layers += [nn.Linear(before, after), nn.Tanh()]
    return nn.Sequential(*layers[:-1])


def runner_of(compiled):
    return list(compiled._runners.values())[-1]


def lies_in_session(compiled, parameter):
    """Whether the last program's session has the parameter in its memory."""
    return any(
        array() is not None and address == parameter.data_ptr()
        for array, address in runner_of(compiled)._lender._arrays.values()
    )


class Beside(unittest.TestCase):
    """A module beside the same one in eager PyTorch."""

    def setUp(self):
        self.eager = make()
        self.module = copy.deepcopy(self.eager)
        self.compiled = mpc.torch.Module(self.module)
        self.x = torch.randn(5, 4)

    def assert_same(self, module=None):
        torch.testing.assert_close(self.compiled(self.x), (module or self.eager)(self.x))

    def step(self, module, optimizer, x=None):
        optimizer.zero_grad()
        module(self.x if x is None else x).square().mean().backward()
        optimizer.step()


class Parameters(Beside):
    def test_nothing_is_copied(self):
        with unittest.mock.patch.object(mpc.torch, "export", EXPORT):
            self.assert_same()
        places = [p.data_ptr() for p in self.module.parameters()]
        self.assertTrue(all(lies_in_session(self.compiled, p) for p in self.module.parameters()))
        optimizers = [torch.optim.Adam(m.parameters(), lr=0.1) for m in (self.eager, self.compiled)]
        for _ in range(3):
            for module, optimizer in zip((self.eager, self.compiled), optimizers):
                self.step(module, optimizer)
            self.assert_same()
        self.assertEqual([p.data_ptr() for p in self.module.parameters()], places)

    def test_optimizer_from_before_the_first_call(self):
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (self.eager, self.module)]
        for _ in range(3):
            for module, optimizer in zip((self.eager, self.compiled), optimizers):
                self.step(module, optimizer)
        self.assert_same()

    def test_module_outlives_the_programs(self):
        self.assert_same()
        session = weakref.ref(runner_of(self.compiled))
        place = self.module[0].weight.data_ptr()
        runner_of(self.compiled).session.close()
        del self.compiled
        gc.collect()
        self.assertIsNone(session())
        self.assertEqual(self.module[0].weight.data_ptr(), place)
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (self.eager, self.module)]
        for module, optimizer in zip((self.eager, self.module), optimizers):
            self.step(module, optimizer)
        torch.testing.assert_close(self.module(self.x), self.eager(self.x))
        alias, array = self.module[0].weight.detach(), self.module[2].weight.detach().numpy()
        expected, expected_array = alias.clone(), array.copy()
        del self.module, optimizers, optimizer, module
        gc.collect()
        torch.testing.assert_close(alias, expected)
        self.assertTrue((array == expected_array).all())

    def test_dropped_programs(self):
        compiled = mpc.torch.Module(self.module, max_programs=1)
        for size in (5, 2, 5, 2):
            x = torch.randn(size, 4)
            torch.testing.assert_close(compiled(x), self.eager(x))
            self.assertTrue(all(lies_in_session(compiled, p) for p in self.module.parameters()))

    def test_evaluation_between_steps(self):
        optimizers = [torch.optim.SGD(m.parameters(), lr=0.1) for m in (self.eager, self.compiled)]
        for _ in range(3):
            for module, optimizer in zip((self.eager, self.compiled), optimizers):
                module.train()
                self.step(module, optimizer)
                module.eval()
            with torch.no_grad():
                self.assert_same()
            with torch.inference_mode():
                self.assert_same()

    def test_evaluation_between_forward_and_backward_pass(self):
        for module in (self.eager, self.compiled):
            loss = module(self.x).square().mean()
            module.eval()
            with torch.no_grad():
                module(self.x)
            module.train()
            loss.backward()
        for a, b in zip(self.compiled.parameters(), self.eager.parameters()):
            torch.testing.assert_close(a.grad, b.grad)

    def test_changed_weights(self):
        for change in (
            lambda m: m[0].weight.data.mul_(0.5),
            lambda m: setattr(m[0].weight, "data", m[0].weight.data + 1),
            lambda m: setattr(m[0].weight, "data", torch.ones(4, 8).t()),
            lambda m: m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}),
            lambda m: m.load_state_dict({k: v + 1 for k, v in m.state_dict().items()}, assign=True),
            lambda m: setattr(m[0], "weight", nn.Parameter(torch.ones(8, 4))),
            lambda m: setattr(m[0].weight, "data", m[0].weight.data.flip(0).contiguous()),
        ):
            self.assert_same()
            with torch.no_grad():
                for module in (self.eager, self.module):
                    change(module)
            self.assert_same()
            self.assert_same()

    def test_transposed_in_place(self):
        self.eager = make(4, 4)
        self.module = copy.deepcopy(self.eager)
        self.compiled = mpc.torch.Module(self.module)
        self.assert_same()
        for module in (self.eager, self.module):
            module[0].weight.data = module[0].weight.data.t()
        self.assert_same()
        self.assert_same()

    def test_replaced_parameters_keep_their_values(self):
        """As an optimizer keeps those from before load_state_dict(assign=True)."""
        self.assert_same()
        before = self.module[0].weight
        expected = before.detach().clone()
        for module in (self.eager, self.module):
            module[0].weight = nn.Parameter(torch.full((8, 4), 0.25))
        for _ in range(2):
            self.assert_same()
            torch.testing.assert_close(before.detach(), expected)
        self.module[0].weight = before
        self.eager[0].weight = nn.Parameter(expected)
        self.assert_same()

    def test_swapped_weights(self):
        """As for an average of the weights that is evaluated."""
        self.assert_same()
        average = [0.5 * p.detach() for p in self.module.parameters()]
        kept = [p.data for p in self.module.parameters()]
        for p, q, value in zip(self.module.parameters(), self.eager.parameters(), average):
            p.data, q.data = value, value.clone()
        self.assert_same()
        other = make()
        for p, value in zip(self.module.parameters(), kept):
            p.data = value
        for _ in range(2):
            self.assert_same(other)
        for value, p in zip(average, self.eager.parameters()):
            torch.testing.assert_close(value, p.detach())

    def test_shared_memory_stays(self):
        """With other processes, other tensors or arrays."""
        self.module[0].weight.share_memory_()
        place = self.module[0].weight.data_ptr()
        flat = torch.cat([self.module[2].weight.detach().flatten(), self.module[2].bias.detach()])
        self.module[2].weight.data = flat[:16].view(2, 8)
        self.module[2].bias.data = flat[16:]
        bias = self.module[0].bias.detach().numpy()
        for _ in range(2):
            self.assert_same()
            with torch.no_grad():
                flat.mul_(0.5)
                self.eager[2].weight.mul_(0.5)
                self.eager[2].bias.mul_(0.5)
                self.eager[0].bias.fill_(2)
            bias.fill(2)
        self.assert_same()
        self.assertEqual(self.module[0].weight.data_ptr(), place)

    def test_share_memory_later(self):
        self.assert_same()
        self.module.share_memory()
        for _ in range(2):
            for module in (self.eager, self.module):
                module[0].weight.data.mul_(0.5)
            self.assert_same()

    def test_two_modules_share_parameters(self):
        other = mpc.torch.Module(nn.Sequential(self.module[0], nn.ReLU()))
        for _ in range(3):
            self.assert_same()
            torch.testing.assert_close(other(self.x), self.eager[0](self.x).relu())
            for module in (self.eager, self.module):
                with torch.no_grad():
                    module[0].weight.mul_(0.5)

    def test_copies_of_the_module(self):
        self.assert_same()
        copied = copy.deepcopy(self.module)
        buffer = io.BytesIO()
        torch.save(self.module, buffer)
        self.assertLess(len(buffer.getvalue()), 20000)
        buffer.seek(0)
        loaded = torch.load(buffer, weights_only=False)
        state = {key: value.clone() for key, value in self.module.state_dict().items()}
        for module in (self.eager, self.module):
            with torch.no_grad():
                module[0].weight.zero_()
        self.assert_same()
        for other in (copied, loaded):
            torch.testing.assert_close(other(self.x), make()(self.x))
            torch.testing.assert_close(other.state_dict()["0.weight"], state["0.weight"])

    def test_frozen_and_tied_parameters(self):
        def build():
            module = make(4, 4, 4)
            module[2].weight = module[0].weight
            module[2].bias.requires_grad_(False)
            return module
        self.eager, self.module = build(), build()
        self.compiled = mpc.torch.Module(self.module)
        optimizers = [
            torch.optim.SGD([p for p in m.parameters() if p.requires_grad], lr=0.1)
            for m in (self.eager, self.compiled)
        ]
        for _ in range(3):
            for module, optimizer in zip((self.eager, self.compiled), optimizers):
                self.step(module, optimizer)
            for module in (self.eager, self.module):
                with torch.no_grad():
                    module[2].bias.mul_(0.5)
        self.assert_same()
        self.assertIs(self.module[2].weight, self.module[0].weight)

    def test_other_precisions(self):
        for precision, tolerance in (("bf16", 0.05), ("fp64", 1e-9)):
            with self.subTest(precision):
                eager = make().double() if precision == "fp64" else make()
                compiled = mpc.torch.Module(copy.deepcopy(eager), precision=precision)
                x = self.x.to(eager[0].weight.dtype)
                for _ in range(2):
                    torch.testing.assert_close(
                        compiled(x), eager(x), atol=tolerance, rtol=tolerance
                    )
                    for module in (eager, compiled.module):
                        module[0].weight.data.mul_(-2)
                self.assertTrue(lies_in_session(compiled, compiled.module[0].weight))

    def test_functional_call(self):
        self.assert_same()
        values = {
            name: torch.full_like(p, 0.5, requires_grad=True)
            for name, p in self.module.named_parameters()
        }
        gradients = []
        for module in (self.eager, self.compiled):
            out = torch.func.functional_call(module, values, (self.x,))
            gradients.append(torch.autograd.grad(out.sum(), tuple(values.values())))
        for a, b in zip(*gradients):
            torch.testing.assert_close(a, b)
        self.assert_same()

    def test_weights_that_change_before_the_backward_pass(self):
        loss = self.compiled(self.x).square().mean()
        with torch.no_grad():
            self.module[0].weight.mul_(2)
        with self.assertRaisesRegex(RuntimeError, "modified by an inplace operation"):
            loss.backward()
        self.compiled(self.x).square().mean().backward()

    @unittest.skipUnless(hasattr(os, "fork"), "fork")
    def test_forked_process_reads_them(self):
        self.assert_same()
        total = float(self.module[0].weight.detach().sum())
        child = os.fork()
        if child == 0:
            same = float(self.module[0].weight.detach().sum()) == total
            del self.module, self.compiled
            gc.collect()
            os._exit(0 if same else 1)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        self.assert_same()


class Results(Beside):
    def gradients(self):
        return [p.grad for p in self.module.parameters()]

    def test_gradients_that_are_kept(self):
        kept, expected = [], []
        for scale in range(4):
            self.compiled.zero_grad()
            (self.compiled(self.x).sum() * scale).backward()
            kept.append(self.gradients())
            expected.append([g.clone() for g in kept[-1]])
        for found, values in zip(kept, expected):
            for a, b in zip(found, values):
                self.assertTrue(torch.equal(a, b))
        self.assertFalse(torch.equal(kept[1][0], kept[2][0]))

    def test_views_and_arrays_of_gradients(self):
        self.compiled(self.x).sum().backward()
        view, array = self.module[0].weight.grad[1:], self.module[2].weight.grad.numpy()
        expected, expected_array = view.clone(), array.copy()
        for _ in range(3):
            self.compiled.zero_grad()
            (self.compiled(self.x).sum() * 3).backward()
        self.assertTrue(torch.equal(view, expected))
        self.assertTrue((array == expected_array).all())

    def test_memory_is_used_again(self):
        places = set()
        for _ in range(4):
            self.compiled.zero_grad()
            self.compiled(self.x).sum().backward()
            places.add(self.module[0].weight.grad.data_ptr())
        self.assertEqual(len(places), 1)

    def test_accumulated_gradients(self):
        for module in (self.eager, self.compiled):
            for _ in range(4):
                module(self.x).sum().backward()
        for a, b in zip(self.compiled.parameters(), self.eager.parameters()):
            torch.testing.assert_close(a.grad, b.grad)

    def test_outputs_that_are_kept(self):
        kept = [self.compiled(self.x * scale) for scale in range(4)]
        for scale, found in enumerate(kept):
            torch.testing.assert_close(found, self.eager(self.x * scale))
        first = self.compiled(self.x)
        first.add_(1)  # Not a view for autograd.
        first.sum().backward()


def threads():
    return len(os.listdir("/proc/self/task"))


class Threads(unittest.TestCase):
    def test_those_of_pytorch_are_used(self):
        if torch.get_num_threads() == 1:
            self.skipTest("PyTorch has one thread")
        compiled = mpc.torch.Module(make(256, 256, 256))
        x = torch.randn(64, 256)
        compiled(x).sum().backward()
        torch.randn(300, 300) @ torch.randn(300, 300)
        before = threads()
        for _ in range(20):
            compiled(x).sum().backward()
        self.assertEqual(threads(), before)
        own = mpc.torch.Module(make(256, 256, 256), threads=2)
        own(x)
        self.assertEqual(threads(), before + 1)

    def test_backward_passes_run_on_the_calling_thread(self):
        compiled = mpc.torch.Module(make())
        found = []
        x = torch.randn(5, 4)
        run = type(runner_of_first(compiled, x)).backward

        def backward(*arguments):
            found.append(threading.get_ident())
            return run(*arguments)

        type(runner_of(compiled)).backward = backward
        try:
            compiled(x).sum().backward()
        finally:
            type(runner_of(compiled)).backward = run
        self.assertEqual(found, [threading.get_ident()])

    def test_same_results_on_any_threads(self):
        x = torch.randn(64, 256)
        results = []
        for count in (None, 2, None):
            compiled = mpc.torch.Module(make(256, 256, 256), threads=count, deterministic=True)
            out = compiled(x)
            out.sum().backward()
            results.append([out.detach(), *(p.grad for p in compiled.parameters())])
        for other in results[1:]:
            self.assertTrue(all(torch.equal(a, b) for a, b in zip(results[0], other)))

    def test_another_thread_of_the_program(self):
        compiled = mpc.torch.Module(make())
        eager = make()
        x = torch.randn(5, 4)
        found = []
        for _ in range(2):
            thread = threading.Thread(target=lambda: found.append(compiled(x).detach()))
            thread.start()
            thread.join()
        for result in found:
            torch.testing.assert_close(result, eager(x).detach())


def runner_of_first(compiled, x):
    compiled(x)
    return runner_of(compiled)


if __name__ == "__main__":
    unittest.main()
