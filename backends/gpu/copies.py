"""Small tensors that a block copies to shared memory before it adds up parts of them.

Global memory is moved in sectors of 32 bytes. Where neighbouring results need pieces of a tensor
that are no whole sectors, each of them is moved again and again; read in order, each is moved once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.schedule.elementwise import collapse
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.backends.gpu.reduction import ordered_axes, unit_axis
from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import loads, map_expr, substitute

_SECTOR_BITS = 256
_MOST_ELEMENTS = 4096
# What one block computes in about the time of a launch, in operations.
SMALL = 1 << 13


def with_copies(stages: Sequence[Stage]) -> list[Stage]:
    """Return flattened small stages of one block, and before each reduction that reads a small
    tensor in pieces the stage that copies it.
    """
    copied: dict[Buffer, Buffer] = {}
    found: list[Stage] = []
    for stage in stages:
        short = stage if stage.reduction is None else collapse(stage)
        if short.reduction is not None:
            for load in loads(short.reduction.source):
                size = _whole(load, short)
                if load.buffer in copied or size is None or not _in_pieces(load, short):
                    continue
                copied[load.buffer] = Buffer(load.buffer.name, (IntImm(size),), load.dtype, "local")
                axis = Axis(Var("copied"), IntImm(size))
                value = BufferLoad(load.buffer, (axis.var,))
                found.append(Stage((axis,), copied[load.buffer], (axis.var,), value))
        found.append(_reading(short, copied))
        if stage.target in copied:
            del copied[stage.target]
    return found


def _reading(stage: Stage, copied: dict[Buffer, Buffer]) -> Stage:
    """Return a stage whose reduction reads copies."""
    own = stage.reduction
    if own is None:
        return stage

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and node.buffer in copied:
            return BufferLoad(copied[node.buffer], tuple(map_expr(one, rewrite) for one in node.indices))
        return None

    return replace(stage, reduction=replace(own, source=map_expr(own.source, rewrite)))


def _axes(stage: Stage) -> tuple[Axis, ...]:
    own = stage.reduction
    return (*stage.axes, *(own.axes if own is not None else ()))


def _whole(load: BufferLoad, stage: Stage) -> int | None:
    """Return of how many elements a load takes each, from the first of its tensor on, where these
    are few.
    """
    index = load.indices[0]
    if load.buffer.scope == "local" or loads(index):
        return None
    steps = [(coefficient(index, axis.var), static(axis.extent)) for axis in _axes(stage)]
    size = 1
    for step, extent in sorted((s or 0, e or 0) for s, e in steps if s != 0):
        if step != size:
            return None
        size *= extent
    start = simplify(substitute(index, {axis.var: IntImm(0) for axis in _axes(stage)}))
    return size if start == IntImm(0) and 0 < size <= _MOST_ELEMENTS else None


def _in_pieces(load: BufferLoad, stage: Stage) -> bool:
    """Whether neighbouring threads read pieces that are no whole sectors, or that begin within
    one.
    """
    own = stage.reduction
    assert own is not None
    inner = unit_axis(stage)
    along = ordered_axes(stage)
    if inner is not None:
        along = (*along, *(axis for axis in own.axes if axis is not inner), inner)
    steps = {axis: coefficient(load.indices[0], axis.var) or 0 for axis in _axes(stage)}
    run = 1
    for axis in reversed(along):
        if steps[axis] == 0:
            continue
        if steps[axis] != run:
            break
        run *= static(axis.extent) or 1
    whole = _SECTOR_BITS // max(bits(load.dtype), 8)
    others = [step for axis, step in steps.items() if step and step >= run]
    return any(step % whole for step in others)
