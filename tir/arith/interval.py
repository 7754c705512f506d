"""Intervals of integers: the smallest and the largest value, None where there is no limit."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from functools import reduce
from typing import TypeAlias, Union

End: TypeAlias = Union[int, None]
Interval: TypeAlias = tuple[End, End]
ANYTHING: Interval = (None, None)


def multiply(a: Interval, b: Interval) -> Interval:
    """Return the interval of products."""
    corners = [_product(x, y) for x in _ends(a) for y in _ends(b)]
    low, high = min(corners), max(corners)
    return (None if isinstance(low, float) else low, None if isinstance(high, float) else high)


def _ends(a: Interval) -> tuple[int | float, int | float]:
    """Return the ends with infinities, the only floats, where there is no limit."""
    low, high = a
    return (-math.inf if low is None else low, math.inf if high is None else high)


def _product(x: int | float, y: int | float) -> int | float:
    """Return the product of two ends; what is zero stays zero."""
    if x == 0 or y == 0:
        return 0
    if isinstance(x, float) or isinstance(y, float):
        return math.inf if (x > 0) == (y > 0) else -math.inf
    return x * y


def least(a: Interval, b: Interval) -> Interval:
    """Return the interval of the smaller value."""
    return (both(a[0], b[0], min), known(a[1], b[1], min))


def greatest(a: Interval, b: Interval) -> Interval:
    """Return the interval of the larger value."""
    return (known(a[0], b[0], max), both(a[1], b[1], max))


def union(a: Interval, b: Interval) -> Interval:
    """Return the interval of a value that is of ``a`` or of ``b``."""
    return (both(a[0], b[0], min), both(a[1], b[1], max))


def quotient(over: Interval, under: Interval) -> Interval:
    """Return the interval of a floor division; what divides is not zero."""
    return _union(_quotient(_signed(sign, over), part) for sign, part in _sides(under, 1))


def remainder(over: Interval, under: Interval) -> Interval:
    """Return the interval of a floor modulo; what divides is not zero."""
    return _union(_signed(sign, _remainder(_signed(sign, over), part)) for sign, part in _sides(under, 1))


def truncated_quotient(over: Interval, under: Interval) -> Interval:
    """Return the interval of a division that rounds towards zero; what divides is not zero."""
    return _union(
        _signed(sign * other, _quotient(size, divisor))
        for sign, size in _sides(over, 0)
        for other, divisor in _sides(under, 1)
    )


def truncated_remainder(over: Interval, under: Interval) -> Interval:
    """Return the interval of what a division that rounds towards zero leaves: it has the sign of
    ``over``.
    """
    return _union(
        _signed(sign, _remainder(size, divisor)) for sign, size in _sides(over, 0) for _, divisor in _sides(under, 1)
    )


def _quotient(over: Interval, under: Interval) -> Interval:
    """Return the interval of a floor division by positive numbers."""
    smallest, largest = under[0] or 1, under[1]
    low, high = over
    # The quotient lies furthest from zero at the smallest divisor, nearest to it at the largest.
    if low is not None:
        low = low // smallest if low < 0 else 0 if largest is None else low // largest
    if high is not None:
        high = high // smallest if high >= 0 else -1 if largest is None else high // largest
    return (low, high)


def _remainder(over: Interval, under: Interval) -> Interval:
    """Return the interval of a floor modulo by positive numbers."""
    high = None if under[1] is None else under[1] - 1
    if over[0] is not None and over[0] >= 0:
        high = known(high, over[1], min)
    return (0, high)


def _sides(a: Interval, least: int) -> Iterator[tuple[int, Interval]]:
    """Yield what of ``a`` is positive and what is negative: a sign, and the interval of sizes from
    ``least`` on.
    """
    for sign in (1, -1):
        low, high = _signed(sign, a)
        if high is None or high >= least:
            yield sign, (least if low is None else max(low, least), high)


def _signed(sign: int, a: Interval) -> Interval:
    return a if sign > 0 else _turned(a)


def _union(parts: Iterable[Interval]) -> Interval:
    found = list(parts)
    return reduce(union, found) if found else ANYTHING


def both(a: End, b: End, pick: Callable[[int, int], int]) -> End:
    """Return the pick of two ends, None where one is not known."""
    return None if a is None or b is None else pick(a, b)


def known(a: End, b: End, pick: Callable[[int, int], int]) -> End:
    """Return the pick of the ends that are known."""
    if a is None or b is None:
        return a if b is None else b
    return pick(a, b)


def _less(limits: Interval, never_zero: bool) -> bool | None:
    low, high = limits
    if high is not None and (high < 0 or (high == 0 and never_zero)):
        return True
    return False if low is not None and low >= 0 else None


def _same(limits: Interval, never_zero: bool) -> bool | None:
    low, high = limits
    if low == 0 and high == 0:
        return True
    apart = never_zero or (low is not None and low > 0) or (high is not None and high < 0)
    return False if apart else None


def _negated(answer: bool | None) -> bool | None:
    return None if answer is None else not answer


def _turned(limits: Interval) -> Interval:
    low, high = limits
    return (None if high is None else -high, None if low is None else -low)


# What the interval of ``a - b``, and whether it is known not to be zero, say about ``a op b``.
DECIDE: dict[str, Callable[[Interval, bool], bool | None]] = {
    "==": _same,
    "!=": lambda limits, never_zero: _negated(_same(limits, never_zero)),
    "<": _less,
    ">=": lambda limits, never_zero: _negated(_less(limits, never_zero)),
    ">": lambda limits, never_zero: _less(_turned(limits), never_zero),
    "<=": lambda limits, never_zero: _negated(_less(_turned(limits), never_zero)),
}
