"""Filtering of boxes: valid counts and non-maximum suppression.

A box suppresses those of lower score that overlap it: the ratio of the area that both cover to the
area that either covers reaches a threshold. Equal scores keep their order. Rows that do not exist
hold -1 or 0, as each operator says; where TVM leaves memory undefined the values here are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core import limits
from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.limits import STATEMENTS
from relay2relax.ops.common.order import before, merge_sort, order_numpy
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, let, local, loop, rows, seq, store, when
from relay2relax.ops.registry.attributes import Bool, Double, Int, OptionalFloatImm, attr_fields
from relay2relax.ops.registry.record import Emit, Expanded, FieldOf, OpDef, OpError, SameOp, Tensors, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, static
from relay2relax.tir.ir.expr import (
    Buffer,
    PrimExpr,
    PrimLike,
    Select,
    cast,
    const,
    logical_and,
    maximum,
    minimum,
)
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.18 python/tvm/topi/vision/nms.py"


@dataclass(frozen=True, slots=True)
class GetValidCountsAttrs:
    """``score_threshold`` is null where only the input holds it.

    ``id_index`` -1: boxes have no class.
    """

    score_threshold: OptionalFloatImm
    id_index: Int = 0
    score_index: Int = 1


@dataclass(frozen=True, slots=True)
class RelaxGetValidCountsAttrs:
    """Relax's fields of ``vision.get_valid_counts``."""

    score_threshold: Double = 0.0
    id_index: Int = 0
    score_index: Int = 1


@dataclass(frozen=True, slots=True)
class NonMaximumSuppressionAttrs:
    """``top_k`` of the boxes are looked at (-1: all).

    ``*_index`` and ``coord_start`` say what a row holds where.
    """

    force_suppress: Bool = False
    top_k: Int = -1
    coord_start: Int = 2
    score_index: Int = 1
    id_index: Int = 0
    return_indices: Bool = True
    invalid_to_bottom: Bool = False


@dataclass(frozen=True, slots=True)
class RelaxNonMaximumSuppressionAttrs:
    """Relax's fields of ``vision.non_max_suppression``: no more than ``max_output_size`` boxes are
    left where that is positive. With a ``soft_nms_sigma`` overlaps lower scores.
    """

    max_output_size: Int = -1
    iou_threshold: Double = 0.5
    force_suppress: Bool = False
    top_k: Int = -1
    coord_start: Int = 2
    score_index: Int = 1
    id_index: Int = 0
    return_indices: Bool = True
    invalid_to_bottom: Bool = False
    soft_nms_sigma: Double = 0.0
    score_threshold: Double = 0.0


# Overlap. A box is 4 coordinates: two opposite corners, one axis after the other.


def numpy_corners(boxes: Numbers) -> Numbers:
    """Return what the overlap of ``boxes`` (n, 4) is computed from, (5, n): the lower corners, the
    upper ones, the areas.
    """
    low, high = np.minimum(boxes[:, :2], boxes[:, 2:]).T, np.maximum(boxes[:, :2], boxes[:, 2:]).T
    return np.stack([*low, *high, (high[0] - low[0]) * (high[1] - low[1])])


def numpy_overlap(box: Numbers, others: Numbers) -> Numbers:
    """Return the overlap of one box with each of others, by their :func:`numpy_corners`."""
    none = others.dtype.type(0)
    sides = [np.maximum(np.minimum(box[2 + d], others[2 + d]) - np.maximum(box[d], others[d]), none) for d in range(2)]
    area = sides[1] * sides[0]
    either = box[4] + others[4] - area
    with np.errstate(all="ignore"):
        return np.asarray(np.where(either <= 0, none, area / either))


def overlap(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> PrimExpr:
    """Return the overlap of two boxes."""
    low, high = [[op(box[d], box[2 + d]) for box in (a, b) for d in range(2)] for op in (minimum, maximum)]
    sides = [maximum(minimum(high[d], high[2 + d]) - maximum(low[d], low[2 + d]), 0.0) for d in range(2)]
    area = sides[1] * sides[0]
    spans = [top - bottom for top, bottom in zip(high, low, strict=True)]
    either = spans[0] * spans[1] + spans[2] * spans[3] - area
    return Select(either <= 0.0, const(0, area.dtype), area / either)


def only(buffer: Buffer) -> PrimExpr:
    """Return the only element of a buffer; raises OpError where it may have several."""
    if len(buffer.shape) > 1 or any(static(extent) not in (1, None) for extent in buffer.shape):
        raise OpError(mistake(operators.SHAPE, what=buffer.name, shape=show(buffer.shape), expected="one number"))
    return buffer[(0,) * len(buffer.shape)]


def number(array: Array) -> Numbers:
    """Return the only element of an array; raises OpError where it has several."""
    if array.size != 1:
        raise OpError(mistake(operators.SHAPE, what="the tensor", shape=show(array.shape), expected="one number"))
    return array.reshape(())[()]


def boxes_type(value: Type, argument: int = 0) -> TensorType:
    found = tensor(value, argument)
    if found.rank != 3:
        raise OpError(
            mistake(
                operators.SHAPE, what="the tensor of boxes", shape=show(found.shape), expected="(batch, count, values)"
            ),
            argument,
        )
    return found


# get_valid_counts


def valid_counts_type(attrs: object, data: Type, score_threshold: Type) -> TupleType:
    """Return (counts, boxes, their places): the boxes that count moved to the front."""
    x = boxes_type(data)
    tensor(score_threshold, 1)
    return TupleType((TensorType(x.shape[:1], "int32"), x, TensorType(x.shape[:2], "int32")))


def valid_counts_numpy(
    attrs: GetValidCountsAttrs | RelaxGetValidCountsAttrs, data: Array, score_threshold: Array
) -> tuple[Array, ...]:
    """Return the boxes whose score is above the threshold, and whose class is not negative, in
    their order.
    """
    x: Numbers = data
    valid: Numbers = x[:, :, attrs.score_index] > number(score_threshold)
    if attrs.id_index >= 0:
        valid = valid & (x[:, :, attrs.id_index] >= 0)
    order = np.argsort(~valid, axis=1, kind="stable")
    counts = valid.sum(axis=1, dtype=np.int32)
    kept = np.arange(x.shape[1]) < counts[:, None]
    moved = np.take_along_axis(x, order[:, :, None], axis=1)
    boxes = np.where(kept[:, :, None], moved, x.dtype.type(-1))
    return counts, boxes, np.where(kept, order, -1).astype(np.int32)


def valid_counts_compute(
    attrs: GetValidCountsAttrs | NonMaximumSuppressionAttrs | RelaxGetValidCountsAttrs,
    out: TupleType,
    data: te.Tensor,
    score_threshold: te.Tensor,
) -> tuple[te.Tensor, ...]:
    """Return the boxes that count, written one after the other."""
    batch, anchors, length = data.shape
    minus_one = const(-1, data.dtype)

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (x, threshold), (counts, boxes, places) = inputs, outputs

        def row(i: PrimExpr) -> Stmt:
            def gather(count: Cell) -> Stmt:
                def step(j: PrimExpr) -> Stmt:
                    valid = x[i, j, attrs.score_index] > cast(data.dtype, only(threshold))
                    if attrs.id_index >= 0:
                        valid = logical_and(valid, x[i, j, attrs.id_index] >= 0)
                    keep = seq(
                        loop(length, lambda k: store(boxes, (i, count.value, k), x[i, j, k]), "k"),
                        store(places, (i, count.value), cast("int32", j)),
                        count.add(1),
                    )
                    return when(valid, keep)

                def clear(j: PrimExpr) -> Stmt:
                    erase = seq(
                        loop(length, lambda k: store(boxes, (i, j, k), minus_one), "k"), store(places, (i, j), -1)
                    )
                    return when(j >= count.value, erase)

                return seq(
                    loop(anchors, step, "j"),
                    loop(anchors, clear, "j"),
                    store(counts, (i,), cast("int32", count.value)),
                )

            return local("int64", 0, gather, "count")

        return rows((batch,), inputs, outputs, row, "image")

    fields = [tensor(one) for one in out.fields]
    shapes, dtypes = [one.shape for one in fields], [one.dtype for one in fields]
    return te.extern(shapes, dtypes, [data, score_threshold], build, "valid_counts")


def valid_counts_relax(e: Emit[V], attrs: GetValidCountsAttrs, data: V, score_threshold: V) -> V:
    """R.vision.get_valid_counts has the threshold among its attributes."""
    threshold = e.constant_of(score_threshold)
    if threshold is None or threshold.size != 1 or tensor(e.type_of(data)).dtype != "float32":
        return e.as_tir(
            get_valid_counts,
            attrs,
            (data, score_threshold),
            "R.vision.get_valid_counts takes float32 and a threshold that is known beforehand",
        )
    value = float(number(threshold))
    return e.call(
        "vision.get_valid_counts",
        data,
        score_threshold=value,
        id_index=attrs.id_index,
        score_index=attrs.score_index,
    )


def _threshold(attrs: RelaxGetValidCountsAttrs) -> Array:
    return np.array(attrs.score_threshold, np.float32)


def relax_valid_counts_compute(attrs: RelaxGetValidCountsAttrs, out: TupleType, data: te.Tensor) -> Tensors:
    """Return the boxes that count, the threshold a constant."""
    threshold = te.compute((), lambda: const(attrs.score_threshold, data.dtype), "threshold")
    return valid_counts_compute(attrs, out, data, threshold)


# non_max_suppression


def suppression_type(
    attrs: NonMaximumSuppressionAttrs,
    data: Type,
    valid_count: Type,
    indices: Type,
    max_output_size: Type,
    iou_threshold: Type,
) -> Type:
    """Return the boxes, or (their indices, how many there are)."""
    x = boxes_type(data)
    if tensor(valid_count, 1).rank != 1:
        raise OpError("one count for each image is expected", 1, kind=operators.SHAPE)
    tensor(indices, 2)
    tensor(max_output_size, 3)
    tensor(iou_threshold, 4)
    if attrs.return_indices:
        return TupleType((TensorType(x.shape[:2], "int32"), TensorType((x.shape[0], 1), "int32")))
    return x


def suppression_numpy(
    attrs: NonMaximumSuppressionAttrs,
    data: Array,
    valid_count: Array,
    indices: Array,
    max_output_size: Array,
    iou_threshold: Array,
) -> Any:
    """Return what is left of the sorted boxes; rows that are suppressed hold -1."""
    _check_names(attrs, indices.ndim)
    most, threshold = int(number(max_output_size)), number(iou_threshold)
    boxes: Any = np.full_like(data, -1)
    places = np.full(data.shape[:2], -1, np.int32)
    for image, count in enumerate(valid_count):
        found: Any = data[image, : max(int(count), 0)]
        order = np.arange(len(found))
        if threshold > 0:
            order = order_numpy(found[:, attrs.score_index], 0, False)
            order = order[: attrs.top_k] if 0 < attrs.top_k < len(order) else order
        boxes[image, : len(order)] = found[order]
        places[image, : len(order)] = order
        if threshold > 0:
            gone = np.flatnonzero(_suppressed(attrs, boxes[image, : len(order)], most, threshold))
            boxes[image, gone], places[image, gone] = -1, -1
    if attrs.return_indices:
        return _numpy_indices(places, indices)
    return _numpy_to_front(boxes, 0) if attrs.invalid_to_bottom else boxes


def _check_names(attrs: NonMaximumSuppressionAttrs, rank: int) -> None:
    """Raise OpError where indices are asked for, and there are none.

    Else Relay takes anything in their place.
    """
    if attrs.return_indices and rank != 2:
        raise OpError(
            mistake(operators.RANK, what="the tensor of indices", rank=rank, expected="1: an index for each box"), 2
        )


def _suppressed(attrs: NonMaximumSuppressionAttrs, boxes: Numbers, most: int, threshold: Numbers) -> Numbers:
    """Return which rows of sorted ``boxes`` are suppressed, or more than ``most``."""
    gone = np.zeros(len(boxes), bool)
    count = 0
    able = boxes[:, attrs.score_index] > 0
    names = boxes[:, attrs.id_index] if attrs.id_index >= 0 else None
    corners = numpy_corners(boxes[:, attrs.coord_start : attrs.coord_start + 4])
    for place in range(len(boxes)):
        if count == most:
            gone[place:] = True
            break
        if gone[place] or not able[place]:
            continue
        limits.check()
        count += 1
        if names is not None and not names[place] >= 0:
            continue
        near = numpy_overlap(corners[:, place], corners[:, place + 1 :]) >= threshold
        if names is not None and not attrs.force_suppress:
            near &= names[place + 1 :] == names[place]
        gone[place + 1 :] |= near & able[place + 1 :]
    return gone


def _numpy_indices(places: Numbers, indices: Array) -> tuple[Array, Array]:
    """Return the outer names of the boxes at ``places``, moved to the front, and how many there
    are.
    """
    named = np.where(places >= 0, np.take_along_axis(indices, np.maximum(places, 0).astype(np.int64), 1), -1)
    valid = named >= 0
    order = np.argsort(~valid, axis=1, kind="stable")
    counts = valid.sum(axis=1, dtype=np.int32)
    kept = np.arange(named.shape[1]) < counts[:, None]
    return np.where(kept, np.take_along_axis(named, order, 1), -1).astype(np.int32), counts[:, None]


def _numpy_to_front(boxes: Numbers, told_by: int) -> Array:
    valid = boxes[:, :, told_by] >= 0
    order = np.argsort(~valid, axis=1, kind="stable")
    kept = np.arange(boxes.shape[1]) < valid.sum(axis=1)[:, None]
    moved = np.take_along_axis(boxes, order[:, :, None], axis=1)
    return np.asarray(np.where(kept[:, :, None], moved, boxes.dtype.type(-1)))


@dataclass(frozen=True, slots=True)
class _Image:
    """The statements that choose among the boxes of image ``i`` of ``x``.

    ``boxes`` has those in order; a row that is dropped holds -1, as does its place in ``places``.
    """

    attrs: NonMaximumSuppressionAttrs | RelaxNonMaximumSuppressionAttrs
    i: PrimExpr
    x: Buffer
    boxes: Buffer
    places: Buffer

    def each(self, index: Callable[[PrimExpr], Stmt]) -> Stmt:
        """Return the loop over the fields of a box."""
        return loop(self.x.shape[2], index, "k")

    def row(self, to: Buffer, place: PrimExpr, value: Callable[[PrimExpr], PrimLike]) -> Stmt:
        """Return ``to[i, place, k] = value(k)`` for all fields ``k``."""
        return self.each(lambda k: store(to, (self.i, place, k), value(k)))

    def erase(self, j: PrimExpr) -> Stmt:
        return seq(self.row(self.boxes, j, lambda k: const(-1, self.x.dtype)), store(self.places, (self.i, j), -1))

    def take(self, j: PrimExpr, source: PrimExpr) -> Stmt:
        """Return what makes box ``source`` of the data the ``j``-th."""
        copied = self.row(self.boxes, j, lambda k: self.x[self.i, source, k])
        return seq(copied, store(self.places, (self.i, j), cast("int32", source)))

    def precedes(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        score = self.attrs.score_index
        return before(self.x[self.i, a, score], self.x[self.i, b, score], False)

    @property
    def relax(self) -> bool:
        """Whether this is Relax's operator: it drops boxes without a score, and knows classes and
        names below zero.
        """
        return isinstance(self.attrs, RelaxNonMaximumSuppressionAttrs)

    def judge(self, j: PrimExpr, kept: Cell, most: PrimExpr, threshold: PrimExpr) -> Stmt:
        """Return what drops box ``j`` if ``most`` are kept, if it has no score, or if a better one
        overlaps it.
        """

        def compare(alive: Cell) -> Stmt:
            rivals = loop(j, lambda k: self.rival(j, k, alive, threshold), "rival")
            return seq(rivals, when(alive.value.equal(0), self.erase(j), kept.add(1)))

        scored = self.boxes[self.i, j, self.attrs.score_index] > 0
        if isinstance(self.attrs, RelaxNonMaximumSuppressionAttrs):
            able = logical_and(scored, kept.value < most) if self.attrs.max_output_size > 0 else scored
            return when(able, local("int32", 1, compare, "alive"), self.erase(j))
        full = kept.value.equal(cast("int64", most))
        return when(full, self.erase(j), when(scored, local("int32", 1, compare, "alive")))

    def rival(self, j: PrimExpr, k: PrimExpr, alive: Cell, threshold: PrimExpr) -> Stmt:
        """Return what ends ``alive`` if box ``k``, still there and of the same class, overlaps box
        ``j``.
        """
        attrs, i, boxes = self.attrs, self.i, self.boxes
        counts_too = [alive.value > 0, boxes[i, k, attrs.score_index] > 0]
        if attrs.id_index >= 0:
            if not self.relax:
                counts_too.append(boxes[i, k, attrs.id_index] >= 0)
            if not attrs.force_suppress:
                counts_too.append(boxes[i, k, attrs.id_index].equal(boxes[i, j, attrs.id_index]))
        one, other = ([boxes[i, place, attrs.coord_start + d] for d in range(4)] for place in (j, k))
        near = overlap(one, other) >= cast(self.x.dtype, threshold)
        return when(logical_and(*counts_too), when(near, alive.set(0)))

    def collect(self, names: Buffer, chosen: Buffer, number: Buffer) -> Stmt:
        """Write the ``names`` of boxes that are left to ``chosen``, then -1, and how many to
        ``number``.
        """
        anchors = self.x.shape[1]

        def step(j: PrimExpr, count: Cell) -> Stmt:
            def put(name: PrimExpr) -> Stmt:
                made = seq(store(chosen, (self.i, count.value), name), count.add(1))
                return made if self.relax else when(name >= 0, made)

            name = cast("int32", names[self.i, cast("int64", self.places[self.i, j])])
            return when(self.places[self.i, j] >= 0, let(name, put, "name"))

        def all_(count: Cell) -> Stmt:
            return seq(
                loop(anchors, lambda j: step(j, count), "j"),
                loop(anchors, lambda j: when(j >= count.value, store(chosen, (self.i, j), -1)), "j"),
                store(number, (self.i, 0), cast("int32", count.value)),
            )

        return local("int64", 0, all_, "count")

    def move(self, result: Buffer) -> Stmt:
        """Return what copies the boxes to ``result``; with ``invalid_to_bottom`` those that are
        left come first.
        """
        anchors = self.x.shape[1]
        told_by = self.attrs.score_index if self.relax else 0

        def step(j: PrimExpr, count: Cell) -> Stmt:
            put = seq(self.row(result, count.value, lambda k: self.boxes[self.i, j, k]), count.add(1))
            return when(self.boxes[self.i, j, told_by] >= 0, put) if self.attrs.invalid_to_bottom else put

        def clear(j: PrimExpr, count: Cell) -> Stmt:
            return when(j >= count.value, self.row(result, j, lambda k: const(-1, self.x.dtype)))

        def all_(count: Cell) -> Stmt:
            return seq(loop(anchors, lambda j: step(j, count), "j"), loop(anchors, lambda j: clear(j, count), "j"))

        return local("int64", 0, all_, "count")


def suppression_compute(
    attrs: NonMaximumSuppressionAttrs,
    out: Type,
    data: te.Tensor,
    valid_count: te.Tensor,
    indices: te.Tensor,
    max_output_size: te.Tensor,
    iou_threshold: te.Tensor,
) -> Tensors:
    """Return what is left of the boxes, which are sorted into a copy first."""
    _check_names(attrs, indices.rank)
    batch, anchors, _ = data.shape

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        x, counts, names, most, threshold = inputs
        *results, boxes, places, order, scratch = outputs
        sorts = only(threshold) > 0.0

        def row(i: PrimExpr) -> Stmt:
            image = _Image(attrs, i, x, boxes, places)

            def choose(valid: PrimExpr) -> Stmt:
                limit = Select(sorts, minimum(valid, attrs.top_k), valid) if attrs.top_k > 0 else valid

                def copy(j: PrimExpr) -> Stmt:
                    best = let(order[i, j], lambda source: image.take(j, source), "source")
                    return when(j < limit, when(sorts, best, image.take(j, j)), image.erase(j))

                def judge(kept: Cell) -> Stmt:
                    return loop(valid, lambda j: image.judge(j, kept, only(most), only(threshold)), "j")

                return seq(
                    merge_sort(order, scratch, lambda k: (i, k), valid, image.precedes),
                    loop(anchors, copy, "j"),
                    when(sorts, local("int64", 0, judge, "kept")),
                )

            count = maximum(minimum(cast("int64", counts[i]), anchors), 0)
            last = image.collect(names, *results) if attrs.return_indices else image.move(*results)
            return seq(let(count, choose, "valid"), last)

        return rows((batch,), inputs, outputs, row, "image")

    fields = [tensor(one) for one in out.fields] if isinstance(out, TupleType) else [tensor(out)]
    places = data.shape[:2]
    shapes: list[Sequence[Extent]] = [*(one.shape for one in fields), data.shape, places, places, places]
    dtypes = [*(one.dtype for one in fields), data.dtype, "int32", "int64", "int64"]
    given = [data, valid_count, indices, max_output_size, iou_threshold]
    found = te.extern(shapes, dtypes, given, build, "non_max_suppression")
    return found[:2] if attrs.return_indices else found[0]


def suppression_relax(
    e: Emit[V],
    attrs: NonMaximumSuppressionAttrs,
    data: V,
    valid_count: V,
    indices: V,
    max_output_size: V,
    iou_threshold: V,
) -> V:
    """R.vision.non_max_suppression, for boxes of R.vision.get_valid_counts with a positive
    threshold of overlap; else it drops boxes without a positive score, sorts where nothing is
    suppressed, and moves boxes to the front by their score, Relay's by their first field.
    """
    given = (data, valid_count, indices, max_output_size, iou_threshold)
    most, threshold = e.constant_of(max_output_size), e.constant_of(iou_threshold)
    if most is None or threshold is None or not number(most) or not number(threshold) > 0:
        return e.as_tir(non_max_suppression, attrs, given, "R.vision.non_max_suppression suppresses always, by limits "
                        "that are known beforehand")  # fmt: skip
    counted = [e.field_of(one) for one in (valid_count, data, indices)]
    if not _are_counted(attrs, counted):
        return e.as_tir(non_max_suppression, attrs, given, "R.vision.non_max_suppression drops boxes without a "
                        "positive score and of a class below zero otherwise")  # fmt: skip
    if attrs.invalid_to_bottom and not attrs.return_indices and attrs.id_index:
        return e.as_tir(non_max_suppression, attrs, given, "R.vision.non_max_suppression moves boxes to the front by "
                        "their score, Relay's by their first field")  # fmt: skip
    own = {field.name: getattr(attrs, field.name) for field in attr_fields(NonMaximumSuppressionAttrs)}
    limits_ = {"max_output_size": int(number(most)), "iou_threshold": float(number(threshold))}
    return e.call("vision.non_max_suppression", data, valid_count, indices, **limits_, **own)


def _are_counted(attrs: NonMaximumSuppressionAttrs, fields: Sequence[FieldOf[V] | None]) -> bool:
    """Whether counts, boxes and places are the fields of one R.vision.get_valid_counts, which left
    boxes with a positive score, and with a class where there are classes.
    """
    found = [one for one in fields if one is not None]
    if len(found) != len(fields) or any(
        one.whole is not found[0].whole or one.index != at for at, one in enumerate(found)
    ):
        return False
    made = found[0].attrs
    return (
        isinstance(made, RelaxGetValidCountsAttrs)
        and made.score_threshold >= 0
        and (made.id_index, made.score_index) == (attrs.id_index, attrs.score_index)
    )


def relax_suppression_type(
    attrs: RelaxNonMaximumSuppressionAttrs, data: Type, valid_count: Type, indices: Type
) -> Type:
    """Return the boxes, or (their indices, how many there are), behind the boxes where overlaps
    lower scores.
    """
    x = boxes_type(data)
    if tensor(valid_count, 1).rank != 1 or tensor(indices, 2).rank != 2:
        raise OpError("one count for each image, and an index for each box, are expected", 1, kind=operators.SHAPE)
    if not attrs.return_indices:
        return x
    chosen = (TensorType(x.shape[:2], "int32"), TensorType((x.shape[0], 1), "int32"))
    return TupleType((x, *chosen) if attrs.soft_nms_sigma > 0 else chosen)


def _check_hard(attrs: RelaxNonMaximumSuppressionAttrs) -> None:
    if attrs.soft_nms_sigma > 0:
        given = f"{attrs.soft_nms_sigma:g}"
        raise OpError(mistake(operators.ATTRIBUTE, name="soft_nms_sigma", value=given, expected="0: none is computed"))


def relax_suppression_numpy(
    attrs: RelaxNonMaximumSuppressionAttrs, data: Array, valid_count: Array, indices: Array
) -> Any:
    """Return what is left of the sorted boxes; rows that are dropped hold -1."""
    _check_hard(attrs)
    boxes: Any = np.full_like(data, -1)
    places = np.full(data.shape[:2], -1, np.int32)
    for image, count in enumerate(valid_count):
        found: Any = data[image, : max(int(count), 0)]
        order = order_numpy(found[:, attrs.score_index], 0, False)
        order = order[: attrs.top_k] if attrs.top_k > 0 else order
        left = _left(attrs, found[order])
        boxes[image, : len(order)][left], places[image, : len(order)][left] = found[order][left], order[left]
    if attrs.return_indices:
        kept = places >= 0
        named = np.take_along_axis(indices, np.maximum(places, 0).astype(np.int64), 1)
        order = np.argsort(~kept, axis=1, kind="stable")
        counts = kept.sum(axis=1, dtype=np.int32)
        chosen = np.where(np.arange(kept.shape[1]) < counts[:, None], np.take_along_axis(named, order, 1), -1)
        return chosen.astype(np.int32), counts[:, None]
    return _numpy_to_front(boxes, attrs.score_index) if attrs.invalid_to_bottom else boxes


def _left(attrs: RelaxNonMaximumSuppressionAttrs, boxes: Numbers) -> Numbers:
    """Return which rows of sorted ``boxes`` are left."""
    able = boxes[:, attrs.score_index] > 0
    alike: Numbers = np.ones((len(boxes), len(boxes)), bool)
    if attrs.id_index >= 0 and not attrs.force_suppress:
        names = boxes[:, attrs.id_index]
        alike = names[:, None] == names
    corners = numpy_corners(boxes[:, attrs.coord_start : attrs.coord_start + 4])
    left = np.zeros(len(boxes), bool)
    threshold = boxes.dtype.type(attrs.iou_threshold)
    for place in range(len(boxes)):
        if not able[place] or 0 < attrs.max_output_size <= left.sum():
            continue
        limits.check()
        left[place] = True
        near = numpy_overlap(corners[:, place], corners[:, place + 1 :]) >= threshold
        able[place + 1 :] &= ~(near & alike[place, place + 1 :])
    return left


def relax_suppression_compute(
    attrs: RelaxNonMaximumSuppressionAttrs, out: Type, data: te.Tensor, valid_count: te.Tensor, indices: te.Tensor
) -> Tensors:
    """Return what is left of the boxes, which are sorted into a copy first."""
    _check_hard(attrs)
    batch, anchors, _ = data.shape
    most, threshold = const(attrs.max_output_size, "int64"), const(attrs.iou_threshold, data.dtype)

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        x, counts, names = inputs
        *results, boxes, places, order, scratch = outputs

        def row(i: PrimExpr) -> Stmt:
            image = _Image(attrs, i, x, boxes, places)

            def choose(valid: PrimExpr) -> Stmt:
                looked_at = minimum(valid, attrs.top_k) if attrs.top_k > 0 else valid

                def copy(j: PrimExpr) -> Stmt:
                    best = let(order[i, j], lambda source: image.take(j, source), "source")
                    return when(j < looked_at, best, image.erase(j))

                def judge(kept: Cell) -> Stmt:
                    return loop(valid, lambda j: image.judge(j, kept, most, threshold), "j")

                return seq(
                    merge_sort(order, scratch, lambda k: (i, k), valid, image.precedes),
                    loop(anchors, copy, "j"),
                    local("int64", 0, judge, "kept"),
                )

            count = maximum(minimum(cast("int64", counts[i]), anchors), 0)
            last = image.collect(names, *results) if attrs.return_indices else image.move(*results)
            return seq(let(count, choose, "valid"), last)

        return rows((batch,), inputs, outputs, row, "image")

    fields = [tensor(one) for one in out.fields] if isinstance(out, TupleType) else [tensor(out)]
    shapes: list[Sequence[Extent]] = [*(one.shape for one in fields), data.shape, *[data.shape[:2]] * 3]
    dtypes = [*(one.dtype for one in fields), data.dtype, "int32", "int64", "int64"]
    found = te.extern(shapes, dtypes, [data, valid_count, indices], build, "non_max_suppression")
    return found[:2] if attrs.return_indices else found[0]


# Records

get_valid_counts = OpDef(
    relay="vision.get_valid_counts",
    doc="The boxes with a score above a threshold, moved to the front; the other rows are -1.",
    source=SOURCE,
    inputs=("data", "score_threshold"),
    attrs=GetValidCountsAttrs,
    declares_attrs=False,
    infer=valid_counts_type,
    numpy=valid_counts_numpy,
    compute=valid_counts_compute,
    relax=Expanded(valid_counts_relax),
)

relax_get_valid_counts = OpDef(
    doc="The boxes with a score above a threshold, moved to the front; the other rows are -1.",
    source="TVM 0.27 src/relax/op/vision/nms.cc",
    inputs=("data",),
    attrs=RelaxGetValidCountsAttrs,
    infer=lambda attrs, data: valid_counts_type(attrs, data, TensorType(())),
    numpy=lambda attrs, data: valid_counts_numpy(attrs, data, _threshold(attrs)),
    compute=relax_valid_counts_compute,
    relax=SameOp(),
    script=Script(
        "vision.get_valid_counts",
        "data, score_threshold=0, id_index=0, score_index=1",
        since="0.24",
        gpu_limits=(STATEMENTS,),
    ),
)

non_max_suppression = OpDef(
    relay="vision.non_max_suppression",
    doc="Boxes by falling score without those that overlap one before them: rows, or their indices and number.",
    source=SOURCE,
    inputs=("data", "valid_count", "indices", "max_output_size", "iou_threshold"),
    attrs=NonMaximumSuppressionAttrs,
    declares_attrs=False,
    infer=suppression_type,
    numpy=suppression_numpy,
    compute=suppression_compute,
    relax=Expanded(suppression_relax),
)

relax_non_max_suppression = OpDef(
    doc="Boxes by falling score without those that overlap one before them: rows, or their indices and number.",
    source="TVM 0.27 python/tvm/topi/vision/nms.py",
    inputs=("data", "valid_count", "indices"),
    attrs=RelaxNonMaximumSuppressionAttrs,
    infer=relax_suppression_type,
    numpy=relax_suppression_numpy,
    compute=relax_suppression_compute,
    relax=SameOp(),
    script=Script(
        "vision.non_max_suppression",
        "data, valid_count, indices, max_output_size=-1, iou_threshold=0.5, force_suppress=False, top_k=-1, "
        "coord_start=2, score_index=1, id_index=0, return_indices=True, invalid_to_bottom=False, soft_nms_sigma=0.0, "
        "score_threshold=0.0",
        since="0.24",
        gpu_limits=(STATEMENTS,),
    ),
)

OPS = (get_valid_counts, relax_get_valid_counts, non_max_suppression, relax_non_max_suppression)
