"""Steps that move a block into a loop: a producer to where it is read, a consumer to where its
operands are made.

What is made of a buffer, or needed of it, in one iteration of the loop is a box; the moved block
runs over the axes that belong to that box. Both blocks may lie in loops that they share; within
these, what the moved block reads or writes must not change between its old and its new place.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, constant_difference, limits, prove, simplify, split_by_variables
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Binary, Buffer, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BlockRealize, For, IterKind, LoopKind, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import all_expressions, loads, variables
from relay2relax.tir.schedule.blocks import (
    depends,
    inserted,
    nest_over,
    only_store,
    ordered,
    plain_axes,
    require_dataflow,
    require_temporary,
    require_whole,
    require_writes_all,
    written_by,
    written_elsewhere,
)
from relay2relax.tir.schedule.independence import require_parallel_loops_independent
from relay2relax.tir.schedule.iteration import BlockKind, boxes, independent, place_of
from relay2relax.tir.schedule.positions import Box, Range, accesses, box_of
from relay2relax.tir.schedule.tree import (
    Path,
    blocks_in,
    bounds_of,
    limit,
    loop_at,
    loops_in,
    loops_of,
    path_to_block,
    path_to_loop,
    realize_at,
    replaced_at,
    require_outermost,
    sequence,
    shared_length,
    touched,
    without,
    without_part,
)

# For axes of a block: where each begins, and how far it goes.
Ranges = dict[Var, Range]


def compute_at(func: PrimFunc, name: str, var: Var, preserve_unit_loops: bool = False) -> PrimFunc:
    """Return ``func`` with the block ``name`` in the loop over ``var``, before the first block
    there that reads it.

    Each iteration of the loop computes what it needs, anew where iterations need the same. The
    block must be complete or a reduction, and the only one that writes its buffer, a temporary that
    is read in this loop only; what it reads itself must be there before the loop.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    loop_path = path_to_loop(func, var)
    between, common = _between(path, loop_path, f"the block {name}", f"the loop {var.name}")
    require_dataflow(realize)
    buffer = written_by(realize)
    require_temporary(func, buffer, name)
    axes = plain_axes(realize, only_store(realize))
    require_writes_all(func, path, buffer)
    _require_unchanged(realize, [without_part(between[0], realize), *between[1:]], common)
    rest = without(func, path)
    loop_path = path_to_loop(rest, var)
    loop = loop_at(loop_path)
    inside, everywhere = accesses(loop.body, buffer), accesses(rest.body, buffer)
    if any(access.is_store for access in everywhere.found):
        raise written_elsewhere(buffer, name)
    if len(inside.found) != len(everywhere.found):
        raise TIRError(f"{buffer.name} is read outside of the loop {var.name}, too", kind=tensor_programs.SCHEDULE)
    if not inside.found:
        raise TIRError(
            f"the loop {var.name} does not read {buffer.name}, which the block {name} makes",
            kind=tensor_programs.SCHEDULE,
        )
    bounds = bounds_of(rest, [*loops_of(loop_path), loop])
    needed = box_of(inside, buffer.shape, bounds)
    nest = nest_over(realize.block, dict(zip(axes, needed, strict=True)), bounds, preserve_unit_loops)
    parts = loop.body.stmts if isinstance(loop.body, Seq) else (loop.body,)
    first = next(place for place, part in enumerate(parts) if buffer in touched([part])[0])
    moved = replaced_at(rest, loop_path, replace(loop, body=inserted(loop.body, first, nest)))
    require_parallel_loops_independent(moved, path_to_loop(moved, var))
    return moved


def reverse_compute_at(func: PrimFunc, name: str, var: Var, preserve_unit_loops: bool = False) -> PrimFunc:
    """Return ``func`` with the block ``name`` at the end of the loop over ``var``, in which what it
    reads is made.

    The block must be complete or a reduction. Each iteration of the loop computes what has become
    ready; each element must need what one iteration makes, which holds for elementwise blocks, for
    windows that do not overlap, and for reductions over what the loop makes piece by piece. What
    lies beyond an extent is left out.
    """
    path = path_to_block(func, name)
    realize = realize_at(path)
    loop_path = path_to_loop(func, var)
    loop = loop_at(loop_path)
    between, common = _between(loop_path, path, f"the loop {var.name}", f"the block {name}")
    kind = require_dataflow(realize)
    require_whole(func, path)
    read, written = touched([realize])
    made = read & touched([loop])[1] - written
    if not made:
        raise TIRError(f"the block {name} reads nothing that the loop {var.name} makes", kind=tensor_programs.SCHEDULE)
    for place, stage in enumerate([*between[:-1], without_part(between[-1], realize)]):
        stage_read, stage_written = touched([stage])
        if stage_written & (read - made) or written & (stage_read | stage_written):
            raise depends(name)
        if place and made & stage_written:
            names = ", ".join(sorted(buffer.name for buffer in made & stage_written))
            raise TIRError(
                f"{names} is written again between the loop {var.name} and the block {name}",
                kind=tensor_programs.SCHEDULE,
            )
    bounds = bounds_of(func, [*loops_of(loop_path), loop, *loops_in(loop.body)])
    ranges: Ranges = {}
    for buffer in sorted(made, key=lambda one: one.name):
        ready = _ready(func, loop_path, buffer, bounds)
        for axis, part in _axes_within(realize, buffer, ready, bounds).items():
            known = ranges.setdefault(axis, part)
            if any(constant_difference(a, b, bounds) != 0 for a, b in zip(known, part, strict=True)):
                raise TIRError(
                    f"what is ready in the loop {var.name} differs among the operands of {name}",
                    kind=tensor_programs.SCHEDULE,
                )
    folded = [axis.var for axis in realize.block.iter_vars if axis.kind is IterKind.REDUCE]
    if kind is BlockKind.ORDERED and len(folded) > 1 and ranges.keys() & set(folded):
        raise ordered(name)
    shared = {loop.var for loop in common}
    for bound, value in zip(realize.block.iter_vars, realize.values, strict=True):
        if bound.var not in ranges and shared & set(variables(value)):
            raise TIRError(
                f"the axis {bound.var.name} of {name} follows a loop around {var.name}, its operands do not",
                kind=tensor_programs.SCHEDULE,
            )
    nest = nest_over(realize.block, ranges, bounds_of(func, [*loops_of(loop_path), loop]), preserve_unit_loops)
    rest = without(func, path)
    loop_path = path_to_loop(rest, var)
    moved = replaced_at(rest, loop_path, replace(loop_at(loop_path), body=sequence([loop_at(loop_path).body, nest])))
    require_parallel_loops_independent(moved, path_to_loop(moved, var))
    return moved


def _between(first: Path, second: Path, earlier: str, later: str) -> tuple[tuple[Stmt, ...], list[For]]:
    """Return the statements from the one with ``first`` to the one with ``second``, and the loops
    around both.
    """
    require_outermost(first, earlier)
    require_outermost(second, later)
    common = shared_length(first, second)
    if common in (len(first), len(second)):
        raise TIRError(f"{earlier} and {later} lie within each other", kind=tensor_programs.SCHEDULE)
    parent = first[common - 1]
    target = first[-1] if isinstance(first[-1], For) else second[-1]
    assert isinstance(target, For)
    if target.kind not in (LoopKind.SERIAL, LoopKind.PARALLEL):
        raise TIRError(
            f"the loop {target.var.name} is {target.kind.value}; nothing can be put into it",
            kind=tensor_programs.SCHEDULE,
        )
    if not isinstance(parent, Seq):
        raise TIRError(f"{earlier} and {later} are branches of one condition", kind=tensor_programs.SCHEDULE)
    begin, end = parent.stmts.index(first[common]), parent.stmts.index(second[common])
    if begin > end:
        raise TIRError(f"{earlier} does not come before {later}", kind=tensor_programs.SCHEDULE)
    return parent.stmts[begin : end + 1], [stmt for stmt in first[:common] if isinstance(stmt, For)]


def _require_unchanged(realize: BlockRealize, between: Sequence[Stmt], common: Sequence[For]) -> None:
    """Raise TIRError where what a block reads is written by other statements before its new
    place.
    """
    name = realize.block.name
    read, own = touched([realize])
    changed = read - own & touched(between)[1]
    if changed:
        names = ", ".join(sorted(buffer.name for buffer in changed))
        raise TIRError(
            f"the block {name} cannot move behind a stage that writes {names}, which it reads",
            kind=tensor_programs.SCHEDULE,
        )
    if common and (read - own) & touched(common[:1])[1]:
        raise TIRError(
            f"what the block {name} reads is made in the loop {common[0].var.name} around it, piece by piece",
            kind=tensor_programs.SCHEDULE,
        )


# What is ready


def _ready(func: PrimFunc, loop_path: Path, buffer: Buffer, bounds: Bounds) -> Box:
    """Return the box of ``buffer`` that one iteration of a loop finishes."""
    loop = loop_at(loop_path)
    writers = [one for one in blocks_in(loop.body) if buffer in touched([one])[1]]
    everywhere = [one for one in blocks_in(func.body) if buffer in touched([one])[1]]
    if len(everywhere) != len(writers) or not writers:
        raise TIRError(
            f"{buffer.name} is written outside of the loop {loop.var.name}, too", kind=tensor_programs.SCHEDULE
        )
    around = [*loops_of(loop_path), loop]
    known = [*around, *loops_in(loop.body)]
    for one in around:
        reason = independent(writers[-1], one.var, known, bounds)
        if reason:
            raise TIRError(
                f"{buffer.name} is not ready when the loop {loop.var.name} has run once: {reason}",
                kind=tensor_programs.SCHEDULE,
            )
    ready = boxes(place_of(writers[-1], buffer), {one.var: one.extent for one in loops_in(loop.body)}, bounds)
    if ready is None:
        raise TIRError(
            f"what of {buffer.name} one iteration of {loop.var.name} makes is not a box", kind=tensor_programs.SCHEDULE
        )
    require_writes_all(func, path_to_block(func, writers[-1].block.name), buffer)
    return ready


def _axes_within(realize: BlockRealize, buffer: Buffer, ready: Box, bounds: Bounds) -> Ranges:
    """Return for which axes a block reads just the box ``ready`` of ``buffer``; each element reads
    from one box.
    """
    axes = {axis.var: axis.extent for axis in realize.block.iter_vars}
    known = {**bounds, **{var: limit(extent) for var, extent in axes.items()}}
    # The axes are the only loops within the block: what is at hand is all that the body reads.
    parts = [part for part in (realize.block.init, realize.block.body) if part is not None]
    read = [load for part in parts for expr in all_expressions(part) for load in loads(expr)]
    places = dict.fromkeys(load.indices for load in read if load.buffer is buffer)
    ranges: Ranges = {}
    for place in places:
        for index, (begin, extent), size in zip(place, ready, buffer.shape, strict=True):
            if prove(binary("and", begin.equal(0), extent >= size), bounds) is True:
                continue
            solved = _solved(index, begin, extent, axes, known)
            if solved is None or not _agree(ranges.setdefault(solved[0], solved[1]), solved[1], bounds):
                raise TIRError(
                    f"the block {realize.block.name} reads {buffer.name} at places that are not just its axes, nor "
                    "windows of them that do not overlap",
                    kind=tensor_programs.SCHEDULE,
                )
    return ranges


def _agree(a: Range, b: Range, bounds: Bounds) -> bool:
    return all(constant_difference(x, y, bounds) == 0 for x, y in zip(a, b, strict=True))


def _solved(
    index: PrimExpr, begin: PrimExpr, extent: PrimExpr, axes: Mapping[Var, PrimExpr], bounds: Bounds
) -> tuple[Var, Range] | None:
    """Return an axis, and for which of its values ``index`` lies within (begin, extent), for no
    others in part.

    ``index`` is ``axis * step + window``, where the window is shorter than a step, or ``axis //
    size``.
    """
    terms = None if loads(index) else split_by_variables(index, axes, bounds)
    if terms is None or not terms[0]:
        return None
    match terms[0], terms[1]:
        case [(1, Binary("//", Var() as whole, IntImm() as size))], IntImm(0) if whole in axes:
            return whole, (simplify(begin * size, bounds), simplify(extent * size, bounds))
    step, axis = max(((count, atom) for count, atom in terms[0]), key=lambda term: term[0])
    if not isinstance(axis, Var) or step < 1:
        return None
    if len(terms[0]) == 1 and step == 1:
        return axis, (simplify(begin - terms[1], bounds), extent)
    window = simplify(index - axis * step, bounds)
    low, high = limits(window, bounds)
    if low is None or high is None or low < 0 or high >= step or axis in variables(window):
        return None
    rest = [simplify(part % step, bounds) for part in (begin, extent)]
    if rest != [IntImm(0, part.dtype) for part in rest]:
        return None
    return axis, (simplify(begin // step, bounds), simplify(extent // step, bounds))
