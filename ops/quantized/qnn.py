"""Conversions of quantised tensors: ``qnn.quantize``, ``qnn.dequantize``, ``qnn.requantize``,
``qnn.concatenate``.

Real value is ``scale * (q - zero_point)``; scales are float32, zero points int32, each one number
for the whole tensor or, where ``axis`` is spoken of, a vector of one for each place along it. What
TVM can lower for constant parameters only, is computed here for parameters that the program
computes, too. Source of the semantics: TVM 0.18 src/relay/qnn/op.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.conversion import convert
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, Kit, RelaxValues, X
from relay2relax.ops.common.shapes import check_scalar, tensor
from relay2relax.ops.quantized.arithmetic import (
    UNKNOWN_SCALES,
    Factor,
    channel_axis,
    check_axis,
    check_dtype,
    check_parameter,
    constants,
    dequantised,
    factor_at,
    factor_values,
    fixed_point,
    fixed_point_compute,
    is_integer_result,
    one_of,
    one_value,
    quantised,
    ratio_compute,
    ratio_of,
    requantised,
    requantised_float,
    saturated,
    spread,
    spread_value,
)
from relay2relax.ops.registry.attributes import DType, InlineString, Int
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.ops.tensor.joining import ConcatenateAttrs, concatenate_compute, concatenate_numpy, concatenate_type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent
from relay2relax.tir.ir.expr import PrimExpr, cast

SOURCE = "TVM 0.18 src/relay/qnn/op"
BYTES = ("int8", "uint8")


@dataclass(frozen=True, slots=True)
class QuantizeAttrs:
    """The integer dtype of the result, and the axis that vectors of parameters lie along."""

    out_dtype: DType
    axis: Int = -1


@dataclass(frozen=True, slots=True)
class DequantizeAttrs:
    """The floating dtype of the result, and the axis that vectors of parameters lie along."""

    out_dtype: DType
    axis: Int = -1


@dataclass(frozen=True, slots=True)
class RequantizeAttrs:
    """``rounding`` of halves: "UPWARD", also for "None", or "TONEAREST", that is away from zero.

    ``compute_dtype``: "int64" in fixed point, also for "None" (TVM takes float32 for that on
    machines with SSE4.1 which are named as targets), "float32" or "float64".
    """

    axis: Int = -1
    rounding: InlineString = "None"
    compute_dtype: InlineString = "None"
    out_dtype: DType = ""


# quantize


def channels_of(data: TensorType, axis: int, parameters: tuple[Type, ...]) -> Extent:
    """Return the extent along ``axis``, which must exist where a parameter is a vector."""
    if all(tensor(one).rank == 0 for one in parameters):
        return 1
    check_axis(axis, data.rank)
    return data.shape[channel_axis(axis, data.rank)] if data.rank else 1


def quantize_type(attrs: QuantizeAttrs, data: Type, scale: Type, zero: Type) -> TensorType:
    """Return the shape of the data with the integer dtype."""
    found = check_dtype(data, ("float32",), "the data")
    channels = channels_of(found, attrs.axis, (scale, zero))
    check_parameter(scale, "float32", channels, 1)
    check_parameter(zero, "int32", channels, 2)
    is_integer_result(attrs.out_dtype, ("int8", "uint8", "int16", "uint16", "int32"))
    return TensorType(found.shape, attrs.out_dtype)


def quantize_numpy(attrs: QuantizeAttrs, data: Array, scale: Numbers, zero: Numbers) -> Array:
    """Return the nearest integers."""
    scale, zero = (spread(one, data.ndim, attrs.axis) for one in (scale, zero))
    return quantised(ARRAYS, data, scale, zero, attrs.out_dtype)


def quantize_compute(
    attrs: QuantizeAttrs, out: TensorType, data: te.Tensor, scale: te.Tensor, zero: te.Tensor
) -> te.Tensor:
    """Return the nearest integer of each element."""

    def element(*i: PrimExpr) -> PrimExpr:
        place = place_of(i, attrs.axis)
        return quantised(ELEMENTS, data(*i), one_of(scale, place), one_of(zero, place), out.dtype)

    return te.compute(out.shape, element, "T_qnn_quantize")


def quantize_relax(e: Emit[V], attrs: QuantizeAttrs, data: V, scale: V, zero: V) -> V:
    """R.quantize sends halves to the even neighbour, Relay's away from zero.

    So the steps one by one, unless it is asked for.
    """
    rank = tensor(e.type_of(data)).rank
    # R.quantize gives no int32.
    if e.qdq and attrs.out_dtype != "int32":
        scale, zero = (one_value(e, one) for one in (scale, zero))
        return e.call("quantize", data, scale, zero, axis=channel_axis(attrs.axis, rank), out_dtype=attrs.out_dtype)
    scale, zero = (spread_value(e, one, rank, attrs.axis) for one in (scale, zero))
    return quantised(RelaxValues(e), data, scale, zero, attrs.out_dtype)


def place_of(indices: tuple[PrimExpr, ...], axis: int) -> PrimExpr | None:
    """Return where an element's parameter is found in a vector of them."""
    return indices[channel_axis(axis, len(indices))] if indices else None


# dequantize


def _one_element(value: Type) -> bool:
    return all(extent == 1 for extent in tensor(value).shape)


def dequantize_type(attrs: DequantizeAttrs, data: Type, scale: Type, zero: Type) -> TensorType:
    """Return the shape of the data with the floating dtype."""
    found = check_dtype(data, ("int8", "uint8", "int16", "uint16", "int32"), "the data")
    channels: Extent = 1
    if not (_one_element(scale) and _one_element(zero)):
        channels = channels_of(found, attrs.axis, (scale, zero))
    check_parameter(scale, "float32", channels, 1)
    check_parameter(zero, "int32", channels, 2)
    if attrs.out_dtype not in ("float16", "float32"):
        raise OpError(
            mistake(operators.DTYPE, what="the result", dtype=attrs.out_dtype or "void", expected="float16 or float32")
        )
    return TensorType(found.shape, attrs.out_dtype)


def narrowed(k: Kit[X], value: X, dtype: str) -> X:
    """Return float32 as ``dtype``, held inside its range."""
    if dtype == "float32":
        return value
    largest = 65504.0
    held = k.binary("minimum", value, k.const(largest, "float32"))
    return k.cast(k.binary("maximum", held, k.const(-largest, "float32")), dtype)


def dequantize_numpy(attrs: DequantizeAttrs, data: Array, scale: Numbers, zero: Numbers) -> Array:
    """Return the real values."""
    scale, zero = (spread(one, data.ndim, attrs.axis) for one in (scale, zero))
    return narrowed(ARRAYS, dequantised(ARRAYS, data, scale, zero), attrs.out_dtype)


def dequantize_compute(
    attrs: DequantizeAttrs, out: TensorType, data: te.Tensor, scale: te.Tensor, zero: te.Tensor
) -> te.Tensor:
    """Return the real value of each element."""

    def element(*i: PrimExpr) -> PrimExpr:
        place = place_of(i, attrs.axis)
        value = dequantised(ELEMENTS, data(*i), one_of(scale, place), one_of(zero, place))
        return narrowed(ELEMENTS, value, out.dtype)

    return te.compute(out.shape, element, "T_qnn_dequantize")


def dequantize_relax(e: Emit[V], attrs: DequantizeAttrs, data: V, scale: V, zero: V) -> V:
    """R.dequantize takes the same steps in the same dtypes."""
    rank = tensor(e.type_of(data)).rank
    scale, zero = (one_value(e, one) for one in (scale, zero))
    return e.call("dequantize", data, scale, zero, axis=channel_axis(attrs.axis, rank), out_dtype=attrs.out_dtype)


# requantize


def requantize_type(
    attrs: RequantizeAttrs, data: Type, scale: Type, zero: Type, out_scale: Type, out_zero: Type
) -> TensorType:
    """Return the shape of the data with ``attrs.out_dtype``."""
    found = check_dtype(data, ("int8", "uint8", "int16", "int32", "int64"), "the data")
    check_axis(attrs.axis, found.rank)
    channels = channels_of(found, attrs.axis, (scale, zero))
    check_parameter(scale, "float32", channels, 1)
    check_parameter(zero, "int32", channels, 2)
    check_scalar(out_scale, "float32", 3)
    check_scalar(out_zero, "int32", 4)
    is_integer_result(attrs.out_dtype, ("int8", "uint8", "int16", "int32"))
    return TensorType(found.shape, attrs.out_dtype)


def rounding_of(attrs: RequantizeAttrs) -> tuple[str, str]:
    """Return how halves are rounded and the dtype of the computation.

    Raises OpError for what TVM does not know.
    """
    rounding = "UPWARD" if attrs.rounding == "None" else attrs.rounding
    dtype = "int64" if attrs.compute_dtype == "None" else attrs.compute_dtype
    if rounding not in ("UPWARD", "TONEAREST"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="rounding", value=repr(rounding), expected="'UPWARD' or 'TONEAREST'")
        )
    if dtype not in ("int64", "float32", "float64"):
        raise OpError(
            mistake(
                operators.ATTRIBUTE, name="compute_dtype", value=repr(dtype), expected="'int64', 'float32' or 'float64'"
            )
        )
    return rounding, dtype


def requantize_numpy(
    attrs: RequantizeAttrs, data: Array, scale: Numbers, zero: Numbers, out_scale: Numbers, out_zero: Numbers
) -> Array:
    """Return the integers of the other scale."""
    rounding, dtype = rounding_of(attrs)
    zero = spread(zero, data.ndim, attrs.axis)
    ratio = ratio_of(spread(scale, data.ndim, attrs.axis), out_scale)
    if dtype == "int64":
        value = requantised(ARRAYS, data, zero, fixed_point(ratio), out_zero, rounding)
    else:
        value = requantised_float(ARRAYS, data, zero, convert(ratio, dtype), out_zero, rounding, dtype)
    return saturated(ARRAYS, value, attrs.out_dtype)


def requantize_compute(
    attrs: RequantizeAttrs,
    out: TensorType,
    data: te.Tensor,
    scale: te.Tensor,
    zero: te.Tensor,
    out_scale: te.Tensor,
    out_zero: te.Tensor,
) -> te.Tensor:
    """Return each element in the other scale."""
    rounding, dtype = rounding_of(attrs)
    ratio = ratio_compute(scale, out_scale)
    fixed = fixed_point_compute(ratio) if dtype == "int64" else None

    def element(*i: PrimExpr) -> PrimExpr:
        place = place_of(i, attrs.axis)
        shift, final = one_of(zero, place), out_zero()
        if fixed is not None:
            value = requantised(ELEMENTS, data(*i), shift, factor_at(fixed, place), final, rounding)
        else:
            factor = cast(dtype, one_of(ratio, place))
            value = requantised_float(ELEMENTS, data(*i), shift, factor, final, rounding, dtype)
        return saturated(ELEMENTS, value, out.dtype)

    return te.compute(out.shape, element, "T_qnn_requantize")


def requantize_relax(e: Emit[V], attrs: RequantizeAttrs, data: V, scale: V, zero: V, out_scale: V, out_zero: V) -> V:
    """The steps on int64, with the multipliers that constant scales give."""
    rounding, dtype = rounding_of(attrs)
    known = constants(e, scale, out_scale)
    if known is None:
        return e.as_tir(requantize, attrs, (data, scale, zero, out_scale, out_zero), UNKNOWN_SCALES)
    rank = tensor(e.type_of(data)).rank
    zero = spread_value(e, zero, rank, attrs.axis)
    k = RelaxValues(e)
    if dtype == "int64":
        factor = factor_values(e, known[0], known[1], rank, attrs.axis)
        value = requantised(k, data, zero, factor, out_zero, rounding)
    else:
        ratio = e.const(convert(ratio_of(spread(known[0], rank, attrs.axis), known[1]), dtype), dtype)
        value = requantised_float(k, data, zero, ratio, out_zero, rounding, dtype)
    return saturated(k, value, attrs.out_dtype)


# concatenate


def concatenate_qnn_type(
    attrs: ConcatenateAttrs, data: Type, scales: Type, zeros: Type, out_scale: Type, out_zero: Type
) -> Type:
    """Return the type of the parts joined."""
    for argument, (one, dtype) in enumerate(((scales, "float32"), (zeros, "int32")), 1):
        if not isinstance(one, TupleType):
            raise OpError("a tuple of one number for each tensor is expected", argument, kind=operators.SHAPE)
        if isinstance(data, TupleType) and len(one.fields) != len(data.fields):
            raise OpError(f"{len(one.fields)} numbers for {len(data.fields)} tensors", argument, kind=operators.SHAPE)
        for field in one.fields:
            check_scalar(field, dtype, argument)
    check_scalar(out_scale, "float32", 3)
    check_scalar(out_zero, "int32", 4)
    return concatenate_type(attrs, data)


def part_moved(k: Kit[X], q: X, zero: X, factor: Factor[X], out_zero: X, dtype: str) -> X:
    """Return one part in the scale of the result."""
    return saturated(k, requantised(k, q, zero, factor, out_zero), dtype)


def concatenate_qnn_numpy(
    attrs: ConcatenateAttrs, data: tuple[Array, ...], scales: Numbers, zeros: Numbers, so: Numbers, zo: Numbers
) -> Array:
    """Return the parts in the scale of the result, joined."""
    parts = tuple(
        part_moved(ARRAYS, part, z, fixed_point(ratio_of(s, so)), zo, part.dtype.name)
        for part, s, z in zip(data, scales, zeros, strict=True)
    )
    return concatenate_numpy(attrs, parts)


def concatenate_qnn_compute(
    attrs: ConcatenateAttrs, out: TensorType, data: tuple[te.Tensor, ...], scales: Any, zeros: Any, so: Any, zo: Any
) -> te.Tensor:
    """Return each part in the scale of the result, then the parts joined."""

    def moved(part: te.Tensor, s: te.Tensor, z: te.Tensor) -> te.Tensor:
        fixed = fixed_point_compute(ratio_compute(s, so))
        return te.compute(
            part.shape,
            lambda *i: part_moved(ELEMENTS, part(*i), z(), factor_at(fixed), zo(), part.dtype),
            "part",
        )

    parts = tuple(moved(part, s, z) for part, s, z in zip(data, scales, zeros, strict=True))
    return concatenate_compute(attrs, out, parts)


def concatenate_qnn_relax(e: Emit[V], attrs: ConcatenateAttrs, data: V, scales: V, zeros: V, so: V, zo: V) -> V:
    """The steps of a requantisation for each part, then R.concat."""
    types = e.type_of(data)
    assert isinstance(types, TupleType)
    count = range(len(types.fields))
    known = constants(e, so, *(e.item(scales, i) for i in count))
    if known is None:
        return e.as_tir(concatenate, attrs, (data, scales, zeros, so, zo), UNKNOWN_SCALES)
    k = RelaxValues(e)
    parts = [
        part_moved(
            k,
            e.item(data, i),
            e.item(zeros, i),
            factor_values(e, known[1 + i], known[0], 0, -1),
            zo,
            tensor(types.fields[i]).dtype,
        )
        for i in count
    ]
    return e.call("concat", e.tuple(parts), axis=attrs.axis)


# Records

quantize = OpDef(
    relay="qnn.quantize",
    doc="``round(x / scale) + zero_point``, halves away from zero, held inside the range of ``out_dtype``.",
    source=f"{SOURCE}/quantize.cc",
    inputs=("data", "output_scale", "output_zero_point"),
    attrs=QuantizeAttrs,
    infer=quantize_type,
    numpy=quantize_numpy,
    compute=quantize_compute,
    relax=Expanded(quantize_relax),
    fusion=Fusion(OpPattern.ELEMWISE),
)

dequantize = OpDef(
    relay="qnn.dequantize",
    doc="``(q - zero_point) * scale`` in float32.",
    source=f"{SOURCE}/dequantize.cc",
    inputs=("data", "input_scale", "input_zero_point"),
    attrs=DequantizeAttrs,
    infer=dequantize_type,
    numpy=dequantize_numpy,
    compute=dequantize_compute,
    relax=Expanded(dequantize_relax),
    fusion=Fusion(OpPattern.ELEMWISE),
)

requantize = OpDef(
    relay="qnn.requantize",
    doc="Another scale and zero point: ``(q - zp) * scale / out_scale + out_zp``, in fixed point by default.",
    source=f"{SOURCE}/requantize.cc",
    inputs=("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"),
    attrs=RequantizeAttrs,
    infer=requantize_type,
    numpy=requantize_numpy,
    compute=requantize_compute,
    relax=Expanded(requantize_relax),
    layout=layout_rules.requantize,
    fusion=Fusion(OpPattern.ELEMWISE),
)


concatenate = OpDef(
    relay="qnn.concatenate",
    doc="Tensors joined along an axis, each requantised to the result's scale first.",
    source=f"{SOURCE}/concatenate.cc",
    inputs=("data", "input_scales", "input_zero_points", "output_scale", "output_zero_point"),
    attrs=ConcatenateAttrs,
    infer=concatenate_qnn_type,
    numpy=concatenate_qnn_numpy,
    compute=concatenate_qnn_compute,
    relax=Expanded(concatenate_qnn_relax),
    layout=layout_rules.qnn_concatenate,
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (quantize, dequantize, requantize, concatenate)
