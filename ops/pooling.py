"""Pooling: the largest or the mean element under each place of a window, per image and channel.

A layout says which axes the window moves over (``H`` and ``W``); all other axes are carried along. Windows over several
axes are reduced one axis after the other.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_float, of_array
from relay2relax.ops import reduce
from relay2relax.ops.attributes import Bool, IndexExprArray, InlineString, String
from relay2relax.ops.layout import Layout, parse_layout
from relay2relax.ops.record import Emit, Expanded, OpDef, OpError, Script, V
from relay2relax.ops.reduce import ReduceAttrs, extremum_relax, mean_relax
from relay2relax.ops.shapes import tensor
from relay2relax.ops.types import TensorType, Type
from relay2relax.ops.windows import (
    Window,
    both_sides,
    check_positions,
    integers,
    pad_array,
    padded,
    per_axis,
)
from relay2relax.tir import te
from relay2relax.tir.expr import (
    FloatImm,
    IntImm,
    PrimExpr,
    binary,
    cast,
    const,
    if_then_else,
    maximum,
    minimum,
)
from relay2relax.tir.extent import Extent, add, as_prim, ceildiv, floormod, static
from relay2relax.tir.intrinsics import min_value


@dataclass(frozen=True, slots=True)
class MaxPool2DAttrs:
    """``ceil_mode`` rounds the number of windows up, so that the last ones may reach over the end."""

    pool_size: IndexExprArray
    strides: IndexExprArray = (1, 1)
    dilation: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    layout: String = "NCHW"
    out_layout: String = ""
    ceil_mode: Bool = False


@dataclass(frozen=True, slots=True)
class AvgPool2DAttrs:
    """``count_include_pad`` counts padding among the elements that a sum is divided by."""

    pool_size: IndexExprArray
    strides: IndexExprArray = (1, 1)
    dilation: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    layout: String = "NCHW"
    out_layout: String = ""
    ceil_mode: Bool = False
    count_include_pad: Bool = False


@dataclass(frozen=True, slots=True)
class GlobalPool2DAttrs:
    """One window over the whole image."""

    layout: String = "NCHW"
    out_layout: String = ""


@dataclass(frozen=True, slots=True)
class AdaptivePool2DAttrs:
    """``output_size`` is the number of windows along each axis; empty keeps the extents."""

    output_size: IndexExprArray = ()
    layout: InlineString = "NCHW"
    out_layout: String = ""


PoolAttrs = MaxPool2DAttrs | AvgPool2DAttrs
_SPATIAL = "HW"
_REDUCTIONS = {op.relay: op for op in reduce.OPS}
_SOURCE = "Relay's pooling relations and TOPI's pooling of TVM 0.18"


def _layout(layout: str, out_layout: str) -> Layout:
    if out_layout not in ("", layout):
        raise OpError(f'pooling keeps the layout of the data, "{layout}"; out_layout is "{out_layout}"')
    found = parse_layout(layout, "NC" + _SPATIAL)
    if any(axis.factor and axis.letter in _SPATIAL for axis in found.axes):
        raise OpError(f'pooling cannot move over a split axis; layout is "{layout}"')
    return found


def _image(data: Type, layout: Layout) -> tuple[TensorType, list[int]]:
    """Return the data's type and the positions of its spatial axes."""
    x = tensor(data)
    if x.rank != layout.rank:
        raise OpError(f"the data has {x.rank} dimensions, layout {layout.name} needs {layout.rank}", 0)
    return x, [layout.position(letter) for letter in _SPATIAL]


def _with_extents(shape: Sequence[Extent], axes: Sequence[int], extents: Sequence[Extent]) -> tuple[Extent, ...]:
    result = list(shape)
    for axis, extent in zip(axes, extents, strict=True):
        result[axis] = extent
    return tuple(result)


def _windows(attrs: PoolAttrs) -> tuple[Window, ...]:
    rank = len(_SPATIAL)
    before, after = both_sides(attrs.padding, rank)
    columns = zip(
        per_axis(attrs.pool_size, rank, "pool_size"),
        per_axis(attrs.strides, rank, "strides"),
        per_axis(attrs.dilation, rank, "dilation"),
        before,
        after,
        strict=True,
    )
    return tuple(Window(*column) for column in columns)


# Moving windows.


def pool_type(attrs: PoolAttrs, data: Type) -> TensorType:
    """Return the data's type with the number of windows along each spatial axis."""
    x, axes = _image(data, _layout(attrs.layout, attrs.out_layout))
    windows = _windows(attrs)
    extents = [x.shape[axis] for axis in axes]
    positions = [w.positions(e, attrs.ceil_mode) for w, e in zip(windows, extents, strict=True)]
    check_positions(positions, extents, windows)
    return TensorType(_with_extents(x.shape, axes, positions), x.dtype)


def _over_windows(
    attrs: PoolAttrs, data: Array, value: float, combine: Callable[..., Any]
) -> tuple[Array, list[tuple[int, int, Window]]]:
    """Reduce each window of ``data`` padded by ``value``; return also (axis, windows, window) of each spatial axis."""
    layout = _layout(attrs.layout, attrs.out_layout)
    places: list[tuple[int, int, Window]] = []
    x = data
    for letter, window in zip(_SPATIAL, _windows(attrs), strict=True):
        axis = layout.position(letter)
        extent = x.shape[axis]
        out = int(static(window.positions(extent, attrs.ceil_mode)) or 0)
        after = max(window.after, window.reach(out, extent))
        x = np.moveaxis(pad_array(np.moveaxis(x, axis, -1), [window.before], [after], value), -1, axis)
        index: list[Any] = [slice(None)] * x.ndim
        index[axis] = window.places(0, out)
        result = np.array(x[tuple(index)])
        for tap in range(1, window.kernel):
            index[axis] = window.places(tap, out)
            combine(result, x[tuple(index)], out=result)
        x = result
        places.append((axis, out, window))
    return x, places


def max_pool_numpy(attrs: MaxPool2DAttrs, data: Array) -> Array:
    """Return the largest element under each window; padding counts as the dtype's smallest value."""
    return _over_windows(attrs, data, _lowest(of_array(data)), np.maximum)[0]


def _lowest(dtype: str) -> float:
    return typing.cast("IntImm | FloatImm", min_value(dtype)).value


def avg_pool_numpy(attrs: AvgPool2DAttrs, data: Array) -> Array:
    """Return the sum under each window divided by the number of elements that count; integers truncate."""
    total, places = _over_windows(attrs, data, 0, np.add)
    count = np.ones((1,) * data.ndim, np.int64)
    for axis, out, window in places:
        extent = data.shape[axis]
        low, high = (-window.before, extent + window.after) if attrs.count_include_pad else (0, extent)
        at = np.arange(out)[:, None] * window.stride - window.before + np.arange(window.kernel) * window.dilation
        here = np.count_nonzero((at >= low) & (at < high), axis=1)
        count = count * np.expand_dims(here, [d for d in range(data.ndim) if d != axis])
    return _divide(total, np.maximum(count, 1))


def _divide(total: Any, count: Any) -> Array:
    """Return the quotient in the dtype of ``total``; integers round towards zero."""
    if is_float(of_array(total)):
        return np.asarray(total / count.astype(total.dtype))
    wide = total.astype(np.int64)
    return np.asarray(np.sign(wide) * (np.abs(wide) // count), total.dtype)


def _padded_image(attrs: PoolAttrs, data: te.Tensor, value: PrimExpr) -> tuple[te.Tensor, Layout, tuple[Window, ...]]:
    layout, windows = _layout(attrs.layout, attrs.out_layout), _windows(attrs)
    before = [0] * data.rank
    after: list[Extent] = [0] * data.rank
    for letter, window in zip(_SPATIAL, windows, strict=True):
        axis = layout.position(letter)
        before[axis] = window.before
        # Rounding up, the last window reaches less than one stride over the end.
        after[axis] = window.after + (window.stride - 1 if attrs.ceil_mode else 0)
    return padded(data, before, after, value), layout, windows


def _under(
    layout: Layout, windows: Sequence[Window]
) -> tuple[list[te.ReduceAxis], Callable[[Sequence[PrimExpr]], tuple[PrimExpr, ...]]]:
    """Return the axes of a window's taps, and a function from a window's place to the index of what a tap lies on."""
    taps = [te.reduce_axis(w.kernel, f"r{letter.lower()}") for letter, w in zip(_SPATIAL, windows, strict=True)]

    def index(at: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        found = list(at)
        for letter, window, tap in zip(_SPATIAL, windows, taps, strict=True):
            axis = layout.position(letter)
            found[axis] = at[axis] * window.stride + tap.var * window.dilation
        return tuple(found)

    return taps, index


def max_pool_compute(attrs: MaxPool2DAttrs, out: TensorType, data: te.Tensor) -> Any:
    """Return the largest element of each window of the padded data."""
    x, layout, windows = _padded_image(attrs, data, min_value(data.dtype))
    taps, index = _under(layout, windows)
    return te.compute(out.shape, lambda *at: te.max(x[index(at)], taps), "max_pool2d")


def avg_pool_compute(attrs: AvgPool2DAttrs, out: TensorType, data: te.Tensor) -> Any:
    """Return the sum of each window of the padded data, then the quotient by the elements that count."""
    x, layout, windows = _padded_image(attrs, data, const(0, data.dtype))
    taps, index = _under(layout, windows)
    total = te.compute(out.shape, lambda *at: te.sum(x[index(at)], taps), "avg_pool2d_sum")

    def count(at: Sequence[PrimExpr]) -> PrimExpr:
        found: PrimExpr = const(1, "int64")
        for letter, w in zip(_SPATIAL, windows, strict=True):
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

    return te.compute(out.shape, lambda *at: quotient(total[at], count(at)), "avg_pool2d")


def quotient(total: PrimExpr, count: PrimExpr) -> PrimExpr:
    """Return ``total / count`` in the dtype of ``total``; integers round towards zero."""
    divisor = cast(total.dtype, count)
    if is_float(total.dtype):
        return total / divisor
    return binary("truncdiv", total, divisor)


def max_pool_relax(e: Emit[V], attrs: MaxPool2DAttrs, data: V) -> V:
    """Relax drops a last window that lies in the end padding alone; more end padding does what rounding up does."""
    layout = _layout(attrs.layout, attrs.out_layout)
    if layout.is_split:
        return e.as_tir(max_pool2d, attrs, (data,))
    return e.call("nn.max_pool2d", data, **_pool_arguments(attrs))


def _pool_arguments(attrs: PoolAttrs) -> dict[str, Any]:
    """Return the attributes as Relax needs them: ``ceil_mode`` as end padding."""
    windows = _windows(attrs)
    extra = [w.stride - 1 if attrs.ceil_mode else 0 for w in windows]
    return {
        "pool_size": tuple(w.kernel for w in windows),
        "strides": tuple(w.stride for w in windows),
        "dilation": tuple(w.dilation for w in windows),
        "padding": (*(w.before for w in windows), *(w.after + x for w, x in zip(windows, extra, strict=True))),
        "layout": attrs.layout,
    }


def avg_pool_relax(e: Emit[V], attrs: AvgPool2DAttrs, data: V) -> V:
    """As for the maximum; where padding counts, the explicit padding is added before, for only that counts."""
    layout = _layout(attrs.layout, attrs.out_layout)
    if layout.is_split:
        return e.as_tir(avg_pool2d, attrs, (data,))
    given = _pool_arguments(attrs)
    if attrs.ceil_mode and attrs.count_include_pad:
        windows = _windows(attrs)
        width = [0] * (2 * layout.rank)
        for letter, window in zip(_SPATIAL, windows, strict=True):
            axis = layout.position(letter)
            width[2 * axis : 2 * axis + 2] = [window.before, window.after]
        if any(width):
            data = e.call("nn.pad", data, pad_width=tuple(width))
        given["padding"] = (*(0 for _ in windows), *(w.stride - 1 for w in windows))
        return e.call("nn.avg_pool2d", data, **given, count_include_pad=False)
    return e.call("nn.avg_pool2d", data, **given, count_include_pad=attrs.count_include_pad)


# One window over everything.


def global_pool_type(attrs: GlobalPool2DAttrs, data: Type) -> TensorType:
    """Return the data's type with spatial extents 1."""
    x, axes = _image(data, _layout(attrs.layout, attrs.out_layout))
    return TensorType(_with_extents(x.shape, axes, [1] * len(axes)), x.dtype)


def _as_reduction(attrs: GlobalPool2DAttrs) -> ReduceAttrs:
    layout = _layout(attrs.layout, attrs.out_layout)
    return ReduceAttrs(axis=tuple(layout.position(letter) for letter in _SPATIAL), keepdims=True)


def global_pool(name: str, reduction: str, form: Expanded, doc: str) -> OpDef:
    """Return the record of a pooling that is ``reduction`` over the spatial axes; ``form`` is its form in Relax."""

    def numpy(attrs: GlobalPool2DAttrs, data: Array) -> Any:
        return _REDUCTIONS[reduction].numpy(_as_reduction(attrs), data)

    def compute(attrs: GlobalPool2DAttrs, out: TensorType, data: te.Tensor) -> Any:
        return _REDUCTIONS[reduction].compute(_as_reduction(attrs), out, data)

    def relax(e: Emit[V], attrs: GlobalPool2DAttrs, data: V) -> Any:
        return form.expand(e, _as_reduction(attrs), data)

    return OpDef(
        relay=name,
        doc=doc,
        source=_SOURCE,
        inputs=("data",),
        attrs=GlobalPool2DAttrs,
        attrs_key="relay.attrs.GlobalPool2DAttrs",
        infer=global_pool_type,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax),
    )


# A given number of windows.


def _sizes(attrs: AdaptivePool2DAttrs, extents: Sequence[Extent]) -> tuple[Extent, ...]:
    if not attrs.output_size:
        return tuple(extents)
    sizes = tuple(attrs.output_size) * (len(extents) if len(attrs.output_size) == 1 else 1)
    if len(sizes) != len(extents):
        raise OpError(f"output_size needs {len(extents)} values, but has {len(sizes)}")
    if min(integers(sizes, "output_size")) < 1:
        raise OpError(f"output_size must be at least 1, but is {list(sizes)}")
    return sizes


def adaptive_pool_type(attrs: AdaptivePool2DAttrs, data: Type) -> TensorType:
    """Return the data's type with spatial extents ``output_size``."""
    x, axes = _image(data, _layout(attrs.layout, attrs.out_layout))
    return TensorType(_with_extents(x.shape, axes, _sizes(attrs, [x.shape[a] for a in axes])), x.dtype)


def adaptive_avg_pool_numpy(attrs: AdaptivePool2DAttrs, data: Array) -> Array:
    """Return the mean of window ``i`` of ``n``: elements from ``i * extent // n`` to ``ceil((i + 1) * extent / n)``."""
    layout = _layout(attrs.layout, attrs.out_layout)
    axes = [layout.position(letter) for letter in _SPATIAL]
    sizes = _sizes(attrs, [data.shape[axis] for axis in axes])
    total, count = data, np.ones((1,) * data.ndim, np.int64)
    for axis, size in zip(axes, sizes, strict=True):
        extent, n = data.shape[axis], int(static(size) or 0)
        start = np.arange(n) * extent // n
        length = -(-(np.arange(n) + 1) * extent // n) - start
        at = start[:, None] + np.arange(int(length.max(initial=0)))
        inside = np.arange(at.shape[1]) < length[:, None]
        # (…, windows, taps, …): taps beyond a window's end count as zero.
        under = np.take(total, np.minimum(at, extent - 1), axis=axis)
        mask = np.expand_dims(inside, [d for d in range(under.ndim) if d not in (axis, axis + 1)])
        total = np.sum(under, axis=axis + 1, where=mask, dtype=data.dtype)
        count = count * np.expand_dims(length, [d for d in range(data.ndim) if d != axis])
    return _divide(np.asarray(total), count)


def adaptive_avg_pool_compute(attrs: AdaptivePool2DAttrs, out: TensorType, data: te.Tensor) -> Any:
    """Return the sum of each window, then its quotient by the window's size."""
    layout = _layout(attrs.layout, attrs.out_layout)
    axes = [layout.position(letter) for letter in _SPATIAL]
    taps: dict[int, te.ReduceAxis] = {}
    for axis in axes:
        extent, n = data.shape[axis], out.shape[axis]
        even = static(floormod(extent, n)) == 0
        longest = ceildiv(extent, n) if even else _longest(extent, n)
        taps[axis] = te.reduce_axis(longest, f"r{axis}")

    def bounds(axis: int, at: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        extent, n = data.shape[axis], as_prim(out.shape[axis])
        if static(floormod(extent, n)) == 0:
            length = as_prim(ceildiv(extent, n))
            return at * length, length
        start = at * extent // n
        return start, ((at + 1) * extent + (n - 1)) // n - start

    def summand(*at: PrimExpr) -> PrimExpr:
        index = list(at)
        inside: list[PrimExpr] = []
        for axis in axes:
            start, length = bounds(axis, at[axis])
            index[axis] = start + taps[axis].var
            if length != taps[axis].extent:
                inside.append(taps[axis].var < length)
        value: PrimExpr = data[tuple(index)]
        for condition in inside:
            value = if_then_else(condition, value, const(0, data.dtype))
        return te.sum(value, list(taps.values()))

    total = te.compute(out.shape, summand, "adaptive_avg_pool2d_sum")

    def mean(*at: PrimExpr) -> PrimExpr:
        count: PrimExpr = const(1, "int64")
        for axis in axes:
            count = count * bounds(axis, at[axis])[1]
        return quotient(total[at], count)

    return te.compute(out.shape, mean, "adaptive_avg_pool2d")


def _longest(extent: Extent, windows: Extent) -> Extent:
    """Return how many elements the longest of ``windows`` windows over ``extent`` may have."""
    size, n = static(extent), static(windows)
    if size is None or n is None:
        return add(ceildiv(extent, windows), 1)
    return max(-(-(i + 1) * size // n) - i * size // n for i in range(n))


def adaptive_avg_pool_relax(e: Emit[V], attrs: AdaptivePool2DAttrs, data: V) -> V:
    """TVM 0.25 and 0.26 compute windows of unequal size wrongly: those are lowered here."""
    layout = _layout(attrs.layout, attrs.out_layout)
    x, axes = _image(e.type_of(data), layout)
    extents = [x.shape[axis] for axis in axes]
    sizes = _sizes(attrs, extents)
    even = all(static(floormod(a, b)) == 0 for a, b in zip(extents, sizes, strict=True))
    if layout.is_split or not even:
        return e.as_tir(adaptive_avg_pool2d, attrs, (data,))
    return e.call("nn.adaptive_avg_pool2d", data, output_size=sizes, layout=attrs.layout)


max_pool2d = OpDef(
    relay="nn.max_pool2d",
    doc="The largest element under each window; padding never wins.",
    source=_SOURCE,
    inputs=("data",),
    attrs=MaxPool2DAttrs,
    attrs_key="relay.attrs.MaxPool2DAttrs",
    infer=pool_type,
    numpy=max_pool_numpy,
    compute=max_pool_compute,
    relax=Expanded(max_pool_relax),
    script=Script("nn.max_pool2d"),
)

avg_pool2d = OpDef(
    relay="nn.avg_pool2d",
    doc="The mean element under each window, with or without counting padding.",
    source=_SOURCE,
    inputs=("data",),
    attrs=AvgPool2DAttrs,
    attrs_key="relay.attrs.AvgPool2DAttrs",
    infer=pool_type,
    numpy=avg_pool_numpy,
    compute=avg_pool_compute,
    relax=Expanded(avg_pool_relax),
    script=Script("nn.avg_pool2d"),
)

adaptive_avg_pool2d = OpDef(
    relay="nn.adaptive_avg_pool2d",
    doc="The mean of a given number of windows that share the image as evenly as possible.",
    source=_SOURCE,
    inputs=("data",),
    attrs=AdaptivePool2DAttrs,
    attrs_key="relay.attrs.AdaptivePool2DAttrs",
    infer=adaptive_pool_type,
    numpy=adaptive_avg_pool_numpy,
    compute=adaptive_avg_pool_compute,
    relax=Expanded(adaptive_avg_pool_relax),
    script=Script("nn.adaptive_avg_pool2d"),
)

OPS: tuple[OpDef, ...] = (
    max_pool2d,
    avg_pool2d,
    global_pool("nn.global_max_pool2d", "max", extremum_relax("max"), "The largest element of each image and channel."),
    global_pool("nn.global_avg_pool2d", "mean", Expanded(mean_relax), "The mean of each image and channel."),
    adaptive_avg_pool2d,
)
