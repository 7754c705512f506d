"""Whether integer arithmetic may leave its dtype, and wrap around, where data decide.

Proofs take integers to be without end (``simplify.py``). That holds for positions in tensors that
fit into memory; what a program loads, or is given as a number, may be anything that its dtype has.
"""

from __future__ import annotations

from relay2relax.core.dtype import bits, is_unsigned
from relay2relax.tir.arith import interval
from relay2relax.tir.arith.algebra import Bounds
from relay2relax.tir.arith.interval import Interval
from relay2relax.tir.arith.simplify import limits
from relay2relax.tir.ir.expr import Binary, Call, Cast, IntImm, PrimExpr, Select, Var, children

_INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")


def may_wrap(expr: PrimExpr, bounds: Bounds) -> bool:
    """Whether an integer within ``expr`` may be another one than it is without limits of dtypes.

    ``bounds`` has the variables whose limits are known: loops and extents.
    """
    stack = [expr]
    while stack:
        node = stack.pop()
        stack.extend(children(node))
        if isinstance(node, Binary) and node.op in ("+", "-", "*") and not _fits(node, bounds):
            return True
        if isinstance(node, Cast) and node.dtype in _INTEGERS and node.value.dtype in _INTEGERS:
            low, high = _range(node.value, bounds)
            least, most = _of_dtype(node.dtype)
            if _is_data(node.value, bounds) and (low is None or low < least or high is None or high > most):
                return True
    return False


def _fits(expr: Binary, bounds: Bounds) -> bool:
    if expr.dtype not in _INTEGERS or not _is_data(expr, bounds):
        return True
    low, high = _range(expr, bounds)
    least, most = _of_dtype(expr.dtype)
    return low is not None and high is not None and low >= least and high <= most


def _is_data(expr: PrimExpr, bounds: Bounds) -> bool:
    """Whether ``expr`` depends on more than loops and extents."""
    match expr:
        case IntImm():
            return False
        case Var():
            return bounds.get(expr) is None
        case Binary(_, a, b):
            return _is_data(a, bounds) or _is_data(b, bounds)
        case Cast(_, value):
            return _is_data(value, bounds)
    return True


def _range(expr: PrimExpr, bounds: Bounds) -> Interval:
    """Return between which numbers ``expr`` lies if nothing wraps around; data may be anything."""
    if not _is_data(expr, bounds):
        return limits(expr, bounds)
    match expr:
        case Binary("+", a, b):
            (low, high), (least, most) = _range(a, bounds), _range(b, bounds)
            return interval.both(low, least, int.__add__), interval.both(high, most, int.__add__)
        case Binary("-", a, b):
            (low, high), (least, most) = _range(a, bounds), _range(b, bounds)
            return interval.both(low, most, int.__sub__), interval.both(high, least, int.__sub__)
        case Binary("*", a, b):
            return interval.multiply(_range(a, bounds), _range(b, bounds))
        case Binary("min", a, b):
            return interval.least(_range(a, bounds), _range(b, bounds))
        case Binary("max", a, b):
            return interval.greatest(_range(a, bounds), _range(b, bounds))
        case Binary("%", _, IntImm(divisor)) if divisor > 0:
            return (0, divisor - 1)
        case Select(_, a, b) | Call("if_then_else", (_, a, b)):
            return interval.union(_range(a, bounds), _range(b, bounds))
        case Cast(dtype, value) if dtype in _INTEGERS and value.dtype in (*_INTEGERS, "bool"):
            return _range(value, bounds)
    return _of_dtype(expr.dtype)


def _of_dtype(dtype: str) -> tuple[int, int]:
    if dtype == "bool":
        return (0, 1)
    if dtype not in _INTEGERS:
        return (-(1 << 63), (1 << 63) - 1)
    width = bits(dtype)
    return (0, (1 << width) - 1) if is_unsigned(dtype) else (-(1 << (width - 1)), (1 << (width - 1)) - 1)
