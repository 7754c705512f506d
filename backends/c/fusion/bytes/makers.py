"""What elements of a buffer are made of, seen from where they are read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay2relax.backends.c.stages import AnyStage, Stage
from relay2relax.tir.ir.expr import Buffer, BufferLoad, PrimExpr
from relay2relax.tir.ir.visit import substitute


def makers_of(stages: Sequence[AnyStage]) -> dict[Buffer, Stage]:
    """Return the stages that make a whole buffer element by element, by that buffer."""
    makers = {
        stage.target: stage
        for stage in stages
        if isinstance(stage, Stage)
        and stage.reduction is None
        and stage.indices == tuple(axis.var for axis in stage.axes)
    }
    for stage in stages:
        for buffer in stage.writes():
            if buffer in makers and makers[buffer] is not stage:
                del makers[buffer]
    return makers


def looked_into(value: PrimExpr, makers: Mapping[Buffer, Stage], depth: int) -> PrimExpr:
    """Return what ``value``, where it is a load, is made of, so many stages deep at most."""
    for _ in range(depth):
        if not isinstance(value, BufferLoad) or value.buffer not in makers:
            break
        maker = makers[value.buffer]
        value = substitute(maker.value, dict(zip((axis.var for axis in maker.axes), value.indices, strict=True)))
    return value


def without_unread(stages: Sequence[AnyStage], before: Sequence[AnyStage], still: frozenset[Buffer]) -> list[AnyStage]:
    """Return ``stages`` without those that make what only stages ``before`` read, and nobody else,
    as they read what is ``still`` there.
    """
    had = {buffer for stage in before for buffer in stage.reads()} - still
    found = list(stages)
    while True:
        read = {buffer for stage in found for buffer in stage.reads()}
        kept = [stage for stage in found if not isinstance(stage, Stage) or stage.target not in had - read]
        if len(kept) == len(found):
            return found
        found = kept
