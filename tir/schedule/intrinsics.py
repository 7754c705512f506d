"""Steps that make a block of a nest of loops, and put a known kernel of plain loops in the place of
such a block.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, prove, simplify, split_by_variables
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Var, binary, conjuncts
from relay2relax.tir.ir.stmt import Block, BlockRealize, BufferStore, For, IterKind, IterVar, PrimFunc, Stmt
from relay2relax.tir.ir.structural_equal import structural_equal
from relay2relax.tir.ir.visit import expressions, loads, statements, substitute, substitute_stmt, variables
from relay2relax.tir.normalize.blockless import lower_blocks
from relay2relax.tir.schedule.blocks import (
    Moved,
    block_names,
    fresh_name,
    require_dataflow,
    with_accesses,
    with_regions,
)
from relay2relax.tir.schedule.iteration import boxes
from relay2relax.tir.schedule.positions import Range
from relay2relax.tir.schedule.reductions import init_block
from relay2relax.tir.schedule.tree import (
    bounds_of,
    limit,
    loops_of,
    path_to_block,
    path_to_loop,
    realize_at,
    replaced_at,
    sequence,
)
from relay2relax.tir.te.inline import copied_with_own_names


@dataclass(frozen=True, slots=True)
class Intrinsic:
    """A kernel of plain loops: what it computes, and how.

    Both are PrimFuncs over the same buffers. ``Schedule.intrinsic`` makes the second from the first
    by checked steps; where it was written by hand, whoever wrote it vouches for it.
    """

    description: PrimFunc
    implementation: PrimFunc


def blockize(func: PrimFunc, var: Var) -> tuple[PrimFunc, str]:
    """Return ``func`` with the loop over ``var``, and all within it, as a block.

    And that block's name.

    Within the loop there must be one block and nothing but loops around it, which together run
    through a box of its axes that divides them; conditions may be about the loops outside only. The
    init of a reduction that goes on outside becomes the new block's.
    """
    path = path_to_loop(func, var)
    inner: list[For] = []
    stmt: Stmt = path[-1]
    while isinstance(stmt, For):
        inner.append(stmt)
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize):
        raise TIRError(f"within the loop {var.name} there is more than one block", kind=tensor_programs.SCHEDULE)
    realize, block = stmt, stmt.block
    require_dataflow(realize)
    name = fresh_name(block_names(func), f"{block.name}_o")
    own = {loop.var: loop.extent for loop in inner}
    bounds = bounds_of(func, [*loops_of(path), *inner])
    parts, outer_values = _divided(realize, own, bounds)
    found = boxes(parts, own, bounds)
    if found is None:
        raise TIRError(
            f"the loop {var.name} is not seen to run through a box of the axes of {block.name}",
            kind=tensor_programs.SCHEDULE,
        )
    if any(own.keys() & set(variables(condition)) for condition in conjuncts(realize.predicate)):
        raise TIRError(
            f"a condition of the block {block.name} is about loops within {var.name}", kind=tensor_programs.SCHEDULE
        )
    axes: list[IterVar] = []
    values: list[PrimExpr] = []
    places: list[PrimExpr] = []
    for axis, part, around, (_, size) in zip(block.iter_vars, parts, outer_values, found, strict=True):
        if any(prove((whole % size).equal(0), bounds) is not True for whole in (axis.extent, around)):
            raise TIRError(
                f"the loop {var.name} does not divide the axis {axis.var.name} of {block.name}",
                kind=tensor_programs.SCHEDULE,
            )
        extent = simplify(axis.extent // size, bounds)
        if axis.kind is IterKind.REDUCE and extent == IntImm(1, extent.dtype):
            places.append(part)
            continue
        outer = IterVar(Var(f"{axis.var.name}_o", axis.var.dtype), extent, axis.kind)
        axes.append(outer)
        values.append(simplify(around // size, bounds))
        places.append(simplify(outer.var * size + part, {**bounds, outer.var: limit(extent)}))
    init: Stmt | None = None
    if block.init is not None and any(axis.kind is IterKind.REDUCE for axis in axes):
        init = _init_nest(realize, places, inner)
        block = with_regions(replace(block, init=None))
    body: Stmt = BlockRealize(tuple(places), block)
    for loop in reversed(inner):
        body = replace(loop, body=body)
    outer_block = with_regions(Block(name, tuple(axes), (), (), body, init))
    return replaced_at(func, path, BlockRealize(tuple(values), outer_block, realize.predicate)), name


def _divided(realize: BlockRealize, own: dict[Var, PrimExpr], bounds: Bounds) -> tuple[list[PrimExpr], list[PrimExpr]]:
    """Return each axis value as what the loops ``own`` make of it, and what is left."""
    inner: list[PrimExpr] = []
    outer: list[PrimExpr] = []
    for axis, value in zip(realize.block.iter_vars, realize.values, strict=True):
        terms = split_by_variables(value, own, bounds)
        if terms is None:
            raise TIRError(
                f"the value of the axis {axis.var.name} of {realize.block.name} is no sum of loops",
                kind=tensor_programs.SCHEDULE,
            )
        inner.append(simplify(value - terms[1], bounds))
        outer.append(terms[1])
    return inner, outer


def _init_nest(realize: BlockRealize, places: Sequence[PrimExpr], inner: Sequence[For]) -> Stmt:
    """Return the loops over the init of a block, whose axes have the values ``places``."""
    block = realize.block
    spatial = [(a, place) for a, place in zip(block.iter_vars, places, strict=True) if a.kind is IterKind.SPATIAL]
    renamed = {axis.var: Var(axis.var.name, axis.var.dtype) for axis, _ in spatial}
    loops = {loop.var: Var(f"{loop.var.name}_init", loop.var.dtype) for loop in inner}
    used = {v for _, place in spatial for v in variables(place)}
    own = init_block(block, [IterVar(renamed[a.var], a.extent, a.kind) for a, _ in spatial], renamed)
    nest: Stmt = BlockRealize(tuple(substitute(place, dict(loops)) for _, place in spatial), own)
    for loop in reversed(inner):
        if loop.var in used:
            nest = For(loops[loop.var], loop.extent, nest)
    return nest


def tensorize(func: PrimFunc, target: Var | str, kernel: Intrinsic) -> PrimFunc:
    """Return ``func`` with a loop, or a block of loops, replaced by the implementation of
    ``kernel``.

    What is replaced must be, over the part of each buffer that it touches and up to names, the
    description.
    """
    if isinstance(target, Var):
        func, name = blockize(func, target)
    else:
        name = target
    path = path_to_block(func, name)
    realize = realize_at(path)
    block = realize.block
    if not any(isinstance(node, BlockRealize) for node in statements(block.body)):
        raise TIRError(f"the block {name} holds no block: blockize a loop first", kind=tensor_programs.SCHEDULE)
    wanted, made = kernel.description, kernel.implementation
    bounds = {**bounds_of(func), **{axis.var: limit(axis.extent) for axis in block.iter_vars}}
    partners = _partners(block, wanted)
    corners = _corners(block, partners)

    def local(target: Buffer, indices: Sequence[PrimExpr], known: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        other = partners.get(target)
        if other is None:
            return target, tuple(indices)
        shifted = [simplify(i - begin, known) for i, (begin, _) in zip(indices, corners[other], strict=True)]
        return other, tuple(shifted[len(shifted) - len(other.shape) :])

    candidate = replace(wanted, body=_plain(block.body, bounds, local))
    if not structural_equal(candidate, replace(wanted, body=_plain(wanted.body, {}, _as_it_is))):
        raise TIRError(f"the block {name} does not compute what {wanted.name} describes", kind=tensor_programs.SCHEDULE)
    owners = dict(zip(made.buffers, (_owner(partners, other) for other in wanted.buffers), strict=True))
    begins = dict(zip(made.buffers, (corners[other] for other in wanted.buffers), strict=True))

    def back(target: Buffer, indices: Sequence[PrimExpr], known: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        owner = owners.get(target)
        if owner is None:
            return target, tuple(indices)
        corner = begins[target]
        missing = len(corner) - len(indices)
        places = [*(begin for begin, _ in corner[:missing])]
        places += [binary("+", begin, i) for (begin, _), i in zip(corner[missing:], indices, strict=True)]
        return owner, tuple(simplify(place, known) for place in places)

    names = block_names(func)

    def named(wished: str) -> str:
        names.append(fresh_name(names, f"{name}_{wished}"))
        return names[-1]

    own_buffers = {buffer: replace(buffer) for buffer in made.root_buffers}
    body = substitute_stmt(with_accesses(copied_with_own_names(made.body, named), bounds, back), {}, own_buffers)
    new = replace(block, body=sequence([body]), alloc_buffers=(*block.alloc_buffers, *own_buffers.values()))
    return replaced_at(func, path, replace(realize, block=with_regions(new)))


def _partners(block: Block, wanted: PrimFunc) -> dict[Buffer, Buffer]:
    """Return which buffer of the description ``wanted`` stands for each one of ``block``."""
    theirs = _buffers_in_order(wanted.body)
    ours = _buffers_in_order(block.body)
    if len(ours) != len(theirs) or set(theirs) != set(wanted.buffers):
        raise TIRError(
            f"the block {block.name} touches {len(ours)} buffers, {wanted.name} describes {len(theirs)}",
            kind=tensor_programs.SCHEDULE,
        )
    return dict(zip(ours, theirs, strict=True))


def _corners(block: Block, partners: dict[Buffer, Buffer]) -> dict[Buffer, list[Range]]:
    """Return the part of its buffer that ``block`` touches, for each buffer of the description.

    Raises TIRError where it has another shape than the description's buffer.
    """
    regions = {region.buffer: region.region for region in (*block.reads, *block.writes)}
    corners: dict[Buffer, list[Range]] = {}
    for own, other in partners.items():
        ranges = [(one.begin, one.extent) for one in regions[own]]
        corners[other] = ranges
        extents = [extent for _, extent in ranges]
        skipped = len(extents) - len(other.shape)
        unit = all(extent == IntImm(1, extent.dtype) for extent in extents[: max(skipped, 0)])
        if skipped < 0 or not unit or list(extents[skipped:]) != list(other.shape) or own.dtype != other.dtype:
            raise TIRError(
                f"what the block {block.name} touches of {own.name} has not the shape of {other.name}",
                kind=tensor_programs.SCHEDULE,
            )
    return corners


def _owner(partners: dict[Buffer, Buffer], wanted: Buffer) -> Buffer:
    return next(own for own, other in partners.items() if other is wanted)


def _buffers_in_order(stmt: Stmt) -> list[Buffer]:
    """Return the buffers that ``stmt`` accesses, in the order in which it does first."""
    found: dict[Buffer, None] = {}
    for node in statements(stmt):
        if isinstance(node, BufferStore):
            found.setdefault(node.buffer)
        found.update(dict.fromkeys(load.buffer for expr in expressions(node) for load in loads(expr)))
    return list(found)


def _plain(stmt: Stmt, bounds: Bounds, moved: Moved) -> Stmt:
    """Return ``stmt`` as loops without blocks, with accesses where ``moved`` says."""
    return with_accesses(lower_blocks(stmt), bounds, moved)


def _as_it_is(target: Buffer, indices: Sequence[PrimExpr], known: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
    return target, tuple(simplify(index, known) for index in indices)
