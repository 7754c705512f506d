"""Steps that take a reduction apart: its init from its updates, or the sum into sums of parts."""

from __future__ import annotations

from dataclasses import replace

from relay2relax.tir.arith import simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.expr import (
    Binary,
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
from relay2relax.tir.intrinsics import max_value, min_value
from relay2relax.tir.schedule.blocks import (
    all_of,
    block_names,
    fresh_name,
    only_store,
    require_whole,
    with_regions,
)
from relay2relax.tir.schedule.iteration import BlockKind, block_kind, reduces
from relay2relax.tir.schedule.tree import (
    bounds_of,
    loops_of,
    nest_of,
    path_to_block,
    path_to_loop,
    put,
    realize_at,
    require_outermost,
    require_serial,
    sequence,
)
from relay2relax.tir.stmt import (
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
from relay2relax.tir.visit import map_region, substitute, substitute_stmt, variables


def decompose_reduction(func: PrimFunc, name: str, var: Var) -> PrimFunc:
    """Return ``func`` with the init of a reduction block as a block of its own before the loop over ``var``.

    The two blocks are called ``<name>_init`` and ``<name>_update``. No loop around ``var`` may run over a reduction
    axis; loops from ``var`` inwards run over reduction axes only or not at all.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    block = realize.block
    if block.init is None:
        raise TIRError(f"the block {name} has no init")
    if block_kind(block) is BlockKind.OPAQUE:
        raise TIRError(f"the block {name} is opaque")
    # Part of a reduction, behind a cut of its loop, goes on with what is there.
    require_whole(func, path)
    loops = loops_of(path)
    if var not in [loop.var for loop in loops]:
        raise TIRError(f"the loop {var.name} is not around the block {name}")
    place = [loop.var for loop in loops].index(var)
    reducing = {
        v
        for axis, value in zip(block.iter_vars, realize.values, strict=True)
        if axis.kind is IterKind.REDUCE
        for v in variables(value)
    }
    outer = [loop for loop in loops[:place] if loop.var in reducing]
    if outer:
        raise TIRError(f"the loop {outer[0].var.name} around {var.name} runs over a reduction axis of {name}")
    spatial = [
        (axis, value)
        for axis, value in zip(block.iter_vars, realize.values, strict=True)
        if axis.kind is IterKind.SPATIAL
    ]
    mixed = reducing.intersection(v for _, value in spatial for v in variables(value))
    if mixed:
        raise TIRError(f"the loop {min(v.name for v in mixed)} runs over reduction and other axes of {name}")
    at = path.index(loops[place])
    if any(not isinstance(stmt, For) for stmt in path[at:-1]):
        raise TIRError(f"between the loop {var.name} and the block {name} there is more than loops")
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
    new = put(func, path, replace(realize, block=replace(update, reads=reads)))
    target = path_to_loop(new, var)
    return put(new, target, sequence([nest, target[-1]]))


def _true_as_none(condition: PrimExpr) -> PrimExpr | None:
    return None if isinstance(condition, IntImm) and condition.value else condition


def init_block(block: Block, axes: list[IterVar], renamed: dict[Var, Var]) -> Block:
    """Return the block that only sets the places of ``block`` to their start."""
    assert block.init is not None
    values: dict[Var, PrimExpr] = {**renamed}
    writes = tuple(map_region(r, lambda expr: substitute(expr, values), {}) for r in block.writes)
    return Block(f"{block.name}_init", tuple(axes), (), writes, substitute_stmt(block.init, values))


def rfactor(func: PrimFunc, var: Var, factor_axis: int) -> tuple[PrimFunc, str]:
    """Return ``func`` with one reduction as two, and the name of the first block, which sums up parts.

    Each iteration of the loop over ``var``, which runs over reduction axes only, gets a place of its own in a new
    temporary, the buffer's shape with the loop's extent put in at ``factor_axis`` (from the end where negative); a
    second reduction, under the block's name, then folds the parts. The operator must be associative and commutative,
    and the init its neutral element; no loop may run over reduction and other axes at once.
    """
    loop_path = path_to_loop(func, var)
    inner: Stmt = loop_path[-1]
    while isinstance(inner, For):
        inner = inner.body
    if not isinstance(inner, BlockRealize):
        raise TIRError(f"the loop {var.name} holds more than one block")
    name = inner.block.name
    path = path_to_block(func, name)
    require_outermost(path, f"the block {name}")
    realize, block, loops = inner, inner.block, loops_of(path)
    if block.init is None or block_kind(block) is not BlockKind.COMMUTATIVE:
        raise TIRError(f"the block {name} is not a reduction with an init whose parts may be folded in any order")
    if not reduces(realize, var):
        raise TIRError(f"the loop {var.name} does not run over a reduction axis of {name}")
    spatial = [(a, v) for a, v in zip(block.iter_vars, realize.values, strict=True) if a.kind is IterKind.SPATIAL]
    folded = [(a, v) for a, v in zip(block.iter_vars, realize.values, strict=True) if a.kind is IterKind.REDUCE]
    reducing = [loop for loop in loops if reduces(realize, loop.var)]
    used = {v for _, value in spatial for v in variables(value)}
    mixed = [loop.var.name for loop in reducing if loop.var in used]
    if mixed:
        raise TIRError(f"the loop {mixed[0]} runs over reduction and other axes of {name}")
    for loop in reducing:
        require_serial(loop, "take apart a reduction over")
    require_whole(func, path)
    nest_path = nest_of(path)
    whole = [stmt for stmt in path[len(nest_path) - 1 :] if isinstance(stmt, For)]
    if any(loop not in whole for loop in reducing):
        raise TIRError(f"a loop over a reduction axis of {name} holds other blocks, too")
    by_var = {loop.var for loop in loops}
    if any(by_var & set(variables(loop.extent)) for loop in whole):
        raise TIRError(f"the extent of a loop around {name} depends on another one")
    store = only_store(realize)
    buffer, update = store.buffer, store.value
    assert isinstance(update, Binary)
    start = block.init
    if not isinstance(start, BufferStore) or start.value != _neutral(update.op, buffer.dtype):
        raise TIRError(f"the init of the block {name} is not the neutral element of {update.op!r}")
    rank = len(buffer.shape)
    if not -rank - 1 <= factor_axis <= rank:
        raise TIRError(f"factor_axis is {factor_axis}, expected {-rank - 1} to {rank}")
    at = factor_axis % (rank + 1)
    own = BufferLoad(buffer, store.indices)
    source = update.b if update.a == own else update.a
    extent = next(loop.extent for loop in loops if loop.var is var)
    parts = Buffer(f"{buffer.name}.rf", (*buffer.shape[:at], extent, *buffer.shape[at:]), buffer.dtype)
    first_name = fresh_name(block_names(func), f"{name}_rf")

    # The first block: every loop over reduction axes is an axis, the one over ``var`` a spatial one.
    axes = {
        loop.var: IterVar(
            Var(f"v_{loop.var.name}", loop.var.dtype),
            loop.extent,
            IterKind.SPATIAL if loop.var is var else IterKind.REDUCE,
        )
        for loop in reducing
    }
    by_loop: dict[Var, PrimExpr] = {loop: axis.var for loop, axis in axes.items()}
    digits = {axis.var: substitute(value, by_loop) for axis, value in folded}
    neutral = start.value
    value = substitute(source, digits)
    kept: list[PrimExpr] = []
    for condition in conjuncts(realize.predicate):
        if not by_loop.keys() & set(variables(condition)):
            kept.append(condition)
            continue
        if set(variables(condition)) - by_loop.keys() - set(bounds_of(func)):
            raise TIRError(f"a condition of the block {name} is about reduction and other axes")
        # Parts that lie beyond the extent are begun as well: their sum is that of nothing.
        value = if_then_else(substitute(condition, by_loop), value, neutral)
    place = (*store.indices[:at], by_loop[var], *store.indices[at:])
    fresh_axes = {axis.var: Var(axis.var.name, axis.var.dtype) for axis, _ in spatial}
    first = Block(
        first_name,
        (*(axis for axis, _ in spatial), *axes.values()),
        (),
        (),
        BufferStore(parts, place, binary(update.op, BufferLoad(parts, place), value)),
        BufferStore(parts, place, neutral),
    )
    if len(axes) == 1:
        first = replace(first, body=BufferStore(parts, place, value), init=None)
    first_values = (*(v for _, v in spatial), *axes)
    nest: Stmt = BlockRealize(first_values, with_regions(first), all_of(kept))
    for loop in reversed(whole):
        nest = replace(loop, body=nest)

    # The second: the spatial loops again, and the parts innermost.
    fold = IterVar(Var(f"v_{var.name}", var.dtype), extent, IterKind.REDUCE)
    spatial_place = tuple(substitute(index, dict(fresh_axes)) for index in store.indices)
    part = BufferLoad(parts, (*spatial_place[:at], fold.var, *spatial_place[at:]))
    second = with_regions(
        Block(
            name,
            (*(IterVar(fresh_axes[axis.var], axis.extent, axis.kind) for axis, _ in spatial), fold),
            (),
            (),
            BufferStore(buffer, spatial_place, binary(update.op, BufferLoad(buffer, spatial_place), part)),
            BufferStore(buffer, spatial_place, neutral),
        )
    )
    outer = [loop for loop in whole if loop not in reducing]
    renamed: dict[Var, PrimExpr] = {loop.var: Var(loop.var.name, loop.var.dtype) for loop in outer}
    innermost = Var(var.name, var.dtype)
    values = (*(substitute(v, renamed) for _, v in spatial), innermost)
    predicate = all_of([substitute(condition, renamed) for condition in kept])
    last: Stmt = For(innermost, extent, BlockRealize(values, second, predicate))
    for loop in reversed(outer):
        fresh = renamed[loop.var]
        assert isinstance(fresh, Var)
        last = For(fresh, substitute(loop.extent, renamed), last)
    new = put(func, nest_path, sequence([nest, last]))
    return replace(new, root_buffers=(*new.root_buffers, parts)), first_name


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
