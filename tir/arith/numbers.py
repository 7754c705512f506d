"""Limits that are plain numbers, from those of the operands alone.

Most indices of a model whose shapes are known are decided so, in a small part of the time that the
algebra (``algebra.py``) takes. What it finds is true of the dtypes' arithmetic, too: an expression
that might wrap around has no limits here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from relay2relax.tir.arith import interval
from relay2relax.tir.arith.algebra import Bounds
from relay2relax.tir.arith.interval import Interval
from relay2relax.tir.ir.expr import Binary, IntImm, Not, PrimExpr, Var

_DTYPES = {"int32": 1 << 31, "int64": 1 << 63}
_ENDS: Mapping[str, Callable[[int, int, int, int], tuple[int, int]]] = {
    "+": lambda a, b, c, d: (a + c, b + d),
    "-": lambda a, b, c, d: (a - d, b - c),
    "min": lambda a, b, c, d: (min(a, c), min(b, d)),
    "max": lambda a, b, c, d: (max(a, c), max(b, d)),
}
_DIVISIONS = {"//": interval.quotient, "%": interval.remainder}


def is_inside_by_numbers(index: PrimExpr, extent: PrimExpr, bounds: Bounds) -> bool:
    """Whether the limits of its operands alone say that ``0 <= index < extent``."""
    if not isinstance(extent, IntImm):
        return False
    low, high = number_limits(index, bounds)
    return low is not None and high is not None and low >= 0 and high < extent.value


def number_limits(expr: PrimExpr, bounds: Bounds) -> Interval:
    """Return the smallest and the largest value of ``expr``, ANYTHING where operands do not say
    them.
    """
    match expr:
        case IntImm(value):
            return value, value
        case Var():
            low, high = bounds.get(expr, interval.ANYTHING)
            low = low.value if isinstance(low, IntImm) else low
            high = high.value if isinstance(high, IntImm) else high
            return (low, high) if isinstance(low, int) and isinstance(high, int) else interval.ANYTHING
        case Binary(op, a, b):
            found = _of_operands(op, number_limits(a, bounds), number_limits(b, bounds))
            size = _DTYPES.get(a.dtype, 0)
            low, high = found
            return found if low is not None and high is not None and -size <= low <= high < size else interval.ANYTHING
    return interval.ANYTHING


def narrowed(bounds: Bounds, condition: PrimExpr) -> Bounds:
    """Return ``bounds`` where ``condition`` holds, if that compares a variable whose limits are
    numbers with a number.
    """
    least: int | None = None
    most: int | None = None
    match condition:
        case Binary("<", var, IntImm(value)) | Not(Binary(">=", var, IntImm(value))):
            most = value - 1
        case Binary("<=", var, IntImm(value)) | Not(Binary(">", var, IntImm(value))):
            most = value
        case Binary(">=", var, IntImm(value)) | Not(Binary("<", var, IntImm(value))):
            least = value
        case Binary(">", var, IntImm(value)) | Not(Binary("<=", var, IntImm(value))):
            least = value + 1
        case _:
            return bounds
    low, high = number_limits(var, bounds)
    if not isinstance(var, Var) or low is None:
        return bounds
    return {**bounds, var: (interval.known(low, least, max), interval.known(high, most, min))}


def _of_operands(op: str, first: Interval, second: Interval) -> Interval:
    (a, b), (c, d) = first, second
    if a is None or b is None or c is None or d is None:
        return interval.ANYTHING
    if op in _ENDS:
        return _ENDS[op](a, b, c, d)
    if op == "*":
        return interval.multiply(first, second)
    return _DIVISIONS[op](first, second) if op in _DIVISIONS and c > 0 else interval.ANYTHING
