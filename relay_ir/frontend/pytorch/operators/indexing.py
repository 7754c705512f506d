"""Reading and writing at places."""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import integer_range, is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.elementwise import truth
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr

_REDUCTIONS = {
    "sum": "add", "add": "add", "prod": "mul", "multiply": "mul", "amax": "max", "amin": "min", "mean": "mean",
}  # fmt: skip


def axis_of(at: Conversion, place: int, rank: int) -> int:
    """Return an argument that is an axis, counted from the front."""
    axis = at.integer(place)
    return axis + rank if axis < 0 else axis


def from_front(at: Conversion, places: Expr, extent: int) -> Expr:
    """Return places, those that are counted from the end too."""
    places = at.cast(places, "int64")
    below = at.call("less", places, at.const(0, "int64"))
    return at.call("where", below, at.call("add", places, at.const(extent, "int64")), places)


def _gather(at: Conversion) -> Value:
    data, places = at.tensor(0), at.cast(at.tensor(2), "int64")
    if not at.rank(data):
        return data
    axis = axis_of(at, 1, at.rank(data))
    # Along other axes there may be fewer places than data.
    for other, (had, kept) in enumerate(zip(at.shape(data), at.shape(places), strict=True)):
        if other != axis and kept < had:
            data = at.call("strided_slice", data, begin=[0], end=[kept], strides=[1], axes=[other])
    return at.call("gather", data, axis, places)


def _index_select(at: Conversion) -> Value:
    data, places = at.tensor(0), at.tensor(2)
    if not at.rank(data):
        return data
    if not at.rank(places):
        places = at.call("reshape", places, [1])
    return at.call("take", data, places, axis=axis_of(at, 1, at.rank(data)))


def _indices(at: Conversion, place: int, data: Expr) -> list[Expr | None]:
    found = at.value(place)
    if not isinstance(found, list):
        at.refuse("its places are no list")
    kept: list[Expr | None] = []
    for one in found:
        if one is not None and not isinstance(one, RelayExpr):
            at.refuse("its places are no tensors")
        if one is not None and at.dtype(one) in ("bool", "uint8"):
            at.refuse("how many elements a mask keeps is not known beforehand")
        kept.append(one)
    return kept


def _index(at: Conversion) -> Value:
    """``data[indices]``; where None stands, the whole axis."""
    data = at.tensor(0)
    indices = _indices(at, 1, data)
    named = [axis for axis, one in enumerate(indices) if one is not None]
    if not named:
        return data
    places = [one for one in indices if one is not None]
    if len(named) == 1:
        (axis,) = named
        return at.call("take", data, from_front(at, places[0], at.shape(data)[axis]), axis=axis)
    rank, shape = at.rank(data), at.shape(data)
    order = [*named, *(axis for axis in range(rank) if axis not in named)]
    common = np.broadcast_shapes(*(at.shape(one) for one in places))
    spread = [
        at.call("broadcast_to", from_front(at, one, shape[axis]), common)
        for one, axis in zip(places, named, strict=True)
    ]
    moved = at.call("transpose", data, axes=order)
    made = at.call("gather_nd", moved, at.call("stack", at.tuple(spread), axis=0))
    if named != list(range(named[0], named[0] + len(named))) or not named[0]:
        return made
    # What is picked stands where the first of its axes did.
    count, kept = len(common), rank - len(named)
    back = [*range(count, count + named[0]), *range(count), *range(count + named[0], count + kept)]
    return at.call("transpose", made, axes=back)


def _index_put(at: Conversion) -> Value:
    """``data[indices] = values``, added where ``accumulate`` says so."""
    data, values = at.tensor(0), at.tensor(2)
    found = at.value(1)
    if isinstance(found, list) and len(found) == 1 and isinstance(found[0], RelayExpr):
        mask = found[0]
        if at.dtype(mask) in ("bool", "uint8") and at.rank(values) == 0 and not at.number(3, False):
            behind = at.rank(data) - at.rank(mask)
            kept = truth(at, mask)
            if behind:
                kept = at.call("expand_dims", kept, axis=at.rank(mask), num_newaxis=behind)
            return at.call("where", kept, at.cast(values, at.dtype(data)), data)
    indices = _indices(at, 1, data)
    named = [axis for axis, one in enumerate(indices) if one is not None]
    if named != list(range(len(named))):
        at.refuse("it writes along axes behind whole ones")
    shape = at.shape(data)
    places = [from_front(at, one, shape[axis]) for axis, one in enumerate(indices) if one is not None]
    common = np.broadcast_shapes(*(at.shape(one) for one in places))
    spread = at.call("stack", at.tuple([at.call("broadcast_to", one, common) for one in places]), axis=0)
    whole = [*common, *shape[len(named) :]]
    values = at.call("broadcast_to", at.cast(values, at.dtype(data)), whole)
    return at.call("scatter_nd", data, spread, values, "add" if at.number(3, False) else "update")


def _without(at: Conversion, data: Expr, places: Expr, how: str) -> Expr:
    """Return ``data`` with what changes no result where something is reduced into it."""
    if how not in ("add", "mul", "max", "min") or not at.rank(data):
        at.refuse("it leaves out what was there")
    low, high = (-np.inf, np.inf) if is_float(at.dtype(data)) else integer_range(at.dtype(data))
    neutral = {"add": 0, "mul": 1, "max": low, "min": high}[how]
    source = at.call("full", at.const(neutral, at.dtype(data)), shape=list(at.shape(places)), dtype=at.dtype(data))
    return at.call("scatter_elements", data, places, source, axis_of(at, 1, at.rank(data)), "update")


def _scatter(reduction: str = "update") -> Convert:
    """``scatter(data, axis, places, source)``."""

    def convert(at: Conversion) -> Value:
        data, places = at.tensor(0), at.cast(at.tensor(2), "int64")
        if 0 in at.extents(places):
            return data
        found = at.value(4) if len(at.args) > 4 else None
        how = _REDUCTIONS.get(str(found), "") if isinstance(found, str) else reduction
        # Means of integers are rounded down, which Relay's are not.
        if not how or (how == "mean" and (not at.rank(data) or not is_float(at.dtype(data)))):
            at.refuse(f"it reduces by {found!r}")
        value = at.value(3)
        source = at.cast(at.tensor(3), at.dtype(data))
        if not isinstance(value, RelayExpr) or not at.rank(source):
            source = at.call("broadcast_to", source, at.shape(places))
        for axis, kept in enumerate(at.shape(places)):
            if kept < at.shape(source)[axis]:
                source = at.call("strided_slice", source, begin=[0], end=[kept], strides=[1], axes=[axis])
        if len(at.args) > 5 and at.value(5) is False:
            data = _without(at, data, places, how)
        if not at.rank(data):
            flat = [at.call("reshape", one, [1]) for one in (data, places, source)]
            return at.call("reshape", at.call("scatter_elements", *flat, 0, how), ())
        return at.call("scatter_elements", data, places, source, axis_of(at, 1, at.rank(data)), how)

    return convert


def _select_scatter(at: Conversion) -> Value:
    """``data`` with ``source`` at one place of an axis."""
    data = at.tensor(0)
    axis = axis_of(at, 2, at.rank(data))
    extent = at.shape(data)[axis]
    place = at.integer(3)
    here = np.arange(extent) == (place + extent if place < 0 else place)
    source = at.call("expand_dims", at.cast(at.tensor(1), at.dtype(data)), axis=axis)
    return at.call("where", _along(at, here, axis, at.rank(data)), source, data)


def _slice_scatter(at: Conversion) -> Value:
    """``data`` with ``source`` in a part of an axis."""
    data = at.tensor(0)
    axis = at.integer(2, 0) % max(at.rank(data), 1)
    extent = at.shape(data)[axis]
    start, stop, step = slice(at.integer(3, 0), at.integer(4, extent), at.integer(5, 1)).indices(extent)
    chosen = np.arange(start, stop, step)
    if not chosen.size:
        return data
    places = np.zeros(extent, np.int64)
    places[chosen] = np.arange(chosen.size)
    here = np.isin(np.arange(extent), chosen)
    wide = at.call("take", at.cast(at.tensor(1), at.dtype(data)), at.const(places, "int64"), axis=axis)
    return at.call("where", _along(at, here, axis, at.rank(data)), wide, data)


def _along(at: Conversion, mask: np.ndarray, axis: int, rank: int) -> Expr:
    shape = [-1 if one == axis else 1 for one in range(rank)]
    return at.const(mask.reshape(shape), "bool")


def _one_hot(at: Conversion) -> Value:
    places, depth = at.cast(at.tensor(0), "int64"), at.integer(1)
    if depth < 0:
        at.refuse("how many classes there are depends on the data")
    ends = at.const(1, "int64"), at.const(0, "int64")
    return at.call("one_hot", places, *ends, depth, -1, "int64")


def _searchsorted(at: Conversion) -> Value:
    """``searchsorted(sorted, values, …, right)``."""
    ordered, values = at.promoted(at.value(0), at.value(1))
    if at.value(5) is not None or at.value(4) not in (None, "left", "right"):
        at.refuse("its sequence is sorted by others")
    right = bool(at.number(3, False)) or at.value(4) == "right"
    dtype = "int32" if at.number(2, False) else "int64"
    return at.call("searchsorted", ordered, values, right, dtype)


def _bucketize(at: Conversion) -> Value:
    values, ordered = at.promoted(at.value(0), at.value(1))
    dtype = "int32" if at.number(2, False) else "int64"
    return at.call("searchsorted", ordered, values, bool(at.number(3, False)), dtype)


RECORDS = records({
    "gather": _gather, "index_select": _index_select, "index": _index, "_unsafe_index": _index,
    "index_put": _index_put, "_unsafe_index_put": _index_put, "scatter": _scatter(), "scatter_add": _scatter("add"),
    "scatter_reduce": _scatter(), "select_scatter": _select_scatter, "slice_scatter": _slice_scatter,
    "one_hot": _one_hot, "searchsorted": _searchsorted, "bucketize": _bucketize,
})  # fmt: skip
