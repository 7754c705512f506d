"""Convolution and correlation at displaced places.

``nn.deformable_conv2d`` reads the data where an offset says, between the elements, by bilinear
interpolation; ``nn.correlation`` compares two images, one of them shifted. Data is thought of as
``NCHW``, kernels as ``OIHW``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product as cartesian
from typing import Any, ClassVar

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.shapes import check_groups, tensor
from relay2relax.ops.common.windows import both_sides, check_positions, pad_array, padded
from relay2relax.ops.nn.convolution_rules import check_channels, check_kernel, extents_in, kernel_extents, read_call
from relay2relax.ops.registry.attributes import (
    Bool,
    DType,
    IndexExprArray,
    InlineString,
    Int,
    OptionalIndexExpr,
    OptionalIndexExprArray,
    String,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, add, as_prim, equal, floordiv, mul, static, sub
from relay2relax.tir.ir.expr import PrimExpr, binary, cast, const, if_then_else, logical_and
from relay2relax.tir.ir.intrinsics import call


@dataclass(frozen=True, slots=True)
class DeformableConv2DAttrs:
    """Channels of each of ``deformable_groups`` share their offsets."""

    spatial: ClassVar[str] = "HW"
    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1, 1)
    deformable_groups: Int = 1
    groups: Int = 1
    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    data_layout: InlineString = "NCHW"
    kernel_layout: InlineString = "OIHW"
    out_layout: InlineString = ""
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class CorrelationAttrs:
    """Patches of ``kernel_size``, every ``stride1``, are compared with those up to
    ``max_displacement`` away.
    """

    kernel_size: Int = 1
    max_displacement: Int = 1
    stride1: Int = 1
    stride2: Int = 1
    padding: IndexExprArray = (0, 0)
    is_multiply: Bool = True
    layout: String = "NCHW"


# Deformable convolution.


def _deformed(attrs: DeformableConv2DAttrs, data: Type, outputs: Extent, kernel: tuple[int, ...]) -> Any:
    """Return the extents N, C of the data, and of the result.

    Raises OpError where groups do not fit.
    """
    conv = read_call(attrs)
    batch, channels, *spatial = extents_in(data, conv.data, conv.data_order, "the data", 0)
    for groups, what in ((attrs.groups, "groups"), (attrs.deformable_groups, "deformable groups")):
        check_groups(channels, groups, among=what)
    windows = conv.windows(kernel)
    positions = [w.positions(e) for w, e in zip(windows, spatial, strict=True)]
    check_positions(positions, spatial, windows)
    return batch, channels, (batch, outputs, *positions)


def _offset_extents(attrs: DeformableConv2DAttrs, out: tuple[Extent, ...], kernel: tuple[int, ...]) -> Any:
    taps = int(np.prod(kernel, dtype=np.int64))
    return (out[0], 2 * taps * attrs.deformable_groups, *out[2:])


def deformable_type(attrs: DeformableConv2DAttrs, data: Type, offset: Type, weight: Type) -> TensorType:
    """Return the type of the convolution.

    The offset has (y, x) for each tap of each deformable group.
    """
    conv = read_call(attrs)
    extents = extents_in(weight, conv.kernel, conv.kernel_order, "the weight", 2)
    check_kernel(attrs, extents[2:])
    kernel = kernel_extents(extents[2:])
    _, channels, out = _deformed(attrs, data, extents[0], kernel)
    if equal(channels, mul(extents[1], attrs.groups)) is False:
        raise OpError(
            f"the weight takes {extents[1]} channels in each of {attrs.groups} group(s)", 2, kind=operators.SHAPE
        )
    check_channels(attrs.channels, extents[0], 2)
    found = extents_in(offset, conv.data, conv.data_order, "the offset", 1)
    expected = _offset_extents(attrs, out, kernel)
    if any(equal(a, b) is False for a, b in zip(found, expected, strict=True)):
        raise OpError(
            mistake(operators.SHAPE, what="the offset", shape=f"{show(found)} in NCHW", expected=show(expected)), 1
        )
    return TensorType(conv.out.shape(out, conv.data_order), attrs.out_dtype or tensor(data).dtype)


def deformable_operands(attrs: DeformableConv2DAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown weight and offset from the data where ``channels`` and ``kernel_size`` are
    given.
    """
    data, offset, weight = types
    if data is None or attrs.channels is None or attrs.kernel_size is None:
        return types
    conv = read_call(attrs)
    kernel = kernel_extents(tuple(attrs.kernel_size))
    dtype = tensor(data).dtype
    _, channels, out = _deformed(attrs, data, attrs.channels, kernel)
    if offset is None:
        offset = TensorType(conv.data.shape(_offset_extents(attrs, out, kernel), conv.data_order), dtype)
    if weight is None:
        extents = (attrs.channels, floordiv(channels, attrs.groups), *kernel)
        weight = TensorType(conv.kernel.shape(extents, conv.kernel_order), dtype)
    return data, offset, weight


def deformable_numpy(attrs: DeformableConv2DAttrs, data: Array, offset: Array, weight: Array) -> Array:
    """Return the convolution of the sampled data, tap by tap.

    Elements and places outside of the data count as 0.
    """
    conv = read_call(attrs)
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    x: Numbers = conv.data.to_order(data, conv.data_order)
    shifts: Numbers = conv.data.to_order(offset, conv.data_order)
    w: Numbers = conv.kernel.to_order(weight, conv.kernel_order).astype(dtype, copy=False)
    (n, c, height, width), (outputs, _, *kernel) = x.shape, w.shape
    rows, columns = shifts.shape[2:]
    parts, groups = attrs.deformable_groups, attrs.groups
    shifts = shifts.reshape((n, parts, *kernel, 2, rows, columns))
    x = x.reshape((n, parts, c // parts, height, width))
    one = np.arange(n)[:, None, None, None], np.arange(parts)[None, :, None, None]
    result = np.zeros((n, groups, outputs // groups, rows * columns), dtype)
    w = w.reshape((groups, outputs // groups, c // groups, *kernel))
    steps = zip((rows, columns), conv.strides, conv.before, conv.dilation, strict=True)
    starts = [(np.arange(size) * stride - pad, spread) for size, stride, pad, spread in steps]
    for row, column in cartesian(*map(range, kernel)):
        y = shifts[:, :, row, column, 0] + (starts[0][0] + row * starts[0][1])[:, None].astype(x.dtype)
        z = shifts[:, :, row, column, 1] + (starts[1][0] + column * starts[1][1]).astype(x.dtype)
        inside = (y >= 0) & (z >= 0) & (y < height) & (z < width)
        top, left = np.floor(y), np.floor(z)
        low, high = (y - top).astype(x.dtype)[:, :, None], (z - left).astype(x.dtype)[:, :, None]
        corners = []
        for down, right in ((0, 0), (0, 1), (1, 0), (1, 1)):
            at_y, at_x = (np.where(inside, p, 0).astype(np.int64) + d for p, d in ((top, down), (left, right)))
            here = inside & (at_y < height) & (at_x < width)
            corner = x[one[0], one[1], :, np.where(here, at_y, 0), np.where(here, at_x, 0)]
            # (n, parts, rows, columns, channels) -> channels in front of the places.
            corners.append(np.where(here[:, :, None], np.moveaxis(corner, -1, 2), 0))
        upper = corners[0] * (1 - high) + corners[1] * high
        lower = corners[2] * (1 - high) + corners[3] * high
        # An infinite place is outside, whatever it would be multiplied by.
        sample = np.where(inside[:, :, None], upper * (1 - low) + lower * low, 0)
        sample = sample.astype(dtype).reshape((n, groups, c // groups, rows * columns))
        result += np.matmul(w[..., row, column], sample)
    return conv.out.from_order(result.reshape((n, outputs, rows, columns)), conv.data_order)


def deformable_compute(
    attrs: DeformableConv2DAttrs, out: TensorType, data: te.Tensor, offset: te.Tensor, weight: te.Tensor
) -> te.Tensor:
    """Return the sampled data, one element for each tap, then the sum over channels and taps."""
    conv = read_call(attrs)
    batch, channels, height, width = conv.data.extents(data.shape, conv.data_order)
    kernel = conv.kernel.extents(weight.shape, conv.kernel_order)
    sizes = kernel_extents(kernel[2:])
    outputs = floordiv(kernel[0], attrs.groups)
    _, _, *places = conv.data.extents(offset.shape, conv.data_order)
    part = floordiv(channels, attrs.deformable_groups)
    zero = const(0, data.dtype)

    def corner(n: PrimExpr, c: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
        at_y, at_x = cast("int64", y), cast("int64", x)
        load = data[conv.data.indices({"N": n, "C": c, "H": at_y, "W": at_x})]
        return if_then_else(logical_and(at_y < as_prim(height), at_x < as_prim(width)), load, zero)

    def sample(*at: PrimExpr) -> PrimExpr:
        n, c, row, column, y, x = at
        pair = (c // as_prim(part) * (sizes[0] * sizes[1]) + row * sizes[1] + column) * 2

        def place(d: int, here: PrimExpr, tap: PrimExpr) -> PrimExpr:
            shift = offset[conv.data.indices({"N": n, "C": pair + d, "H": y, "W": x})]
            return cast(data.dtype, here * conv.strides[d] + tap * conv.dilation[d] - conv.before[d]) + shift

        py, px = place(0, y, row), place(1, x, column)
        top, left = call("floor", py), call("floor", px)
        low, high, one = py - top, px - left, const(1, data.dtype)
        upper = corner(n, c, top, left) * (one - high) + corner(n, c, top, left + one) * high
        lower = corner(n, c, top + one, left) * (one - high) + corner(n, c, top + one, left + one) * high
        inside = logical_and(
            py >= zero, px >= zero, py < cast(data.dtype, as_prim(height)), px < cast(data.dtype, as_prim(width))
        )
        return if_then_else(inside, upper * (one - low) + lower * low, zero)

    samples = te.compute((batch, channels, *sizes, *places), sample, "deformed")
    axis_c = te.reduce_axis(kernel[1], "rc")
    taps = [te.reduce_axis(size, f"r{letter}") for size, letter in zip(sizes, "hw", strict=True)]

    def element(*indices: PrimExpr) -> PrimExpr:
        at = conv.out.coordinates(indices)
        group = at["C"] // as_prim(outputs) if attrs.groups > 1 else const(0, "int64")
        c = group * as_prim(kernel[1]) + axis_c.var
        left = cast(out.dtype, samples[at["N"], c, taps[0].var, taps[1].var, at["H"], at["W"]])
        tap = {"O": at["C"], "I": axis_c.var, "H": taps[0].var, "W": taps[1].var}
        return te.sum(left * cast(out.dtype, weight[conv.kernel.indices(tap)]), [axis_c, *taps])

    return te.compute(out.shape, element, "deformable_conv2d")


# Correlation.


@dataclass(frozen=True, slots=True)
class _Shifts:
    """How a correlation reads its images, padded by ``before`` and ``after``."""

    radius: int
    before: tuple[int, ...]
    after: tuple[int, ...]

    @property
    def size(self) -> int:
        """The number of displacements along one axis."""
        return 2 * self.radius + 1


def _shifts(attrs: CorrelationAttrs) -> _Shifts:
    parse_layout(attrs.layout, "NCHW")
    if attrs.layout != "NCHW":
        raise OpError(mistake(operators.ATTRIBUTE, name="layout", value=repr(attrs.layout), expected="'NCHW'"))
    if attrs.kernel_size < 1 or attrs.kernel_size % 2 == 0:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="kernel_size", value=attrs.kernel_size, expected="an odd number")
        )
    if min(attrs.stride1, attrs.stride2) < 1 or attrs.max_displacement < 0:
        given = f"{attrs.stride1}, {attrs.stride2} and {attrs.max_displacement}"
        raise OpError(
            f"stride1, stride2 and max_displacement must be positive, but are {given}", kind=operators.ATTRIBUTE
        )
    return _Shifts(attrs.max_displacement // attrs.stride2, *both_sides(attrs.padding, 2))


def correlation_type(attrs: CorrelationAttrs, data1: Type, data2: Type) -> TensorType:
    """Return a channel for each displacement, and a place for each patch."""
    x, y = tensor(data1), tensor(data2, 1)
    for argument, one in enumerate((x, y)):
        if one.rank != 4:
            raise OpError(mistake(operators.RANK, what=f"data{argument + 1}", rank=one.rank, expected="4"), argument)
    if any(equal(a, b) is False for a, b in zip(x.shape, y.shape, strict=True)) or x.dtype != y.dtype:
        raise OpError(
            f"data2 has type {show(y.shape)} {y.dtype}, expected {show(x.shape)} {x.dtype}", 1, kind=operators.SHAPE
        )
    return correlation_relay_type(attrs, data1, data2)


def correlation_relay_type(attrs: CorrelationAttrs, data1: Type, data2: Type) -> TensorType:
    """Return the type; TVM takes the height of one image and the width of the other as they are."""
    x, y, shifts = tensor(data1), tensor(data2, 1), _shifts(attrs)
    if x.rank < 3 or y.rank < 4:
        raise OpError(
            f"height and width are those of images; these have {x.rank} and {y.rank} dimensions", 0, kind=operators.RANK
        )
    border = attrs.max_displacement + (attrs.kernel_size - 1) // 2
    places = [
        floordiv(add(sub(add(e, b + a), 2 * border), attrs.stride1 - 1), attrs.stride1)
        for e, b, a in zip((x.shape[2], y.shape[3]), shifts.before, shifts.after, strict=True)
    ]
    return TensorType((x.shape[0], shifts.size**2, *places), x.dtype)


def correlation_operands(attrs: CorrelationAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Each image has the type of the other."""
    first, second = types
    return (first if first is not None else second), (second if second is not None else first)


def correlation_numpy(attrs: CorrelationAttrs, data1: Array, data2: Array) -> Array:
    """Return the mean over patches and channels of the products, or of the distances."""
    shifts = _shifts(attrs)
    out = correlation_type(attrs, TensorType(data1.shape), TensorType(data2.shape))
    shape = [int(static(extent) or 0) for extent in out.shape]
    first, second = (pad_array(x, shifts.before, shifts.after, 0) for x in (data1, data2))
    result: Numbers = np.zeros(shape, data1.dtype)

    def under(x: Array, row: int, column: int) -> Numbers:
        ends = [start + (size - 1) * attrs.stride1 + 1 for start, size in zip((row, column), shape[2:], strict=True)]
        return x[:, :, row : ends[0] : attrs.stride1, column : ends[1] : attrs.stride1]

    for q, (row, column) in enumerate(cartesian(range(-shifts.radius, shifts.radius + 1), repeat=2)):
        for tap in cartesian(range(attrs.kernel_size), repeat=2):
            y, x = (attrs.max_displacement + t for t in tap)
            one = under(first, y, x)
            other = under(second, y + row * attrs.stride2, x + column * attrs.stride2)
            value = one * other if attrs.is_multiply else np.abs(one - other)
            result[:, q] += np.sum(value, axis=1, dtype=data1.dtype)
    count = attrs.kernel_size**2 * data1.shape[1]
    floats = is_float(of_array(data1))
    whole = result / data1.dtype.type(count) if floats else np.trunc(result / count)
    return np.asarray(whole, data1.dtype)


def correlation_compute(attrs: CorrelationAttrs, out: TensorType, data1: te.Tensor, data2: te.Tensor) -> te.Tensor:
    """Return the sum over a patch and the channels, then the mean."""
    shifts, dtype = _shifts(attrs), data1.dtype
    before, after = (0, 0, *shifts.before), (0, 0, *shifts.after)
    first, second = (padded(x, before, after, const(0, dtype)) for x in (data1, data2))
    channel = te.reduce_axis(data1.shape[1], "rc")
    taps = [te.reduce_axis(attrs.kernel_size, f"r{letter}") for letter in "hw"]

    def total(n: PrimExpr, q: PrimExpr, y: PrimExpr, x: PrimExpr) -> PrimExpr:
        places = [p * attrs.stride1 + attrs.max_displacement + t.var for p, t in zip((y, x), taps, strict=True)]
        moves = [q // shifts.size - shifts.radius, q % shifts.size - shifts.radius]
        moved = [p + m * attrs.stride2 for p, m in zip(places, moves, strict=True)]
        one = first[n, channel, places[0], places[1]]
        other = second[n, channel, moved[0], moved[1]]
        value = one * other if attrs.is_multiply else call("fabs" if is_float(dtype) else "abs", one - other)
        return te.sum(value, [channel, *taps])

    sums = te.compute(out.shape, total, "correlation_sum")
    count = cast(dtype, data1.shape[1] * attrs.kernel_size**2)

    def mean(*at: PrimExpr) -> PrimExpr:
        return sums[at] / count if is_float(dtype) else binary("truncdiv", sums[at], count)

    return te.compute(out.shape, mean, "correlation")


OPS: tuple[OpDef, ...] = (
    OpDef(
        relay="nn.deformable_conv2d",
        doc="Convolve data that is read at displaced places, between its elements.",
        source="Relay's DeformableConv2D relation and TOPI's deformable_conv2d of TVM 0.18",
        inputs=("data", "offset", "weight"),
        attrs=DeformableConv2DAttrs,
        infer=deformable_type,
        operands=deformable_operands,
        numpy=deformable_numpy,
        compute=deformable_compute,
        layout=layout_rules.deformable_convolution,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        relay="nn.correlation",
        doc="Compare patches of two images at every displacement up to a limit.",
        source="Relay's Correlation relation and TOPI's correlation of TVM 0.18",
        inputs=("data1", "data2"),
        attrs=CorrelationAttrs,
        infer=correlation_type,
        relay_type=correlation_relay_type,
        operands=correlation_operands,
        numpy=correlation_numpy,
        compute=correlation_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
)
