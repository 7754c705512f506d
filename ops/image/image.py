"""Crops of boxes out of images, and grey-scale dilation."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import Window, both_sides, check_positions, integers, pad_array, padded
from relay2relax.ops.registry.attributes import Double, DType, IndexExprArray, InlineString, OptionalIndexExprArray
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, as_prim, equal, static
from relay2relax.tir.ir.expr import PrimExpr, Select, cast, const, logical_and, maximum, minimum
from relay2relax.tir.ir.intrinsics import call, min_value

SOURCE = "TVM 0.18 python/tvm/topi/image"


@dataclass(frozen=True, slots=True)
class CropAndResizeAttrs:
    """``crop_size`` is (height, width).

    Points outside of the image give ``extrapolation_value``.
    """

    crop_size: OptionalIndexExprArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "bilinear"
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Dilation2DAttrs:
    """Window of a morphological dilation."""

    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    dilations: IndexExprArray = (1, 1)
    data_layout: InlineString = "NCHW"
    kernel_layout: InlineString = "IHW"
    out_dtype: DType = ""


# crop_and_resize


def crop_type(attrs: CropAndResizeAttrs, data: Type, boxes: Type, box_indices: Type) -> TensorType:
    """Return one crop for each box."""
    x, found, owners = tensor(data), tensor(boxes, 1), tensor(box_indices, 2)
    layout = parse_layout(attrs.layout, "NCHW")
    if layout.is_split or x.rank != 4:
        raise OpError(
            f'an image of 4 dimensions in layout "NCHW" or "NHWC" is expected, this is {x!r}', 0, kind=operators.LAYOUT
        )
    if attrs.crop_size is None or len(attrs.crop_size) != 2:
        raise OpError("crop_size needs 2 values", kind=operators.ATTRIBUTE)
    if found.rank != 2 or equal(found.shape[1], 4) is False:
        raise OpError(
            mistake(operators.SHAPE, what="the tensor of boxes", shape=show(found.shape), expected="(count, 4)"), 1
        )
    if owners.rank != 1:
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the tensor of indices",
                shape=show(owners.shape),
                expected="(count): an index for each box",
            ),
            2,
        )
    channels = x.shape[layout.position("C")]
    shape = layout.shape((found.shape[0], channels, *attrs.crop_size), "NCHW")
    return TensorType(shape, attrs.out_dtype or x.dtype)


def _crop_places(low: Any, high: Any, extent: Any, index: Any, count: Any, only: bool) -> Any:
    """Return where element ``index`` of ``count`` lies between two borders.

    In the middle where it is the ``only`` one.

    For arrays and for expressions of float32.
    """
    if only:
        return (low + high) * 0.5 * (extent - 1.0)
    return low * (extent - 1.0) + (high - low) * (extent - 1.0) / (count - 1.0) * index


def _check_crop(attrs: CropAndResizeAttrs) -> None:
    if attrs.method not in ("bilinear", "nearest_neighbor"):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="method",
                value=repr(attrs.method),
                expected="'bilinear' or 'nearest_neighbor'",
            )
        )


def crop_numpy(attrs: CropAndResizeAttrs, data: Array, boxes: Array, box_indices: Array) -> Array:
    """Return the crops."""
    _check_crop(attrs)
    layout = parse_layout(attrs.layout, "NCHW")
    x = layout.to_order(data, "NHWC")
    if len(boxes) and 0 in x.shape[:3]:
        raise OpError(f"there is nothing to crop from images of shape {show(data.shape)}", 0, kind=operators.SHAPE)
    size = integers(attrs.crop_size or (), "crop_size")
    corners: Numbers = boxes.astype(np.float32)
    places: list[Numbers] = []
    for axis, count in enumerate(size):
        wide = np.array([x.shape[1 + axis]], np.float32)
        index, total = np.arange(count, dtype=np.float32), np.array([count], np.float32)
        places.append(_crop_places(corners[:, [axis]], corners[:, [2 + axis]], wide, index, total, count == 1))
    y, across = places[0][:, :, None], places[1][:, None, :]
    # TVM reads whatever lies beyond the images; here an index that is too large means the last one.
    owner = np.clip(box_indices.astype(np.int64), 0, x.shape[0] - 1).reshape(-1, 1, 1)

    def element(row: Any, column: Any) -> Any:
        row, column = np.clip(row, 0, x.shape[1] - 1), np.clip(column, 0, x.shape[2] - 1)
        return x[owner, row, column].astype(np.float32)

    with np.errstate(all="ignore"):
        if attrs.method == "nearest_neighbor":
            value = element(_half_away(y), _half_away(across))
        else:
            top, left = np.floor(y).astype(np.int64), np.floor(across).astype(np.int64)
            down, right = (y - top).astype(np.float32)[..., None], (across - left).astype(np.float32)[..., None]
            upper = element(top, left) * (1 - right) + element(top, left + 1) * right
            lower = element(top + 1, left) * (1 - right) + element(top + 1, left + 1) * right
            value = upper * (1 - down) + lower * down
        # A place that is not a number is not inside.
        inside = (y >= 0) & (y <= x.shape[1] - 1) & (across >= 0) & (across <= x.shape[2] - 1)
        value = np.where(inside[..., None], value, np.float32(attrs.extrapolation_value))
    result = layout.from_order(value.transpose(0, 3, 1, 2), "NCHW")
    return np.asarray(result, numpy_dtype(attrs.out_dtype or of_array(data)))


def inside_of(index: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """Return ``index`` moved to the border where it lies outside of ``extent`` elements."""
    return maximum(minimum(index, extent - 1), 0)


def _half_away(place: Numbers) -> Numbers:
    low = np.floor(place)
    return (low + (place - low >= 0.5)).astype(np.int64)


def crop_compute(
    attrs: CropAndResizeAttrs, out: TensorType, data: te.Tensor, boxes: te.Tensor, box_indices: te.Tensor
) -> te.Tensor:
    """Return tables of places for each box, and the elements between them."""
    _check_crop(attrs)
    layout = parse_layout(attrs.layout, "NCHW")
    extents = [data.shape[layout.position(letter)] for letter in "HW"]
    size = [as_prim(out.shape[layout.position(letter)]) for letter in "HW"]

    def table(axis: int) -> te.Tensor:
        extent, count = cast("float32", extents[axis]), cast("float32", size[axis])

        def place(b: PrimExpr, i: PrimExpr) -> PrimExpr:
            low, high = cast("float32", boxes[b, axis]), cast("float32", boxes[b, 2 + axis])
            found: PrimExpr = _crop_places(low, high, extent, cast("float32", i), count, static(size[axis]) == 1)
            # Compared with the border: a compiler that joins products and sums has to round it
            # first, as numpy does.
            return found if static(size[axis]) == 1 else _kept(low, high, extent, count, cast("float32", i))

        return te.compute((boxes.shape[0], size[axis]), place, "place")

    rows, columns = table(0), table(1)

    def element(*at: PrimExpr) -> PrimExpr:
        where = layout.coordinates(at)
        box = where["N"]
        y, x = rows[box, where["H"]], columns[box, where["W"]]

        def pixel(row: PrimExpr, column: PrimExpr) -> PrimExpr:
            inside = {
                "N": inside_of(cast("int64", box_indices[box]), data.shape[layout.position("N")]),
                "C": where["C"],
                "H": inside_of(row, extents[0]),
                "W": inside_of(column, extents[1]),
            }
            return cast("float32", data[layout.indices(inside)])

        top, left = call("floor", y), call("floor", x)
        row, column = cast("int64", top), cast("int64", left)
        if attrs.method == "nearest_neighbor":
            value = pixel(Select(y - top >= 0.5, row + 1, row), Select(x - left >= 0.5, column + 1, column))
        else:
            down, right = y - top, x - left
            upper = pixel(row, column) * (1.0 - right) + pixel(row, column + 1) * right
            lower = pixel(row + 1, column) * (1.0 - right) + pixel(row + 1, column + 1) * right
            value = upper * (1.0 - down) + lower * down
        for place, extent in ((y, extents[0]), (x, extents[1])):
            within = logical_and(place >= 0.0, place <= cast("float32", extent - 1))
            value = Select(within, value, const(attrs.extrapolation_value, "float32"))
        return cast(out.dtype, value)

    return te.compute(out.shape, element, "crop_and_resize")


def _kept(low: PrimExpr, high: PrimExpr, extent: PrimExpr, count: PrimExpr, index: PrimExpr) -> PrimExpr:
    """Return the place with its products rounded apart from their sum."""
    lowest = min_value("float32")
    start = maximum(low * (extent - 1.0), lowest)
    return start + maximum((high - low) * (extent - 1.0) / (count - 1.0) * index, lowest)


# dilation2d


def _dilation_windows(attrs: Dilation2DAttrs, kernel: Sequence[Extent]) -> tuple[Window, ...]:
    before, after = both_sides(attrs.padding, 2)
    strides, dilations = integers(attrs.strides, "strides"), integers(attrs.dilations, "dilations")
    if len(strides) < 2 or len(dilations) < 2 or min(strides[:2]) < 1 or min(dilations[:2]) < 1:
        raise OpError("strides and dilations need 2 values of at least 1", kind=operators.ATTRIBUTE)
    sizes = integers(kernel, "the kernel's extents")
    return tuple(Window(*one) for one in zip(sizes, strides[:2], dilations[:2], before, after, strict=True))


def _dilation_layouts(attrs: Dilation2DAttrs) -> tuple[Layout, Layout]:
    return parse_layout(attrs.data_layout, "NCHW"), parse_layout(attrs.kernel_layout, "IHW")


def dilation_type(attrs: Dilation2DAttrs, data: Type, weight: Type) -> TensorType:
    """Return the data's type with the number of windows along height and width."""
    x, kernel = tensor(data), tensor(weight, 1)
    layout, kernel_layout = _dilation_layouts(attrs)
    if x.rank != layout.rank or kernel.rank != kernel_layout.rank:
        raise OpError(
            f"data of {layout.rank} and weight of {kernel_layout.rank} dimensions are expected", 0, kind=operators.RANK
        )
    n, c, *extents = layout.extents(x.shape, "NCHW")
    channels, *sizes = kernel_layout.extents(kernel.shape, "IHW")
    if equal(c, channels) is False:
        raise OpError(f"the data has {c} channels, the weight {channels}", 1, kind=operators.SHAPE)
    windows = _dilation_windows(attrs, sizes)
    positions = [w.positions(e) for w, e in zip(windows, extents, strict=True)]
    check_positions(positions, extents, windows)
    return TensorType(layout.shape((n, c, *positions), "NCHW"), attrs.out_dtype or x.dtype)


def dilation_numpy(attrs: Dilation2DAttrs, data: Array, weight: Array) -> Array:
    """Return the largest sum of element and weight under each window; padding counts as 0."""
    layout, kernel_layout = _dilation_layouts(attrs)
    kind = numpy_dtype(attrs.out_dtype or of_array(data))
    kernel = kernel_layout.to_order(weight, "IHW").astype(kind, copy=False)
    windows = _dilation_windows(attrs, kernel.shape[1:])
    x = layout.to_order(data, "NCHW")
    out = [static(w.positions(e)) or 0 for w, e in zip(windows, x.shape[2:], strict=True)]
    x = pad_array(x, [w.before for w in windows], [w.after for w in windows], 0).astype(kind, copy=False)
    result: Any = None
    for i, j in itertools.product(*(range(w.kernel) for w in windows)):
        under: Any = x[:, :, windows[0].places(i, out[0]), windows[1].places(j, out[1])]
        value = under + kernel[:, i, j, None, None]
        result = value if result is None else np.maximum(result, value)
    found = np.asarray(result, kind)
    return layout.from_order(found, "NCHW")


def dilation_compute(attrs: Dilation2DAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the maximum over each window of the padded data plus the weight."""
    layout, kernel_layout = _dilation_layouts(attrs)
    windows = _dilation_windows(attrs, kernel_layout.extents(weight.shape, "IHW")[1:])
    before, after = [0] * data.rank, [0] * data.rank
    for letter, window in zip("HW", windows, strict=True):
        before[layout.position(letter)], after[layout.position(letter)] = window.before, window.after
    x = padded(data, before, after, const(0, data.dtype))
    taps = [te.reduce_axis(w.kernel, f"r{letter}") for letter, w in zip("hw", windows, strict=True)]

    def element(*at: PrimExpr) -> PrimExpr:
        where = layout.coordinates(at)
        under = dict(where)
        for letter, window, tap in zip("HW", windows, taps, strict=True):
            under[letter] = where[letter] * window.stride + tap.var * window.dilation
        tap_at = {"I": where["C"], "H": taps[0].var, "W": taps[1].var}
        value = cast(out.dtype, x[layout.indices(under)])
        return te.max(value + cast(out.dtype, weight[kernel_layout.indices(tap_at)]), taps)

    return te.compute(out.shape, element, "dilation2d")


# Records

crop_and_resize = OpDef(
    relay="image.crop_and_resize",
    doc="A part of an image for each box, resized to one size.",
    source=f"{SOURCE}/resize.py",
    inputs=("data", "boxes", "box_indices"),
    attrs=CropAndResizeAttrs,
    infer=crop_type,
    numpy=crop_numpy,
    compute=crop_compute,
    fusion=Fusion(OpPattern.INJECTIVE),
)

dilation2d = OpDef(
    relay="image.dilation2d",
    doc="Grey-scale dilation: the largest sum of element and weight under each window.",
    source=f"{SOURCE}/dilation2d.py",
    inputs=("data", "weight"),
    attrs=Dilation2DAttrs,
    infer=dilation_type,
    numpy=dilation_numpy,
    compute=dilation_compute,
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

OPS = (crop_and_resize, dilation2d)
