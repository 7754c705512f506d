"""The threads that are run at once, and which of them are active."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.backends.numpy.threads.memory import Numbers, Truths
from relay2relax.backends.numpy.threads.traffic import WARP


@dataclass(frozen=True, slots=True)
class Wave:
    """``blocks`` with ``per_block`` threads each.

    Of each thread (a lane): its number among all ``threads``, that of its warp, and its block's
    place among ``blocks``.
    """

    blocks: Numbers
    per_block: int
    threads: Numbers
    warps: Numbers
    places: Numbers

    @classmethod
    def of(cls, blocks: Numbers, per_block: int) -> Wave:
        """Return the threads of ``blocks``."""
        inside = np.tile(np.arange(per_block), len(blocks))
        outside = np.repeat(blocks, per_block)
        warps = outside * -(-per_block // WARP) + inside // WARP
        places = np.repeat(np.arange(len(blocks)), per_block)
        return cls(blocks, per_block, outside * per_block + inside, warps, places)

    @property
    def lanes(self) -> int:
        """The number of threads."""
        return len(self.threads)


@dataclass(frozen=True, slots=True)
class Active:
    """Which threads (rows) run, for which elements of a vector (columns); None: all. ``count`` are
    they.
    """

    which: Truths | None
    count: int

    @property
    def columns(self) -> int:
        """How many elements of a vector are told apart."""
        return 1 if self.which is None else self.which.shape[1]

    def rows(self, wave: Wave, column: int = 0) -> Numbers:
        """Return the threads that run, for one element."""
        if self.which is None:
            return np.arange(wave.lanes)
        chosen = self.which[:, column]
        return np.flatnonzero(np.broadcast_to(chosen, wave.lanes) if len(chosen) == 1 else chosen)

    def where(self, condition: Any, wave: Wave) -> Active:
        """Return those of them for which ``condition`` holds."""
        if isinstance(condition, np.bool_) or condition.size == 1:
            return self if bool(condition) else Active(self.which, 0)
        chosen = condition if self.which is None else np.logical_and(self.which, condition)
        if bool(chosen.all()):
            return Active(None, wave.lanes)
        return Active(chosen, int(np.count_nonzero(chosen)) * (wave.lanes // chosen.shape[0]))
