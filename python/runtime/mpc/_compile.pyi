# Made by test/python/Inputs/make_stub.py from the options of the compiler.
import os
import types
from typing import Any, Callable, Mapping, NamedTuple, Sequence

from mpc._program import Program

TEXT: int
SWITCH: int
INTEGER: int
NUMBER: int
TEXTS: int
INTEGERS: int
PAIRS: int

class Option(NamedTuple):
    keyword: str
    name: str
    type: int
    metavar: str
    default: Any
    section: str
    help: str

def load_compiler() -> types.ModuleType: ...
def list_options() -> dict[str, Option]: ...
def to_text(option: Option, value: Any) -> list[str]: ...
def to_model(model: Any) -> str | bytes: ...
def run(
    model: Any,
    output: str | os.PathLike[str] | None,
    folder: str | os.PathLike[str] | None,
    keywords: Mapping[str, Any],
    stacklevel: int,
) -> Program: ...
def make_compile() -> Callable[..., Program]: ...
def compile(
    model: Any,
    /,
    *,
    output: str | os.PathLike[str] | None = ...,
    folder: str | os.PathLike[str] | None = ...,
    loss: str | float | None = ...,
    label_axis: int | None = ...,
    label_smoothing: float | None = ...,
    ignore_index: int | None = ...,
    class_weights: str | float | None = ...,
    sample_weights: bool | None = ...,
    pos_weight: str | float | None = ...,
    huber_delta: float | None = ...,
    focal_gamma: float | None = ...,
    focal_alpha: float | None = ...,
    triplet_margin: float | None = ...,
    batch: int | Sequence[int] | None = ...,
    eval_batch: int | Sequence[int] | None = ...,
    dim: Mapping[str, int] | None = ...,
    freeze: str | Sequence[str] | None = ...,
    train_only: str | Sequence[str] | None = ...,
    train: str | Sequence[str] | None = ...,
    detach: str | Sequence[str] | None = ...,
    padding_idx: Mapping[str, int] | None = ...,
    extra_outputs: str | Sequence[str] | None = ...,
    batchnorm: str | float | None = ...,
    max_ops: int | None = ...,
    input_gradients: str | Sequence[str] | None = ...,
    init: str | float | None = ...,
    map_names: str | Sequence[str] | None = ...,
    init_strict: str | float | None = ...,
    precision: str | float | None = ...,
    keep_fp32: str | float | None = ...,
    force_low: str | float | None = ...,
    residual: str | float | None = ...,
    op_precision: str | Sequence[str] | None = ...,
    policy: str | os.PathLike[str] | None = ...,
    check_numerics: bool | None = ...,
    observe: str | float | None = ...,
    profile: str | float | None = ...,
    error_budget: float | None = ...,
    master_weights: str | float | None = ...,
    loss_scale: str | float | None = ...,
    loss_scale_init: float | None = ...,
    loss_scale_growth: float | None = ...,
    loss_scale_backoff: float | None = ...,
    loss_scale_interval: int | None = ...,
    loss_scale_hysteresis: int | None = ...,
    loss_scale_min: float | None = ...,
    loss_scale_max: float | None = ...,
    fp8_scaling: str | float | None = ...,
    fp8_amax_history: int | None = ...,
    fp8_margin: int | None = ...,
    fp8_all_layers: bool | None = ...,
    accumulate: int | None = ...,
    data_parallel: bool | None = ...,
    sync_batchnorm: bool | None = ...,
    optimizer: str | float | None = ...,
    lr: float | None = ...,
    no_decay: str | Sequence[str] | None = ...,
    group: str | Sequence[str] | None = ...,
    clip_norm: float | None = ...,
    ema: float | None = ...,
    clip_value: float | None = ...,
    ema_warmup: bool | None = ...,
    weight_decay: float | None = ...,
    beta1: float | None = ...,
    beta2: float | None = ...,
    epsilon: float | None = ...,
    momentum: float | None = ...,
    nesterov: bool | None = ...,
    alpha: float | None = ...,
    correct_bias: bool | None = ...,
    lr_schedule: str | float | None = ...,
    warmup: float | None = ...,
    total_steps: int | None = ...,
    lr_min: float | None = ...,
    lr_gamma: float | None = ...,
    lr_period: float | None = ...,
    lr_period_factor: float | None = ...,
    lr_power: float | None = ...,
    target: str | Sequence[str] | None = ...,
    target_cpu: str | float | None = ...,
    machine: str | Sequence[str] | None = ...,
    memory_budget: str | float | None = ...,
    recompute: str | float | None = ...,
) -> Program: ...
