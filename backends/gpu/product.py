"""Kernels of sums of products: tiles of both factors in shared memory, two of each in turn.

A convolution is a product, too: which element of an image a tile holds follows from the positions
of a column and of a term. While a block multiplies one pair of tiles, its threads read the next
from global memory into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relay2relax.backends.c.schedule.elementwise import collapse
from relay2relax.backends.c.schedule.loops import unrolled, vectorized
from relay2relax.backends.c.stages import Axis, Reduction, Stage
from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.factors import Parts, factors_of
from relay2relax.backends.gpu.kernel import ZERO, buffer, count, finish, launch, unravel
from relay2relax.backends.gpu.reading import Factor, Reader, block_at, blocks_of, read_ahead
from relay2relax.backends.gpu.tensor_cores import tensor_product
from relay2relax.backends.gpu.tiles import QUAD, Tile, WarpTile, best_tile, move_of
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Buffer,
    BufferLoad,
    IntImm,
    PrimExpr,
    Var,
    binary,
    cast,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Seq, Stmt


@dataclass(frozen=True, slots=True)
class _Factor(Factor):
    """A factor and what is done with it.

    ``tile`` are two tiles in shared memory, ``values`` what a thread multiplies. ``threads`` lie
    side by side along the tile; each has groups of four neighbours.
    """

    threads: int
    tile: Buffer
    values: Buffer

    @property
    def groups(self) -> int:
        return self.size // (self.threads * QUAD)


def product(stage: Stage, device: Device) -> Stmt | None:
    """Return the kernel of a flattened stage that multiplies matrices, None where it does not."""
    stage = collapse(stage)
    parts = factors_of(stage)
    own = stage.reduction
    if parts is None or own is None:
        return None
    tile = best_tile(parts, device)
    if isinstance(tile, WarpTile):
        return tensor_product(stage, parts, tile)
    left = _factor("left", parts.left, parts.rows, tile.rows, tile.tall, tile, parts)
    right = _factor("right", parts.right, parts.columns, tile.columns, tile.wide, tile, parts)
    sums = buffer("sums", (tile.rows // tile.tall, tile.columns // tile.wide), own.result.dtype, "local")
    blocks = blocks_of(parts, tile)

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        batch, begins = block_at(block, blocks, tile)
        return _Writer(stage, own, parts, tile, (left, right), sums, batch, begins, names).body()

    memory = [left.ahead, right.ahead, left.values, right.values, sums]
    return launch(count(blocks), [tile.wide, tile.tall], body, shared=[left.tile, right.tile], own=memory)


def _factor(
    name: str, value: PrimExpr, axes: tuple[Axis, ...], size: int, threads: int, tile: Tile, parts: Parts
) -> _Factor:
    dtype = value.dtype
    move = move_of(value, axes, parts)
    ahead = read_ahead(name, dtype, size, tile, move)
    held = buffer(f"{name}_tile", (2, tile.depth, size), dtype, "shared")
    values = buffer(f"{name}_values", (size // threads,), dtype, "local")
    return _Factor(value, axes, size, move, ahead, threads, held, values)


class _Writer:
    """Writes what the threads of a block do."""

    def __init__(
        self,
        stage: Stage,
        own: Reduction,
        parts: Parts,
        tile: Tile,
        factors: tuple[_Factor, _Factor],
        sums: Buffer,
        batch: Mapping[Var, PrimExpr],
        begins: tuple[PrimExpr, PrimExpr],
        names: Sequence[Var],
    ) -> None:
        self.stage = stage
        self.own = own
        self.tile = tile
        self.factors = tuple(zip(factors, begins, strict=True))
        self.sums = sums
        self.batch = batch
        self.column, self.row = names
        number = binary("+", binary("*", self.row, IntImm(tile.wide)), self.column)
        self.reader = Reader(parts, tile, number, batch)

    def body(self) -> Stmt:
        begin = self.each(lambda i, j: BufferStore(self.sums, (i, j), self.own.identity))
        return Seq((begin, *self.reader.pipelined(self.factors, self.store, self.multiply), self.results()))

    def each(self, body: Callable[[Var, Var], Stmt]) -> Stmt:
        rows, columns = (static(extent) or 0 for extent in self.sums.shape)
        return unrolled(rows, lambda i: unrolled(columns, lambda j: body(i, j), "j"), "i")

    def turned(self, factor: _Factor, place: PrimExpr, term: PrimExpr) -> PrimExpr:
        """Return where a tile has a place: rows that threads store along terms begin in different
        banks.
        """
        if not factor.move.deep:
            return place
        shift = binary("*", binary("//", term, IntImm(QUAD)), IntImm(32 * QUAD // self.tile.depth))
        return binary("%", binary("+", place, shift), IntImm(factor.size))

    def store(self, factor: _Factor, which: PrimExpr) -> Stmt:
        """Return the stores of a tile."""
        move = factor.move

        def one(part: PrimExpr, term: PrimExpr, place: PrimExpr) -> Stmt:
            first = binary("*", part, IntImm(move.width))

            def element(lane: PrimExpr) -> Stmt:
                held = BufferLoad(factor.ahead, (binary("+", first, lane),))
                if move.deep:
                    along = binary("+", term, lane)
                    return BufferStore(factor.tile, (which, along, self.turned(factor, place, term)), held)
                return BufferStore(factor.tile, (which, term, binary("+", place, lane)), held)

            if move.width == 1:
                return element(ZERO)
            if move.deep:
                return unrolled(move.width, element, "lane")
            return vectorized(move.width, element, "lane")

        return self.reader.moved(factor, one)

    def multiply(self, which: PrimExpr) -> Stmt:
        """Return the products of a pair of tiles."""
        (left, _), (right, _) = self.factors
        term = Var("term")

        def read(factor: _Factor, own: Var) -> Stmt:
            def group(i: PrimExpr) -> Stmt:
                place = binary("*", binary("+", binary("*", i, IntImm(factor.threads)), own), IntImm(QUAD))
                begin = self.turned(factor, place, term)

                def element(lane: PrimExpr) -> Stmt:
                    held = BufferLoad(factor.tile, (which, term, binary("+", begin, lane)))
                    return BufferStore(factor.values, (binary("+", binary("*", i, IntImm(QUAD)), lane),), held)

                return vectorized(QUAD, element, "lane")

            return group(ZERO) if factor.groups == 1 else unrolled(factor.groups, group, "group")

        def update(i: Var, j: Var) -> Stmt:
            a, b = BufferLoad(left.values, (i,)), BufferLoad(right.values, (j,))
            old = BufferLoad(self.sums, (i, j))
            return BufferStore(self.sums, (i, j), binary("+", old, cast(old.dtype, binary("*", a, b))))

        body = Seq((read(left, self.row), read(right, self.column), self.each(update)))
        return For(term, IntImm(self.tile.depth), body)

    def results(self) -> Stmt:
        """Return the stores of the results."""

        def one(i: Var, j: Var) -> Stmt:
            asked: list[PrimExpr] = []
            known = dict(self.batch)
            for (factor, begin), own, number in zip(self.factors, (self.row, self.column), (i, j), strict=True):
                group = binary("*", binary("//", number, IntImm(QUAD)), IntImm(factor.threads))
                inner = binary(
                    "+", binary("*", binary("+", group, own), IntImm(QUAD)), binary("%", number, IntImm(QUAD))
                )
                place = binary("+", begin, inner)
                extent = count(factor.axes)
                if static(extent) is None or (static(extent) or 0) % factor.size:
                    asked.append(binary("<", place, extent))
                known |= unravel(place, factor.axes)
            store = finish(self.stage, BufferLoad(self.sums, (i, j)), known)
            return If(logical_and(*asked), store) if asked else store

        return self.each(one)
