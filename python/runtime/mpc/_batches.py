"""Any number of samples as batches of the sizes that a program was compiled for."""

from __future__ import annotations

from typing import Any, Iterator, NamedTuple, Sequence

import numpy as np

from mpc._arrays import Copies, on_host
from mpc._program import TensorSpec


class Piece(NamedTuple):
    """A batch: `valid` samples from `first` on, of a batch of `size`, or 0 without batches."""

    first: int
    valid: int
    size: int


def plan(count: int | None, sizes: Sequence[int]) -> Iterator[Piece]:
    """Cuts `count` samples into batches: the largest while they are full, then the smallest that
    holds the rest."""
    if count is None or not sizes:
        yield Piece(0, sizes[0] if sizes else 1, 0)
        return
    first = 0
    while first < count:
        left = count - first
        size = min((s for s in sizes if s >= left), default=max(sizes))
        yield Piece(first, min(size, left), size)
        first += size


def cut(arrays: Sequence[Any], specs: Sequence[TensorSpec], piece: Piece) -> list[Any]:
    """The arrays of one batch; the last sample is repeated to fill it."""
    return [_cut(array, spec, piece) for array, spec in zip(arrays, specs)]


def _cut(array: Any, spec: TensorSpec, piece: Piece) -> Any:
    if spec.batch_dim is None or piece.size == 0:
        return array
    if piece.first == 0 and array.shape[spec.batch_dim] == piece.size:
        return array
    array = array[(slice(None),) * spec.batch_dim + (slice(piece.first, piece.first + piece.valid),)]
    if spec.batch_dim == 0 and piece.valid == piece.size:
        return array  # A view of consecutive samples.
    Copies.count += 1
    filled = [(0, 0)] * array.ndim
    filled[spec.batch_dim] = (0, piece.size - piece.valid)
    return np.pad(on_host(f"input '{spec.name}'", array, False), filled, mode="edge")


def join(array: np.ndarray[Any, Any], spec: TensorSpec, piece: Piece) -> np.ndarray[Any, Any]:
    """The rows of an output that belong to samples. A sample may have several rows."""
    if spec.batch_dim is None or piece.valid == piece.size or piece.size == 0:
        return array
    rows = array.shape[spec.batch_dim] // piece.size * piece.valid
    return array[(slice(None),) * spec.batch_dim + (slice(0, rows),)].copy()
