"""Divisions that round towards zero: floor divisions where the signs are known, else with the signs
outside.

``truncdiv(-a, b)`` and ``truncdiv(a, -b)`` are ``-truncdiv(a, b)``; ``truncmod(-a, b)`` is
``-truncmod(a, b)``, and the sign of ``b`` does not matter to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from relay2relax.tir.arith.interval import Interval
from relay2relax.tir.arith.sums import Sum, atom_sum, cancel, scale, shared, term_key
from relay2relax.tir.ir.expr import Binary, BinaryOp

if TYPE_CHECKING:
    from relay2relax.tir.arith.algebra import Algebra


def divided(algebra: Algebra, op: BinaryOp, a: Sum, by: Sum, dtype: str) -> Sum:
    """Return the quotient (``op`` is "truncdiv") or the remainder ("truncmod") of ``a`` and
    ``by``.
    """
    if not a:
        return {}
    limits, divisors = algebra.interval(a), algebra.interval(by)
    sign, other = _sign(a, limits), _sign(by, divisors)
    a, by = scale(a, sign), scale(by, other)
    outside = sign * other if op == "truncdiv" else sign
    if _has_sign(limits) and _has_sign(divisors):
        floor = algebra.divided if op == "truncdiv" else algebra.modulo
        return scale(floor(a, by, dtype), outside)
    factors, count = shared(a, by)
    if factors or count > 1:
        # With a common factor gone the signs may be known.
        smaller = divided(algebra, op, cancel(a, factors, count), cancel(by, factors, count), dtype)
        taken: Sum = {(): outside} if op == "truncdiv" else {factors: count * outside}
        return algebra.multiplied(smaller, taken, dtype)
    whole, rest = algebra.split(a, by)
    if rest:
        return scale(atom_sum(Binary(op, algebra.operand(a, dtype), algebra.divisor(by, dtype))), outside)
    return scale(whole, outside) if op == "truncdiv" else {}


def _sign(terms: Sum, limits: Interval) -> int:
    """Return the sign of ``terms``, by its first term where that is not known."""
    if _has_sign(limits):
        return 1 if limits[0] is not None and limits[0] >= 0 else -1
    return 1 if terms[min(terms, key=term_key)] > 0 else -1


def _has_sign(limits: Interval) -> bool:
    low, high = limits
    return (low is not None and low >= 0) or (high is not None and high <= 0)
