"""Regions of interest: their pooling (``vision.roi_align``, ``roi_pool``) and their proposal from anchors.

A region is a row (image, left, top, right, bottom) in units of the original image.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.attributes import Bool, Double, IndexExprArray, InlineString, Int
from relay2relax.ops.image import inside_of
from relay2relax.ops.imperative import Cell, bind, let, local, loop, rows, seq, store, when
from relay2relax.ops.layout import parse_layout
from relay2relax.ops.record import Emit, Expanded, OpDef, OpError, SameOp, Script, V
from relay2relax.ops.shapes import show, tensor
from relay2relax.ops.sorting import before, merge_sort, order_numpy
from relay2relax.ops.types import TensorType, Type
from relay2relax.ops.vision import numbers
from relay2relax.ops.windows import integers
from relay2relax.tir import te
from relay2relax.tir.expr import FloatImm, IntImm, PrimExpr, Select, binary, cast, const, logical_and, maximum, minimum
from relay2relax.tir.extent import as_prim, equal, mul, static
from relay2relax.tir.intrinsics import call, min_value
from relay2relax.tir.stmt import Stmt

SOURCE = "TVM 0.18 python/tvm/topi/vision/rcnn"
RELAX_SOURCE = "TVM 0.27 src/relax/op/vision"


@dataclass(frozen=True, slots=True)
class ROIAlignAttrs:
    """``sample_ratio`` samples per side of a bin; as many as the bin is long where it is not positive."""

    pooled_size: IndexExprArray
    spatial_scale: Double
    sample_ratio: Int = -1
    layout: InlineString = "NCHW"
    mode: InlineString = "avg"


@dataclass(frozen=True, slots=True)
class RelaxROIAlignAttrs:
    """Relax's fields of ``vision.roi_align``; ``aligned`` shifts regions by half an element."""

    pooled_size: IndexExprArray
    spatial_scale: Double
    sample_ratio: Int = -1
    aligned: Bool = False
    layout: InlineString = "NCHW"
    mode: InlineString = "avg"


@dataclass(frozen=True, slots=True)
class ROIPoolAttrs:
    """``pooled_size`` bins of (height, width)."""

    pooled_size: IndexExprArray
    spatial_scale: Double
    layout: InlineString = "NCHW"


@dataclass(frozen=True, slots=True)
class RelaxROIPoolAttrs(ROIPoolAttrs):
    """The same for R.vision.roi_pool, which does not allow for rounding at the borders of bins."""


_SCALES = tuple(FloatImm(value, "float32") for value in (4.0, 8.0, 16.0, 32.0))
_RATIOS = tuple(FloatImm(value, "float32") for value in (0.5, 1.0, 2.0))


@dataclass(frozen=True, slots=True)
class ProposalAttrs:
    """``iou_loss``: predictions are added to the corners, not to centre and size."""

    scales: IndexExprArray = _SCALES
    ratios: IndexExprArray = _RATIOS
    feature_stride: Int = 16
    threshold: Double = 0.7
    rpn_pre_nms_top_n: Int = 6000
    rpn_post_nms_top_n: Int = 300
    rpn_min_size: Int = 16
    iou_loss: Bool = False


# Pooling


def pooled_type(attrs: Any, data: Type, rois: Type) -> TensorType:
    """Return a small image for each region, in the layout of the data."""
    x, regions = tensor(data), tensor(rois, 1)
    layout = parse_layout(attrs.layout, "NCHW")
    if x.rank != 4 or layout.is_split:
        raise OpError(f"an image of 4 dimensions is expected, this is {show(x.shape)} in layout {attrs.layout}", 0)
    if regions.rank != 2 or equal(regions.shape[1], 5) is False:
        raise OpError(f"regions of shape (count, 5) are expected, these are {show(regions.shape)}", 1)
    if len(attrs.pooled_size) != 2:
        raise OpError(f"pooled_size needs 2 values, but has {len(attrs.pooled_size)}")
    channels = x.shape[layout.position("C")]
    return TensorType(layout.shape((regions.shape[0], channels, *attrs.pooled_size), "NCHW"), x.dtype)


def _align_check(attrs: Any) -> None:
    if attrs.mode not in ("avg", "max"):
        raise OpError(f"mode is {attrs.mode!r}; it may be 'avg' or 'max'")
    if attrs.layout not in ("NCHW", "NHWC"):
        raise OpError(f'layout is "{attrs.layout}"; it may be "NCHW" or "NHWC"')


def _least(attrs: Any) -> float | None:
    """Return the least length of a region, None where it may be of any length, as an aligned one is."""
    return None if isinstance(attrs, RelaxROIAlignAttrs) and attrs.aligned else 1.0


def _image(roi: Any, batch: int) -> int:
    """Return the image of a region; TVM reads whatever lies beyond the images, here the last one is meant."""
    return min(max(int(roi[0]), 0), batch - 1)


def _check_images(shape: Sequence[int], regions: int) -> None:
    if regions and 0 in shape:
        raise OpError(f"there are no regions in images of shape {show(shape)}", 0)


def align_numpy(attrs: Any, data: Array, rois: Array) -> Array:
    """Return mean or maximum of the samples of each bin, which are interpolated."""
    _align_check(attrs)
    layout = parse_layout(attrs.layout, "NCHW")
    x: Any = layout.to_order(data, "NCHW")
    _check_images(data.shape, len(rois))
    size, extents = integers(attrs.pooled_size, "pooled_size"), x.shape[2:]
    result = np.zeros((len(rois), x.shape[1], *size), data.dtype)
    kind = rois.dtype.type
    for number, roi in enumerate(rois):
        lines = []
        for axis in range(2):
            # The row names the horizontal border first.
            start, end = (roi[one] * kind(attrs.spatial_scale) for one in (2 - axis, 4 - axis))
            least = _least(attrs)
            width = (end - start if least is None else max(end - start, kind(least))) / kind(size[axis])
            count = attrs.sample_ratio if attrs.sample_ratio > 0 else int(np.ceil(width))
            bins, samples = np.arange(size[axis], dtype=rois.dtype), np.arange(count, dtype=rois.dtype)
            lines.append((start + bins * width)[:, None] + (samples + kind(0.5)) * width / kind(count))
        (y, outside_y), (across, outside_x) = (
            (np.clip(line, 0, extent - 1), (line < -1) | (line > extent))
            for line, extent in zip(lines, extents, strict=True)
        )
        image = x[_image(roi, x.shape[0])]
        rows_ = _between(image, y.reshape(-1), 1)
        values = _between(rows_, across.reshape(-1), 2).reshape(-1, *y.shape, *across.shape)
        outside = outside_y[:, :, None, None] | outside_x[None, None]
        values = np.where(outside, data.dtype.type(0), values)
        result[number] = values.mean(axis=(2, 4)) if attrs.mode == "avg" else values.max(axis=(2, 4))
    return layout.from_order(result, "NCHW")


def _between(image: Any, places: Any, axis: int) -> Any:
    """Return ``image`` interpolated at ``places`` of an axis, all of them inside."""
    low = np.floor(places).astype(np.int64)
    high = np.minimum(low + 1, image.shape[axis] - 1)
    part = (places - low).astype(image.dtype).reshape((-1,) + (1,) * (image.ndim - axis - 1))
    return np.take(image, low, axis) * (1 - part) + np.take(image, high, axis) * part


def align_compute(attrs: Any, out: TensorType, data: te.Tensor, rois: te.Tensor) -> te.Tensor:
    """Return the samples of each bin, combined one after the other."""
    _align_check(attrs)
    layout = parse_layout(attrs.layout, "NCHW")
    size = integers(attrs.pooled_size, "pooled_size")
    channels, *extents = (data.shape[layout.position(letter)] for letter in "CHW")
    kind, average = rois.dtype, attrs.mode == "avg"

    def build(inputs: Any, outputs: Any) -> Stmt:
        (x, regions), (result,) = inputs, outputs

        def cell(roi: PrimExpr, *at: PrimExpr) -> Stmt:
            def line(axis: int) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
                """Return where the bin begins, how long it is, and how many samples it has."""
                start, end = (regions[roi, one] * const(attrs.spatial_scale, kind) for one in (2 - axis, 4 - axis))
                length, least = end - start, _least(attrs)
                width = (length if least is None else maximum(length, least)) / float(size[axis])
                count: PrimExpr = IntImm(attrs.sample_ratio, "int64")
                if attrs.sample_ratio <= 0:
                    count = cast("int64", call("ceil", width))
                return start + cast(kind, at[axis]) * width, width, count

            def place(channel: PrimExpr) -> tuple[PrimExpr, ...]:
                return layout.indices({"N": roi, "C": channel, "H": at[0], "W": at[1]})

            def each(update: Callable[[PrimExpr], PrimExpr]) -> Stmt:
                """Store ``update`` of its number to each channel of the bin."""
                return loop(channels, lambda c: store(result, place(c), update(c)), "c")

            def between(axis: int, sample: PrimExpr, start: Any, width: Any, count: Any) -> list[PrimExpr]:
                """Return the elements around a sample, how far it is from the first, and whether it counts."""
                extent = extents[axis]
                point = start + (cast(kind, sample) + 0.5) * width / cast(kind, count)
                inside = minimum(maximum(point, 0.0), cast(kind, extent - 1))
                low = call("floor", inside)
                first = cast("int64", low)
                counts = logical_and(point >= -1.0, point <= cast(kind, extent))
                return [first, minimum(first + 1, extent - 1), cast(data.dtype, inside - low), counts]

            def add(y0: Any, y1: Any, down: Any, here: Any, x0: Any, x1: Any, right: Any, there: Any) -> Stmt:
                image = inside_of(cast("int64", regions[roi, 0]), data.shape[0])

                def value(channel: PrimExpr) -> PrimExpr:
                    def pixel(row: PrimExpr, column: PrimExpr) -> PrimExpr:
                        source = layout.indices({"N": image, "C": channel, "H": row, "W": column})
                        found: PrimExpr = x[source]
                        return found

                    upper = pixel(y0, x0) * (1.0 - right) + pixel(y0, x1) * right
                    lower = pixel(y1, x0) * (1.0 - right) + pixel(y1, x1) * right
                    found = Select(logical_and(here, there), upper * (1.0 - down) + lower * down, const(0, data.dtype))
                    old: PrimExpr = result[place(channel)]
                    return old + found if average else maximum(old, found)

                return each(value)

            def samples(top: Any, tall: Any, across: Any, left: Any, wide: Any, along: Any) -> Stmt:
                def one(i: PrimExpr, j: PrimExpr) -> Stmt:
                    around = [*between(0, i, top, tall, across), *between(1, j, left, wide, along)]
                    return bind(around, add, ("y0", "y1", "down", "here", "x0", "x1", "right", "there"))

                total = loop(across, lambda i: loop(along, lambda j: one(i, j), "j"))
                if not average:
                    return seq(each(lambda _: min_value(data.dtype)), total)
                mean = each(lambda c: result[place(c)] / cast(data.dtype, across * along))
                return seq(each(lambda _: const(0, data.dtype)), total, mean)

            return bind([*line(0), *line(1)], samples, ("top", "tall", "rows", "left", "wide", "columns"))

        return rows((rois.shape[0], *size), inputs, outputs, cell, "bin")

    return te.extern([out.shape], [out.dtype], [data, rois], build, "roi_align")[0]


# What keeps the border of a bin in place where it is a whole number but for rounding.
_EPSILON = 1e-5


def _slack(attrs: ROIPoolAttrs) -> float:
    return 0.0 if isinstance(attrs, RelaxROIPoolAttrs) else _EPSILON


def _pool_check(attrs: ROIPoolAttrs) -> None:
    if attrs.layout != "NCHW":
        raise OpError(f'layout is "{attrs.layout}"; it may be "NCHW"')


def pool_numpy(attrs: ROIPoolAttrs, data: Array, rois: Array) -> Array:
    """Return the maximum of each bin; 0 where it is empty."""
    _pool_check(attrs)
    _check_images(data.shape, len(rois))
    size = integers(attrs.pooled_size, "pooled_size")
    result = np.zeros((len(rois), data.shape[1], *size), data.dtype)
    kind = rois.dtype.type
    for number, roi in enumerate(rois):
        bins = []
        for axis, extent in enumerate(data.shape[2:]):
            start, end = (_half_away(roi[one] * kind(attrs.spatial_scale)) for one in (2 - axis, 4 - axis))
            width = kind(max(end - start + 1, 1)) / kind(size[axis])
            steps = np.arange(size[axis] + 1, dtype=rois.dtype) * width
            first = np.floor(steps[:-1] + kind(_slack(attrs))).astype(np.int64) + start
            last = np.ceil(steps[1:] - kind(_slack(attrs))).astype(np.int64) + start
            bins.append(np.clip(np.stack([first, last], axis=1), 0, extent))
        for i, (top, bottom) in enumerate(bins[0]):
            for j, (left, right) in enumerate(bins[1]):
                if top < bottom and left < right:
                    result[number, :, i, j] = data[_image(roi, data.shape[0]), :, top:bottom, left:right].max(
                        axis=(1, 2)
                    )
    return result


def _half_away(value: Any) -> int:
    """Return the nearest integer, halves away from zero."""
    return int(math.copysign(math.floor(abs(float(value)) + 0.5), float(value)))


def pool_compute(attrs: ROIPoolAttrs, out: TensorType, data: te.Tensor, rois: te.Tensor) -> te.Tensor:
    """Return the elements of each bin, compared one after the other."""
    _pool_check(attrs)
    size = integers(attrs.pooled_size, "pooled_size")
    kind = rois.dtype

    def build(inputs: Any, outputs: Any) -> Stmt:
        (x, regions), (result,) = inputs, outputs

        def cell(roi: PrimExpr, channel: PrimExpr, *at: PrimExpr) -> Stmt:
            def nearest(value: PrimExpr) -> PrimExpr:
                down = call("floor", call("fabs", value) + 0.5)
                return cast("int64", Select(value < 0.0, 0.0 - down, down))

            def line(axis: int) -> tuple[PrimExpr, PrimExpr]:
                """Return where the bin begins and ends."""
                extent = data.shape[2 + axis]
                scale = const(attrs.spatial_scale, kind)
                start, end = (nearest(regions[roi, one] * scale) for one in (2 - axis, 4 - axis))
                width = cast(kind, maximum(end - start + 1, 1)) / float(size[axis])
                # Rounded before the sum where a compiler joins products and sums.
                steps = [maximum(cast(kind, at[axis] + side) * width, min_value(kind)) for side in range(2)]
                first = cast("int64", call("floor", steps[0] + _slack(attrs))) + start
                last = cast("int64", call("ceil", steps[1] - _slack(attrs))) + start
                return minimum(maximum(first, 0), extent), minimum(maximum(last, 0), extent)

            (top, bottom), (left, right) = line(0), line(1)
            full = logical_and(top < bottom, left < right)

            def gather(best: Cell) -> Stmt:
                def look(i: PrimExpr, j: PrimExpr) -> Stmt:
                    image = inside_of(cast("int64", regions[roi, 0]), data.shape[0])
                    value = x[image, channel, top + i, left + j]
                    return best.set(maximum(best.value, value))

                return seq(
                    when(full, loop(bottom - top, lambda i: loop(right - left, lambda j: look(i, j), "j"))),
                    store(result, (roi, channel, *at), Select(full, best.value, const(0, out.dtype))),
                )

            return local(data.dtype, min_value(data.dtype), gather, "best")

        return rows(out.shape, inputs, outputs, cell, "bin")

    return te.extern([out.shape], [out.dtype], [data, rois], build, "roi_pool")[0]


# Proposal


def proposal_type(attrs: ProposalAttrs, cls_prob: Type, bbox_pred: Type, im_info: Type) -> TensorType:
    """Return (batch times regions, 5)."""
    scores, places, info = tensor(cls_prob), tensor(bbox_pred, 1), tensor(im_info, 2)
    if scores.rank != 4 or places.rank != 4:
        raise OpError(f"scores and places of 4 dimensions are expected: {show(scores.shape)}, {show(places.shape)}", 0)
    if info.rank != 2 or equal(info.shape[1], 3) is False:
        raise OpError(f"one (height, width, scale) for each image is expected, this is {show(info.shape)}", 2)
    return TensorType((mul(scores.shape[0], attrs.rpn_post_nms_top_n), 5), scores.dtype)


def _anchors(attrs: ProposalAttrs) -> list[tuple[float, float, float, float]]:
    """Return the anchors of a cell: every ratio in every scale, around the middle of a square of the stride."""
    found = []
    side = float(attrs.feature_stride)
    middle = 0.5 * (side - 1.0)
    for ratio in numbers(attrs.ratios, "ratios"):
        for scale in numbers(attrs.scales, "scales"):
            width = math.floor(math.sqrt(math.floor(side * side / ratio)) + 0.5)
            height = math.floor(width * ratio + 0.5)
            across, along = 0.5 * (width * scale - 1.0), 0.5 * (height * scale - 1.0)
            found.append((middle - across, middle - along, middle + across, middle + along))
    return found


def _regressed(attrs: ProposalAttrs, anchor: Any, delta: Any, exp: Any) -> list[Any]:
    """Return the corners of an anchor moved as predicted; for arrays and for expressions."""
    if attrs.iou_loss:
        return [corner + shift for corner, shift in zip(anchor, delta, strict=True)]
    low, high = [], []
    for d in range(2):
        length = anchor[2 + d] - anchor[d] + 1.0
        centre = anchor[d] + (length - 1.0) * 0.5
        moved, reach = delta[d] * length + centre, (exp(delta[2 + d]) * length - 1.0) * 0.5
        low.append(moved - reach)
        high.append(moved + reach)
    return low + high


def proposal_numpy(attrs: ProposalAttrs, cls_prob: Array, bbox_pred: Array, im_info: Array) -> Array:
    """Return the regions of each image that no better one overlaps, repeated in turn where they are too few."""
    batch, _, height, width = cls_prob.shape
    anchors = _anchors(attrs)
    count, kind = len(anchors), cls_prob.dtype.type
    post = attrs.rpn_post_nms_top_n
    result = np.zeros((batch * post, 5), cls_prob.dtype)
    shift_x = (np.arange(width) * attrs.feature_stride).astype(cls_prob.dtype)[None, :, None]
    shift_y = (np.arange(height) * attrs.feature_stride).astype(cls_prob.dtype)[:, None, None]
    base: Any = np.array(anchors, cls_prob.dtype)
    anchor = [base[:, d] + (shift_y if d % 2 else shift_x) for d in range(4)]
    for image in range(batch):
        delta: Any = bbox_pred[image].reshape(count, 4, height, width).transpose(1, 2, 3, 0)
        high, wide, scale = im_info[image]
        corners = _regressed(attrs, anchor, delta, np.exp)
        boxes = np.stack(
            [np.maximum(np.minimum(c, (high if d % 2 else wide) - kind(1)), kind(0)) for d, c in enumerate(corners)],
            axis=-1,
        )
        score: Any = np.array(cls_prob[image, count:].transpose(1, 2, 0))
        stride = kind(attrs.feature_stride)
        score[int(high / stride) :], score[:, int(wide / stride) :] = -1, -1
        least = scale * kind(attrs.rpn_min_size)
        small = ((boxes[..., 2:] - boxes[..., :2] + 1) < least).any(axis=-1)
        grown = boxes + np.array([-1, -1, 1, 1], cls_prob.dtype) * (least / kind(2))
        boxes, score = np.where(small[..., None], grown, boxes).reshape(-1, 4), np.where(small, -1, score).reshape(-1)
        order = order_numpy(score, 0, False)
        order = order[: attrs.rpn_pre_nms_top_n] if attrs.rpn_pre_nms_top_n > 0 else order
        kept = _apart(boxes[order], kind(attrs.threshold))
        if kept.size:
            chosen = boxes[order][kept[np.arange(post) % len(kept)]]
            result[image * post : (image + 1) * post, 0] = image
            result[image * post : (image + 1) * post, 1:] = chosen
    return result


def _apart(boxes: Any, threshold: Any) -> Any:
    """Return the boxes that none before them overlaps."""
    alive = np.ones(len(boxes), np.bool_)
    one = boxes.dtype.type(1)
    areas = (boxes[:, 2] - boxes[:, 0] + one) * (boxes[:, 3] - boxes[:, 1] + one)
    for number in range(len(boxes)):
        if alive[number]:
            box, rest = boxes[number], boxes[number + 1 :]
            sides = np.minimum(box[2:], rest[:, 2:]) - np.maximum(box[:2], rest[:, :2]) + one
            both = np.maximum(sides, 0).prod(axis=1)
            alive[number + 1 :] &= ~(both / (areas[number] + areas[number + 1 :] - both) > threshold)
    return np.flatnonzero(alive)


def proposal_compute(
    attrs: ProposalAttrs, out: TensorType, cls_prob: te.Tensor, bbox_pred: te.Tensor, im_info: te.Tensor
) -> te.Tensor:
    """Return predicted boxes, their order, and the choice among them, image by image."""
    batch, _, height, width = cls_prob.shape
    anchors = _anchors(attrs)
    count, kind, post = len(anchors), cls_prob.dtype, attrs.rpn_post_nms_top_n
    total = as_prim(mul(mul(height, width), count))
    known = static(total)
    top: PrimExpr = total
    if attrs.rpn_pre_nms_top_n > 0:
        top = (
            as_prim(min(known, attrs.rpn_pre_nms_top_n))
            if known is not None
            else minimum(total, attrs.rpn_pre_nms_top_n)
        )
    stride = const(attrs.feature_stride, kind)

    def build(inputs: Any, outputs: Any) -> Stmt:
        scores, places, info = inputs
        result, boxes, order, scratch, alive, chosen = outputs

        def image(b: PrimExpr) -> Stmt:
            high, wide, least = info[b, 0], info[b, 1], info[b, 2] * const(attrs.rpn_min_size, kind)

            def predict(h: PrimExpr, w: PrimExpr, k: int) -> Stmt:
                index = (h * width + w) * count + k
                shift = (cast(kind, w * attrs.feature_stride), cast(kind, h * attrs.feature_stride))
                anchor = [shift[d % 2] + anchors[k][d] for d in range(4)]
                delta = [places[b, k * 4 + d, h, w] for d in range(4)]
                found = _regressed(attrs, anchor, delta, lambda value: call("exp", value))
                corners = [maximum(minimum(one, (high if d % 2 else wide) - 1.0), 0.0) for d, one in enumerate(found)]
                outside = binary("or", h >= cast("int64", high / stride), w >= cast("int64", wide / stride))
                score = Select(outside, const(-1, kind), scores[b, count + k, h, w])
                small = [boxes[b, index, 2 + d] - boxes[b, index, d] + 1.0 < least for d in range(2)]
                half = least / 2.0

                def grow(is_small: PrimExpr) -> Stmt:
                    grown = [
                        store(boxes, (b, index, d), boxes[b, index, d] + (half if d > 1 else 0.0 - half))
                        for d in range(4)
                    ]
                    return when(is_small, seq(*grown, store(boxes, (b, index, 4), -1)))

                return seq(
                    *(store(boxes, (b, index, d), one) for d, one in enumerate([*corners, score])),
                    let(binary("or", *small), grow, "small"),
                )

            def precedes(first: PrimExpr, second: PrimExpr) -> PrimExpr:
                return before(boxes[b, first, 4], boxes[b, second, 4], False)

            def corner(j: PrimExpr, d: int) -> PrimExpr:
                value: PrimExpr = boxes[b, order[b, j], d]
                return value

            def look(j: PrimExpr, kept: Any) -> Stmt:
                def rival(step: PrimExpr) -> Stmt:
                    k = j + step + 1
                    sides = [
                        maximum(
                            minimum(corner(j, 2 + d), corner(k, 2 + d)) - maximum(corner(j, d), corner(k, d)) + 1.0, 0.0
                        )
                        for d in range(2)
                    ]
                    areas = [(corner(i, 2) - corner(i, 0) + 1.0) * (corner(i, 3) - corner(i, 1) + 1.0) for i in (j, k)]
                    both = sides[0] * sides[1]
                    near = both / (areas[0] + areas[1] - both) > const(attrs.threshold, kind)
                    return when(near, store(alive, (b, k), 0))

                keep = seq(store(chosen, (b, kept.value), j), kept.add(1), loop(top - j - 1, rival, "rival"))
                return when(alive[b, j] > 0, keep)

            def fill(r: PrimExpr, kept: Any) -> Stmt:
                def put(j: PrimExpr) -> Stmt:
                    row = b * post + r
                    stores = [store(result, (row, 1 + d), corner(j, d)) for d in range(4)]
                    return seq(store(result, (row, 0), cast(kind, b)), *stores)

                return let(chosen[b, r % kept.value], put, "chosen")

            def choose(kept: Any) -> Stmt:
                return seq(
                    loop(top, lambda j: look(j, kept), "j"),
                    loop(post, lambda r: fill(r, kept), "r"),
                )

            cells = loop(
                height, lambda h: loop(width, lambda w: seq(*(predict(h, w, k) for k in range(count))), "w"), "h"
            )
            return seq(
                cells,
                merge_sort(order, scratch, lambda k: (b, k), total, precedes),
                loop(top, lambda j: store(alive, (b, j), 1), "j"),
                local("int64", 0, choose, "kept"),
            )

        return rows((batch,), inputs, outputs, image, "image")

    each = (batch, total)
    shapes: list[Any] = [out.shape, (batch, total, 5), each, each, each, each]
    dtypes = [out.dtype, kind, "int64", "int64", "int32", "int64"]
    return te.extern(shapes, dtypes, [cls_prob, bbox_pred, im_info], build, "proposal")[0]


# Records


def align_relax(e: Emit[V], attrs: ROIAlignAttrs, data: V, rois: V) -> V:
    """R.vision.roi_align has the same fields, and one more."""
    if attrs.layout != "NCHW":
        return e.as_tir(roi_align, attrs, (data, rois), "R.vision.roi_align takes NCHW")
    return e.call(
        "vision.roi_align",
        data,
        rois,
        pooled_size=attrs.pooled_size,
        spatial_scale=attrs.spatial_scale,
        sample_ratio=attrs.sample_ratio,
        aligned=False,
        layout=attrs.layout,
        mode=attrs.mode,
    )


roi_align = OpDef(
    relay="vision.roi_align",
    doc="A small image of each region: mean or maximum of interpolated samples in bins of equal size.",
    source=f"{SOURCE}/roi_align.py",
    inputs=("data", "rois"),
    attrs=ROIAlignAttrs,
    attrs_key="relay.attrs.ROIAlignAttrs",
    declares_attrs=False,
    infer=pooled_type,
    numpy=align_numpy,
    compute=align_compute,
    relax=Expanded(align_relax),
)

relax_roi_align = OpDef(
    doc="A small image of each region: mean or maximum of interpolated samples in bins of equal size.",
    source=RELAX_SOURCE,
    inputs=("data", "rois"),
    attrs=RelaxROIAlignAttrs,
    infer=pooled_type,
    numpy=align_numpy,
    compute=align_compute,
    relax=SameOp(),
    script=Script("vision.roi_align"),
)

roi_pool = OpDef(
    relay="vision.roi_pool",
    doc="A small image of each region: the maximum of the elements in bins of about equal size.",
    source=f"{SOURCE}/roi_pool.py",
    inputs=("data", "rois"),
    attrs=ROIPoolAttrs,
    attrs_key="relay.attrs.ROIPoolAttrs",
    declares_attrs=False,
    infer=pooled_type,
    numpy=pool_numpy,
    compute=pool_compute,
)

relax_roi_pool = OpDef(
    doc="A small image of each region: the maximum of the elements in bins of about equal size.",
    source=RELAX_SOURCE,
    inputs=("data", "rois"),
    attrs=RelaxROIPoolAttrs,
    infer=pooled_type,
    numpy=pool_numpy,
    compute=pool_compute,
    relax=SameOp(),
    script=Script("vision.roi_pool"),
)

proposal = OpDef(
    relay="vision.proposal",
    doc="Regions of an image that are likely to hold an object: anchors moved as predicted, few of which overlap.",
    source=f"{SOURCE}/proposal.py",
    inputs=("cls_prob", "bbox_pred", "im_info"),
    attrs=ProposalAttrs,
    attrs_key="relay.attrs.ProposalAttrs",
    declares_attrs=False,
    infer=proposal_type,
    numpy=proposal_numpy,
    compute=proposal_compute,
)

OPS = (roi_align, relax_roi_align, roi_pool, relax_roi_pool, proposal)
