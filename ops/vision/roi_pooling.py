"""Pooling of regions of interest: ``vision.roi_align``, ``vision.roi_pool``.

A region is a row (image, left, top, right, bottom) in units of the original image.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias, Union

import numpy as np

from relay2relax.core.arithmetic import converted
from relay2relax.core.dtype import Array, Numbers, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.common.places import FAR, bounded
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, bind, local, loop, rows, seq, store, when
from relay2relax.ops.common.windows import integers
from relay2relax.ops.image.image import inside_of
from relay2relax.ops.registry.attributes import Bool, Double, IndexExprArray, InlineString, Int
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, Otherwise, SameOp, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Shape, as_prim, ask, equal, is_any
from relay2relax.tir.ir.expr import (
    Buffer,
    FloatImm,
    IntImm,
    PrimExpr,
    Select,
    binary,
    cast,
    const,
    logical_and,
    maximum,
    minimum,
)
from relay2relax.tir.ir.intrinsics import call, min_value
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.18 python/tvm/topi/vision/rcnn"
RELAX_SOURCE = "TVM 0.27 src/relax/op/vision"


@dataclass(frozen=True, slots=True)
class ROIAlignAttrs:
    """``sample_ratio`` samples per side of a bin.

    As many as the bin is long where it is not positive.
    """

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


# Pooling


AlignAttrs: TypeAlias = Union[ROIAlignAttrs, RelaxROIAlignAttrs]


def pooled_type(
    attrs: ROIAlignAttrs | ROIPoolAttrs | RelaxROIAlignAttrs | RelaxROIPoolAttrs, data: Type, rois: Type
) -> TensorType:
    """Return a small image for each region, in the layout of the data."""
    x, regions = tensor(data), tensor(rois, 1)
    layout = parse_layout(attrs.layout, "NCHW")
    if x.rank != 4 or layout.is_split:
        raise OpError(
            f"an image of 4 dimensions is expected, this is {show(x.shape)} in layout {attrs.layout}",
            0,
            kind=operators.LAYOUT,
        )
    if regions.rank != 2 or equal(regions.shape[1], 5) is False:
        raise OpError(
            mistake(operators.SHAPE, what="the tensor of regions", shape=show(regions.shape), expected="(count, 5)"), 1
        )
    if len(attrs.pooled_size) != 2:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="pooled_size", value=list(attrs.pooled_size), expected="2 values")
        )
    count = regions.shape[0]
    if any(equal(extent, 0) for extent in x.shape) and equal(count, 0) is False:
        raise _no_elements(x.shape)
    if not is_any(count):
        for extent in x.shape:
            if not is_any(extent):
                ask(binary("or", binary("==", as_prim(count), 0), binary(">", as_prim(extent), 0)))
    channels = x.shape[layout.position("C")]
    return TensorType(layout.shape((regions.shape[0], channels, *attrs.pooled_size), "NCHW"), x.dtype)


def _align_check(attrs: AlignAttrs) -> None:
    if attrs.mode not in ("avg", "max"):
        raise OpError(mistake(operators.ATTRIBUTE, name="mode", value=repr(attrs.mode), expected="'avg' or 'max'"))
    if attrs.layout not in ("NCHW", "NHWC"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="layout", value=repr(attrs.layout), expected="'NCHW' or 'NHWC'")
        )


def _least(attrs: AlignAttrs) -> float | None:
    """Return the least length of a region, None where it may be of any length, as an aligned one
    is.
    """
    return None if isinstance(attrs, RelaxROIAlignAttrs) and attrs.aligned else 1.0


# A bin has at most so many samples along an axis for each element of the images there: the work
# that a region makes is bounded, however large it is.
_MOST_SAMPLES = 2


def _image(roi: Numbers, batch: int) -> int:
    """Return the image of a region.

    TVM reads whatever lies beyond the images, here the last one is meant.
    """
    return min(max(_whole(roi[0]), 0), batch - 1)


def _whole(value: Numbers) -> int:
    return int(converted(value, np.dtype(np.int64)))


def _check_images(shape: Sequence[int], regions: int) -> None:
    if regions and 0 in shape:
        raise _no_elements(tuple(shape))


def _no_elements(shape: Shape) -> OpError:
    return OpError(f"there are no regions in images of shape {show(shape)}", 0, kind=operators.SHAPE)


def align_numpy(attrs: AlignAttrs, data: Array, rois: Array) -> Array:
    """Return mean or maximum of the samples of each bin, which are interpolated."""
    _align_check(attrs)
    layout = parse_layout(attrs.layout, "NCHW")
    x: Numbers = layout.to_order(data, "NCHW")
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
            length = end - start
            # As TensorIR's maximum: what is not a number is the least length.
            width = (length if least is None or length > kind(least) else kind(least)) / kind(size[axis])
            most = _MOST_SAMPLES * extents[axis]
            count = attrs.sample_ratio if attrs.sample_ratio > 0 else min(max(_whole(np.ceil(width)), 0), most)
            bins, samples = np.arange(size[axis], dtype=rois.dtype), np.arange(count, dtype=rois.dtype)
            lines.append((start + bins * width)[:, None] + (samples + kind(0.5)) * width / kind(count))
        (y, outside_y), (across, outside_x) = (
            (np.clip(np.where(line > 0, line, 0), 0, extent - 1), ~((line >= -1) & (line <= extent)))
            for line, extent in zip(lines, extents, strict=True)
        )
        image = x[_image(roi, x.shape[0])]
        rows_ = _between(image, y.reshape(-1), 1)
        values = _between(rows_, across.reshape(-1), 2).reshape(x.shape[1], *y.shape, *across.shape)
        outside = outside_y[:, :, None, None] | outside_x[None, None]
        values = np.where(outside, data.dtype.type(0), values)
        if attrs.mode == "avg":
            result[number] = values.mean(axis=(2, 4))
        else:
            # As TensorIR's maximum: what is not a number is passed over.
            lowest = min_value(of_array(data))
            assert isinstance(lowest, FloatImm)
            result[number] = np.fmax.reduce(values, axis=(2, 4), initial=data.dtype.type(lowest.value))
    return layout.from_order(result, "NCHW")


def _between(image: Numbers, places: Numbers, axis: int) -> Numbers:
    """Return ``image`` interpolated at ``places`` of an axis, all of them inside."""
    low = np.floor(places).astype(np.int64)
    high = np.minimum(low + 1, image.shape[axis] - 1)
    part = (places - low).astype(image.dtype).reshape((-1,) + (1,) * (image.ndim - axis - 1))
    return np.asarray(np.take(image, low, axis) * (1 - part) + np.take(image, high, axis) * part)


@dataclass(frozen=True, slots=True)
class _Bin:
    """The statements that compute bin ``at`` (row and column) of region ``roi``, for all channels
    of its image.
    """

    attrs: AlignAttrs
    layout: Layout
    size: Sequence[int]
    x: Buffer
    regions: Buffer
    result: Buffer
    roi: PrimExpr
    at: Sequence[PrimExpr]

    @property
    def average(self) -> bool:
        """Whether the bin is the mean of its samples, else their maximum."""
        return self.attrs.mode == "avg"

    def extent(self, letter: str) -> PrimExpr:
        """Return an extent of the images."""
        return self.x.shape[self.layout.position(letter)]

    def line(self, axis: int) -> tuple[PrimExpr, PrimExpr, PrimExpr]:
        """Return where the bin begins, how long it is, and how many samples it has."""
        kind = self.regions.dtype
        scale = const(self.attrs.spatial_scale, kind)
        start, end = (self.regions[self.roi, one] * scale for one in (2 - axis, 4 - axis))
        length, least = end - start, _least(self.attrs)
        width = (length if least is None else maximum(length, least)) / float(self.size[axis])
        count: PrimExpr = IntImm(self.attrs.sample_ratio, "int64")
        if self.attrs.sample_ratio <= 0:
            most = as_prim(self.extent("HW"[axis])) * _MOST_SAMPLES
            count = minimum(maximum(cast("int64", call("ceil", width)), 0), most)
        return start + cast(kind, self.at[axis]) * width, width, count

    def place(self, channel: PrimExpr) -> tuple[PrimExpr, ...]:
        """Return where the bin of a channel lies in the result."""
        return self.layout.indices({"N": self.roi, "C": channel, "H": self.at[0], "W": self.at[1]})

    def each(self, update: Callable[[PrimExpr], PrimExpr]) -> Stmt:
        """Store ``update`` of its number to each channel of the bin."""
        return loop(self.extent("C"), lambda c: store(self.result, self.place(c), update(c)), "c")

    def between(self, axis: int, sample: PrimExpr, start: PrimExpr, width: PrimExpr, count: PrimExpr) -> list[PrimExpr]:
        """Return the elements around a sample, how far it is from the first, and whether it
        counts.
        """
        extent, kind = self.extent("HW"[axis]), self.regions.dtype
        point = start + (cast(kind, sample) + 0.5) * width / cast(kind, count)
        inside = minimum(maximum(point, 0.0), cast(kind, extent - 1))
        low = call("floor", inside)
        first = cast("int64", low)
        counts = logical_and(point >= -1.0, point <= cast(kind, extent))
        return [first, minimum(first + 1, extent - 1), cast(self.x.dtype, inside - low), counts]

    def add(self, *around: PrimExpr) -> Stmt:
        """Add one sample to all channels; ``around`` is what both axes have ``between``."""
        y0, y1, down, here, x0, x1, right, there = around
        dtype = self.x.dtype
        image = inside_of(cast("int64", self.regions[self.roi, 0]), self.extent("N"))

        def value(channel: PrimExpr) -> PrimExpr:
            def pixel(row: PrimExpr, column: PrimExpr) -> PrimExpr:
                return self.x[self.layout.indices({"N": image, "C": channel, "H": row, "W": column})]

            upper = pixel(y0, x0) * (1.0 - right) + pixel(y0, x1) * right
            lower = pixel(y1, x0) * (1.0 - right) + pixel(y1, x1) * right
            found = Select(logical_and(here, there), upper * (1.0 - down) + lower * down, const(0, dtype))
            old = self.result[self.place(channel)]
            return old + found if self.average else maximum(old, found)

        return self.each(value)

    def samples(self, *lines: PrimExpr) -> Stmt:
        """Combine all samples; ``lines`` are the :meth:`line` of both axes."""
        rows_, columns, dtype = lines[:3], lines[3:], self.x.dtype

        def one(i: PrimExpr, j: PrimExpr) -> Stmt:
            around = [*self.between(0, i, *rows_), *self.between(1, j, *columns)]
            return bind(around, self.add, ("y0", "y1", "down", "here", "x0", "x1", "right", "there"))

        total = loop(rows_[2], lambda i: loop(columns[2], lambda j: one(i, j), "j"))
        if not self.average:
            return seq(self.each(lambda _: min_value(dtype)), total)
        mean = self.each(lambda c: self.result[self.place(c)] / cast(dtype, rows_[2] * columns[2]))
        return seq(self.each(lambda _: const(0, dtype)), total, mean)


def align_compute(attrs: AlignAttrs, out: TensorType, data: te.Tensor, rois: te.Tensor) -> te.Tensor:
    """Return the samples of each bin, combined one after the other."""
    _align_check(attrs)
    layout = parse_layout(attrs.layout, "NCHW")
    size = integers(attrs.pooled_size, "pooled_size")

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (x, regions), (result,) = inputs, outputs

        def cell(roi: PrimExpr, *at: PrimExpr) -> Stmt:
            one = _Bin(attrs, layout, size, x, regions, result, roi, at)
            return bind([*one.line(0), *one.line(1)], one.samples, ("top", "tall", "rows", "left", "wide", "columns"))

        return rows((rois.shape[0], *size), inputs, outputs, cell, "bin")

    return te.extern([out.shape], [out.dtype], [data, rois], build, "roi_align")[0]


# What keeps the border of a bin in place where it is a whole number but for rounding.
_EPSILON = 1e-5


def _slack(attrs: ROIPoolAttrs) -> float:
    return 0.0 if isinstance(attrs, RelaxROIPoolAttrs) else _EPSILON


def _pool_check(attrs: ROIPoolAttrs) -> None:
    if attrs.layout != "NCHW":
        raise OpError(mistake(operators.ATTRIBUTE, name="layout", value=repr(attrs.layout), expected="'NCHW'"))


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
            first = _far(np.floor(steps[:-1] + kind(_slack(attrs)))) + start
            last = _far(np.ceil(steps[1:] - kind(_slack(attrs)))) + start
            bins.append(np.clip(np.stack([first, last], axis=1), 0, extent))
        for i, (top, bottom) in enumerate(bins[0]):
            for j, (left, right) in enumerate(bins[1]):
                if top < bottom and left < right:
                    result[number, :, i, j] = data[_image(roi, data.shape[0]), :, top:bottom, left:right].max(
                        axis=(1, 2)
                    )
    return result


def _far(values: Numbers) -> Numbers:
    return np.clip(converted(values, np.dtype(np.int64)), -FAR, FAR)


def _half_away(value: Numbers) -> int:
    """Return the nearest integer, halves away from zero; one far outside where there is none."""
    found = _whole(np.copysign(np.floor(np.abs(value) + value.dtype.type(0.5)), value))
    return min(max(found, -FAR), FAR)


def pool_compute(attrs: ROIPoolAttrs, out: TensorType, data: te.Tensor, rois: te.Tensor) -> te.Tensor:
    """Return the elements of each bin, compared one after the other."""
    _pool_check(attrs)
    size = integers(attrs.pooled_size, "pooled_size")
    kind = rois.dtype

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (x, regions), (result,) = inputs, outputs

        def cell(roi: PrimExpr, channel: PrimExpr, *at: PrimExpr) -> Stmt:
            def nearest(value: PrimExpr) -> PrimExpr:
                down = call("floor", call("fabs", value) + 0.5)
                return bounded(cast("int64", Select(value < 0.0, 0.0 - down, down)))

            def line(axis: int) -> tuple[PrimExpr, PrimExpr]:
                """Return where the bin begins and ends."""
                extent = data.shape[2 + axis]
                scale = const(attrs.spatial_scale, kind)
                start, end = (nearest(regions[roi, one] * scale) for one in (2 - axis, 4 - axis))
                width = cast(kind, maximum(end - start + 1, 1)) / float(size[axis])
                # Rounded before the sum where a compiler joins products and sums.
                steps = [maximum(cast(kind, at[axis] + side) * width, min_value(kind)) for side in range(2)]
                first = bounded(cast("int64", call("floor", steps[0] + _slack(attrs)))) + start
                last = bounded(cast("int64", call("ceil", steps[1] - _slack(attrs)))) + start
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


_NO_IMAGE = (
    "An image that is not there is the nearest one. A bin has no more samples along an axis than twice the extent "
    "there."
)

roi_align = OpDef(
    relay="vision.roi_align",
    doc="A small image of each region: mean or maximum of interpolated samples in bins of equal size.",
    source=f"{SOURCE}/roi_align.py",
    inputs=("data", "rois"),
    attrs=ROIAlignAttrs,
    declares_attrs=False,
    infer=pooled_type,
    on_bad_values=_NO_IMAGE,
    numpy=align_numpy,
    compute=align_compute,
    relax=Expanded(align_relax),
    layout=layout_rules.regions_of_interest,
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

relax_roi_align = OpDef(
    doc="A small image of each region: mean or maximum of interpolated samples in bins of equal size.",
    source=RELAX_SOURCE,
    inputs=("data", "rois"),
    attrs=RelaxROIAlignAttrs,
    infer=pooled_type,
    on_bad_values=_NO_IMAGE,
    numpy=align_numpy,
    compute=align_compute,
    relax=SameOp(),
    script=Script(
        "vision.roi_align",
        "data, rois, pooled_size, spatial_scale, sample_ratio=-1, aligned=False, layout='NCHW', mode='avg'",
        since="0.24",
    ),
)

roi_pool = OpDef(
    relay="vision.roi_pool",
    doc="A small image of each region: the maximum of the elements in bins of about equal size.",
    source=f"{SOURCE}/roi_pool.py",
    inputs=("data", "rois"),
    attrs=ROIPoolAttrs,
    declares_attrs=False,
    infer=pooled_type,
    on_bad_values="An image that is not there is the nearest one; a bin outside of it is 0.",
    numpy=pool_numpy,
    compute=pool_compute,
    relax=Otherwise(
        "R.vision.roi_pool rounds negative halves of coordinates up, and does not allow for rounding at the borders "
        "of bins"
    ),
    layout=layout_rules.regions_of_interest,
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

relax_roi_pool = OpDef(
    doc="A small image of each region: the maximum of the elements in bins of about equal size.",
    source=RELAX_SOURCE,
    inputs=("data", "rois"),
    attrs=RelaxROIPoolAttrs,
    infer=pooled_type,
    on_bad_values="An image that is not there is the nearest one; a bin outside of it is 0.",
    numpy=pool_numpy,
    compute=pool_compute,
    relax=SameOp(),
    script=Script("vision.roi_pool", "data, rois, pooled_size, spatial_scale, layout='NCHW'", since="0.24"),
)

OPS = (roi_align, relax_roi_align, roi_pool, relax_roi_pool)
