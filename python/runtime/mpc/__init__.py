"""mpc: compiled training programs from Python.

    import mpc

    program = mpc.compile("model.onnx", precision="bf16", batch=64)
    session = mpc.Session(program)
    for batch in batches:
        info = session.step(batch)

The guide is docs/guide/python.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from mpc._diagnosis.bisect import Bisection, KeptOp, bisect
from mpc._diagnosis.compare import ComparedOp, ComparedStep, Comparison, compare
from mpc._diagnosis.profile import InstructionTime, Profile, profile
from mpc._diagnosis.ranges import Ranges, TensorRange, ranges
from mpc._errors import (
    CompileError,
    CompileMessage,
    CompileNote,
    Damaged,
    DeviceLost,
    Error,
    Incompatible,
    Internal,
    InvalidArgument,
    IoError,
    NumericError,
    OutOfMemory,
    RankLost,
    TrainNote,
    Unavailable,
)
from mpc._gradients import gradients, tensors
from mpc._program import Program, StateSpec, TensorSpec
from mpc._ranks.communicator import Communicator, communicator
from mpc._report import Report
from mpc._runtime import StepFuture, StepInfo
from mpc._session import Batch, Metrics, Session, States
from mpc._torch import from_torch
from mpc._training.arguments import TrainingArguments
from mpc._training.callbacks import TrainerCallback, TrainerControl, TrainerState
from mpc._training.trainer import EvalPrediction, PredictionOutput, Trainer, TrainOutput

if TYPE_CHECKING:
    from mpc._compile import compile

__version__ = "0.1.0"

__all__ = [
    "Batch",
    "Bisection",
    "ComparedOp",
    "ComparedStep",
    "Communicator",
    "Comparison",
    "CompileError",
    "CompileMessage",
    "CompileNote",
    "Damaged",
    "DeviceLost",
    "Error",
    "EvalPrediction",
    "Incompatible",
    "InstructionTime",
    "Internal",
    "InvalidArgument",
    "IoError",
    "KeptOp",
    "Metrics",
    "NumericError",
    "OutOfMemory",
    "PredictionOutput",
    "Profile",
    "Program",
    "Ranges",
    "RankLost",
    "Report",
    "Session",
    "StateSpec",
    "States",
    "StepFuture",
    "StepInfo",
    "TensorRange",
    "TensorSpec",
    "TrainNote",
    "TrainOutput",
    "Trainer",
    "TrainerCallback",
    "TrainerControl",
    "TrainerState",
    "TrainingArguments",
    "Unavailable",
    "bisect",
    "communicator",
    "compare",
    "compile",
    "from_torch",
    "gradients",
    "profile",
    "ranges",
    "tensors",
]


def __getattr__(name: str) -> Any:
    # Its signature and documentation come from mpc_compiler, which takes a second to load.
    if name != "compile":
        raise AttributeError(f"module 'mpc' has no attribute '{name}'")
    from mpc._compile import make_compile

    globals()["compile"] = function = make_compile()
    return function
