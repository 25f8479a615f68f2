"""Callbacks of a Trainer, what they may set, and what they see."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from typing import Any, Sequence

from mpc._training.arguments import TrainingArguments

EVENTS = ("on_train_begin", "on_step_end", "on_epoch_end", "on_log", "on_evaluate", "on_save",
          "on_train_end")


@dataclass(slots=True)
class TrainerState:
    """Where training is.

    Attributes:
        global_step: Updates since the beginning of training, also in earlier runs.
        max_steps: The last step, as far as is known.
        epoch: Epochs that are complete, with the share of the current one.
        num_train_epochs: How many there are.
        log_history: What on_log and on_evaluate got, with `step` and `epoch`, also in earlier runs.
        best_metric: The best value of metric_for_best_model.
        best_global_step: Its step.
        best_model_checkpoint: The checkpoint with these weights, or None.
        is_world_process_zero: Whether this is the first of several processes, which writes files.
    """

    global_step: int = 0
    max_steps: int = 0
    epoch: float = 0.0
    num_train_epochs: int = 0
    log_history: list[dict[str, Any]] = field(default_factory=list)
    best_metric: float | None = None
    best_global_step: int | None = None
    best_model_checkpoint: str | None = None
    is_world_process_zero: bool = True


@dataclass(slots=True)
class TrainerControl:
    """What a callback may set to True; all but should_training_stop are reset after they are done.

    Attributes:
        should_training_stop: Stop after this step; a checkpoint is saved.
        should_save: Save a checkpoint.
        should_evaluate: Evaluate. This does not count for the best weights.
        should_log: Add the mean of the losses since the last time to the log.
    """

    should_training_stop: bool = False
    should_save: bool = False
    should_evaluate: bool = False
    should_log: bool = False


class TrainerCallback:
    """The base class of callbacks; any object that has some of these methods is one, too.

    Keywords are `trainer`, and `metrics` for on_evaluate, `logs` for on_log.

    >>> class Stop(mpc.TrainerCallback):
    ...     def on_step_end(self, args, state, control, **keywords):
    ...         control.should_training_stop = state.global_step >= 100
    """

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """Before the first step of a run."""

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """After an update of the weights."""

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """After the last update of an epoch."""

    def on_log(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """After an entry of the log, which is the keyword `logs`."""

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """After an evaluation, whose numbers are the keyword `metrics`."""

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """After a checkpoint."""

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **keywords: Any
    ) -> None:
        """After the last step of a run, also if a callback stopped it."""


def require_callback(callback: Any) -> Any:
    """Makes an object of a class; raises a TypeError if no method would ever be called."""
    if isinstance(callback, type):
        callback = callback()
    methods = [name for name in dir(callback) if name.startswith("on_")]
    if not methods:
        raise TypeError(
            f"a callback has methods such as on_step_end, but {type(callback).__name__} has none; "
            f"known are {', '.join(EVENTS)}"
        )
    for name in methods:
        if name not in EVENTS:
            near = difflib.get_close_matches(name, EVENTS, n=1)
            raise TypeError(
                f"{type(callback).__name__}.{name} would never be called; "
                + (f"did you mean {near[0]}?" if near else f"known are {', '.join(EVENTS)}")
            )
    return callback


def call_event(callbacks: Sequence[Any], event: str, *arguments: Any, **keywords: Any) -> None:
    for callback in callbacks:
        method = getattr(callback, event, None)
        if method is not None:
            method(*arguments, **keywords)
