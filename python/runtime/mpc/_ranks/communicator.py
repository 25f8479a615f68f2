"""mpc.communicator: the processes that a launcher has started."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
from typing import Any, Self

from mpc import _runtime
from mpc._errors import InvalidArgument

#: Those of this process that are open.
_OPEN: list[Communicator] = []
_PROCESS = os.getpid()


class Communicator(_runtime.Communicator):
    """The processes ("ranks") that train a program together; see mpc.communicator.

    Leaving a `with` statement closes it. If an exception leaves the statement, or ends the process,
    the other ranks are ended as well, because they would wait for this one.

    Attributes:
        rank: The number of this process, from 0.
        size: The number of processes.
    """

    __slots__ = ()

    def __init__(self, timeout: int) -> None:
        if isinstance(timeout, bool) or not isinstance(timeout, int):
            raise TypeError(f"timeout must be an integer number of seconds, but is {timeout!r}")
        if not 1 <= timeout < 2**32:
            raise InvalidArgument(f"timeout must be at least 1 s, but is {timeout}")
        super().__init__(timeout)
        _OPEN.append(self)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if error is not None and self.size > 1 and not self.closed and not _is_end(error):
            traceback.print_exception(error)
            self._end_others(error)
        self.close()

    def __repr__(self) -> str:
        return f"<mpc.Communicator {'closed' if self.closed else f'{self.rank} of {self.size}'}>"

    def __reduce__(self) -> Any:
        raise TypeError("an mpc.Communicator cannot be copied to another process")

    def close(self) -> None:
        """Closes the communicator; all ranks must do so. Sessions cannot make steps any more.

        MPI is finalized with its last communicator, and cannot be initialized again.
        """
        if self in _OPEN:
            _OPEN.remove(self)
        super().close()

    def _end_others(self, error: BaseException) -> None:
        sys.stdout.flush()
        sys.stderr.flush()
        self.abort(f"{type(error).__name__}: {error}")


def communicator(timeout: int = 60) -> Communicator:
    """Opens the communicator of all processes that mpirun, mpiexec or srun has started.

    Pass it to mpc.Session. MPI is loaded from the system; the environment variable MPC_MPI_LIBRARY
    names another library. Sums are added in the order of the ranks, so results do not depend on
    timing.

    Args:
        timeout: Seconds to wait for another rank before an mpc.RankLost is raised.

    Raises:
        Unavailable: There is no MPI, or it cannot be initialized.
    """
    return Communicator(timeout)


def require_same(ranks: _runtime.Communicator, what: str, own: str) -> None:
    """Raises an error on all ranks if `own` is not the same on all of them."""
    values = [value.decode() for value in ranks.gather(own.encode())]
    for rank, value in enumerate(values):
        if value != values[0]:
            raise InvalidArgument(
                f"all ranks must have the same {what}, but that of rank {rank} is {value}, and that "
                f"of rank 0 is {values[0]}"
            )


def _is_end(error: BaseException) -> bool:
    return isinstance(error, SystemExit) and error.code in (None, 0)


def _close_all() -> None:
    """At the end of the process. Others wait for this rank if an exception ends it."""
    if os.getpid() != _PROCESS:
        return
    _runtime.wait_for_steps()
    error = getattr(sys, "last_value", None)
    for one in list(_OPEN):
        if isinstance(error, BaseException) and one.size > 1:
            one._end_others(error)
        one.close()


atexit.register(_close_all)
