"""Numbers of few bits between floats."""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.ops.quantized.qnn import DequantizeAttrs, QuantizeAttrs

_BYTES = ("int8", "uint8")


def _zero(at: Site, zero_point: str, dtype: str) -> str | None:
    """Return the zero point in the dtype of the numbers, None where nothing tells that it fits."""
    known = at.constant_of(zero_point)
    if known is None or known.ndim > 1:
        return None
    fitting = known.astype(numpy_dtype(dtype))
    return at.const(fitting, dtype) if np.array_equal(fitting, known) else None


def _aligned(at: Site, value: str, place: int, axis: int) -> str:
    """Return scale or zero point as it meets the data."""
    rank, own = at.type().rank, at.type(place).rank
    if own != 1 or rank == 1:
        return value
    behind = rank - 1 - axis % rank
    return at.node("Unsqueeze", value, at.ints(list(range(1, behind + 1)))) if behind else value


def quantize(at: Site, attrs: QuantizeAttrs, data: str, scale: str, zero_point: str) -> str:
    out, dtype = at.result.dtype, at.type().dtype
    zero = _zero(at, zero_point, out) if out in _BYTES else None
    if zero is None or dtype != at.type(1).dtype:
        at.refuse(f"into {out}, or by a zero point that is computed")
    return at.node("QuantizeLinear", data, scale, zero, axis=attrs.axis)


def dequantize(at: Site, attrs: DequantizeAttrs, data: str, scale: str, zero_point: str) -> str:
    dtype, out = at.type().dtype, at.result.dtype
    zero = _zero(at, zero_point, dtype) if dtype in _BYTES else None
    if zero is not None and out == at.type(1).dtype == "float32":
        return at.node("DequantizeLinear", data, scale, zero, axis=attrs.axis)
    wide = at.cast(data, dtype, "int32")
    zero = _aligned(at, at.cast(zero_point, at.type(2).dtype, "int32"), 2, attrs.axis)
    moved = at.cast(at.node("Sub", wide, zero), "int32", out)
    factor = _aligned(at, at.cast(scale, at.type(1).dtype, out), 1, attrs.axis)
    return at.node("Mul", moved, factor)


FORMS: dict[str, Form] = {"R.quantize": quantize, "R.dequantize": dequantize}
