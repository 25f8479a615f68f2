"""mpc.Trainer."""

from __future__ import annotations

import contextlib
import inspect
import json
import logging
import os
import time
import warnings
from typing import Any, Callable, Iterator, Mapping, NamedTuple, Self, Sequence

import numpy as np

from mpc import _runtime
from mpc._arrays import suggest
from mpc._command import run_command
from mpc._compile import run
from mpc._errors import CompileNote, Error, InvalidArgument, IoError, TrainNote, user_level
from mpc._program import Program
from mpc._session import Session
from mpc._torch import from_torch
from mpc._training.arguments import TrainingArguments
from mpc._training.callbacks import (
    TrainerControl,
    TrainerState,
    call_event,
    require_callback,
)
from mpc._training.data import (
    Collate,
    Stream,
    first_sample_batch,
    in_names,
    is_path,
    is_stream,
    open_data,
    require_data,
    to_arrays,
)
from mpc._training.options import (
    NATIVE_METRICS,
    best_metric,
    check_program,
    in_arguments,
    merge_options,
    train_options,
)
from mpc._training.ranks import RunRanks

_LOGGER = logging.getLogger("mpc")
# In the order of mpc_message_kind_t (train.h).
_NOTE, _WARNING, _PROGRESS, _SUMMARY = range(4)
_HISTORY = "log_history.json"

#: Arguments of Hugging Face's Trainer, and what to do instead.
_INSTEAD = {
    "compute_loss_func": "compile_options=dict(loss=...)",
    "model_init": "a model with its initial weights",
    "optimizer_cls_and_kwargs": "optim and other arguments",
    "optimizers": "optim and lr_scheduler_type in the arguments",
    "preprocess_logits_for_metrics": "compute_metrics, which gets NumPy arrays",
    "processing_class": "data_collator",
    "tokenizer": "data_collator",
}


class EvalPrediction(NamedTuple):
    """What compute_metrics gets: arrays for all samples."""

    #: An array, or a dict by output name if the model has several outputs.
    predictions: Any
    #: The same for the inputs that are only there to evaluate, such as labels.
    label_ids: Any


class PredictionOutput(NamedTuple):
    """The result of Trainer.predict."""

    predictions: Any  #: An array, or a dict by output name if the model has several outputs.
    label_ids: Any  #: The same for the labels; None if the data has none.
    metrics: dict[str, float]  #: "test_loss" and others; empty without labels.


class TrainOutput(NamedTuple):
    """The result of Trainer.train."""

    global_step: int
    training_loss: float  #: The mean of the losses of this run.
    metrics: dict[str, float]  #: "train_runtime" in seconds, "train_samples_per_second", ...


class Trainer:
    """Trains a model as `mpc train` does, with the names of Hugging Face's Trainer.

    The loop is that of `mpc train`: the same order of samples, the same losses and the same
    checkpoints, bit for bit. Either continues what the other began.

    Data is a path that `mpc train --data` takes, a dict of arrays by input name, a tuple of arrays
    in the order of the inputs, a sequence of samples (dicts or tuples), or an iterable of batches
    such as a DataLoader. Samples that are read one by one are copied, arrays are lent. Iterables
    keep their order; those with `set_epoch`, and PyTorch's DataLoader, have an order that depends
    on the seed and the epoch only, so that a resumed run gets the same batches. Data to evaluate
    or predict is read once, and kept in memory.

    If mpirun, srun or torchrun has started several processes ("ranks"), they train one model, each
    on its own batches: batch i of an epoch belongs to rank i modulo their number. All run the same
    script and read the same data; the first one writes checkpoints and logs. A signal that stops
    one rank stops all, after they have saved. A model is compiled with `data_parallel=True`; a
    program must have been.

    Args:
        model: A path of an ONNX model, its bytes, an `onnx.ModelProto` or a `torch.nn.Module`, which
            are compiled for the arguments; or an mpc.Program, which must agree with them.
        args: What to do; None: three epochs without evaluations and checkpoints.
        data_collator: Makes a batch of a list of samples; None: samples are stacked.
        train_dataset: The data to train on.
        eval_dataset: The data for evaluations.
        compute_metrics: Takes an EvalPrediction, returns numbers by name.
        callbacks: Objects, or classes, with methods of mpc.TrainerCallback.
        compile_options: Options of mpc.compile that have no argument, such as `loss`.
        communicator: The processes that train together, as in mpc.Session; None: all that a launcher
            has started. False: this process trains alone.

    Attributes:
        args: The arguments.
        program: The program.
        state: Where training is.
        control: What callbacks may set.

    Raises:
        CompileError: The model cannot be compiled.
        InvalidArgument: Arguments, program and data do not fit.
        TypeError: An argument is of another type.
        RankLost: Another process is gone.

    >>> data = {"images": images, "labels": labels}
    >>> args = mpc.TrainingArguments(num_train_epochs=1, logging_steps=10)
    >>> with mpc.Trainer(program, args, train_dataset=data) as trainer:
    ...     trainer.train().global_step
    23
    """

    def __init__(
        self,
        model: Any,
        args: TrainingArguments | None = None,
        *,
        data_collator: Collate | None = None,
        train_dataset: Any = None,
        eval_dataset: Any = None,
        compute_metrics: Callable[[EvalPrediction], Mapping[str, float]] | None = None,
        callbacks: Sequence[Any] = (),
        compile_options: Mapping[str, Any] | None = None,
        communicator: Any = None,
        **unknown: Any,
    ) -> None:
        for name in unknown:
            known = [p for p in inspect.signature(Trainer.__init__).parameters if p != "unknown"]
            instead = _INSTEAD.get(name)
            advice = f"; use {instead}" if instead else suggest(name, known[1:])
            raise TypeError(f"mpc.Trainer has no argument '{name}'{advice}")
        if args is not None and not isinstance(args, TrainingArguments):
            raise TypeError(
                f"args must be mpc.TrainingArguments, not {type(args).__name__}"
            )
        for what, function in (("data_collator", data_collator),
                               ("compute_metrics", compute_metrics)):
            if function is not None and not callable(function):
                raise TypeError(f"{what} must be a function, not {type(function).__name__}")
        self.args = args or TrainingArguments()
        for what, data in (("train_dataset", train_dataset), ("eval_dataset", eval_dataset)):
            if data is not None:
                require_data(what, data)
        if self.args.eval_strategy != "no" and eval_dataset is None:
            raise InvalidArgument(
                f"eval_strategy='{self.args.eval_strategy}' requires eval_dataset"
            )
        self._collate = data_collator
        self._train_data = train_dataset
        self._eval_data = eval_dataset
        self._compute_metrics = compute_metrics
        self._callbacks = [require_callback(callback) for callback in callbacks]
        self._best = best_metric(self.args, compute_metrics is not None)
        self._has_native_best = self._best[0] in NATIVE_METRICS
        self._is_compiled = not isinstance(model, Program)
        self._module = model if hasattr(model, "named_parameters") else None
        self._ranks = RunRanks(communicator)
        self.program = self._compile(model, compile_options or {})
        self.state = TrainerState(
            num_train_epochs=self.args.num_train_epochs, is_world_process_zero=self._ranks.is_first
        )
        self.control = TrainerControl()
        self._loop: _runtime.Trainer | None = None
        self._options: _runtime.TrainOptions | None = None
        self._session: Session | None = None
        self._is_closed = False
        self._steps_per_epoch = 1
        self._samples_per_step = 1
        self._eval_arrays: dict[str, np.ndarray[Any, Any]] | None = None
        self._losses: list[float] = []
        self._worse_evaluations = 0  # Since the best one.

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<mpc.Trainer step {self.state.global_step} of {self.state.max_steps or '?'}>"

    def close(self) -> None:
        """Frees the memory of the session and the lock on the checkpoint folder."""
        self._is_closed = True
        self._loop = None
        if self._session is not None:
            self._session.close()

    # Programs

    def _compile(self, model: Any, options: Mapping[str, Any]) -> Program:
        if isinstance(model, Program):
            if options:
                raise InvalidArgument(
                    f"compile_options ({', '.join(options)}) do not apply to an mpc.Program; pass "
                    "them to mpc.compile, or pass the model to mpc.Trainer"
                )
            check_program(self.args, model)
            return model
        keywords = merge_options(self.args, options)
        if self._ranks.size > 1:
            keywords.setdefault("data_parallel", True)
        with warnings.catch_warnings():
            if not self._ranks.is_first:  # They are those of the first one.
                warnings.simplefilter("ignore", CompileNote)
            if self._module is not None:
                return from_torch(self._module, self._example_inputs(), **keywords)
            return run(model, None, None, keywords, stacklevel=user_level() + 1)

    def _example_inputs(self) -> Any:
        """The inputs of the module for the first samples of the training data."""
        import torch

        assert self._module is not None
        if self._train_data is None or is_path(self._train_data):
            raise InvalidArgument(
                "a PyTorch module needs example inputs: pass train_dataset as arrays, samples or "
                "batches, or compile it with mpc.from_torch"
            )
        count = self.args.per_device_train_batch_size or 32
        batch = first_sample_batch(self._train_data, count, self._collate)
        parameters = inspect.signature(self._module.forward).parameters

        def tensor(value: Any) -> torch.Tensor:
            return value if isinstance(value, torch.Tensor) else torch.from_numpy(np.asarray(value))

        if hasattr(batch, "keys"):
            names = [name for name in parameters if name in batch.keys()]
            if not names:
                raise InvalidArgument(
                    f"the training data has {', '.join(map(repr, batch.keys()))}, but forward() "
                    f"takes {', '.join(map(repr, parameters))}; name the arrays after its arguments"
                )
            return {name: tensor(batch[name]) for name in names}
        if not isinstance(batch, (tuple, list)):
            return tensor(batch)
        required = [p for p in parameters.values() if p.default is p.empty]
        return tuple(tensor(value) for value in batch[: max(1, min(len(required), len(batch) - 1))])

    # Sessions

    @property
    def session(self) -> Session:
        """The session with the weights, whose states may be read and written between steps."""
        if self._is_closed:
            raise InvalidArgument("the trainer is closed; create another one")
        if self._session is None:
            self._session = Session(
                self.program, self.args.device, self.args.threads, self.args.deterministic,
                seed=self.args.seed or 0, communicator=False,
            )
        return self._session

    def _begin(self, resume: bool | str | os.PathLike[str] | None) -> _runtime.Trainer:
        """The loop, which is made when training begins."""
        if self._is_closed:
            raise InvalidArgument("the trainer is closed; create another one")
        if self._loop is not None:
            if resume:
                raise InvalidArgument(
                    "training has begun; call train() without resume_from_checkpoint to go on, or "
                    "create another trainer"
                )
            return self._loop
        if self._train_data is None:
            raise InvalidArgument("train() requires train_dataset")
        resumes = self._wants_resume(resume or self.args.resume_from_checkpoint)
        evaluates = self.args.eval_strategy != "no"
        metric = self._best[0]
        wants_best = self.args.load_best_model_at_end or (
            self.args.early_stopping_patience is not None and metric != "loss"
        )
        with self._messages():
            options = _runtime.TrainOptions(train_options(
                self.args, self.program,
                resume=resumes,
                is_compiled=self._is_compiled,
                is_stream=is_stream(self._train_data),
                evaluates=evaluates,
                stops=self._has_native_best,
                best=self._best if wants_best and self._has_native_best else None,
            ))
            self._options = options
            if self._ranks.communicator is not None:
                options.set_communicator(self._ranks.communicator)
            stream = self._make_stream()
            data = open_data(
                self.program, None, self._train_data, options, self._collate, stream
            )
            eval_data = None
            if evaluates:
                source = self._eval_data
                if not is_path(source):
                    source = self._evaluated()
                eval_data = open_data(self.program, "evaluate", source, options, None)
            loop = _runtime.Trainer(self.program._handle, data, eval_data, options)
            session = Session._of_trainer(self.program, loop)
        if loop.checkpoint():
            self._restore(session, stream)
        elif self._session is not None:
            # What the user has set before training.
            session.load_state_dict(self._session.state_dict())
            self._ranks.require_same("program and weights", session._fingerprint())
        if self._session is not None:
            self._session.close()
        self._session = session
        accumulate = self._batches_per_step()
        drops = self.args.dataloader_drop_last or stream is not None
        batches = max(1, (data.num_samples + (0 if drops else data.batch_size - 1))
                      // data.batch_size)
        self._steps_per_epoch = -(-batches // accumulate)
        self._samples_per_step = data.batch_size * accumulate
        self._loop = loop
        return loop

    def _batches_per_step(self) -> int:
        """Those of all ranks."""
        return int(self.program.options.get("accumulate") or 1) * self._ranks.size

    def _wants_resume(self, resume: bool | str | os.PathLike[str] | None) -> bool:
        if not resume or resume is True:
            return bool(resume)
        folder = os.path.realpath(os.fspath(self.args.output_dir or ""))
        path = os.path.realpath(os.fspath(resume))
        newest = max(
            (name for name in (os.listdir(folder) if os.path.isdir(folder) else ())
             if name.startswith("step-") and name[5:].isdigit()),
            key=lambda name: int(name[5:]),
            default=None,
        )
        if self.args.output_dir is None:
            raise InvalidArgument(f"resume_from_checkpoint={resume!r} requires output_dir")
        if path != folder and (newest is None or path != os.path.join(folder, newest)):
            found = f"whose newest checkpoint is '{newest}'" if newest else "which has none"
            raise InvalidArgument(
                f"resume_from_checkpoint='{os.fspath(resume)}' is not the newest checkpoint of "
                f"output_dir='{os.fspath(self.args.output_dir)}', {found}; use True, or copy the "
                "checkpoint to another output_dir"
            )
        return True

    def _make_stream(self) -> Stream | None:
        if not is_stream(self._train_data):
            return None
        size = self.args.per_device_train_batch_size or self.program.batch_sizes()[0]
        steps = self.args.max_steps
        return Stream(
            self._train_data, self.program.inputs("step"), size,
            steps * self._batches_per_step() if steps > 0 else None, self.args.seed or 0,
        )

    def _restore(self, session: Session, stream: Stream | None) -> None:
        """Continues state and data after a checkpoint."""
        step = int(session.get_property("train.step") or 0)
        if stream is not None:
            stream.epoch = int(session.get_property("train.epoch") or 0)
            stream.seed = int(session.get_property("train.seed") or 0)
        self.state.global_step = step
        path = os.path.join(os.fspath(self.args.output_dir or ""), _HISTORY)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                history = json.load(file)
            self.state.log_history = [row for row in history if row.get("step", 0) <= step]
            for row in self.state.log_history:
                self._remember_best(row, row.get("step", 0))

    @contextlib.contextmanager
    def _messages(self) -> Iterator[None]:
        """Passes on messages of the loop; those and its errors name arguments."""
        try:
            yield
        except Error as error:
            text = in_arguments(str(error))
            if text == str(error):
                raise
            raise type(error)(text) from None
        finally:
            # Also after an error, which they may explain.
            for kind, text in self._options.take_messages() if self._options else ():
                if not self._ranks.is_first:  # Most are those of the first one.
                    if kind != _WARNING:
                        continue
                    text = f"rank {self._ranks.rank}: {text}"
                if kind in (_NOTE, _WARNING):
                    warnings.warn(in_arguments(text), TrainNote, stacklevel=user_level())
                else:
                    _LOGGER.info("%s", text)

    # Training

    def train(
        self, resume_from_checkpoint: bool | str | os.PathLike[str] | None = None
    ) -> TrainOutput:
        """Trains to the end, or until a callback stops it; then it may be called again.

        After a KeyboardInterrupt, a checkpoint is saved first. A PyTorch module gets the trained
        weights.

        Args:
            resume_from_checkpoint: Instead of the argument of this name.

        Raises:
            NumericError: Training diverged.
            InvalidArgument: The data does not fit the program, or the checkpoint not the arguments.
            IoError: Data or checkpoints cannot be read or written.
        """
        loop = self._begin(resume_from_checkpoint)
        self.control.should_training_stop = False
        begin, first, losses, count = time.perf_counter(), self.state.global_step, 0.0, 0
        self._losses = []
        self._call("on_train_begin")
        self._ranks.share(self.control)
        try:
            with self._ranks.signals():
                while not self.control.should_training_stop:
                    with self._messages():
                        info = loop.step()
                    if info.step > self.state.global_step:
                        if not info.skipped:
                            losses, count = losses + info.loss, count + 1
                        self._after_step(info)
                    if info.done:
                        break
                else:
                    self._save()
        except KeyboardInterrupt:
            if self._ranks.size == 1:  # Others save before.
                self._save()
            raise
        steps, seconds = self.state.global_step - first, time.perf_counter() - begin
        mean = losses / count if count else float("nan")
        metrics = {
            "train_runtime": seconds,
            "train_samples_per_second": steps * self._samples_per_step / seconds,
            "train_steps_per_second": steps / seconds,
            "train_loss": mean,
            "epoch": self.state.epoch,
        }
        if steps:
            self._add_log(metrics)
        if self.args.load_best_model_at_end and self.state.best_model_checkpoint:
            self.session.load_checkpoint(self.state.best_model_checkpoint)
        if self._module is not None:
            self.session.load_into(self._module)
        self._write_history()
        self._call("on_train_end")
        return TrainOutput(self.state.global_step, mean, metrics)

    def _after_step(self, info: _runtime.TrainerInfo) -> None:
        args, state, control = self.args, self.state, self.control
        state.global_step, state.max_steps = info.step, info.total_steps
        state.epoch = info.step / self._steps_per_epoch
        if not info.skipped:
            self._losses.append(info.loss)
        if (args.logging_strategy == "steps" and info.step % args.logging_steps == 0
                or args.logging_strategy == "epoch" and info.ends_epoch):
            control.should_log = True
        self._call("on_step_end")
        if control.should_log:
            self._log_losses(info)
        if info.evaluated or control.should_evaluate:
            self._evaluated_weights(counts=info.evaluated)
        self._ranks.share(control)
        if info.saved:
            self._saved()
        elif control.should_save or (args.save_strategy == "epoch" and info.ends_epoch):
            self._save()
        if info.ends_epoch:
            self._call("on_epoch_end")
        if info.ends_epoch or info.saved or control.should_save:
            self._ranks.share(control)  # Callbacks may have stopped training since.
        control.should_log = control.should_evaluate = control.should_save = False

    def _log_losses(self, info: _runtime.TrainerInfo) -> None:
        rate = info.lr
        if rate == 0:
            with contextlib.suppress(InvalidArgument):
                rate = self.session.lr
        mean = sum(self._losses) / len(self._losses) if self._losses else float("nan")
        self._losses = []
        self._add_log({"loss": mean, "grad_norm": info.grad_norm, "learning_rate": rate,
                       "epoch": self.state.epoch})

    def _add_log(self, row: dict[str, float]) -> None:
        self.state.log_history.append({**row, "step": self.state.global_step})
        self._call("on_log", logs=row)

    def _evaluated_weights(self, counts: bool) -> None:
        """Records the evaluation of the loop; `counts` if it may be the best one."""
        assert self._loop is not None
        if not counts:
            with self._messages():
                self._loop.evaluate()
        metrics = {f"eval_{name}": value for name, value in self._loop.metrics().items()}
        if self._compute_metrics is not None:
            metrics |= self._computed(self._evaluated(), "eval")
        metrics["epoch"] = self.state.epoch
        is_best = counts and self._remember_best(metrics, self.state.global_step)
        if counts and not self._has_native_best and self.args.load_best_model_at_end \
                and self._ranks.first_says(is_best):
            self._save_best()
        patience = self.args.early_stopping_patience
        if counts and not self._has_native_best and patience is not None:
            self.control.should_training_stop |= self._worse_evaluations >= patience
        self._add_log(metrics)
        self._call("on_evaluate", metrics=metrics)

    def _save_best(self) -> None:
        """Saves the weights of the loop on the first rank, or on all together."""
        path, errors = self._best_path(), list[Exception]()

        def finish() -> None:
            if not self._saves_together:
                self.session.save_checkpoint(path)
            elif errors:
                raise errors[0]

        if self._saves_together:
            try:
                self.session.save_checkpoint(path)
            except Exception as error:
                if not self._ranks.is_first:
                    raise
                errors.append(error)
        self._ranks.on_first(finish)

    @property
    def _saves_together(self) -> bool:
        """Whether all ranks save checkpoints of the loop; see mpc.Session."""
        shares = self.args.shard != "none" or self.args.grad_comm != "fp32"
        return shares and self._ranks.size > 1 and self._loop is not None

    def _best_path(self) -> str:
        return os.path.join(os.fspath(self.args.output_dir or ""), "best")

    def _remember_best(self, metrics: Mapping[str, float], step: int) -> bool:
        """Whether an evaluation is the best one until now; counts those that are not."""
        name, order = self._best
        self._worse_evaluations += 1
        value = metrics.get(f"eval_{name}")
        if value is None or value != value:
            if "eval_loss" in metrics and value is None:
                known = [key for key in metrics if key.startswith("eval_")]
                raise InvalidArgument(
                    f"metric_for_best_model='{name}' is not computed{suggest('eval_' + name, known)}"
                )
            return False
        best = self.state.best_metric
        if best is not None and not (value > best if order == "max" else value < best):
            return False
        self._worse_evaluations = 0
        self.state.best_metric, self.state.best_global_step = value, step
        if self.args.load_best_model_at_end:
            self.state.best_model_checkpoint = self._best_path()
        return True

    def _save(self) -> None:
        if self._loop is None or self.args.save_strategy == "no":
            return
        with self._messages():
            self._loop.save()
        self._saved()

    def _saved(self) -> None:
        self._write_history()
        self._call("on_save")

    def _write_history(self) -> None:
        """Beside the checkpoints, completely or not at all."""
        if self.args.save_strategy == "no" or not self._ranks.is_first:
            return
        path = os.path.join(os.fspath(self.args.output_dir or ""), _HISTORY)
        try:
            with open(path + ".part", "w", encoding="utf-8") as file:
                json.dump(self.state.log_history, file)
            os.replace(path + ".part", path)
        except OSError as error:
            raise IoError(f"cannot write '{path}': {error.strerror}") from error

    def _call(self, event: str, **keywords: Any) -> None:
        call_event(
            self._callbacks, event, self.args, self.state, self.control, trainer=self, **keywords
        )

    def add_callback(self, callback: Any) -> None:
        """Adds an object, or a class, with methods of mpc.TrainerCallback."""
        self._callbacks.append(require_callback(callback))

    def remove_callback(self, callback: Any) -> None:
        """Removes an object, or the objects of a class."""
        self._callbacks = [
            other
            for other in self._callbacks
            if other is not callback and type(other) is not callback
        ]

    # Evaluation

    def _evaluated(self) -> dict[str, np.ndarray[Any, Any]]:
        """The data for evaluations as arrays."""
        if self._eval_data is None:
            raise InvalidArgument("evaluate() requires eval_dataset")
        if self._eval_arrays is None:
            self._eval_arrays = to_arrays(self.program, self._eval_data, self._collate, "evaluate")
        return self._eval_arrays

    def evaluate(
        self, eval_dataset: Any = None, *, metric_key_prefix: str = "eval"
    ) -> dict[str, float]:
        """The mean loss, accuracy if there is one, and compute_metrics, with a prefix: "eval_loss".

        Does not count for the best weights.

        Args:
            eval_dataset: Instead of that of the trainer.
        """
        if eval_dataset is None:
            arrays = self._evaluated()
        else:
            require_data("eval_dataset", eval_dataset)
            arrays = to_arrays(self.program, eval_dataset, self._collate, "evaluate")
        metrics = self._measure(arrays, metric_key_prefix)
        metrics["epoch"] = self.state.epoch
        self._add_log(metrics)
        self._call("on_evaluate", metrics=metrics)
        return metrics

    def _measure(self, arrays: Mapping[str, Any], prefix: str) -> dict[str, float]:
        result = self.session.evaluate(arrays)
        metrics = {f"{prefix}_loss": result.loss}
        if result.accuracy is not None:
            metrics[f"{prefix}_accuracy"] = result.accuracy
        for name, value in result.parts.items():
            metrics[f"{prefix}_loss:{name}"] = value
        if self._compute_metrics is not None:
            metrics |= self._computed(arrays, prefix)
        return metrics

    def _computed(self, arrays: Mapping[str, Any], prefix: str) -> dict[str, float]:
        assert self._compute_metrics is not None
        predictions = _only(self.session.predict(arrays))
        computed = self._compute_metrics(EvalPrediction(predictions, self._labels(arrays)))
        if not isinstance(computed, Mapping):
            raise TypeError(
                f"compute_metrics must return a dict of numbers, not {type(computed).__name__}"
            )
        return {
            name if name.startswith(f"{prefix}_") else f"{prefix}_{name}": float(value)
            for name, value in computed.items()
        }

    def _labels(self, arrays: Mapping[str, Any]) -> Any:
        """The inputs that are only there to evaluate; None if one is missing."""
        if "evaluate" not in self.program.entries:
            return None
        predicted = {spec.name for spec in self.program.inputs("predict")}
        names = [s.name for s in self.program.inputs("evaluate") if s.name not in predicted]
        if not names or any(name not in arrays for name in names):
            return None
        return _only({name: arrays[name] for name in names})

    def predict(self, test_dataset: Any, *, metric_key_prefix: str = "test") -> PredictionOutput:
        """The outputs of the model for all samples, and metrics if the data has labels."""
        require_data("test_dataset", test_dataset)
        entries = [name for name in ("evaluate", "predict") if name in self.program.entries]
        arrays = to_arrays(self.program, test_dataset, self._collate, *entries)
        predictions = _only(self.session.predict(arrays))
        labels = self._labels(arrays)
        metrics = self._measure(arrays, metric_key_prefix) if labels is not None else {}
        return PredictionOutput(predictions, labels, metrics)

    # Models

    def save_model(self, path: str | os.PathLike[str]) -> None:
        """Writes the model with the current weights; of several processes, which all call it, the first
        one does.

        Args:
            path: A file `.onnx` or `.safetensors`, which needs mpc-compiler, or a folder for the
                package `model.mpc` and a `checkpoint` that `mpc eval`, `predict` and `export` take.

        Raises:
            IoError: It cannot be written.
            Error: `mpc export` failed, and says why.
        """
        import tempfile

        path = os.fspath(path)
        if not self._ranks.is_first:
            if self._saves_together:
                self.session.save_checkpoint(path)  # Sends what the first one needs.
            return
        if not path.endswith((".onnx", ".safetensors")):
            os.makedirs(path, exist_ok=True)
            self.program.save(os.path.join(path, "model.mpc"))
            self.session.save_checkpoint(os.path.join(path, "checkpoint"))
            return
        with tempfile.TemporaryDirectory() as folder:
            self.save_model(folder)
            run_command("export", f"{folder}/model.mpc", f"--checkpoint={folder}/checkpoint",
                        f"--output={path}")


def _only(arrays: dict[str, Any]) -> Any:
    """The array if there is only one, otherwise all by name."""
    return next(iter(arrays.values())) if len(arrays) == 1 else arrays
