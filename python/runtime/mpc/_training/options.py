"""Training arguments as options of mpc.compile and of `mpc train`."""

from __future__ import annotations

import os
import re
from typing import Any, Mapping

from mpc._arrays import suggest
from mpc._errors import InvalidArgument
from mpc._program import Program
from mpc._training.arguments import TrainingArguments

#: Keywords of mpc.compile by argument, in the order of TrainingArguments.
_KEYWORDS = {
    "per_device_train_batch_size": "batch",
    "per_device_eval_batch_size": "eval_batch",
    "gradient_accumulation_steps": "accumulate",
    "learning_rate": "lr",
    "weight_decay": "weight_decay",
    "adam_beta1": "beta1",
    "adam_beta2": "beta2",
    "adam_epsilon": "epsilon",
    "max_grad_norm": "clip_norm",
    "label_smoothing_factor": "label_smoothing",
}
_OPTIMIZERS = {"adamw_torch": "adamw", "adamw_torch_fused": "adamw", "adamw_hf": "hf-adamw",
               "lion_32bit": "lion"}
_SCHEDULES = {"constant_with_warmup": "constant"}
_OTHER_SCHEDULES = {
    "cosine_with_restarts": "compile_options=dict(lr_schedule='cosine-restarts', lr_period=N)",
    "inverse_sqrt": "another schedule: mpc has none of this kind",
    "reduce_lr_on_plateau": "session.lr in a callback with on_evaluate",
    "cosine_with_min_lr": "lr_scheduler_type='cosine' and compile_options=dict(lr_min=...)",
}
# The metrics that every evaluation may have; all others come from compute_metrics.
NATIVE_METRICS = ("loss", "accuracy", "perplexity")

# What messages of the training loop call an option, and the argument that it is here.
_ARGUMENTS = {
    "resume": "resume_from_checkpoint=True", "checkpoint-dir": "output_dir",
    "checkpoint-every": "save_steps", "checkpoint-keep": "save_total_limit",
    "epochs": "num_train_epochs", "steps": "max_steps", "lr": "learning_rate", "seed": "seed",
    "no-shuffle": "shuffle=False", "last-batch=train": "dataloader_drop_last=False",
    "batch": "per_device_train_batch_size", "eval-data": "eval_dataset",
    "eval-every": "eval_steps", "keep-best": "metric_for_best_model",
    "patience": "early_stopping_patience", "total-steps": "total_steps", "device": "device",
    "threads": "threads", "data-parallel": "data_parallel=True",
    "shard": "shard", "grad-comm": "grad_comm", "deterministic": "deterministic", "logdir": "logging_dir",
}


def in_arguments(text: str) -> str:
    """A message in which "--lr" is the argument `learning_rate`."""
    names = "|".join(sorted(_ARGUMENTS, key=len, reverse=True))
    return re.sub(rf"--({names})(?![\w-])", lambda match: f"`{_ARGUMENTS[match[1]]}`", text)


def compile_keywords(args: TrainingArguments) -> dict[str, Any]:
    """The keywords of mpc.compile that the arguments determine."""
    result = {
        keyword: getattr(args, name)
        for name, keyword in _KEYWORDS.items()
        if getattr(args, name) is not None
    }
    if args.optim is not None:
        name = str(getattr(args.optim, "value", args.optim))
        result["optimizer"] = _OPTIMIZERS.get(name, name)
    if args.lr_scheduler_type is not None:
        name = str(getattr(args.lr_scheduler_type, "value", args.lr_scheduler_type))
        if name in _OTHER_SCHEDULES:
            raise InvalidArgument(
                f"lr_scheduler_type='{name}' is not supported; use {_OTHER_SCHEDULES[name]}"
            )
        result["lr_schedule"] = _SCHEDULES.get(name, name)
    warmup = args.warmup_steps or args.warmup_ratio
    if warmup is not None:
        result["warmup"] = warmup
    if args.fp16:
        result["precision"] = "fp16"
    elif args.bf16 is not None or args.fp16 is not None:
        result["precision"] = "bf16" if args.bf16 else "fp32"
    return result


def argument_of(keyword: str, args: TrainingArguments) -> str:
    """How the user wrote a keyword: "learning_rate=0.1"."""
    for name, known in (*_KEYWORDS.items(), ("optim", "optimizer"),
                        ("lr_scheduler_type", "lr_schedule")):
        if known == keyword:
            return f"{name}={getattr(args, name)!r}"
    names = {"warmup": ("warmup_steps", "warmup_ratio"), "precision": ("bf16", "fp16")}[keyword]
    return ", ".join(f"{n}={getattr(args, n)!r}" for n in names if getattr(args, n) is not None)


def merge_options(args: TrainingArguments, options: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords of mpc.compile, from the arguments and others."""
    keywords = compile_keywords(args)
    for name in options:
        if name in keywords:
            raise InvalidArgument(
                f"compile_options has '{name}', which {argument_of(name, args)} sets, too; remove "
                "one of them"
            )
    return {**keywords, **options}


def check_program(args: TrainingArguments, program: Program) -> None:
    """Raises an error unless the program was compiled as the arguments say."""
    recorded = program.options
    for keyword, value in compile_keywords(args).items():
        if keyword == "lr":
            continue  # Replaces that of the program.
        if keyword in ("batch", "eval_batch"):
            entry = "step" if keyword == "batch" else "evaluate"
            sizes = program.batch_sizes(entry)
            agrees, found = value in sizes, f"batches of {' or '.join(map(str, sizes))}"
        else:
            found = recorded.get(keyword, "")
            try:
                agrees = float(found) == float(value)
            except ValueError:
                found = found.partition(",")[0]  # Schedules record their details, too.
                agrees = found == str(value)
            found = f"{keyword}={found}"
        if not agrees:
            raise InvalidArgument(
                f"{argument_of(keyword, args)} differs from the program, which was compiled with "
                f"{found}; leave the argument out, or compile with {keyword}={value!r}"
            )


def train_options(
    args: TrainingArguments,
    program: Program,
    *,
    resume: bool,
    is_compiled: bool,
    is_stream: bool,
    evaluates: bool,
    stops: bool,
    best: tuple[str, str] | None,
) -> list[tuple[str, str]]:
    """The options of `mpc train`.

    Args:
        is_compiled: The program was compiled for these arguments.
        is_stream: The data has its own order.
        evaluates: There is data for evaluations.
        stops: The loop stops early, by its own metrics.
        best: The metric of the best checkpoint, and "min" or "max"; None: the loop does not
            choose one.
    """
    values: list[tuple[str, Any]] = [("device", args.device)]
    if args.max_steps > 0:
        values.append(("steps", args.max_steps))
    else:
        values.append(("epochs", args.num_train_epochs))
    if args.per_device_train_batch_size is not None:
        values.append(("batch", args.per_device_train_batch_size))
    rate = args.learning_rate
    if rate is not None and not is_compiled and rate != float(program.options.get("lr") or "nan"):
        values.append(("lr", repr(float(rate))))
    if args.seed is not None:
        values.append(("seed", args.seed))
    if is_stream or not args.shuffle:
        values.append(("no-shuffle", "yes"))
    if not args.dataloader_drop_last and not is_stream:
        values.append(("last-batch", "train"))
    if args.total_steps is not None:
        values.append(("total-steps", args.total_steps))
    if args.threads is not None:
        values.append(("threads", args.threads))
    if args.shard != "none":
        values.append(("shard", args.shard))
    if args.grad_comm != "fp32":
        values.append(("grad-comm", args.grad_comm))
    if args.deterministic:
        values.append(("deterministic", "yes"))
    if args.wants_tensorboard:
        folder = args.logging_dir or os.path.join(os.fspath(args.output_dir or ""), "runs")
        values.append(("logdir", os.fspath(folder)))
    if evaluates and args.eval_strategy == "steps":
        values.append(("eval-every", args.eval_steps or args.logging_steps))
    if args.early_stopping_patience is not None and stops:
        values.append(("patience", args.early_stopping_patience))
    if args.save_strategy != "no":
        values += [("checkpoint-dir", os.fspath(args.output_dir or "")),
                   ("checkpoint-keep", args.save_total_limit or 0)]
        if args.save_strategy == "steps":
            values.append(("checkpoint-every", args.save_steps))
        if best:
            values.append(("keep-best", ":".join(best)))
        if resume:
            values.append(("resume", "yes"))
    return [(name, str(value)) for name, value in values]


def best_metric(args: TrainingArguments, has_compute_metrics: bool) -> tuple[str, str]:
    """The metric for the best weights, without "eval_", and "min" or "max"."""
    name = (args.metric_for_best_model or "loss").removeprefix("eval_")
    if name not in NATIVE_METRICS and not has_compute_metrics:
        raise InvalidArgument(
            f"metric_for_best_model='{name}' is not computed{suggest(name, NATIVE_METRICS)}; pass "
            "compute_metrics for other metrics"
        )
    greater = args.greater_is_better
    if greater is None:
        greater = not name.endswith(("loss", "perplexity"))
    return name, "max" if greater else "min"
