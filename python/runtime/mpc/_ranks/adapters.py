"""Communicators of other packages: mpi4py and torch.distributed.

Both exchange ranges of arrays between all pairs of ranks, and add up here, in the order of the
ranks: sums of the packages may have another order, or one that depends on timing.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Sequence

import numpy as np

from mpc import _runtime
from mpc._errors import InvalidArgument, Unavailable
from mpc._ranks.communicator import LentCommunicator

Array = np.ndarray[Any, Any]
#: What an object needs to be a communicator of mpi4py.
_MPI_METHODS = ("Get_rank", "Get_size", "Alltoallv", "Allgatherv", "Abort")


def to_communicator(given: Any) -> _runtime.Communicator | None:
    """The communicator for a session; None or False: there is none."""
    if given is None or given is False:
        return None
    if isinstance(given, _runtime.Communicator):
        return given
    if all(hasattr(given, name) for name in _MPI_METHODS):
        return _from_mpi(given)
    distributed: Any = sys.modules.get("torch.distributed")
    if distributed is not None and isinstance(given, distributed.ProcessGroup):
        return _from_torch(given, distributed)
    raise TypeError(
        "communicator must be what mpc.communicator() returns, a communicator of mpi4py or a process "
        f"group of torch.distributed, not {type(given).__name__}"
    )


def _counts(offsets: Sequence[int]) -> list[int]:
    return [end - begin for begin, end in zip(offsets, offsets[1:])]


def _add_up(own: Array, parts: Array) -> None:
    """Adds the rows of `parts` in their order."""
    own[...] = parts[0]
    for part in parts[1:]:
        own += part


class _Mpi:
    """The functions of a communicator on top of one of mpi4py."""

    def __init__(self, comm: Any, rank: int, size: int) -> None:
        self._comm, self._rank, self._size = comm, rank, size

    def reduce_scatter(self, array: Array, offsets: list[int]) -> None:
        counts = _counts(offsets)
        own = counts[self._rank]
        parts = np.empty((self._size, own), array.dtype)
        places = [own * i for i in range(self._size)]
        self._comm.Alltoallv(
            [array, (counts, offsets[:-1])], [parts, ([own] * self._size, places)]
        )
        _add_up(array[offsets[self._rank] : offsets[self._rank + 1]], parts)

    def all_gather(self, array: Array, offsets: list[int]) -> None:
        own = array[offsets[self._rank] : offsets[self._rank + 1]].copy()
        self._comm.Allgatherv(own, [array, (_counts(offsets), offsets[:-1])])

    def all_to_all(self, array: Array, offsets: list[int], received: Array) -> None:
        own = received.size // self._size
        places = [own * i for i in range(self._size)]
        self._comm.Alltoallv(
            [array, (_counts(offsets), offsets[:-1])], [received, ([own] * self._size, places)]
        )

    def abort(self, reason: str) -> None:
        self._comm.Abort(9)


def _from_mpi(comm: Any) -> _runtime.Communicator:
    try:
        rank, size = int(comm.Get_rank()), int(comm.Get_size())
        is_inter = bool(comm.Is_inter()) if hasattr(comm, "Is_inter") else False
    except Exception as error:
        raise InvalidArgument(f"the communicator of mpi4py cannot be used: {error}") from error
    if is_inter:
        raise InvalidArgument("the communicator of mpi4py must not be an intercommunicator")
    module: Any = sys.modules.get(type(comm).__module__)
    launched = _runtime.launched_ranks()[1]
    if size == 1 and launched > 1 and comm == getattr(module, "COMM_WORLD", None):
        raise Unavailable(
            f"{launched} processes were launched, but each is alone for mpi4py, which uses another "
            "MPI than the launcher"
        )
    any_thread = True
    if hasattr(module, "Query_thread"):
        any_thread = module.Query_thread() >= module.THREAD_SERIALIZED
    made = _Mpi(comm, rank, size)
    return LentCommunicator(
        rank, size, any_thread, made.reduce_scatter, made.all_gather, made.all_to_all, made.abort
    )


class _Torch:
    """The functions of a communicator on top of a process group of torch.distributed.

    Ranges may have any length, which only all_to_all supports in all backends.
    """

    def __init__(self, group: Any, distributed: Any) -> None:
        self._group, self._distributed = group, distributed
        self.rank = int(distributed.get_rank(group))
        self.size = int(distributed.get_world_size(group))

    def _exchange(
        self, received: Array, sent: Array, in_counts: list[int], out_counts: list[int]
    ) -> None:
        import torch

        self._distributed.all_to_all_single(
            torch.from_numpy(received), torch.from_numpy(sent), in_counts, out_counts,
            group=self._group,
        )

    def reduce_scatter(self, array: Array, offsets: list[int]) -> None:
        counts = _counts(offsets)
        own = counts[self.rank]
        parts = np.empty((self.size, own), array.dtype)
        self._exchange(parts.reshape(-1), array, [own] * self.size, counts)
        _add_up(array[offsets[self.rank] : offsets[self.rank + 1]], parts)

    def all_gather(self, array: Array, offsets: list[int]) -> None:
        counts = _counts(offsets)
        own = array[offsets[self.rank] : offsets[self.rank + 1]]
        self._exchange(array, np.tile(own, self.size), counts, [counts[self.rank]] * self.size)

    def all_to_all(self, array: Array, offsets: list[int], received: Array) -> None:
        self._exchange(
            received, array, [received.size // self.size] * self.size, _counts(offsets)
        )

    def abort(self, reason: str) -> None:
        """Ends this process, as MPI does, which closes the connections; torchrun ends the others."""
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(9)


def _from_torch(group: Any, distributed: Any) -> _runtime.Communicator:
    backend = str(distributed.get_backend(group))
    if not has_host_memory(group, distributed):
        raise InvalidArgument(
            f"the process group has the backend '{backend}', which does not exchange host memory; "
            "use torch.distributed.new_group(backend='gloo'), or "
            "init_process_group('cpu:gloo,cuda:nccl')"
        )
    made = _Torch(group, distributed)
    return _runtime.Communicator(
        made.rank, made.size, True, made.reduce_scatter, made.all_gather, made.all_to_all,
        made.abort,
    )


def has_host_memory(group: Any, distributed: Any) -> bool:
    """Whether a process group exchanges tensors in host memory."""
    import torch

    try:
        group._get_backend(torch.device("cpu"))
    except RuntimeError:
        return False
    return True
