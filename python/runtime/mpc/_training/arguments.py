"""mpc.TrainingArguments, with the names that Hugging Face gives them."""

from __future__ import annotations

import functools
import os
from dataclasses import dataclass, fields
from typing import Any, Sequence, TypeVar

from mpc._arrays import suggest
from mpc._errors import InvalidArgument

#: Arguments of Hugging Face that mpc does not have, and what to do instead. Those that are missing
#: here are answered with the nearest name.
_INSTEAD = {
    "accelerator_config": "mpc trains on one device",
    "adafactor": "use optim",
    "auto_find_batch_size": "use per_device_train_batch_size",
    "average_tokens_across_devices": "labels are counted over all processes",
    "batch_eval_metrics": "compute_metrics takes all predictions at once",
    "bf16_full_eval": "evaluations have the precision of the program",
    "dataloader_num_workers": "pass a DataLoader with workers as train_dataset",
    "dataloader_persistent_workers": "pass such a DataLoader as train_dataset",
    "dataloader_pin_memory": "pass such a DataLoader as train_dataset",
    "dataloader_prefetch_factor": "pass such a DataLoader as train_dataset",
    "ddp_backend": "use communicator of mpc.Trainer",
    "ddp_find_unused_parameters": "all gradients are added up",
    "debug": "compile with check_numerics=True to find the op that produces inf or nan",
    "deepspeed": "use shard='optimizer' or 'gradients', the stages 1 and 2 of ZeRO",
    "disable_tqdm": "there is no progress bar; use callbacks",
    "do_eval": "use eval_strategy",
    "do_predict": "call predict()",
    "do_train": "call train()",
    "eval_accumulation_steps": "predictions are arrays in host memory",
    "eval_on_start": "call evaluate() before train()",
    "evaluation_strategy": "use eval_strategy",
    "fp16_full_eval": "evaluations have the precision of the program",
    "fsdp": "use shard='optimizer' or 'gradients'",
    "full_determinism": "use deterministic=True",
    "gradient_checkpointing": "use compile_options=dict(recompute='full') of mpc.Trainer",
    "group_by_length": "a program has a fixed length",
    "ignore_data_skip": "a resumed run continues at the same sample",
    "include_for_metrics": "compute_metrics has predictions and label_ids",
    "include_inputs_for_metrics": "compute_metrics has predictions and label_ids",
    "jit_mode_eval": "programs are compiled",
    "label_names": "labels are the inputs of 'evaluate' that 'predict' does not have",
    "local_rank": "mpc.Trainer asks the launcher",
    "log_level": "use logging.getLogger('mpc').setLevel(...)",
    "logging_first_step": "use logging_steps=1, or a callback",
    "logging_nan_inf_filter": "the means of the log leave out steps that were skipped",
    "lr_scheduler_kwargs": "use compile_options=dict(lr_min=..., lr_power=...) of mpc.Trainer",
    "neftune_noise_alpha": "mpc does not change the inputs",
    "no_cuda": "use device='cpu'",
    "optim_args": "use compile_options of mpc.Trainer",
    "overwrite_output_dir": "choose another output_dir, or continue with resume_from_checkpoint=True",
    "past_index": "mpc does not carry states from batch to batch",
    "per_gpu_train_batch_size": "use per_device_train_batch_size",
    "prediction_loss_only": "evaluate() computes predictions for compute_metrics only",
    "push_to_hub": "use save_model() and upload the files",
    "remove_unused_columns": "entries that are no inputs are ignored",
    "run_name": "use logging_dir",
    "save_only_model": "checkpoints have all that resuming needs; see save_model()",
    "save_safetensors": "use save_model('model.safetensors')",
    "tf32": "use compile_options=dict(precision='tf32') of mpc.Trainer",
    "torch_compile": "programs are compiled",
    "use_cpu": "use device='cpu'",
    "use_mps_device": "use device",
}

_T = TypeVar("_T", bound=type)


def explain_unknown(cls: _T) -> _T:
    """Makes the constructor of a class raise a TypeError with advice for unknown arguments."""
    init: Any = cls.__init__  # type: ignore[misc]

    @functools.wraps(init)
    def __init__(self: Any, *args: Any, **keywords: Any) -> None:
        known = [field.name for field in fields(cls)]
        for name in keywords:
            if name not in known:
                instead = _INSTEAD.get(name)
                advice = f"; {instead}" if instead else suggest(name, known)
                raise TypeError(f"mpc.TrainingArguments has no argument '{name}'{advice}")
        init(self, *args, **keywords)

    cls.__init__ = __init__  # type: ignore[misc]
    return cls


@explain_unknown
@dataclass
class TrainingArguments:
    """What mpc.Trainer does, with the names of Hugging Face's TrainingArguments.

    Arguments in the section "Compilation" are options of mpc.compile, if the Trainer gets a model.
    If it gets a program, they must agree with it, except learning_rate, which replaces its rate.
    None: the default of mpc.compile, or whatever the program was compiled with.

    Raises:
        TypeError: There is no such argument, or its value is of another type.
        InvalidArgument: A value is wrong, or two arguments cannot be combined.

    >>> mpc.TrainingArguments("run", num_train_epochs=2, learning_rate=1e-3).save_strategy
    'steps'
    """

    #: The folder of checkpoints, which `mpc train --checkpoint-dir` continues; None: none.
    output_dir: str | os.PathLike[str] | None = None
    num_train_epochs: int = 3
    #: The number of updates, instead of num_train_epochs; -1: not used.
    max_steps: int = -1

    # Compilation

    per_device_train_batch_size: int | None = None
    per_device_eval_batch_size: int | None = None
    #: Batches per update.
    gradient_accumulation_steps: int | None = None
    optim: str | None = None
    learning_rate: float | None = None
    weight_decay: float | None = None
    adam_beta1: float | None = None
    adam_beta2: float | None = None
    adam_epsilon: float | None = None
    max_grad_norm: float | None = None
    lr_scheduler_type: str | None = None
    #: Updates in which the rate rises.
    warmup_steps: int | None = None
    #: The same as a share of all updates.
    warmup_ratio: float | None = None
    label_smoothing_factor: float | None = None
    #: True: the precision bf16; False: not bf16, but fp32 unless fp16 is True.
    bf16: bool | None = None
    fp16: bool | None = None

    # Evaluation

    #: When to evaluate: "no", "steps" or "epoch".
    eval_strategy: str = "no"
    #: Updates between evaluations; None: logging_steps.
    eval_steps: int | None = None
    #: Continue with the weights of the best evaluation after training.
    load_best_model_at_end: bool = False
    #: "loss", "accuracy", "perplexity", or a number of compute_metrics; None: "loss".
    metric_for_best_model: str | None = None
    #: None: whether it is no loss or perplexity.
    greater_is_better: bool | None = None
    #: Stop after so many evaluations in a row that were not the best.
    early_stopping_patience: int | None = None

    # Logs

    #: When to add losses to the log: "no", "steps" or "epoch".
    logging_strategy: str = "steps"
    logging_steps: int = 500
    #: The folder of event files for TensorBoard; None: `runs` in output_dir.
    logging_dir: str | os.PathLike[str] | None = None
    #: "none" or "tensorboard".
    report_to: str | Sequence[str] = "none"

    # Checkpoints

    #: When to save: "no", "steps" or "epoch"; also at the end. None: "steps" if there is an
    #: output_dir.
    save_strategy: str | None = None
    save_steps: int = 500
    #: Checkpoints to keep besides the best one; None: all.
    save_total_limit: int | None = None
    #: True, or a path in output_dir: continue from the newest checkpoint there.
    resume_from_checkpoint: bool | str | os.PathLike[str] | None = None

    # Order and device

    #: For the order of samples and dropout; None: 0, or that of the checkpoint.
    seed: int | None = None
    #: The order of samples has the same seed.
    data_seed: int | None = None
    #: False: keep samples in the order of the data.
    shuffle: bool = True
    #: False: also train on the samples of an epoch that do not fill a batch.
    dataloader_drop_last: bool = True
    #: Length of the schedule of learning rates in updates; None: all updates of the first run.
    total_steps: int | None = None
    #: See mpc.Session.
    device: str = "auto"
    threads: int | None = None
    deterministic: bool = False
    #: What several processes share and how they exchange gradients; see mpc.Session.
    shard: str = "none"
    grad_comm: str = "fp32"

    def __post_init__(self) -> None:
        for field in fields(self):
            self._check_type(field.name, field.type if isinstance(field.type, str) else "")
        self._check_choices()
        self._check_numbers()
        self._check_combinations()
        if self.save_strategy is None:
            self.save_strategy = "steps" if self.output_dir is not None else "no"

    def _check_type(self, name: str, annotation: str) -> None:
        value = getattr(self, name)
        allowed = annotation.split(" | ")
        if value is None and "None" in allowed:
            return
        if isinstance(value, bool):
            fits = "bool" in allowed
        elif isinstance(value, (str, os.PathLike)):
            # An enum of Hugging Face is a string, too.
            fits = "str" in allowed if isinstance(value, str) else "os.PathLike[str]" in allowed
        elif hasattr(value, "__index__"):
            fits = "int" in allowed or "float" in allowed
        elif hasattr(value, "__float__"):
            fits = "float" in allowed
        else:
            fits = "Sequence[str]" in allowed and isinstance(value, (list, tuple))
        if not fits:
            words = {"str": "a string", "os.PathLike[str]": "a path", "int": "an integer",
                     "float": "a number", "bool": "True or False", "None": "None",
                     "Sequence[str]": "a list of strings"}
            raise TypeError(
                f"{name} must be {' or '.join(words[part] for part in allowed)}, but is {value!r}"
            )

    def _check_choices(self) -> None:
        whens = ("no", "steps", "epoch")
        for name, choices in (
            ("eval_strategy", whens), ("logging_strategy", whens), ("save_strategy", whens),
        ):
            value = getattr(self, name)
            value = getattr(value, "value", value)
            if value is not None and value not in choices:
                raise InvalidArgument(
                    f"{name} must be {', '.join(map(repr, choices))}, but is {value!r}"
                )
            setattr(self, name, value)
        for name, kinds in (
            ("shard", ("none", "optimizer", "gradients")), ("grad_comm", ("fp32", "bf16")),
        ):
            if getattr(self, name) not in kinds:
                raise InvalidArgument(
                    f"{name} must be {', '.join(map(repr, kinds))}, but is {getattr(self, name)!r}"
                )
        for report in [self.report_to] if isinstance(self.report_to, str) else self.report_to:
            if report not in ("none", "tensorboard"):
                raise InvalidArgument(
                    f"report_to must be 'none' or 'tensorboard', but is '{report}'; use a callback "
                    "with on_log for other services"
                )

    def _check_numbers(self) -> None:
        for name in ("num_train_epochs", "per_device_train_batch_size", "total_steps", "threads",
                     "per_device_eval_batch_size", "gradient_accumulation_steps", "eval_steps",
                     "logging_steps", "save_steps", "save_total_limit", "early_stopping_patience"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise InvalidArgument(f"{name} must be at least 1, but is {value}")
        if self.max_steps < 1 and self.max_steps != -1:
            raise InvalidArgument(f"max_steps must be at least 1, or -1, but is {self.max_steps}")
        for name in ("seed", "data_seed", "warmup_steps"):
            value = getattr(self, name)
            if value is not None and value < 0:
                raise InvalidArgument(f"{name} must be at least 0, but is {value}")
        if self.warmup_ratio is not None and not 0 <= self.warmup_ratio < 1:
            raise InvalidArgument(
                f"warmup_ratio must be in [0, 1), but is {self.warmup_ratio}; use warmup_steps for "
                "a number of updates"
            )

    def _check_combinations(self) -> None:
        if self.bf16 and self.fp16:
            raise InvalidArgument("bf16 and fp16 cannot both be True")
        if self.warmup_steps and self.warmup_ratio:
            raise InvalidArgument("warmup_steps and warmup_ratio cannot be combined")
        if self.data_seed is not None and self.data_seed != (self.seed or 0):
            raise InvalidArgument(
                f"data_seed is {self.data_seed}, but seed is {self.seed or 0}; mpc has one seed for "
                "the order of samples and dropout: pass only seed"
            )
        if self.output_dir is None:
            for name in ("save_strategy", "resume_from_checkpoint", "load_best_model_at_end"):
                if getattr(self, name) not in (None, "no", False):
                    raise InvalidArgument(f"{name}={getattr(self, name)!r} requires output_dir")
            if self.wants_tensorboard and self.logging_dir is None:
                raise InvalidArgument("report_to='tensorboard' requires logging_dir or output_dir")
        for name in ("load_best_model_at_end", "early_stopping_patience"):
            if getattr(self, name) and self.eval_strategy == "no":
                raise InvalidArgument(f"{name} requires eval_strategy='steps' or 'epoch'")
        if self.load_best_model_at_end and self.save_strategy == "no":
            raise InvalidArgument(
                "load_best_model_at_end requires save_strategy='steps' or 'epoch'"
            )

    @property
    def wants_tensorboard(self) -> bool:
        """Whether report_to is, or has, "tensorboard"."""
        return "tensorboard" in (
            (self.report_to,) if isinstance(self.report_to, str) else tuple(self.report_to)
        )
