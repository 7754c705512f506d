"""Steps that take a reduction apart: its init from its updates, or the sum into sums of parts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    Buffer,
    BufferLoad,
    IntImm,
    PrimExpr,
    Var,
    binary,
    conjuncts,
    const,
    if_then_else,
)
from relay2relax.tir.ir.intrinsics import max_value, min_value
from relay2relax.tir.ir.stmt import (
    Block,
    BlockRealize,
    BufferStore,
    For,
    IterKind,
    IterVar,
    LoopKind,
    PrimFunc,
    Stmt,
)
from relay2relax.tir.ir.visit import map_region, substitute, substitute_stmt, variables
from relay2relax.tir.schedule.blocks import all_of, block_names, fresh_name, mixes_axes, require_whole, with_regions
from relay2relax.tir.schedule.iteration import BlockKind, block_kind, reduces
from relay2relax.tir.schedule.tree import (
    Path,
    bounds_of,
    loops_of,
    nest_of,
    path_to_block,
    path_to_loop,
    realize_at,
    replaced_at,
    require_outermost,
    require_serial,
    sequence,
)
from relay2relax.tir.te.inline import copied_with_own_names


def decompose_reduction(func: PrimFunc, name: str, var: Var) -> PrimFunc:
    """Return ``func`` with the init of a reduction block as a block of its own before the loop over
    ``var``.

    The two blocks are called ``<name>_init`` and ``<name>_update``. No loop around ``var`` may run
    over a reduction axis; loops from ``var`` inwards run over reduction axes only or not at all.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    block = realize.block
    if block.init is None:
        raise TIRError(f"the block {name} has no init", kind=tensor_programs.SCHEDULE)
    if block_kind(block) is BlockKind.OPAQUE:
        raise TIRError(f"the block {name} is opaque", kind=tensor_programs.SCHEDULE)
    # Part of a reduction, behind a cut of its loop, goes on with what is there.
    require_whole(func, path)
    loops = loops_of(path)
    if var not in [loop.var for loop in loops]:
        raise TIRError(f"the loop {var.name} is not around the block {name}", kind=tensor_programs.SCHEDULE)
    place = [loop.var for loop in loops].index(var)
    reducing = {
        v
        for axis, value in zip(block.iter_vars, realize.values, strict=True)
        if axis.kind is IterKind.REDUCE
        for v in variables(value)
    }
    outer = [loop for loop in loops[:place] if loop.var in reducing]
    if outer:
        raise TIRError(
            f"the loop {outer[0].var.name} around {var.name} runs over a reduction axis of {name}",
            kind=tensor_programs.SCHEDULE,
        )
    spatial = [
        (axis, value)
        for axis, value in zip(block.iter_vars, realize.values, strict=True)
        if axis.kind is IterKind.SPATIAL
    ]
    mixed = reducing.intersection(v for _, value in spatial for v in variables(value))
    if mixed:
        raise mixes_axes(min(v.name for v in mixed), name)
    at = path.index(loops[place])
    if any(not isinstance(stmt, For) for stmt in path[at:-1]):
        raise TIRError(
            f"between the loop {var.name} and the block {name} there is more than loops", kind=tensor_programs.SCHEDULE
        )
    fresh = {loop.var: Var(f"{loop.var.name}_init", loop.var.dtype) for loop in loops[place:]}
    values: dict[Var, PrimExpr] = {v: (IntImm(0, v.dtype) if v in reducing else new) for v, new in fresh.items()}
    renamed = {axis.var: Var(axis.var.name, axis.var.dtype) for axis, _ in spatial}
    nest: Stmt = BlockRealize(
        tuple(substitute(value, values) for _, value in spatial),
        init_block(block, [IterVar(renamed[a.var], a.extent, a.kind) for a, _ in spatial], renamed),
        None if realize.predicate is None else _true_as_none(simplify(substitute(realize.predicate, values))),
    )
    for loop in reversed(loops[place:]):
        if loop.var not in reducing:
            kind = loop.kind if loop.kind is LoopKind.UNROLLED else LoopKind.SERIAL
            nest = For(fresh[loop.var], loop.extent, nest, kind)
    update = replace(block, name=f"{name}_update", init=None)
    reads = (*(r for r in update.writes if r not in update.reads), *update.reads)
    new = replaced_at(func, path, replace(realize, block=replace(update, reads=reads)))
    target = path_to_loop(new, var)
    return replaced_at(new, target, sequence([nest, target[-1]]))


def _true_as_none(condition: PrimExpr) -> PrimExpr | None:
    return None if isinstance(condition, IntImm) and condition.value else condition


def init_block(block: Block, axes: list[IterVar], renamed: dict[Var, Var]) -> Block:
    """Return the block that only sets the places of ``block`` to their start."""
    assert block.init is not None
    values: dict[Var, PrimExpr] = {**renamed}
    writes = tuple(map_region(r, lambda expr: substitute(expr, values), {}) for r in block.writes)
    return Block(f"{block.name}_init", tuple(axes), (), writes, substitute_stmt(block.init, values))


def rfactor(func: PrimFunc, var: Var, factor_axis: int) -> tuple[PrimFunc, str]:
    """Return ``func`` with one reduction as two, and the name of the first block, which sums up
    parts.

    Each iteration of the loop over ``var``, which runs over reduction axes only, gets a place of
    its own in a new temporary, the buffer's shape with the loop's extent put in at ``factor_axis``
    (from the end where negative); a second reduction, under the block's name, then folds the parts.
    The operator must be associative and commutative, and the init its neutral element; no loop may
    run over reduction and other axes at once.
    """
    realize, nest_path = _reduction_over(func, var)
    folding = _folding(realize.block)
    buffer = folding.buffer
    rank = len(buffer.shape)
    if not -rank - 1 <= factor_axis <= rank:
        raise TIRError(f"factor_axis is {factor_axis}, expected {-rank - 1} to {rank}", kind=tensor_programs.SCHEDULE)
    at = factor_axis % (rank + 1)
    loops = _nest(nest_path[-1])
    reducing = [loop for loop in loops if reduces(realize, loop.var)]
    extent = next(loop.extent for loop in reducing if loop.var is var)
    parts = Buffer(f"{buffer.name}.rf", (*buffer.shape[:at], extent, *buffer.shape[at:]), buffer.dtype)
    axes = list(zip(realize.block.iter_vars, realize.values, strict=True))
    spatial = [(axis, value) for axis, value in axes if axis.kind is IterKind.SPATIAL]

    # The first block: every loop over reduction axes is an axis, the one over ``var`` a spatial
    # one.
    own = {loop.var: Var(f"v_{loop.var.name}", loop.var.dtype) for loop in reducing}
    by_loop: dict[Var, PrimExpr] = {**own}
    digits = {axis.var: substitute(value, by_loop) for axis, value in axes if axis.kind is IterKind.REDUCE}
    source, kept = substitute(folding.source, digits), []
    for condition in conjuncts(realize.predicate):
        used = set(variables(condition))
        if not own.keys() & used:
            kept.append(condition)
        elif used <= own.keys() | bounds_of(func).keys():
            # Parts that lie beyond the extent are begun as well: their sum is that of nothing.
            source = if_then_else(substitute(condition, by_loop), source, folding.neutral)
        else:
            raise TIRError(
                f"a condition of the block {realize.block.name} is about reduction and other axes",
                kind=tensor_programs.SCHEDULE,
            )
    kinds = {loop: IterKind.SPATIAL if loop.var is var else IterKind.REDUCE for loop in reducing}
    folded = [IterVar(own[loop.var], loop.extent, kind) for loop, kind in kinds.items()]
    place = (*folding.indices[:at], own[var], *folding.indices[at:])
    name = fresh_name(block_names(func), f"{realize.block.name}_rf")
    first = replace(folding, buffer=parts, indices=place, source=source).block(
        name, [*(axis for axis, _ in spatial), *folded]
    )
    nest: Stmt = BlockRealize((*(value for _, value in spatial), *own), first, all_of(kept))
    for loop in reversed(loops):
        nest = replace(loop, body=nest)

    # The second: the spatial loops again, under other names, and the parts innermost.
    fold = IterVar(Var(f"v_{var.name}", var.dtype), extent, IterKind.REDUCE)
    part = BufferLoad(parts, (*folding.indices[:at], fold.var, *folding.indices[at:]))
    second = replace(folding, source=part).block(realize.block.name, [*(axis for axis, _ in spatial), fold])
    values = (*(value for _, value in spatial), var)
    last: Stmt = For(var, extent, BlockRealize(values, second, all_of(kept)))
    for loop in (one for one in reversed(loops) if one not in reducing):
        last = For(loop.var, loop.extent, last)
    new = replaced_at(func, nest_path, sequence([nest, copied_with_own_names(last, lambda same: same)]))
    return replace(new, root_buffers=(*new.root_buffers, parts)), name


@dataclass(frozen=True, slots=True)
class _Folding:
    """``buffer[indices] = buffer[indices] op source``, begun with ``neutral``, which leaves others
    as they are.
    """

    buffer: Buffer
    indices: tuple[PrimExpr, ...]
    op: BinaryOp
    source: PrimExpr
    neutral: PrimExpr

    def block(self, name: str, axes: Sequence[IterVar]) -> Block:
        """Return the block that does this over ``axes``; where none is a reduction axis it stores
        the source.
        """
        value, init = self.source, None
        if any(axis.kind is IterKind.REDUCE for axis in axes):
            value = binary(self.op, BufferLoad(self.buffer, self.indices), self.source)
            init = BufferStore(self.buffer, self.indices, self.neutral)
        return with_regions(Block(name, tuple(axes), (), (), BufferStore(self.buffer, self.indices, value), init))


def _folding(block: Block) -> _Folding:
    """Return what a block folds; raises TIRError unless it may be folded in parts."""
    body, init = block.body, block.init
    if init is None or block_kind(block) is not BlockKind.COMMUTATIVE:
        raise TIRError(
            f"the block {block.name} is not a reduction with an init whose parts may be folded in any order",
            kind=tensor_programs.SCHEDULE,
        )
    assert isinstance(body, BufferStore)
    update = body.value
    assert isinstance(update, Binary)
    neutral = _neutral(update.op, body.buffer.dtype)
    if neutral is None or not isinstance(init, BufferStore) or init.value != neutral:
        raise TIRError(
            f"the init of the block {block.name} is not the neutral element of {update.op!r}",
            kind=tensor_programs.SCHEDULE,
        )
    source = update.b if update.a == BufferLoad(body.buffer, body.indices) else update.a
    return _Folding(body.buffer, body.indices, update.op, source, neutral)


def _nest(stmt: Stmt) -> list[For]:
    """Return the loops that lie directly within each other, from ``stmt`` on."""
    found: list[For] = []
    while isinstance(stmt, For):
        found.append(stmt)
        stmt = stmt.body
    return found


def _reduction_over(func: PrimFunc, var: Var) -> tuple[BlockRealize, Path]:
    """Return the block that alone is in the loop over ``var``, and the path to its nest of loops.

    Raises TIRError unless the block runs through all of its axes, and loops run over reduction
    axes, plain ones in this nest, or over other axes, not both.
    """
    loops = _nest(path_to_loop(func, var)[-1])
    realize = loops[-1].body
    if not isinstance(realize, BlockRealize):
        raise TIRError(f"the loop {var.name} holds more than one block", kind=tensor_programs.SCHEDULE)
    name = realize.block.name
    path = path_to_block(func, name)
    require_outermost(path, f"the block {name}")
    _folding(realize.block)
    if not reduces(realize, var):
        raise TIRError(
            f"the loop {var.name} does not run over a reduction axis of {name}", kind=tensor_programs.SCHEDULE
        )
    axes = zip(realize.block.iter_vars, realize.values, strict=True)
    used = {v for axis, value in axes if axis.kind is IterKind.SPATIAL for v in variables(value)}
    nest_path = nest_of(path)
    nest, around = _nest(nest_path[-1]), loops_of(path)
    for loop in around:
        if not reduces(realize, loop.var):
            continue
        if loop.var in used:
            raise mixes_axes(loop.var.name, name)
        if loop not in nest:
            raise TIRError(
                f"the loop {loop.var.name} over a reduction axis of {name} holds other blocks, too",
                kind=tensor_programs.SCHEDULE,
            )
        require_serial(loop, "take apart a reduction over")
    if any({one.var for one in around} & set(variables(loop.extent)) for loop in nest):
        raise TIRError(f"the extent of a loop around {name} depends on another one", kind=tensor_programs.SCHEDULE)
    require_whole(func, path)
    return realize, nest_path


def _neutral(op: str, dtype: str) -> PrimExpr | None:
    """Return the element that ``op`` leaves others as they are with."""
    match op:
        case "+" | "or" | "|" | "^":
            return const(0, dtype)
        case "*" | "and":
            return const(1, dtype)
        case "max":
            return min_value(dtype)
        case "min":
            return max_value(dtype)
    return None
