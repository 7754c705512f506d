"""How far work is, as a share of the whole, for whoever shows it.

Nothing is counted for this: work that may take seconds says how its position is read, and who shows
it reads that now and then, in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

# How many steps are done, and how many there are.
Position: TypeAlias = Callable[[], tuple[int, int]]


@dataclass(frozen=True, slots=True, eq=False)
class Work:
    """Work that is going on: a few words for it, and how its position is read."""

    words: str
    position: Position


_GOING_ON: list[Work] = []


@contextmanager
def going_on(words: str, position: Position) -> Iterator[None]:
    """Let others see how far the block is.

    ``position`` is called in another thread, while the block runs. It must be quick.
    """
    work = Work(words, position)
    _GOING_ON.append(work)
    try:
        yield
    finally:
        _GOING_ON.remove(work)


def how_far() -> tuple[str, float] | None:
    """Return what the outermost work is called and its share between 0 and 1; None where nobody
    says so.
    """
    for work in _GOING_ON[:1]:
        done, whole = work.position()
        return work.words, min(1.0, done / whole) if whole > 0 else 0.0
    return None
