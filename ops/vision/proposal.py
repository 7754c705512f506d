"""Regions of interest that are likely to hold an object: ``vision.proposal``, from anchors.

A region is a row (image, left, top, right, bottom) in units of the original image.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.order import before, merge_sort, order_numpy
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, let, local, loop, rows, seq, store, when
from relay2relax.ops.registry.attributes import Bool, Double, IndexExprArray, Int
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.vision.boxes import numbers
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, as_prim, equal, mul, static
from relay2relax.tir.ir.expr import Buffer, FloatImm, PrimExpr, Select, binary, cast, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.18 python/tvm/topi/vision/rcnn"
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


def proposal_type(attrs: ProposalAttrs, cls_prob: Type, bbox_pred: Type, im_info: Type) -> TensorType:
    """Return (batch times regions, 5)."""
    scores, places, info = tensor(cls_prob), tensor(bbox_pred, 1), tensor(im_info, 2)
    if scores.rank != 4 or places.rank != 4:
        raise OpError(
            f"scores and places of 4 dimensions are expected: {show(scores.shape)}, {show(places.shape)}",
            0,
            kind=operators.RANK,
        )
    if info.rank != 2 or equal(info.shape[1], 3) is False:
        raise OpError(
            mistake(
                operators.SHAPE,
                what="im_info",
                shape=show(info.shape),
                expected="(batch, 3): (height, width, scale) for each image",
            ),
            2,
        )
    return TensorType((mul(scores.shape[0], attrs.rpn_post_nms_top_n), 5), scores.dtype)


def _anchors(attrs: ProposalAttrs) -> list[tuple[float, float, float, float]]:
    """Return the anchors of a cell: every ratio in every scale, around the middle of a square of
    the stride.
    """
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
    """Return the regions of each image that no better one overlaps, repeated in turn where they are
    too few.
    """
    batch, _, height, width = cls_prob.shape
    anchors = _anchors(attrs)
    count, kind = len(anchors), cls_prob.dtype.type
    post = attrs.rpn_post_nms_top_n
    result = np.zeros((batch * post, 5), cls_prob.dtype)
    shift_x = (np.arange(width) * attrs.feature_stride).astype(cls_prob.dtype)[None, :, None]
    shift_y = (np.arange(height) * attrs.feature_stride).astype(cls_prob.dtype)[:, None, None]
    base: Numbers = np.array(anchors, cls_prob.dtype)
    anchor = [base[:, d] + (shift_y if d % 2 else shift_x) for d in range(4)]
    for image in range(batch):
        delta: Numbers = bbox_pred[image].reshape(count, 4, height, width).transpose(1, 2, 3, 0)
        high, wide, scale = im_info[image]
        corners = _regressed(attrs, anchor, delta, np.exp)
        boxes = np.stack(
            [np.maximum(np.minimum(c, (high if d % 2 else wide) - kind(1)), kind(0)) for d, c in enumerate(corners)],
            axis=-1,
        )
        score: Numbers = np.array(cls_prob[image, count:].transpose(1, 2, 0))
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


def _apart(boxes: Numbers, threshold: Numbers) -> Numbers:
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


@dataclass(frozen=True, slots=True)
class _Image:
    """The statements that predict the boxes of image ``b`` and choose among them.

    A row of ``boxes`` is (corners, score), ``order`` its place by falling score; ``chosen`` are
    places in ``order``.
    """

    attrs: ProposalAttrs
    b: PrimExpr
    scores: Buffer
    places: Buffer
    info: Buffer
    result: Buffer
    boxes: Buffer
    order: Buffer
    alive: Buffer
    chosen: Buffer

    @property
    def kind(self) -> str:
        """The dtype of scores and boxes."""
        return self.scores.dtype

    def predict(self, h: PrimExpr, w: PrimExpr, k: int) -> Stmt:
        """Return what moves anchor ``k`` of the cell as predicted.

        A box that is too small loses its score.
        """
        attrs, b, kind, boxes = self.attrs, self.b, self.kind, self.boxes
        anchors = _anchors(attrs)
        high, wide, least = self.info[b, 0], self.info[b, 1], self.info[b, 2] * const(attrs.rpn_min_size, kind)
        stride = const(attrs.feature_stride, kind)
        index = (h * self.scores.shape[3] + w) * len(anchors) + k
        shift = (cast(kind, w * attrs.feature_stride), cast(kind, h * attrs.feature_stride))
        anchor = [shift[d % 2] + anchors[k][d] for d in range(4)]
        delta = [self.places[b, k * 4 + d, h, w] for d in range(4)]
        found = _regressed(attrs, anchor, delta, lambda value: call("exp", value))
        corners = [maximum(minimum(one, (high if d % 2 else wide) - 1.0), 0.0) for d, one in enumerate(found)]
        outside = binary("or", h >= cast("int64", high / stride), w >= cast("int64", wide / stride))
        score = Select(outside, const(-1, kind), self.scores[b, len(anchors) + k, h, w])
        small = [boxes[b, index, 2 + d] - boxes[b, index, d] + 1.0 < least for d in range(2)]
        half = least / 2.0

        def grow(is_small: PrimExpr) -> Stmt:
            grown = [
                store(boxes, (b, index, d), boxes[b, index, d] + (half if d > 1 else 0.0 - half)) for d in range(4)
            ]
            return when(is_small, seq(*grown, store(boxes, (b, index, 4), -1)))

        return seq(
            *(store(boxes, (b, index, d), one) for d, one in enumerate([*corners, score])),
            let(binary("or", *small), grow, "small"),
        )

    def precedes(self, first: PrimExpr, second: PrimExpr) -> PrimExpr:
        return before(self.boxes[self.b, first, 4], self.boxes[self.b, second, 4], False)

    def corner(self, j: PrimExpr, d: int) -> PrimExpr:
        """Return corner ``d`` of the ``j``-th best box."""
        return self.boxes[self.b, self.order[self.b, j], d]

    def look(self, j: PrimExpr, kept: Cell, top: PrimExpr) -> Stmt:
        """Return what keeps the ``j``-th best of the ``top`` ones, if it is still there, and ends
        its rivals.
        """

        def rival(step: PrimExpr) -> Stmt:
            k = j + step + 1
            return when(self.overlap(j, k) > const(self.attrs.threshold, self.kind), store(self.alive, (self.b, k), 0))

        keep = seq(store(self.chosen, (self.b, kept.value), j), kept.add(1), loop(top - j - 1, rival, "rival"))
        return when(self.alive[self.b, j] > 0, keep)

    def overlap(self, j: PrimExpr, k: PrimExpr) -> PrimExpr:
        """Return the area that both boxes cover to the area that either covers.

        A box of one pixel has an area of 1.
        """
        corner = self.corner
        sides = [
            maximum(minimum(corner(j, 2 + d), corner(k, 2 + d)) - maximum(corner(j, d), corner(k, d)) + 1.0, 0.0)
            for d in range(2)
        ]
        areas = [(corner(i, 2) - corner(i, 0) + 1.0) * (corner(i, 3) - corner(i, 1) + 1.0) for i in (j, k)]
        both = sides[0] * sides[1]
        return both / (areas[0] + areas[1] - both)

    def fill(self, r: PrimExpr, kept: Cell) -> Stmt:
        """Return what writes the ``r``-th box of the image.

        Those that are kept come again and again.
        """

        def put(j: PrimExpr) -> Stmt:
            row = self.b * self.attrs.rpn_post_nms_top_n + r
            stores = [store(self.result, (row, 1 + d), self.corner(j, d)) for d in range(4)]
            return seq(store(self.result, (row, 0), cast(self.kind, self.b)), *stores)

        return let(self.chosen[self.b, r % kept.value], put, "chosen")


def proposal_compute(
    attrs: ProposalAttrs, out: TensorType, cls_prob: te.Tensor, bbox_pred: te.Tensor, im_info: te.Tensor
) -> te.Tensor:
    """Return predicted boxes, their order, and the choice among them, image by image."""
    batch, _, height, width = cls_prob.shape
    count = len(_anchors(attrs))
    total = as_prim(mul(mul(height, width), count))
    known = static(total)
    top: PrimExpr = total
    if attrs.rpn_pre_nms_top_n > 0:
        top = (
            as_prim(min(known, attrs.rpn_pre_nms_top_n))
            if known is not None
            else minimum(total, attrs.rpn_pre_nms_top_n)
        )

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        scores, places, info = inputs
        result, boxes, order, scratch, alive, chosen = outputs

        def image(b: PrimExpr) -> Stmt:
            one = _Image(attrs, b, scores, places, info, result, boxes, order, alive, chosen)

            def row(h: PrimExpr) -> Stmt:
                return loop(width, lambda w: seq(*(one.predict(h, w, k) for k in range(count))), "w")

            def choose(kept: Cell) -> Stmt:
                return seq(
                    loop(top, lambda j: one.look(j, kept, top), "j"),
                    loop(attrs.rpn_post_nms_top_n, lambda r: one.fill(r, kept), "r"),
                )

            return seq(
                loop(height, row, "h"),
                merge_sort(order, scratch, lambda k: (b, k), total, one.precedes),
                loop(top, lambda j: store(alive, (b, j), 1), "j"),
                local("int64", 0, choose, "kept"),
            )

        return rows((batch,), inputs, outputs, image, "image")

    each = (batch, total)
    shapes: list[Sequence[Extent]] = [out.shape, (batch, total, 5), each, each, each, each]
    dtypes = [out.dtype, cls_prob.dtype, "int64", "int64", "int32", "int64"]
    return te.extern(shapes, dtypes, [cls_prob, bbox_pred, im_info], build, "proposal")[0]


proposal = OpDef(
    relay="vision.proposal",
    doc="Regions of an image that are likely to hold an object: anchors moved as predicted, few of which overlap.",
    source=f"{SOURCE}/proposal.py",
    inputs=("cls_prob", "bbox_pred", "im_info"),
    attrs=ProposalAttrs,
    declares_attrs=False,
    infer=proposal_type,
    numpy=proposal_numpy,
    compute=proposal_compute,
)

OPS = (proposal,)
