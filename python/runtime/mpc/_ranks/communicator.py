"""mpc.communicator: the processes that a launcher has started."""

from __future__ import annotations

import atexit
import os
import sys
import traceback
import weakref
from typing import Any, Self

from mpc import _runtime
from mpc._errors import InvalidArgument

#: Those of this process that are open.
_OPEN: list[Communicator] = []
#: Communicators of the program that sessions and trainers use.
_LENT: weakref.WeakSet[LentCommunicator] = weakref.WeakSet()
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
            _end_others(self, error)
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



class LentCommunicator(_runtime.Communicator):
    """A communicator of the program, which closes it itself.

    It is aborted as well if an exception ends the process: MPI would wait for this rank forever.
    """

    __slots__ = ("__weakref__",)

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        _LENT.add(self)


def _end_others(one: _runtime.Communicator, error: BaseException) -> None:
    sys.stdout.flush()
    sys.stderr.flush()
    one.abort(f"{type(error).__name__}: {error}")


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
    error = getattr(sys, "last_value", None)
    if isinstance(error, BaseException):
        for other in (*_OPEN, *_LENT):
            if other.size > 1:
                _end_others(other, error)
    _runtime.wait_for_steps()  # They call functions of Python, which are still there.
    for one in list(_OPEN):
        one.close()


atexit.register(_close_all)
