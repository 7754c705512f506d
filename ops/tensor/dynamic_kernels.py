"""Tensor programs of operators whose shapes, axes and places are inputs.

Each has two: the vector of the extents that its result's type leaves unknown (facet ``extents``),
and its elements once a result of those extents is there (facet ``compute``). Source of the
semantics: TVM 0.18, ``python/tvm/relay/op/dyn`` (shape functions) and
``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from relay2relax.core.dtype import is_float
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert_element
from relay2relax.ops.common.places import FAR, bounded, inside, is_inside
from relay2relax.ops.common.reshape_rules import reshaped_index
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, local, loop, seq, store, when
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir import te
from relay2relax.tir.extent import as_prim, equal, is_any, product, static
from relay2relax.tir.ir.expr import (
    Buffer,
    IntImm,
    PrimExpr,
    PrimLike,
    Select,
    binary,
    cast,
    convert,
    if_then_else,
    intrinsic,
    logical_and,
    maximum,
    minimum,
)
from relay2relax.tir.ir.stmt import Stmt

ZERO, ONE = IntImm(0), IntImm(1)
# An extent that no tensor has: whoever is to make one of it refuses.
REFUSED = IntImm(-1)


def vector(values: Sequence[PrimExpr]) -> te.Tensor:
    """Return the int64 vector of ``values``."""

    def element(i: PrimExpr) -> PrimExpr:
        chosen = values[-1]
        for number in range(len(values) - 2, -1, -1):
            chosen = if_then_else(i.equal(number), values[number], chosen)
        return cast("int64", chosen)

    return te.compute((len(values),), element, name="T_extents")


def number(values: te.Tensor, place: int = 0) -> PrimExpr:
    """Return an element of a vector, or a scalar, as int64."""
    return cast("int64", values[(place,) if values.rank else ()])


def numbers(values: te.Tensor) -> list[PrimExpr]:
    """Return the elements of a vector of known length, in row-major order for a matrix, as
    int64.
    """
    extents = [static(extent) or 0 for extent in values.shape]
    if len(extents) == 2:
        return [cast("int64", values[row, column]) for row in range(extents[0]) for column in range(extents[1])]
    return [number(values, place) for place in range(extents[0] if extents else 1)]


def pick(condition: PrimExpr, then: PrimLike, otherwise: PrimLike) -> PrimExpr:
    """Return one of two integers."""
    if isinstance(condition, IntImm):
        return convert(then if condition.value else otherwise, "int64")
    return Select(condition, convert(then, "int64"), convert(otherwise, "int64"))


def unknown_of(out: Type, extents: Sequence[PrimExpr]) -> te.Tensor:
    """Return the vector of those ``extents`` of a tensor that its type ``out`` leaves unknown."""
    return vector([extent for extent, known in zip(extents, tensor(out).shape, strict=True) if is_any(known)])


# The result has the shape that an input says


def given_extents(place: int) -> Callable[..., te.Tensor]:
    """Return the facet of an operator whose input ``place`` is the shape."""
    return lambda attrs, out, *inputs: vector(numbers(inputs[place]))


def filled_compute(value: int) -> Callable[..., te.Tensor]:
    """Return the facet of an operator that gives one number everywhere."""

    def compute(attrs: object, out: TensorType, *unused: te.Tensor) -> te.Tensor:
        return te.compute(out.shape, lambda *i: cast(out.dtype, IntImm(value)), name="T_fill")

    return compute


def once(value: PrimExpr, name: str) -> PrimExpr:
    """Return ``value``, computed into a tensor of its own: what is built from it stays small."""
    stage: te.Tensor = te.compute((1,), lambda i: value, name)
    return stage[ZERO]


def reshape_extents(attrs: Any, out: TensorType, data: te.Tensor, newshape: te.Tensor) -> te.Tensor:
    """Return what the codes 0, -1, -2 (one extent) and -3 stand for.

    Others, and -4, make another rank.
    """
    found: list[PrimExpr] = []
    source: PrimExpr = ZERO
    codes = numbers(newshape)

    def extent(place: PrimExpr) -> PrimExpr:
        value: PrimExpr = ONE
        for d in range(data.rank - 1, -1, -1):
            value = pick(place.equal(d), data.shape[d], value)
        return value

    for code in codes:
        copied = extent(source)
        merged = copied * extent(source + 1)
        zero = code if attrs.allowzero else copied
        copies = pick(code.equal(0), zero, pick(code.equal(-2), copied, pick(code.equal(-3), merged, code)))
        found.append(once(copies, "copied"))
        source = once(source + pick(code.equal(-3), 2, 1), "source")
    total: PrimExpr = ONE
    known: PrimExpr = ONE
    for d in range(data.rank):
        total = total * data.shape[d]
    for one in found:
        known = once(known * pick(one.equal(-1), 1, one), "known")
    # An empty tensor leaves nothing to infer.
    inferred = once(pick(known.equal(0), 0, binary("//", total, maximum(known, ONE))), "inferred")
    extents = [once(pick(one.equal(-1), inferred, one), "extent") for one in found]
    size: PrimExpr = ONE
    for one in extents:
        size = once(size * one, "size")
    return vector([pick(size.equal(total), one, REFUSED) for one in extents])


def broadcast_extents(attrs: object, out: TensorType, data: te.Tensor, shape: te.Tensor) -> te.Tensor:
    """Return the numbers of ``shape``, where the data can be repeated to these."""
    found = numbers(shape)
    offset = len(found) - data.rank
    for d, extent in enumerate(data.shape):
        fits = binary("or", as_prim(extent).equal(1), found[offset + d].equal(extent))
        found[offset + d] = pick(fits, found[offset + d], REFUSED)
    return vector(found)


def flat_compute(attrs: object, out: TensorType, data: te.Tensor, *unused: te.Tensor) -> te.Tensor:
    """Return each element from its place in row-major order."""
    if equal(product(data.shape), product(out.shape)) is False:
        raise OpError(
            f"shape {show(out.shape)} has not as many elements as shape {show(data.shape)}", 0, kind=operators.SHAPE
        )
    return te.compute(out.shape, lambda *i: data[tuple(reshaped_index(data.shape, out.shape, i))], name="T_reshape")


def broadcast_compute(attrs: object, out: TensorType, data: te.Tensor, *unused: te.Tensor) -> te.Tensor:
    """Return the element that is repeated; an axis of extent 1 may be repeated along."""
    offset = out.rank - data.rank

    def element(*i: PrimExpr) -> PrimExpr:
        places = (pick(extent.equal(1), 0, at) for extent, at in zip(data.shape, i[offset:], strict=True))
        return data[tuple(places)]

    return te.compute(out.shape, element, name="T_broadcast_to")


# tile


def tile_extents(attrs: object, out: TensorType, data: te.Tensor, reps: te.Tensor) -> te.Tensor:
    """Return the products of extents and repetitions, both aligned on the right."""
    counts = numbers(reps)
    rank = max(data.rank, len(counts))
    shape = [ONE] * (rank - data.rank) + list(data.shape)
    counts = [ONE] * (rank - len(counts)) + counts

    def times(extent: PrimExpr, count: PrimExpr) -> PrimExpr:
        fits = logical_and(count >= 0, count <= binary("//", IntImm(FAR), maximum(extent, ONE)))
        return pick(fits, extent * count, REFUSED)

    return vector([times(extent, count) for extent, count in zip(shape, counts, strict=True)])


def tile_compute(attrs: object, out: TensorType, data: te.Tensor, reps: te.Tensor) -> te.Tensor:
    """Return each element from its place within one repetition."""
    offset = out.rank - data.rank

    def element(*i: PrimExpr) -> PrimExpr:
        return data[tuple(at % extent for extent, at in zip(data.shape, i[offset:], strict=True))]

    return te.compute(out.shape, element, name="T_tile")


# strided_slice


def _slices(
    attrs: Any, data: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor
) -> list[tuple[PrimExpr, PrimExpr, PrimExpr]]:
    """Return first place, stride and number of elements of each axis that is sliced."""
    firsts, lasts, steps = numbers(begin), numbers(end), numbers(strides)
    found = []
    for axis, first in enumerate(firsts):
        extent = data.shape[axis]
        step = bounded(steps[axis]) if axis < len(steps) and attrs.slice_mode == "end" else ONE
        forward = step > 0
        if attrs.slice_mode == "size" and axis < len(lasts):
            first = minimum(pick(first < 0, first + extent, first), extent)
            last = pick(lasts[axis] < 0, extent, first + minimum(lasts[axis], extent))
        elif axis < len(lasts):
            last = lasts[axis]
        else:
            last = pick(forward, extent, ZERO - extent - 1)
        low, high = pick(forward, 0, -1), pick(forward, extent, extent - 1)

        def inside(place: PrimExpr, extent: PrimExpr = extent, low: PrimExpr = low, high: PrimExpr = high) -> PrimExpr:
            return minimum(maximum(pick(place < 0, place + extent, place), low), high)

        start, stop = inside(first), inside(last)
        size = maximum(pick(forward, step, ZERO - step), ONE)
        distance = pick(forward, stop - start, start - stop)
        found.append((start, step, maximum(binary("//", distance + size - 1, size), ZERO)))
    return found


def strided_slice_extents(attrs: Any, out: TensorType, *inputs: te.Tensor) -> te.Tensor:
    """Return how many elements each slice has."""
    return vector([pick(step.equal(0), REFUSED, count) for _, step, count in _slices(attrs, *inputs)])


def strided_slice_compute(attrs: Any, out: TensorType, data: te.Tensor, *inputs: te.Tensor) -> te.Tensor:
    """Return each element from its place in the slice."""
    slices = _slices(attrs, data, *inputs)

    def element(*i: PrimExpr) -> PrimExpr:
        sliced = (start + at * step for at, (start, step, _) in zip(i, slices, strict=False))
        places = (*sliced, *i[len(slices) :])
        return data[places]

    return te.compute(out.shape, element, name="T_strided_slice")


# squeeze, expand_dims


def squeeze_extents(attrs: object, out: TensorType, data: te.Tensor, axes: te.Tensor) -> te.Tensor:
    """Return the extents of the axes that stay."""
    given = [pick(axis < 0, axis + data.rank, axis) for axis in numbers(axes)]
    found: list[PrimExpr] = [ZERO] * tensor(out).rank
    place: PrimExpr = ZERO
    ones: PrimExpr = ONE
    for d in range(data.rank):
        stays = logical_and(*(binary("!=", axis, IntImm(d)) for axis in given))
        for target in range(len(found)):
            found[target] = pick(logical_and(stays, place.equal(target)), data.shape[d], found[target])
        ones = pick(stays, ones, pick(as_prim(data.shape[d]).equal(1), ones, 0))
        place = place + pick(stays, 1, 0)
    # So many axes stay as there are in the result where each that is named is there, once.
    fits = logical_and(place.equal(len(found)), ones.equal(1))
    return vector([pick(fits, extent, REFUSED) for extent in found])


def expand_dims_extents(attrs: Any, out: TensorType, data: te.Tensor, axis: te.Tensor) -> te.Tensor:
    """Return the extents with the new ones, 1, between them."""
    first, count = number(axis), attrs.num_newaxis
    first = pick(first < 0, first + (data.rank + 1), first)
    found: list[PrimExpr] = []
    for place in range(tensor(out).rank):
        before = data.shape[place] if place < data.rank else ONE
        after = data.shape[place - count] if place >= count else ONE
        found.append(pick(first > place, before, pick(first + count > place, 1, after)))
    there = logical_and(first >= 0, first <= data.rank)
    return vector([pick(there, extent, REFUSED) for extent in found])


# nn.pad


def pad_extents(attrs: Any, out: TensorType, data: te.Tensor, pad_width: te.Tensor, pad_value: te.Tensor) -> te.Tensor:
    """Return the extents with what is added before and after."""
    widths = [bounded(one) for one in numbers(pad_width)]

    def padded(extent: PrimExpr, before: PrimExpr, after: PrimExpr) -> PrimExpr:
        total = extent + before + after
        if attrs.pad_mode == "constant":
            return total
        left = extent + minimum(before, ZERO) + minimum(after, ZERO)
        # Of nothing there is no border.
        return pick(logical_and(left <= 0, total.not_equal(left)), REFUSED, total)

    return vector([padded(extent, *widths[2 * d : 2 * d + 2]) for d, extent in enumerate(data.shape)])


def pad_compute(attrs: Any, out: TensorType, data: te.Tensor, pad_width: te.Tensor, pad_value: te.Tensor) -> te.Tensor:
    """Return the data with its border.

    One that mirrors mirrors what is left where widths are negative.
    """
    widths = [bounded(one) for one in numbers(pad_width)]

    def source(d: int, at: PrimExpr) -> PrimExpr:
        before, after = widths[2 * d], widths[2 * d + 1]
        first = maximum(ZERO - before, ZERO)
        last = data.shape[d] + minimum(after, ZERO) - 1
        place = at - before
        if attrs.pad_mode == "edge":
            return inside(minimum(maximum(place, first), last), data.shape[d])
        # A wide border mirrors what it has mirrored, there and back again.
        way = last - first
        step = (place - first) % maximum(way * 2, ONE)
        return inside(first + minimum(step, way * 2 - step), data.shape[d])

    def element(*i: PrimExpr) -> PrimExpr:
        if attrs.pad_mode != "constant":
            return data[tuple(source(d, at) for d, at in enumerate(i))]
        places = [at - widths[2 * d] for d, at in enumerate(i)]
        inside = [c for place, extent in zip(places, data.shape, strict=True) for c in (place >= 0, place < extent)]
        value = cast(data.dtype, pad_value[()])
        return if_then_else(logical_and(*inside), data[tuple(places)], value) if inside else data[()]

    return te.compute(out.shape, element, name="T_pad")


# nn.upsampling


def scaled_extents(axes: Callable[[Any], Sequence[int]]) -> Callable[..., te.Tensor]:
    """Return the facet of an enlargement by factors along ``axes``: the products, rounded with
    halves to even.
    """

    def extents(attrs: Any, out: TensorType, data: te.Tensor, *scales: te.Tensor) -> te.Tensor:
        found = []
        for axis, scale in sorted(zip(axes(attrs), scales, strict=True), key=lambda pair: pair[0]):
            exact = cast("float64", data.shape[axis]) * cast("float64", scale[()])
            low = cast("int64", exact)
            rest = exact - cast("float64", low)
            half, odd = rest.equal(0.5), (low % 2).equal(1)
            up = binary("or", rest > 0.5, logical_and(half, odd))
            positive = scale[()] > cast(scale.dtype, ZERO)
            found.append(pick(positive, low + pick(up, 1, 0), REFUSED))
        return vector(found)

    return extents


# arange


def arange_extents(attrs: object, out: TensorType, start: te.Tensor, stop: te.Tensor, step: te.Tensor) -> te.Tensor:
    """Return ``ceil((stop - start) / step)``, not below 0."""
    exact = "float64" if is_float(start.dtype) else "int64"
    first, last, by = (cast(exact, one[()]) for one in (start, stop, step))
    if is_float(start.dtype):
        steps = cast("int64", intrinsic("ceil", (last - first) / by))
    else:
        size = maximum(pick(by > 0, by, ZERO - by), ONE)
        steps = binary("//", pick(by > 0, last - first, first - last) + size - 1, size)
    return vector([maximum(steps, ZERO)])


# dyn.topk


def topk_extents(attrs: Any, out: Type, data: te.Tensor, k: te.Tensor) -> te.Tensor:
    """Return ``k``, or all there are where it is below 1; there are never more."""
    extent = data.shape[attrs.axis % data.rank]
    given = number(k)
    count = pick(given < 1, extent, minimum(given, extent))
    return vector([count] * (len(out.fields) if isinstance(out, TupleType) else 1))


# argwhere


def counted_extents(attrs: object, out: TensorType, condition: te.Tensor) -> te.Tensor:
    """Return how many elements are not 0."""

    def count(i: PrimExpr) -> PrimExpr:
        axes = [te.reduce_axis(extent, f"k{d}") for d, extent in enumerate(condition.shape)]
        return te.sum(pick(_is_set(condition[tuple(axes)]), 1, 0), axes) if axes else pick(_is_set(condition[()]), 1, 0)

    return te.compute((1,), count, name="T_count")


def _is_set(value: PrimExpr) -> PrimExpr:
    return convert_element(value, "bool")


def argwhere_compute(attrs: object, out: TensorType, condition: te.Tensor) -> te.Tensor:
    """Return the coordinates of the elements that are not 0, found one after the other."""

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        (source,), (target,) = sources, targets

        def visit(free: Cell, at: tuple[PrimExpr, ...]) -> Stmt:
            if len(at) < len(source.shape):
                return loop(source.shape[len(at)], lambda i: visit(free, (*at, i)))
            stores = [store(target, (free.value, d), cast(target.dtype, i)) for d, i in enumerate(at)]
            return when(_is_set(source[at]), seq(*stores, free.add(1)))

        return local("int64", 0, lambda free: visit(free, ()), "free")

    return te.extern([out.shape], [out.dtype], [condition], build, name="T_argwhere")[0]


# sparse_fill_empty_rows


def fill_rows_extents(
    attrs: object, out: TensorType, indices: te.Tensor, values: te.Tensor, dense_shape: te.Tensor, default: te.Tensor
) -> te.Tensor:
    """Return the number of elements with those that are added, twice, and the number of rows."""

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        (places, extents), (target,) = sources, targets

        def element(count: Cell, i: PrimExpr) -> Stmt:
            def add(others: Cell) -> Stmt:
                # Every row has an element: one that is not the first of its row is one more.
                seen = loop(i, lambda j: when(_row(places, j).equal(_row(places, i)), others.set(1)))
                return seq(seen, when(others.value.equal(1), count.add(1)))

            return when(is_inside(_row(places, i), extents[0]), local("int64", 0, add, "others"))

        def body(count: Cell) -> Stmt:
            every = loop(places.shape[0], lambda i: element(count, i))
            sizes = (count.value, count.value, cast("int64", extents[0]))
            return seq(every, *(store(target, (i,), size) for i, size in enumerate(sizes)))

        return local("int64", cast("int64", extents[0]), body, "count")

    return te.extern([(3,)], ["int64"], [indices, dense_shape], build, name="T_extents")[0]


def fill_rows_compute(
    attrs: object, out: TupleType, indices: te.Tensor, values: te.Tensor, dense_shape: te.Tensor, default: te.Tensor
) -> tuple[te.Tensor, ...]:
    """Return the elements row by row, a default one in a row that has none, and which rows these
    are.
    """
    results = [tensor(one) for one in out.fields]

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        places, given, fill = sources
        rows, found, flags = targets
        columns = static(places.shape[1]) or 0

        def put(free: Cell, coordinates: Sequence[PrimExpr], value: PrimExpr) -> Stmt:
            stores = [store(rows, (free.value, d), cast("int64", one)) for d, one in enumerate(coordinates)]
            return seq(*stores, store(found, (free.value,), cast("int64", value)), free.add(1))

        def row(free: Cell, at: PrimExpr) -> Stmt:
            def element(i: PrimExpr) -> Stmt:
                kept = put(free, [places[i, d] for d in range(columns)], given[i])
                return when(_row(places, i).equal(at), seq(kept, store(flags, (at,), 0)))

            added = put(free, [at, *[ZERO] * (columns - 1)], fill[(0,) * len(fill.shape)])
            missing = when(flags[at].equal(1), added)
            return seq(store(flags, (at,), 1), loop(places.shape[0], element), missing)

        return local("int64", 0, lambda free: loop(flags.shape[0], lambda at: row(free, at), "row"), "free")

    shapes, dtypes = [one.shape for one in results], [one.dtype for one in results]
    return te.extern(shapes, dtypes, [indices, values, default], build, name="T_sparse_fill_empty_rows")


def _row(places: Buffer, i: PrimExpr) -> PrimExpr:
    return cast("int64", places[i, 0])
