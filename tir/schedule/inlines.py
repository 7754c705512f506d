"""Steps that make one block of two: a block computed where it is read, or where its operand is
made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import prove, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Buffer, BufferLoad, PrimExpr, Var
from relay2relax.tir.ir.stmt import BlockRealize, PrimFunc, Stmt
from relay2relax.tir.ir.visit import loads, map_expr, map_parts, substitute, variables
from relay2relax.tir.schedule.blocks import (
    depends,
    only_store,
    only_writer,
    plain_axes,
    require_alone,
    require_complete,
    require_temporary,
    require_whole,
    require_writes_all,
    with_regions,
    written_elsewhere,
)
from relay2relax.tir.schedule.iteration import axis_values
from relay2relax.tir.schedule.tree import (
    bounds_of,
    guard,
    loops_of,
    path_to_block,
    realize_at,
    replaced_at,
    stage_of,
    stages,
    touched,
    without,
    without_part,
)


def compute_inline(func: PrimFunc, name: str) -> PrimFunc:
    """Return ``func`` without the block ``name``: what it computed is computed wherever it is read.

    The block must be complete, store one value into a temporary that no other block writes, and
    read only what does not change between it and its readers.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    require_complete(realize)
    store = only_store(realize)
    axes = plain_axes(realize, store)
    require_alone(path, stage_of(path))
    buffer = store.buffer
    require_temporary(func, buffer, name)
    require_writes_all(func, path, buffer)
    before = stages(func)
    mine = next(i for i, stage in enumerate(before) if stage is stage_of(path))
    if buffer not in set().union(*(touched([stage])[0] for stage in before)):
        raise TIRError(f"nothing reads what the block {name} writes", kind=tensor_programs.SCHEDULE)
    for index, stage in enumerate(before):
        read, written = touched([stage])
        if index != mine and buffer in written:
            raise written_elsewhere(buffer, name)
        if index < mine and buffer in read:
            raise TIRError(f"{buffer.name} is read before the block {name}", kind=tensor_programs.SCHEDULE)
        if index > mine and written & touched([store])[0]:
            raise TIRError(f"what the block {name} reads is written again after it", kind=tensor_programs.SCHEDULE)

    def inline(expr: PrimExpr) -> PrimExpr:
        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer is buffer:
                places = [map_expr(index, rewrite) for index in node.indices]
                return substitute(store.value, dict(zip(axes, places, strict=True)))
            return None

        return map_expr(expr, rewrite)

    def change(stmt: Stmt) -> Stmt:
        new = map_parts(stmt, change, inline)
        if new is not stmt and isinstance(new, BlockRealize):
            return replace(new, block=with_regions(new.block))
        return new

    rest = without(func, path)
    return _without_buffer(rest, buffer).with_body(change(rest.body))


def reverse_compute_inline(func: PrimFunc, name: str) -> PrimFunc:
    """Return ``func`` without the block ``name``: its operand's producer stores what it stored, at
    once.

    Both blocks must be complete and store one value each; ``name`` is the only reader of the
    producer's buffer, a temporary, and reads it at one place, which is just its axes.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    require_complete(realize)
    store = only_store(realize)
    made = [buffer for buffer in func.root_buffers if buffer in touched([store])[0]]
    candidates = [buffer for buffer in made if _reads_at_axes(realize, buffer) is not None]
    if len(candidates) != 1 or len(made) != 1:
        raise TIRError(
            f"the block {name} reads {len(made) or 'no'} temporaries, expected one, at just its axes",
            kind=tensor_programs.SCHEDULE,
        )
    (buffer,) = candidates
    axes = _reads_at_axes(realize, buffer)
    assert axes is not None
    producer = only_writer(func, buffer)
    require_complete(producer)
    value = only_store(producer)
    producer_path = path_to_block(func, producer.block.name)
    require_writes_all(func, producer_path, buffer)
    require_whole(func, path)
    order = stages(func)
    mine = next(i for i, stage in enumerate(order) if stage is stage_of(path))
    first = next(i for i, stage in enumerate(order) if stage is stage_of(producer_path))
    if first >= mine:
        raise TIRError(
            f"the block {name} and its producer {producer.block.name} lie in one nest of loops",
            kind=tensor_programs.SCHEDULE,
        )
    if buffer in touched([without_part(func.body, realize)])[0]:
        raise TIRError(f"{buffer.name} is read by other blocks than {name}", kind=tensor_programs.SCHEDULE)
    _require_movable([*order[first:mine], without_part(order[mine], realize)], realize, buffer)
    places = dict(zip(axes, value.indices, strict=True))

    def inline(expr: PrimExpr) -> PrimExpr:
        def rewrite(node: PrimExpr) -> PrimExpr | None:
            return value.value if isinstance(node, BufferLoad) and node.buffer is buffer else None

        # First the axes, whose values the producer's value does not mention.
        return map_expr(substitute(expr, places), rewrite)

    fused = replace(store, indices=tuple(inline(index) for index in store.indices), value=inline(store.value))
    block = with_regions(replace(producer.block, body=fused))
    nest: Stmt = replace(producer, block=block)
    bounds = bounds_of(func, loops_of(producer_path))
    around = axis_values(producer)
    extents = {axis.var: axis.extent for axis in realize.block.iter_vars}
    for axis, place in places.items():
        inside = simplify(substitute(place, around) < extents[axis], bounds)
        if prove(inside, bounds) is not True:
            nest = guard(nest, inside)
    new = replaced_at(func, producer_path, nest)
    return _without_buffer(without(new, path_to_block(new, name)), buffer)


def _without_buffer(func: PrimFunc, buffer: Buffer) -> PrimFunc:
    return replace(func, root_buffers=tuple(one for one in func.root_buffers if one is not buffer))


def _require_movable(between: Sequence[Stmt], realize: BlockRealize, buffer: Buffer) -> None:
    """Raise TIRError unless ``realize`` may run where the first of the stages before it, which
    makes ``buffer``, is.
    """
    read, written = touched([realize])
    for stage in between:
        stage_read, stage_written = touched([stage])
        if stage_written & (read - {buffer}) or written & (stage_read | stage_written):
            raise depends(realize.block.name)


def _reads_at_axes(realize: BlockRealize, buffer: Buffer) -> list[Var] | None:
    """Return the axes, all that a block has, at which alone it reads ``buffer``; None where that is
    not so.
    """
    store = only_store(realize)
    places = {load.indices for e in (*store.indices, store.value) for load in loads(e) if load.buffer is buffer}
    own = {axis.var for axis in realize.block.iter_vars}
    if len(places) != 1:
        return None
    axes = [index for index in next(iter(places)) if isinstance(index, Var)]
    moving = {v for place in places for index in place for v in variables(index)}
    return axes if moving == own == set(axes) and len(axes) == len(next(iter(places))) == len(own) else None
