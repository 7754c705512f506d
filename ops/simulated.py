"""Quantisation simulated on floating-point numbers, as calibration and training write it.

Source of the semantics: TVM 0.18 python/tvm/topi/nn/qnn.py and src/relay/quantize/quantize.cc.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.attributes import Int
from relay2relax.ops.qnn import DequantizeAttrs
from relay2relax.ops.quantised import ARRAYS, ELEMENTS, Kit, X, channel_axis, limits, one_of, rounded, spread
from relay2relax.ops.record import OpDef
from relay2relax.ops.shapes import tensor
from relay2relax.ops.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.expr import PrimExpr

# The codes by which a program chooses, while it runs, what is simulated; 0 is nothing.
DTYPES = {1: "int8", 2: "uint8", 3: "int32"}


@dataclass(frozen=True, slots=True)
class SimulatedQuantizeAttrs:
    """The axis that vectors of parameters lie along."""

    axis: Int = -1


def simulated_type(attrs: Any, data: Type, code: Type, scale: Type, zero: Type) -> TensorType:
    """Return the type of the data."""
    for argument, one in enumerate((code, scale, zero), 1):
        tensor(one, argument)
    return tensor(data)


def _quantised(k: Kit[X], x: X, code: X, scale: X, zero: X, dtype: str) -> X:
    """Return ``clip(round(x / scale) + zero)`` by the range that ``code`` names, ``x`` where it names none."""
    moved = k.binary("add", rounded(k, k.binary("divide", x, scale), dtype), k.cast(zero, dtype))
    result = x
    for number, name in DTYPES.items():
        low, high = limits(name)
        held = k.binary("maximum", k.binary("minimum", moved, k.const(high, dtype)), k.const(low, dtype))
        result = k.where(_is(k, code, number), held, result)
    return result


def _is(k: Kit[X], code: X, number: int) -> X:
    return k.binary("equal", code, k.const(number, "int32"))


def _dequantised(k: Kit[X], x: X, code: X, scale: X, zero: X, dtype: str) -> X:
    """Return ``(x - zero) * scale``, ``x`` where ``code`` names no integers."""
    value = k.binary("multiply", k.binary("subtract", x, k.cast(zero, dtype)), scale)
    chosen = x
    for number in DTYPES:
        chosen = k.where(_is(k, code, number), value, chosen)
    return chosen


def _record(name: str, formula: Any, attrs_class: type, inputs: tuple[str, ...], doc: str) -> OpDef:
    def numpy(attrs: Any, data: Array, code: Any, scale: Any, zero: Any) -> Array:
        scale, zero = (spread(one, data.ndim, attrs.axis) for one in (scale, zero))
        with np.errstate(all="ignore"):
            return np.asarray(formula(ARRAYS, data, np.reshape(code, ()), scale, zero, data.dtype.name))

    def compute(
        attrs: Any, out: TensorType, data: te.Tensor, code: te.Tensor, scale: te.Tensor, zero: te.Tensor
    ) -> te.Tensor:
        def element(*i: PrimExpr) -> PrimExpr:
            place = i[channel_axis(attrs.axis, len(i))] if i else None
            parameters = one_of(scale, place), one_of(zero, place)
            value: PrimExpr = formula(ELEMENTS, data(*i), one_of(code), *parameters, out.dtype)
            return value

        result: te.Tensor = te.compute(out.shape, element, f"T_qnn_{name}")
        return result

    return OpDef(
        relay=f"qnn.{name}",
        doc=doc,
        source=f"TVM 0.18 python/tvm/topi/nn/qnn.py, {name}",
        inputs=inputs,
        attrs=attrs_class,
        attrs_key=f"relay.attrs.{attrs_class.__name__}",
        infer=simulated_type,
        numpy=numpy,
        compute=compute,
    )


OPS = (
    _record(
        "simulated_quantize",
        _quantised,
        SimulatedQuantizeAttrs,
        ("data", "out_dtype", "output_scale", "output_zero_point"),
        "``qnn.quantize`` in floats; the second input chooses: 0 nothing, 1 int8, 2 uint8, 3 int32.",
    ),
    _record(
        "simulated_dequantize",
        _dequantised,
        DequantizeAttrs,
        ("data", "in_dtype", "input_scale", "input_zero_point"),
        "``qnn.dequantize`` in floats; the second input chooses: 0 nothing, 1 int8, 2 uint8, 3 int32.",
    ),
)
