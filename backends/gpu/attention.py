"""Attention as one kernel: scores, softmax and the sum of values, and no score in global memory.

A block has 32 rows, of which eight threads have one each. It goes through the columns in tiles of
32: their scores, the largest score of each row so far, exponentials, and the sum of values with
them. Where a later tile has a larger score, what was summed before is scaled down to it, so that
rows may be of any length.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.schedule.loops import FlatViews, unrolled, vectorized
from relay2relax.backends.c.stages import Axis, Blocks, Stage
from relay2relax.backends.gpu.attention_fusion import (
    LONGER,
    SCORES_LINE,
    TILE,
    Softmax,
    softmax_of,
    terms_of,
    tile_sizes,
)
from relay2relax.backends.gpu.kernel import (
    ROLLED,
    ZERO,
    across,
    barrier,
    buffer,
    count,
    finish,
    first,
    fold,
    launch,
    quotient,
    unravel,
)
from relay2relax.backends.gpu.tiles import QUAD, lies
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    Var,
    binary,
    const,
    if_then_else,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Seq, Stmt
from relay2relax.tir.ir.visit import loads, substitute

_THREADS = 256
# Threads of a row, and columns of a tile that each has.
_BESIDE = _THREADS // TILE
_COLUMNS = TILE // _BESIDE


def attention(blocks: Blocks, flat: FlatViews) -> Stmt:
    """Return the kernel of blocks that ``attention_fusion.py`` made."""
    sizes = tile_sizes(blocks)
    assert sizes is not None
    product, *rows, second = flat.flatten(blocks.stages())
    softmax = softmax_of(rows, blocks.axes, product.target, flat=True)
    assert softmax is not None
    return _Writer(blocks, product, second, softmax, *sizes).kernel()


@dataclass(frozen=True, slots=True)
class _Tile:
    """Lines of a factor in shared memory: ``value`` over the axes of ``lines`` and ``along``."""

    value: PrimExpr
    lines: tuple[Axis, ...]
    along: tuple[Axis, ...]
    length: int
    memory: Buffer

    @property
    def line(self) -> int:
        return self.length + LONGER

    @property
    def turned(self) -> bool:
        """Whether neighbours in global memory are in lines side by side."""
        index = loads(self.value)[0].indices[0]
        along, beside = (coefficient(index, axes[-1].var) == 1 for axes in (self.along, self.lines))
        return beside and not along


class _Writer:
    """Writes what the threads of a block do."""

    def __init__(
        self, blocks: Blocks, product: Stage, second: Stage, softmax: Softmax, terms: int, columns: int
    ) -> None:
        own = {axis.var for axis in blocks.axes}
        self.product, self.second, self.softmax = product, second, softmax
        self.batch = tuple(axis for axis in blocks.axes[:-1] if axis.extent != IntImm(1))
        self.still: dict[Var, PrimExpr] = {axis.var: ZERO for axis in blocks.axes[:-1] if axis not in self.batch}
        self.rows = (blocks.axes[-1],)
        self.key = tuple(axis for axis in product.axes if axis.var not in own)
        self.columns = terms_of(second)
        self.out = tuple(axis for axis in second.axes if axis.var not in own)
        query, key = self.factors(product, blocks.axes[-1].var)
        self.query = _tile("query", query, self.rows, terms_of(product), terms)
        self.keys = _tile("keys", key, self.key, terms_of(product), terms)
        self.values = _tile("values", self.taken(second), self.columns, self.out, columns)
        self.scores = buffer("scores", (TILE * SCORES_LINE,), "float32", "shared")
        self.sums = buffer("sums", (columns // _BESIDE,), "float32", "local")
        self.own = {name: buffer(name, (1,), "float32", "local") for name in ("greatest", "whole", "scale", "part")}
        self.score = buffer("score", (_COLUMNS,), "float32", "local")
        self.left = buffer("left", (QUAD,), "float32", "local")
        self.right = buffer("right", (QUAD,), "float32", "local")

    def factors(self, stage: Stage, row: Var) -> tuple[PrimExpr, PrimExpr]:
        """Return the factor that changes along rows, and the other one."""
        assert stage.reduction is not None
        source = stage.reduction.source
        assert isinstance(source, Binary)
        moving = any(coefficient(load.indices[0], row) != 0 for load in loads(source.a))
        return (source.a, source.b) if moving else (source.b, source.a)

    def taken(self, stage: Stage) -> PrimExpr:
        """Return the values of which a sum with weights is taken."""
        assert stage.reduction is not None
        source = stage.reduction.source
        assert isinstance(source, Binary)
        local = isinstance(source.a, BufferLoad) and source.a.buffer.scope == "local"
        return source.b if local else source.a

    def kernel(self) -> Stmt:
        tiles = (*self.batch, Axis(Var("row_tile"), quotient(self.rows[0].extent, TILE)))
        shared = [self.query.memory, self.keys.memory, self.values.memory, self.scores]
        own = [self.sums, *self.own.values(), self.score, self.left, self.right]
        return launch(
            count(tiles), [_THREADS], lambda block, names: self.body(block, names[0], tiles), shared=shared, own=own
        )

    def body(self, block: Var, thread: Var, tiles: Sequence[Axis]) -> Stmt:
        at = unravel(block, tiles)
        self.thread = thread
        self.known = {**self.still, **{axis.var: at[axis.var] for axis in self.batch}}
        self.begin = binary("*", at[tiles[-1].var], IntImm(TILE))
        self.line, self.beside = binary("//", thread, IntImm(_BESIDE)), binary("%", thread, IntImm(_BESIDE))
        self.row = binary("+", self.begin, self.line)
        step = Var("step")
        begin = binary("*", step, IntImm(TILE))
        loop = Seq(
            (
                self.fill(self.keys, begin),
                self.fill(self.values, begin),
                barrier(),
                self.multiply(),
                self.weigh(begin),
                barrier(),
                self.add(),
                barrier(),
            )
        )
        zero = const(0, "float32")
        return Seq(
            (
                self.fill(self.query, self.begin),
                self.put("greatest", self.softmax.identity),
                self.put("whole", zero),
                self.each_sum(lambda i: zero),
                For(step, quotient(count(self.columns), TILE), loop),
                self.results(),
            )
        )

    def put(self, name: str, value: PrimExpr) -> Stmt:
        return BufferStore(self.own[name], (ZERO,), value)

    def of(self, name: str) -> PrimExpr:
        return first(self.own[name])

    def each_sum(self, value: Callable[[PrimExpr], PrimExpr]) -> Stmt:
        size = static(self.sums.shape[0]) or 0
        return unrolled(size, lambda i: BufferStore(self.sums, (i,), value(i)), "i")

    def fill(self, tile: _Tile, begin: PrimExpr) -> Stmt:
        """Return the stores of a tile; what lies beyond a factor is 0."""
        many = TILE * tile.length // _THREADS

        def one(part: PrimExpr) -> Stmt:
            number = binary("+", binary("*", part, IntImm(_THREADS)), self.thread)
            if tile.turned:
                # Eight lines of four elements: a sector of each, and all banks.
                group, lane = binary("//", number, IntImm(TILE)), binary("%", number, IntImm(TILE))
                line = binary("+", binary("*", binary("%", group, IntImm(4)), IntImm(8)), binary("%", lane, IntImm(8)))
                column = binary(
                    "+", binary("*", binary("//", group, IntImm(4)), IntImm(4)), binary("//", lane, IntImm(8))
                )
            else:
                line, column = binary("//", number, IntImm(tile.length)), binary("%", number, IntImm(tile.length))
            place = binary("+", begin, line)
            values = {**self.known, **unravel(place, tile.lines), **unravel(column, tile.along)}
            value = substitute(tile.value, values)
            asked = _below(place, count(tile.lines), TILE) + _below(column, count(tile.along), tile.length)
            if asked:
                value = if_then_else(logical_and(*asked), value, const(0, value.dtype))
            return BufferStore(tile.memory, (binary("+", binary("*", line, IntImm(tile.line)), column),), value)

        return unrolled(many, one, "part")

    def multiply(self) -> Stmt:
        """Return the products of a row and the columns of a thread."""
        terms = Var("terms")
        begin = binary("*", terms, IntImm(QUAD))

        def column(c: PrimExpr) -> Stmt:
            line = binary("+", binary("*", c, IntImm(_BESIDE)), self.beside)
            return Seq((self.read(self.right, self.keys, line, begin), self.added(self.score, c)))

        loop = Seq((self.read(self.left, self.query, self.line, begin), unrolled(_COLUMNS, column, "column")))
        zero = const(0, "float32")
        return Seq(
            (
                unrolled(_COLUMNS, lambda c: BufferStore(self.score, (c,), zero), "column"),
                For(terms, IntImm(self.query.length // QUAD), loop, annotations=ROLLED),
            )
        )

    def read(self, into: Buffer, tile: _Tile, line: PrimExpr, column: PrimExpr) -> Stmt:
        """Return the reads of four neighbours of a tile."""
        begin = binary("+", binary("*", line, IntImm(tile.line)), column)
        return vectorized(
            QUAD, lambda lane: BufferStore(into, (lane,), BufferLoad(tile.memory, (binary("+", begin, lane),))), "lane"
        )

    def added(self, sums: Buffer, place: PrimExpr) -> Stmt:
        def one(lane: PrimExpr) -> Stmt:
            value = binary("*", BufferLoad(self.left, (lane,)), BufferLoad(self.right, (lane,)))
            return BufferStore(sums, (place,), binary("+", BufferLoad(sums, (place,)), value))

        return unrolled(QUAD, one, "lane")

    def weigh(self, begin: PrimExpr) -> Stmt:
        """Return what makes weights of scores, and scales what was summed before."""
        greatest, whole, scale, part = (self.own[name] for name in ("greatest", "whole", "scale", "part"))

        def place(c: PrimExpr) -> PrimExpr:
            return binary("+", binary("*", c, IntImm(_BESIDE)), self.beside)

        def largest(c: PrimExpr) -> Stmt:
            column = binary("+", begin, place(c))
            value = self.scored(column, BufferLoad(self.score, (c,)))
            asked = _below(self.row, count(self.rows), TILE) + _below(column, count(self.columns), TILE)
            if asked:
                value = if_then_else(logical_and(*asked), value, self.softmax.identity)
            return Seq((BufferStore(self.score, (c,), value), fold(greatest, "max", BufferLoad(self.score, (c,)))))

        def weight(c: PrimExpr) -> Stmt:
            value = _exp(binary("-", BufferLoad(self.score, (c,)), first(greatest)))
            asked = _below(binary("+", begin, place(c)), count(self.columns), TILE)
            if asked:
                value = if_then_else(logical_and(*asked), value, const(0, "float32"))
            at = binary("+", binary("*", self.line, IntImm(SCORES_LINE)), place(c))
            held = BufferLoad(self.score, (c,))
            return Seq(
                (BufferStore(self.score, (c,), value), BufferStore(self.scores, (at,), held), fold(part, "+", held))
            )

        return Seq(
            (
                self.put("scale", first(greatest)),
                unrolled(_COLUMNS, largest, "column"),
                across(greatest, "max", _BESIDE),
                self.put("scale", _exp(binary("-", first(scale), first(greatest)))),
                self.put("part", const(0, "float32")),
                unrolled(_COLUMNS, weight, "column"),
                across(part, "+", _BESIDE),
                self.put("whole", binary("+", binary("*", first(whole), first(scale)), first(part))),
                self.each_sum(lambda i: binary("*", BufferLoad(self.sums, (i,)), first(scale))),
            )
        )

    def scored(self, column: PrimExpr, total: PrimExpr) -> PrimExpr:
        """Return what softmax takes the exponential of, for a sum of products."""
        reduction = self.product.reduction
        assert reduction is not None
        known = {**self.known, self.rows[0].var: self.row}
        score = substitute(self.product.value, {**known, **unravel(column, self.key), reduction.result: total})
        values = {**known, self.softmax.column: column, self.softmax.score: score}
        return substitute(self.softmax.value, values)

    def add(self) -> Stmt:
        """Return the sums of values with weights."""
        quads = Var("quads")
        begin = binary("*", quads, IntImm(QUAD))
        weights = _Tile(self.values.value, (), (), TILE + LONGER, self.scores)
        groups = self.values.length // TILE

        def one(j: PrimExpr) -> Stmt:
            def group(g: PrimExpr) -> Stmt:
                column = binary("+", binary("*", g, IntImm(TILE)), binary("*", self.beside, IntImm(QUAD)))

                def lane(place: PrimExpr) -> Stmt:
                    at = binary("+", binary("*", g, IntImm(QUAD)), place)
                    value = binary("*", BufferLoad(self.left, (j,)), BufferLoad(self.right, (place,)))
                    return BufferStore(self.sums, (at,), binary("+", BufferLoad(self.sums, (at,)), value))

                read = self.read(self.right, self.values, binary("+", begin, j), column)
                return Seq((read, unrolled(QUAD, lane, "lane")))

            return group(ZERO) if groups == 1 else unrolled(groups, group, "group")

        loop = Seq((self.read(self.left, weights, self.line, begin), unrolled(QUAD, one, "j")))
        return For(quads, IntImm(TILE // QUAD), loop)

    def results(self) -> Stmt:
        """Return the stores of the results: four neighbours at once where they lie so."""
        extent = count(self.out)
        inside = _below(self.row, count(self.rows), TILE)
        stored = BufferLoad(self.second.target, self.second.indices)
        others = [*self.batch, *self.rows]
        whole = len(self.out) == 1 and lies(stored, self.out[-1], [*others, *self.out])

        def group(g: PrimExpr) -> Stmt:
            column = binary("+", binary("*", g, IntImm(TILE)), binary("*", self.beside, IntImm(QUAD)))

            def one(lane: PrimExpr) -> Stmt:
                at = binary("+", binary("*", g, IntImm(QUAD)), lane)
                place = binary("+", column, lane)
                value = binary("/", BufferLoad(self.sums, (at,)), self.of("whole"))
                known = {**self.known, self.rows[0].var: self.row, **unravel(place, self.out)}
                store = finish(self.second, value, known)
                asked = [] if whole else _below(place, extent, self.values.length)
                return If(logical_and(*asked), store) if asked else store

            stmt = vectorized(QUAD, one, "lane") if whole else unrolled(QUAD, one, "lane")
            asked = inside + (_below(column, extent, self.values.length) if whole else [])
            return If(logical_and(*asked), stmt) if asked else stmt

        return unrolled(self.values.length // TILE, group, "group")


def _tile(name: str, value: PrimExpr, lines: tuple[Axis, ...], along: tuple[Axis, ...], length: int) -> _Tile:
    memory = buffer(f"{name}_tile", (TILE * (length + LONGER),), "float32", "shared")
    return _Tile(value, lines, along, length, memory)


def _below(place: PrimExpr, extent: PrimExpr, step: int) -> list[PrimExpr]:
    """Return the condition under which a place is inside; a multiple of ``step`` needs none."""
    known = static(extent)
    return [] if known is not None and known % step == 0 else [binary("<", place, extent)]


def _exp(value: PrimExpr) -> PrimExpr:
    return Call("exp", (value,), value.dtype)
