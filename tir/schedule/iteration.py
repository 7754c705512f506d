"""What may be done with the order of a block's iterations.

A block is *complete* where every iteration writes places of its own and nothing that it writes is
read; it is a *reduction* where iterations that differ in reduction axes only fold into the same
place. Every other block is opaque: its iterations keep their order.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import Bounds, ceiling, prove, simplify, split_by_variables
from relay2relax.tir.errors import TIRError
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import Block, BlockRealize, BufferStore, For, If, IterKind, Let, Seq, Stmt
from relay2relax.tir.ir.visit import expressions, loads, statements, substitute, variables

_COMMUTATIVE = frozenset({"+", "*", "min", "max", "and", "or", "&", "|", "^"})


class BlockKind(Enum):
    """How a block's iterations depend on each other."""

    COMPLETE = "complete"
    # Reduction iterations may run in any order.
    COMMUTATIVE = "commutative reduction"
    # Reduction iterations of one place keep their order.
    ORDERED = "ordered reduction"
    OPAQUE = "opaque"


def block_kind(block: Block) -> BlockKind:
    """Return the kind of ``block``, found from its statements."""
    parts = [part for part in (block.init, block.body) if part is not None]
    nodes = [node for part in parts for node in statements(part)]
    if not all(isinstance(node, (BufferStore, Seq, Let, If)) for node in nodes) or block.alloc_buffers:
        return BlockKind.OPAQUE
    stores = [node for node in nodes if isinstance(node, BufferStore)]
    spatial = {a.var for a in block.iter_vars if a.kind is IterKind.SPATIAL and a.extent != IntImm(1)}
    reduced = {a.var for a in block.iter_vars if a.kind is IterKind.REDUCE}
    extents = {a.var: a.extent for a in block.iter_vars}
    places: dict[object, tuple[PrimExpr, ...]] = {}
    for store in stores:
        # Every iteration has its own place: each spatial axis is an index, or its digits are, and
        # nothing else varies.
        bounds = {var: (0, binary("-", extent, 1)) for var, extent in extents.items()}
        if any(not separates(store.indices, axis, extents, bounds) for axis in spatial - set(store.indices)):
            return BlockKind.OPAQUE
        if places.setdefault(store.buffer, store.indices) != store.indices:
            return BlockKind.OPAQUE
        if reduced.intersection(v for index in store.indices for v in variables(index)):
            return BlockKind.OPAQUE
    own = [load for node in nodes for e in expressions(node) for load in loads(e) if load.buffer in places]
    if any(load.indices != places[load.buffer] for load in own):
        return BlockKind.OPAQUE
    if not reduced:
        return BlockKind.OPAQUE if own else BlockKind.COMPLETE
    return BlockKind.COMMUTATIVE if _commutes(block.body) else BlockKind.ORDERED


def _commutes(update: Stmt) -> bool:
    """Whether an update is ``place = place op value`` with an operator that takes its operands in
    any order.
    """
    if not isinstance(update, BufferStore) or not isinstance(update.value, Binary):
        return False
    own = BufferLoad(update.buffer, update.indices)
    value = update.value
    if value.op not in _COMMUTATIVE or (value.a == own) == (value.b == own):
        return False
    other = value.b if value.a == own else value.a
    return all(load.buffer is not update.buffer for load in loads(other))


@dataclass(frozen=True, slots=True)
class Piece:
    """``loop // below % extent`` times ``factor``; ``top`` says that no modulo cuts the
    quotient.
    """

    factor: int
    loop: Var
    below: PrimExpr
    extent: PrimExpr
    top: bool


def pieces(value: PrimExpr, loops: Mapping[Var, PrimExpr], bounds: Bounds) -> tuple[list[Piece], PrimExpr] | None:
    """Return ``value`` as pieces of loop variables (given with their extents) and a rest without
    them, or None.
    """
    terms = split_by_variables(value, loops, bounds)
    if terms is None:
        return None
    found: list[Piece] = []
    for factor, atom in terms[0]:
        piece = _piece(factor, atom, loops)
        if piece is None or factor <= 0:
            return None
        found.append(piece)
    return found, terms[1]


def boxes(
    values: Sequence[PrimExpr], loops: Mapping[Var, PrimExpr], bounds: Bounds
) -> list[tuple[PrimExpr, PrimExpr]] | None:
    """Return (begin, extent) for each of ``values`` where all loops together run through all of
    that box, or None.
    """
    found: list[tuple[PrimExpr, PrimExpr]] = []
    sizes: dict[Var, PrimExpr] = {}
    for value in values:
        split = pieces(value, loops, bounds)
        if split is None:
            return None
        reached: PrimExpr = IntImm(1, value.dtype)
        for piece in sorted(split[0], key=lambda one: one.factor):
            if prove(reached.equal(IntImm(piece.factor, value.dtype)), bounds) is not True:
                return None
            reached = simplify(reached * piece.extent, bounds)
            sizes[piece.loop] = sizes.get(piece.loop, IntImm(1, value.dtype)) * piece.extent
        found.append((split[1], reached))
    for loop, size in sizes.items():
        # The digits of a loop are free of each other where they tell it and nothing more.
        if prove(size.equal(loops[loop]), bounds) is not True or not separates(values, loop, loops, bounds):
            return None
    return found


def place_of(realize: BlockRealize, buffer: Buffer) -> list[PrimExpr]:
    """Return the indices, over the loops around it, at which a block that is not opaque writes
    ``buffer``.
    """
    values = axis_values(realize)
    for node in statements(realize.block.body):
        if isinstance(node, BufferStore) and node.buffer is buffer:
            return [substitute(index, values) for index in node.indices]
    raise TIRError(f"the block {realize.block.name} does not write {buffer.name}", kind=tensor_programs.SCHEDULE)


def axis_values(realize: BlockRealize) -> dict[Var, PrimExpr]:
    """Return the values that a block's axes have."""
    return {axis.var: value for axis, value in zip(realize.block.iter_vars, realize.values, strict=True)}


def stays_within(
    buffer: Buffer, writer: BlockRealize, other: BlockRealize, inner: Mapping[Var, PrimExpr], bounds: Bounds
) -> bool:
    """Whether ``other`` touches no more of ``buffer`` than ``writer`` writes while only the loops
    ``inner`` run.
    """
    written = boxes(place_of(writer, buffer), inner, bounds)
    if written is None:
        return False
    values = axis_values(other)
    parts = [part for part in (other.block.init, other.block.body) if part is not None]
    places: list[tuple[PrimExpr, ...]] = []
    for node in (node for part in parts for node in statements(part)):
        if isinstance(node, BufferStore) and node.buffer is buffer:
            places.append(node.indices)
        places += [load.indices for e in expressions(node) for load in loads(e) if load.buffer is buffer]
    for place in places:
        for index, (begin, extent) in zip(place, written, strict=True):
            offset = binary("-", substitute(index, values), begin)
            if prove(binary("and", offset >= 0, offset < extent), bounds) is not True:
                return False
    return True


def _piece(factor: int, atom: PrimExpr, loops: Mapping[Var, PrimExpr]) -> Piece | None:
    one = IntImm(1)
    match atom:
        case Var() if atom in loops:
            return Piece(factor, atom, one, loops[atom], True)
        case Binary("//", Var() as loop, below) if loop in loops:
            count = ceiling(loops[loop], below)
            return Piece(factor, loop, below, count, True)
        case Binary("%", Var() as loop, extent) if loop in loops:
            return Piece(factor, loop, one, extent, False)
        case Binary("%", Binary("//", Var() as loop, below), extent) if loop in loops:
            return Piece(factor, loop, below, extent, False)
    return None


def separates(values: Iterable[PrimExpr], loop: Var, loops: Mapping[Var, PrimExpr], bounds: Bounds) -> bool:
    """Whether two iterations of ``loop`` never give the same ``values`` (other loops being whatever
    they are).
    """
    mine: list[Piece] = []
    for value in values:
        if loop not in variables(value):
            continue
        found = pieces(value, loops, bounds)
        if found is None or not _decodable(found[0]):
            return False
        mine += [piece for piece in found[0] if piece.loop is loop]
    # The pieces of the loop must follow each other from its lowest digit to its highest.
    reached: PrimExpr = IntImm(1)
    while mine:
        following = [piece for piece in mine if prove(piece.below.equal(reached), bounds)]
        if not following:
            return False
        if following[0].top:
            return True
        reached = simplify(reached * following[0].extent)
        mine.remove(following[0])
        if prove(binary(">=", reached, loops[loop]), bounds):
            return True
    return False


def _decodable(parts: Sequence[Piece]) -> bool:
    """Whether a sum of pieces tells each of them: a number whose digits are the pieces."""
    ordered = sorted(parts, key=lambda piece: piece.factor)
    for low, high in itertools.pairwise(ordered):
        if not isinstance(low.extent, IntImm) or high.factor < low.factor * low.extent.value:
            return False
    return True


def reduces(realize: BlockRealize, var: Var) -> bool:
    """Whether a reduction axis of a block depends on the loop over ``var``."""
    return any(
        axis.kind is IterKind.REDUCE and var in variables(value)
        for axis, value in zip(realize.block.iter_vars, realize.values, strict=True)
    )


def independent(realize: BlockRealize, loop: Var, loops: Sequence[For], bounds: Bounds) -> str:
    """Return why iterations of ``loop`` may not run at the same time for this block, "" where they
    may.
    """
    block = realize.block
    kind = block_kind(block)
    if kind is BlockKind.OPAQUE:
        return f"the block {block.name} is opaque"
    extents = {one.var: one.extent for one in loops}
    if reduces(realize, loop):
        return f"the block {block.name} reduces over it"
    axes = zip(block.iter_vars, realize.values, strict=True)
    spatial = [value for axis, value in axes if axis.kind is IterKind.SPATIAL]
    if extents[loop] != IntImm(1) and not separates(spatial, loop, extents, bounds):
        return f"its iterations are not seen to write different places in the block {block.name}"
    return ""
