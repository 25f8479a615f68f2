"""mpc.torch: compiled modules inside PyTorch's autograd."""

from __future__ import annotations

import functools
import gc
import warnings
import weakref
from typing import Any, Iterable, Iterator, NamedTuple

import torch
from torch.autograd.function import once_differentiable
from torch.utils import _pytree as pytree

from mpc._buffers import Buffers
from mpc._errors import CompileError, CompileNote, InvalidArgument
from mpc._lending import InUse, Lender, borrowed
from mpc._program import Program
from mpc._session import GRADIENT, Session
from mpc._torch import Exported, export, named_tensors, training_modes

__all__ = ["Module"]


class Module(torch.nn.Module):
    """A module whose forward and backward pass are compiled by mpc.

    Takes the place of the module in a training loop: the loss, the optimizer and everything else
    stay PyTorch's. It shares parameters, buffers, submodules and their names with the module, so
    that `state_dict()`, `parameters()`, `train()` and `load_state_dict()` are those of the module.

    The first call compiles the module for the shapes of its arguments, for its mode (training,
    evaluation) and for the parameters that require gradients; calls with others compile it again.

    Differences to PyTorch: the numbers of dropout are others; running variances of BatchNorm are
    those of ONNX, which divides by n, not n - 1; there are no second derivatives. Hooks of
    submodules do not run.

    Args:
        module: The module. Parameters, buffers and arguments must be in host memory.
        precision: How mpc computes: "fp32", "bf16", "tf32", "fp8", ...; with "fp16" the caller
            scales the loss. Parameters, arguments and results keep their types.
        device: As in `mpc.Session`.
        threads: Number of threads on the CPU; None: those that PyTorch uses.
        deterministic: As in `mpc.Session`.
        seed: For dropout; None: drawn from PyTorch's generator.
        max_programs: How many programs to keep; the one used least recently is dropped.
        options: Other options of `mpc.compile`.

    Raises:
        CompileError: PyTorch cannot export the module, or mpc cannot compile it (when called).
        InvalidArgument: An argument does not fit (when called).

    >>> module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 2))
    >>> compiled = mpc.torch.Module(module)
    >>> optimizer = torch.optim.SGD(compiled.parameters(), lr=0.1)
    >>> loss = torch.nn.functional.mse_loss(compiled(torch.ones(3, 4)), torch.zeros(3, 2))
    >>> loss.backward()
    >>> optimizer.step()
    """

    def __init__(
        self,
        module: torch.nn.Module,
        *,
        precision: str = "fp32",
        device: str = "auto",
        threads: int | None = None,
        deterministic: bool = False,
        seed: int | None = None,
        max_programs: int = 8,
        **options: Any,
    ) -> None:
        if not isinstance(module, torch.nn.Module):
            raise TypeError(f"module must be a torch.nn.Module, not {type(module).__name__}")
        for name in ("loss", "optimizer", "input_gradients", "batch"):
            if name in options:
                raise TypeError(f"mpc.torch.Module chooses the option '{name}' itself")
        if max_programs < 1:
            raise InvalidArgument(f"max_programs must be at least 1, but is {max_programs}")
        super().__init__()
        # Not as a submodule, which would change all names.
        object.__setattr__(self, "_wrapped", module)
        for shared in ("_parameters", "_buffers", "_modules", "_non_persistent_buffers_set"):
            object.__setattr__(self, shared, getattr(module, shared))
        # With the signature of the module's, which other packages read. It must not refer to the
        # module itself: what such a cycle holds is still there when Python ends.
        call = functools.partial(Module.forward, weakref.proxy(self))
        object.__setattr__(self, "forward", functools.update_wrapper(call, module.forward))
        self.training = module.training
        self._options = {"precision": precision, **options}
        self._session_options = {
            "device": device,
            "threads": torch.get_num_threads() if threads is None else threads,
            "deterministic": deterministic,
            "seed": int(torch.randint(2**62, ()).item()) if seed is None else seed,
            "copy": True,
            "_on_torch": threads is None,
        }
        #: Tensors that are part of a program, which must stay where they are.
        self._pinned: set[str] = set()
        self._max_programs = max_programs
        self._runners: dict[Any, _Runner] = {}

    def __getattr__(self, name: str) -> Any:
        try:
            return super().__getattr__(name)
        except AttributeError:
            wrapped = self.__dict__.get("_wrapped")
            if wrapped is None:
                raise
            return getattr(wrapped, name)

    def train(self, mode: bool = True) -> Module:
        """Sets the mode of the module and its submodules, as `torch.nn.Module.train` does."""
        self._wrapped.train(mode)
        self.training = mode
        return self

    def __reduce__(self) -> Any:
        raise TypeError(
            "an mpc.torch.Module cannot be copied or pickled; copy the module that it compiles"
        )

    def extra_repr(self) -> str:
        return f"precision={self._options['precision']}, programs={len(self._runners)}"

    @property
    def module(self) -> torch.nn.Module:
        """The module that is compiled."""
        return self._wrapped

    @property
    def programs(self) -> tuple[Program, ...]:
        """The programs that were compiled so far, the last one used last."""
        return tuple(runner.session.program for runner in self._runners.values())

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        leaves, spec = pytree.tree_flatten((args, kwargs))
        inputs = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        runner = self._runner(leaves, spec)
        tensors = runner.tensors()
        parameters = runner.parameters(tensors)
        if torch.is_grad_enabled() and any(t.requires_grad for t in (*inputs, *parameters)):
            results = _Call.apply(runner, tensors, len(inputs), *inputs, *parameters)
        else:
            results = runner.infer(tensors, inputs)
        return runner.restore(list(results))

    def _runner(self, leaves: list[Any], spec: Any) -> _Runner:
        def describe(leaf: Any) -> Any:
            if not isinstance(leaf, torch.Tensor):
                return type(leaf), leaf
            return leaf.dtype, tuple(leaf.shape), torch.is_grad_enabled() and leaf.requires_grad

        key = (
            spec,
            tuple(map(describe, leaves)),
            training_modes(self._wrapped),
            tuple(parameter.requires_grad for parameter in self._wrapped.parameters()),
        )
        try:
            runner = self._runners.pop(key, None)
        except TypeError as error:
            raise InvalidArgument(
                f"arguments that are not tensors are part of the program and must be hashable: "
                f"{error}"
            ) from error
        if runner is not None and runner.is_stale():
            runner.session.close()
            runner = None
        if runner is None:
            runner = self._compile(leaves, spec)
            if len(self._runners) >= self._max_programs:
                self._runners.pop(next(iter(self._runners))).session.close()
        self._runners[key] = runner
        return runner

    def _compile(self, leaves: list[Any], spec: Any) -> _Runner:
        if self._runners:
            warnings.warn(
                "compiling the module again, for other shapes, another mode or other parameters "
                "that require gradients; equal shapes (drop_last=True in a DataLoader) avoid this",
                CompileNote,
                stacklevel=6,
            )
        args, kwargs = pytree.tree_unflatten(leaves, spec)
        exported = export(
            torch, self._wrapped, args, kwargs,
            fixed=True, names_detached="detach" in self._options, stacklevel=8,
        )  # fmt: skip
        if exported.changed:
            raise CompileError(
                "the module changes buffers in forward(), which its export loses: "
                + ", ".join(exported.changed)
            )
        runner = _Runner(
            self._wrapped, exported, leaves, self._options, self._session_options, self._pinned
        )
        # Cycles of the exporter still use the parameters, which could then not be moved.
        del exported
        gc.collect()
        return runner


class _Used(NamedTuple):
    """A forward pass that a backward pass may belong to."""

    call: int
    steps: int


class _Runner:
    """One program of a module, and its session."""

    def __init__(
        self,
        module: torch.nn.Module,
        exported: Exported,
        leaves: list[Any],
        options: dict[str, Any],
        session_options: dict[str, Any],
        pinned: set[str],
    ) -> None:
        from mpc._compile import run

        self._module = module
        self._pinned = pinned
        graph = exported.onnx.model.graph
        # The exporter keeps the order of the arguments, without those that are constants.
        self._inputs = [value.name for value in graph.inputs]
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        if len(tensors) != len(self._inputs):
            raise CompileError(
                f"the module takes {len(tensors)} tensors, but its export {len(self._inputs)}"
            )
        self._out_spec = exported.program.call_spec.out_spec
        self._constants = _constant_outputs(exported.program)
        self._outputs = [value.name for value in graph.outputs]
        needed = [
            name
            for name, tensor in zip(self._inputs, tensors)
            if torch.is_grad_enabled() and tensor.requires_grad
        ]
        chosen = {
            **exported.options,
            "loss": "external",
            "optimizer": "none",
            "input_gradients": needed or None,
            **options,
        }
        with warnings.catch_warnings():
            # The module decides what they are about. They are in `programs[-1].notes`.
            warnings.simplefilter("ignore", CompileNote)
            program = run(exported.onnx.model_proto, None, None, chosen, stacklevel=9)
        program._names = exported.names
        self._session_options = session_options
        self.session = Session(program, **session_options)
        self._lender = Lender(self.session)
        self._trains = "forward" in program.entries
        if needed and not self._trains:
            raise CompileError(
                "no parameter of the module requires a gradient, so that mpc compiles no backward "
                "pass, but arguments do: " + ", ".join(needed)
            )
        states = {spec.name: spec.role for spec in program.states}
        self._counter = next((n for n, role in states.items() if role == "step_count"), None)
        #: Tensors of the module by the names of states; tied ones once.
        known: dict[str, str] = {}
        for name, state in exported.names.items():
            known.setdefault(state, name)
        self._weights = {s: n for s, n in known.items() if states.get(s) == "parameter"}
        self._statistics = {s: n for s, n in known.items() if states.get(s) == "statistic"}
        self._fixed = {s: n for s, n in known.items() if states.get(s) == "constant"}
        #: What the compiler has computed with, by the version of the tensor.
        self._folded = self._versions(n for s, n in known.items() if s not in states)
        pinned.update(self._folded)
        # What each call would otherwise look up again.
        self._taken = {
            entry: [self._inputs.index(spec.name) for spec in program.inputs(entry)]
            for entry in ("predict", "forward")
            if entry in program.entries
        }
        self._buffers = {
            entry: Buffers(
                {s.name: (s.shape, getattr(torch, s.dtype.name)) for s in program.outputs(entry)}
            )
            for entry in ("predict", "forward", "backward")
            if entry in program.entries
        }
        self._given = (
            [spec.name.removeprefix(GRADIENT) for spec in program.inputs("backward")]
            if self._trains
            else []
        )
        self.call = 0
        self.steps = 0

    # Tensors

    def tensors(self) -> dict[str, torch.Tensor]:
        """Parameters and buffers by name, as they are now: submodules may have been replaced."""
        return dict(named_tensors(self._module))

    def parameters(self, tensors: dict[str, torch.Tensor]) -> list[torch.Tensor]:
        """The parameters that the program has gradients for."""
        return [tensors[name] for name in self._weights.values()]

    def _versions(self, names: Iterable[str]) -> dict[str, tuple[int, int]]:
        tensors = self.tensors()
        return {name: (tensors[name]._version, tensors[name].data_ptr()) for name in names}

    def is_stale(self) -> bool:
        """Whether a tensor that is part of the program has changed."""
        return bool(self._folded) and self._versions(self._folded) != self._folded

    def _write_module(self, tensors: dict[str, torch.Tensor]) -> None:
        """Always all: in-place changes through `.data` leave no trace."""
        try:
            for names in (self._weights, self._statistics, self._fixed):
                for state, name in names.items():
                    self._lender.write(state, tensors[name], name not in self._pinned)
        except InUse:
            self._replace_session()
            self._write_module(tensors)

    def _write_saved(self, parameters: Iterable[torch.Tensor]) -> None:
        """The parameters of an earlier forward pass."""
        parameters = list(parameters)
        try:
            for state, parameter in zip(self._weights, parameters):
                self._lender.write(state, parameter)
        except InUse:
            self._replace_session()
            self._write_saved(parameters)

    def _replace_session(self) -> None:
        """Leaves the session to tensors in its memory that are no longer the module's."""
        program = self.session.program
        self.session.close()
        self.session = Session(program, **self._session_options)
        self._lender = Lender(self.session, lends=False)
        self._set_steps(self.steps)
        self.call += 1

    def _read_statistics(self, tensors: dict[str, torch.Tensor]) -> None:
        if not self._statistics:
            return
        with torch.no_grad():
            for state, name in self._statistics.items():
                target = tensors[name]
                target.copy_(torch.from_numpy(self.session.states[state]))
            for module in self._module.modules():
                counted = getattr(module, "num_batches_tracked", None)
                if isinstance(counted, torch.Tensor) and module.training:
                    counted.add_(1)

    def _batch(self, entry: str, inputs: list[torch.Tensor]) -> list[Any]:
        return [borrowed(inputs[index]) for index in self._taken[entry]]

    def _run(self, entry: str, batch: list[Any]) -> dict[str, torch.Tensor]:
        made = self._buffers[entry].take()
        self.session.run(entry, batch, [borrowed(tensor) for tensor in made.values()])
        return made

    # Passes

    def infer(
        self, tensors: dict[str, torch.Tensor], inputs: list[torch.Tensor]
    ) -> list[torch.Tensor]:
        """The outputs, without gradients."""
        if self._trains and any(module.training for module in self._module.modules()):
            return self.forward(tensors, inputs)[0]
        self._write_module(tensors)
        results = self._run("predict", self._batch("predict", inputs))
        return [results[name] for name in self._outputs]

    def forward(
        self, tensors: dict[str, torch.Tensor], inputs: list[torch.Tensor]
    ) -> tuple[list[torch.Tensor], _Used]:
        self._write_module(tensors)
        self.call += 1
        used = _Used(self.call, self.steps)
        results = self._run("forward", self._batch("forward", inputs))
        self.steps += 1
        self._read_statistics(tensors)
        return [results[name] for name in self._outputs], used

    def backward(
        self,
        used: _Used,
        saved: tuple[torch.Tensor, ...],
        num_inputs: int,
        gradients: list[torch.Tensor],
    ) -> dict[str, torch.Tensor]:
        """The gradients of parameters and inputs by name.

        Args:
            used: The forward pass.
            saved: Its inputs and parameters.
        """
        by_name = dict(zip(self._outputs, gradients))
        batch = [borrowed(by_name[name]) for name in self._given]
        if used.call == self.call:
            return self._run("backward", batch)
        # Another forward pass has run since: the session has one set of residuals.
        self._write_saved(saved[num_inputs:])
        self._set_steps(used.steps)
        forward = self._batch("forward", list(saved[:num_inputs]))
        self.session.run("forward", forward, [None] * len(self._outputs))
        results = self._run("backward", batch)
        self._set_steps(self.steps)
        self.call += 1
        return results

    def _set_steps(self, steps: int) -> None:
        if self._counter:
            self.session.states[self._counter] = self.session.states[self._counter] * 0 + steps

    def named(self, gradients: dict[str, torch.Tensor]) -> tuple[dict[str, Any], list[Any]]:
        """Gradients of inputs by name, and those of `parameters()` in order."""
        by_name = {name.removeprefix(GRADIENT): value for name, value in gradients.items()}
        return by_name, [by_name.get(state) for state in self._weights]

    def input_gradients(self, by_name: dict[str, Any]) -> Iterator[Any]:
        return (by_name.get(name) for name in self._inputs)

    def restore(self, results: list[Any]) -> Any:
        """The results in the form that the module returns."""
        for index, constant in self._constants:
            results.insert(index, constant)
        return pytree.tree_unflatten(results, self._out_spec)


def _constant_outputs(program: Any) -> list[tuple[int, Any]]:
    """The results that are not tensors, with their places."""
    outputs = [
        spec.arg for spec in program.graph_signature.output_specs if spec.kind.name == "USER_OUTPUT"
    ]
    return [
        (i, argument.value)
        for i, argument in enumerate(outputs)
        if type(argument).__name__ == "ConstantArgument"
    ]


class _Call(torch.autograd.Function):
    """A call of a module, in PyTorch's graph."""

    @staticmethod
    def forward(
        ctx: Any,
        runner: _Runner,
        module: dict[str, torch.Tensor],
        num_inputs: int,
        *used: torch.Tensor,
    ) -> Any:
        results, ctx.used = runner.forward(module, list(used[:num_inputs]))
        ctx.runner = runner
        ctx.num_inputs = num_inputs
        ctx.save_for_backward(*used)
        ctx.mark_non_differentiable(*(r for r in results if not r.is_floating_point()))
        return tuple(results)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *gradients: torch.Tensor) -> Any:
        runner: _Runner = ctx.runner
        # An error if one of them has changed in place.
        saved = ctx.saved_tensors
        made = runner.backward(ctx.used, saved, ctx.num_inputs, list(gradients))
        by_name, parameters = runner.named(made)
        needs = ctx.needs_input_grad[3:]
        found = (*runner.input_gradients(by_name), *parameters)
        return (None, None, None, *(g if need else None for g, need in zip(found, needs)))
