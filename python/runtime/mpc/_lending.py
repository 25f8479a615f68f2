"""Parameters of a PyTorch module that lie in the memory of a session, so that nothing is copied."""

from __future__ import annotations

import sys
import weakref
from typing import Any

import torch

from mpc._session import Session


def borrowed(tensor: torch.Tensor) -> Any:
    """`tensor` as a session borrows it; NumPy's arrays are lent faster, but it has no bf16."""
    dense = tensor.detach().contiguous()
    return dense if dense.dtype == torch.bfloat16 else dense.numpy()


def _users(tensor: torch.Tensor) -> int:
    """How many tensors and others share the memory of `tensor`, counted as `_ALONE` is."""
    storage = tensor.untyped_storage()
    return int(torch._C._storage_Use_Count(storage._cdata)) + sys.getrefcount(storage)


_ALONE = _users(torch.empty(1))


def is_alone(tensor: torch.Tensor) -> bool:
    """Whether nothing else shares the memory of `tensor`: no other tensor, no array."""
    return _users(tensor) == _ALONE


class InUse(Exception):
    """The memory of a state holds another tensor, which must not be overwritten."""


class Lender:
    """Writes tensors to the states of a session, and leaves parameters in their memory.

    A tensor in the memory of a session keeps it alive, even if the session is closed. A parameter
    is moved only if nothing but the parameter shares its memory; others are copied in each call.
    """

    def __init__(self, session: Session, lends: bool = True) -> None:
        self._session = session
        self._lends = lends and session.device.partition(" ")[0] == "cpu"
        #: Arrays over the memory of states, alive as long as anything uses it, and its addresses.
        self._arrays: dict[str, tuple[weakref.ref[Any], int]] = {}
        self._dtypes = {
            spec.name: getattr(torch, spec.dtype.name, None) for spec in session.program.states
        }

    def write(self, state: str, tensor: torch.Tensor, move: bool = False) -> None:
        """Gives `state` the value of `tensor`.

        Args:
            move: The tensor is a parameter and may be moved to the memory of the state.

        Raises:
            InUse: Something else lies there.
        """
        lent, address = self._arrays.get(state, (None, 0))
        array = lent() if lent is not None else None
        if array is not None:
            if tensor.data_ptr() != address or not _has_layout(tensor, array):
                raise InUse
            # It may have been changed there.
            self._session.write_state(state, array)
            return
        dtype = self._dtypes[state]
        # A frozen weight may be kept in 16 bit.
        self._session.write_state(state, borrowed(tensor.to(dtype)))
        if move and self._lends and _can_move(tensor, dtype):
            self._move(state, tensor)

    def _move(self, state: str, tensor: torch.Tensor) -> None:
        array = self._session._state_memory(state)
        with torch.inference_mode(False):
            inside = torch.from_numpy(array)
            self._arrays[state] = weakref.ref(array), inside.data_ptr()
            tensor.data = inside


def _has_layout(tensor: torch.Tensor, array: Any) -> bool:
    return (
        tensor.shape == array.shape
        and tensor.element_size() == array.itemsize
        and tensor.is_contiguous()
    )


def _can_move(tensor: torch.Tensor, dtype: Any) -> bool:
    return (
        type(tensor) is torch.nn.Parameter
        and tensor.dtype == dtype
        and dtype in (torch.float32, torch.float64)
        and tensor.layout == torch.strided
        and tensor.is_contiguous()
        and tensor.numel() > 0
        and not tensor.is_inference()
        and not tensor.is_shared()  # With other processes.
        and is_alone(tensor)
    )
