"""What the steps ask of a block, and what they make of one."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.analysis.regions import block_regions
from relay2relax.tir.arith.simplify import Bounds, constant_difference, prove, simplify
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary, cast, conjuncts
from relay2relax.tir.ir.stmt import (
    Allocate,
    Block,
    BlockRealize,
    BufferRegion,
    BufferStore,
    For,
    IterKind,
    IterVar,
    PrimFunc,
    Range,
    Seq,
    Stmt,
)
from relay2relax.tir.ir.visit import expressions, loads, map_expr, map_parts, statements
from relay2relax.tir.schedule.iteration import BlockKind, block_kind, boxes
from relay2relax.tir.schedule.positions import accesses, box_of, reached_indirectly
from relay2relax.tir.schedule.tree import Path, blocks_in, bounds_of, limit, loops_of, realize_at, touched

# Where an access goes: its indices, and what is known of the variables around it.
Moved: TypeAlias = Callable[[Buffer, Sequence[PrimExpr], Bounds], tuple[Buffer, tuple[PrimExpr, ...]]]


def with_regions(block: Block) -> Block:
    """Return ``block`` saying what its statements read and write."""
    if any(isinstance(node, BlockRealize) for node in statements(block.body)):
        return _with_regions_of_blocks(block)
    reads, writes = block_regions(block)
    if block.init is None and any(axis.kind is IterKind.REDUCE for axis in block.iter_vars):
        # The update of a reduction reads what it writes, and has to say so.
        reads = (*(region for region in writes if region not in reads), *reads)
    return replace(block, reads=reads, writes=writes)


def _with_regions_of_blocks(block: Block) -> Block:
    """Return a block of blocks saying what these read and write of each buffer: a box over its own
    axes.
    """
    bounds = {axis.var: limit(axis.extent) for axis in block.iter_vars}
    parts = Seq(tuple(part for part in (block.init, block.body) if part is not None))
    inner = [node.block for node in statements(parts) if isinstance(node, BlockRealize)]
    owned = {buffer for one in (block, *inner) for buffer in one.alloc_buffers}
    owned |= {node.buffer for node in statements(parts) if isinstance(node, Allocate)}

    def regions(buffers: Iterable[Buffer], stores: bool) -> tuple[BufferRegion, ...]:
        found = []
        for buffer in buffers:
            whole = accesses(parts, buffer)
            some = replace(whole, found=tuple(one for one in whole.found if one.is_store is stores))
            if some.found and buffer not in owned:
                ranges = (Range(begin, extent) for begin, extent in box_of(some, buffer.shape, bounds))
                found.append(BufferRegion(buffer, tuple(ranges)))
        return tuple(found)

    used = list(dict.fromkeys(buffer for node in statements(parts) for buffer in _buffers_of(node)))
    return replace(block, reads=regions(used, False), writes=regions(used, True))


def _buffers_of(node: Stmt) -> list[Buffer]:
    own = [node.buffer] if isinstance(node, BufferStore) else []
    return own + [load.buffer for expr in expressions(node) for load in loads(expr)]


def only_store(realize: BlockRealize) -> BufferStore:
    """Return the store that is all of a block's body; raises TIRError where there is more."""
    store = realize.block.body
    if not isinstance(store, BufferStore):
        raise TIRError(f"the block {realize.block.name} does more than store one value", kind=tensor_programs.SCHEDULE)
    return store


def written_by(realize: BlockRealize) -> Buffer:
    """Return the one buffer that a block writes; raises TIRError where there are several."""
    written = touched([realize])[1]
    if len(written) != 1:
        raise TIRError(
            f"the block {realize.block.name} writes {len(written)} buffers, expected one", kind=tensor_programs.SCHEDULE
        )
    return next(iter(written))


def require_dataflow(realize: BlockRealize) -> BlockKind:
    """Raise TIRError where a block is opaque, so that its iterations must run when and as they
    do.
    """
    kind = block_kind(realize.block)
    if kind is BlockKind.OPAQUE:
        raise TIRError(
            f"the block {realize.block.name} is opaque: neither complete nor a reduction", kind=tensor_programs.SCHEDULE
        )
    return kind


def require_complete(realize: BlockRealize) -> None:
    """Raise TIRError unless every iteration of a block writes places of its own and reads none of
    them.
    """
    if block_kind(realize.block) is not BlockKind.COMPLETE:
        raise TIRError(f"the block {realize.block.name} is not complete", kind=tensor_programs.SCHEDULE)


def require_temporary(func: PrimFunc, buffer: Buffer, name: str) -> None:
    """Raise TIRError unless ``buffer``, which the block ``name`` writes, is seen within the
    function only.
    """
    if buffer not in func.root_buffers:
        raise TIRError(
            f"the block {name} writes {buffer.name}, which is not a temporary", kind=tensor_programs.SCHEDULE
        )
    require_plain(func, buffer)


def require_plain(func: PrimFunc, buffer: Buffer) -> None:
    """Raise TIRError where the memory of ``buffer`` is reached otherwise than by its name and
    indices.
    """
    if buffer.strides or buffer.offset is not None or buffer in reached_indirectly(func.body):
        raise TIRError(
            f"the memory of {buffer.name} is reached by its address, or as another buffer",
            kind=tensor_programs.SCHEDULE,
        )


def require_alone(path: Path, beginning: Stmt) -> None:
    """Raise TIRError where anything but loops lies between the statement ``beginning`` and the
    block at ``path``.
    """
    if any(not isinstance(stmt, (For, BlockRealize)) for stmt in path[path.index(beginning) :]):
        raise TIRError(
            f"the block {realize_at(path).block.name} does not stand alone in its loops", kind=tensor_programs.SCHEDULE
        )


def plain_axes(realize: BlockRealize, store: BufferStore) -> list[Var]:
    """Return the axes that are, one each, the indices of ``store``; raises TIRError where an index
    is not an axis.
    """
    name = realize.block.name
    spatial = {axis.var for axis in realize.block.iter_vars if axis.kind is IterKind.SPATIAL}
    axes = [index for index in store.indices if isinstance(index, Var) and index in spatial]
    if len(axes) != len(store.indices) or len(set(axes)) != len(axes):
        raise TIRError(f"the block {name} stores at places that are not just its axes", kind=tensor_programs.SCHEDULE)
    if set(axes) != spatial:
        raise TIRError(
            f"the block {name} has axes that are no indices of {store.buffer.name}", kind=tensor_programs.SCHEDULE
        )
    return axes


def only_writer(func: PrimFunc, buffer: Buffer) -> BlockRealize:
    """Return the block that writes ``buffer``; raises TIRError unless there is exactly one."""
    writers = [one for one in blocks_in(func.body) if buffer in touched([one])[1]]
    if len(writers) != 1:
        names = ", ".join(one.block.name for one in writers) or "no block"
        raise TIRError(f"{buffer.name} is written by {names}, expected one block", kind=tensor_programs.SCHEDULE)
    return writers[0]


def require_whole(func: PrimFunc, path: Path) -> None:
    """Raise TIRError unless the block at ``path`` is seen to run through all of its axes."""
    realize = realize_at(path)
    loops = loops_of(path)
    bounds = bounds_of(func, loops)
    axes = realize.block.iter_vars
    whole = all(is_tail(part, realize) for part in conjuncts(realize.predicate))
    found = boxes(realize.values, {loop.var: loop.extent for loop in loops}, bounds)
    for (begin, extent), axis in zip(found or (), axes, strict=False):
        whole = whole and all(prove(c, bounds) for c in (begin.equal(0), extent >= axis.extent))
    if found is None or not whole:
        raise TIRError(
            f"the block {realize.block.name} is not seen to run through all of its axes", kind=tensor_programs.SCHEDULE
        )


def require_writes_all(func: PrimFunc, path: Path, buffer: Buffer) -> None:
    """Raise TIRError unless the block at ``path`` is seen to write all of ``buffer``."""
    require_whole(func, path)
    realize = realize_at(path)
    axes = {a.var: a.extent for a in realize.block.iter_vars}
    bounds = {**bounds_of(func), **{var: limit(extent) for var, extent in axes.items()}}
    stores = [node for node in statements(realize.block.body) if isinstance(node, BufferStore)]
    found = boxes(next(store.indices for store in stores if store.buffer is buffer), axes, bounds)
    whole = found is not None and all(
        prove(condition, bounds)
        for (begin, extent), size in zip(found, buffer.shape, strict=True)
        for condition in (begin.equal(0), extent >= size)
    )
    if not whole:
        raise TIRError(
            f"the block {realize.block.name} is not seen to write all of {buffer.name}", kind=tensor_programs.SCHEDULE
        )


def is_tail(condition: PrimExpr, realize: BlockRealize) -> bool:
    """Whether a condition only says that an axis of a block is below its extent, as a split with a
    rest leaves it.
    """
    match condition:
        case Binary("<", a, b):
            ends = zip(realize.values, realize.block.iter_vars, strict=True)
            tails = [binary("-", value, axis.extent) for value, axis in ends]
            return any(constant_difference(binary("-", a, b), tail) == 0 for tail in tails)
    return False


def all_of(conditions: Sequence[PrimExpr]) -> PrimExpr | None:
    """Return the conjunction of ``conditions``, None where there are none."""
    result: PrimExpr | None = None
    for condition in conditions:
        result = condition if result is None else binary("and", result, condition)
    return result


def nest_over(
    block: Block, ranges: Mapping[Var, tuple[PrimExpr, PrimExpr]], bounds: Bounds, keep_unit_loops: bool = False
) -> Stmt:
    """Return loops around ``block`` in which each axis runs over (begin, extent), what lies outside
    of it left out.

    Axes that ``ranges`` does not name run through all of their extent. ``bounds`` holds for what
    the ranges mention.
    """
    known = dict(bounds)
    values: list[PrimExpr] = []
    loops: list[tuple[Var, PrimExpr]] = []
    conditions: list[PrimExpr] = []
    for axis in block.iter_vars:
        begin, extent = ranges.get(axis.var, (IntImm(0, axis.var.dtype), axis.extent))
        step = Var(axis.var.name.removeprefix("v_"), axis.var.dtype)
        begin, extent = cast(step.dtype, begin), cast(step.dtype, extent)
        value = begin
        if keep_unit_loops or extent != IntImm(1, step.dtype):
            value = binary("+", begin, step)
            loops.append((step, extent))
            known[step] = limit(extent)
        values.append(simplify(value, known))
        ends = (values[-1] >= 0, values[-1] < axis.extent)
        conditions += [simplify(inside, known) for inside in ends if prove(inside, known) is not True]
    nest: Stmt = BlockRealize(tuple(values), block, all_of(conditions))
    for step, extent in reversed(loops):
        nest = For(step, extent, nest)
    return nest


def copy_block(name: str, source: Buffer, target: Buffer) -> Block:
    """Return the block that copies one element of ``source`` to the same place in ``target``."""
    axes = tuple(IterVar(Var(f"v_ax{d}"), extent, IterKind.SPATIAL) for d, extent in enumerate(target.shape))
    place = tuple(axis.var for axis in axes)
    return with_regions(Block(name, axes, (), (), BufferStore(target, place, source[place])))


def fresh_name(taken: Sequence[str], wanted: str) -> str:
    """Return ``wanted``, or with a number behind it where that is taken."""
    name, count = wanted, 0
    while name in taken:
        count += 1
        name = f"{wanted}_{count}"
    return name


def block_names(func: PrimFunc) -> list[str]:
    """Return the names of all blocks of ``func``."""
    return [node.block.name for node in statements(func.body) if isinstance(node, BlockRealize)]


def inserted(parent: Stmt, place: int, new: Stmt) -> Stmt:
    """Return ``parent``, as a sequence, with ``new`` before its statement number ``place``."""
    parts = list(parent.stmts) if isinstance(parent, Seq) else [parent]
    return Seq((*parts[:place], *(new.stmts if isinstance(new, Seq) else (new,)), *parts[place:]))


def with_accesses(stmt: Stmt, bounds: Bounds, moved: Moved) -> Stmt:
    """Return ``stmt`` with every access where ``moved`` says.

    Blocks say anew what they read and write.
    """

    def change(node: Stmt, known: Bounds) -> Stmt:
        inner = dict(known)
        match node:
            case For(var, extent):
                inner[var] = limit(extent)
            case BlockRealize(block=block):
                inner.update((axis.var, limit(axis.extent)) for axis in block.iter_vars)

        def expr(one: PrimExpr) -> PrimExpr:
            return map_expr(one, rewrite)

        def rewrite(one: PrimExpr) -> PrimExpr | None:
            if not isinstance(one, BufferLoad):
                return None
            target, indices = moved(one.buffer, [expr(index) for index in one.indices], inner)
            same = target is one.buffer and all(a is b for a, b in zip(indices, one.indices, strict=True))
            return one if same else replace(one, buffer=target, indices=indices)

        if isinstance(node, BufferStore):
            target, indices = moved(node.buffer, [expr(index) for index in node.indices], inner)
            value = expr(node.value)
            same = target is node.buffer and value is node.value
            same = same and all(a is b for a, b in zip(indices, node.indices, strict=True))
            return node if same else replace(node, buffer=target, indices=indices, value=value)
        new = map_parts(node, lambda part: change(part, inner), expr)
        if isinstance(new, BlockRealize) and new is not node:
            return replace(new, block=with_regions(new.block))
        return new

    return change(stmt, bounds)


def ordered(name: str) -> TIRError:
    """Return the error for a block whose reduction gives something else in another order."""
    return TIRError(
        f"the reduction in the block {name} depends on the order of its iterations", kind=tensor_programs.SCHEDULE
    )


def depends(name: str) -> TIRError:
    """Return the error for a block that would come before what it needs, or what needs it."""
    return TIRError(f"the block {name} cannot move before a stage that it depends on", kind=tensor_programs.SCHEDULE)


def mixes_axes(loop: str, name: str) -> TIRError:
    """Return the error for a loop that a reduction of the block ``name`` cannot be split at."""
    return TIRError(f"the loop {loop} runs over reduction and other axes of {name}", kind=tensor_programs.SCHEDULE)


def written_elsewhere(buffer: Buffer, name: str) -> TIRError:
    """Return the error for a buffer that not only the block ``name`` writes."""
    return TIRError(f"{buffer.name} is written by other blocks than {name}", kind=tensor_programs.SCHEDULE)
