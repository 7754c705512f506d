"""Copies in the order of memory, which become views: another shape for the same memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from relay2relax.backends.c.stages import (
    AnyStage,
    Opaque,
    flat_index,
    mapped,
    points,
    unflatten,
)
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, PrimExpr
from relay2relax.tir.ir.visit import map_expr, subexpressions


def make_views(
    stages: Sequence[AnyStage], results: frozenset[Buffer], params: frozenset[Buffer]
) -> tuple[list[AnyStage], dict[Buffer, Buffer]]:
    views: dict[Buffer, Buffer] = {}
    written: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.writes():
            written[buffer] = written.get(buffer, 0) + 1
    left: list[AnyStage] = []
    for stage in stages:
        pair = _ordered_copy(stage)
        if pair is not None:
            source, target = pair
            root = source
            while root in views:
                root = views[root]
            if target not in params and written[target] == 1 and written.get(source, 1) == 1:
                views[target] = source
                continue
            # A result that is a copy of a temporary: the temporary is made in the result's memory.
            if target in results and root not in params and written.get(root) == 1:
                views[root] = target
                continue
        left.append(stage)
    return left, views


def _ordered_copy(stage: AnyStage) -> tuple[Buffer, Buffer] | None:
    if isinstance(stage, Opaque) or stage.reduction is not None or not isinstance(stage.value, BufferLoad):
        return None
    source, target = stage.value.buffer, stage.target
    if source.dtype != target.dtype:
        return None
    whole = points(stage.axes)
    if size_of(source) != whole or size_of(target) != whole:
        return None
    bounds = stage.bounds
    same = flat_index(source, stage.value.indices, bounds) == flat_index(target, stage.indices, bounds)
    return (source, target) if same else None


def through_views(stage: AnyStage, views: Mapping[Buffer, Buffer]) -> AnyStage:
    """Return the stage with loads from views as loads from their source, where that takes no
    division.
    """
    if isinstance(stage, Opaque) or not any(buffer in views for buffer in stage.reads()):
        return stage
    bounds = stage.bounds

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, BufferLoad) or node.buffer not in views:
            return None
        buffer, indices = node.buffer, tuple(map_expr(i, rewrite) for i in node.indices)
        while buffer in views:
            source = views[buffer]
            moved = indices
            if source.shape != buffer.shape:
                moved = unflatten(source, flat_index(buffer, indices, bounds), bounds)
            if any(divides(index) for index in moved):
                break
            buffer, indices = source, moved
        return BufferLoad(buffer, indices)

    return mapped(stage, rewrite)


def seen_through_views(stages: Sequence[AnyStage], views: Mapping[Buffer, Buffer]) -> set[Buffer]:
    """Return the buffers that some stage reads or writes in another shape: they must exist in
    memory.
    """
    used = {buffer for stage in stages for buffer in (*stage.reads(), *stage.writes())}
    found: set[Buffer] = set()
    for view in views:
        buffer = view
        while view in used and buffer in views:
            found |= {buffer, views[buffer]}
            buffer = views[buffer]
    return found


def divides(expr: PrimExpr) -> bool:
    return any(isinstance(node, Binary) and node.op in ("//", "%") for node in subexpressions(expr))
