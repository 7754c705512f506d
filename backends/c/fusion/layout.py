"""Channels innermost: the memory order of images between layers.

Whatever order a program declares, a temporary that convolutions read or write has its channels as
the last dimension in memory: they fill vectors whatever the size of the image is. Parameters,
constants and results keep their order, so conversions happen where the program begins and ends,
inside stages that are there anyway.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relay2relax.backends.c.stages import AnyStage, Axis, Opaque, Stage
from relay2relax.core.passes import note_rewritten
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import loads, map_expr, variables

# A dimension of a buffer.
_Dimension: TypeAlias = tuple[Buffer, int]
# Fewer channels do not fill a vector.
_LEAST_CHANNELS = 8


def channels_last(stages: Sequence[AnyStage], fixed: frozenset[Buffer], weights: frozenset[Buffer]) -> list[AnyStage]:
    """Return the program with images in another memory order; buffers in ``fixed`` keep theirs.

    ``weights`` are the buffers that may be the weights of a convolution: parameters, and what is
    made of constants.
    """
    groups = _Groups()
    for stage in stages:
        if isinstance(stage, Stage):
            for same in _aligned(stage):
                groups.join(same)
    seeds = {groups.find(one) for stage in stages if isinstance(stage, Stage) for one in _channels(stage, weights)}
    still = fixed | {b for stage in stages if isinstance(stage, Opaque) for b in stage.reads() | stage.writes()}
    orders: dict[Buffer, tuple[int, ...]] = {}
    for buffer in dict.fromkeys(b for stage in stages for b in (*stage.reads(), *stage.writes())):
        rank = len(buffer.shape)
        dims = [d for d in range(rank) if groups.find((buffer, d)) in seeds]
        if (
            buffer not in still
            and rank > 2
            and len(dims) == 1
            and dims != [rank - 1]
            and _is_wide(buffer.shape[dims[0]])
        ):
            orders[buffer] = (*(d for d in range(rank) if d != dims[0]), dims[0])
    turned = {b: Buffer(b.name, tuple(b.shape[d] for d in order), b.dtype, b.scope) for b, order in orders.items()}
    note_rewritten(turned)
    return [_turned(stage, orders, turned) for stage in stages]


def _is_wide(extent: PrimExpr) -> bool:
    return isinstance(extent, IntImm) and extent.value >= _LEAST_CHANNELS


class _Groups:
    """Dimensions that run together, as a forest."""

    def __init__(self) -> None:
        self.parent: dict[_Dimension, _Dimension] = {}

    def find(self, one: _Dimension) -> _Dimension:
        while one in self.parent:
            one = self.parent[one]
        return one

    def join(self, same: Sequence[_Dimension]) -> None:
        for one in same[1:]:
            a, b = self.find(same[0]), self.find(one)
            if a != b:
                self.parent[a] = b


def _accesses(stage: Stage) -> Iterator[tuple[Buffer, tuple[PrimExpr, ...]]]:
    yield stage.target, stage.indices
    for expr in stage.expressions():
        for load in loads(expr):
            yield load.buffer, load.indices


def _aligned(stage: Stage) -> Iterable[list[_Dimension]]:
    """Return, axis by axis, the dimensions that an axis alone, perhaps shifted, is the index of."""
    axes = {axis.var for axis in stage.axes}
    found: dict[Var, list[_Dimension]] = {}
    for buffer, indices in _accesses(stage):
        for dimension, index in enumerate(indices):
            var = _moved(index)
            if var is not None and var in axes:
                found.setdefault(var, []).append((buffer, dimension))
    return found.values()


def _moved(index: PrimExpr) -> Var | None:
    match index:
        case Var():
            return index
        case Binary("+" | "-", Var() as var, IntImm()):
            return var
    return None


def _channels(stage: Stage, weights: frozenset[Buffer]) -> Iterator[_Dimension]:
    """Yield the dimensions of channels that a convolution reads and writes, where the stage is
    one.
    """
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or not isinstance(reduction.source, Binary):
        return
    a, b = reduction.source.a, reduction.source.b
    if reduction.source.op != "*" or not isinstance(a, BufferLoad) or not isinstance(b, BufferLoad):
        return
    if (a.buffer in weights) == (b.buffer in weights):
        return
    image, weight = (b, a) if a.buffer in weights else (a, b)
    # An axis that is only part of an index of the weights runs over their window.
    extents = {axis.var: axis.extent for axis in (*stage.axes, *reduction.axes)}
    used = {_within_group(index, extents) for index in weight.indices}
    kept = set(_variables(image.indices))
    reduced = {axis.var for axis in reduction.axes}
    summed = [
        (image.buffer, d)
        for d, index in enumerate(image.indices)
        if (channel := _within_group(index, extents)) in reduced and channel in used
    ]
    if summed:
        yield from summed
        wanted = {axis.var for axis in stage.axes if axis.var in used and axis.var not in kept}
    else:
        # Depthwise: one axis runs over the channels of image, weights and result.
        wanted = {axis.var for axis in stage.axes if axis.var in used and axis.var in kept}
        yield from ((image.buffer, d) for d, index in enumerate(image.indices) if index in wanted)
    yield from (
        (stage.target, d)
        for d, index in enumerate(stage.indices)
        if (_moved(index) or _within_group(index, extents)) in wanted
    )


def _within_group(index: PrimExpr, extents: Mapping[Var, PrimExpr]) -> PrimExpr:
    """Return the variable that runs over the channels of a group in ``index``; without groups,
    ``index``.
    """
    match index:
        case Binary("+", Binary("*", Var(), IntImm() as size), Var() as channel) | Binary(
            "+", Var() as channel, Binary("*", Var(), IntImm() as size)
        ) if extents.get(channel) == size:
            return channel
    return index


def _variables(indices: Sequence[PrimExpr]) -> Iterator[Var]:
    for index in indices:
        yield from variables(index)


def _turned(stage: AnyStage, orders: dict[Buffer, tuple[int, ...]], turned: dict[Buffer, Buffer]) -> AnyStage:
    if isinstance(stage, Opaque) or not orders.keys() & (stage.reads() | stage.writes()):
        return stage

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and node.buffer in orders:
            indices = [map_expr(index, rewrite) for index in node.indices]
            return BufferLoad(turned[node.buffer], tuple(indices[d] for d in orders[node.buffer]))
        return None

    reduction = stage.reduction
    if reduction is not None:
        source, identity = map_expr(reduction.source, rewrite), map_expr(reduction.identity, rewrite)
        reduction = replace(reduction, source=source, identity=identity)
    indices = tuple(map_expr(index, rewrite) for index in stage.indices)
    target = stage.target
    if target in orders:
        indices, target = tuple(indices[d] for d in orders[target]), turned[target]
    return Stage(_ordered(stage.axes, indices), target, indices, map_expr(stage.value, rewrite), reduction)


def _ordered(axes: Sequence[Axis], indices: Sequence[PrimExpr]) -> tuple[Axis, ...]:
    """Return the axes in the order in which the stored places use them."""
    order: dict[Var, int] = {}
    for index in indices:
        for var in variables(index):
            order.setdefault(var, len(order))
    return tuple(sorted(axes, key=lambda axis: order.get(axis.var, -1)))
