"""Transformations of blocks: each checks that the program keeps its meaning, or raises TIRError."""

from __future__ import annotations

from dataclasses import replace

from relay2relax.tir.arith import constant_difference, prove, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.regions import block_regions
from relay2relax.tir.schedule.iteration import (
    BlockKind,
    block_kind,
    boxes,
    independent,
    place_of,
)
from relay2relax.tir.schedule.tree import (
    Path,
    blocks_in,
    bounds_of,
    guard,
    loop_at,
    loops_in,
    loops_of,
    path_to_block,
    path_to_loop,
    put,
    realize_at,
    sequence,
    stages,
    touched,
    without,
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
    Seq,
    Stmt,
)
from relay2relax.tir.visit import (
    expressions,
    loads,
    map_expr,
    map_parts,
    map_region,
    statements,
    substitute,
    substitute_stmt,
    variables,
)


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
        _init_block(block, [IterVar(renamed[a.var], a.extent, a.kind) for a, _ in spatial], renamed),
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


def _init_block(block: Block, axes: list[IterVar], renamed: dict[Var, Var]) -> Block:
    """Return the block that only sets the places of ``block`` to their start."""
    assert block.init is not None
    values: dict[Var, PrimExpr] = {**renamed}
    writes = tuple(map_region(r, lambda expr: substitute(expr, values), {}) for r in block.writes)
    return Block(f"{block.name}_init", tuple(axes), (), writes, substitute_stmt(block.init, values))


def compute_inline(func: PrimFunc, name: str) -> PrimFunc:
    """Return ``func`` without the block ``name``: what it computed is computed wherever it is read.

    The block must be complete, store one value into a temporary that no other block writes, and read only what does
    not change between it and its readers.
    """
    path = path_to_block(func, name)
    store, axes = _single_store(func, path)
    buffer = store.buffer
    if buffer not in func.root_buffers:
        raise TIRError(f"the block {name} writes {buffer.name}, which is not a temporary")
    _check_covers(func, path, buffer)
    before = stages(func)
    mine = next(i for i, stage in enumerate(before) if stage is _stage(path))
    for index, stage in enumerate(before):
        read, written = touched([stage])
        if index != mine and buffer in written:
            raise TIRError(f"{buffer.name} is written by other blocks than {name}")
        if index < mine and buffer in read:
            raise TIRError(f"{buffer.name} is read before the block {name}")
        if index > mine and written & touched([store])[0]:
            raise TIRError(f"what the block {name} reads is written again after it")

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
            return replace(new, block=_with_regions(new.block))
        return new

    rest = without(func, path)
    temporaries = tuple(one for one in func.root_buffers if one is not buffer)
    return replace(rest, body=change(rest.body), root_buffers=temporaries)


def _with_regions(block: Block) -> Block:
    reads, writes = block_regions(block)
    if block.init is None and any(axis.kind is IterKind.REDUCE for axis in block.iter_vars):
        # The update of a reduction reads what it writes, and has to say so.
        reads = (*(region for region in writes if region not in reads), *reads)
    return replace(block, reads=reads, writes=writes)


def _stage(path: Path) -> Stmt:
    """Return the statement of the function's sequence that ``path`` goes through."""
    return path[1] if isinstance(path[0], Seq) else path[0]


def _single_store(func: PrimFunc, path: Path) -> tuple[BufferStore, list[Var]]:
    """Return the store of a complete block that is a stage of its own, and the axes that are its indices."""
    realize = realize_at(path)
    name = realize.block.name
    if block_kind(realize.block) is not BlockKind.COMPLETE:
        raise TIRError(f"the block {name} is not complete")
    stage = _stage(path)
    if any(not isinstance(stmt, (For, BlockRealize)) for stmt in path[path.index(stage) :]):
        raise TIRError(f"the block {name} does not stand alone in its loops")
    store = realize.block.body
    if not isinstance(store, BufferStore):
        raise TIRError(f"the block {name} does more than store one value")
    axes = [index for index in store.indices if isinstance(index, Var)]
    if len(axes) != len(store.indices) or len(set(axes)) != len(axes):
        raise TIRError(f"the block {name} stores at places that are not just its axes")
    if set(axes) != {axis.var for axis in realize.block.iter_vars}:
        raise TIRError(f"the block {name} has axes that are no indices of {store.buffer.name}")
    return store, axes


def _check_covers(func: PrimFunc, path: Path, buffer: Buffer) -> None:
    """Raise TIRError unless the block at ``path`` is seen to write all of ``buffer``."""
    realize = realize_at(path)
    loops = loops_of(path)
    bounds = bounds_of(func, loops)
    extents: dict[PrimExpr, PrimExpr] = {axis.var: axis.extent for axis in realize.block.iter_vars}
    tails = [binary("-", v, a.extent) for v, a in zip(realize.values, realize.block.iter_vars, strict=True)]
    whole = all(_is_tail(part, tails) for part in _conjuncts(realize.predicate))
    found = boxes(place_of(realize, buffer), {loop.var: loop.extent for loop in loops}, bounds)
    stores = [node for node in statements(realize.block.body) if isinstance(node, BufferStore)]
    indices = next(store.indices for store in stores if store.buffer is buffer)
    for (begin, extent), size, index in zip(found or (), buffer.shape, indices, strict=False):
        axis = extents.get(index, size)
        whole = whole and all(prove(c, bounds) for c in (begin.equal(0), extent >= size, axis >= size))
    if found is None or not whole:
        raise TIRError(f"the block {realize.block.name} is not seen to write all of {buffer.name}")


def _conjuncts(condition: PrimExpr | None) -> list[PrimExpr]:
    match condition:
        case None:
            return []
        case Binary("and", a, b):
            return [*_conjuncts(a), *_conjuncts(b)]
    return [condition]


def _is_tail(condition: PrimExpr, tails: list[PrimExpr]) -> bool:
    """Whether a condition only says that an axis is below its extent, as a split with a rest leaves it."""
    match condition:
        case Binary("<", a, b):
            return any(constant_difference(binary("-", a, b), tail) == 0 for tail in tails)
    return False


def reverse_compute_at(func: PrimFunc, name: str, var: Var) -> PrimFunc:
    """Return ``func`` with the block ``name`` at the end of the loop over ``var``, in which what it reads is made.

    The block must be complete, and read one buffer that is made in that loop, at indices that are just its axes; each
    iteration of the loop then computes what has become ready. What lies beyond an extent is left out.
    """
    path = path_to_block(func, name)
    store, _ = _single_store(func, path)
    realize = realize_at(path)
    loop_path = path_to_loop(func, var)
    loop = loop_at(loop_path)
    order = stages(func)
    mine = next(i for i, stage in enumerate(order) if stage is _stage(path))
    target = next(i for i, stage in enumerate(order) if stage is _stage(loop_path))
    if loop.kind not in (LoopKind.SERIAL, LoopKind.PARALLEL):
        raise TIRError(f"the loop {var.name} is {loop.kind.value}; nothing can be put into it")
    if target >= mine:
        raise TIRError(f"the loop {var.name} does not come before the block {name}")
    read = touched([store])[0]
    made = read & touched([loop])[1]
    if len(made) != 1:
        raise TIRError(
            f"the block {name} reads {len(made) or 'no'} buffers that the loop {var.name} makes, expected one"
        )
    (buffer,) = made
    for index, stage in enumerate(order[target:mine], target):
        stage_read, stage_written = touched([stage])
        if stage_written & read - {buffer} or store.buffer in stage_read | stage_written:
            raise TIRError(f"the block {name} cannot move before a stage that it depends on")
        if index > target and buffer in stage_written:
            raise TIRError(f"{buffer.name} is written again between the loop {var.name} and the block {name}")
    writers = _writers(func, loop_path, buffer)
    around = [*loops_of(loop_path), loop]
    bounds = bounds_of(func, [*around, *loops_in(loop.body)])
    inner = {one.var: one.extent for one in loops_in(loop.body)}
    ready = boxes(place_of(writers[-1], buffer), inner, bounds)
    if ready is None:
        raise TIRError(f"what of {buffer.name} one iteration of {var.name} makes is not a box")
    _check_covers(func, path_to_block(func, writers[-1].block.name), buffer)
    axes = _axes_of_loads(realize, buffer)
    values: list[PrimExpr] = []
    nest_loops: list[tuple[Var, PrimExpr]] = []
    condition: PrimExpr = IntImm(1, "bool")
    for axis in realize.block.iter_vars:
        step = Var(axis.var.name.removeprefix("v_"), axis.var.dtype)
        if axis.var not in axes:
            values.append(step)
            nest_loops.append((step, axis.extent))
            continue
        begin, extent = ready[axes.index(axis.var)]
        value = begin
        if extent != IntImm(1, step.dtype):
            value = begin + step
            nest_loops.append((step, extent))
        values.append(value)
        known = {**bounds, step: (0, simplify(extent - 1))}
        if prove(value < axis.extent, known) is not True:
            condition = binary("and", condition, simplify(value < axis.extent, known))
    nest: Stmt = replace(realize, values=tuple(values), predicate=None)
    if not isinstance(condition, IntImm):
        nest = guard(nest, condition)
    for step, extent in reversed(nest_loops):
        nest = For(step, extent, nest)
    rest = without(func, path)
    place = path_to_loop(rest, var)
    return put(rest, place, replace(loop_at(place), body=sequence([loop_at(place).body, nest])))


def _writers(func: PrimFunc, loop_path: Path, buffer: Buffer) -> list[BlockRealize]:
    """Return the blocks that write ``buffer``; all must be in the loop, and done with a place when it has run once."""
    loop = loop_at(loop_path)
    inside = blocks_in(loop.body)
    writers = [one for one in inside if buffer in touched([one])[1]]
    everywhere = [one for one in blocks_in(func.body) if buffer in touched([one])[1]]
    around = [*loops_of(loop_path), loop]
    known = [*around, *loops_in(loop.body)]
    bounds = bounds_of(func, known)
    if len(everywhere) != len(writers) or not writers:
        raise TIRError(f"{buffer.name} is written outside of the loop {loop.var.name}, too")
    for one in around:
        reason = independent(writers[-1], one.var, known, bounds)
        if reason:
            raise TIRError(f"{buffer.name} is not ready when the loop {loop.var.name} has run once: {reason}")
    return writers


def _axes_of_loads(realize: BlockRealize, buffer: Buffer) -> list[Var]:
    """Return the axes at which a block loads from ``buffer``."""
    places = {
        load.indices
        for node in statements(realize.block.body)
        for expr in expressions(node)
        for load in loads(expr)
        if load.buffer is buffer
    }
    spatial = {axis.var for axis in realize.block.iter_vars}
    first = next(iter(places))
    axes = [index for index in first if isinstance(index, Var) and index in spatial]
    if len(places) != 1 or len(axes) != len(first) or len(set(axes)) != len(axes):
        raise TIRError(f"the block {realize.block.name} reads {buffer.name} at places that are not just its axes")
    return axes
