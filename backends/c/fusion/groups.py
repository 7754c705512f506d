"""Convolutions in groups: the axis of output channels becomes one of groups and one of channels
within a group.

Then a group is a convolution like any other: its channels fill vectors, and what it reads begins at
a multiple of the group, without a division. Where a group reads a single channel, it has nothing to
sum over channels.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay2relax.backends.c.stages import AnyStage, Axis, Stage, mapped
from relay2relax.tir.arith.simplify import Bounds, simplify
from relay2relax.tir.ir.expr import Binary, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, map_expr, subexpressions

# Fewer channels do not fill vectors: such groups run along an image's width.
LEAST_CHANNELS = 16


def split_groups(stages: Sequence[AnyStage]) -> list[AnyStage]:
    """Return the stages, those that are convolutions in groups with an axis of groups of their
    own.
    """
    return [_split(stage) if isinstance(stage, Stage) else stage for stage in stages]


def _split(stage: Stage) -> Stage:
    reduction = stage.reduction
    if reduction is None or reduction.op != "+":
        return stage
    single = {axis.var: IntImm(0) for axis in reduction.axes if axis.extent == IntImm(1)}
    if 0 < len(single) < len(reduction.axes):
        axes = tuple(axis for axis in reduction.axes if axis.var not in single)
        stage = replace(stage, reduction=replace(reduction, axes=axes))
        stage = _simplified(stage, single, {})
    for axis in stage.axes:
        channels = _group_size(axis, reduction.source)
        if channels is not None:
            return _parted(stage, axis, channels)
    return stage


def _group_size(axis: Axis, source: PrimExpr) -> int | None:
    """Return by what an operand's index divides ``axis``, if nothing is left over."""
    if not isinstance(axis.extent, IntImm):
        return None
    for load in loads(source):
        for index in load.indices:
            for node in subexpressions(index):
                match node:
                    case Binary("//", Var() as var, IntImm(size)) if var is axis.var:
                        if LEAST_CHANNELS <= size < axis.extent.value and axis.extent.value % size == 0:
                            return size
    return None


def _parted(stage: Stage, axis: Axis, channels: int) -> Stage:
    assert isinstance(axis.extent, IntImm)
    group = Axis(Var("group"), IntImm(axis.extent.value // channels))
    channel = Axis(Var("channel"), IntImm(channels))
    place = binary("+", binary("*", group.var, IntImm(channels)), channel.var)
    bounds: Bounds = {one.var: (0, binary("-", one.extent, 1)) for one in (group, channel)}
    axes = (part for one in stage.axes for part in ((group, channel) if one is axis else (one,)))
    return replace(_simplified(stage, {axis.var: place}, bounds), axes=tuple(axes))


def _simplified(stage: Stage, values: Mapping[Var, PrimExpr], bounds: Bounds) -> Stage:
    """Return ``stage`` with variables replaced, and the indices of operands in canonical form."""

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, Var):
            return values.get(node)
        if isinstance(node, BufferLoad):
            indices = (simplify(map_expr(index, rewrite), bounds) for index in node.indices)
            return BufferLoad(node.buffer, tuple(indices))
        return None

    return mapped(stage, rewrite)
