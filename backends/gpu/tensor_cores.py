"""Products of 16-bit numbers on tensor cores, with sums of 32 bits.

Tiles lie in shared memory in the order of global memory, so that neighbours stay neighbours; each
line is eight elements longer, which lets a warp read eight lines of a fragment without bank
conflicts. A warp multiplies fragments of 16 by 16; its sums go through shared memory to whoever
stores them, for nobody says which thread has which.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay2relax.backends.c.schedule.loops import unrolled, vectorized
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.backends.gpu.factors import Parts, narrowed
from relay2relax.backends.gpu.kernel import WARP, ZERO, barrier, buffer, count, finish, launch, unravel
from relay2relax.backends.gpu.reading import Factor, Reader, block_at, blocks_of, read_ahead
from relay2relax.backends.gpu.tiles import QUAD, Move, WarpTile, lies, move_of
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Buffer,
    BufferData,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    binary,
    const,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, Evaluate, If, Seq, Stmt
from relay2relax.tir.normalize.fragments import SIDE

_SIZES = (IntImm(SIDE), IntImm(SIDE), IntImm(SIDE))
# Elements that a thread moves at once, and by which lines are longer: 16 bytes.
_WIDE = 8
# A line of sums in shared memory: neither pairs of a fragment nor two lines that are read at once
# lie in one bank.
_STAGE = 24


@dataclass(frozen=True, slots=True)
class _Half(Factor):
    """A factor, its tiles, and the fragments that a warp has of it."""

    tile: Buffer
    fragments: Buffer
    line: int

    @property
    def elements(self) -> int:
        """Elements of one tile."""
        return (static(self.tile.shape[0]) or 0) // 2


def tensor_product(stage: Stage, parts: Parts, tile: WarpTile) -> Stmt:
    """Return the kernel of a collapsed stage that multiplies ``parts``."""
    narrow = Parts(parts.batch, parts.rows, parts.columns, parts.terms, narrowed(parts.left), narrowed(parts.right))
    down, across = tile.rows // SIDE // tile.tall, tile.columns // SIDE // tile.wide
    left = _half("left", narrow.left, parts.rows, tile.rows, down, tile, narrow)
    right = _half("right", narrow.right, parts.columns, tile.columns, across, tile, narrow)
    sums = _fragments("sums", "float32", "accumulator", down * across)
    warps = tile.tall * tile.wide
    staged = buffer("staged", (warps * SIDE * _STAGE,), "float32", "shared")
    blocks = blocks_of(parts, tile)

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        batch, begins = block_at(block, blocks, tile)
        reader = Reader(narrow, tile, names[0], batch)
        return _Warps(stage, reader, (left, right), sums, staged, begins, names[0]).body()

    own = [left.ahead, right.ahead, left.fragments, right.fragments, sums]
    return launch(count(blocks), [tile.threads], body, shared=[left.tile, right.tile, staged], own=own)


def _half(
    name: str, value: PrimExpr, axes: tuple[Axis, ...], size: int, fragments: int, tile: WarpTile, parts: Parts
) -> _Half:
    move = _move(value, axes, size, tile, parts)
    lines, length = (size, tile.depth) if move.deep else (tile.depth, size)
    line = length + _WIDE
    return _Half(
        value,
        axes,
        size,
        move,
        read_ahead(name, value.dtype, size, tile, move),
        buffer(f"{name}_tile", (2 * lines * line,), value.dtype, "shared"),
        _fragments(f"{name}_part", value.dtype, "matrix_a" if name == "left" else "matrix_b", fragments),
        line,
    )


def _fragments(name: str, dtype: str, scope: str, number: int) -> Buffer:
    return buffer(name, (number * SIDE * SIDE,), dtype, f"wmma.{scope}")


def _move(value: PrimExpr, axes: Sequence[Axis], size: int, tile: WarpTile, parts: Parts) -> Move:
    """Return how the elements of a factor come into its tile, which keeps their order."""
    deep = move_of(value, axes, parts).deep
    along = parts.terms[-1] if deep else axes[-1]
    everything = [*axes, *parts.terms, *parts.batch]
    width = next((one for one in (_WIDE, QUAD) if lies(value, along, everything, one)), 1)
    return Move(width, deep, width > 1, mixed=(tile.depth if deep else size) == 32)


class _Warps:
    """Writes what the warps of a block do."""

    def __init__(
        self,
        stage: Stage,
        reader: Reader,
        factors: tuple[_Half, _Half],
        sums: Buffer,
        staged: Buffer,
        begins: tuple[PrimExpr, PrimExpr],
        thread: Var,
    ) -> None:
        self.stage = stage
        self.reader = reader
        self.tile = reader.tile
        self.left, self.right = factors
        self.factors = tuple(zip(factors, begins, strict=True))
        self.sums = sums
        self.staged = staged
        self.lane = binary("%", thread, IntImm(WARP))
        self.warp = binary("//", thread, IntImm(WARP))
        self.down, self.across = (
            size // SIDE // warps
            for size, warps in ((self.tile.rows, self.tile.tall), (self.tile.columns, self.tile.wide))
        )
        # Where the warp's part of the tile begins.
        self.row = binary("*", binary("//", self.warp, IntImm(self.tile.wide)), IntImm(self.down * SIDE))
        self.column = binary("*", binary("%", self.warp, IntImm(self.tile.wide)), IntImm(self.across * SIDE))

    def body(self) -> Stmt:
        number, zero = self.down * self.across, const(0, "float32")
        begin = unrolled(number, lambda i: _call("tvm_fill_fragment", self.sums, *_SIZES, i, zero))
        return Seq((begin, *self.reader.pipelined(self.factors, self.store, self.multiply), self.results()))

    def store(self, factor: _Half, which: PrimExpr) -> Stmt:
        """Return the stores of a tile."""
        move = factor.move

        def one(part: PrimExpr, term: PrimExpr, place: PrimExpr) -> Stmt:
            line, column = (place, term) if move.deep else (term, place)
            begin = binary("+", binary("*", line, IntImm(factor.line)), column)
            begin = binary("+", binary("*", which, IntImm(factor.elements)), begin)
            first = binary("*", part, IntImm(move.width))

            def element(lane: PrimExpr) -> Stmt:
                held = BufferLoad(factor.ahead, (binary("+", first, lane),))
                return BufferStore(factor.tile, (binary("+", begin, lane),), held)

            return element(ZERO) if move.width == 1 else vectorized(move.width, element, "lane")

        return self.reader.moved(factor, one)

    def multiply(self, which: PrimExpr) -> Stmt:
        """Return the products of a pair of tiles."""

        def read(factor: _Half, begin: PrimExpr, number: int, term: PrimExpr) -> Stmt:
            def one(i: PrimExpr) -> Stmt:
                place = binary("+", begin, binary("*", i, IntImm(SIDE)))
                line, column = (place, term) if factor.move.deep else (term, place)
                offset = binary("+", binary("*", line, IntImm(factor.line)), column)
                offset = binary("+", binary("*", which, IntImm(factor.elements)), offset)
                # TVM takes a read from the address of an element for one without effect.
                pointer = Call(
                    "tvm_access_ptr",
                    (
                        Call("type_annotation", (), factor.tile.dtype),
                        BufferData(factor.tile),
                        offset,
                        factor.tile.shape[0],
                        IntImm(1),
                    ),
                    "handle",
                )
                # Rows of the left factor, columns of the right one.
                by_rows = factor.move.deep == (factor is self.left)
                layout = StringImm("row_major" if by_rows else "col_major")
                return _call("tvm_load_matrix_sync", factor.fragments, *_SIZES, i, pointer, IntImm(factor.line), layout)

            return unrolled(number, one, "fragment")

        def terms(number: PrimExpr) -> Stmt:
            term = binary("*", number, IntImm(SIDE))

            def update(i: PrimExpr, j: PrimExpr) -> Stmt:
                own = binary("+", binary("*", i, IntImm(self.across)), j)
                sums, left, right = map(BufferData, (self.sums, self.left.fragments, self.right.fragments))
                return Evaluate(Call("tvm_mma_sync", (sums, own, left, i, right, j, sums, own), "int32"))

            return Seq(
                (
                    read(self.left, self.row, self.down, term),
                    read(self.right, self.column, self.across, term),
                    unrolled(self.down, lambda i: unrolled(self.across, lambda j: update(i, j), "j"), "i"),
                )
            )

        return unrolled(self.tile.depth // SIDE, terms, "part")

    def results(self) -> Stmt:
        """Return the stores of the results, fragment by fragment."""
        own = binary("*", self.warp, IntImm(SIDE * _STAGE))

        def fragment(i: PrimExpr, j: PrimExpr) -> Stmt:
            number = binary("+", binary("*", i, IntImm(self.across)), j)
            address = Call("address_of", (BufferLoad(self.staged, (own,)),), "handle")
            line, layout = IntImm(_STAGE), StringImm("row_major")
            put = _call("tvm_store_matrix_sync", self.sums, *_SIZES, number, address, line, layout)
            return Seq((put, barrier(), self.elements(i, j, own), barrier()))

        return unrolled(self.down, lambda i: unrolled(self.across, lambda j: fragment(i, j), "j"), "i")

    def elements(self, i: PrimExpr, j: PrimExpr, own: PrimExpr) -> Stmt:
        """Return the stores of a fragment: a warp has two lines at once, the second one behind the
        next.
        """
        column = binary("%", self.lane, IntImm(SIDE))

        def one(step: PrimExpr) -> Stmt:
            pair = binary("+", binary("*", binary("//", step, IntImm(2)), IntImm(4)), binary("%", step, IntImm(2)))
            row = binary("+", pair, binary("*", binary("//", self.lane, IntImm(SIDE)), IntImm(2)))
            inner = binary("+", own, binary("+", binary("*", row, IntImm(_STAGE)), column))
            known: dict[Var, PrimExpr] = dict(self.reader.batch)
            asked: list[PrimExpr] = []
            warps = ((self.row, i, row), (self.column, j, column))
            for (factor, begin), (first, number, beside) in zip(self.factors, warps, strict=True):
                place = binary("+", binary("+", first, binary("*", number, IntImm(SIDE))), beside)
                place = binary("+", begin, place)
                extent = count(factor.axes)
                if static(extent) is None or (static(extent) or 0) % factor.size:
                    asked.append(binary("<", place, extent))
                known |= unravel(place, factor.axes)
            store = finish(self.stage, BufferLoad(self.staged, (inner,)), known)
            return If(logical_and(*asked), store) if asked else store

        return unrolled(SIDE * SIDE // WARP, one, "step")


def _call(name: str, first: Buffer, *rest: PrimExpr) -> Stmt:
    return Evaluate(Call(name, (BufferData(first), *rest), "int32"))
