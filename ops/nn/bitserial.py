"""Products of numbers of few bits, which TVM computes bit by bit on packed words.

Of each element only the lowest bits count. Words hold one bit of many elements, the first in the
most significant place. A *unipolar* weight's bit b stands for ``+2**b`` where it is set and
``-2**b`` where it is not, any other for ``2**b`` and 0. What TVM counts with ``popcount`` is
computed here as ordinary products of those values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, bits, is_int, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import ask_equal, tensor
from relay2relax.ops.common.windows import check_positions, integers
from relay2relax.ops.nn.convolution import conv_compute, conv_numpy
from relay2relax.ops.nn.convolution_rules import Conv2DAttrs, extents_in, read_call
from relay2relax.ops.registry.attributes import (
    Bool,
    DType,
    IndexExpr,
    IndexExprArray,
    InlineString,
    Int,
    OptionalIndexExpr,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, equal, floordiv, floormod, mul, static
from relay2relax.tir.ir.expr import PrimExpr, binary, cast, const


@dataclass(frozen=True, slots=True)
class BitPackAttrs:
    """The axis whose elements share words, and where the axis that counts bits is put in."""

    bits: Int = 1
    pack_axis: Int = 1
    bit_axis: Int = -1
    pack_type: DType = ""
    name: InlineString = "BitPack"


@dataclass(frozen=True, slots=True)
class BinaryConv2DAttrs:
    """``pack_dtype`` is the word that TVM packs with; results are of ``out_dtype``."""

    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    kernel_size: IndexExprArray = (3, 3)
    channels: OptionalIndexExpr = None
    activation_bits: Int = 1
    weight_bits: Int = 1
    data_layout: InlineString = "NCHW"
    kernel_layout: InlineString = "OIHW"
    pack_dtype: DType = ""
    out_dtype: DType = ""
    unipolar: Bool = True


@dataclass(frozen=True, slots=True)
class BinaryDenseAttrs:
    """As of the convolution; ``units`` are the rows of the weight."""

    units: IndexExpr
    data_bits: Int = 1
    weight_bits: Int = 1
    pack_dtype: DType = ""
    out_dtype: DType = ""
    unipolar: Bool = True


# Packing.


def _word(dtype: str) -> int:
    """Return how many bits a word has; raises OpError where it is no unsigned integer."""
    if dtype not in ("uint8", "uint16", "uint32", "uint64"):
        raise OpError(f"bits are packed into unsigned words of 8 to 64 bits, not {dtype or 'void'}")
    return bits(dtype)


def bitpack_type(attrs: BitPackAttrs, data: Type) -> TensorType:
    """Return the shape with the packed axis divided and the axis of bits put in."""
    x, word = tensor(data), _word(attrs.pack_type)
    if not 0 <= attrs.pack_axis < x.rank or not 0 <= attrs.bit_axis <= x.rank:
        raise OpError(
            f"pack_axis {attrs.pack_axis} and bit_axis {attrs.bit_axis} do not fit {x.rank} dimensions",
            0,
            kind=operators.RANK,
        )
    if not is_int(x.dtype):
        raise OpError(mistake(operators.DTYPE, what="the data", dtype=x.dtype, expected="integers"), 0)
    if not 1 <= attrs.bits <= 8:
        raise OpError(f"1 to 8 bits of an element are packed, not {attrs.bits}")
    extent = static(x.shape[attrs.pack_axis])
    if extent is not None and extent % word:
        raise OpError(f"{extent} elements do not fill words of {word} bits", 0, kind=operators.SHAPE)
    ask_equal(floormod(x.shape[attrs.pack_axis], word), 0)
    shape = list(x.shape)
    shape[attrs.pack_axis] = floordiv(shape[attrs.pack_axis], word)
    shape.insert(attrs.bit_axis, attrs.bits)
    return TensorType(tuple(shape), attrs.pack_type)


def bitpack_numpy(attrs: BitPackAttrs, data: Array) -> Array:
    """Return the words."""
    word, dtype = _word(attrs.pack_type), numpy_dtype(attrs.pack_type)
    x: Numbers = np.moveaxis(data, attrs.pack_axis, -1)
    x = x.reshape((*x.shape[:-1], x.shape[-1] // word, word))
    places = np.left_shift(np.ones(word, dtype), np.arange(word - 1, -1, -1).astype(dtype))
    planes = [np.sum(((x >> b) & 1).astype(dtype) * places, axis=-1, dtype=dtype) for b in range(attrs.bits)]
    return np.stack([np.moveaxis(plane, -1, attrs.pack_axis) for plane in planes], axis=attrs.bit_axis)


def bitpack_compute(attrs: BitPackAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the sum of the bits of a word, each at its place."""
    word = _word(attrs.pack_type)
    lane = te.reduce_axis(word, "lane")

    def element(*at: PrimExpr) -> PrimExpr:
        bit = at[attrs.bit_axis]
        index = [*at[: attrs.bit_axis], *at[attrs.bit_axis + 1 :]]
        index[attrs.pack_axis] = index[attrs.pack_axis] * word + lane.var
        shifted = binary(">>", data[tuple(index)], cast(data.dtype, bit))
        one = cast(out.dtype, binary("&", shifted, const(1, data.dtype)))
        return te.sum(binary("<<", one, cast(out.dtype, word - 1 - lane.var)), lane)

    return te.compute(out.shape, element, "bitpack")


# Values.


def _activation(x: Any, count: int, dtype: Any) -> Any:
    """Return the lowest bits of data as a number."""
    return np.asarray((x & x.dtype.type((1 << count) - 1)).astype(dtype))


def _weight(x: Any, count: int, unipolar: bool, dtype: Any) -> Any:
    """Return what the lowest bits of a weight stand for."""
    value = _activation(x, count, np.int64)
    return (2 * value - ((1 << count) - 1) if unipolar else value).astype(dtype)


def _unpacked(x: Numbers, pack_axis: int, bit_axis: int) -> Numbers:
    """Return the numbers whose bits are in words: ``bit_axis`` counts them, ``pack_axis`` is
    multiplied by the word.
    """
    word = x.dtype.itemsize * 8
    lanes = np.arange(word - 1, -1, -1).astype(x.dtype)
    planes = np.moveaxis(x, (bit_axis, pack_axis), (0, -1))
    found = (planes[..., None] >> lanes) & x.dtype.type(1)
    value = sum(plane.astype(np.int64) << b for b, plane in enumerate(found))
    value = np.asarray(value).reshape((*planes.shape[1:-1], planes.shape[-1] * word))
    return np.moveaxis(value, -1, pack_axis - (1 if bit_axis < pack_axis else 0))


def _masked(x: te.Tensor, count: int, dtype: str) -> te.Tensor:
    """Return the lowest bits of data as a number."""

    def element(*at: PrimExpr) -> PrimExpr:
        return cast(dtype, binary("&", x[at], const((1 << count) - 1, x.dtype)))

    return te.compute(x.shape, element, "bits_of_data")


def _weights(x: te.Tensor, count: int, unipolar: bool, dtype: str, packed: tuple[int, int] | None) -> te.Tensor:
    """Return what the bits of a weight stand for.

    ``packed`` is (pack axis, bit axis) where it comes in words.
    """

    def stands_for(value: PrimExpr) -> PrimExpr:
        return cast(dtype, value * 2 - ((1 << count) - 1) if unipolar else value)

    if packed is None:

        def plain(*at: PrimExpr) -> PrimExpr:
            masked = binary("&", x[at], const((1 << count) - 1, x.dtype))
            return stands_for(cast("int64", masked))

        return _made(x.shape, plain)
    pack_axis, bit_axis = packed
    word = bits(x.dtype)
    shape: list[Extent] = [mul(e, word) if d == pack_axis else e for d, e in enumerate(x.shape) if d != bit_axis]
    own = pack_axis - (1 if bit_axis < pack_axis else 0)

    def unpacked(*at: PrimExpr) -> PrimExpr:
        value: PrimExpr = const(0, "int64")
        for b in range(count):
            index = [*at[:own], at[own] // word, *at[own + 1 :]]
            index.insert(bit_axis, const(b, "int64"))
            shifted = binary(">>", x[tuple(index)], cast(x.dtype, word - 1 - at[own] % word))
            value = value + cast("int64", binary("&", shifted, const(1, x.dtype))) * (1 << b)
        return stands_for(value)

    return _made(shape, unpacked)


def _made(shape: Sequence[Extent], element: Callable[..., PrimExpr]) -> te.Tensor:
    return te.compute(shape, element, "values_of_weight")


# Convolution.

# Where the words and the bits of a packed weight lie, by the layout of the data.
_PACKED = {"NCHW": (1, 4), "NHWC": (2, 4)}


def _as_convolution(attrs: BinaryConv2DAttrs) -> Conv2DAttrs:
    if attrs.data_layout not in _PACKED:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="data_layout", value=repr(attrs.data_layout), expected="'NCHW' or 'NHWC'")
        )
    if not attrs.out_dtype:
        raise OpError("the product of bits needs out_dtype", kind=operators.DTYPE)
    if min(attrs.activation_bits, attrs.weight_bits) < 1 or max(attrs.activation_bits, attrs.weight_bits) > 8:
        raise OpError(f"1 to 8 bits are multiplied, not {attrs.activation_bits} by {attrs.weight_bits}")
    layout = "HWIO" if attrs.data_layout == "NHWC" else "OIHW"
    return Conv2DAttrs(
        strides=attrs.strides, padding=attrs.padding, data_layout=attrs.data_layout, kernel_layout=layout,
        out_dtype=attrs.out_dtype,
    )  # fmt: skip


def bitserial_conv2d_type(attrs: BinaryConv2DAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type that ``channels`` and ``kernel_size`` say.

    TVM does not look at the weight.
    """
    conv = read_call(_as_convolution(attrs))
    if attrs.channels is None:
        raise OpError("a convolution of bits needs channels", kind=operators.SHAPE)
    batch, _, *spatial = extents_in(data, conv.data, conv.data_order, "the data", 0)
    windows = conv.windows(integers(attrs.kernel_size, "kernel_size"))
    positions = [w.positions(e) for w, e in zip(windows, spatial, strict=True)]
    check_positions(positions, spatial, windows)
    return TensorType(conv.out.shape((batch, attrs.channels, *positions), conv.data_order), attrs.out_dtype)


def _is_packed(rank: int, plain: int, shape: Sequence[Extent]) -> bool:
    if rank not in (plain, plain + 1):
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the weight",
                shape=show(shape),
                expected=f"{plain} dimensions, or {plain + 1} of words",
            ),
            1,
        )
    return rank == plain + 1


def bitserial_conv2d_numpy(attrs: BinaryConv2DAttrs, data: Array, weight: Array) -> Array:
    """Return the convolution of the values that the bits stand for."""
    conv, dtype = _as_convolution(attrs), numpy_dtype(attrs.out_dtype)
    if _is_packed(weight.ndim, 4, weight.shape):
        weight = _unpacked(weight, *_PACKED[attrs.data_layout])
    values = _weight(weight, attrs.weight_bits, attrs.unipolar, dtype)
    return conv_numpy(conv, _activation(data, attrs.activation_bits, dtype), values)


def bitserial_conv2d_compute(
    attrs: BinaryConv2DAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor
) -> te.Tensor:
    """Return the convolution of the values that the bits stand for."""
    conv = _as_convolution(attrs)
    packed = _PACKED[attrs.data_layout] if _is_packed(weight.rank, 4, weight.shape) else None
    values = _weights(weight, attrs.weight_bits, attrs.unipolar, out.dtype, packed)
    return conv_compute(conv, out, _masked(data, attrs.activation_bits, out.dtype), values)


# Matrices.


def bitserial_dense_type(attrs: BinaryDenseAttrs, data: Type, weight: Type) -> TensorType:
    """Return the data's type with ``units`` for the last extent."""
    x, w = tensor(data), tensor(weight, 1)
    if not x.rank:
        raise OpError("the data is a scalar", 0)
    if w.rank == 3 and equal(w.shape[0], attrs.units) is False:
        raise OpError(
            mistake(
                operators.ATTRIBUTE, name="units", value=attrs.units, expected=f"{w.shape[0]}, the units of the weight"
            ),
            1,
        )
    return TensorType((*x.shape[:-1], attrs.units), attrs.out_dtype or x.dtype)


def bitserial_dense_numpy(attrs: BinaryDenseAttrs, data: Numbers, weight: Numbers) -> Array:
    """Return the product of the values that the bits stand for."""
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    if _is_packed(weight.ndim, 2, weight.shape):
        weight = _unpacked(weight, 2, 1)
    values = _weight(weight, attrs.weight_bits, attrs.unipolar, dtype)
    return np.asarray(np.matmul(_activation(data, attrs.data_bits, dtype), values.T), dtype)


def bitserial_dense_compute(attrs: BinaryDenseAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the product of the values that the bits stand for."""
    packed = (2, 1) if _is_packed(weight.rank, 2, weight.shape) else None
    values = _weights(weight, attrs.weight_bits, attrs.unipolar, out.dtype, packed)
    x = _masked(data, attrs.data_bits, out.dtype)
    k = te.reduce_axis(data.shape[-1], "k")

    def element(*at: PrimExpr) -> PrimExpr:
        index = (*at[:-1], k.var)
        return te.sum(x[index] * values[at[-1], k.var], k)

    return te.compute(out.shape, element, "bitserial_dense")


OPS: tuple[OpDef, ...] = (
    OpDef(
        relay="nn.bitpack",
        doc="Pack the lowest bits of integers into words, one plane for each bit.",
        source="Relay's BitPack relation and TOPI's bitpack of TVM 0.18",
        inputs=("data",),
        attrs=BitPackAttrs,
        infer=bitpack_type,
        numpy=bitpack_numpy,
        compute=bitpack_compute,
        fusion=Fusion(OpPattern.INJECTIVE),
    ),
    OpDef(
        relay="nn.bitserial_conv2d",
        doc="Convolve numbers of few bits; the weight is plain or in words.",
        source="Relay's BinaryConv2D relation and TOPI's bitserial_conv2d of TVM 0.18",
        inputs=("data", "weight"),
        attrs=BinaryConv2DAttrs,
        infer=bitserial_conv2d_type,
        numpy=bitserial_conv2d_numpy,
        compute=bitserial_conv2d_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        relay="nn.bitserial_dense",
        doc="Multiply by a transposed weight, both of few bits; the weight is plain or in words.",
        source="Relay's BinaryDense relation and TOPI's bitserial_dense of TVM 0.18",
        inputs=("data", "weight"),
        attrs=BinaryDenseAttrs,
        infer=bitserial_dense_type,
        numpy=bitserial_dense_numpy,
        compute=bitserial_dense_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
)
