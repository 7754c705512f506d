"""Convolution by Winograd's minimal filtering: fewer products, on transformed tiles of data and a
transformed weight.

TVM's passes write these for GPUs, with the weight transformed ahead. Along one axis, ``m`` results
of a window of ``r`` elements come from ``alpha = m + r - 1`` products: ``A^T ((G w) * (B^T d))``,
where the matrices follow from ``alpha - 1`` points (and infinity) at which polynomials are
multiplied. A transformed weight is useful only with the same points: they are those of TVM, after
B. Barabasz, A. Anderson, K. M. Soodhalter, D. Gregg, "Error Analysis and Improving the Accuracy of
Winograd Convolution for Deep Neural Networks", ACM Transactions on Mathematical Software 46 (2020).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import Window, check_positions, integers, pad_array, windows_of
from relay2relax.ops.nn.convolution_rules import ConvCall, extents_in, read_call
from relay2relax.ops.registry.attributes import (
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
from relay2relax.ops.registry.refusal import Refusal
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, Shape, ceildiv, static
from relay2relax.tir.ir.expr import PrimExpr, Select, cast, const, if_then_else, logical_and

_COMMON = (0, -1, 1, 1 / 2, -1 / 2, 2, -2, -1 / 4)
# The points by their number, alpha - 1.
_POINTS: dict[int, tuple[float, ...]] = {
    3: (0, -1, 1),
    4: (0, -1, 1, 1 / 2),
    5: (0, -1, 1, 1 / 2, -2),
    6: (0, -1, 1, 1 / 2, -2, -1 / 2),
    7: _COMMON[:7],
    8: _COMMON,
    9: (*_COMMON, 4),
    10: (*_COMMON, 3 / 4, -4 / 3),
    11: (*_COMMON, 4, 3 / 4, -4 / 3),
    12: (*_COMMON, 4, 3 / 4, -4 / 3, 1 / 4),
    13: (*_COMMON, 4, 1 / 4, -3 / 4, 4 / 3, -4),
}


@dataclass(frozen=True, slots=True)
class Conv2DWinogradAttrs:
    """``tile_size`` results along each axis come from one tile of the data."""

    spatial: ClassVar[str] = "HW"
    tile_size: Int
    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1, 1)
    groups: Int = 1
    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    data_layout: String = "NCHW"
    kernel_layout: String = "OIHW"
    out_layout: String = ""
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Conv3DWinogradAttrs(Conv2DWinogradAttrs):
    """As over two axes; the depth is transformed where the kernel's is from 3 to 7."""

    spatial: ClassVar[str] = "DHW"
    strides: IndexExprArray = (1, 1, 1)
    padding: IndexExprArray = (0, 0, 0)
    dilation: IndexExprArray = (1, 1, 1)
    data_layout: InlineString = "NCDHW"
    kernel_layout: InlineString = "OIDHW"
    out_layout: InlineString = ""


@dataclass(frozen=True, slots=True)
class ConvWinogradWeightTransformAttrs:
    """How many results along each axis come from one tile."""

    tile_size: Int


@dataclass(frozen=True, slots=True)
class Conv2DWinogradNNPACKWeightTransformAttrs:
    """The number of NNPACK's algorithm."""

    convolution_algorithm: Int
    out_dtype: DType = ""


WinogradAttrs = Conv2DWinogradAttrs | Conv3DWinogradAttrs


@lru_cache(maxsize=None)
def transforms(tile: int, kernel: int) -> tuple[Array, Array, Array]:
    """Return A (alpha, tile), B (alpha, alpha) and G (alpha, kernel).

    Raises OpError where TVM has no points.
    """
    if not 1 < tile < 9 or not 2 < kernel < 8:
        raise OpError(
            f"tiles of 2 to 8 results of windows of 3 to 7 elements are transformed, not {tile} of {kernel}",
            kind=operators.SHAPE,
        )
    points = _POINTS[tile + kernel - 2]
    alpha = tile + kernel - 1
    a, b, g = np.zeros((alpha, tile)), np.zeros((alpha, alpha)), np.zeros((alpha, kernel))
    for i, point in enumerate(points):
        others = [other for other in points if other != point]
        scale = float(np.prod([point - other for other in others]))
        # The first row of G is kept positive.
        sign = -1.0 if i == 0 and scale < 0 else 1.0
        a[i] = np.power(float(point), np.arange(tile))
        g[i] = np.power(float(point), np.arange(kernel)) / (scale * sign)
        b[: alpha - 1, i] = np.poly(others)[::-1] * sign
    a[-1, -1] = g[-1, -1] = 1
    b[:, -1] = np.poly(points)[::-1]
    return a, b, g


@dataclass(frozen=True, slots=True)
class _Axis:
    """How one spatial axis is computed: by tiles of ``tile`` results, or directly where ``tile`` is
    0.
    """

    kernel: int
    tile: int

    @property
    def taps(self) -> int:
        """How many elements of the data a tile, or a window, reads."""
        return self.tile + self.kernel - 1 if self.tile else self.kernel

    @property
    def step(self) -> int:
        """How far apart tiles, or windows, stand."""
        return self.tile or 1

    @property
    def matrices(self) -> tuple[Array, Array, Array]:
        """The transforms of data, result and weight."""
        return transforms(self.tile, self.kernel)


def _axes(tile: int, kernel: Sequence[int]) -> tuple[_Axis, ...]:
    """Return how each axis is computed: rows and columns by tiles, the depth where its kernel
    allows.
    """
    direct = len(kernel) == 3 and not 2 < kernel[0] < 8
    return tuple(_Axis(size, 0 if direct and d == 0 else tile) for d, size in enumerate(kernel))


# The weight.


def _kernel(attrs: ConvWinogradWeightTransformAttrs, weight: Type, rank: int) -> tuple[TensorType, tuple[_Axis, ...]]:
    x = tensor(weight)
    if x.rank != rank + 2:
        raise OpError(
            mistake(operators.LAYOUT, what="the weight", rank=x.rank, layout=f"OI{'DHW'[-rank:]}", needed=rank + 2), 0
        )
    return x, _axes(attrs.tile_size, integers(x.shape[2:], "the kernel's extents"))


def _along(matrix: Array, x: Numbers, axis: int) -> Numbers:
    """Return ``matrix @ x`` along an axis of ``x``."""
    return np.moveaxis(np.tensordot(matrix.astype(x.dtype), x, axes=(1, axis)), 0, axis)


def _matrix(values: Array, dtype: str, name: str) -> te.Tensor:
    """Return a constant matrix as a tensor."""

    def element(i: PrimExpr, j: PrimExpr) -> PrimExpr:
        found: PrimExpr = const(0, dtype)
        for (row, column), value in np.ndenumerate(values):
            if value:
                found = Select(logical_and(i.equal(row), j.equal(column)), const(float(value), dtype), found)
        return found

    return te.compute([len(values), values[0].size], element, name)


def _transformed(x: te.Tensor, values: Array, axis: int, name: str) -> te.Tensor:
    """Return ``values @ x`` along an axis."""
    matrix = _matrix(values, x.dtype, f"{name}_matrix")
    loop = te.reduce_axis(x.shape[axis], "k")

    def element(*at: PrimExpr) -> PrimExpr:
        index = (*at[:axis], loop.var, *at[axis + 1 :])
        return te.sum(matrix[at[axis], loop.var] * x[index], loop)

    shape: list[Extent] = [*x.shape[:axis], len(values), *x.shape[axis + 1 :]]
    return te.compute(shape, element, name)


def _weight_transform(name: str, rank: int) -> OpDef:
    def infer(attrs: ConvWinogradWeightTransformAttrs, weight: Type) -> TensorType:
        x, axes = _kernel(attrs, weight, rank)
        # Taps that are not transformed stand behind the others.
        taps = [axis.taps for axis in sorted(axes, key=lambda axis: axis.tile == 0)]
        return TensorType((*taps, *x.shape[:2]), x.dtype)

    def numpy(attrs: ConvWinogradWeightTransformAttrs, weight: Array) -> Array:
        _, axes = _kernel(attrs, TensorType(weight.shape), rank)
        x: Numbers = weight
        for d, axis in enumerate(axes, 2):
            if axis.tile:
                x = _along(axis.matrices[2], x, d)
        return np.asarray(np.transpose(x, (*_order(axes), 0, 1)))

    def compute(attrs: ConvWinogradWeightTransformAttrs, out: TensorType, weight: te.Tensor) -> te.Tensor:
        _, axes = _kernel(attrs, TensorType(weight.shape, weight.dtype), rank)
        x = weight
        for d, axis in enumerate(axes, 2):
            if axis.tile:
                x = _transformed(x, axis.matrices[2], d, f"weight_transform_{d - 2}")
        places = [*_order(axes), 0, 1]
        return te.compute(out.shape, lambda *at: x[tuple(at[places.index(d)] for d in range(rank + 2))], "transformed")

    return OpDef(
        relay=f"nn.contrib_{name}",
        doc="Transform a convolution's weight for Winograd's algorithm.",
        source=f"TOPI's {name} of TVM 0.18",
        inputs=("weight",),
        attrs=ConvWinogradWeightTransformAttrs,
        infer=infer,
        numpy=numpy,
        compute=compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    )


def _order(axes: Sequence[_Axis]) -> list[int]:
    """Return the dimensions of the kernel's taps, those that are not transformed last."""
    return sorted(range(2, 2 + len(axes)), key=lambda d: axes[d - 2].tile == 0)


# The convolution.


def _read(attrs: WinogradAttrs) -> tuple[ConvCall, tuple[_Axis, ...]]:
    """Return the convolution, whose weight's layout says nothing, and how each axis is computed."""
    conv = read_call(replace(attrs, kernel_layout="OI" + attrs.spatial))
    if attrs.kernel_size is None or attrs.channels is None:
        raise OpError("a convolution by a transformed weight needs channels and kernel_size", kind=operators.SHAPE)
    return conv, _axes(attrs.tile_size, integers(attrs.kernel_size, "kernel_size"))


def winograd_type(attrs: WinogradAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type that ``channels`` and ``kernel_size`` say.

    TVM does not look at the weight.
    """
    conv, axes = _read(attrs)
    batch, _, *spatial = extents_in(data, conv.data, conv.data_order, "the data", 0)
    windows = conv.windows([axis.kernel for axis in axes])
    positions = [w.positions(e) for w, e in zip(windows, spatial, strict=True)]
    check_positions(positions, spatial, windows)
    assert attrs.channels is not None
    shape = conv.out.shape((batch, attrs.channels, *positions), conv.data_order)
    return TensorType(shape, attrs.out_dtype or tensor(data).dtype)


def _weight_order(attrs: WinogradAttrs, conv: ConvCall, axes: Sequence[_Axis], channels: Extent, shape: Shape) -> bool:
    """Return whether the weight's outputs stand before its inputs.

    Raises OpError for any other weight.

    The transformation gives (taps, outputs, inputs); TVM's passes may turn the last two.
    """
    if set(conv.strides) != {1} or set(conv.dilation) != {1} or conv.groups != 1:
        raise OpError("Winograd's algorithm has strides, dilation and groups of 1", kind=operators.SHAPE)
    taps = tuple(axes[d - 2].taps for d in _order(axes))
    found = tuple(static(extent) for extent in shape)
    outputs, inputs = static(attrs.channels if attrs.channels is not None else 0), static(channels)
    if found in ((*taps, outputs, inputs), (*taps, inputs, outputs)):
        return found == (*taps, outputs, inputs)
    raise OpError(
        mistake(
            operators.SHAPE,
            what="the transformed weight",
            shape=show((*taps, outputs or 0, inputs or 0)),
            expected=show(shape),
        ),
        1,
    )


def winograd_numpy(attrs: WinogradAttrs, data: Array, weight: Array) -> Array:
    """Return the convolution, tile by tile."""
    conv, axes = _read(attrs)
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    x: Numbers = conv.data.to_order(data, conv.data_order).astype(dtype, copy=False)
    w: Numbers = weight.astype(dtype, copy=False)
    if not _weight_order(attrs, conv, axes, x.shape[1], weight.shape):
        w = w.swapaxes(-1, -2)
    rank, (n, _, *spatial) = len(axes), x.shape
    windows = conv.windows([axis.kernel for axis in axes])
    sizes = [int(static(v.positions(e)) or 0) for v, e in zip(windows, spatial, strict=True)]
    tiles = [-(-size // axis.step) for size, axis in zip(sizes, axes, strict=True)]
    after = [
        (count - 1) * axis.step + axis.taps - e - b if count else 0
        for count, axis, e, b in zip(tiles, axes, spatial, conv.before, strict=True)
    ]
    x = pad_array(x, conv.before, after, 0)
    under: Numbers = windows_of(np.ascontiguousarray(x), [Window(axis.taps, axis.step) for axis in axes], tiles)
    # (N, C, *tiles, *taps) -> (*taps, C, N * tiles)
    under = under.transpose((*(d + rank for d in _order(axes)), 1, 0, *range(2, 2 + rank)))
    moved = [axes[d - 2] for d in _order(axes)]
    for d, axis in enumerate(moved):
        if axis.tile:
            under = _along(axis.matrices[1].T, under, d)
    product: Numbers = np.matmul(w, under.reshape((*under.shape[: rank + 1], n * math.prod(tiles))))
    # (*taps, O, N * tiles)
    for d, axis in enumerate(moved):
        product = _along(axis.matrices[0].T if axis.tile else np.ones((1, axis.taps)), product, d)
    product = product.reshape((*product.shape[: rank + 1], n, *tiles))
    places = [rank + 1, rank]
    for d in range(rank):
        places += [rank + 2 + d, _order(axes).index(d + 2)]
    whole = product.transpose(places).reshape(
        (n, w.shape[-2], *(count * axis.step for count, axis in zip(tiles, axes, strict=True)))
    )
    cut: tuple[slice, ...] = (slice(None), slice(None), *(slice(size) for size in sizes))
    return conv.out.from_order(whole[cut], conv.data_order)


def winograd_compute(attrs: WinogradAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the tiles, their transformation, the sum over channels, the transformation back, and
    the result.
    """
    conv, axes = _read(attrs)
    batch, channels, *spatial = conv.data.extents(data.shape, conv.data_order)
    outputs_first = _weight_order(attrs, conv, axes, channels, weight.shape)
    rank, order = len(axes), [d - 2 for d in _order(axes)]
    moved = [axes[d] for d in order]
    _, outputs, *sizes = conv.out.extents(out.shape, conv.data_order)
    tiles = [ceildiv(size, axis.step) for size, axis in zip(sizes, axes, strict=True)]

    def gathered(*at: PrimExpr) -> PrimExpr:
        under = {"N": at[rank], "C": at[rank + 1]}
        inside: list[PrimExpr] = []
        for d, (letter, extent) in enumerate(zip(conv.spatial, spatial, strict=True)):
            place = at[rank + 2 + d] * axes[d].step + at[order.index(d)] - conv.before[d]
            under[letter] = place
            inside += [place >= 0, place < extent]
        load = cast(out.dtype, data[conv.data.indices(under)])
        return if_then_else(logical_and(*inside), load, const(0, out.dtype))

    x = te.compute((*(axis.taps for axis in moved), batch, channels, *tiles), gathered, "tiles")
    for d, axis in enumerate(moved):
        if axis.tile:
            x = _transformed(x, axis.matrices[1].T, d, f"data_transform_{d}")
    loop = te.reduce_axis(channels, "c")

    def product(*at: PrimExpr) -> PrimExpr:
        taps, n, o, place = at[:rank], at[rank], at[rank + 1], at[rank + 2 :]
        pair = (o, loop.var) if outputs_first else (loop.var, o)
        index, under = (*taps, *pair), (*taps, n, loop.var, *place)
        return te.sum(cast(out.dtype, weight[index]) * x[under], loop)

    y = te.compute((*(axis.taps for axis in moved), batch, outputs, *tiles), product, "products")
    for d, axis in enumerate(moved):
        values = axis.matrices[0].T if axis.tile else np.ones((1, axis.taps))
        y = _transformed(y, values, d, f"result_transform_{d}")

    def element(*indices: PrimExpr) -> PrimExpr:
        at = conv.out.coordinates(indices)
        inner = [at[letter] % axis.step for letter, axis in zip(conv.spatial, axes, strict=True)]
        outer = [at[letter] // axis.step for letter, axis in zip(conv.spatial, axes, strict=True)]
        index = (*(inner[d] for d in order), at["N"], at["C"], *outer)
        return y[index]

    return te.compute(out.shape, element, f"conv{rank}d_winograd")


def _convolution(rank: int, attrs_class: type) -> OpDef:
    return OpDef(
        relay=f"nn.contrib_conv{rank}d_winograd_without_weight_transform",
        doc="Convolve by a weight that is transformed for Winograd's algorithm.",
        source=f"Relay's relation of packed convolutions and TOPI's conv{rank}d_winograd of TVM 0.18",
        inputs=("data", "weight"),
        attrs=attrs_class,
        infer=winograd_type,
        numpy=winograd_numpy,
        compute=winograd_compute,
        layout=layout_rules.convolution,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    )


# NNPACK's own transformation.

_NNPACK = "nn.contrib_conv2d_winograd_nnpack_weight_transform"


def nnpack_type(attrs: Conv2DWinogradNNPACKWeightTransformAttrs, weight: Type) -> TensorType:
    """Return (outputs, inputs, 8, 8)."""
    x = tensor(weight)
    if x.rank != 4:
        raise OpError(mistake(operators.LAYOUT, what="the weight", rank=x.rank, layout="OIHW", needed=4), 0)
    return TensorType((*x.shape[:2], 8, 8), attrs.out_dtype or x.dtype)


_NOT_COMPUTED = Refusal(_NNPACK, "it is NNPACK's own format: only that library computes it")


OPS: tuple[OpDef, ...] = (
    _convolution(2, Conv2DWinogradAttrs),
    _convolution(3, Conv3DWinogradAttrs),
    _weight_transform("conv2d_winograd_weight_transform", 2),
    _weight_transform("conv3d_winograd_weight_transform", 3),
    OpDef(
        relay=_NNPACK,
        doc="Transform a weight for the NNPACK library; typed and carried, not computed.",
        source="Relay's Conv2DWinogradNNPACKWeightTransform relation of TVM 0.18",
        inputs=("weight",),
        attrs=Conv2DWinogradNNPACKWeightTransformAttrs,
        infer=nnpack_type,
        numpy=_NOT_COMPUTED,
        compute=_NOT_COMPUTED,
    ),
)
