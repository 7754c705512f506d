"""Steps that put a copy between a block and a buffer, and say where a temporary lies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TypeAlias, Union

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Buffer, conjuncts
from relay2relax.tir.ir.stmt import BlockRealize, For, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import map_parts, substitute_stmt
from relay2relax.tir.schedule.blocks import (
    block_names,
    copy_block,
    fresh_name,
    inserted,
    is_tail,
    nest_over,
    require_dataflow,
    require_plain,
    require_temporary,
)
from relay2relax.tir.schedule.independence import require_parallel_loops_independent
from relay2relax.tir.schedule.iteration import boxes, place_of
from relay2relax.tir.schedule.positions import Box, accesses, box_of
from relay2relax.tir.schedule.tree import (
    Path,
    blocks_in,
    bounds_of,
    loops_in,
    path_to_block,
    realize_at,
    replaced_at,
    require_outermost,
    sequence,
    shared_length,
    touched,
)

# How a block's buffer is told: by its number among those that the block reads or writes, by its
# name, or itself.
WhichBuffer: TypeAlias = Union[int, str, Buffer]


def cache_read(
    func: PrimFunc, name: str, which: WhichBuffer, scope: str, consumers: Sequence[str] | None = None
) -> tuple[PrimFunc, str]:
    """Return ``func`` with a copy of a buffer that the block ``name`` reads, and the name of the
    block that copies.

    The readers, all blocks that read the buffer or those called ``consumers``, read the copy, which
    holds what they need. It is made at the beginning of the statements that hold them, behind
    whatever writes the buffer.
    """
    realize = realize_at(path_to_block(func, name))
    buffer = chosen(realize, which, "read")
    require_plain(func, buffer)
    around = blocks_in(func.body)
    names = [one.block.name for one in around if buffer in touched([one])[0] - touched([one])[1]]
    if consumers is not None:
        names = list(dict.fromkeys([name, *consumers]))
    readers = [path_to_block(func, one) for one in names]
    for path in readers:
        one = realize_at(path)
        require_outermost(path, f"the block {one.block.name}")
        read, written = touched([one])
        if buffer not in read or buffer in written:
            raise TIRError(
                f"the block {one.block.name} does not read {buffer.name}, or writes it as well",
                kind=tensor_programs.SCHEDULE,
            )
    if name not in names:
        raise TIRError(f"the block {name} writes {buffer.name}, which it reads", kind=tensor_programs.SCHEDULE)
    writers = [path_to_block(func, one.block.name) for one in around if buffer in touched([one])[1]]
    parent, parts, _, behind = _apart(func, writers, readers, buffer)
    bounds = bounds_of(func, _loops_around(parent))
    cache = _cache(buffer, scope)
    block = copy_block(fresh_name(block_names(func), cache.name), buffer, cache)
    region = box_of(accesses(sequence(parts[place] for place in behind), buffer), buffer.shape, bounds)
    nest = nest_over(block, dict(zip((axis.var for axis in block.iter_vars), region, strict=True)), bounds)
    changed = inserted(_with_buffer(parent[-1], buffer, cache, set(names)), behind[0], nest)
    return _finished(func, parent, changed, cache), block.name


def cache_write(func: PrimFunc, name: str, which: WhichBuffer, scope: str) -> tuple[PrimFunc, str]:
    """Return ``func`` with the block ``name`` writing a temporary, and the name of the block that
    copies it back.

    No other block may write the buffer; all that read it stay as they are. The copy runs behind the
    statement that holds the block, within the loops that the block shares with readers of the
    buffer.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    buffer = chosen(realize, which, "write")
    require_plain(func, buffer)
    require_outermost(path, f"the block {name}")
    around = blocks_in(func.body)
    require_dataflow(realize)
    others = [one for one in around if one is not realize and any(buffer in part for part in touched([one]))]
    for one in others:
        if buffer in touched([one])[1]:
            raise TIRError(
                f"{buffer.name} is written by the block {one.block.name}, too", kind=tensor_programs.SCHEDULE
            )
    readers = [path_to_block(func, one.block.name) for one in others]
    parent, parts, before, _ = _apart(func, [path], readers, buffer)
    bounds = bounds_of(func, _loops_around(parent))
    cache = _cache(buffer, scope)
    block = copy_block(fresh_name(block_names(func), cache.name), cache, buffer)
    region = _written_box(func, realize, buffer, _loops_around(parent), parts[before[0]])
    nest = nest_over(block, dict(zip((axis.var for axis in block.iter_vars), region, strict=True)), bounds)
    changed = inserted(_with_buffer(parent[-1], buffer, cache, {name}), before[0] + 1, nest)
    return _finished(func, parent, changed, cache), block.name


def set_scope(func: PrimFunc, name: str, which: WhichBuffer, scope: str) -> PrimFunc:
    """Return ``func`` with a temporary that the block ``name`` writes in another scope, ``local``
    say.
    """
    buffer = chosen(realize_at(path_to_block(func, name)), which, "write")
    require_temporary(func, buffer, name)
    new = replace(buffer, name=f"{buffer.name}_{scope}", scope=scope)
    temporaries = tuple(new if one is buffer else one for one in func.root_buffers)
    return func.with_body(substitute_stmt(func.body, {}, {buffer: new}), temporaries)


def chosen(realize: BlockRealize, which: WhichBuffer, how: str) -> Buffer:
    """Return the buffer that a block reads or writes (``how``), told by its number, by its name, or
    itself.
    """
    block = realize.block
    buffers = [region.buffer for region in (block.reads if how == "read" else block.writes)]
    if isinstance(which, int):
        found = buffers[which : which + 1] if which >= 0 else []
    else:
        found = [one for one in buffers if one is which or one.name == which]
    if len(found) != 1:
        names = ", ".join(one.name for one in buffers) or "none"
        given = which.name if isinstance(which, Buffer) else which
        raise TIRError(
            f"the block {block.name} has no single buffer {given!r} that it {how}s; there are: {names}",
            kind=tensor_programs.SCHEDULE,
        )
    return found[0]


def _cache(buffer: Buffer, scope: str) -> Buffer:
    return Buffer(f"{buffer.name}_{scope}", buffer.shape, buffer.dtype, scope)


def _loops_around(parent: Path) -> list[For]:
    return [stmt for stmt in parent if isinstance(stmt, For)]


def _apart(
    func: PrimFunc, writers: Sequence[Path], readers: Sequence[Path], buffer: Buffer
) -> tuple[Path, Sequence[Stmt], list[int], list[int]]:
    """Return the path to the innermost sequence in which writers and readers of a buffer are
    different statements.

    Also its statements, and the numbers of those that hold writers and of those that hold readers.
    Where there are only the one or the other, it is the function's own sequence.
    """
    paths = [*writers, *readers]
    common = min(shared_length(paths[0], path) for path in paths[1:]) if writers and readers else 1
    parent = paths[0][:common]
    if not isinstance(parent[-1], Seq):
        if writers and readers:
            raise TIRError(
                f"{buffer.name} is read and written by branches of one condition", kind=tensor_programs.SCHEDULE
            )
        return (func.body,), (func.body,), [0] * len(writers), [0] * len(readers)
    parts = parent[-1].stmts
    before = sorted(parts.index(path[common]) for path in writers)
    behind = sorted(parts.index(path[common]) for path in readers)
    if before and behind and before[-1] >= behind[0]:
        raise TIRError(f"{buffer.name} is written again after it has been read", kind=tensor_programs.SCHEDULE)
    return parent, parts, before, behind


def _written_box(func: PrimFunc, realize: BlockRealize, buffer: Buffer, around: Sequence[For], part: Stmt) -> Box:
    """Return what a block writes of a buffer while the statement ``part`` runs once."""
    inner = loops_in(part)
    bounds = bounds_of(func, [*around, *inner])
    found = boxes(place_of(realize, buffer), {loop.var: loop.extent for loop in inner}, bounds)
    if found is None or not all(is_tail(condition, realize) for condition in conjuncts(realize.predicate)):
        raise TIRError(
            f"what the block {realize.block.name} writes of {buffer.name} is not a box", kind=tensor_programs.SCHEDULE
        )
    return found


def _with_buffer(stmt: Stmt, old: Buffer, new: Buffer, names: set[str]) -> Stmt:
    """Return ``stmt`` with one buffer for another in the blocks called ``names``."""

    def change(node: Stmt) -> Stmt:
        if isinstance(node, BlockRealize):
            return substitute_stmt(node, {}, {old: new}) if node.block.name in names else node
        return map_parts(node, change, lambda expr: expr)

    return change(stmt)


def _finished(func: PrimFunc, parent: Path, changed: Stmt, cache: Buffer) -> PrimFunc:
    new = replaced_at(func, parent, changed)
    new = replace(new, root_buffers=(*new.root_buffers, cache))
    for loop in _loops_around(parent):
        require_parallel_loops_independent(new, (loop,))
    return new
