"""Many questions under the same bounds."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.tir.arith.algebra import Algebra, Bounds
from relay2relax.tir.arith.linear import Claim, Search, decided
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var


class Questions:
    """Questions that remember the sums of expressions they have in common.

    Each has the whole budget of one question. ``bounds`` are not to be changed.
    """

    def __init__(self, bounds: Bounds) -> None:
        self._first = Algebra(dict(bounds))

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        """Return what ``simplify(expr, bounds)`` returns."""
        return expr if isinstance(expr, (IntImm, Var)) else self._first.again().simplify(expr)

    def prove(self, condition: PrimExpr) -> bool | None:
        """Return what ``prove(condition, bounds)`` returns."""
        if isinstance(condition, IntImm):
            return bool(condition.value)
        algebra = self._first.again()
        answer = algebra.prove(condition)
        return decided(algebra, condition) if answer is None else answer

    def contradictory(self, claims: Sequence[Claim]) -> bool:
        """Whether the claims cannot all be right."""
        return Search(self._first.again()).contradictory(claims)
