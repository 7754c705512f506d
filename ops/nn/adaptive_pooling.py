"""Adaptive pooling: a given number of windows that share the extent of each spatial axis as evenly
as possible.

Window ``i`` of ``n`` holds the elements from ``i * extent // n`` to ``ceil((i + 1) * extent / n)``;
windows may overlap by an element, and differ in length by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.windows import integers
from relay2relax.ops.math.reduce import ReduceAttrs, extremum_relax
from relay2relax.ops.nn.pooling import divided, image_of, lowest, pool_layout, quotient, with_extents
from relay2relax.ops.registry.attributes import InlineString, OptionalIndexExprArray, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, add, as_prim, ceildiv, floordiv, floormod, static
from relay2relax.tir.ir.expr import PrimExpr, const, if_then_else
from relay2relax.tir.ir.intrinsics import min_value


@dataclass(frozen=True, slots=True)
class AdaptivePool1DAttrs:
    """Over the axis W.

    ``output_size`` is the number of windows along each axis, empty or null keeps the extents.
    """

    spatial: ClassVar[str] = "W"
    output_size: OptionalIndexExprArray = ()
    layout: InlineString = "NCW"
    out_layout: String = ""


@dataclass(frozen=True, slots=True)
class AdaptivePool2DAttrs:
    """Over H and W; see :class:`AdaptivePool1DAttrs`."""

    spatial: ClassVar[str] = "HW"
    output_size: OptionalIndexExprArray = ()
    layout: InlineString = "NCHW"
    out_layout: String = ""


@dataclass(frozen=True, slots=True)
class AdaptivePool3DAttrs:
    """Over D, H and W; see :class:`AdaptivePool1DAttrs`."""

    spatial: ClassVar[str] = "DHW"
    output_size: OptionalIndexExprArray = ()
    layout: InlineString = "NCDHW"
    out_layout: String = ""


# A given number of windows.


AdaptivePoolAttrs = AdaptivePool1DAttrs | AdaptivePool2DAttrs | AdaptivePool3DAttrs
_SOURCE = "Relay's pooling relations and TOPI's adaptive_pool of TVM 0.18"


def _sizes(attrs: AdaptivePoolAttrs, extents: Sequence[Extent], positive: bool = True) -> tuple[Extent, ...]:
    if not attrs.output_size:
        return tuple(extents)
    sizes = tuple(attrs.output_size) * (len(extents) if len(attrs.output_size) == 1 else 1)
    if len(sizes) != len(extents):
        raise OpError(f"output_size needs {len(extents)} values, but has {len(sizes)}", kind=operators.ATTRIBUTE)
    if positive and min(integers(sizes, "output_size")) < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="output_size", value=list(sizes), expected="at least 1"))
    return sizes


def _axes(attrs: AdaptivePoolAttrs) -> list[int]:
    layout = pool_layout(attrs)
    return [layout.position(letter) for letter in attrs.spatial]


def adaptive_pool_type(attrs: AdaptivePoolAttrs, data: Type) -> TensorType:
    """Return the data's type with spatial extents ``output_size``."""
    x, axes = image_of(attrs, data)
    return TensorType(with_extents(x.shape, axes, _sizes(attrs, [x.shape[a] for a in axes])), x.dtype)


def adaptive_pool_relay_type(attrs: AdaptivePoolAttrs, data: Type) -> TensorType:
    """Return the data's type with spatial extents ``output_size``, which TVM takes as they are."""
    x, axes = image_of(attrs, data)
    return TensorType(with_extents(x.shape, axes, _sizes(attrs, [x.shape[a] for a in axes], False)), x.dtype)


def _over_windows(attrs: AdaptivePoolAttrs, data: Array, reduce: Callable[..., Numbers]) -> tuple[Array, Array]:
    """Return ``reduce(elements, axis=, where=)`` of each window, axis by axis, and how many
    elements each has.
    """
    axes = _axes(attrs)
    sizes = _sizes(attrs, [data.shape[axis] for axis in axes])
    result, count = data, np.ones((1,) * data.ndim, np.int64)
    for axis, size in zip(axes, sizes, strict=True):
        extent, n = data.shape[axis], int(static(size) or 0)
        start = np.arange(n) * extent // n
        length = -(-(np.arange(n) + 1) * extent // n) - start
        at = start[:, None] + np.arange(int(length.max(initial=0)))
        inside = np.arange(at.shape[1]) < length[:, None]
        # (…, windows, taps, …): taps beyond a window's end are left out.
        under = np.take(result, np.minimum(at, extent - 1), axis=axis)
        mask = np.expand_dims(inside, [d for d in range(under.ndim) if d not in (axis, axis + 1)])
        result = np.asarray(reduce(under, axis=axis + 1, where=mask))
        count = count * np.expand_dims(length, [d for d in range(data.ndim) if d != axis])
    return result, count


def adaptive_avg_pool_numpy(attrs: AdaptivePoolAttrs, data: Array) -> Array:
    """Return the mean of each window; integers truncate."""
    total, count = _over_windows(attrs, data, lambda x, **at: np.sum(x, dtype=data.dtype, **at))
    return divided(total, count)


def adaptive_max_pool_numpy(attrs: AdaptivePoolAttrs, data: Array) -> Array:
    """Return the largest element of each window."""
    least = lowest(of_array(data))
    return _over_windows(attrs, data, lambda x, **at: np.max(x, initial=least, **at))[0]


class _Windows:
    """The windows over a tensor, as expressions."""

    def __init__(self, attrs: AdaptivePoolAttrs, out: TensorType, data: te.Tensor) -> None:
        self.data = data
        self.out = out
        self.axes = _axes(attrs)
        self.taps: dict[int, te.ReduceAxis] = {}
        for axis in self.axes:
            extent, n = data.shape[axis], out.shape[axis]
            even = static(floormod(extent, n)) == 0
            self.taps[axis] = te.reduce_axis(ceildiv(extent, n) if even else _longest(extent, n), f"r{axis}")

    def bounds(self, axis: int, at: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return where window ``at`` begins on ``axis``, and its length."""
        extent, n = self.data.shape[axis], as_prim(self.out.shape[axis])
        if static(floormod(extent, n)) == 0:
            length = as_prim(ceildiv(extent, n))
            return at * length, length
        start = at * extent // n
        return start, ((at + 1) * extent + (n - 1)) // n - start

    def element(self, at: Sequence[PrimExpr], otherwise: PrimExpr) -> PrimExpr:
        """Return the element under the taps of the window ``at``; ``otherwise`` beyond its end."""
        index = list(at)
        inside: list[PrimExpr] = []
        for axis in self.axes:
            start, length = self.bounds(axis, at[axis])
            index[axis] = start + self.taps[axis].var
            if length != self.taps[axis].extent:
                inside.append(self.taps[axis].var < length)
        value: PrimExpr = self.data[tuple(index)]
        for condition in inside:
            value = if_then_else(condition, value, otherwise)
        return value


def _longest(extent: Extent, windows: Extent) -> Extent:
    """Return how many elements the longest of ``windows`` windows over ``extent`` may have."""
    size, n = static(extent), static(windows)
    if size is None or n is None:
        return add(ceildiv(extent, windows), 1)
    return max(-(-(i + 1) * size // n) - i * size // n for i in range(n))


def adaptive_avg_pool_compute(attrs: AdaptivePoolAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the sum of each window, then its quotient by the window's size."""
    windows, zero = _Windows(attrs, out, data), const(0, data.dtype)
    taps, name = list(windows.taps.values()), f"adaptive_avg_pool{len(windows.axes)}d"
    total = te.compute(out.shape, lambda *at: te.sum(windows.element(at, zero), taps), f"{name}_sum")

    def mean(*at: PrimExpr) -> PrimExpr:
        count: PrimExpr = const(1, "int64")
        for axis in windows.axes:
            count = count * windows.bounds(axis, at[axis])[1]
        return quotient(total[at], count)

    return te.compute(out.shape, mean, name)


def adaptive_max_pool_compute(attrs: AdaptivePoolAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the largest element of each window."""
    windows, least = _Windows(attrs, out, data), min_value(data.dtype)
    taps, name = list(windows.taps.values()), f"adaptive_max_pool{len(windows.axes)}d"
    return te.compute(out.shape, lambda *at: te.max(windows.element(at, least), taps), name)


def _shares(extents: Sequence[Extent], sizes: Sequence[Extent]) -> bool:
    """Whether all windows are known to have one length."""
    return all(static(floormod(a, b)) == 0 for a, b in zip(extents, sizes, strict=True))


def adaptive_avg_pool_relax(e: Emit[V], record: OpDef, attrs: AdaptivePoolAttrs, data: V) -> V:
    """TVM 0.25 and 0.26 compute windows of unequal size wrongly, all of them integers: those are
    lowered here.
    """
    x, axes = image_of(attrs, e.type_of(data))
    extents = [x.shape[axis] for axis in axes]
    sizes = _sizes(attrs, extents)
    if pool_layout(attrs).is_split or not _shares(extents, sizes) or not is_float(x.dtype):
        return e.as_tir(
            record, attrs, (data,), "TVM 0.25 and 0.26 average windows of unequal size wrongly, all of them integers"
        )
    return e.call(record.name, data, output_size=sizes, layout=attrs.layout)


def adaptive_max_pool_relax(e: Emit[V], record: OpDef, attrs: AdaptivePoolAttrs, data: V) -> V:
    """Relax has no such operator: one window is a reduction, windows of one length are ordinary
    ones.
    """
    x, axes = image_of(attrs, e.type_of(data))
    extents = [x.shape[axis] for axis in axes]
    sizes = _sizes(attrs, extents)
    if all(static(size) == 1 for size in sizes):
        reduction: V = extremum_relax("max").expand(e, ReduceAttrs(axis=tuple(axes), keepdims=True), data)
        return reduction
    if pool_layout(attrs).is_split or not _shares(extents, sizes) or any(static(one) is None for one in extents):
        return e.as_tir(record, attrs, (data,), "Relax has no maximum over windows of unequal size")
    window = tuple(floordiv(a, b) for a, b in zip(extents, sizes, strict=True))
    given = {"padding": (0,) * (2 * len(axes)), "layout": attrs.layout, "out_layout": attrs.layout}
    return e.call(f"nn.max_pool{len(axes)}d", data, pool_size=window, strides=window, **given)


def adaptive_avg_pool(attrs_class: type[AdaptivePoolAttrs]) -> OpDef:
    """Return the record of the mean over windows on the spatial axes of ``attrs_class``."""
    name = f"nn.adaptive_avg_pool{len(attrs_class.spatial)}d"

    def relax(e: Emit[V], attrs: AdaptivePoolAttrs, data: V) -> V:
        return adaptive_avg_pool_relax(e, record, attrs, data)

    record = OpDef(
        relay=name,
        doc="The mean of each of a given number of windows.",
        source=_SOURCE,
        inputs=("data",),
        attrs=attrs_class,
        infer=adaptive_pool_type,
        relay_type=adaptive_pool_relay_type,
        numpy=adaptive_avg_pool_numpy,
        compute=adaptive_avg_pool_compute,
        relax=Expanded(relax),
        script=Script(name, f"data, output_size=None, layout='NC{attrs_class.spatial}', out_layout=None"),
        layout=layout_rules.pooling,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.NEVER,
    )
    return record


def adaptive_max_pool(attrs_class: type[AdaptivePoolAttrs]) -> OpDef:
    """Return the record of the maximum over windows on the spatial axes of ``attrs_class``."""

    def relax(e: Emit[V], attrs: AdaptivePoolAttrs, data: V) -> V:
        return adaptive_max_pool_relax(e, record, attrs, data)

    record = OpDef(
        relay=f"nn.adaptive_max_pool{len(attrs_class.spatial)}d",
        doc="The largest element of each of a given number of windows.",
        source=_SOURCE,
        inputs=("data",),
        attrs=attrs_class,
        infer=adaptive_pool_type,
        relay_type=adaptive_pool_relay_type,
        numpy=adaptive_max_pool_numpy,
        compute=adaptive_max_pool_compute,
        relax=Expanded(relax),
        layout=layout_rules.pooling,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.FOLLOW,
    )
    return record


_CLASSES: tuple[type[AdaptivePoolAttrs], ...] = (AdaptivePool1DAttrs, AdaptivePool2DAttrs, AdaptivePool3DAttrs)
OPS: tuple[OpDef, ...] = (*map(adaptive_avg_pool, _CLASSES), *map(adaptive_max_pool, _CLASSES))
