"""Boxes of detection networks: SSD's prior boxes and their decoding, and YOLO's reorganisation of
an image.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, local, loop, rows, seq, store, when
from relay2relax.ops.registry.attributes import Bool, Double, IndexExprArray, Integer
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, as_prim, equal, floordiv, mul, product, static
from relay2relax.tir.ir.expr import Buffer, FloatImm, PrimExpr, Select, cast, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.18 python/tvm/topi/vision"
# 0.1 and 0.2 as float32, which Relay's attributes hold.
_TENTH, _FIFTH = FloatImm(0.10000000149011612, "float32"), FloatImm(0.20000000298023224, "float32")
_ONE, _HALF, _AUTO = FloatImm(1.0, "float32"), FloatImm(0.5, "float32"), FloatImm(-1.0, "float32")


@dataclass(frozen=True, slots=True)
class MultiBoxPriorAttrs:
    """``steps`` and ``offsets`` are (vertical, horizontal).

    A step that is not positive divides the image evenly.
    """

    sizes: IndexExprArray = (_ONE,)
    ratios: IndexExprArray = (_ONE,)
    steps: IndexExprArray = (_AUTO, _AUTO)
    offsets: IndexExprArray = (_HALF, _HALF)
    clip: Bool = False


@dataclass(frozen=True, slots=True)
class MultiBoxTransformLocAttrs:
    """``variances`` scale x, y, width and height.

    ``keep_background`` lists boxes of class 0 as well.
    """

    clip: Bool = True
    threshold: Double = 0.01
    variances: IndexExprArray = (_TENTH, _TENTH, _FIFTH, _FIFTH)
    keep_background: Bool = False


@dataclass(frozen=True, slots=True)
class YoloReorgAttrs:
    """``stride`` by which height and width shrink."""

    stride: Integer = 1


def numbers(values: tuple[Extent, ...], what: str) -> tuple[float, ...]:
    """Return values that are declared as expressions as numbers.

    Raises OpError where one is no constant.
    """
    found = []
    for value in values:
        known = value.value if isinstance(value, FloatImm) else static(value)
        if known is None:
            raise OpError(mistake(operators.ATTRIBUTE, name=what, value=list(values), expected="numbers"))
        found.append(float(known))
    return tuple(found)


# multibox_prior


def prior_type(attrs: MultiBoxPriorAttrs, data: Type) -> TensorType:
    """Return (1, boxes, 4)."""
    x = tensor(data)
    if x.rank != 4:
        raise OpError(
            mistake(operators.SHAPE, what="the data", shape=show(x.shape), expected="(batch, channels, height, width)"),
            0,
        )
    count = len(attrs.sizes) + len(attrs.ratios) - 1
    return TensorType((1, product((x.shape[2], x.shape[3], count)), 4), x.dtype)


def _prior_shapes(attrs: MultiBoxPriorAttrs) -> list[tuple[float, float]]:
    """Return (half width, half height) of the boxes of a cell, in units of the height and of 1."""
    sizes, ratios = numbers(attrs.sizes, "sizes"), numbers(attrs.ratios, "ratios")
    found = [(size / 2, size / 2) for size in sizes]
    return found + [(sizes[0] * ratio**0.5 / 2, sizes[0] / ratio**0.5 / 2) for ratio in ratios[1:]]


def prior_numpy(attrs: MultiBoxPriorAttrs, data: Array) -> Array:
    """Return (left, top, right, bottom) of every box."""
    height, width = data.shape[2:]
    steps, offsets = numbers(attrs.steps, "steps"), numbers(attrs.offsets, "offsets")
    step = [one if one > 0 else 1 / extent for one, extent in zip(steps, (height, width), strict=True)]
    f = np.float32
    y = (np.arange(height, dtype=f) + f(offsets[0])) * f(step[0])
    x = (np.arange(width, dtype=f) + f(offsets[1])) * f(step[1])
    shapes = _prior_shapes(attrs)
    half_width = np.array([w * height / width for w, _ in shapes], f)
    half_height = np.array([h for _, h in shapes], f)
    result = np.empty((height, width, len(shapes), 4), f)
    x, y = x[None, :, None], y[:, None, None]
    result[..., 0], result[..., 1] = x - half_width, y - half_height
    result[..., 2], result[..., 3] = x + half_width, y + half_height
    if attrs.clip:
        np.clip(result, f(0), f(1), out=result)
    return result.reshape(1, -1, 4).astype(data.dtype, copy=False)


def prior_compute(attrs: MultiBoxPriorAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return centre and half extent of each box, added up."""
    height, width = data.shape[2:]
    steps, offsets = numbers(attrs.steps, "steps"), numbers(attrs.offsets, "offsets")
    shapes = _prior_shapes(attrs)

    def real(value: PrimExpr) -> PrimExpr:
        return cast("float32", value)

    def choose(k: PrimExpr, values: list[float]) -> PrimExpr:
        found: PrimExpr = const(values[-1], "float32")
        for number in reversed(range(len(values) - 1)):
            found = Select(k.equal(number), const(values[number], "float32"), found)
        return found

    def centre(index: PrimExpr, axis: int, extent: PrimExpr) -> PrimExpr:
        step = const(steps[axis], "float32") if steps[axis] > 0 else const(1.0, "float32") / real(extent)
        return (real(index) + offsets[axis]) * step

    def element(zero: PrimExpr, box: PrimExpr, corner: PrimExpr) -> PrimExpr:
        k, cell = box % len(shapes), box // len(shapes)
        x, y = centre(cell % width, 1, width), centre(cell // width, 0, height)
        across = choose(k, [w for w, _ in shapes]) * real(height) / real(width)
        along = choose(k, [h for _, h in shapes])
        horizontal = (corner % 2).equal(0)
        middle, half = Select(horizontal, x, y), Select(horizontal, across, along)
        value: PrimExpr = Select(corner < 2, middle - half, middle + half)
        if attrs.clip:
            value = maximum(minimum(value, 1.0), 0.0)
        return cast(out.dtype, value)

    return te.compute(out.shape, element, "multibox_prior")


# multibox_transform_loc


def transform_type(attrs: MultiBoxTransformLocAttrs, cls_prob: Type, loc_pred: Type, anchor: Type) -> TupleType:
    """Return (rows of class, score and 4 coordinates; how many of them count)."""
    scores, places, anchors = tensor(cls_prob), tensor(loc_pred, 1), tensor(anchor, 2)
    if (scores.rank, places.rank, anchors.rank) != (3, 2, 3):
        raise OpError(
            f"scores (batch, classes, anchors), places (batch, 4 anchors) and anchors (1, anchors, 4) are expected, "
            f"these are {show(scores.shape)}, {show(places.shape)}, {show(anchors.shape)}",
            kind=operators.SHAPE,
        )
    count = scores.shape[2]
    if equal(count, anchors.shape[1]) is False or equal(mul(count, 4), places.shape[1]) is False:
        raise OpError(
            f"{show(scores.shape)}, {show(places.shape)}, {show(anchors.shape)}: the anchors differ in number"
        )
    if equal(anchors.shape[2], 4) is False or static(count) == 0:
        raise OpError(
            mistake(
                operators.SHAPE, what="the tensor of anchors", shape=show(anchors.shape), expected="(1, anchors, 4)"
            ),
            2,
        )
    if len(attrs.variances) != 4:
        raise OpError(mistake(operators.ATTRIBUTE, name="variances", value=list(attrs.variances), expected="4 values"))
    shape = (scores.shape[0], anchors.shape[1], 6)
    return TupleType((TensorType(shape, scores.dtype), TensorType((scores.shape[0],), "int32")))


def transform_numpy(
    attrs: MultiBoxTransformLocAttrs, cls_prob: Array, loc_pred: Array, anchor: Array
) -> tuple[Array, Array]:
    """Return the rows of the boxes that have a class, in their order; the other rows are 0."""
    scores: Numbers = cls_prob
    first = 0 if attrs.keep_background else 1
    batch, _, count = scores.shape
    name = np.argmax(scores[:, first:], axis=1) + first
    score = np.take_along_axis(scores, name[:, None], axis=1)[:, 0]
    # A score of -1 or less is below any that a class starts from.
    name = np.where((score > -1) & ~((name > 0) & (score < np.float32(attrs.threshold))), name, 0)
    score = np.maximum(score, scores.dtype.type(-1))
    v: Numbers = np.array(numbers(attrs.variances, "variances"), loc_pred.dtype)
    p: Numbers = loc_pred.reshape(batch, count, 4)
    corners: Numbers = anchor[0]
    low, high = corners[:, :2], corners[:, 2:]
    size, half = high - low, loc_pred.dtype.type(0.5)
    middle = p[:, :, :2] * v[:2] * size + (low + high) * half
    reach = np.exp(p[:, :, 2:] * v[2:]) * size * half
    boxes = np.concatenate([middle - reach, middle + reach], axis=2)
    if attrs.clip:
        boxes = np.clip(boxes, 0, 1)
    table = np.concatenate([(name - first).astype(scores.dtype)[:, :, None], score[:, :, None], boxes], axis=2)
    valid = np.ones_like(name, np.bool_) if attrs.keep_background else name > 0
    order = np.argsort(~valid, axis=1, kind="stable")
    numbers_ = valid.sum(axis=1, dtype=np.int32)
    kept = np.arange(count) < numbers_[:, None]
    moved = np.take_along_axis(table, order[:, :, None], axis=1)
    return np.where(kept[:, :, None], moved, scores.dtype.type(0)).astype(scores.dtype), numbers_


def transform_compute(
    attrs: MultiBoxTransformLocAttrs, out: TupleType, cls_prob: te.Tensor, loc_pred: te.Tensor, anchor: te.Tensor
) -> tuple[te.Tensor, ...]:
    """Return the rows, written one after the other."""
    batch, classes, count = cls_prob.shape
    first = 0 if attrs.keep_background else 1
    variances = numbers(attrs.variances, "variances")

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (scores, places, anchors), (table, numbers_) = inputs, outputs

        def coordinates(i: PrimExpr, j: PrimExpr) -> list[PrimExpr]:
            found: list[tuple[PrimExpr, PrimExpr]] = []
            for d in range(2):
                low, high = anchors[0, j, d], anchors[0, j, 2 + d]
                shift, growth = places[i, j * 4 + d], places[i, j * 4 + 2 + d]
                middle = shift * variances[d] * (high - low) + (low + high) * 0.5
                found.append((middle, call("exp", growth * variances[2 + d]) * (high - low) * 0.5))
            corners = [middle - reach for middle, reach in found] + [middle + reach for middle, reach in found]
            return [maximum(minimum(one, 1.0), 0.0) for one in corners] if attrs.clip else corners

        def row(i: PrimExpr) -> Stmt:
            def one(j: PrimExpr, total: Cell) -> Stmt:
                def judge(name: Cell, best: Cell) -> Stmt:
                    def compare(step: PrimExpr) -> Stmt:
                        k = step + first
                        return when(scores[i, k, j] > best.value, seq(best.set(scores[i, k, j]), name.set(k)))

                    values = [cast(cls_prob.dtype, name.value - first), best.value, *coordinates(i, j)]
                    stores = [store(table, (i, total.value, d), value) for d, value in enumerate(values)]
                    write = seq(*stores, total.add(1))
                    return seq(
                        loop(classes - first, compare, "class"),
                        when(best.value < const(attrs.threshold, cls_prob.dtype), name.set(0)),
                        write if attrs.keep_background else when(name.value > 0, write),
                    )

                def with_best(name: Cell) -> Stmt:
                    return local(cls_prob.dtype, -1, lambda best: judge(name, best), "best")

                return local("int64", 0, with_best, "name")

            def scan(total: Cell) -> Stmt:
                def clear(j: PrimExpr) -> Stmt:
                    return when(j >= total.value, loop(6, lambda d: store(table, (i, j, d), 0), "d"))

                return seq(
                    loop(count, lambda j: one(j, total), "j"),
                    loop(count, clear, "j"),
                    store(numbers_, (i,), cast("int32", total.value)),
                )

            return local("int64", 0, scan, "total")

        return rows((batch,), inputs, outputs, row, "image")

    fields = [tensor(one) for one in out.fields]
    shapes, dtypes = [one.shape for one in fields], [one.dtype for one in fields]
    return te.extern(shapes, dtypes, [cls_prob, loc_pred, anchor], build, "transform_loc")


# yolo_reorg


def reorg_type(attrs: YoloReorgAttrs, data: Type) -> TensorType:
    """Return height and width divided by the stride, and its square as many channels."""
    x, s = tensor(data), attrs.stride
    if x.rank != 4:
        raise OpError(
            mistake(operators.SHAPE, what="the data", shape=show(x.shape), expected="(batch, channels, height, width)"),
            0,
        )
    if s < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="stride", value=s, expected="at least 1"))
    n, c, h, w = x.shape
    return TensorType((n, mul(mul(c, s), s), floordiv(h, s), floordiv(w, s)), x.dtype)


def _reorg_source(attrs: YoloReorgAttrs, channels: Any, width: Any, height: Any, k: Any, j: Any, i: Any) -> Any:
    """Return the place in the flattened image of element (k, j, i) of the image as the result lists
    it.

    For numbers, arrays and expressions alike.
    """
    s = attrs.stride
    inner = channels // (s * s)
    offset = k // inner
    return ((k % inner) * (s * s) * height + (j * s + offset // s) * s) * width + i * s + offset % s


def reorg_numpy(attrs: YoloReorgAttrs, data: Array) -> Array:
    """Return the elements as darknet's layer lists them, image by image."""
    n, c, h, w = data.shape
    _check_reorg(attrs, c)
    out = [static(extent) or 0 for extent in reorg_type(attrs, TensorType(data.shape, of_array(data))).shape]
    source = _reorg_source(attrs, c, w, h, *np.ogrid[:c, :h, :w]).reshape(-1)
    return data.reshape(n, -1)[:, source[: out[1] * out[2] * out[3]]].reshape(out)


def _check_reorg(attrs: YoloReorgAttrs, channels: int | None) -> None:
    if channels is not None and channels < attrs.stride**2:
        raise OpError(
            f"{channels} channels are fewer than the square of the stride {attrs.stride}", 0, kind=operators.SHAPE
        )


def reorg_compute(attrs: YoloReorgAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element from its place in the flattened image."""
    _, c, h, w = data.shape
    _check_reorg(attrs, static(c))
    height, width = (as_prim(extent) for extent in out.shape[2:])

    def element(batch: PrimExpr, channel: PrimExpr, row: PrimExpr, column: PrimExpr) -> PrimExpr:
        flat = (channel * height + row) * width + column
        place = _reorg_source(attrs, c, w, h, flat // (h * w), flat // w % h, flat % w)
        return data[batch, place // (h * w), place // w % h, place % w]

    return te.compute(out.shape, element, "yolo_reorg")


# Records

multibox_prior = OpDef(
    relay="vision.multibox_prior",
    doc="The prior boxes of every cell of an image.",
    source=f"{SOURCE}/ssd/multibox.py",
    inputs=("data",),
    attrs=MultiBoxPriorAttrs,
    infer=prior_type,
    numpy=prior_numpy,
    compute=prior_compute,
)

# Relax's operator of that name is another one: it returns boxes and scores of all classes.
multibox_transform_loc = OpDef(
    relay="vision.multibox_transform_loc",
    doc="Boxes that have a class: its number, its score, and the prior box moved as predicted.",
    source=f"{SOURCE}/ssd/multibox.py",
    inputs=("cls_prob", "loc_pred", "anchor"),
    attrs=MultiBoxTransformLocAttrs,
    infer=transform_type,
    numpy=transform_numpy,
    compute=transform_compute,
)

yolo_reorg = OpDef(
    relay="vision.yolo_reorg",
    doc="The elements of an image in the order of darknet's reorganisation layer, in a smaller image of more channels.",
    source="TVM 0.18 include/tvm/topi/vision/reorg.h",
    inputs=("data",),
    attrs=YoloReorgAttrs,
    infer=reorg_type,
    numpy=reorg_numpy,
    compute=reorg_compute,
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (multibox_prior, multibox_transform_loc, yolo_reorg)
