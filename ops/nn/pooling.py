"""Pooling: the largest or the mean element under each place of a window, per image and channel.

A layout says which axes the window moves over (some of ``D``, ``H`` and ``W``); all other axes are
carried along. Windows over several axes are reduced one axis after the other.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import (
    Window,
    both_sides,
    check_positions,
    pad_array,
    padded,
    per_axis,
)
from relay2relax.ops.math import reduce
from relay2relax.ops.math.reduce import ReduceAttrs, extremum_relax, mean_relax
from relay2relax.ops.registry.attributes import Bool, IndexExprArray, InlineString, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, Tensors, V, Value
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, add, ceildiv, static
from relay2relax.tir.extent import minimum as minimum_extent
from relay2relax.tir.ir.expr import (
    FloatImm,
    IntImm,
    PrimExpr,
    binary,
    cast,
    const,
    maximum,
    minimum,
)
from relay2relax.tir.ir.intrinsics import min_value


@dataclass(frozen=True, slots=True)
class MaxPool1DAttrs:
    """Windows over the axis W.

    ``ceil_mode`` rounds the number of windows up, so that the last may reach too far.
    """

    spatial: ClassVar[str] = "W"
    pool_size: IndexExprArray
    strides: IndexExprArray = (1,)
    dilation: IndexExprArray = (1,)
    padding: IndexExprArray = (0,)
    layout: InlineString = "NCW"
    out_layout: String = ""
    ceil_mode: Bool = False


@dataclass(frozen=True, slots=True)
class MaxPool2DAttrs:
    """Windows over H and W; see :class:`MaxPool1DAttrs`."""

    spatial: ClassVar[str] = "HW"
    pool_size: IndexExprArray
    strides: IndexExprArray = (1, 1)
    dilation: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    layout: String = "NCHW"
    out_layout: String = ""
    ceil_mode: Bool = False


@dataclass(frozen=True, slots=True)
class MaxPool3DAttrs:
    """Windows over D, H and W; see :class:`MaxPool1DAttrs`."""

    spatial: ClassVar[str] = "DHW"
    pool_size: IndexExprArray
    strides: IndexExprArray = (1, 1, 1)
    dilation: IndexExprArray = (1, 1, 1)
    padding: IndexExprArray = (0, 0, 0)
    layout: InlineString = "NCDHW"
    out_layout: String = ""
    ceil_mode: Bool = False


@dataclass(frozen=True, slots=True)
class AvgPool1DAttrs(MaxPool1DAttrs):
    """Windows over the axis W.

    ``count_include_pad`` counts padding among the elements that a sum is divided by.
    """

    count_include_pad: Bool = False


@dataclass(frozen=True, slots=True)
class AvgPool2DAttrs(MaxPool2DAttrs):
    """Windows over H and W; see :class:`AvgPool1DAttrs`."""

    count_include_pad: Bool = False


@dataclass(frozen=True, slots=True)
class AvgPool3DAttrs(MaxPool3DAttrs):
    """Windows over D, H and W; see :class:`AvgPool1DAttrs`."""

    count_include_pad: Bool = False


@dataclass(frozen=True, slots=True)
class GlobalPool2DAttrs:
    """One window over the whole image."""

    spatial: ClassVar[str] = "HW"
    layout: String = "NCHW"
    out_layout: String = ""


MaxPoolAttrs = MaxPool1DAttrs | MaxPool2DAttrs | MaxPool3DAttrs
AvgPoolAttrs = AvgPool1DAttrs | AvgPool2DAttrs | AvgPool3DAttrs
PoolAttrs = MaxPoolAttrs | AvgPoolAttrs
_REDUCTIONS: dict[str | None, OpDef] = {op.relay: op for op in reduce.OPS}
_SOURCE = "Relay's pooling relations and TOPI's pooling of TVM 0.18"


class ImageAttrs(Protocol):
    """What the attributes of all poolings have."""

    spatial: ClassVar[str]

    @property
    def layout(self) -> str:
        """The layout of the data."""

    @property
    def out_layout(self) -> str:
        """The layout of the result."""


def pool_layout(attrs: ImageAttrs) -> Layout:
    """Return the layout of the data and the result.

    Raises OpError where they differ or a spatial axis is split.
    """
    layout, out_layout = attrs.layout, attrs.out_layout
    if out_layout not in ("", layout):
        raise OpError(
            f'pooling keeps the layout of the data, "{layout}"; out_layout is "{out_layout}"', kind=operators.LAYOUT
        )
    found = parse_layout(layout, "NC" + attrs.spatial)
    if any(axis.factor and axis.letter in attrs.spatial for axis in found.axes):
        raise OpError(f'pooling cannot move over a split axis; layout is "{layout}"', kind=operators.LAYOUT)
    return found


def image_of(attrs: ImageAttrs, data: Type) -> tuple[TensorType, list[int]]:
    """Return the data's type and the positions of its spatial axes."""
    x, layout = tensor(data), pool_layout(attrs)
    if x.rank != layout.rank:
        raise OpError(
            mistake(operators.LAYOUT, what="the data", rank=x.rank, layout=layout.name, needed=layout.rank), 0
        )
    return x, [layout.position(letter) for letter in attrs.spatial]


def with_extents(shape: Sequence[Extent], axes: Sequence[int], extents: Sequence[Extent]) -> tuple[Extent, ...]:
    result = list(shape)
    for axis, extent in zip(axes, extents, strict=True):
        result[axis] = extent
    return tuple(result)


def windows_in(attrs: PoolAttrs, least: int | None = 1) -> tuple[Window, ...]:
    """Return the windows.

    Raises OpError for extents, strides and dilations below ``least``, if that is a number.
    """
    rank = len(attrs.spatial)
    before, after = both_sides(attrs.padding, rank)
    columns = zip(
        per_axis(attrs.pool_size, rank, "pool_size", least),
        per_axis(attrs.strides, rank, "strides", least),
        per_axis(attrs.dilation, rank, "dilation", least),
        before,
        after,
        strict=True,
    )
    return tuple(Window(*column) for column in columns)


# Moving windows.


def pool_type(attrs: PoolAttrs, data: Type) -> TensorType:
    """Return the data's type with the number of windows along each spatial axis."""
    return _pool_type(attrs, data)


def pool_relay_type(attrs: PoolAttrs, data: Type) -> TensorType:
    """Return the type of the result, which TVM infers for any windows, and for any strides but
    0.
    """
    return _pool_type(attrs, data, least=None)


def _pool_type(attrs: PoolAttrs, data: Type, least: int | None = 1) -> TensorType:
    x, axes = image_of(attrs, data)
    windows = windows_in(attrs, least)
    extents = [x.shape[axis] for axis in axes]
    positions = [w.positions(e, attrs.ceil_mode) for w, e in zip(windows, extents, strict=True)]
    if least is not None:
        check_positions(positions, extents, windows)
    return TensorType(with_extents(x.shape, axes, positions), x.dtype)


def _over_windows(
    attrs: PoolAttrs, data: Array, value: float, combine: Callable[..., Numbers]
) -> tuple[Array, list[tuple[int, int, Window]]]:
    """Reduce each window of ``data`` padded by ``value``; return also (axis, windows, window) of
    each spatial axis.
    """
    layout = pool_layout(attrs)
    places: list[tuple[int, int, Window]] = []
    x = data
    for letter, window in zip(attrs.spatial, windows_in(attrs), strict=True):
        axis = layout.position(letter)
        extent = x.shape[axis]
        out = int(static(window.positions(extent, attrs.ceil_mode)) or 0)
        after = max(window.after, window.reach(out, extent))
        x = np.moveaxis(pad_array(np.moveaxis(x, axis, -1), [window.before], [after], value), -1, axis)
        index: list[slice] = [slice(None)] * x.ndim
        index[axis] = window.places(0, out)
        result = np.array(x[tuple(index)])
        for tap in range(1, window.kernel):
            index[axis] = window.places(tap, out)
            combine(result, x[tuple(index)], out=result)
        x = result
        places.append((axis, out, window))
    return x, places


def max_pool_numpy(attrs: MaxPoolAttrs, data: Array) -> Array:
    """Return the largest element under each window.

    Padding counts as the dtype's smallest value.
    """
    return _over_windows(attrs, data, lowest(of_array(data)), np.maximum)[0]


def lowest(dtype: str) -> float:
    return typing.cast("IntImm | FloatImm", min_value(dtype)).value


def avg_pool_numpy(attrs: AvgPoolAttrs, data: Array) -> Array:
    """Return the sum under each window divided by the number of elements that count.

    Integers truncate.
    """
    total, places = _over_windows(attrs, data, 0, np.add)
    count = np.ones((1,) * data.ndim, np.int64)
    for axis, out, window in places:
        extent = data.shape[axis]
        low, high = (-window.before, extent + window.after) if attrs.count_include_pad else (0, extent)
        at = np.arange(out)[:, None] * window.stride - window.before + np.arange(window.kernel) * window.dilation
        here = np.count_nonzero((at >= low) & (at < high), axis=1)
        count = count * np.expand_dims(here, [d for d in range(data.ndim) if d != axis])
    return divided(total, np.maximum(count, 1))


def divided(total: Numbers, count: Numbers) -> Array:
    """Return the quotient in the dtype of ``total``; integers round towards zero."""
    if is_float(of_array(total)):
        return np.asarray(total / count.astype(total.dtype))
    wide = total.astype(np.int64)
    return np.asarray(np.sign(wide) * (np.abs(wide) // count), total.dtype)


def _paddedimage_of(attrs: PoolAttrs, data: te.Tensor, value: PrimExpr) -> tuple[te.Tensor, Layout, tuple[Window, ...]]:
    layout, windows = pool_layout(attrs), windows_in(attrs)
    before = [0] * data.rank
    after: list[Extent] = [0] * data.rank
    for letter, window in zip(attrs.spatial, windows, strict=True):
        axis = layout.position(letter)
        before[axis] = window.before
        # Rounding up, the last window reaches less than one stride over the end.
        after[axis] = window.after + (window.stride - 1 if attrs.ceil_mode else 0)
    return padded(data, before, after, value), layout, windows


def _under(
    attrs: PoolAttrs, layout: Layout, windows: Sequence[Window]
) -> tuple[list[te.ReduceAxis], Callable[[Sequence[PrimExpr]], tuple[PrimExpr, ...]]]:
    """Return the axes of a window's taps, and a function from a window's place to the index of what
    a tap lies on.
    """
    taps = [te.reduce_axis(w.kernel, f"r{letter.lower()}") for letter, w in zip(attrs.spatial, windows, strict=True)]

    def index(at: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        found = list(at)
        for letter, window, tap in zip(attrs.spatial, windows, taps, strict=True):
            axis = layout.position(letter)
            found[axis] = at[axis] * window.stride + tap.var * window.dilation
        return tuple(found)

    return taps, index


def max_pool_compute(attrs: MaxPoolAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the largest element of each window of the padded data."""
    x, layout, windows = _paddedimage_of(attrs, data, min_value(data.dtype))
    taps, index = _under(attrs, layout, windows)
    return te.compute(out.shape, lambda *at: te.max(x[index(at)], taps), f"max_pool{len(windows)}d")


def avg_pool_compute(attrs: AvgPoolAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the sum of each window of the padded data, then the quotient by the elements that
    count.
    """
    x, layout, windows = _paddedimage_of(attrs, data, const(0, data.dtype))
    taps, index = _under(attrs, layout, windows)
    total = te.compute(out.shape, lambda *at: te.sum(x[index(at)], taps), f"avg_pool{len(windows)}d_sum")

    def count(at: Sequence[PrimExpr]) -> PrimExpr:
        found: PrimExpr = const(1, "int64")
        for letter, w in zip(attrs.spatial, windows, strict=True):
            axis = layout.position(letter)
            before, after = (0, 0) if attrs.count_include_pad else (w.before, w.after)
            if not attrs.ceil_mode and before == after == 0:
                found = found * w.kernel
                continue
            # Taps [low, high) of this window lie on elements that count.
            start = at[axis] * w.stride - before
            end = data.shape[axis] + (w.before + w.after if attrs.count_include_pad else 0)
            high = minimum((end - start + (w.dilation - 1)) // w.dilation, w.kernel)
            low = maximum((w.dilation - 1 - start) // w.dilation, 0)
            found = found * (high - low)
        return found if isinstance(found, IntImm) else maximum(found, 1)

    return te.compute(out.shape, lambda *at: quotient(total[at], count(at)), f"avg_pool{len(windows)}d")


def quotient(total: PrimExpr, count: PrimExpr) -> PrimExpr:
    """Return ``total / count`` in the dtype of ``total``; integers round towards zero."""
    divisor = cast(total.dtype, count)
    if is_float(total.dtype):
        return total / divisor
    return binary("truncdiv", total, divisor)


def max_pool_relax(e: Emit[V], record: OpDef, attrs: MaxPoolAttrs, data: V) -> V:
    """Relax drops a last window that lies in the end padding alone.

    More end padding does what rounding up does.
    """
    layout = pool_layout(attrs)
    if layout.is_split:
        return e.as_tir(record, attrs, (data,), "Relax pools no split layouts")
    return e.call(record.name, data, **pool_arguments(attrs))


def pool_arguments(attrs: PoolAttrs) -> dict[str, object]:
    """Return the attributes as Relax needs them: ``ceil_mode`` as end padding."""
    windows = windows_in(attrs)
    extra = [w.stride - 1 if attrs.ceil_mode else 0 for w in windows]
    return {
        "pool_size": tuple(w.kernel for w in windows),
        "strides": tuple(w.stride for w in windows),
        "dilation": tuple(w.dilation for w in windows),
        "padding": (*(w.before for w in windows), *(w.after + x for w, x in zip(windows, extra, strict=True))),
        "layout": attrs.layout,
        "out_layout": attrs.layout,
    }


def avg_pool_relax(e: Emit[V], record: OpDef, attrs: AvgPoolAttrs, data: V) -> V:
    """As for the maximum.

    Where padding counts, the explicit padding is added before, for only that counts.
    """
    layout = pool_layout(attrs)
    # TVM's mean of integers has another dtype than it says.
    if layout.is_split or not is_float(tensor(e.type_of(data)).dtype):
        return e.as_tir(
            record,
            attrs,
            (data,),
            "Relax pools no split layouts, and TVM's mean of integers has another dtype than it says",
        )
    given = pool_arguments(attrs)
    if attrs.ceil_mode and attrs.count_include_pad:
        windows = windows_in(attrs)
        width = [0] * (2 * layout.rank)
        for letter, window in zip(attrs.spatial, windows, strict=True):
            axis = layout.position(letter)
            width[2 * axis : 2 * axis + 2] = [window.before, window.after]
        if any(width):
            data = e.call("nn.pad", data, pad_width=tuple(width))
        given["padding"] = (*(0 for _ in windows), *(w.stride - 1 for w in windows))
        return e.call(record.name, data, **given, count_include_pad=False)
    return e.call(record.name, data, **given, count_include_pad=attrs.count_include_pad)


# One window over everything.


def global_pool_type(attrs: GlobalPool2DAttrs, data: Type) -> TensorType:
    """Return the data's type with spatial extents 1."""
    x, axes = image_of(attrs, data)
    return TensorType(with_extents(x.shape, axes, [1] * len(axes)), x.dtype)


def _as_reduction(attrs: GlobalPool2DAttrs) -> ReduceAttrs:
    layout = pool_layout(attrs)
    return ReduceAttrs(axis=tuple(layout.position(letter) for letter in attrs.spatial), keepdims=True)


def global_pool(name: str, reduction: str, form: Expanded, doc: str, precision: Precision) -> OpDef:
    """Return the record of a pooling that is ``reduction`` over the spatial axes.

    ``form`` is its form in Relax.
    """

    def numpy(attrs: GlobalPool2DAttrs, data: Array) -> Value:
        return _REDUCTIONS[reduction].numpy(_as_reduction(attrs), data)

    def compute(attrs: GlobalPool2DAttrs, out: TensorType, data: te.Tensor) -> Tensors:
        return _REDUCTIONS[reduction].compute(_as_reduction(attrs), out, data)

    def relax(e: Emit[V], attrs: GlobalPool2DAttrs, data: V) -> V:
        return form.expand(e, _as_reduction(attrs), data)

    return OpDef(
        relay=name,
        doc=doc,
        source=_SOURCE,
        inputs=("data",),
        attrs=GlobalPool2DAttrs,
        infer=global_pool_type,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax),
        layout=layout_rules.pooling,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=precision,
    )


def max_pool(attrs_class: type[MaxPoolAttrs]) -> OpDef:
    """Return the record of the maximum over windows on the spatial axes of ``attrs_class``."""
    name = f"max_pool{len(attrs_class.spatial)}d"

    def relax(e: Emit[V], attrs: MaxPoolAttrs, data: V) -> V:
        return max_pool_relax(e, record, attrs, data)

    record = OpDef(
        relay=f"nn.{name}",
        doc="The largest element under each window; padding never wins.",
        source=_SOURCE,
        inputs=("data",),
        attrs=attrs_class,
        infer=pool_type,
        relay_type=pool_relay_type,
        numpy=max_pool_numpy,
        compute=max_pool_compute,
        relax=Expanded(relax),
        layout=layout_rules.pooling,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.FOLLOW,
    )
    return record


def avg_pool(attrs_class: type[AvgPoolAttrs]) -> OpDef:
    """Return the record of the mean over windows on the spatial axes of ``attrs_class``."""
    name = f"avg_pool{len(attrs_class.spatial)}d"

    def relax(e: Emit[V], attrs: AvgPoolAttrs, data: V) -> V:
        return avg_pool_relax(e, record, attrs, data)

    record = OpDef(
        relay=f"nn.{name}",
        doc="The mean element under each window, with or without counting padding.",
        source=_SOURCE,
        inputs=("data",),
        attrs=attrs_class,
        infer=pool_type,
        relay_type=pool_relay_type,
        numpy=avg_pool_numpy,
        compute=avg_pool_compute,
        relax=Expanded(relax),
        layout=layout_rules.pooling,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.FOLLOW,
    )
    return record


# Relax's operators have the same attributes.


def relax_pool_type(attrs: PoolAttrs, data: Type) -> TensorType:
    """Return the data's type with the number of windows; none begins in the end padding."""
    x, axes = image_of(attrs, data)
    extents = list(tensor(pool_type(attrs, x)).shape)
    if attrs.ceil_mode:
        for axis, w in zip(axes, windows_in(attrs), strict=True):
            extents[axis] = minimum_extent(extents[axis], ceildiv(add(x.shape[axis], w.before), w.stride))
    return TensorType(tuple(extents), x.dtype)


def in_relax(record: OpDef, spatial: str, counts_padding: bool = False) -> OpDef:
    """Return Relax's operator of the same name, which drops a last window that begins in the end
    padding.

    ``counts_padding`` is what TVM takes for ``count_include_pad`` where it is left out.
    """
    ones, zeros = (1,) * len(spatial), (0,) * max(len(spatial), 2)
    params = (
        f"data, pool_size={ones}, strides={ones}, padding={zeros}, dilation={ones}, ceil_mode=False, "
        f"count_include_pad={counts_padding}, layout='NC{spatial}', out_layout=None"
    )

    def numpy(attrs: PoolAttrs, data: Array) -> Array:
        shape = tensor(relax_pool_type(attrs, TensorType(data.shape))).shape
        found = record.numpy(attrs, data)
        assert isinstance(found, np.ndarray)
        return found[tuple(slice(static(extent)) for extent in shape)]

    return OpDef(
        script=Script(record.name, params),
        doc=record.doc,
        source=f"R.{record.name} of TVM 0.25-0.27 and its lowering",
        inputs=("data",),
        attrs=record.attrs,
        infer=relax_pool_type,
        numpy=numpy,
        compute=record.compute,
    )


_MAX = tuple(max_pool(attrs) for attrs in (MaxPool1DAttrs, MaxPool2DAttrs, MaxPool3DAttrs))
_AVG = tuple(avg_pool(attrs) for attrs in (AvgPool1DAttrs, AvgPool2DAttrs, AvgPool3DAttrs))

OPS: tuple[OpDef, ...] = (
    *_MAX,
    *_AVG,
    *(in_relax(record, spatial) for record, spatial in zip(_MAX, ("W", "HW", "DHW"), strict=True)),
    in_relax(_AVG[0], "W", counts_padding=True),
    in_relax(_AVG[1], "HW"),
    in_relax(_AVG[2], "DHW", counts_padding=True),
    global_pool(
        "nn.global_max_pool2d",
        "max",
        extremum_relax("max"),
        "The largest element of each image and channel.",
        precision=Precision.FOLLOW,
    ),
    global_pool(
        "nn.global_avg_pool2d",
        "mean",
        Expanded(mean_relax),
        "The mean of each image and channel.",
        precision=Precision.NEVER,
    ),
)
