"""Reductions of half precision: they run in single precision and are rounded once, at the end, as
numpy's do.

The factors of a sum of products are converted ahead where each is used several times, so that the
product itself is one of single precision.
"""

from __future__ import annotations

from dataclasses import replace

from relay2relax.backends.c.dtypes import HALF
from relay2relax.backends.c.fusion.widening import converted
from relay2relax.backends.c.schedule.loops import put
from relay2relax.backends.c.stages import Reduction, Stage, points
from relay2relax.tir.ir.expr import Binary, BufferLoad, Cast, FloatImm, PrimExpr, Var, cast, const

_WIDE = "float32"


def widened(stage: Stage, ahead: bool = True) -> list[Stage]:
    """Return the stages that do what ``stage``, a flattened reduction, does, with the reduction in
    single precision; factors are converted ``ahead`` of it, or where they are read.
    """
    reduction = stage.reduction
    if reduction is None or reduction.result.dtype not in HALF:
        return [stage]
    before: list[Stage] = []
    count = points([*stage.axes, *reduction.axes])

    def operand(load: BufferLoad) -> PrimExpr:
        return converted(load, _WIDE, count, before) if ahead else cast(_WIDE, load)

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
