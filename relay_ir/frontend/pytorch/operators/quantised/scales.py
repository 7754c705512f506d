"""Quantised programs: numbers of few bits with a scale, and back."""

from __future__ import annotations

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.arithmetic import half_to_even
from relay2relax.relay_ir.frontend.pytorch.operators.record import records
from relay2relax.relay_ir.ir.expr import Expr


def _along(at: Conversion, value: Expr, data: Expr, axis: int) -> Expr:
    """Return scales or zero points as they meet an axis of ``data``."""
    behind = at.rank(data) - 1 - axis % at.rank(data)
    return at.call("expand_dims", value, axis=1, num_newaxis=behind) if behind else value


def _quantized(at: Conversion, data: Expr, scale: Expr, zero: Expr, low: int, high: int, dtype: str) -> Value:
    # PyTorch multiplies by the reciprocal of the scale.
    wide = at.call("divide", at.const(1.0, "float32"), at.cast(scale, "float32"))
    made = half_to_even(at, at.call("multiply", at.cast(data, "float32"), wide))
    made = at.call("add", made, at.cast(zero, "float32"))
    return at.cast(at.call("clip", made, a_min=float(low), a_max=float(high)), dtype)


def _dequantized(at: Conversion, data: Expr, scale: Expr, zero: Expr) -> Value:
    whole = at.call("subtract", at.cast(data, "float32"), at.cast(zero, "float32"))
    return at.call("multiply", whole, at.cast(scale, "float32"))


def _dtype(at: Conversion, place: int) -> str:
    found = at.dtype_at(place)
    if found is None:
        at.refuse("its dtype is not said")
    return found


def _quantize_per_tensor(at: Conversion) -> Value:
    """``(data, scale, zero, low, high, dtype)``."""
    given = at.integer(3), at.integer(4), _dtype(at, 5)
    return _quantized(at, at.tensor(0), at.tensor(1), at.tensor(2), *given)


def _dequantize_per_tensor(at: Conversion) -> Value:
    return _dequantized(at, at.tensor(0), at.tensor(1), at.tensor(2))


def _quantize_per_channel(at: Conversion) -> Value:
    """``(data, scales, zeros, axis, low, high, dtype)``."""
    data, axis = at.tensor(0), at.integer(3)
    scale, zero = (_along(at, at.tensor(place), data, axis) for place in (1, 2))
    return _quantized(at, data, scale, zero, at.integer(4), at.integer(5), _dtype(at, 6))


def _dequantize_per_channel(at: Conversion) -> Value:
    data, axis = at.tensor(0), at.integer(3)
    zero = at.const(0, "int64") if at.value(2) is None else _along(at, at.tensor(2), data, axis)
    return _dequantized(at, data, _along(at, at.tensor(1), data, axis), zero)


def _choose_qparams(at: Conversion) -> Value:
    """``(data, low, high, least scale, dtype)``: the scale and the zero point for what is there.

    Zero is always among the numbers that can be said.
    """
    data = at.cast(at.tensor(0), "float32")
    low, high = at.integer(1), at.integer(2)
    zero = at.const(0.0, "float32")
    least = at.call("minimum", at.call("min", data, axis=None, keepdims=False), zero)
    most = at.call("maximum", at.call("max", data, axis=None, keepdims=False), zero)
    scale = at.call("divide", at.call("subtract", most, least), at.const(float(high - low), "float32"))
    scale = at.call("maximum", scale, at.const(float(at.number(3)), "float32"))
    place = at.call("subtract", at.const(float(low), "float32"), half_to_even(at, at.call("divide", least, scale)))
    place = at.cast(at.call("clip", place, a_min=float(low), a_max=float(high)), "int64")
    return tuple(at.call("reshape", one, [1]) for one in (at.cast(scale, "float64"), place))


RECORDS = records({
    "quantized_decomposed::choose_qparams": _choose_qparams,
    "quantized_decomposed::quantize_per_tensor": _quantize_per_tensor,
    "quantized_decomposed::dequantize_per_tensor": _dequantize_per_tensor,
    "quantized_decomposed::quantize_per_channel": _quantize_per_channel,
    "quantized_decomposed::dequantize_per_channel": _dequantize_per_channel,
})  # fmt: skip
