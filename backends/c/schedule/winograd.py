"""Convolutions of 3x3 in fewer multiplications: Winograd's, for tiles of 4x4 results.

Tiles of 6x6 elements of the image are transformed, likewise the weights; for each of the 36 places
a matrix product sums over the channels, and another transformation makes 4x4 results of each 36
sums: a quarter of the multiplications. The transformations follow from Toom's and Cook's
multiplication of polynomials, evaluated at six points. These were chosen for their rounding error:
it is a tenth of what ``core/tolerance.py`` allows a convolution. A NaN or an infinity in the image
makes all results of its tile NaN, as it does in every such convolution.

Transformed weights are four times as many. They are made on every call, in memory that is shared
with other temporaries, so that a model takes no more memory than its weights and its tensors.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from relay2relax.backends.c.access import clamp_start, coefficient
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.loops import block, local, parallel, serial, unrolled, vectorized
from relay2relax.backends.c.stages import AnyStage, Axis, Opaque, Part, Program, Reduction, Stage, flat_index, points
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BufferStore, For, LoopKind, Stmt
from relay2relax.tir.ir.visit import substitute, variables

_RESULTS, _WINDOW = 4, 3
_TILE = _RESULTS + _WINDOW - 1
# The points besides infinity.
_POINTS = (Fraction(0), Fraction(1), Fraction(-1), Fraction(2), Fraction(-1, 2))
# With fewer channels the transformations cost more than is saved.
_LEAST_CHANNELS = 32
# Transforming the weights, and reading four times as many, costs about as much as so many tiles.
_WEIGHT_TILES = 15
# More transformed weights do not stay in a cache until they are used.
_MOST_WEIGHTS = 1 << 20

_Matrix = Sequence[Sequence[float]]


@lru_cache(maxsize=1)
def transformations() -> tuple[_Matrix, _Matrix, _Matrix]:
    """Return the matrices for image, weights and results.

    1-D: ``results @ ((weights @ w) * (image @ x))``.
    """
    image: list[list[Fraction]] = []
    weights: list[list[Fraction]] = []
    for point in _POINTS:
        others = [other for other in _POINTS if other != point]
        scale = Fraction(1)
        for other in others:
            scale *= point - other
        image.append([*_polynomial(others), Fraction(0)])
        weights.append([point**power / scale for power in range(_WINDOW)])
    image.append(_polynomial(_POINTS))
    weights.append([Fraction(power == _WINDOW - 1) for power in range(_WINDOW)])
    last = [Fraction(power == _RESULTS - 1) for power in range(_RESULTS)]
    results = [[*(point**power for point in _POINTS), last[power]] for power in range(_RESULTS)]
    found = [[[float(value) for value in row] for row in matrix] for matrix in (image, weights, results)]
    return found[0], found[1], found[2]


def _polynomial(roots: Sequence[Fraction]) -> list[Fraction]:
    """Return the coefficients of the product of ``x - root``, the constant one first."""
    found = [Fraction(1)]
    for root in roots:
        found = [a - root * b for a, b in zip([Fraction(0), *found], [*found, Fraction(0)], strict=True)]
    return found


@dataclass(frozen=True, slots=True)
class _Convolution:
    """A stage that is a convolution, its axes by what they run over."""

    stage: Stage
    image: BufferLoad
    weight: BufferLoad
    rows: Axis
    columns: Axis
    outputs: Axis
    inputs: Axis
    # The axes of the window, along rows and columns.
    down: Var
    across: Var

    @property
    def batch(self) -> tuple[Axis, ...]:
        """The axes besides those of a single image."""
        return tuple(axis for axis in self.stage.axes if axis not in (self.rows, self.columns, self.outputs))


def with_winograd(program: Program, machine: Machine) -> Program:
    """Return ``program`` with convolutions of constant weights in fewer multiplications, where that
    pays, and the machine's code may spread what is not a number.
    """
    if not machine.transforms:
        return program
    stages: list[Part] = []
    known = set(program.known)
    for stage in program.stages:
        found = _convolution(stage, program) if isinstance(stage, Stage) else None
        if found is None or not _pays(found, machine):
            stages.append(stage)
            continue
        made = _stages(found, machine)
        known |= made[0].writes()
        stages += made
    return replace(program, stages=tuple(stages), known=frozenset(known))


def _convolution(stage: Stage, program: Program) -> _Convolution | None:
    """Return what ``stage`` convolves, None where it is not a convolution of 3x3 at every place,
    channels innermost.
    """
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or len(reduction.axes) != 3:
        return None
    if reduction.identity != FloatImm(0.0, "float32"):
        return None
    match reduction.source:
        case Binary("*", BufferLoad() as a, BufferLoad() as b):
            image, weight = (a, b) if program.memory(b.buffer) in program.known else (b, a)
        case _:
            return None
    if program.memory(weight.buffer) not in program.known or program.memory(image.buffer) in program.known:
        return None
    spatial = {axis.var: axis for axis in stage.axes}
    reduced = {axis.var: axis for axis in reduction.axes}
    outputs = [spatial[index] for index in weight.indices if isinstance(index, Var) and index in spatial]
    inputs = [reduced[index] for index in image.indices if isinstance(index, Var) and index in reduced]
    if len(outputs) != 1 or len(inputs) != 1 or len(weight.indices) != 4:
        return None
    if set(weight.indices) != {outputs[0].var, *reduced}:
        return None
    window: list[tuple[Axis, Axis]] = []
    for index in image.indices:
        used = variables(index)
        if len(used) == 2 and used[0] in spatial and used[1] in reduced:
            shift = binary("-", binary("-", index, used[0]), used[1])
            if not isinstance(simplify(shift), IntImm):
                return None
            window.append((spatial[used[0]], reduced[used[1]]))
        elif not isinstance(index, IntImm) and (len(used) != 1 or used[0] is outputs[0].var):
            return None
    if len(window) != 2 or any(axis.extent != IntImm(_WINDOW) for _, axis in window):
        return None
    (rows, down), (columns, across) = window
    if {down.var, across.var, inputs[0].var} != set(reduced) or rows is columns:
        return None
    neighbours = flat_index(image.buffer, image.indices, stage.bounds), inputs[0].var
    stored = flat_index(stage.target, stage.indices, stage.bounds), outputs[0].var
    if coefficient(*neighbours) != 1 or coefficient(*stored) != 1:
        return None
    return _Convolution(stage, image, weight, rows, columns, outputs[0], inputs[0], down.var, across.var)


def _pays(found: _Convolution, machine: Machine) -> bool:
    lanes = machine.lanes("float32")
    weights = _TILE**2
    for axis in (found.inputs, found.outputs):
        channels = static(axis.extent)
        if channels is None or channels % lanes or channels < _LEAST_CHANNELS:
            return False
        weights *= channels
    height, width = static(found.rows.extent), static(found.columns.extent)
    if height is None or width is None or min(height, width) < _RESULTS:
        return False
    images = static(points(found.batch)) or 1
    tiles = -(-height // _RESULTS) * -(-width // _RESULTS) * images
    # The last tiles of an image may lie far beyond it.
    cheaper = (tiles + _WEIGHT_TILES) * _TILE**2 * 4 < images * height * width * _WINDOW**2 * 3
    return weights <= _MOST_WEIGHTS and cheaper


def _stages(found: _Convolution, machine: Machine) -> list[AnyStage]:
    """Return the transformations of weights and image, the products, and the transformation of
    results.

    Ahead of them come the weights in the order in which they are transformed.
    """
    down, across = (-(-(static(axis.extent) or 0) // _RESULTS) for axis in (found.rows, found.columns))
    batch = [axis.extent for axis in found.batch]
    places, channels, outputs = IntImm(_TILE**2), found.inputs.extent, found.outputs.extent
    tiles = IntImm(down * across)
    # One more than a power of two: places that are written one after the other do not lie in one
    # set of a cache.
    odd = IntImm(down * across | 1)
    window = IntImm(_WINDOW)
    turned = Buffer("turned", (channels, window, window, outputs), "float32")
    order = [found.inputs, Axis(found.down, window), Axis(found.across, window), found.outputs]
    weights = Buffer("transformed", (places, simplify(binary("+", channels, 1)), outputs), "float32")
    image = Buffer("tiles", (places, *batch, odd, channels), "float32")
    sums = Buffer("sums", (places, *batch, odd, outputs), "float32")
    axes = [Axis(Var("place"), places), *(Axis(Var(axis.var.name), axis.extent) for axis in found.batch)]
    axes += [Axis(Var("tile"), tiles), Axis(Var("output"), outputs)]
    k, result = Axis(Var("k"), channels), Var("result", "float32")
    at = [axis.var for axis in axes]
    product = binary("*", BufferLoad(image, (*at[:-1], k.var)), BufferLoad(weights, (at[0], k.var, at[-1])))
    reduction = Reduction((k,), "+", FloatImm(0.0, "float32"), product, result)
    return [
        Stage(tuple(order), turned, tuple(axis.var for axis in order), found.weight),
        Opaque(_of_weights(found, turned, weights, machine), anew=True),
        Opaque(_of_image(found, image, across, machine)),
        Stage(tuple(axes), sums, tuple(at), result, reduction),
        Opaque(_of_results(found, sums, across, machine)),
    ]


def _combined(factors: Sequence[float], term: Callable[[int], PrimExpr]) -> PrimExpr:
    """Return a sum of terms with constant factors."""
    total: PrimExpr | None = None
    for number, factor in enumerate(factors):
        if factor == 0.0:
            continue
        part = term(number)
        if abs(factor) != 1.0:
            part = binary("*", part, FloatImm(abs(factor), "float32"))
        if total is None:
            total = part if factor > 0 else binary("*", part, FloatImm(-1.0, "float32"))
        else:
            total = binary("+" if factor > 0 else "-", total, part)
    assert total is not None
    return total


def _on_both_sides(
    matrix: _Matrix,
    lanes: int,
    element: Callable[[PrimExpr, PrimExpr, PrimExpr], PrimExpr],
    store: Callable[[PrimExpr, PrimExpr, PrimExpr, PrimExpr], Stmt],
) -> Stmt:
    """Return ``matrix @ elements @ matrix.T`` of as many tiles as there are ``lanes``, given what
    to do with each.

    All is held in registers in between.
    """
    count, size = len(matrix), len(matrix[0])

    def each(height: int, width: int, change: Callable[[PrimExpr, PrimExpr, PrimExpr], Stmt]) -> Stmt:
        return unrolled(height, lambda i: unrolled(width, lambda j: vectorized(lanes, lambda lane: change(i, j, lane))))

    def combined(target: Buffer, rows: int, columns: int, terms: Callable[[int, int, PrimExpr], PrimExpr]) -> Stmt:
        def one(i: int, j: int) -> Stmt:
            return vectorized(lanes, lambda lane: BufferStore(target, (IntImm(i), IntImm(j), lane), terms(i, j, lane)))

        return block(*(one(i, j) for i in range(rows) for j in range(columns)))

    def registers(height: int, width: int, body: Callable[[Buffer], Stmt]) -> Stmt:
        return local("float32", [height, width, lanes], "register", body)

    def with_half(tile: Buffer, half: Buffer) -> Stmt:
        def rows(i: int, j: int, lane: PrimExpr) -> PrimExpr:
            return _combined(matrix[i], lambda r: BufferLoad(tile, (IntImm(r), IntImm(j), lane)))

        def columns(i: int, j: int, lane: PrimExpr) -> PrimExpr:
            return _combined(matrix[j], lambda r: BufferLoad(half, (IntImm(i), IntImm(r), lane)))

        return block(
            each(size, size, lambda i, j, lane: BufferStore(tile, (i, j, lane), element(i, j, lane))),
            combined(half, count, size, rows),
            registers(
                count,
                count,
                lambda made: block(
                    combined(made, count, count, columns),
                    each(count, count, lambda i, j, lane: store(i, j, lane, BufferLoad(made, (i, j, lane)))),
                ),
            ),
        )

    return registers(size, size, lambda tile: registers(count, size, lambda half: with_half(tile, half)))


def _of_weights(found: _Convolution, weights: Buffer, target: Buffer, machine: Machine) -> Stmt:
    matrix, lanes, part = transformations()[1], machine.lanes("float32"), Var("part")

    def channel(lane: PrimExpr) -> PrimExpr:
        return binary("+", binary("*", part, IntImm(lanes)), lane)

    def element(i: PrimExpr, j: PrimExpr, lane: PrimExpr) -> PrimExpr:
        return BufferLoad(weights, (found.inputs.var, i, j, channel(lane)))

    def store(i: PrimExpr, j: PrimExpr, lane: PrimExpr, value: PrimExpr) -> Stmt:
        return BufferStore(target, (_number(i, j, _TILE), found.inputs.var, channel(lane)), value)

    axes = [found.inputs, Axis(part, _pieces(found.outputs, lanes))]
    return parallel(axes, _on_both_sides(matrix, lanes, element, store), size_of(target), machine.parallel_work)


def _of_image(found: _Convolution, target: Buffer, across: int, machine: Machine) -> Stmt:
    matrix, lanes = transformations()[0], machine.lanes("float32")
    down, column, part = Var("row"), Var("column"), Var("part")
    first = {axis.var: _begin(tile, axis) for axis, tile in ((found.rows, down), (found.columns, column))}
    tile = binary("+", binary("*", down, IntImm(across)), column)

    def channel(lane: PrimExpr) -> PrimExpr:
        return binary("+", binary("*", part, IntImm(lanes)), lane)

    def element(i: PrimExpr, j: PrimExpr, lane: PrimExpr) -> PrimExpr:
        window: dict[Var, PrimExpr] = {found.down: i, found.across: j}
        return substitute(found.image, {**first, **window, found.inputs.var: channel(lane)})

    def store(i: PrimExpr, j: PrimExpr, lane: PrimExpr, value: PrimExpr) -> Stmt:
        place = _number(i, j, _TILE)
        return BufferStore(target, (place, *(axis.var for axis in found.batch), tile, channel(lane)), value)

    body = serial(
        [Axis(column, IntImm(across)), Axis(part, _pieces(found.inputs, lanes))],
        _on_both_sides(matrix, lanes, element, store),
    )
    return _over_rows(found, target, down, body, machine)


def _of_results(found: _Convolution, sums: Buffer, across: int, machine: Machine) -> Stmt:
    """Return the loops that make results.

    Where the last tile reaches back over others, it stores only what is left.
    """
    matrix, lanes = transformations()[2], machine.lanes("float32")
    down, column, part = Var("row"), Var("column"), Var("part")
    tile = binary("+", binary("*", down, IntImm(across)), column)
    stage = found.stage
    assert stage.reduction is not None
    result = stage.reduction.result

    def channel(lane: PrimExpr) -> PrimExpr:
        return binary("+", binary("*", part, IntImm(lanes)), lane)

    def element(i: PrimExpr, j: PrimExpr, lane: PrimExpr) -> PrimExpr:
        return BufferLoad(sums, (_number(i, j, _TILE), *(axis.var for axis in found.batch), tile, channel(lane)))

    def with_tile(made: Buffer) -> Stmt:
        def store(i: PrimExpr, j: PrimExpr, lane: PrimExpr, value: PrimExpr) -> Stmt:
            return BufferStore(made, (i, j, lane), value)

        def finish(places: Mapping[Var, tuple[PrimExpr, PrimExpr]]) -> Stmt:
            def finished(lane: PrimExpr) -> Stmt:
                (row, i), (col, j) = places[found.rows.var], places[found.columns.var]
                values = {found.rows.var: row, found.columns.var: col, found.outputs.var: channel(lane)}
                values[result] = BufferLoad(made, (i, j, lane))
                indices = tuple(simplify(substitute(index, values)) for index in stage.indices)
                return BufferStore(stage.target, indices, substitute(stage.value, values))

            return vectorized(lanes, finished)

        loops: list[tuple[Var, PrimExpr]] = []
        places: dict[Var, tuple[PrimExpr, PrimExpr]] = {}
        for axis, number in ((found.rows, down), (found.columns, column)):
            step = Var("i")
            whole, begin = binary("*", number, IntImm(_RESULTS)), _begin(number, axis)
            done = simplify(binary("-", whole, begin))
            places[axis.var] = binary("+", whole, step), binary("+", done, step)
            loops.append((step, simplify(binary("-", IntImm(_RESULTS), done))))
        body = finish(places)
        for step, extent in reversed(loops):
            body = For(step, extent, body, LoopKind.SERIAL)
        return block(_on_both_sides(matrix, lanes, element, store), body)

    body = serial(
        [Axis(column, IntImm(across)), Axis(part, _pieces(found.outputs, lanes))],
        local("float32", [_RESULTS, _RESULTS, lanes], "local", with_tile),
    )
    return _over_rows(found, sums, down, body, machine)


def _number(i: PrimExpr, j: PrimExpr, width: int) -> PrimExpr:
    return binary("+", binary("*", i, IntImm(width)), j)


def _begin(tile: PrimExpr, axis: Axis) -> PrimExpr:
    """Return the first result of a tile along an axis; the last tile lies within the image."""
    return clamp_start(tile, _RESULTS, axis.extent)


def _pieces(axis: Axis, lanes: int) -> PrimExpr:
    return simplify(binary("//", axis.extent, IntImm(lanes)))


def _over_rows(found: _Convolution, transformed: Buffer, row: Var, body: Stmt, machine: Machine) -> Stmt:
    """Return loops over the rows of tiles of all images, on all cores.

    The work is that on ``transformed``.
    """
    rows = Axis(row, simplify(binary("//", binary("+", found.rows.extent, IntImm(_RESULTS - 1)), IntImm(_RESULTS))))
    return parallel([*found.batch, rows], body, size_of(transformed), machine.parallel_work)
