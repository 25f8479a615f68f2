"""What launchers tell the processes that they start."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

from mpc import _runtime
from mpc._errors import Unavailable
from mpc._ranks.adapters import has_host_memory, to_communicator
from mpc._ranks.communicator import communicator

#: The communicator of all trainers that are given none: MPI can be initialized only once.
_SHARED: list[_runtime.Communicator] = []


def _number(name: str) -> int:
    text = os.environ.get(name, "")
    return int(text) if text.isdecimal() else 1


def launched() -> tuple[int, int]:
    """The rank of this process, and how many processes mpirun, srun or torchrun has started."""
    rank, size = _runtime.launched_ranks()
    if size == 1 and "MASTER_ADDR" in os.environ and os.environ.get("RANK", "").isdecimal():
        return _number("RANK"), _number("WORLD_SIZE")
    return rank, size


def share_of_cpus() -> int | None:
    """The number of threads for one of several ranks on a machine; None: as for one process.

    That is the case if the launcher has bound it to CPUs, or OMP_NUM_THREADS is set.
    """
    local = max(_number(name) for name in
                ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"))
    online = os.cpu_count() or 1
    if local == 1 or "OMP_NUM_THREADS" in os.environ or len(os.sched_getaffinity(0)) < online:
        return None
    return max(1, online // local)


def shared_communicator() -> _runtime.Communicator | None:
    """The communicator of the processes that a launcher has started; None if there is only one.

    It stays open to the end of the process.
    """
    if _SHARED:
        return _SHARED[0]
    found: _runtime.Communicator | None = None
    distributed: Any = sys.modules.get("torch.distributed")
    if _runtime.launched_ranks()[1] > 1:
        found = communicator()
    elif (distributed is not None and distributed.is_available() and distributed.is_initialized()
          or launched()[1] > 1):
        found = to_communicator(_torch_group())
    elif _number("SLURM_STEP_NUM_TASKS") > 1 and "SLURM_PROCID" in os.environ and not any(
        name in os.environ for name in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "PMIX_RANK")
    ):
        raise Unavailable(
            f"srun has started {_number('SLURM_STEP_NUM_TASKS')} processes, but not for MPI; use "
            "srun --mpi=pmix (Open MPI) or --mpi=pmi2 (MPICH), or communicator=False to train with "
            "this process alone"
        )
    if found is None or found.size == 1:
        return None
    _SHARED.append(found)
    return found


def _torch_group() -> Any:
    """The group of all processes, or one for host memory."""
    try:
        import torch.distributed as distributed
    except ImportError as error:
        raise Unavailable(
            "the processes were started by torchrun, or with its environment variables, but "
            "PyTorch cannot be imported; start them with mpirun"
        ) from error
    if not distributed.is_initialized():
        distributed.init_process_group("gloo")
        # Its threads do not survive the interpreter.
        atexit.register(_end_torch, distributed)
    group = distributed.group.WORLD
    return group if has_host_memory(group, distributed) else distributed.new_group(backend="gloo")


def _end_torch(distributed: Any) -> None:
    for one in _SHARED:
        one.close()
    if distributed.is_initialized():
        distributed.destroy_process_group()
