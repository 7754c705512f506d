"""Elements that are selected, or counted, by what they are: how many there are is found out while
the program runs.
"""

from __future__ import annotations

import numpy as np

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.elementwise import truth
from relay2relax.relay_ir.frontend.pytorch.operators.record import records
from relay2relax.relay_ir.ir.expr import Expr


def nonzero(at: Conversion, data: Expr) -> Expr:
    """Return the places of what is not 0, a row for each."""
    found = at.call("argwhere", at.cast(data, "int32") if at.dtype(data) == "bool" else data)
    return at.cast(found, "int64")


def places_by_axis(at: Conversion, data: Expr) -> list[Expr]:
    """Return the places of what is not 0, a vector for each axis."""
    if not at.rank(data):
        data = at.call("reshape", data, [1])
    columns = at.fields(at.call("split", nonzero(at, data), at.rank(data), 1))
    return [at.call("squeeze", one, axis=[1]) for one in columns]


def _first(at: Conversion, data: Expr, count: Expr) -> Expr:
    """Return the first elements of a vector, as many as a vector of one says."""
    given = {"begin": [0], "strides": [1], "slice_mode": "size"}
    return at.call("strided_slice", data, end=at.cast(count, "int32"), **given)


def _nonzero(at: Conversion) -> Value:
    return nonzero(at, at.tensor(0))


def _nonzero_by_axis(at: Conversion) -> Value:
    return list(places_by_axis(at, at.tensor(0)))


def _where(at: Conversion) -> Value:
    """``where(condition, one, other)``, ``where(condition)``."""
    if len(at.args) == 1:
        return _nonzero_by_axis(at)
    return at.call("where", truth(at, at.tensor(0)), *at.promoted(at.value(1), at.value(2)))


def _masked_select(at: Conversion) -> Value:
    data, mask = at.tensor(0), truth(at, at.tensor(1))
    if at.extents(data) != at.extents(mask):
        shape = np.broadcast_shapes(at.shape(data), at.shape(mask))
        data, mask = (at.call("broadcast_to", one, shape) for one in (data, mask))
    if not at.rank(data):
        data = at.call("reshape", data, [1])
    return at.call("adv_index", at.tuple([data, *places_by_axis(at, mask)]))


def _unique(at: Conversion) -> Value:
    """``_unique2(data, sorted, inverse, counts)``: sorted, whatever is asked for."""
    data = at.tensor(0)
    rows = data if at.rank(data) == 1 else at.call("reshape", data, [-1])
    found = at.fields(at.call("unique", rows, True, bool(at.number(3, False))))
    every, inverse, count = _first(at, found[0], found[3]), at.cast(found[2], "int64"), found[4:]
    if rows is not data:
        inverse = at.call("reshape", inverse, at.shape(data))
    return every, inverse, at.cast(_first(at, count[0], found[3]), "int64") if count else None


def _bincount(at: Conversion) -> Value:
    """``bincount(data, weights, least count)``."""
    data, weights, least = at.cast(at.tensor(0), "int64"), at.optional(1), at.integer(2, 0)
    dtype = "int64" if weights is None else "float32" if at.dtype(weights) == "float32" else "float64"
    if at.extents(data) == (0,):
        return at.call("zeros", shape=[least], dtype=dtype)
    count = at.call("add", at.call("max", data), at.const(1, "int64"))
    if least:
        count = at.call("maximum", count, at.const(least, "int64"))
    empty = at.call("zeros", shape=at.call("reshape", count, [1]), dtype=dtype)
    updates = at.call("ones_like", data) if weights is None else at.cast(weights, dtype)
    return at.call("scatter_elements", empty, data, updates, 0, "add")


def _nms(at: Conversion) -> Value:
    """``torchvision::nms(boxes, scores, threshold)``: the best boxes first."""
    boxes, scores = at.tensor(0), at.tensor(1)
    count = at.extent(scores, 0)
    # Relay's operator passes by scores that are not positive, and boxes that overlap so much or
    # more.
    raised = at.call("subtract", scores, at.call("min", scores))
    raised = at.call("add", raised, at.const(1.0, at.dtype(scores)))
    threshold = float(np.nextafter(np.float32(at.number(2)), np.float32(np.inf)))
    rows = at.call("concatenate", at.tuple([at.call("expand_dims", raised, axis=-1), boxes]), axis=-1)
    whole = at.call(
        "vision.non_max_suppression", at.call("expand_dims", rows, axis=0), at.const([count], "int32"),
        at.const([list(range(count))], "int32"), -1, threshold, force_suppress=True, coord_start=1, score_index=0,
        id_index=-1, return_indices=True,
    )  # fmt: skip
    places, kept = at.fields(whole)
    return at.cast(_first(at, at.call("squeeze", places, axis=[0]), at.call("squeeze", kept, axis=[1])), "int64")


RECORDS = records({
    "nonzero": _nonzero, "nonzero_numpy": _nonzero_by_axis, "masked_select": _masked_select, "_unique2": _unique,
    "bincount": _bincount, "where": _where, "torchvision::nms": _nms,
})  # fmt: skip
