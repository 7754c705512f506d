"""Reading and writing at places."""

from __future__ import annotations

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.tir.extent import static


def from_front(at: Conversion, places: Expr, data: Expr, axis: int) -> Expr:
    """Return places along an axis of ``data``, those that are counted from the end too."""
    found = at.data(places)
    extent = static(at.extents(data)[axis])
    numbers = None if found is None else found.astype(np.int64)
    if numbers is not None and (numbers >= 0).all():
        return places
    if numbers is not None and extent is not None:
        return at.const(np.where(numbers < 0, numbers + extent, numbers), at.dtype(places))
    if at.dtype(places).startswith("uint"):
        return places
    if extent is not None:
        count: Expr = at.like(extent, places)
    else:
        one = at.const(axis, "int64")
        count = at.cast(at.call("take", at.shape_of(data), one, axis=0), at.dtype(places))
    return at.call("where", at.call("less", places, at.like(0, places)), at.call("add", places, count), places)


def _gather(at: Conversion) -> Expr:
    x = at.arg(0)
    axis = at.axis(x, 0)
    return at.call("take", x, from_front(at, at.arg(1), x, axis), axis=axis)


def _gather_elements(at: Conversion) -> Expr:
    x = at.arg(0)
    axis = at.axis(x, 0)
    return at.call("gather", x, axis, from_front(at, at.arg(1), x, axis))


def _coordinates_first(at: Conversion, places: Expr, data: Expr, skipped: int = 0) -> Expr:
    """Return places of which each has its coordinates along the first axis, as Relay has them.

    How many coordinates there are has to be known, and the extents of their axes.
    """
    rank = at.rank(places)
    count = static(at.extents(places)[-1])
    extents = at.extents(data)[skipped : skipped + (at.shape(places)[-1] if count is None else count)]
    known = [one for one in map(static, extents) if one is not None]
    shape = known if len(known) == len(extents) else at.shape(data)
    places = at.cast(places, "int64")
    limits = at.const(shape, "int64")
    places = at.call("where", at.call("less", places, at.const(0, "int64")), at.call("add", places, limits), places)
    return at.transpose(places, [rank - 1, *range(rank - 1)])


def _gather_nd(at: Conversion) -> Expr:
    x, places, batch = at.arg(0), at.arg(1), at.attr("batch_dims", 0)
    return at.call("gather_nd", x, _coordinates_first(at, places, x, batch), batch_dims=batch)


def _reduction(at: Conversion) -> str:
    word = str(at.attr("reduction", "none"))
    return "update" if word == "none" else word


def _scatter_elements(at: Conversion) -> Expr:
    x = at.arg(0)
    axis = at.axis(x, 0)
    return at.call("scatter_elements", x, from_front(at, at.arg(1), x, axis), at.arg(2), axis, _reduction(at))


def _scatter_nd(at: Conversion) -> Expr:
    x = at.arg(0)
    return at.call("scatter_nd", x, _coordinates_first(at, at.arg(1), x), at.arg(2), _reduction(at))


def _one_hot(at: Conversion) -> Expr:
    places, values = at.cast(at.arg(0), "int64"), at.arg(2)
    depth = at.known(1)
    off, on = (at.scalar(at.slice(values, 0, place, place + 1)) for place in (0, 1))
    axis = at.attr("axis", -1)
    axis = axis if axis == -1 else axis % (at.rank(places) + 1)
    if depth is None:
        count = at.cast(at.scalar(at.arg(1)), "int64")
        number = None
    else:
        number = int(depth.reshape(-1)[0])
        count = at.const(number, "int64")
    below = at.call("less", places, at.const(0, "int64"))
    places = at.call("where", below, at.call("add", places, count), places)
    if number is None:
        return at.dynamic("one_hot", places, on, off, count, depth=0, axis=axis, dtype=at.dtype(values))
    return at.call("one_hot", places, on, off, number, axis, at.dtype(values))


def _nonzero(at: Conversion) -> Expr:
    x = at.arg()
    if at.rank(x) == 0:
        x = at.reshape(x, [1])
    found = at.call("argwhere", x if at.dtype(x) != "bool" else at.cast(x, "int32"))
    return at.transpose(at.cast(found, "int64"), [1, 0])


def _compress(at: Conversion) -> Expr:
    x, kept = at.arg(0), at.cast(at.arg(1), "int32")
    if "axis" in at.node.attrs:
        axis = at.axis(x, 0)
    else:
        x, axis = at.reshape(x, [-1]), 0
    places = at.squeeze(at.call("argwhere", kept), [1])
    return at.call("take", x, places, axis=axis)


def _unique(at: Conversion) -> tuple[Expr, ...]:
    x = at.arg()
    if "axis" in at.node.attrs and at.rank(x) != 1:
        at.refuse("along an axis")
    found = at.fields(at.call("unique", at.reshape(x, [-1]), bool(at.attr("sorted", 1)), True))
    values, first, inverse, count, counts = found
    ends = at.const([0], "int64"), at.cast(count, "int64"), at.const([1], "int64")
    kept = [at.dynamic("strided_slice", one, *ends) for one in (values, first, counts)]
    return kept[0], at.cast(kept[1], "int64"), at.cast(inverse, "int64"), at.cast(kept[2], "int64")


def _nms(at: Conversion) -> Expr:
    """Boxes that remain: which batch, class and box."""
    boxes, scores = at.arg(0), at.arg(1)
    if at.attr("center_point_box", 0):
        centre, size = at.fields(at.call("split", boxes, 2, axis=2))
        half = at.call("multiply", size, at.like(0.5, size))
        low, high = at.call("subtract", centre, half), at.call("add", centre, half)
        boxes = at.call("concatenate", at.tuple([low, high]), axis=2)
    else:
        # Corners come in any order.
        parts = at.fields(at.call("split", boxes, 2, axis=2))
        ends = [at.call(name, *parts) for name in ("minimum", "maximum")]
        boxes = at.call("concatenate", at.tuple(ends), axis=2)
    most = at.cast(at.scalar(at.arg(2)), "int64") if at.has(2) else at.const(0, "int64")
    overlap = at.scalar(at.arg(3)) if at.has(3) else at.const(0.0, "float32")
    least = at.scalar(at.arg(4)) if at.has(4) else at.const(-np.finfo(np.float32).max, "float32")
    made = at.call("vision.all_class_non_max_suppression", boxes, scores, most, overlap, least)
    selected, count = at.fields(made)
    limits = at.call(
        "concatenate", at.tuple([at.cast(at.reshape(count, [1]), "int64"), at.const([3], "int64")]), axis=0
    )
    return at.dynamic("strided_slice", selected, at.const([0, 0], "int64"), limits, at.const([1, 1], "int64"))


def _tensor_scatter(at: Conversion) -> Expr:
    """Each image of a batch is written over from a place of its own on."""
    cache, update = at.arg(0), at.arg(1)
    shape, axis = at.shape(cache), at.axis(cache, -2)
    count = at.shape(update)[axis]
    begins = at.cast(at.arg(2), "int64") if at.has(2) else at.const(np.zeros(shape[0]), "int64")
    behind = len(shape) - 1
    places = at.call(
        "add", at.unsqueeze(begins, list(range(1, behind + 1))),
        at.const(np.arange(count).reshape([-1 if one == axis else 1 for one in range(len(shape))]), "int64"),
    )  # fmt: skip
    if at.attr("mode", "linear") == "circular":
        places = at.call("floor_mod", places, at.const(shape[axis], "int64"))
    places = at.call("broadcast_to", places, at.shape(update))
    return at.call("scatter_elements", cache, places, update, axis, "update")


def _features(at: Conversion) -> Expr:
    """The columns that are named."""
    x, places = at.arg(0), at.reshape(at.arg(1), [-1])
    wide = x if at.rank(x) > 1 else at.reshape(x, [1, -1])
    return at.call("take", wide, places, axis=-1)


OPERATORS: dict[str, Convert] = {
    "Gather": _gather,
    "GatherElements": _gather_elements,
    "GatherND": _gather_nd,
    "Scatter": _scatter_elements,
    "ScatterElements": _scatter_elements,
    "ScatterND": _scatter_nd,
    "OneHot": _one_hot,
    "NonZero": _nonzero,
    "Compress": _compress,
    "Unique": _unique,
    "NonMaxSuppression": _nms,
    "TensorScatter": _tensor_scatter,
    "ai.onnx.ml.ArrayFeatureExtractor": _features,
}
