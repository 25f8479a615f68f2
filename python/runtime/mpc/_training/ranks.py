"""What a Trainer does with others: decisions of all ranks, and work of the first one."""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from typing import Any, Callable, Iterator

from mpc import _runtime
from mpc._errors import RankLost
from mpc._ranks.adapters import to_communicator
from mpc._ranks.communicator import require_same
from mpc._ranks.launch import shared_communicator
from mpc._training.callbacks import TrainerControl

# How often the first rank says that it is still busy, in seconds.
_SIGN_OF_LIFE = 1.0
_BUSY, _DONE, _FAILED = range(3)
_STOPS, _SAVES = 1, 2
_SIGNAL_SHIFT = 2


class RunRanks:
    """The processes that train one model, or this one alone.

    Attributes:
        communicator: None if this process is alone.
        rank: Its number, from 0.
        size: How many there are.
    """

    def __init__(self, given: Any) -> None:
        """Takes what mpc.Session does; None is what a launcher has started."""
        found = shared_communicator() if given is None else to_communicator(given)
        self.communicator = found if found is not None and found.size > 1 else None
        self.rank = self.communicator.rank if self.communicator else 0
        self.size = self.communicator.size if self.communicator else 1
        self.signal = 0  #: The number of the one that this process has received.
        self._stopped = (0, 0)  # A rank that has received a signal, and its number.

    @property
    def is_first(self) -> bool:
        """Whether this rank writes files."""
        return self.rank == 0

    def share(self, control: TrainerControl) -> None:
        """Makes all ranks stop, or save, if one of them is to."""
        if self.communicator is None:
            return
        own = control.should_training_stop * _STOPS | control.should_save * _SAVES
        numbers = self.communicator.gather_number(own | self.signal << _SIGNAL_SHIFT)
        for rank, number in reversed(list(enumerate(numbers))):
            control.should_training_stop |= bool(number & _STOPS) or number >> _SIGNAL_SHIFT > 0
            control.should_save |= bool(number & _SAVES)
            if number >> _SIGNAL_SHIFT:
                self._stopped = rank, number >> _SIGNAL_SHIFT

    def first_says(self, value: bool) -> bool:
        """The value of the first rank."""
        return value if self.communicator is None else bool(self.communicator.gather_number(value)[0])

    def on_first(self, action: Callable[[], None]) -> None:
        """Does something on the first rank, which may take long, while the others wait."""
        if self.communicator is None:
            return action()
        errors: list[BaseException] = []

        def work() -> None:
            try:
                action()
            except BaseException as error:
                errors.append(error)

        thread = threading.Thread(target=work)
        if self.is_first:
            thread.start()
        while True:
            state = _BUSY
            if self.is_first:
                thread.join(_SIGN_OF_LIFE)
                if not thread.is_alive():
                    state = _FAILED if errors else _DONE
            state = self.communicator.gather_number(state)[0]
            if state == _DONE:
                return None
            if state == _FAILED:
                raise errors[0] if errors else RankLost("rank 0 failed, and says why")

    def require_same(self, what: str, own: str) -> None:
        """Raises an error on all ranks if `own` is not the same on all of them."""
        if self.communicator is not None:
            require_same(self.communicator, what, own)

    @contextlib.contextmanager
    def signals(self) -> Iterator[None]:
        """Lets a signal that would end this process stop all ranks, which save before.

        Then this process gets the signal, and the others raise an error.
        """
        is_main = threading.current_thread() is threading.main_thread()
        if self.communicator is None or not is_main:
            yield
            return
        self.signal, self._stopped = 0, (0, 0)
        before = {}
        for number, default in ((signal.SIGINT, signal.default_int_handler),
                                (signal.SIGTERM, signal.SIG_DFL)):
            if signal.getsignal(number) is default:  # Not one of the program's.
                before[number] = signal.signal(number, self._receive)
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        rank, number = self._stopped
        if number:
            self.communicator.gather_number(0)  # All have saved.
        if self.signal:  # Also if it came after the last step.
            sys.stdout.flush()
            signal.raise_signal(self.signal)
        if number:
            name = signal.Signals(number).name
            raise RankLost(f"training was stopped by {name} on rank {rank}")

    def _receive(self, number: int, frame: Any) -> None:
        if self.signal:  # Again: at once.
            raise KeyboardInterrupt
        self.signal = number
