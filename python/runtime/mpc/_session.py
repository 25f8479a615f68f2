"""Sessions: programs with weights, on a device."""

from __future__ import annotations

import os
import warnings
import zlib
from typing import TYPE_CHECKING, Any, Iterable, Iterator, Mapping, NamedTuple, Self

import numpy as np

from mpc import _runtime
from mpc._arrays import by_order, on_host, suggest
from mpc._batches import cut, join, plan
from mpc._errors import InvalidArgument, user_level
from mpc._program import Program, StateSpec, TensorSpec
from mpc._ranks.adapters import to_communicator
from mpc._ranks.communicator import require_same
from mpc._ranks.launch import launched, share_of_cpus
from mpc._runtime import StepInfo

if TYPE_CHECKING:
    import torch

#: What the gradient of a tensor is called as an input or output of its own.
GRADIENT = "gradient:"

#: A dict by input name, a sequence in the order of the inputs, or one array.
Batch = Any


class Metrics(NamedTuple):
    """The result of an evaluation."""

    loss: float  #: The mean loss.
    accuracy: float | None  #: The share of correct predictions; None if the loss has no classes.
    samples: int
    parts: dict[str, float]  #: The mean of each loss, if the loss is a sum of several.


def _warn_of_others() -> None:
    """Warns that each of several processes would train a model of its own."""
    rank, size = launched()
    if size > 1:
        warnings.warn(
            f"this is process {rank} of {size}, but the session has no communicator, so each trains "
            "a model of its own; pass communicator=mpc.communicator() or another one, or False to "
            "train alone",
            RuntimeWarning, stacklevel=user_level(),
        )


class States(Mapping[str, np.ndarray[Any, Any]]):
    """The tensors of a session by name, which can be read and written.

    >>> session.states["fc2.bias"].shape
    (10,)
    >>> session.states["fc2.bias"] = numpy.zeros(10, numpy.float32)
    """

    __slots__ = ("_session", "_specs")

    def __init__(self, session: Session, specs: dict[str, StateSpec]) -> None:
        self._session = session
        self._specs = specs

    def __getitem__(self, name: str) -> np.ndarray[Any, Any]:
        spec = self.spec(name)
        array = np.empty(spec.shape, spec.dtype)
        self._session.read_state(name, array)
        return array

    def __setitem__(self, name: str, array: Any) -> None:
        spec = self._specs.get(name)
        if spec is None:
            hint = suggest(str(name), list(self._specs))
            raise InvalidArgument(f"the program has no state '{name}'{hint}")
        self._session.write_state(name, array)

    def __iter__(self) -> Iterator[str]:
        return iter(self._specs)

    def __len__(self) -> int:
        return len(self._specs)

    def __repr__(self) -> str:
        return f"<mpc.States: {', '.join(self._specs)}>"

    def spec(self, name: str) -> StateSpec:
        """Type, shape and role of a state.

        Raises:
            KeyError: There is no such state.
        """
        if name not in self._specs:
            hint = suggest(str(name), list(self._specs))
            raise KeyError(f"the program has no state '{name}'{hint}")
        return self._specs[name]


# In the order of mpc_shard_t.
_SHARDS = ("none", "optimizer", "gradients")
# In the order of mpc_gradient_exchange_t.
_GRAD_COMMS = ("fp32", "bf16")


class Session(_runtime.Session):
    """A program on a device, with its weights and optimizer states.

    All methods release the GIL. One thread at a time may use a session: a second one gets an
    error. A forked process cannot use the sessions of its parent; it creates its own.

    Args:
        program: What to run. Several sessions may share a program.
        device: "cpu", "cuda", "cuda:1", or "auto": the first GPU that the program has code
            for, otherwise the CPU.
        threads: Number of threads on the CPU; None: as many as the process may use.
        deterministic: The same bits for any number of threads and, on a GPU, in every run.
        seed: For dropout and random initial values.
        copy: Copy arrays that are not contiguous, instead of refusing them.
        allow_non_finite: Save checkpoints even if weights are not finite.
        communicator: The processes that train the program together: what mpc.communicator()
            returns, a communicator of mpi4py, or a process group of torch.distributed. Each
            creates a session, which must have the same weights, and makes as many updates. The
            program must be compiled with `data_parallel=True`. None, or False, which says that this
            is meant: this process is alone.
        shard: What these processes share, on CPUs, so that each needs less memory: "none";
            "optimizer": each updates a part of the weights and keeps only its part of moments
            and, with 16-bit weights, of masters; "gradients": that, and the memory of others'
            gradients is given back. Weights are the same bit for bit. Reading states and saving
            are then calls that all processes make together.
        grad_comm: How these processes exchange gradients, on CPUs: "fp32", exactly; "bf16", rounded
            to half the bytes: what that loses is added to the next update, and forgotten when a
            checkpoint is saved, which all processes then do together.

    Attributes:
        rank: The number of this process among those of the communicator, from 0.
        size: The number of these processes.

    Raises:
        Unavailable: There is no such device, or the program has no code for it.
        OutOfMemory: States and intermediate results do not fit into memory.
        RankLost: Another process is gone. So do steps, and the session is lost then. An exception
            of mpi4py or PyTorch is its cause.

    >>> with mpc.Session(program, device="cpu") as session:
    ...     info = session.step({"images": images[:64], "labels": labels[:64]})
    >>> info.step, info.skipped
    (1, False)
    """

    __slots__ = ("_program", "_specs", "_ranks")

    def __init__(
        self,
        program: Program,
        device: str = "auto",
        threads: int | None = None,
        deterministic: bool = False,
        *,
        seed: int = 0,
        copy: bool = False,
        allow_non_finite: bool = False,
        communicator: Any = None,
        shard: str = "none",
        grad_comm: str = "fp32",
        _on_torch: bool = False,
    ) -> None:
        if not isinstance(program, Program):
            raise TypeError(
                f"mpc.Session takes an mpc.Program, not {type(program).__name__}; use "
                "mpc.Program.load(path) or mpc.compile(model)"
            )
        for name, value, kind in (
            ("device", device, str), ("threads", threads, int), ("seed", seed, int),
            ("deterministic", deterministic, bool), ("copy", copy, bool),
            ("allow_non_finite", allow_non_finite, bool),
        ):
            is_none = name == "threads" and value is None
            if not is_none and (not isinstance(value, kind) or isinstance(value, bool) != (kind is bool)):
                expected = {str: "a string", int: "an integer", bool: "True or False"}[kind]
                raise TypeError(f"{name} must be {expected}, but is {value!r}")
        if threads is not None and not 1 <= threads < 2**31:
            raise InvalidArgument(f"threads must be at least 1, but is {threads}")
        if not 0 <= seed < 2**63:
            raise InvalidArgument(f"seed must be in [0, 2**63), but is {seed}")
        if shard not in _SHARDS:
            raise InvalidArgument(f"shard must be one of {', '.join(_SHARDS)}, but is {shard!r}")
        if grad_comm not in _GRAD_COMMS:
            raise InvalidArgument(f"grad_comm must be fp32 or bf16, but is {grad_comm!r}")
        ranks = to_communicator(communicator)
        is_shared = ranks is not None and ranks.size > 1
        if communicator is None and program.options.get("data_parallel"):
            _warn_of_others()
        if is_shared and threads is None:
            threads = share_of_cpus()
        super().__init__(
            program._handle, device, threads or 0, deterministic, seed, allow_non_finite, copy,
            _on_torch, ranks, _SHARDS.index(shard) if is_shared else 0,
            _GRAD_COMMS.index(grad_comm) if is_shared else 0,
        )
        self._program = program
        self._specs = {spec.name: spec for spec in program.states}
        self._ranks = ranks
        if ranks is not None and is_shared:
            try:
                require_same(ranks, "program and weights", self._fingerprint())
            except BaseException:
                self.close()
                raise

    def _fingerprint(self) -> str:
        """A number for the options and weights that all ranks must have."""
        number = zlib.crc32(repr(sorted(self._program.options.items())).encode())
        for name, array in self.state_dict().items():
            number = zlib.crc32(array.tobytes(), zlib.crc32(name.encode(), number))
        return f"{number:08x}"

    @classmethod
    def _of_trainer(cls, program: Program, trainer: _runtime.Trainer) -> Self:
        """The session of a training loop, which alone may step it."""
        session = cls.__new__(cls)
        _runtime.Session.__init__(session, trainer)
        session._program = program
        session._specs = {spec.name: spec for spec in program.states}
        return session

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mpc.Session {'closed' if self.closed else self.device}>"

    def __reduce__(self) -> Any:
        raise TypeError("an mpc.Session cannot be copied to another process; create one there")

    @property
    def program(self) -> Program:
        """The program that the session runs."""
        return self._program

    # Gradients

    def forward(self, batch: Batch) -> dict[str, np.ndarray[Any, Any]]:
        """Computes the outputs of the model in training form, for a loss that the caller computes.

        The program must be compiled with `loss="external", optimizer="none"`.

        Returns:
            NumPy arrays by output name, which own their memory.
        """
        self._need("forward", "loss='external' and optimizer='none'")
        names = [spec.name for spec in self._program.inputs("forward")]
        return self._outputs_of("forward", by_order(batch, names))

    def backward(self, gradients: Batch) -> dict[str, np.ndarray[Any, Any]]:
        """Computes the gradients of the parameters, and of the inputs that the program was compiled
        for (`input_gradients`), for the last call of `forward`.

        Args:
            gradients: The gradient of the loss with respect to each output that is a float: a dict
                by output name, a sequence in the order of the outputs, or one array.

        Returns:
            NumPy arrays by the names of parameters and inputs, which own their memory.

        Raises:
            InvalidArgument: `forward` has not run since a state was written.
        """
        self._need("backward", "loss='external' and optimizer='none'")
        names = [spec.name.removeprefix(GRADIENT) for spec in self._program.inputs("backward")]
        results = self._outputs_of("backward", by_order(gradients, names))
        return {name.removeprefix(GRADIENT): array for name, array in results.items()}

    def gradients(self, batch: Batch) -> tuple[float, dict[str, np.ndarray[Any, Any]]]:
        """Computes the loss of a batch and its gradients; changes no weight.

        The program must be compiled with `optimizer="none"`.

        Returns:
            The loss, and gradients by the names of parameters and of the inputs that the program was
            compiled for (`input_gradients`).
        """
        self._need("step", "optimizer='none'")
        if self._program.options.get("optimizer") != "none":
            raise InvalidArgument(
                "the steps of the program update the weights; compile with optimizer='none' for "
                "gradients, or use mpc.gradients(model, batch)"
            )
        names = [spec.name for spec in self._program.inputs("step")]
        results = self._outputs_of("step", by_order(batch, names))
        return float(results["loss"]), {
            name.removeprefix(GRADIENT): array
            for name, array in results.items()
            if name.startswith(GRADIENT)
        }

    def _need(self, entry: str, options: str) -> None:
        if entry not in self._program.entries:
            raise InvalidArgument(f"the program has no '{entry}'; compile it with {options}")

    def _outputs_of(self, entry: str, batch: list[Any]) -> dict[str, np.ndarray[Any, Any]]:
        specs = self._program.outputs(entry)
        made = {spec.name: np.empty(spec.shape, spec.dtype) for spec in specs}
        self.run(entry, batch, list(made.values()))
        return made

    # Evaluation

    def evaluate(self, batch: Batch) -> Metrics:
        """Computes the mean loss, and the accuracy if there is one, of any number of samples.

        Changes no state.

        Raises:
            InvalidArgument: The program cannot evaluate, or an array does not fit.

        >>> session.evaluate({"images": images, "labels": labels}).samples
        1500
        """
        specs, arrays, count = self._samples("evaluate", batch)
        sums = np.zeros(4)
        has_accuracy = False
        samples = 0
        parts: list[float] = []
        for piece in plan(count, self._program.batch_sizes("evaluate")):
            loss, weight, seen, has_accuracy, correct, counted, more = self.evaluate_batch(
                cut(arrays, specs, piece), piece.valid
            )
            sums += (loss, weight, correct, counted)
            samples += seen
            parts = [a + b for a, b in zip(parts, more)] if parts else more
        loss, weight, correct, counted = (float(value) for value in sums)
        prefix = "sample_loss:"
        names = [
            spec.name.removeprefix(prefix)
            for spec in self._program.outputs("evaluate")
            if spec.name.startswith(prefix)
        ]
        return Metrics(
            loss / weight if weight else float("nan"),
            (correct / counted if counted else float("nan")) if has_accuracy else None,
            samples,
            {name: part / weight for name, part in zip(names, parts)},
        )

    def predict(
        self,
        batch: Batch,
        *,
        outputs: Iterable[str] | None = None,
        out: Mapping[str, Any] | None = None,
    ) -> dict[str, np.ndarray[Any, Any]]:
        """Computes outputs of the model for any number of samples. Changes no state.

        Args:
            batch: The inputs. Entries that `predict` does not take, such as labels, are ignored.
            outputs: The names of the outputs to compute; None: all.
            out: Arrays to write, by output name, for exactly one batch of the program.

        Returns:
            NumPy arrays by output name, which own their memory. bf16 is `ml_dtypes.bfloat16`.

        >>> session.predict(images[:5])["logits"].shape
        (5, 10)
        """
        available = self._program.outputs("predict")
        chosen = [spec.name for spec in available]
        if outputs is not None or out is not None:
            if isinstance(outputs, str) or not isinstance(out or {}, Mapping):
                raise TypeError(
                    "outputs must be a list of names, and out a dict of arrays by output name"
                )
            wanted = list(outputs if outputs is not None else out or ())
            for name in wanted:
                if name not in chosen:
                    raise InvalidArgument(
                        f"the program has no output '{name}'{suggest(str(name), chosen)}"
                    )
            chosen = wanted
        if out is not None:
            for name, array in out.items():
                if array is None:
                    raise InvalidArgument(f"output '{name}' is of type NoneType, not an array")
            given = [out.get(spec.name) if spec.name in chosen else None for spec in available]
            names = [spec.name for spec in self._program.inputs("predict")]
            self.run("predict", by_order(batch, names), given)
            return {name: out[name] for name in chosen}
        specs, arrays, count = self._samples("predict", batch)
        results: dict[str, list[np.ndarray[Any, Any]]] = {name: [] for name in chosen}
        sizes = self._program.batch_sizes("predict")
        for piece in plan(count, sizes):
            is_other = piece.size not in (0, sizes[0])
            made = [
                np.empty(spec.shape, spec.dtype) if spec.name in results else None
                for spec in self._program.outputs(f"predict@{piece.size}" if is_other else "predict")
            ]
            self.run("predict", cut(arrays, specs, piece), made)
            for spec, array in zip(available, made):
                if array is not None:
                    results[spec.name].append(join(array, spec, piece))
        by_name = {spec.name: spec for spec in available}
        return {
            name: pieces[0]
            if len(pieces) == 1
            else np.concatenate(pieces, axis=by_name[name].batch_dim or 0)
            for name, pieces in results.items()
        }

    def _samples(
        self, entry: str, batch: Batch
    ) -> tuple[tuple[TensorSpec, ...], list[Any], int | None]:
        """The inputs of an entry point, their arrays, and the number of samples; None if the
        inputs have no batch dimension."""
        specs = self._program.inputs(entry)
        arrays = by_order(batch, [spec.name for spec in specs])
        counts: dict[str, int] = {}
        for i, spec in enumerate(specs):
            if spec.batch_dim is None:
                continue
            subject = f"input '{spec.name}'"
            shape = getattr(arrays[i], "shape", None)
            if shape is None:
                arrays[i] = on_host(subject, arrays[i], False)
                shape = arrays[i].shape
            if len(shape) != len(spec.shape):
                raise InvalidArgument(
                    f"{subject} has the shape {tuple(shape)}, but the program takes {spec.shape}"
                )
            counts[spec.name] = int(shape[spec.batch_dim])
        if len(set(counts.values())) > 1:
            raise InvalidArgument(
                "the inputs have different numbers of samples: "
                + ", ".join(f"'{name}' has {count}" for name, count in counts.items())
            )
        if 0 in counts.values():
            raise InvalidArgument("the batch has no samples")
        return specs, arrays, next(iter(counts.values()), None)

    # States

    @property
    def states(self) -> States:
        """All tensors of the session by name; assign to an entry to write one."""
        return States(self, self._specs)

    @property
    def lr(self) -> float:
        """The learning rate of the next step.

        Raises:
            InvalidArgument: A schedule computes the rate, or the program has several rates.
        """
        return float(self.states[self._rate()])

    @lr.setter
    def lr(self, rate: float) -> None:
        name = self._rate()
        if isinstance(rate, (bool, str)) or not hasattr(rate, "__float__"):
            raise TypeError(f"the learning rate must be a number, but is {rate!r}")
        if not 0 <= rate < float("inf"):
            raise InvalidArgument(f"the learning rate must be a finite number of at least 0, but is {rate}")
        self.states[name] = np.asarray(rate, self.states.spec(name).dtype)

    def _rate(self) -> str:
        options = self._program.options
        schedule = options.get("lr_schedule", "constant")
        if schedule != "constant":
            raise InvalidArgument(
                f"the learning rate follows the schedule '{schedule}'; read StepInfo.lr, or "
                "compile with lr_schedule='constant' to set the rate"
            )
        names = [name for name in options.get("learning_rates", "").split("\n") if name]
        if len(names) != 1:
            raise InvalidArgument(
                f"the program has {len(names)} learning rates; use session.states[name]"
                + (f": {', '.join(names)}" if names else "")
            )
        return names[0]

    def _model_states(self) -> list[str]:
        """Parameters and statistics."""
        return [
            spec.name
            for spec in self._program.states
            if spec.role in ("parameter", "statistic")
        ]

    def state_dict(self) -> dict[str, np.ndarray[Any, Any]]:
        """Parameters and running statistics of the model, by their ONNX names.

        >>> sorted(session.state_dict())[:2]
        ['fc1.bias', 'fc1.weight']
        """
        return {name: self.states[name] for name in self._model_states()}

    def load_state_dict(self, state_dict: Mapping[str, Any], strict: bool = True) -> None:
        """Sets parameters and running statistics.

        Args:
            state_dict: Arrays by ONNX name.
            strict: Refuse a dict that lacks a tensor of the model or has others.

        Raises:
            InvalidArgument: Names, types or shapes do not fit. No tensor has changed if names
                do not fit.
        """
        if not isinstance(state_dict, Mapping):
            raise TypeError(
                f"state_dict must be a dict of arrays by name, not {type(state_dict).__name__}"
            )
        names = self._model_states()
        missing = [name for name in names if name not in state_dict]
        unexpected = [name for name in state_dict if name not in names]
        faults = []
        if missing:
            faults.append("missing keys: " + ", ".join(f'"{name}"' for name in missing))
        if unexpected:
            faults.append("unexpected keys: " + ", ".join(f'"{name}"' for name in unexpected))
        if strict and faults:
            raise InvalidArgument("the state_dict does not fit the program: " + "; ".join(faults))
        for name in names:
            if name in state_dict:
                self.states[name] = state_dict[name]

    def load_into(self, module: torch.nn.Module) -> None:
        """Writes the weights of the session into the PyTorch module that `mpc.from_torch` took.

        Raises:
            InvalidArgument: The program was not made by `mpc.from_torch`, or from another module.
        """
        if not self._program._names:
            raise InvalidArgument(
                "the program was not made by mpc.from_torch, so it knows no module"
            )
        from mpc._torch import load_into

        load_into(self, module)

    # Checkpoints

    def save_checkpoint(self, path: str | os.PathLike[str]) -> None:
        """Writes weights, optimizer states and counters to the folder `path`, completely or not at all.

        `mpc eval`, `predict` and `export` read it (`--checkpoint=PATH`).

        Raises:
            IoError: It cannot be written.
            NumericError: A weight is not finite; see `allow_non_finite`.
        """
        self.write_checkpoint(os.fspath(path))

    def load_checkpoint(self, path: str | os.PathLike[str]) -> str:
        """Reads a checkpoint, also one of `mpc train`. Training continues bit for bit.

        Args:
            path: A checkpoint, or a folder of checkpoints `step-N`, whose newest is taken.

        Returns:
            The path of the checkpoint.

        Raises:
            IoError: There is no checkpoint, or it cannot be read.
            Damaged: The checkpoint is incomplete or has changed. The session is unchanged.
            Incompatible: The checkpoint belongs to another program. The session is unchanged.
        """
        path = os.fspath(path)
        if os.path.isdir(path) and any(name.startswith("step-") for name in os.listdir(path)):
            newest, warning = self.load_latest(path)
            if warning:
                warnings.warn(warning, RuntimeWarning, stacklevel=2)
            if newest:
                return newest
        self.read_checkpoint(path)
        return path
