"""Non-maximum suppression class by class: for ONNX and TensorFlow, and as TFLite's detection
post-processing does it.

Equal scores keep their order. Rows that nothing was chosen for are 0.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core import limits
from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.limits import STATEMENTS
from relay2relax.ops.common.order import before, merge_sort, order_numpy
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, bind, let, local, loop, rows, seq, store, when
from relay2relax.ops.registry.attributes import Double, InlineString, Int
from relay2relax.ops.registry.record import OpDef, OpError, Otherwise, SameOp
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.vision.nms import SOURCE, boxes_type, number, numpy_corners, numpy_overlap, only, overlap
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, as_prim, ceildiv, equal, floordiv, mul, product, sub
from relay2relax.tir.ir.expr import Buffer, PrimExpr, PrimLike, Select, cast, const, logical_and, maximum, minimum
from relay2relax.tir.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class AllClassNonMaximumSuppressionAttrs:
    """``output_format`` is "onnx" or "tensorflow"."""

    output_format: InlineString = "onnx"


@dataclass(frozen=True, slots=True)
class RegularNonMaximumSuppressionAttrs:
    """``num_classes`` leaves the background out."""

    max_detections_per_class: Int
    max_detections: Int
    num_classes: Int
    iou_threshold: Double
    score_threshold: Double


# all_class_non_max_suppression


def all_class_type(
    attrs: AllClassNonMaximumSuppressionAttrs,
    boxes: Type,
    scores: Type,
    max_output_boxes_per_class: Type,
    iou_threshold: Type,
    score_threshold: Type,
) -> TupleType:
    """Return the chosen (image, class, box) and their number, or for TensorFlow (class, box),
    scores and numbers.
    """
    boxes_type(boxes)
    found = tensor(scores, 1)
    if found.rank != 3:
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the tensor of scores",
                shape=show(found.shape),
                expected="(batch, classes, boxes)",
            ),
            1,
        )
    batch, classes, count = found.shape
    if attrs.output_format == "onnx":
        total = product((batch, classes, count))
        return TupleType((TensorType((total, 3), "int64"), TensorType((1,), "int64")))
    if attrs.output_format != "tensorflow":
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="output_format",
                value=repr(attrs.output_format),
                expected="'onnx' or 'tensorflow'",
            )
        )
    each = mul(classes, count)
    return TupleType(
        (TensorType((batch, each, 2), "int64"), TensorType((batch, each), "float32"), TensorType((batch,), "int64"))
    )


def all_class_numpy(
    attrs: AllClassNonMaximumSuppressionAttrs,
    boxes: Array,
    scores: Array,
    max_output_boxes_per_class: Array,
    iou_threshold: Array,
    score_threshold: Array,
) -> tuple[Array, ...]:
    """Return the chosen boxes, image by image and class by class, those of higher score first."""
    batch, classes, count = scores.shape
    most = int(number(max_output_boxes_per_class))
    threshold, least = number(iou_threshold), number(score_threshold)
    chosen: list[list[tuple[int, int]]] = [[] for _ in range(batch)]
    for image in range(batch):
        for name in range(classes):
            picked = _numpy_class(boxes[image], scores[image, name], most, threshold, least)
            chosen[image] += [(name, box) for box in picked]
    if attrs.output_format == "onnx":
        rows_ = [(image, *row) for image, found in enumerate(chosen) for row in found]
        indices = np.zeros((batch * classes * count, 3), np.int64)
        indices[: len(rows_)] = np.array(rows_, np.int64).reshape(-1, 3)
        return indices, np.array([len(rows_)], np.int64)
    pairs = np.zeros((batch, classes * count, 2), np.int64)
    values = np.zeros((batch, classes * count), np.float32)
    for image, found in enumerate(chosen):
        listed = np.array(found, np.int64).reshape(-1, 2)
        pairs[image, : len(found)] = listed
        values[image, : len(found)] = scores[image, listed[:, 0], listed[:, 1]]
    return pairs, values, np.array([len(found) for found in chosen], np.int64)


def _numpy_class(boxes: Numbers, scores: Numbers, most: int, threshold: Numbers, least: Numbers) -> list[int]:
    """Return the boxes of one class that are chosen."""
    order = order_numpy(scores, 0, False)
    order = order[: int(np.count_nonzero(scores > least))]
    if not threshold > 0:
        return []
    left = scores[order]
    corners = numpy_corners(boxes[order])
    kept: list[int] = []
    for place, box in enumerate(order):
        if len(kept) == (most if most > 0 else len(order)):
            break
        if not left[place] > -1:
            continue
        limits.check()
        kept.append(int(box))
        near = (numpy_overlap(corners[:, place], corners) >= threshold) & (left > 0)
        near[: place + 1] = False
        left = np.where(near, left.dtype.type(-1), left)
    return kept


# Rivals that are looked at without asking whether there are so many.
_LANES = 64


@dataclass(frozen=True, slots=True)
class _Class:
    """The statements that choose among the boxes of class ``c`` of image ``i``, best first by
    ``order``.

    ``left`` has the scores in that order, -1 where a box is dropped, and ``corners`` the boxes, a
    row for each coordinate. Both end with a whole block, for which the last box stands again, so
    that rivals are looked at in vectors. ``picked`` lists the boxes that are kept.
    """

    i: PrimExpr
    c: PrimExpr
    corner: Buffer
    score: Buffer
    order: Buffer
    left: Buffer
    corners: Buffer
    picked: Buffer

    def precedes(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        return before(self.score[self.i, self.c, a], self.score[self.i, self.c, b], False)

    def box(self, j: PrimExpr) -> list[PrimExpr]:
        return [self.corners[self.i, self.c, d, j] for d in range(4)]

    def spread(self, j: PrimExpr, valid: Cell, least: PrimExpr) -> Stmt:
        """Return what puts the ``j``-th best score and its box in their places, and counts it where
        it is above ``least``.
        """
        i, c, count = self.i, self.c, as_prim(self.order.shape[2])

        def take(value: PrimExpr) -> Stmt:
            above = logical_and(j < count, value > cast(self.score.dtype, least))
            return seq(store(self.left, (i, c, j), value), when(above, valid.add(1)))

        def put(box: PrimExpr) -> Stmt:
            placed = [store(self.corners, (i, c, d, j), self.corner[i, box, d]) for d in range(4)]
            return seq(*placed, let(self.score[i, c, box], take, "value"))

        return let(self.order[i, c, minimum(j, count - 1)], put, "box")

    def look(self, j: PrimExpr, kept: Cell, valid: Cell, limit: PrimExpr, threshold: PrimExpr) -> Stmt:
        """Return what keeps the ``j``-th best, if it is there and less than ``limit`` are, and
        drops its rivals.
        """
        i, c = self.i, self.c

        def rivals(*best: PrimExpr) -> Stmt:
            def rival(k: PrimExpr) -> Stmt:
                near = overlap(best, self.box(k)) >= cast(self.corner.dtype, threshold)

                def drop(value: PrimExpr) -> Stmt:
                    drops = logical_and(logical_and(k > j, value > 0), near)
                    return store(self.left, (i, c, k), Select(drops, const(-1, value.dtype), value))

                return let(self.left[i, c, k], drop, "value")

            def block(number: PrimExpr) -> Stmt:
                first = number * _LANES
                return when(first < valid.value, loop(_LANES, lambda lane: rival(first + lane), "rival"))

            return loop(floordiv(self.left.shape[2], _LANES), block, "rivals")

        keep = seq(
            store(self.picked, (i, c, kept.value), self.order[i, c, j]),
            kept.add(1),
            bind(self.box(j), rivals, ("top", "left_side", "bottom", "right_side")),
        )
        return when(logical_and(kept.value < limit, self.left[i, c, j] > -1), keep)


def all_class_compute(
    attrs: AllClassNonMaximumSuppressionAttrs,
    out: TupleType,
    boxes: te.Tensor,
    scores: te.Tensor,
    max_output_boxes_per_class: te.Tensor,
    iou_threshold: te.Tensor,
    score_threshold: te.Tensor,
) -> tuple[te.Tensor, ...]:
    """Return the choice of each class, made in parallel, then collected."""
    batch, classes, count = scores.shape
    whole = mul(ceildiv(count, _LANES), _LANES)

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        corner, score, most, threshold, least = inputs
        *results, order, scratch, left, corners, picked, picked_count = outputs

        def one_class(i: PrimExpr, c: PrimExpr) -> Stmt:
            one = _Class(i, c, corner, score, order, left, corners, picked)

            def choose(valid: Cell) -> Stmt:
                limit = cast("int64", only(most))
                limit = Select(limit > 0, limit, valid.value)

                def keep(kept: Cell) -> Stmt:
                    looks = loop(valid.value, lambda j: one.look(j, kept, valid, limit, only(threshold)), "j")
                    return seq(when(only(threshold) > 0.0, looks), store(picked_count, (i, c), kept.value))

                spread = loop(whole, lambda j: one.spread(j, valid, only(least)), "j")
                return seq(spread, local("int64", 0, keep, "kept"))

            ordered = merge_sort(order, scratch, lambda k: (i, c, k), count, one.precedes)
            return seq(ordered, local("int64", 0, choose, "valid"))

        collect = _onnx_results if attrs.output_format == "onnx" else _image_results
        return seq(
            rows((batch, classes), inputs, outputs, one_class, "class"),
            collect(results, score, picked, picked_count),
        )

    fields = [tensor(one) for one in out.fields]
    shapes: list[Sequence[Extent]] = [
        *(one.shape for one in fields), scores.shape, scores.shape, (batch, classes, whole),
        (batch, classes, 4, whole), scores.shape, (batch, classes),
    ]  # fmt: skip
    dtypes = [*(one.dtype for one in fields), "int64", "int64", scores.dtype, boxes.dtype, "int64", "int64"]
    given = [boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold]
    return te.extern(shapes, dtypes, given, build, "all_class_nms")[: len(fields)]


def _listed(write: Callable[..., Stmt], picked_count: Buffer, i: PrimExpr, total: Cell) -> Stmt:
    """Return ``write(i, class, place, number)`` for all that is picked of image ``i``, numbered by
    ``total``.
    """

    def each(c: PrimExpr) -> Stmt:
        return loop(picked_count[i, c], lambda j: seq(write(i, c, j, total.value), total.add(1)), "j")

    return loop(picked_count.shape[1], each, "c")


def _onnx_results(results: Sequence[Buffer], score: Buffer, picked: Buffer, picked_count: Buffer) -> Stmt:
    """Return what lists (image, class, box) of all images, and their number."""
    indices, how_many = results

    def write(i: PrimExpr, c: PrimExpr, j: PrimExpr, at: PrimExpr) -> Stmt:
        return seq(store(indices, (at, 0), i), store(indices, (at, 1), c), store(indices, (at, 2), picked[i, c, j]))

    def gather(total: Cell) -> Stmt:
        images = loop(score.shape[0], lambda i: _listed(write, picked_count, i, total), "image")
        return seq(images, store(how_many, (0,), total.value))

    rest = loop(indices.shape[0], lambda r: loop(3, lambda d: store(indices, (r, d), 0), "d"), "r")
    return seq(rest, local("int64", 0, gather, "total"))


def _image_results(results: Sequence[Buffer], score: Buffer, picked: Buffer, picked_count: Buffer) -> Stmt:
    """Return what lists (class, box) and the scores of each image, and their number."""
    pairs, values, numbers = results

    def write(i: PrimExpr, c: PrimExpr, j: PrimExpr, at: PrimExpr) -> Stmt:
        value = cast("float32", score[i, c, picked[i, c, j]])
        return seq(
            store(pairs, (i, at, 0), c),
            store(pairs, (i, at, 1), picked[i, c, j]),
            store(values, (i, at), value),
        )

    def clear(i: PrimExpr, r: PrimExpr) -> Stmt:
        return seq(store(pairs, (i, r, 0), 0), store(pairs, (i, r, 1), 0), store(values, (i, r), 0.0))

    def image(i: PrimExpr) -> Stmt:
        def gather(total: Cell) -> Stmt:
            return seq(_listed(write, picked_count, i, total), store(numbers, (i,), total.value))

        return seq(loop(values.shape[1], lambda r: clear(i, r), "r"), local("int64", 0, gather, "total"))

    return loop(score.shape[0], image, "image")


# regular_non_max_suppression


def regular_type(attrs: RegularNonMaximumSuppressionAttrs, boxes: Type, scores: Type) -> TupleType:
    """Return (boxes, classes, scores, number) of the best detections of each image."""
    corners, found = boxes_type(boxes), tensor(scores, 1)
    if found.rank != 3 or equal(corners.shape[2], 4) is False:
        raise OpError(
            f"boxes (batch, count, 4) and scores (batch, count, classes) are expected, these are "
            f"{show(corners.shape)} and {show(found.shape)}",
            1,
            kind=operators.SHAPE,
        )
    batch, most = corners.shape[0], attrs.max_detections
    fields = TensorType((batch, most, 4)), TensorType((batch, most)), TensorType((batch, most))
    return TupleType((*fields, TensorType((batch,), "int32")))


def regular_numpy(
    attrs: RegularNonMaximumSuppressionAttrs, boxes: Array, scores: Array
) -> tuple[Array, Array, Array, Array]:
    """Return the detections of all classes by falling score."""
    batch, most = boxes.shape[0], attrs.max_detections
    found = np.zeros((batch, most, 4), np.float32)
    names, values = np.zeros((batch, most), np.float32), np.zeros((batch, most), np.float32)
    numbers = np.zeros(batch, np.int32)
    background = scores.shape[2] - attrs.num_classes
    for image in range(batch):
        chosen: list[tuple[int, int]] = []
        for name in range(attrs.num_classes):
            one: Numbers = scores[image, :, name + background]
            chosen += [(box, name) for box in _numpy_regular(attrs, boxes[image], one)]
        pairs = np.array(chosen, np.int64).reshape(-1, 2)
        each = scores[image, pairs[:, 0], pairs[:, 1] + background]
        order = order_numpy(each, 0, False)[:most]
        count = numbers[image] = len(order)
        found[image, :count] = boxes[image, pairs[order, 0]]
        names[image, :count], values[image, :count] = pairs[order, 1], each[order]
    return found, names, values, numbers


def _numpy_regular(attrs: RegularNonMaximumSuppressionAttrs, boxes: Numbers, scores: Numbers) -> list[int]:
    """Return the boxes of one class that are chosen."""
    order = order_numpy(scores, 0, False)
    order = order[scores[order] >= np.float32(attrs.score_threshold)]
    alive = np.ones(len(order), np.bool_)
    kept: list[int] = []
    for place, box in enumerate(order):
        if len(kept) == attrs.max_detections_per_class:
            break
        if alive[place]:
            kept.append(int(box))
            alive &= ~(_numpy_ratio(boxes[box], boxes[order]) > np.float32(attrs.iou_threshold))
    return kept


def _numpy_ratio(box: Numbers, others: Numbers) -> Numbers:
    """Return the overlap of ``box`` with each of ``others``; corners are in order, or the box has
    no area.
    """
    spans, span = others[:, 2:] - others[:, :2], box[2:] - box[:2]
    areas, area = spans[:, 0] * spans[:, 1], span[0] * span[1]
    sides = np.minimum(box[2:], others[:, 2:]) - np.maximum(box[:2], others[:, :2])
    sides = np.maximum(sides, others.dtype.type(0))
    both = sides[:, 0] * sides[:, 1]
    with np.errstate(all="ignore"):
        return np.asarray(np.where((areas > 0) & (area > 0), both / (area + areas - both), others.dtype.type(0)))


def _ratio(a: list[PrimExpr], b: list[PrimExpr]) -> PrimExpr:
    """Return the overlap of two boxes; corners are in order, or the box has no area."""
    area, other = ((box[2] - box[0]) * (box[3] - box[1]) for box in (a, b))
    sides = [maximum(minimum(a[2 + d], b[2 + d]) - maximum(a[d], b[d]), 0.0) for d in range(2)]
    both = sides[0] * sides[1]
    return Select(logical_and(area > 0.0, other > 0.0), both / (area + other - both), const(0, both.dtype))


@dataclass(frozen=True, slots=True)
class _Detections:
    """The statements that choose among the boxes of image ``i``, class by class.

    ``order`` and ``alive`` are of the class at hand; ``box_of``, ``name_of`` and ``value_of`` list
    what is chosen.
    """

    attrs: RegularNonMaximumSuppressionAttrs
    i: PrimExpr
    corner: Buffer
    score: Buffer
    order: Buffer
    scratch: Buffer
    alive: Buffer
    box_of: Buffer
    name_of: Buffer
    value_of: Buffer

    def value(self, box: PrimExpr, c: PrimExpr) -> PrimExpr:
        """Return the score of ``box`` for class ``c``; the scores of the background come first."""
        background = as_prim(sub(self.score.shape[2], self.attrs.num_classes))
        return self.score[self.i, box, c + background]

    def box(self, j: PrimExpr) -> list[PrimExpr]:
        return [self.corner[self.i, self.order[self.i, j], d] for d in range(4)]

    def choose(self, c: PrimExpr, listed: Cell) -> Stmt:
        """Return what lists the boxes of class ``c`` that no better one overlaps."""
        count = self.corner.shape[1]

        def precedes(a: PrimExpr, b: PrimExpr) -> PrimExpr:
            return before(self.value(a, c), self.value(b, c), False)

        return seq(
            merge_sort(self.order, self.scratch, lambda k: (self.i, k), count, precedes),
            loop(count, lambda j: store(self.alive, (self.i, j), 1), "j"),
            local("int64", 0, lambda kept: loop(count, lambda j: self.look(c, j, kept, listed), "j"), "kept"),
        )

    def look(self, c: PrimExpr, j: PrimExpr, kept: Cell, listed: Cell) -> Stmt:
        """Return what lists the ``j``-th best, if it is good enough and still there, and ends its
        rivals.
        """
        attrs, i = self.attrs, self.i
        chosen = self.order[i, j]

        def rival(step: PrimExpr) -> Stmt:
            k = j + step + 1
            near = _ratio(self.box(j), self.box(k)) > const(attrs.iou_threshold, self.corner.dtype)
            return when(near, store(self.alive, (i, k), 0))

        keep = seq(
            store(self.box_of, (i, listed.value), chosen),
            store(self.name_of, (i, listed.value), c),
            store(self.value_of, (i, listed.value), self.value(chosen, c)),
            listed.add(1),
            kept.add(1),
            loop(as_prim(self.corner.shape[1]) - j - 1, rival, "rival"),
        )
        good = self.value(chosen, c) >= const(attrs.score_threshold, self.score.dtype)
        free = kept.value < attrs.max_detections_per_class
        return when(logical_and(free, self.alive[i, j] > 0, good), keep)

    def fill(self, r: PrimExpr, listed: Cell, best: Buffer, found: Buffer, names: Buffer, values: Buffer) -> Stmt:
        """Return what writes the ``r``-th ``best`` of all that is listed, 0 behind the last."""

        def write(corner: Callable[[PrimExpr], PrimLike], name: PrimLike, value: PrimLike) -> Stmt:
            box = loop(4, lambda d: store(found, (self.i, r, d), corner(d)), "d")
            return seq(box, store(names, (self.i, r), name), store(values, (self.i, r), value))

        def put(at: PrimExpr) -> Stmt:
            return write(
                lambda d: cast("float32", self.corner[self.i, self.box_of[self.i, at], d]),
                cast("float32", self.name_of[self.i, at]),
                cast("float32", self.value_of[self.i, at]),
            )

        return when(r < listed.value, let(best[self.i, r], put, "at"), write(lambda d: 0.0, 0.0, 0.0))


def regular_compute(
    attrs: RegularNonMaximumSuppressionAttrs, out: TupleType, boxes: te.Tensor, scores: te.Tensor
) -> tuple[te.Tensor, ...]:
    """Return the choice of each class, listed class by class and sorted together."""
    batch, count, _ = boxes.shape
    classes, most = attrs.num_classes, attrs.max_detections

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        corner, score = inputs
        found, names, values, numbers, order, scratch, alive, box_of, name_of, value_of, best, spare = outputs

        def image(i: PrimExpr) -> Stmt:
            one = _Detections(attrs, i, corner, score, order, scratch, alive, box_of, name_of, value_of)

            def precedes(a: PrimExpr, b: PrimExpr) -> PrimExpr:
                return before(value_of[i, a], value_of[i, b], False)

            def rank(listed: Cell) -> Stmt:
                return seq(
                    loop(classes, lambda c: one.choose(c, listed), "c"),
                    merge_sort(best, spare, lambda k: (i, k), listed.value, precedes),
                    loop(most, lambda r: one.fill(r, listed, best, found, names, values), "r"),
                    store(numbers, (i,), cast("int32", minimum(listed.value, most))),
                )

            return local("int64", 0, rank, "listed")

        return rows((batch,), inputs, outputs, image, "image")

    fields = [tensor(one) for one in out.fields]
    each, all_ = (batch, count), (batch, mul(classes, count))
    shapes: list[Sequence[Extent]] = [*(one.shape for one in fields), *[each] * 3, *[all_] * 5]
    scratch = ["int64", "int64", "int32", "int64", "int64", scores.dtype, "int64", "int64"]
    dtypes = [*(one.dtype for one in fields), *scratch]
    return te.extern(shapes, dtypes, [boxes, scores], build, "regular_nms")[: len(fields)]


# Records

all_class_non_max_suppression = OpDef(
    relay="vision.all_class_non_max_suppression",
    doc="For every image and class the boxes by falling score without those that overlap one before them.",
    source=SOURCE,
    inputs=("boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"),
    attrs=AllClassNonMaximumSuppressionAttrs,
    declares_attrs=False,
    infer=all_class_type,
    numpy=all_class_numpy,
    compute=all_class_compute,
    relax=Otherwise(
        "R.vision.all_class_non_max_suppression cuts off the rows of ONNX's form that nothing was chosen for, and "
        "apache-tvm 0.25 does not build TensorFlow's"
    ),
)

relax_all_class_non_max_suppression = OpDef(
    doc="For every image and class the boxes by falling score without those that overlap one before them.",
    source="TVM 0.27 src/relax/op/vision/nms.cc; TVM's own kernels then cut off rows that its type declares",
    inputs=("boxes", "scores", "max_output_boxes_per_class", "iou_threshold", "score_threshold"),
    attrs=AllClassNonMaximumSuppressionAttrs,
    infer=all_class_type,
    numpy=all_class_numpy,
    compute=all_class_compute,
    relax=SameOp(),
    script=Script(
        "vision.all_class_non_max_suppression",
        "boxes, scores, max_output_boxes_per_class, iou_threshold, score_threshold, output_format='onnx'",
        since="0.22",
        gpu_limits=(STATEMENTS,),
    ),
)

regular_non_max_suppression = OpDef(
    relay="vision.regular_non_max_suppression",
    doc="The best detections of each image, chosen class by class as TFLite's detection post-processing does it.",
    source=SOURCE,
    inputs=("boxes", "scores"),
    attrs=RegularNonMaximumSuppressionAttrs,
    declares_attrs=False,
    infer=regular_type,
    numpy=regular_numpy,
    compute=regular_compute,
)

OPS = (all_class_non_max_suppression, relax_all_class_non_max_suppression, regular_non_max_suppression)
