"""Products with weights that a target's code packed ahead: in blocks of channels, in tiles, in rows
of blocks.

TVM's passes write these for one machine. The weight's own shape says how it is packed, as TVM's
computes read it; here it is unpacked, and the ordinary operator does the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import check_positions, integers
from relay2relax.ops.nn.convolution import conv_compute, conv_numpy
from relay2relax.ops.nn.convolution_rules import Conv2DAttrs, extents_in, read_call
from relay2relax.ops.registry.attributes import DType, Int, OptionalIndexExpr, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, Shape, ceildiv, equal, floordiv, mul, product, static
from relay2relax.tir.ir.expr import PrimExpr, cast, const, if_then_else, logical_and


@dataclass(frozen=True, slots=True)
class ConvGemmWeightTransformAttrs:
    """The tile of a matrix of ``kernel height * width * input channels`` rows and a column for each
    output channel.
    """

    tile_N: Int
    tile_K: Int


@dataclass(frozen=True, slots=True)
class DensePackAttrs:
    """``weight_layout`` is e.g. ``NC8n``: units in blocks of 8; the weight says how many there are
    where ``units`` does not.
    """

    units: OptionalIndexExpr
    out_dtype: DType = ""
    weight_layout: String = "NC"


def packed_type(attrs: Conv2DAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type that ``channels`` and ``kernel_size`` say.

    TVM does not look at the packed weight.
    """
    if attrs.channels is None or attrs.kernel_size is None:
        raise OpError("a convolution by a packed weight needs channels and kernel_size", kind=operators.SHAPE)
    conv = read_call(replace(attrs, kernel_layout="OIHW"))
    batch, _, *spatial = extents_in(data, conv.data, conv.data_order, "the data", 0)
    windows = conv.windows(integers(attrs.kernel_size, "kernel_size"))
    positions = [w.positions(e) for w, e in zip(windows, spatial, strict=True)]
    check_positions(positions, spatial, windows)
    shape = conv.out.shape((batch, attrs.channels, *positions), conv.data_order)
    return TensorType(shape, attrs.out_dtype or tensor(data).dtype)


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A weight as the ordinary operator takes it: ``extents`` in ``layout``, and where its elements
    lie.
    """

    layout: str
    extents: tuple[int, ...]
    source: Callable[..., tuple[Any, ...]]

    def numpy(self, weight: Array) -> Array:
        """Return the unpacked array."""
        result: Array = weight[self.source(*np.ogrid[tuple(slice(extent) for extent in self.extents)])]
        return result

    def compute(self, weight: te.Tensor) -> te.Tensor:
        """Return the unpacked tensor."""
        return te.compute(self.extents, lambda *at: weight[self.source(*at)], "unpacked_weight")


def packed(name: str, doc: str, unpack: Callable[[Conv2DAttrs, int, Sequence[int], str], Unpacked]) -> OpDef:
    """Return the record of a convolution by a weight that ``unpack(attrs, input channels, shape,
    dtype)`` reads.
    """

    def unpacked(attrs: Conv2DAttrs, data: Shape, weight: Shape, dtype: str) -> Unpacked:
        conv = read_call(replace(attrs, kernel_layout="OIHW"))
        (channels,) = integers(conv.data.extents(data, "C"), "the number of channels")
        return unpack(attrs, channels, integers(weight, "the shape of a packed weight"), dtype)

    def numpy(attrs: Conv2DAttrs, data: Array, weight: Array) -> Array:
        found = unpacked(attrs, data.shape, weight.shape, of_array(weight))
        return conv_numpy(replace(attrs, kernel_layout=found.layout), data, found.numpy(weight))

    def compute(attrs: Conv2DAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
        found = unpacked(attrs, data.shape, weight.shape, weight.dtype)
        return conv_compute(replace(attrs, kernel_layout=found.layout), out, data, found.compute(weight))

    return OpDef(
        relay=f"nn.contrib_{name}",
        doc=doc,
        source=f"Relay's relation of packed convolutions and TOPI's {name} of TVM 0.18",
        inputs=("data", "weight"),
        attrs=Conv2DAttrs,
        infer=packed_type,
        numpy=numpy,
        compute=compute,
        layout=layout_rules.convolution,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    )


def blocks_of_channels(attrs: Conv2DAttrs, channels: int, shape: Sequence[int], dtype: str) -> Unpacked:
    """Read (O / o, I / i, height, width, i, o), or (O / o, I / i, height, width, i / 4, o, 4) for
    sums of four.
    """
    if len(shape) not in (6, 7):
        raise OpError(
            mistake(operators.SHAPE, what="the weight in blocks", shape=show(shape), expected="6 or 7 dimensions"), 1
        )
    outer, inner, height, width, low, wide, *rest = shape
    last = rest[0] if rest else 1
    depth = low * last

    def source(o: Any, i: Any, y: Any, x: Any) -> tuple[Any, ...]:
        place = (o // wide, i // depth, y, x, i % depth // last, o % wide)
        return (*place, i % last) if rest else place

    return Unpacked("OIHW", (outer * wide, inner * depth, height, width), source)


# Tiles of a matrix with a row for each of (height, width, input channel) and a column for each
# output channel. Bytes are stored column by column within a tile.


def _by_column(dtype: str) -> bool:
    return dtype in ("int8", "uint8")


def tiles(attrs: Conv2DAttrs, channels: int, shape: Sequence[int], dtype: str) -> Unpacked:
    """Read (N / tile N, K / tile K, …); what rounding up added is left out."""
    if len(shape) != 4:
        raise OpError(mistake(operators.SHAPE, what="the tiled weight", shape=show(shape), expected="4 dimensions"), 1)
    columns, rows = (shape[2], shape[3]) if _by_column(dtype) else (shape[3], shape[2])
    height, width = integers(attrs.kernel_size or (), "kernel_size")
    (outputs,) = integers([attrs.channels if attrs.channels is not None else 0], "channels")
    if height * width * channels > shape[1] * rows or outputs > shape[0] * columns:
        raise OpError(
            f"a tiled weight of shape {show(shape)} is too small for {channels} by {outputs} channels",
            1,
            kind=operators.SHAPE,
        )

    def source(y: Any, x: Any, i: Any, o: Any) -> tuple[Any, ...]:
        row = (y * width + x) * channels + i
        inner = (o % columns, row % rows) if _by_column(dtype) else (row % rows, o % columns)
        return (o // columns, row // rows, *inner)

    return Unpacked("HWIO", (height, width, channels, outputs), source)


def _tiled(attrs: ConvGemmWeightTransformAttrs, weights: Type) -> tuple[TensorType, Extent, Extent]:
    """Return the kernel's type, and the numbers of rows and columns rounded up to whole tiles."""
    x = tensor(weights)
    if x.rank != 4:
        raise OpError(mistake(operators.LAYOUT, what="the kernel", rank=x.rank, layout="HWIO", needed=4), 0)
    if min(attrs.tile_N, attrs.tile_K) < 1:
        raise OpError(
            f"a tile has at least one element, this one is {attrs.tile_N} by {attrs.tile_K}", kind=operators.ATTRIBUTE
        )
    depth = attrs.tile_K * 4
    rows = mul(ceildiv(product(x.shape[:3]), depth), depth)
    return x, rows, mul(ceildiv(x.shape[3], attrs.tile_N), attrs.tile_N)


def gemm_transform_type(attrs: ConvGemmWeightTransformAttrs, weights: Type) -> TensorType:
    """Return the shape in tiles; rows are rounded up to four tiles."""
    x, rows, columns = _tiled(attrs, weights)
    tile = (attrs.tile_N, attrs.tile_K) if _by_column(x.dtype) else (attrs.tile_K, attrs.tile_N)
    return TensorType((floordiv(columns, attrs.tile_N), floordiv(rows, attrs.tile_K), *tile), x.dtype)


def gemm_transform_numpy(attrs: ConvGemmWeightTransformAttrs, weights: Array) -> Array:
    """Return the matrix, filled up with zeros, in tiles."""
    _, rows, columns = _tiled(attrs, TensorType(weights.shape, of_array(weights)))
    matrix = weights.reshape((-1, weights.shape[3]))
    width = static(columns) or 0
    whole: Array = np.zeros((static(rows) or 0, width), weights.dtype)
    whole[: len(matrix), : weights.shape[3]] = matrix
    tiled: Array = whole.reshape((-1, attrs.tile_K, width // attrs.tile_N, attrs.tile_N))
    order = (2, 0, 3, 1) if _by_column(of_array(weights)) else (2, 0, 1, 3)
    return np.transpose(tiled, order)


def gemm_transform_compute(attrs: ConvGemmWeightTransformAttrs, out: TensorType, weights: te.Tensor) -> te.Tensor:
    """Return the matrix, filled up with zeros, in tiles."""
    _, width, channels, outputs = weights.shape

    def element(n: PrimExpr, k: PrimExpr, first: PrimExpr, second: PrimExpr) -> PrimExpr:
        inner, lane = (second, first) if _by_column(weights.dtype) else (first, second)
        row, column = k * attrs.tile_K + inner, n * attrs.tile_N + lane
        load = weights[row // (width * channels), row // channels % width, row % channels, column]
        inside = logical_and(row < weights.shape[0] * width * channels, column < outputs)
        return if_then_else(inside, load, const(0, weights.dtype))

    return te.compute(out.shape, element, "tiled_weight")


# Rows of blocks.


def _units(attrs: DensePackAttrs, weight: Type) -> tuple[TensorType, Layout, Shape]:
    """Return the weight's type, its layout, and (units, inputs)."""
    x, layout = tensor(weight, 1), parse_layout(attrs.weight_layout, "NC")
    if x.rank != layout.rank:
        raise OpError(
            mistake(operators.LAYOUT, what="the weight", rank=x.rank, layout=layout.name, needed=layout.rank), 1
        )
    return x, layout, layout.extents(x.shape, "NC")


def dense_pack_type(attrs: DensePackAttrs, data: Type, weight: Type) -> TensorType:
    """Return (batch, units)."""
    x = tensor(data)
    _, _, (units, inputs) = _units(attrs, weight)
    if x.rank != 2:
        raise OpError(mistake(operators.RANK, what="the data", rank=x.rank, expected="2: (batch, inputs)"), 0)
    if equal(x.shape[1], inputs) is False:
        raise OpError(f"the data has {x.shape[1]} inputs, the weight takes {inputs}", 1)
    if attrs.units is not None and equal(units, attrs.units) is False:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="units", value=attrs.units, expected=f"{units}, the units of the weight"),
            1,
        )
    return TensorType((x.shape[0], units), attrs.out_dtype or x.dtype)


def dense_pack_numpy(attrs: DensePackAttrs, data: Numbers, weight: Array) -> Array:
    """Return ``data @ weight.T``."""
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    plain: Numbers = _units(attrs, TensorType(weight.shape))[1].to_order(weight, "NC")
    return np.asarray(data.astype(dtype, copy=False) @ plain.astype(dtype, copy=False).T, dtype)


def dense_pack_compute(attrs: DensePackAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the sum of products over the inputs."""
    layout = parse_layout(attrs.weight_layout, "NC")
    k = te.reduce_axis(data.shape[1], "k")

    def element(n: PrimExpr, unit: PrimExpr) -> PrimExpr:
        load = weight[layout.indices({"N": unit, "C": k.var})]
        return te.sum(cast(out.dtype, data[n, k]) * cast(out.dtype, load), k)

    return te.compute(out.shape, element, "dense_pack")


def dense_pack_relax(e: Emit[V], attrs: DensePackAttrs, data: V, weight: V) -> V:
    """Unpacking, transposing, R.matmul; a weight that is split otherwise is lowered here."""
    _, layout, (units, inputs) = _units(attrs, e.type_of(weight))
    names = [(axis.letter, bool(axis.factor)) for axis in layout.axes]
    if names == [("N", False), ("C", False), ("N", True)]:
        # (units / n, inputs, n) -> (inputs, units)
        weight = e.call("reshape", e.call("permute_dims", weight, axes=(1, 0, 2)), e.shape((inputs, units)))
    elif names == [("N", False), ("C", False)]:
        weight = e.call("permute_dims", weight, axes=(1, 0))
    else:
        return e.as_tir(dense_pack, attrs, (data, weight), "Relax has no form for a weight that is split like this")
    return e.call("matmul", data, weight, out_dtype=attrs.out_dtype)


dense_pack = OpDef(
    relay="nn.contrib_dense_pack",
    doc="Multiply by a transposed weight whose units are packed in blocks.",
    source="Relay's DensePack relation and TOPI's dense_pack of TVM 0.18",
    inputs=("data", "weight"),
    attrs=DensePackAttrs,
    infer=dense_pack_type,
    numpy=dense_pack_numpy,
    compute=dense_pack_compute,
    relax=Expanded(dense_pack_relax),
    declares_attrs=False,
    layout=layout_rules.dense_pack,
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

OPS: tuple[OpDef, ...] = (
    packed("conv2d_NCHWc", "Convolve images by a weight in blocks of channels.", blocks_of_channels),
    packed("depthwise_conv2d_NCHWc", "Convolve every channel by itself, in blocks of channels.", blocks_of_channels),
    packed("conv2d_gemm_without_weight_transform", "Convolve images by a weight in tiles.", tiles),
    OpDef(
        relay="nn.contrib_conv2d_gemm_weight_transform",
        doc="Pack a kernel in layout HWIO into tiles of a matrix.",
        source="Relay's Conv2DGemmWeightTransform relation of TVM 0.18",
        inputs=("weights",),
        attrs=ConvGemmWeightTransformAttrs,
        infer=gemm_transform_type,
        numpy=gemm_transform_numpy,
        compute=gemm_transform_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    dense_pack,
)
