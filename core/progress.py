"""How far work is, as a share of the whole, for whoever shows it.

Nothing is counted for this: work that may take seconds says how its position is read, and who shows
it reads that now and then, in a thread of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from operator import length_hint
from typing import TypeAlias, TypeVar

# How many steps are done, and how many there are.
Position: TypeAlias = Callable[[], tuple[int, int]]
_Item = TypeVar("_Item")


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


@contextmanager
def each(words: str, items: Collection[_Item]) -> Iterator[Iterator[_Item]]:
    """Give the items one by one, and let others see how many are done.

    ``items`` must know how many are left of it, as lists, tuples and dicts do: so nothing is done
    for an item beyond giving it.
    """
    rest, whole = iter(items), len(items)
    with going_on(words, lambda: (max(0, whole - length_hint(rest) - 1), whole)):
        yield rest


def how_far() -> tuple[str, float] | None:
    """Return what the outermost work is called and its share between 0 and 1; None where nobody
    says so.

    Work inside of other work is a part of the step that the other is at.
    """
    works, share = tuple(_GOING_ON), 0.0
    for work in reversed(works):
        done, whole = work.position()
        share = min(1.0, (done + share) / whole) if whole > 0 else 0.0
    return (works[0].words, share) if works else None
