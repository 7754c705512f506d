"""R.quantize and R.dequantize: numbers of few bits with a scale and a zero point, per tensor or per
channel.

Source of the semantics: TVM 0.27, ``python/tvm/relax/transform/legalize_ops/qdq.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, is_int, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.conversion import convert
from relay2relax.ops.common.shapes import normal_axis, tensor
from relay2relax.ops.registry.attributes import DType, Int
from relay2relax.ops.registry.record import OpDef, OpError, SameOp
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, equal, static
from relay2relax.tir.ir.expr import FloatImm, IntImm, PrimExpr, cast, const, maximum, minimum
from relay2relax.tir.ir.intrinsics import call, max_value, min_value

SOURCE = "TVM 0.27 python/tvm/relax/transform/legalize_ops/qdq.py"


@dataclass(frozen=True, slots=True)
class QuantizeAttrs:
    """The dtype of the result, and the axis along which scale and zero point differ."""

    out_dtype: DType = "int8"
    axis: Int = -1


@dataclass(frozen=True, slots=True)
class DequantizeAttrs:
    """The dtype of the result, and the axis along which scale and zero point differ."""

    out_dtype: DType = "float32"
    axis: Int = -1


def _parameters_fit(attrs: DequantizeAttrs | QuantizeAttrs, data: TensorType, scale: Type, zero_point: Type) -> None:
    for index, given in ((1, scale), (2, zero_point)):
        found = tensor(given, index)
        if _is_single(found.shape):
            continue
        if found.rank != 1 or not data.rank:
            raise OpError(
                mistake(
                    operators.RANK,
                    what="the parameter",
                    rank=found.rank,
                    expected="0, or 1 with a number for each channel",
                ),
                index,
            )
        if equal(found.shape[0], data.shape[normal_axis(attrs.axis, data.rank)]) is False:
            raise OpError(
                f"there are {found.shape[0]} parameters for axis {attrs.axis} of {list(data.shape)}",
                index,
                kind=operators.AXIS,
            )


def _is_single(shape: Sequence[Extent]) -> bool:
    return all(static(extent) == 1 for extent in shape)


def quantize_type(attrs: QuantizeAttrs, data: Type, scale: Type, zero_point: Type) -> TensorType:
    """Return the shape of the data with ``out_dtype``."""
    found = tensor(data)
    if not is_float(found.dtype):
        raise OpError(
            mistake(operators.DTYPE, what="the data", dtype=found.dtype, expected="floating-point numbers"), 0
        )
    _parameters_fit(attrs, found, scale, zero_point)
    return TensorType(found.shape, attrs.out_dtype)


def dequantize_type(attrs: DequantizeAttrs, data: Type, scale: Type, zero_point: Type) -> TensorType:
    """Return the shape of the data with ``out_dtype``."""
    found = tensor(data)
    if not is_float(attrs.out_dtype):
        raise OpError(
            mistake(operators.DTYPE, what="the result", dtype=attrs.out_dtype, expected="floating-point numbers"), 0
        )
    _parameters_fit(attrs, found, scale, zero_point)
    return TensorType(found.shape, attrs.out_dtype)


def _range(dtype: str, within: str) -> tuple[float, float]:
    """Return the numbers of ``dtype``, lowest and highest, as far as ``within`` can hold them."""
    low, high = min_value(dtype), max_value(dtype)
    assert isinstance(low, (IntImm, FloatImm))
    assert isinstance(high, (IntImm, FloatImm))
    widest = max_value(within)
    assert isinstance(widest, FloatImm)
    if not is_int(dtype):
        return max(float(low.value), -widest.value), min(float(high.value), widest.value)
    digits = {"float16": 11, "bfloat16": 8, "float32": 24, "float64": 53}[within]
    # The largest integer of that many leading bits which is not above the dtype's own.
    spare = max(int(high.value).bit_length() - digits, 0)
    top = float(int(high.value) >> spare << spare)
    return max(float(low.value), -widest.value), min(top, widest.value)


def _per_channel(parameter: Array, rank: int, axis: int) -> Array:
    if parameter.size == 1:
        return parameter.reshape(())
    return parameter.reshape([-1 if d == axis % rank else 1 for d in range(rank)])


def _chosen(parameter: te.Tensor, at: tuple[PrimExpr, ...], axis: int) -> PrimExpr:
    if _is_single(parameter.shape):
        return parameter[(const(0, "int64"),) * parameter.rank]
    return parameter[at[axis % len(at)]]


def _kept_within(value: Numbers, low: Any, high: Any) -> Numbers:
    """Return numbers moved to the borders, as TensorIR's minimum and maximum do: NaN becomes
    ``high``.
    """
    below = np.where(value < high, value, high)
    return np.where(below > low, below, low)


def quantize_numpy(attrs: QuantizeAttrs, data: Numbers, scale: Numbers, zero_point: Numbers) -> Array:
    """Return ``round(data / scale) + zero_point``, kept inside of ``out_dtype``; halves go to the
    even neighbour.
    """
    number = data.dtype.type
    low, high = _range(attrs.out_dtype, of_array(data))
    with np.errstate(all="ignore"):
        value = data / _per_channel(scale, data.ndim, attrs.axis).astype(data.dtype)
        value = np.rint(value) if is_int(attrs.out_dtype) else value
        value = value + _per_channel(zero_point, data.ndim, attrs.axis).astype(data.dtype)
        return convert(_kept_within(value, number(low), number(high)), attrs.out_dtype)


def quantize_compute(
    attrs: QuantizeAttrs, out: TensorType, data: te.Tensor, scale: te.Tensor, zero_point: te.Tensor
) -> te.Tensor:
    """Return the quantised element."""
    low, high = (const(bound, data.dtype) for bound in _range(out.dtype, data.dtype))

    def element(*at: PrimExpr) -> PrimExpr:
        value = data[at] / cast(data.dtype, _chosen(scale, at, attrs.axis))
        value = call("nearbyint", value) if is_int(out.dtype) else value
        value = value + cast(data.dtype, _chosen(zero_point, at, attrs.axis))
        return cast(out.dtype, maximum(minimum(value, high), low))

    return te.compute(out.shape, element, "quantized")


def dequantize_numpy(attrs: DequantizeAttrs, data: Numbers, scale: Numbers, zero_point: Numbers) -> Array:
    """Return ``scale * (data - zero_point)``, computed in float32."""
    wide = np.dtype(np.float32 if is_float(of_array(data)) else np.int32)
    with np.errstate(all="ignore"):
        distance = data.astype(wide) - _per_channel(zero_point, data.ndim, attrs.axis).astype(wide)
        value = distance.astype(np.float32) * _per_channel(scale, data.ndim, attrs.axis).astype(np.float32)
        if attrs.out_dtype != "float32":
            low, high = _range(attrs.out_dtype, "float32")
            value = _kept_within(value, np.float32(low), np.float32(high))
        return np.asarray(value.astype(numpy_dtype(attrs.out_dtype)))


def dequantize_compute(
    attrs: DequantizeAttrs, out: TensorType, data: te.Tensor, scale: te.Tensor, zero_point: te.Tensor
) -> te.Tensor:
    """Return the number that a quantised element stands for."""
    wide = "float32" if is_float(data.dtype) else "int32"

    def element(*at: PrimExpr) -> PrimExpr:
        distance = cast(wide, data[at]) - cast(wide, _chosen(zero_point, at, attrs.axis))
        value = cast("float32", distance) * cast("float32", _chosen(scale, at, attrs.axis))
        if out.dtype != "float32":
            low, high = (const(bound, "float32") for bound in _range(out.dtype, "float32"))
            value = maximum(minimum(value, high), low)
        return cast(out.dtype, value)

    return te.compute(out.shape, element, "dequantized")


_WITHOUT_AXES = Limit(
    "apache-tvm 0.25 and 0.26 look for an axis in a tensor of rank 0",
    lambda attrs, types: isinstance(types[0], TensorType) and not types[0].rank,
)

OPS = (
    OpDef(
        doc="Numbers of few bits: `round(data / scale) + zero_point`, kept inside of the dtype.",
        source=SOURCE,
        inputs=("data", "scale", "zero_point"),
        attrs=QuantizeAttrs,
        infer=quantize_type,
        numpy=quantize_numpy,
        compute=quantize_compute,
        relax=SameOp(),
        script=Script("quantize", "data, scale, zero_point, axis=-1, out_dtype='int8'", limits=(_WITHOUT_AXES,)),
    ),
    OpDef(
        doc="What numbers of few bits stand for: `scale * (data - zero_point)`.",
        source=SOURCE,
        inputs=("data", "scale", "zero_point"),
        attrs=DequantizeAttrs,
        infer=dequantize_type,
        numpy=dequantize_numpy,
        compute=dequantize_compute,
        relax=SameOp(),
        script=Script("dequantize", "data, scale, zero_point, axis=-1, out_dtype='float32'", limits=(_WITHOUT_AXES,)),
    ),
)
