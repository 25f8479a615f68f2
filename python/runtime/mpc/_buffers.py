"""Memory for the results of a program, which is used again once PyTorch has dropped it."""

from __future__ import annotations

from typing import Any, Mapping

import torch

from mpc._lending import is_alone

#: Of each result: a gradient that is accumulated is needed beside the next one.
_MAX_KEPT = 2


class Buffers:
    """New memory costs a page fault every 4 kB. Results that something still uses are left alone."""

    def __init__(self, outputs: Mapping[str, tuple[tuple[int, ...], Any]]) -> None:
        self._outputs = outputs
        self._kept: dict[str, list[torch.Tensor]] = {name: [] for name in outputs}

    def take(self) -> dict[str, torch.Tensor]:
        """A tensor for each result, whose memory nothing else uses."""
        return {name: self._take(name, *spec) for name, spec in self._outputs.items()}

    def _take(self, name: str, shape: tuple[int, ...], dtype: Any) -> torch.Tensor:
        kept = self._kept[name]
        found = next((tensor for tensor in kept if is_alone(tensor)), None)
        if found is None:
            found = torch.empty(shape, dtype=dtype)
            if len(kept) < _MAX_KEPT:
                kept.append(found)
        # Not a view of it, in which autograd would see more than a result.
        return torch.empty(0, dtype=dtype).set_(found)  # type: ignore[call-overload, no-any-return]
