"""The schedule of sums of products: matrix products and convolutions in tiles of registers.

One factor is read as vectors along a spatial axis, the other as single numbers, and a tile of
accumulators stays in registers while all reduced axes run. Where no spatial axis offers
neighbouring elements, the vector factor is packed into panels first, if each of its elements is
used often enough; else the sum itself is split over the lanes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.access import clamp_start, coefficient
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.loops import block, local, parallel, put, serial, unrolled, vectorized
from relay2relax.backends.c.stages import Axis, Stage, points
from relay2relax.core.dtype import is_float
from relay2relax.tir.arith.simplify import ceiling, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, IntImm, PrimExpr, Var, binary, const
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import BufferStore, For, If, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import loads

# Packing one element costs about as much as so many multiplications in registers.
_PACKING = 40
# So many multiplications in registers take as long as one operation on memory.
_FASTER = 4
# A panel is packed only for factors that are used at least so often.
_LEAST_REUSE = 8


# Storing one result away from its neighbours costs about as much as so many multiplications in
# registers.
_SCATTERING = 24


@dataclass(frozen=True, slots=True)
class _Product:
    """``sum of single * vector``; ``along`` is the axis of the vectors.

    Where both factors run along it (a depthwise convolution), ``paired`` is set: single numbers are
    vectors, too.
    """

    single: BufferLoad
    vector: BufferLoad
    along: Axis
    packed: bool
    score: float
    paired: bool = False


def schedule_contraction(
    stage: Stage,
    machine: Machine,
    is_constant: Callable[[Buffer], bool] = lambda buffer: False,
    around: frozenset[Var] = frozenset(),
) -> list[Stmt] | None:
    """Return the stages of a sum of products of two loads, or None where the stage is something
    else.

    Packing factors for which ``is_constant`` holds costs nothing: it is done ahead. Loops over the
    axes ``around`` are the caller's, who shares their work out: the last stage has the other axes
    only.
    """
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or reduction.identity != const(0, reduction.result.dtype):
        return None
    source = reduction.source
    if not isinstance(source, Binary) or source.op != "*" or not _has_tiles(source.dtype):
        return None
    if not isinstance(source.a, BufferLoad) or not isinstance(source.b, BufferLoad):
        return None
    if loads(source.a.indices[0]) or loads(source.b.indices[0]):
        return None
    found = [one for one in _candidates(stage, source.a, source.b, machine, is_constant) if one.along.var not in around]
    best = max(found, key=lambda one: one.score, default=None)
    if best is None or best.score < 0.45:
        for a, b in ((source.a, source.b), (source.b, source.a)):
            run = _dot_axis(stage, a, b)
            if run is not None:
                return [_dot(stage, a, b, run, machine, around)]
            run = _run_axis(stage, a, b) if is_constant(b.buffer) else None
            if run is not None:
                turned, pack = _turned(stage, b, run, machine)
                return [pack, _dot(stage, a, turned, run, machine, around)]
    if best is None:
        return None
    return _tiled(_deepest_last(stage, best), best, machine, around)


def _has_tiles(dtype: str) -> bool:
    return is_float(dtype) or dtype == "int32"


def _deepest_last(stage: Stage, product: _Product) -> Stage:
    """Return ``stage`` with its reduced axes in an order in which single numbers lie beside each
    other.
    """
    reduction = stage.reduction
    assert reduction is not None
    strides = {axis.var: _stride(product.single, axis) for axis in reduction.axes}
    if not product.packed or any(stride is None for stride in strides.values()):
        return stage
    axes = sorted(reduction.axes, key=lambda axis: -abs(strides[axis.var] or 0))
    return replace(stage, reduction=replace(reduction, axes=tuple(axes)))


def _stride(load: BufferLoad, axis: Axis) -> int | None:
    return coefficient(load.indices[0], axis.var)


def _candidates(
    stage: Stage, a: BufferLoad, b: BufferLoad, machine: Machine, is_constant: Callable[[Buffer], bool]
) -> list[_Product]:
    found = []
    lanes = machine.lanes(a.dtype)
    reduction = stage.reduction
    assert reduction is not None
    depth = static(points(reduction.axes)) or _SCATTERING
    for single, vector in ((a, b), (b, a)):
        for axis in stage.axes:
            extent, step = static(axis.extent), _stride(vector, axis)
            if extent is None or extent < 4:
                continue
            reuse = 1
            for other in stage.axes:
                if other is not axis and _stride(vector, other) == 0:
                    reuse *= static(other.extent) or 1
            constant = is_constant(vector.buffer)
            apart = 1.0 if coefficient(stage.indices[0], axis.var) == 1 else depth / (depth + _SCATTERING)
            packs = step is not None and (constant or reuse >= _LEAST_REUSE) and _can_pack(stage, vector)
            cost = 0.0 if constant else _PACKING / reuse
            width = _width(extent, lanes)
            used = extent / (-(-extent // width) * width) * min(1.0, width / lanes) * apart
            if _stride(single, axis) == 1 and step and packs:
                found.append(_Product(single, vector, axis, True, used / (1 + cost), True))
            if _stride(single, axis) != 0:
                continue
            if step == 1:
                found.append(_Product(single, vector, axis, False, used * (0.95 if reuse > 1 else 0.5)))
            if packs and (step != 1 or constant):
                padded = -(-extent // lanes) * lanes
                found.append(_Product(single, vector, axis, True, extent / padded / (1 + cost) * apart))
    return found


def _can_pack(stage: Stage, vector: BufferLoad) -> bool:
    reduction = stage.reduction
    assert reduction is not None
    axes = (*stage.axes, *reduction.axes)
    return (
        vector.buffer.scope != "local"
        and all(_stride(vector, axis) is not None for axis in axes)
        and all(static(axis.extent) is not None for axis in axes if _stride(vector, axis) != 0)
    )


def _width(extent: int, lanes: int) -> int:
    while lanes > extent:
        lanes //= 2
    return lanes


# Tiles of registers


# Additions that are begun before the first is done.
_LATENCY = 8


def _tile_shape(columns: int, rows: int | None, width: int, registers: int) -> tuple[int, int]:
    """Return how many vectors wide and how many rows high a tile of registers is.

    What counts: how much of the tiles lies beyond the result, how much is loaded for each
    multiplication, and whether there are enough independent sums. ``rows`` is None where there may
    be any number.
    """
    best, shape = 0.0, (1, 1)
    panels = -(-columns // width)
    for vectors in range(1, min(4 if (rows or 8) > 1 else 8, panels) + 1):
        for height in range(1, min(rows or 8, (registers - 2 - vectors) // vectors) + 1):
            products = vectors * height
            used = panels / (-(-panels // vectors) * vectors)
            if rows is not None:
                used *= rows / (-(-rows // height) * height)
            loaded = products / max(products, (vectors + height) * 1.1)
            score = used * loaded * min(1.0, products / _LATENCY) * (1 - 0.5 / products)
            if score > best:
                best, shape = score, (vectors, height)
    return shape


def _tiled(stage: Stage, product: _Product, machine: Machine, around: frozenset[Var]) -> list[Stmt]:
    reduction = stage.reduction
    assert reduction is not None
    dtype, along = product.vector.dtype, product.along
    columns = static(along.extent)
    assert columns is not None
    lanes = machine.lanes(dtype)
    width = lanes if product.packed and not product.paired else _width(columns, lanes)
    rows_axis = _rows_axis(stage, product, around)
    extent = 1 if rows_axis is None else static(rows_axis.extent)
    symbolic = extent is None
    vectors, rows = _tile_shape(columns, extent, width, machine.registers)
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

    tile = _Tile(stage, product, packed, panel, start, width, vectors, machine)
    # Products of many matrices run one after the other, so that what the panels of one share stays
    # near.
    shared = _shared(stage, product)
    axes = [
        *(axis for axis in others if axis in shared),
        Axis(panel, panels),
        *(axis for axis in others if axis not in shared),
    ]
    work = simplify(binary("//", points([*stage.axes, *reduction.axes]), IntImm(_FASTER)))
    if rows_axis is None:
        body = tile.body(None, IntImm(0), 1)
    elif symbolic:
        body = _any_rows(tile, rows_axis, rows)
    else:
        step = Var("tile")
        axes.append(Axis(step, ceiling(rows_axis.extent, rows)))
        body = tile.body(rows_axis, clamp_start(step, rows, rows_axis.extent), rows)
    return [*before, parallel(axes, body, work, None if around else machine.parallel_work)]


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


def _rows_axis(stage: Stage, product: _Product, around: frozenset[Var]) -> Axis | None:
    """Return the axis that a tile also spans: one whose points share the vectors, else one that
    shares the numbers.

    It is the longest such, and the last of those.
    """
    for shared, other in ((product.vector, product.single), (product.single, product.vector)):
        best, size = None, 1
        for axis in stage.axes:
            if axis is product.along or axis.var in around:
                continue
            if _stride(shared, axis) != 0 or _stride(other, axis) is None:
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
    product: _Product
    packed: Buffer | None
    panel: Var
    start: PrimExpr
    width: int
    vectors: int
    machine: Machine

    def body(self, rows_axis: Axis | None, first: PrimExpr, rows: int) -> Stmt:
        """Return the tile of ``rows`` rows from ``first`` on."""
        reduction = self.stage.reduction
        assert reduction is not None
        dtype, along = self.product.vector.dtype, self.product.along
        columns = static(along.extent)
        assert columns is not None
        size = self.width * self.vectors
        zero = const(0, dtype)

        def row(t: PrimExpr) -> dict[Var, PrimExpr]:
            return {} if rows_axis is None else {rows_axis.var: binary("+", first, t)}

        shared = rows_axis is None or _stride(self.product.vector, rows_axis) == 0

        def vector_load(t: PrimExpr, u: PrimExpr, lane: PrimExpr) -> PrimExpr:
            offset = binary("+", binary("*", u, IntImm(self.width)), lane)
            if self.packed is not None:
                first_lane = put(_panel_place(self, reduction.axes, size), row(t))
                return BufferLoad(self.packed, (binary("+", first_lane, offset),))
            return put(self.product.vector, {along.var: binary("+", self.start, offset), **row(t)})

        def accumulate(acc: Buffer, held: Buffer) -> Stmt:
            def load(u: PrimExpr) -> Stmt:
                return vectorized(
                    self.width, lambda lane: BufferStore(held, (u, lane), vector_load(IntImm(0), u, lane))
                )

            def update(t: PrimExpr, u: PrimExpr, lane: PrimExpr) -> Stmt:
                value = put(self.product.single, row(t))
                if self.product.paired:
                    offset = binary("+", binary("*", u, IntImm(self.width)), lane)
                    value = put(value, {along.var: binary("+", self.start, offset)})
                vector = BufferLoad(held, (u, lane)) if shared else vector_load(t, u, lane)
                place = (t, u, lane)
                return BufferStore(acc, place, binary("+", BufferLoad(acc, place), binary("*", value, vector)))

            if not shared:
                return serial(reduction.axes, each(update))

            return serial(reduction.axes, block(unrolled(self.vectors, load), each(update)))

        def each(change: Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt]) -> Stmt:
            return unrolled(rows, lambda t: unrolled(self.vectors, lambda u: lanes_of(change, t, u)))

        def lanes_of(change: Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt], t: PrimExpr, u: PrimExpr) -> Stmt:
            return vectorized(self.width, lambda lane: change(t, u, lane))

        def place(t: PrimExpr, u: PrimExpr, lane: PrimExpr) -> tuple[PrimExpr, ...]:
            return t, binary("+", binary("*", u, IntImm(self.width)), lane)

        def with_tile(tile: Buffer) -> Stmt:
            def with_registers(acc: Buffer) -> Stmt:
                return block(
                    each(lambda t, u, lane: BufferStore(acc, (t, u, lane), zero)),
                    local(dtype, [self.vectors, self.width], "register", lambda held: accumulate(acc, held)),
                    each(lambda t, u, lane: BufferStore(tile, place(t, u, lane), BufferLoad(acc, (t, u, lane)))),
                )

            return block(
                local(dtype, [rows, self.vectors, self.width], "register", with_registers),
                self.finish(tile, rows_axis, first, rows, columns, size),
            )

        return local(dtype, [rows, size], "local", with_tile)

    def finish(self, tile: Buffer, rows_axis: Axis | None, first: PrimExpr, rows: int, columns: int, size: int) -> Stmt:
        """Return the stores of a tile, the axis of neighbouring places innermost."""
        stage, along = self.stage, self.product.along
        reduction = stage.reduction
        assert reduction is not None
        result = reduction.result
        valid: PrimExpr = IntImm(size)
        if self.packed is not None and columns % size and not self.product.paired:
            valid = binary("min", IntImm(size), binary("-", along.extent, self.start))

        def store(t: PrimExpr, column: PrimExpr) -> Stmt:
            values: dict[Var, PrimExpr] = {
                along.var: binary("+", self.start, column),
                result: BufferLoad(tile, (t, column)),
            }
            if rows_axis is not None:
                values[rows_axis.var] = binary("+", first, t)
            return BufferStore(stage.target, (put(stage.indices[0], values),), put(stage.value, values))

        by_rows = rows_axis is not None and coefficient(stage.indices[0], rows_axis.var) == 1 and rows > 1
        if by_rows:
            column = Var("column")
            return For(column, valid, vectorized(rows, lambda t: store(t, column)))
        row = Var("row")
        return For(row, IntImm(rows), vectorized(valid, lambda c: store(row, c)))


# Panels


def _pack(
    stage: Stage, product: _Product, size: int, panel: Var, start: PrimExpr, machine: Machine
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
    reduced = [axis for axis in reduction.axes if _stride(vector, axis) != 0]
    panels = -(-columns // size)
    extents = [static(axis.extent) or 1 for axis in (*shared, *reduced)]
    total = panels * size
    for extent in extents:
        total *= extent
    packed = Buffer("packed", (IntImm(total),), vector.dtype)

    def fill(lane: PrimExpr) -> Stmt:
        column = binary("+", start, lane)
        value: PrimExpr = put(vector, {along.var: column})
        if columns % size and not product.paired:
            value = Call(
                "if_then_else", (binary("<", column, along.extent), value, const(0, vector.dtype)), vector.dtype
            )
        place = _place(shared, panel, panels, reduced, size)
        return BufferStore(packed, (simplify(binary("+", place, lane)),), value)

    body = serial(reduced, vectorized(size, fill))
    work = IntImm(total * 4)
    return packed, parallel([*shared, Axis(panel, IntImm(panels))], body, work, machine.parallel_work)


def _shared(stage: Stage, product: _Product) -> list[Axis]:
    """Return the spatial axes, besides the vectors' own, that the vector factor depends on."""
    return [axis for axis in stage.axes if axis is not product.along and _stride(product.vector, axis) != 0]


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
    reduced = [axis for axis in axes if _stride(tile.product.vector, axis) != 0]
    return _place(_shared(tile.stage, tile.product), tile.panel, -(-columns // size), reduced, size)


# Sums split over the lanes


def _dot_axis(stage: Stage, a: BufferLoad, b: BufferLoad) -> Axis | None:
    reduction = stage.reduction
    assert reduction is not None
    for axis in reversed(reduction.axes):
        if _stride(a, axis) == 1 and _stride(b, axis) == 1 and (static(axis.extent) or 8) >= 8:
            return axis
    return None


def _run_axis(stage: Stage, a: BufferLoad, b: BufferLoad) -> Axis | None:
    """Return a reduced axis of neighbouring places in ``a`` along which ``b``, packed anew, could
    have them, too.
    """
    reduction = stage.reduction
    assert reduction is not None
    if not _can_pack(stage, b):
        return None
    for axis in reduction.axes:
        if _stride(a, axis) == 1 and _stride(b, axis) and (static(axis.extent) or 0) >= 8:
            return axis
    return None


def _turned(stage: Stage, load: BufferLoad, run: Axis, machine: Machine) -> tuple[BufferLoad, Stmt]:
    """Return a load from a copy in which ``run`` is the innermost dimension, and the stage that
    makes the copy.
    """
    reduction = stage.reduction
    assert reduction is not None
    axes = [axis for axis in (*stage.axes, *reduction.axes) if axis is not run and _stride(load, axis) != 0]
    place: PrimExpr = IntImm(0)
    for axis in (*axes, run):
        place = binary("+", binary("*", place, axis.extent), axis.var)
    size = points([*axes, run])
    turned = BufferLoad(Buffer("turned", (size,), load.dtype), (simplify(place),))
    return turned, parallel([*axes, run], BufferStore(turned.buffer, turned.indices, load), size, machine.parallel_work)


def _dot(
    stage: Stage, a: BufferLoad, b: BufferLoad, run: Axis, machine: Machine, around: frozenset[Var] = frozenset()
) -> Stmt:
    """Return the schedule in which the lanes share out the reduced axis ``run``."""
    reduction = stage.reduction
    assert reduction is not None
    stage = replace(stage, axes=tuple(axis for axis in stage.axes if axis.var not in around))
    dtype = reduction.result.dtype
    lanes = _width(static(run.extent) or machine.lanes(dtype), machine.lanes(dtype))
    whole = simplify(binary("//", run.extent, IntImm(lanes)))
    rest = simplify(binary("%", run.extent, IntImm(lanes)))
    outer = [axis for axis in reduction.axes if axis is not run]
    columns = _longest(stage, b, a) or _longest(stage, a, b)
    count = static(columns.extent) if columns is not None else 1
    size = min(8, count) if count is not None else 1
    others = [axis for axis in stage.axes if axis is not columns or size == 1]
    step = Var("tile")
    start = clamp_start(step, size, columns.extent) if columns is not None and size > 1 else None

    def column(u: PrimExpr) -> dict[Var, PrimExpr]:
        if columns is None or start is None:
            return {}
        return {columns.var: binary("+", start, u)}

    def with_sums(sums: Buffer) -> Stmt:
        def with_registers(acc: Buffer) -> Stmt:
            k = Var("k")

            def update(u: PrimExpr, lane: PrimExpr) -> Stmt:
                at = {run.var: binary("+", binary("*", k, IntImm(lanes)), lane), **column(u)}
                return BufferStore(
                    acc, (u, lane), binary("+", BufferLoad(acc, (u, lane)), binary("*", put(a, at), put(b, at)))
                )

            def each(change: Callable[[PrimExpr, PrimExpr], Stmt]) -> Stmt:
                return unrolled(size, lambda u: vectorized(lanes, lambda lane: change(u, lane)))

            total = unrolled(
                size,
                lambda u: BufferStore(sums, (u,), call("vector_sum", BufferLoad(acc, (u, IntImm(0))), dtype=dtype)),
            )
            return block(
                each(lambda u, lane: BufferStore(acc, (u, lane), const(0, dtype))),
                serial(outer, For(k, whole, each(update), LoopKind.SERIAL)),
                total,
            )

        parts: list[Stmt] = [local(dtype, [size, lanes], "register", with_registers)]
        if rest != IntImm(0):
            last = Var("k")

            def tail(u: PrimExpr) -> Stmt:
                at = {run.var: binary("+", binary("*", whole, IntImm(lanes)), last), **column(u)}
                product = binary("*", put(a, at), put(b, at))
                return BufferStore(sums, (u,), binary("+", BufferLoad(sums, (u,)), product))

            parts.append(serial(outer, For(last, rest, unrolled(size, tail), LoopKind.SERIAL)))
        u = Var("column")

        def store(u: PrimExpr) -> Stmt:
            values = {**column(u), reduction.result: BufferLoad(sums, (u,))}
            return BufferStore(stage.target, (put(stage.indices[0], values),), put(stage.value, values))

        parts.append(For(u, IntImm(size), store(u), LoopKind.SERIAL))
        return Seq(tuple(parts))

    body = local(dtype, [size], "local", with_sums)
    axes = list(others)
    if start is not None and columns is not None:
        axes.append(Axis(step, ceiling(columns.extent, size)))
    work = simplify(binary("//", points([*stage.axes, *reduction.axes]), IntImm(_FASTER)))
    return parallel(axes, body, work, None if around else machine.parallel_work)


def _longest(stage: Stage, moving: BufferLoad, still: BufferLoad) -> Axis | None:
    """Return the longest axis along which only one factor moves, so that the other is read once for
    several sums.
    """
    found = [
        axis
        for axis in stage.axes
        if static(axis.extent) is not None and _stride(still, axis) == 0 and _stride(moving, axis) is not None
    ]
    return max(found, key=lambda axis: static(axis.extent) or 0, default=None)
