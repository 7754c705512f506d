"""Which operands of a minimum or maximum may be its value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from relay2relax.tir.arith.sums import Sum, Term, scale
from relay2relax.tir.ir.expr import BinaryOp

if TYPE_CHECKING:
    from relay2relax.tir.arith.algebra import Algebra


class Extremum:
    """A minimum or maximum: those of its operands that may be its value.

    An operand is compared one by one with those that something is known of in common with; the
    others cannot do more than what their intervals say.
    """

    def __init__(self, algebra: Algebra, op: BinaryOp) -> None:
        self.algebra = algebra
        self.op = op
        self.seen: set[frozenset[tuple[Term, int]]] = set()
        self.kept: dict[int, Sum] = {}
        # The end of an operand that no other one reaches, where it is known; by number.
        self.ends: dict[int, int] = {}
        # The best of what the operands reach in any case.
        self.sure: int | None = None
        self.related: dict[Any, list[int]] = {}

    def add(self, new: Sum) -> None:
        """Add an operand, unless one that is there is always as good.

        Drop those that are never better than it.
        """
        key = frozenset(new.items())
        if key in self.seen:
            return
        self.seen.add(key)
        sign = 1 if self.op == "max" else -1
        low, high = self.algebra.interval(scale(new, sign))
        if high is not None and self.sure is not None and self.sure >= high:
            return
        leaves = self.algebra.leaves(new)
        others = sorted({n for leaf in leaves for n in self.related.get(leaf, ()) if n in self.kept})
        dominates = self.algebra.dominates
        if any(dominates(self.op, self.kept[other], new) for other in others):
            return
        beaten = {other for other in others if dominates(self.op, new, self.kept[other])}
        if low is not None:
            beaten.update(other for other, end in self.ends.items() if low >= end)
            self.sure = low if self.sure is None else max(self.sure, low)
        for other in beaten:
            del self.kept[other]
            self.ends.pop(other, None)
        number = len(self.seen)
        self.kept[number] = new
        if high is not None:
            self.ends[number] = high
        for leaf in leaves:
            self.related.setdefault(leaf, []).append(number)

    def remaining(self) -> list[Sum]:
        """Return the operands that may be the value."""
        return list(self.kept.values())
