"""Sums of products in tiles of registers.

A tile of accumulators stays in registers while all reduced axes run; the vector factor is read as
it lies, or from panels into which it was packed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from relay2relax.backends.c.access import FENCE, clamp_start, coefficient
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.ahead import asked_ahead
from relay2relax.backends.c.schedule.blocking import TileShape, parts_around_panels, tile_shape
from relay2relax.backends.c.schedule.loops import block, local, parallel, put, serial, unrolled, vectorized
from relay2relax.backends.c.schedule.product import FASTER, Product, stride, vector_width
from relay2relax.backends.c.schedule.quads import multiplied, panel_element
from relay2relax.backends.c.stages import Axis, Stage, points
from relay2relax.tir.arith.simplify import ceiling, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, Call, IntImm, PrimExpr, Var, binary, const
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import BufferStore, Evaluate, For, If, Stmt
from relay2relax.tir.ir.visit import substitute_stmt

_Row: TypeAlias = Callable[[PrimExpr], Mapping[Var, PrimExpr]]
_Each: TypeAlias = Callable[[Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt]], Stmt]
# What a reduction of symbolic length is taken for.
_SOME_DEPTH = 256
# Two axes become one where that gains so much.
_WORTH = 1.06
# Rows that do not lie at equal distances have an address each, in a register of its own.
_MOST_PLACES = 8
# So many registers more take the parts of bytes that are multiplied two by two.
_APART = 4


def tiled(stage: Stage, product: Product, machine: Machine, around: frozenset[Var]) -> list[Stmt]:
    reduction = stage.reduction
    assert reduction is not None
    dtype, along = product.dtype, product.along
    columns = static(along.extent)
    assert columns is not None
    lanes = machine.lanes(dtype)
    width = lanes if product.packed and not product.paired else vector_width(columns, lanes)
    rows_axis = _rows_axis(stage, product, around)
    stage, product, rows_axis, shape = _longer_rows(stage, product, rows_axis, width, machine, around)
    vectors, rows = shape.vectors, shape.rows
    symbolic = rows_axis is not None and static(rows_axis.extent) is None
    if rows == 1 and not symbolic:
        rows_axis = None
    size = width * vectors
    clamped = not product.packed or product.paired
    if clamped and size > columns:
        vectors, size = 1, width
    panel = Var("panel")
    panels = ceiling(along.extent, size)
    before: list[Stmt] = []
    others = [axis for axis in stage.axes if axis not in (along, rows_axis) and axis.var not in around]
    packed = None
    start = clamp_start(panel, size, along.extent) if clamped else binary("*", panel, IntImm(size))
    if product.packed:
        packed, pack = _pack(stage, product, size, panel, start, machine)
        before.append(pack)

    # Products of many matrices run one after the other, so that what the panels of one share stays
    # near.
    shared = _shared(stage, product)
    outer, inner = ([axis for axis in others if (axis in shared) is wanted] for wanted in (True, False))
    work = simplify(binary("//", points([*stage.axes, *reduction.axes]), IntImm(FASTER)))
    step = Var("tile")
    if rows_axis is not None and not symbolic:
        inner.append(Axis(step, ceiling(rows_axis.extent, rows)))
    shared_out = not around and (static(work) or 0) >= (machine.parallel_work or math.inf)
    results = static(points(stage.axes)) if shared_out else None
    around_panels, inner, known = parts_around_panels(product, outer, inner, panels, results, machine)
    tile = _Tile(stage, product, packed, panel, start, width, vectors, machine, None if symbolic else tuple(inner))
    if rows_axis is None:
        body = tile.body(None, IntImm(0), 1)
    elif symbolic:
        body = _any_rows(tile, rows_axis, rows)
    else:
        body = tile.body(rows_axis, clamp_start(step, rows, rows_axis.extent), rows)
    axes = [*outer, *around_panels, Axis(panel, panels), *inner]
    if known:
        body = substitute_stmt(body, known)
    return [*before, parallel(axes, body, work, None if around else machine.parallel_work)]


def _longer_rows(
    stage: Stage, product: Product, rows: Axis | None, width: int, machine: Machine, around: frozenset[Var]
) -> tuple[Stage, Product, Axis | None, TileShape]:
    """Return stage and product with the axis of rows, and one around it whose points share the
    vectors as well, as one, where tiles then leave less over: of an image of 14x14, say.
    """
    plain = _shape(stage, product, rows, width, machine)
    extent = None if rows is None else static(rows.extent)
    if rows is None or extent is None or stride(product.vector, rows) != 0:
        return stage, product, rows, plain
    for axis in stage.axes:
        count = static(axis.extent)
        if axis in (rows, product.along) or axis.var in around or count is None:
            continue
        if stride(product.vector, axis) != 0 or stride(product.single, axis) is None:
            continue
        both = Axis(Var(rows.var.name), IntImm(count * extent))
        shape = _shape(stage, product, both, width, machine)
        if shape.rate < _WORTH * plain.rate or shape.rows > _MOST_PLACES:
            continue
        steps = {axis.var: binary("//", both.var, rows.extent), rows.var: binary("%", both.var, rows.extent)}
        axes = tuple(both if one is rows else one for one in stage.axes if one is not axis)
        indices = tuple(simplify(put(index, steps)) for index in stage.indices)
        merged = replace(stage, axes=axes, indices=indices, value=put(stage.value, steps))
        single = replace(product.single, indices=tuple(put(index, steps) for index in product.single.indices))
        return merged, replace(product, single=single), both, shape
    return stage, product, rows, plain


def _shape(stage: Stage, product: Product, rows: Axis | None, width: int, machine: Machine) -> TileShape:
    reduction, columns = stage.reduction, static(product.along.extent)
    assert reduction is not None
    assert columns is not None
    extent = 1 if rows is None else static(rows.extent)
    depth = static(points(reduction.axes)) or _SOME_DEPTH
    apart = product.paired or (rows is not None and stride(product.vector, rows) != 0)
    if product.quads is not None:
        # Four bytes for all lanes are always an instruction of their own. Without one for four
        # products, even and odd bytes have registers of their own.
        registers = machine.registers if machine.fours else machine.registers - _APART
        machine = replace(machine, broadcasts=False, registers=registers)
    return tile_shape(columns, extent, width, depth, product.dtype, machine, apart)


def _any_rows(tile: _Tile, rows_axis: Axis, rows: int) -> Stmt:
    """Return tiles for any number of rows: as many of ``rows`` as there are, then one of as many as
    are left.
    """
    whole = simplify(binary("//", rows_axis.extent, IntImm(rows)))
    left = simplify(binary("%", rows_axis.extent, IntImm(rows)))
    step = Var("tile")
    parts: list[Stmt] = [For(step, whole, tile.body(rows_axis, binary("*", step, IntImm(rows)), rows))]
    done = binary("*", whole, IntImm(rows))
    parts += [If(binary("==", left, IntImm(rest)), tile.body(rows_axis, done, rest)) for rest in range(1, rows)]
    return block(*parts)


def _rows_axis(stage: Stage, product: Product, around: frozenset[Var]) -> Axis | None:
    """Return the axis that a tile also spans: one whose points share the vectors, else one that
    shares the numbers.

    It is the longest such, and the last of those.
    """
    for shared, other in ((product.vector, product.single), (product.single, product.vector)):
        best, size = None, 1
        for axis in stage.axes:
            if axis is product.along or axis.var in around:
                continue
            if stride(shared, axis) != 0 or stride(other, axis) is None:
                continue
            extent = static(axis.extent)
            if extent is None:
                best = best or axis
            elif extent >= size:
                best, size = axis, extent
        if best is not None:
            return best
    return None


@dataclass(frozen=True, slots=True)
class _Tile:
    """The innermost part: one tile of results."""

    stage: Stage
    product: Product
    packed: Buffer | None
    panel: Var
    start: PrimExpr
    width: int
    vectors: int
    machine: Machine
    # The loops in which tiles meet one panel; None where nobody knows how many there are.
    met: tuple[Axis, ...] | None

    def body(self, rows_axis: Axis | None, first: PrimExpr, rows: int) -> Stmt:
        """Return the tile of ``rows`` rows from ``first`` on."""
        dtype = self.product.dtype
        columns = static(self.product.along.extent)
        assert columns is not None
        size = self.width * self.vectors

        def each(change: Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt]) -> Stmt:
            return unrolled(rows, lambda t: unrolled(self.vectors, lambda u: lanes_of(change, t, u)))

        def lanes_of(change: Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt], t: PrimExpr, u: PrimExpr) -> Stmt:
            return vectorized(self.width, lambda lane: change(t, u, lane))

        def row(t: PrimExpr) -> dict[Var, PrimExpr]:
            return {} if rows_axis is None else {rows_axis.var: binary("+", first, t)}

        def with_registers(acc: Buffer, tile: Buffer) -> Stmt:
            def accumulated(held: Buffer) -> Stmt:
                shared = rows_axis is None or stride(self.product.vector, rows_axis) == 0
                return self.accumulated(acc, held, row, each, shared)

            def moved(t: PrimExpr, u: PrimExpr, lane: PrimExpr) -> Stmt:
                return BufferStore(tile, (t, self.offset(u, lane)), BufferLoad(acc, (t, u, lane)))

            return block(
                each(lambda t, u, lane: BufferStore(acc, (t, u, lane), const(0, dtype))),
                local(dtype, [self.vectors, self.width], "register", accumulated),
                each(moved),
            )

        def with_tile(tile: Buffer) -> Stmt:
            shape = [rows, self.vectors, self.width]
            return block(
                local(dtype, shape, "register", lambda acc: with_registers(acc, tile)),
                Evaluate(call(FENCE, dtype="int32")),
                self.finish(tile, rows_axis, first, rows, columns, size),
            )

        return local(dtype, [rows, size], "local", with_tile)

    def offset(self, u: PrimExpr, lane: PrimExpr) -> PrimExpr:
        """Return the column of a lane of vector ``u``."""
        return binary("+", binary("*", u, IntImm(self.width)), lane)

    def accumulated(self, acc: Buffer, held: Buffer, row: _Row, each: _Each, shared: bool) -> Stmt:
        """Return the loops that sum up in ``acc``.

        Vectors that are ``shared`` by all rows are held in ``held``. ``row`` says at which point of
        the rows' axis a row is, ``each`` does something for every lane of ``acc``.
        """
        reduction = self.stage.reduction
        assert reduction is not None

        def vector_load(t: PrimExpr, u: PrimExpr, lane: PrimExpr) -> PrimExpr:
            offset = self.offset(u, lane)
            if self.packed is not None:
                first_lane = put(_panel_place(self, reduction.axes, self.width * self.vectors), row(t))
                return BufferLoad(self.packed, (binary("+", first_lane, offset),))
            return put(self.product.vector, {self.product.along.var: binary("+", self.start, offset), **row(t)})

        def load(u: PrimExpr) -> Stmt:
            return vectorized(self.width, lambda lane: BufferStore(held, (u, lane), vector_load(IntImm(0), u, lane)))

        def update(t: PrimExpr, u: PrimExpr, lane: PrimExpr) -> Stmt:
            value = put(self.product.single, row(t))
            if self.product.paired:
                value = put(value, {self.product.along.var: binary("+", self.start, self.offset(u, lane))})
            vector = BufferLoad(held, (u, lane)) if shared else vector_load(t, u, lane)
            place = (t, u, lane)
            if isinstance(value, BufferLoad) and self.product.of_bytes:
                return BufferStore(acc, place, multiplied(self.product, BufferLoad(acc, place), value, vector))
            return BufferStore(acc, place, binary("+", BufferLoad(acc, place), binary("*", value, vector)))

        if not shared:
            return serial(reduction.axes, each(update), self.machine.steps)
        ahead: list[Stmt] = []
        # Those of depthwise convolutions are small, and stay near.
        if self.packed is not None and not self.product.paired:
            size, reduced = self.width * self.vectors, self.product.along_panels(reduction.axes)
            first = put(_panel_place(self, reduction.axes, size), {axis.var: IntImm(0) for axis in reduced})
            ahead += asked_ahead(self.packed, first, reduced, size, self.met, self.machine)
        step = block(*ahead, unrolled(self.vectors, load), each(update))
        return serial(reduction.axes, step, self.machine.steps)

    def finish(self, tile: Buffer, rows_axis: Axis | None, first: PrimExpr, rows: int, columns: int, size: int) -> Stmt:
        """Return the stores of a tile, the axis of neighbouring places innermost."""
        stage, along = self.stage, self.product.along
        reduction = stage.reduction
        assert reduction is not None
        result = reduction.result
        valid: PrimExpr = IntImm(size)
        if self.packed is not None and columns % size and not self.product.paired:
            valid = IntImm(columns)
            if columns > size:
                valid = binary("min", IntImm(size), binary("-", along.extent, self.start))

        def place(t: PrimExpr, column: PrimExpr) -> dict[Var, PrimExpr]:
            values = {along.var: binary("+", self.start, column)}
            return values if rows_axis is None else {**values, rows_axis.var: binary("+", first, t)}

        def value(t: PrimExpr, column: PrimExpr) -> PrimExpr:
            return put(stage.value, {**place(t, column), result: BufferLoad(tile, (t, column))})

        def stores(value: Callable[[PrimExpr, PrimExpr], PrimExpr]) -> Stmt:
            def store(t: PrimExpr, column: PrimExpr) -> Stmt:
                return BufferStore(stage.target, (put(stage.indices[0], place(t, column)),), value(t, column))

            by_rows = rows_axis is not None and coefficient(stage.indices[0], rows_axis.var) == 1 and rows > 1
            if by_rows:
                column = Var("column")
                return For(column, valid, vectorized(rows, lambda t: store(t, column)))
            return self.by_columns(rows, valid, size, store)

        if not self.product.of_bytes or coefficient(stage.indices[0], along.var) == 1:
            return stores(value)

        # What lies apart is made beside each other first: bytes are made of whole vectors.
        def made(buffer: Buffer) -> Stmt:
            making = self.by_columns(rows, valid, size, lambda t, c: BufferStore(buffer, (t, c), value(t, c)))
            return block(making, stores(lambda t, c: BufferLoad(buffer, (t, c))))

        return local(stage.target.dtype, [rows, size], "local", made)

    def by_columns(self, rows: int, valid: PrimExpr, size: int, store: Callable[[PrimExpr, PrimExpr], Stmt]) -> Stmt:
        """Return loops over the rows of a tile and its ``valid`` columns of ``size``."""
        row = Var("row")
        some = For(row, IntImm(rows), vectorized(valid, lambda c: store(row, c)))
        if isinstance(valid, IntImm) or not self.product.of_bytes:
            return some
        # Vectors of a length that is known are written as such.
        whole = For(row, IntImm(rows), vectorized(size, lambda c: store(row, c)))
        return If(binary("==", valid, IntImm(size)), whole, some)


def _pack(
    stage: Stage, product: Product, size: int, panel: Var, start: PrimExpr, machine: Machine
) -> tuple[Buffer, Stmt]:
    """Return the buffer of panels and the stage that fills it: for each panel, all reduced points,
    then lanes.
    """
    reduction = stage.reduction
    assert reduction is not None
    along, vector = product.along, product.vector
    columns = static(along.extent)
    assert columns is not None
    shared = _shared(stage, product)
    reduced = product.along_panels(reduction.axes)
    panels = -(-columns // size)
    extents = [static(axis.extent) or 1 for axis in (*shared, *reduced)]
    total = panels * size
    for extent in extents:
        total *= extent
    packed = Buffer("packed", (IntImm(total),), product.dtype)

    def fill(lane: PrimExpr) -> Stmt:
        column = binary("+", start, lane)
        value: PrimExpr = put(vector, {along.var: column})
        if isinstance(value, BufferLoad) and product.of_bytes:
            value = panel_element(product, value)
        if columns % size and not product.paired:
            inside = binary("<", column, along.extent)
            value = Call("if_then_else", (inside, value, const(0, product.dtype)), product.dtype)
        place = _place(shared, panel, panels, reduced, size)
        return BufferStore(packed, (simplify(binary("+", place, lane)),), value)

    body = serial(reduced, vectorized(size, fill))
    work = IntImm(total * 4)
    return packed, parallel([*shared, Axis(panel, IntImm(panels))], body, work, machine.parallel_work)


def _shared(stage: Stage, product: Product) -> list[Axis]:
    """Return the spatial axes, besides the vectors' own, that the vector factor depends on."""
    return [axis for axis in stage.axes if axis is not product.along and stride(product.vector, axis) != 0]


def _place(shared: Sequence[Axis], panel: PrimExpr, panels: int, reduced: Sequence[Axis], size: int) -> PrimExpr:
    place: PrimExpr = IntImm(0)
    for axis in shared:
        place = binary("+", binary("*", place, axis.extent), axis.var)
    place = binary("+", binary("*", place, IntImm(panels)), panel)
    for axis in reduced:
        place = binary("+", binary("*", place, axis.extent), axis.var)
    return binary("*", place, IntImm(size))


def _panel_place(tile: _Tile, axes: Sequence[Axis], size: int) -> PrimExpr:
    columns = static(tile.product.along.extent)
    assert columns is not None
    reduced = tile.product.along_panels(axes)
    return _place(_shared(tile.stage, tile.product), tile.panel, -(-columns // size), reduced, size)
