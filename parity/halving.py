"""Halving: the first of many steps that fails."""

from __future__ import annotations

from collections.abc import Callable


def first_bad(count: int, bad: Callable[[int], bool]) -> int:
    """Return the least number of 1 to ``count`` that is ``bad``, by halving; 0 is not bad, and
    ``count`` is.
    """
    low, high = 0, count
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if bad(middle) else (middle, high)
    return high
