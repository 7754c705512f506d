"""Kernels of sums of products: tiles of both factors in shared memory, two of each in turn.

A convolution is a product, too: which element of an image a tile holds follows from the positions
of a column and of a term. While a block multiplies one pair of tiles, its threads read the next
from global memory into registers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.schedule.loops import unrolled
from relay2relax.backends.c.stages import Axis, Reduction, Stage
from relay2relax.backends.gpu.device import Device
from relay2relax.backends.gpu.kernel import ZERO, barrier, buffer, count, finish, launch, quotient, unravel
from relay2relax.core.dtype import is_float
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    IntImm,
    PrimExpr,
    Var,
    binary,
    cast,
    const,
    if_then_else,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Seq, Stmt
from relay2relax.tir.ir.visit import loads, substitute, variables

# Threads of a block along rows and columns, and terms of a tile.
_SIDE = 16
_DEPTH = 16
_LEAST = 8
# Rows and columns of a block's tile, those first that read least.
_TILES = ((128, 128), (128, 64), (64, 128), (64, 64), (64, 32), (32, 64), (32, 32), (16, 64), (64, 16), (16, 16))
_BANKS = 32


@dataclass(frozen=True, slots=True)
class _Factor:
    """A factor over ``axes`` of its own and those of the sum; ``deep``: it lies along the latter.

    ``tile`` are two tiles in shared memory, ``ahead`` the elements that a thread has read of the
    next; ``values`` those that it multiplies.
    """

    value: PrimExpr
    axes: tuple[Axis, ...]
    size: int
    deep: bool
    tile: Buffer
    ahead: Buffer
    values: Buffer


@dataclass(frozen=True, slots=True)
class _Parts:
    """A product: batches, rows and columns."""

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    left: PrimExpr
    right: PrimExpr


def product(stage: Stage, device: Device) -> Stmt | None:
    """Return the kernel of a flattened stage that multiplies matrices, None where it does not."""
    parts = _parts(stage)
    own = stage.reduction
    if parts is None or own is None:
        return None
    size = _tile(parts, device)
    left = _factor("left", parts.left, parts.rows, size[0], own)
    right = _factor("right", parts.right, parts.columns, size[1], own)
    sums = buffer("sums", (size[0] // _SIDE, size[1] // _SIDE), own.result.dtype, "local")
    blocks = (
        *parts.batch,
        Axis(Var("row_tile"), quotient(count(parts.rows), size[0])),
        Axis(Var("column_tile"), quotient(count(parts.columns), size[1])),
    )

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        at = unravel(block, blocks)
        begins = [binary("*", at[axis.var], IntImm(n)) for axis, n in zip(blocks[-2:], size, strict=True)]
        batch = {axis.var: at[axis.var] for axis in parts.batch}
        return _Writer(stage, own, left, right, sums, batch, (begins[0], begins[1]), names).body()

    memory = [left.ahead, right.ahead, left.values, right.values, sums]
    return launch(count(blocks), [_SIDE, _SIDE], body, shared=[left.tile, right.tile], own=memory)


def _parts(stage: Stage) -> _Parts | None:
    """Return what is multiplied with what."""
    own = stage.reduction
    if own is None or own.op != "+" or own.identity != const(0, own.result.dtype):
        return None
    source = own.source
    if not isinstance(source, Binary) or source.op != "*" or not (is_float(source.dtype) or source.dtype == "int32"):
        return None
    uses = [frozenset(variables(factor)) for factor in (source.a, source.b)]
    if not all(
        loads(factor) and use & {axis.var for axis in own.axes}
        for factor, use in zip((source.a, source.b), uses, strict=True)
    ):
        return None
    batch = tuple(axis for axis in stage.axes if (axis.var in uses[0]) == (axis.var in uses[1]))
    first, second = (tuple(a for a in stage.axes if a.var in use and a not in batch) for use in uses)
    if not first or not second:
        return None
    if any((static(count(axes)) or _LEAST) < _LEAST for axes in (first, second, own.axes)):
        return None
    # Results lie along columns.
    along = [any(coefficient(stage.indices[0], axis.var) == 1 for axis in axes) for axes in (first, second)]
    if along[0] and not along[1]:
        return _Parts(batch, _outermost_first(stage, second), _outermost_first(stage, first), source.b, source.a)
    return _Parts(batch, _outermost_first(stage, first), _outermost_first(stage, second), source.a, source.b)


def _outermost_first(stage: Stage, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return axes, the one along which results lie last."""
    return tuple(sorted(axes, key=lambda axis: coefficient(stage.indices[0], axis.var) == 1))


def _tile(parts: _Parts, device: Device) -> tuple[int, int]:
    """Return rows and columns of a tile: few elements beyond the matrix, few reads, and blocks for
    all multiprocessors.
    """
    rows, columns = static(count(parts.rows)), static(count(parts.columns))
    batch = static(count(parts.batch)) or 1

    def cost(size: tuple[int, int]) -> float:
        tall, wide = size
        across = -(-rows // tall) if rows else 8
        along = -(-columns // wide) if columns else 8
        blocks = batch * across * along
        waves = -(-blocks // device.multiprocessors)
        # Of a tile's step: products, and what is read for them.
        return waves * (tall * wide + 24 * (tall + wide))

    return min(_TILES, key=cost)


def _factor(name: str, value: PrimExpr, axes: tuple[Axis, ...], size: int, own: Reduction) -> _Factor:
    inner = {axis.var for axis in own.axes}
    index = loads(value)[0].indices[0]
    deep = any(coefficient(index, var) == 1 for var in inner)
    beside = any(coefficient(index, axis.var) == 1 for axis in axes)
    dtype = value.dtype
    deep = deep and not beside
    # Threads that store a column store to different banks if rows are two words apart.
    row = size + (2 - size) % _BANKS if deep else size
    tile = buffer(f"{name}_tile", (2, _DEPTH, row), dtype, "shared")
    ahead = buffer(f"{name}_ahead", (size * _DEPTH // _SIDE**2,), dtype, "local")
    return _Factor(value, axes, size, deep, tile, ahead, buffer(f"{name}_values", (size // _SIDE,), dtype, "local"))


class _Writer:
    """Writes what the threads of a block do."""

    def __init__(
        self,
        stage: Stage,
        own: Reduction,
        left: _Factor,
        right: _Factor,
        sums: Buffer,
        batch: Mapping[Var, PrimExpr],
        begins: tuple[PrimExpr, PrimExpr],
        names: Sequence[Var],
    ) -> None:
        self.stage = stage
        self.own = own
        self.factors = ((left, begins[0]), (right, begins[1]))
        self.sums = sums
        self.batch = batch
        self.column, self.row = names
        self.number = binary("+", binary("*", self.row, IntImm(_SIDE)), self.column)
        inner = [
            axis for axis in own.axes if any(coefficient(load.indices[0], axis.var) == 1 for load in loads(own.source))
        ]
        self.terms = (*(axis for axis in own.axes if axis not in inner), *inner)

    def body(self) -> Stmt:
        depth = quotient(count(self.terms), _DEPTH)
        step = Var("step")
        more = binary("<", binary("+", step, IntImm(1)), depth)
        following = binary("+", step, IntImm(1))
        load = Seq(tuple(self.load(factor, begin, following) for factor, begin in self.factors))
        store = Seq(tuple(self.store(factor, binary("%", following, IntImm(2))) for factor, _ in self.factors))
        loop = Seq((If(more, load), self.multiply(binary("%", step, IntImm(2))), If(more, store), barrier()))
        return Seq(
            (
                self.each(lambda i, j: BufferStore(self.sums, (i, j), self.own.identity)),
                *(self.load(factor, begin, ZERO) for factor, begin in self.factors),
                *(self.store(factor, ZERO) for factor, _ in self.factors),
                barrier(),
                For(step, depth, loop),
                self.results(),
            )
        )

    def each(self, body: Callable[[Var, Var], Stmt]) -> Stmt:
        rows, columns = (factor.size // _SIDE for factor, _ in self.factors)
        return unrolled(rows, lambda i: unrolled(columns, lambda j: body(i, j), "j"), "i")

    def places(self, factor: _Factor, part: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return term and place of the element of a tile that a thread moves."""
        number = binary("+", binary("*", part, IntImm(_SIDE**2)), self.number)
        if factor.deep:
            return binary("%", number, IntImm(_DEPTH)), binary("//", number, IntImm(_DEPTH))
        return binary("//", number, IntImm(factor.size)), binary("%", number, IntImm(factor.size))

    def moved(self, factor: _Factor, body: Callable[[PrimExpr], Stmt]) -> Stmt:
        """Return ``body`` for each element that a thread moves."""
        many = static(factor.ahead.shape[0])
        assert many is not None
        return body(ZERO) if many == 1 else unrolled(many, body, "part")

    def load(self, factor: _Factor, begin: PrimExpr, step: PrimExpr) -> Stmt:
        """Return the reads of a tile."""

        def one(part: PrimExpr) -> Stmt:
            term, place = self.places(factor, part)
            term = binary("+", binary("*", step, IntImm(_DEPTH)), term)
            place = binary("+", begin, place)
            known = {**self.batch, **unravel(place, factor.axes), **unravel(term, self.terms)}
            value = substitute(factor.value, known)
            asked = [
                binary("<", position, extent)
                for position, extent, size in (
                    (place, count(factor.axes), factor.size),
                    (term, count(self.terms), _DEPTH),
                )
                if static(extent) is None or (static(extent) or 0) % size
            ]
            if asked:
                value = if_then_else(logical_and(*asked), value, const(0, value.dtype))
            return BufferStore(factor.ahead, (part,), value)

        return self.moved(factor, one)

    def store(self, factor: _Factor, which: PrimExpr) -> Stmt:
        """Return the stores of a tile."""

        def one(part: PrimExpr) -> Stmt:
            term, place = self.places(factor, part)
            return BufferStore(factor.tile, (which, term, place), BufferLoad(factor.ahead, (part,)))

        return self.moved(factor, one)

    def multiply(self, which: PrimExpr) -> Stmt:
        """Return the products of a pair of tiles."""
        (left, _), (right, _) = self.factors
        term = Var("term")

        def read(factor: _Factor, own: Var) -> Stmt:
            def one(i: PrimExpr) -> Stmt:
                place = binary("+", binary("*", i, IntImm(_SIDE)), own)
                return BufferStore(factor.values, (i,), BufferLoad(factor.tile, (which, term, place)))

            return unrolled(factor.size // _SIDE, one, "i")

        def update(i: Var, j: Var) -> Stmt:
            a, b = BufferLoad(left.values, (i,)), BufferLoad(right.values, (j,))
            old = BufferLoad(self.sums, (i, j))
            return BufferStore(self.sums, (i, j), binary("+", old, cast(old.dtype, binary("*", a, b))))

        return For(term, IntImm(_DEPTH), Seq((read(left, self.row), read(right, self.column), self.each(update))))

    def results(self) -> Stmt:
        """Return the stores of the results."""

        def one(i: Var, j: Var) -> Stmt:
            asked: list[PrimExpr] = []
            known = dict(self.batch)
            for (factor, begin), own, number in zip(self.factors, (self.row, self.column), (i, j), strict=True):
                place = binary("+", begin, binary("+", binary("*", number, IntImm(_SIDE)), own))
                extent = count(factor.axes)
                if static(extent) is None or (static(extent) or 0) % factor.size:
                    asked.append(binary("<", place, extent))
                known |= unravel(place, factor.axes)
            store = finish(self.stage, BufferLoad(self.sums, (i, j)), known)
            return If(logical_and(*asked), store) if asked else store

        return self.each(one)
