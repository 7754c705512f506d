"""Reductions of half precision: they run in single precision and are rounded once, at the end, as numpy's do.

The factors of a sum of products are converted ahead where each is used several times, so that the product itself is
one of single precision.
"""

from __future__ import annotations

from dataclasses import replace

from relay2relax.backends.c.header import HALF
from relay2relax.backends.c.loops import put, static
from relay2relax.backends.c.stages import Axis, Reduction, Stage, points
from relay2relax.tir.expr import Binary, Buffer, BufferLoad, Cast, FloatImm, PrimExpr, Var, cast, const
from relay2relax.tir.reshape import size as size_of

# A converted factor is written and read once more than one that is converted where it is used.
_LEAST_USES = 4
_WIDE = "float32"


def widened(stage: Stage) -> list[Stage]:
    """Return the stages that do what ``stage``, a flattened reduction, does, with the reduction in single precision."""
    reduction = stage.reduction
    if reduction is None or reduction.result.dtype not in HALF:
        return [stage]
    before: list[Stage] = []
    count = static(points([*stage.axes, *reduction.axes]))

    def operand(load: BufferLoad) -> PrimExpr:
        size = static(size_of(load.buffer))
        if count is not None and size is not None and count < _LEAST_USES * size:
            return Cast(_WIDE, load)
        wide, place = Buffer("wide", load.buffer.shape, _WIDE), Var("i")
        value = Cast(_WIDE, BufferLoad(load.buffer, (place,)))
        before.append(Stage((Axis(place, size_of(load.buffer)),), wide, (place,), value))
        return BufferLoad(wide, load.indices)

    match reduction.source:
        case Binary("*", BufferLoad() as a, BufferLoad() as b) if reduction.op == "+":
            left = operand(a)
            source: PrimExpr = Binary("*", left, left if a == b else operand(b))
        case Binary("*", a, b) if reduction.op == "+":
            source = Binary("*", cast(_WIDE, a), cast(_WIDE, b))
        case narrow:
            source = cast(_WIDE, narrow)
    result = Var(reduction.result.name, _WIDE)
    value = put(stage.value, {reduction.result: Cast(reduction.result.dtype, result)})
    start = reduction.identity
    identity = const(start.value, _WIDE) if isinstance(start, FloatImm) else cast(_WIDE, start)
    wide_sum = Reduction(reduction.axes, reduction.op, identity, source, result)
    return [*before, replace(stage, value=value, reduction=wide_sum)]
