"""Factors of narrow types, converted ahead: half precision to float32, the bytes of quantised
models to int32.

A factor that is used several times is converted once, so that the product is one of two loads,
which ``contraction.py`` computes in tiles of registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.backends.c.stages import AnyStage, Axis, Stage, points
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Cast, IntImm, PrimExpr, Var

# A converted factor is written and read once more than one that is converted where it is used.
_LEAST_USES = 4


def converted(load: BufferLoad, dtype: str, count: PrimExpr, before: list[Stage]) -> PrimExpr:
    """Return ``load``, which is evaluated ``count`` times, as a number of ``dtype``.

    If the tensor has markedly fewer elements, a stage that is added to ``before`` makes a converted
    copy to load from.
    """
    axes = tuple(Axis(Var(f"i{number}"), extent) for number, extent in enumerate(load.buffer.shape))
    size = points(axes)
    if isinstance(count, IntImm) and isinstance(size, IntImm) and count.value < _LEAST_USES * size.value:
        return Cast(dtype, load)
    wide, place = Buffer("wide", load.buffer.shape, dtype), tuple(axis.var for axis in axes)
    before.append(Stage(axes, wide, place, Cast(dtype, BufferLoad(load.buffer, place))))
    return BufferLoad(wide, load.indices)


def widen_factors(stages: Sequence[AnyStage]) -> list[AnyStage]:
    """Return the stages; sums of int32 products of narrower integers have converted factors."""
    found: list[AnyStage] = []
    for stage in stages:
        before: list[Stage] = []
        if isinstance(stage, Stage):
            stage = _with_wide_factors(stage, before)
        found += [*before, stage]
    return found


def _with_wide_factors(stage: Stage, before: list[Stage]) -> Stage:
    reduction = stage.reduction
    if reduction is None or reduction.op != "+":
        return stage
    count = points([*stage.axes, *reduction.axes])

    def wide(factor: PrimExpr) -> PrimExpr | None:
        match factor:
            case BufferLoad():
                return factor
            case Cast("int32", BufferLoad() as load):
                return converted(load, "int32", count, before)
        return None

    match reduction.source:
        case Binary("*", a, b) if (left := wide(a)) is not None and (right := wide(b)) is not None:
            return replace(stage, reduction=replace(reduction, source=Binary("*", left, right)))
    return stage
