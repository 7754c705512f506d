"""How far an index goes: its smallest and largest value as expressions over extents.

What data decide has no ends here, nor has what is not known to be monotone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from relay2relax.core import dtype as dt
from relay2relax.tir.arith.evaluate import is_computed
from relay2relax.tir.arith.simplify import Bounds, limits
from relay2relax.tir.ir.expr import Binary, BinaryOp, Cast, IntImm, PrimExpr, Ramp, Select, Var, binary, cast

# The smallest and the largest value, None where nothing is known.
Ends: TypeAlias = "tuple[PrimExpr | None, PrimExpr | None]"
_UNKNOWN: Ends = (None, None)
_INTEGERS = ("int32", "int64")


@dataclass(frozen=True, slots=True)
class Reach:
    """The ends of expressions whose variables are extents, scalars, or the loops ``domains``.

    ``bounds`` are what is known of extents, scalars and loops as numbers.
    """

    fixed: frozenset[Var]
    domains: Mapping[Var, Ends]
    bounds: Bounds

    def of(self, expr: PrimExpr) -> Ends:
        """Return the ends of ``expr``, an integer."""
        if is_computed(expr, self.fixed):
            return expr, expr
        match expr:
            case Var():
                return self.domains.get(expr, _UNKNOWN)
            case Cast(dtype, value) if dtype in _INTEGERS and value.dtype in _INTEGERS:
                low, high = self.of(value)
                return _in(dtype, low), _in(dtype, high)
            case Ramp(base, stride, IntImm(lanes)):
                return self.of(binary("+", base, _multiple(stride, lanes - 1)))
            case Binary("+", a, b):
                return self.each("+", self.of(a), self.of(b))
            case Binary("-", a, b):
                low, high = self.of(b)
                return self.each("-", self.of(a), (high, low))
            case Binary("*", a, b):
                return self.product(a, b)
            case Binary("//" | "truncdiv", a, b):
                return self.quotient(expr.op, a, b)
            case Binary("%" | "truncmod", a, b):
                return self.remainder(expr.op, a, b)
            case Binary("min", a, b):
                (low, high), (other_low, other_high) = self.of(a), self.of(b)
                return _both("min", low, other_low), _either("min", high, other_high)
            case Binary("max", a, b):
                (low, high), (other_low, other_high) = self.of(a), self.of(b)
                return _either("max", low, other_low), _both("max", high, other_high)
            case Select(condition, a, b) if is_computed(condition, self.fixed):
                (low, high), (other_low, other_high) = self.of(a), self.of(b)
                return _chosen(condition, low, other_low), _chosen(condition, high, other_high)
        return self.of_data(expr)

    def of_data(self, expr: PrimExpr) -> Ends:
        """Return what the dtype of an expression says."""
        dtype = dt.element_dtype(expr.dtype)
        if dtype == "bool":
            return IntImm(0), IntImm(1)
        unsigned = dtype.startswith("uint")
        if isinstance(expr, Cast) and expr.dtype in _INTEGERS:
            low, high = self.of_data(expr.value)
            return _in(expr.dtype, low), _in(expr.dtype, high)
        return (IntImm(0) if unsigned else None), None

    def each(self, op: BinaryOp, a: Ends, b: Ends) -> Ends:
        """Return ``op`` of the lower ends and of the upper ends."""
        return _both(op, a[0], b[0]), _both(op, a[1], b[1])

    def is_natural(self, expr: PrimExpr | None) -> bool:
        """Whether ``expr`` is known and never negative."""
        if expr is None:
            return False
        low = limits(expr, self.bounds)[0]
        return low is not None and low >= 0

    def product(self, a: PrimExpr, b: PrimExpr) -> Ends:
        """Return the ends of ``a * b``."""
        first, second = self.of(a), self.of(b)
        for (low, high), (factor, last) in ((first, second), (second, first)):
            if factor is None or factor is not last:
                continue
            if isinstance(factor, IntImm) and factor.value < 0:
                return _both("*", high, factor), _both("*", low, factor)
            if self.is_natural(factor):
                return _both("*", low, factor), _both("*", high, factor)
        if self.is_natural(first[0]) and self.is_natural(second[0]):
            return self.each("*", first, second)
        return _UNKNOWN

    def quotient(self, op: BinaryOp, a: PrimExpr, b: PrimExpr) -> Ends:
        """Return the ends of ``a // b``, of which ``b`` is not zero."""
        (low, high), (divisor, last) = self.of(a), self.of(b)
        if divisor is None or divisor is not last or not self.is_natural(divisor):
            return _UNKNOWN
        if op == "truncdiv" and not self.is_natural(low):
            return _UNKNOWN
        if not self.is_natural(binary("-", divisor, 1)):
            divisor = binary("max", divisor, 1)
        return _both("//", low, divisor), _both("//", high, divisor)

    def remainder(self, op: BinaryOp, a: PrimExpr, b: PrimExpr) -> Ends:
        """Return the ends of ``a % b``, of which ``b`` is not zero."""
        (low, high), (divisor, last) = self.of(a), self.of(b)
        if divisor is None or divisor is not last or not self.is_natural(divisor):
            return _UNKNOWN
        most = binary("-", divisor, 1)
        if self.is_natural(low):
            return IntImm(0, most.dtype), _either("min", high, most)
        return _UNKNOWN if op == "truncmod" else (IntImm(0, most.dtype), most)


def _multiple(stride: PrimExpr, count: int) -> PrimExpr:
    return binary("*", stride, IntImm(count, stride.dtype))


def _in(dtype: str, end: PrimExpr | None) -> PrimExpr | None:
    return None if end is None else cast(dtype, end)


def _both(op: BinaryOp, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return None if a is None or b is None else binary(op, a, b)


def _chosen(condition: PrimExpr, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    return None if a is None or b is None else Select(condition, a, b)


def _either(op: BinaryOp, a: PrimExpr | None, b: PrimExpr | None) -> PrimExpr | None:
    if a is None or b is None:
        return b if a is None else a
    return binary(op, a, b)
