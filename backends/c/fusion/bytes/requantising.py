"""Integers that are scaled, and quantised again by the same scale, are left as they are.

Models in QDQ form quantise behind every operator: behind one that only moves elements, or between
two in a row, a byte is scaled and at once becomes a byte of the same scale. What is rounded then is
an integer but for the errors of a few operations, so rounding gives that integer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction

from relay2relax.backends.c.fusion.bytes.spans import Span, span_of, spans_of
from relay2relax.backends.c.stages import AnyStage, Stage
from relay2relax.core.dtype import integer_range, is_int, numpy_dtype
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    Buffer,
    Call,
    Cast,
    FloatImm,
    IntImm,
    PrimExpr,
    binary,
    children,
    const,
)
from relay2relax.tir.ir.visit import rebuild, subexpressions

# Single precision has all integers up to this one; an operation errs by half of a part of it.
_EXACT = 1 << 24
# Products of such integers and numbers between these have all digits.
_LEAST, _MOST = Fraction(1, 1 << 100), Fraction(1 << 100)


def drop_requantisation(stages: Sequence[AnyStage], given: Mapping[Buffer, Span]) -> list[AnyStage]:
    """Return the stages without rounding of what is an integer already.

    ``given`` says between which integers buffers of known content lie.
    """
    rounding = [stage for stage in stages if isinstance(stage, Stage) and _rounds(stage.value)]
    if not rounding:
        return list(stages)
    settling = _Settling(spans_of(stages, given))
    made = {stage: settling.stage(stage) for stage in rounding}
    return [made.get(stage, stage) if isinstance(stage, Stage) else stage for stage in stages]


def _rounds(value: PrimExpr) -> bool:
    return any(isinstance(node, Call) and node.name == "nearbyint" for node in subexpressions(value))


class _Settling:
    """What expressions are where it is known between which integers buffers lie."""

    def __init__(self, spans: Mapping[Buffer, Span]) -> None:
        self.spans = spans

    def stage(self, stage: Stage) -> Stage:
        """Return ``stage``, itself where nothing changes."""
        value = self.expr(stage.value)
        return stage if value == stage.value else Stage(stage.axes, stage.target, stage.indices, value, stage.reduction)

    def expr(self, expr: PrimExpr) -> PrimExpr:
        """Return ``expr`` with its parts settled, from the innermost on."""
        parts = children(expr)
        if parts:
            expr = rebuild(expr, [self.expr(part) for part in parts])
        return self._settled(expr)

    def _settled(self, expr: PrimExpr) -> PrimExpr:
        match expr:
            case Call("nearbyint", (_,)) if (whole := self._whole(expr)) is not None:
                return Cast("float32", whole)
            case Cast(dtype, value) if is_int(dtype) and value.dtype == "float32":
                whole = self._whole(value)
                if whole is not None and self._fits(whole, dtype):
                    return self._cast(dtype, whole)
            case Cast("int32", Cast(dtype, value)) if is_int(dtype) and value.dtype == "int32":
                return value if self._fits(value, dtype) else expr
            case Cast(dtype, Cast("int32")) if is_int(dtype):
                return self._cast(dtype, expr.value)
        return expr

    def _cast(self, dtype: str, value: PrimExpr) -> PrimExpr:
        match value:
            case Cast("int32", inner) if inner.dtype == dtype:
                return inner
        return value if value.dtype == dtype else Cast(dtype, value)

    def _fits(self, value: PrimExpr, dtype: str) -> bool:
        least, most = integer_range(dtype) if is_int(dtype) else (-_EXACT, _EXACT)
        span = span_of(value, self.spans)
        return span is not None and least <= span[0] and span[1] <= most

    def _whole(self, expr: PrimExpr) -> PrimExpr | None:
        """Return the integer of 32 bits that a float always is, None where it may be another
        number.
        """
        found: PrimExpr | None = None
        match expr:
            case FloatImm(value) if abs(value) <= _EXACT and value == int(value):
                return const(int(value), "int32")
            case Cast("float32", value) if value.dtype == "int32":
                found = value
            case Binary("+" | "-" | "min" | "max" as op, a, b):
                left, right = self._whole(a), self._whole(b)
                if left is not None and right is not None:
                    found = self._of_two(op, left, right)
            case Call("nearbyint", (value,)):
                return self._whole(value) or self._nearly(value)
        return found if found is not None and self._fits(found, "float32") else None

    def _of_two(self, op: BinaryOp, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        left, right = span_of(a, self.spans), span_of(b, self.spans)
        assert left is not None
        assert right is not None
        match op, a, b:
            case ("+", Binary("-", inner, IntImm() as less), IntImm() as more) if less == more:
                return inner
            case ("-", Binary("+", inner, IntImm() as more), IntImm() as less) if less == more:
                return inner
            case ("min", _, _) if left[1] <= right[0]:
                return a
            case ("max", _, _) if left[0] >= right[1]:
                return a
        return binary(op, a, b)

    def _nearly(self, expr: PrimExpr) -> PrimExpr | None:
        """Return the integer next to ``expr`` where that is one times constants that make about 1.

        So what it was multiplied by first is about one over the constants that came later, which
        are seen first.
        """
        factor, operations = Fraction(1), 0
        while True:
            match expr:
                case Binary("*", inner, FloatImm() as scale) | Binary("*", FloatImm() as scale, inner):
                    by = _number(scale)
                case Binary("/", inner, FloatImm() as scale):
                    by = _number(scale)
                    by = by and 1 / by
                case Cast("float32", value) if value.dtype == "int32" and operations:
                    return value if self._rounds_to(value, factor, operations) else None
                case _:
                    return None
            if by is None or not _LEAST < factor * by < _MOST:
                return None
            factor, operations, expr = factor * by, operations + 1, inner

    def _rounds_to(self, value: PrimExpr, factor: Fraction, operations: int) -> bool:
        span = span_of(value, self.spans)
        if span is None:
            return False
        most = max(abs(span[0]), abs(span[1]))
        wrong = abs(factor - 1) + factor * Fraction(2 * operations, _EXACT)
        return most * wrong < Fraction(1, 2)


def _number(scale: FloatImm) -> Fraction | None:
    """Return a constant as it is in memory, None where that is not a positive number."""
    found = float(numpy_dtype(scale.dtype).type(scale.value))
    return Fraction(found) if 0.0 < found < float("inf") else None
