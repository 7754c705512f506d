"""Tiles of factors as threads read them from global memory.

Which element of an image a tile holds follows from the positions of a column and of a term.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from relay2relax.backends.c.schedule.loops import unrolled, vectorized
from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.factors import Parts
from relay2relax.backends.gpu.kernel import ROLLED, ZERO, barrier, buffer, count, quotient, unravel
from relay2relax.backends.gpu.tiles import Move, Tile
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Buffer,
    IntImm,
    PrimExpr,
    Var,
    binary,
    const,
    if_then_else,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Seq, Stmt
from relay2relax.tir.ir.visit import substitute


@dataclass(frozen=True, slots=True)
class Factor:
    """A factor over ``axes`` of its own and those of the sum, in tiles of ``size`` of the former.

    ``ahead`` are the elements that a thread has read of the next tile.
    """

    value: PrimExpr
    axes: tuple[Axis, ...]
    size: int
    move: Move
    ahead: Buffer


_Held = TypeVar("_Held", bound=Factor)


def read_ahead(name: str, dtype: str, size: int, tile: Tile, move: Move) -> Buffer:
    """Return the memory of a thread for its part of a tile of ``size`` places."""
    many = -(-size * tile.depth // tile.threads)
    return buffer(f"{name}_ahead", (max(many, move.width),), dtype, "local")


def blocks_of(parts: Parts, tile: Tile) -> tuple[Axis, ...]:
    """Return the axes of the blocks of a product: those of its batch, then tiles of rows and of
    columns.
    """
    rows = Axis(Var("row_tile"), quotient(count(parts.rows), tile.rows))
    return (*parts.batch, rows, Axis(Var("column_tile"), quotient(count(parts.columns), tile.columns)))


def block_at(
    block: PrimExpr, blocks: Sequence[Axis], tile: Tile
) -> tuple[dict[Var, PrimExpr], tuple[PrimExpr, PrimExpr]]:
    """Return where a block of :func:`blocks_of` is in the batch, and at which row and column its
    tile begins.
    """
    at = unravel(block, blocks)
    *batch, rows, columns = blocks
    begins = (binary("*", at[rows.var], IntImm(tile.rows)), binary("*", at[columns.var], IntImm(tile.columns)))
    return {axis.var: at[axis.var] for axis in batch}, begins


@dataclass(frozen=True, slots=True)
class Reader:
    """Reads tiles: ``number`` is that of a thread in its block, ``batch`` where the block is."""

    parts: Parts
    tile: Tile
    number: PrimExpr
    batch: Mapping[Var, PrimExpr]

    def pipelined(
        self,
        factors: Sequence[tuple[_Held, PrimExpr]],
        store: Callable[[_Held, PrimExpr], Stmt],
        multiply: Callable[[PrimExpr], Stmt],
    ) -> tuple[Stmt, ...]:
        """Return the products of all tiles of ``factors``, which begin where each says.

        Of two tiles in shared memory, ``multiply`` takes one, and ``store`` fills the other with
        what was read meanwhile.
        """
        depth = quotient(count(self.parts.terms), self.tile.depth)
        step = Var("step")
        following = binary("+", step, IntImm(1))
        more = binary("<", following, depth)
        reads = Seq(tuple(self.load(factor, begin, following) for factor, begin in factors))
        stores = Seq(tuple(store(factor, binary("%", following, IntImm(2))) for factor, _ in factors))
        loop = Seq((If(more, reads), multiply(binary("%", step, IntImm(2))), If(more, stores), barrier()))
        return (
            *(self.load(factor, begin, ZERO) for factor, begin in factors),
            *(store(factor, ZERO) for factor, _ in factors),
            barrier(),
            For(step, depth, loop, annotations=ROLLED),
        )

    def moved(self, factor: Factor, body: Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt]) -> Stmt:
        """Return ``body`` for what a thread moves: the number of a part, and the term and the place
        of its first element.
        """
        move, depth, threads = factor.move, self.tile.depth, self.tile.threads
        whole = factor.size * depth // move.width
        many = -(-whole // threads)

        def one(part: PrimExpr) -> Stmt:
            number = binary("+", binary("*", part, IntImm(threads)), self.number)
            if move.deep:
                quads = IntImm(depth // move.width)
                term = binary("*", binary("%", number, quads), IntImm(move.width))
                stmt = body(part, term, self.line(move, binary("//", number, quads)))
            else:
                quads = IntImm(factor.size // move.width)
                place = binary("*", binary("%", number, quads), IntImm(move.width))
                stmt = body(part, self.line(move, binary("//", number, quads)), place)
            return If(binary("<", number, IntImm(whole)), stmt) if whole % threads else stmt

        return one(ZERO) if many == 1 else unrolled(many, one, "part")

    def line(self, move: Move, number: PrimExpr) -> PrimExpr:
        """Return the line of a tile that threads move as the ``number``-th: where two are stored at
        once, those that begin in other banks.
        """
        if not move.mixed:
            return number
        eight, one = binary("//", number, IntImm(8)), binary("%", number, IntImm(8))
        halves = binary("+", binary("//", one, IntImm(2)), binary("*", binary("%", one, IntImm(2)), IntImm(4)))
        return binary("+", binary("*", eight, IntImm(8)), halves)

    def load(self, factor: Factor, begin: PrimExpr, step: PrimExpr) -> Stmt:
        """Return the reads of a tile."""
        move = factor.move

        def one(part: PrimExpr, term: PrimExpr, place: PrimExpr) -> Stmt:
            asked = self.inside(factor, binary("+", begin, place), step, term)
            first = binary("*", part, IntImm(move.width))

            def element(lane: PrimExpr) -> Stmt:
                along, beside = (binary("+", term, lane), place) if move.deep else (term, binary("+", place, lane))
                value = self.value(factor, binary("+", begin, beside), step, along)
                if asked and not move.whole:
                    inside = self.inside(factor, binary("+", begin, beside), step, along)
                    value = if_then_else(logical_and(*inside), value, const(0, value.dtype))
                return BufferStore(factor.ahead, (binary("+", first, lane),), value)

            if move.width == 1:
                return element(ZERO)
            if not move.whole:
                return unrolled(move.width, element, "lane")
            vector = vectorized(move.width, element, "lane")
            if not asked:
                return vector
            zero = const(0, factor.value.dtype)
            none = vectorized(move.width, lambda lane: BufferStore(factor.ahead, (binary("+", first, lane),), zero))
            return If(logical_and(*asked), vector, none)

        return self.moved(factor, one)

    def value(self, factor: Factor, place: PrimExpr, step: PrimExpr, term: PrimExpr) -> PrimExpr:
        """Return the element of a factor at a place and a term of a step."""
        known = {**self.batch, **unravel(place, factor.axes), **self.term(step, term)}
        return substitute(factor.value, known)

    def term(self, step: PrimExpr, term: PrimExpr) -> dict[Var, PrimExpr]:
        """Return the values of the axes of the sum.

        Where tiles are parts of the last one, the others follow from the step alone.
        """
        depth, terms = self.tile.depth, self.parts.terms
        last = terms[-1]
        extent = static(last.extent)
        if extent is None or extent % depth or len(terms) == 1:
            return unravel(binary("+", binary("*", step, IntImm(depth)), term), terms)
        part = Axis(last.var, IntImm(extent // depth))
        found = unravel(step, (*terms[:-1], part))
        return {**found, last.var: binary("+", binary("*", found[last.var], IntImm(depth)), term)}

    def inside(self, factor: Factor, place: PrimExpr, step: PrimExpr, term: PrimExpr) -> list[PrimExpr]:
        """Return the conditions under which an element is one of the factor's."""
        position = binary("+", binary("*", step, IntImm(self.tile.depth)), term)
        bounds = ((place, factor.axes, factor.size), (position, self.parts.terms, self.tile.depth))
        return [
            binary("<", one, count(axes))
            for one, axes, size in bounds
            if static(count(axes)) is None or (static(count(axes)) or 0) % size
        ]
