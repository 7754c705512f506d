"""Positions of elements in memory while loops are written out: computed once, then moved along step
by step.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.codegen.expression import CExpr
from relay2relax.backends.c.stages import flat_index
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import substitute, variables


@dataclass(slots=True)
class Position:
    """``start + offset + stride * lane``; ``steps`` says how far each unrolled loop moves it.

    ``stride`` is None where the position is not affine in the lane. ``text`` is for whoever prints
    ``start``.
    """

    stride: int | None
    start: PrimExpr
    offset: int
    steps: tuple[tuple[Var, int], ...]
    text: CExpr | None = None


@dataclass(slots=True)
class Unrolled:
    """The steps at which unrolled loops stand."""

    steps: dict[Var, IntImm] = field(default_factory=dict)
    # By identity of indices and lane, which are kept here so that nothing else takes their place.
    _found: dict[tuple[int, int], tuple[Position | None, Sequence[PrimExpr], Var | None]] = field(default_factory=dict)

    def put(self, expr: PrimExpr) -> PrimExpr:
        """Return ``expr`` at these steps."""
        return substitute(expr, self.steps) if self.steps else expr

    def number(self, expr: PrimExpr) -> int | None:
        """Return the value of ``expr`` at these steps, None where it is no constant."""
        if isinstance(expr, Var):
            expr = self.steps.get(expr, expr)
        elif not isinstance(expr, IntImm):
            expr = simplify(self.put(expr))
        return expr.value if isinstance(expr, IntImm) else None

    def position(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: Var | None) -> tuple[Position, int]:
        """Return the row-major position of an element, and its constant part at these steps."""
        key = id(indices), id(lane)
        if key not in self._found:
            self._found[key] = self._affine(buffer, indices, lane), indices, lane
        found = self._found[key][0]
        if found is None:
            found = self._split(flat_index(buffer, [self.put(index) for index in indices]), (), lane)
        return found, found.offset + sum(step * self.steps[var].value for var, step in found.steps)

    def _affine(self, buffer: Buffer, indices: Sequence[PrimExpr], lane: Var | None) -> Position | None:
        position = flat_index(buffer, indices)
        steps = []
        for var in variables(position):
            if var in self.steps:
                step = coefficient(position, var)
                if step is None:
                    return None
                steps.append((var, step))
        zero: dict[Var, PrimExpr] = {var: IntImm(0, var.dtype) for var, _ in steps}
        return self._split(simplify(substitute(position, zero)) if zero else position, tuple(steps), lane)

    def forget(self) -> None:
        """Forget everything: a variable has got another name."""
        self._found.clear()

    def _split(self, position: PrimExpr, steps: tuple[tuple[Var, int], ...], lane: Var | None) -> Position:
        stride: int | None = 0
        if lane is not None:
            stride = coefficient(position, lane)
            if stride:
                position = simplify(substitute(position, {lane: IntImm(0, lane.dtype)}))
        match position:
            case IntImm(value):
                return Position(stride, IntImm(0), value, steps)
            case Binary("+", start, IntImm(value)):
                return Position(stride, start, value, steps)
        return Position(stride, position, 0, steps)
