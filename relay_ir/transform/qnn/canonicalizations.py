"""What each quantised operator is in plain ones: ``(kit, call) -> expression``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.ops.common.conversion import convert
from relay2relax.ops.math.matmul import DenseAttrs
from relay2relax.ops.quantized.arithmetic import (
    dequantised,
    quantised,
    requantised,
    requantised_float,
    saturated,
    spread,
    subtract,
)
from relay2relax.ops.quantized.qnn import narrowed, part_moved, rounding_of
from relay2relax.ops.quantized.qnn_arithmetic import axes_of, combined, product_of, shared_axis
from relay2relax.ops.quantized.qnn_functions import FUNCTIONS, function_of_reals, leaky, slopes_of, unit_of
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, Tuple, TupleGetItem
from relay2relax.relay_ir.ir.types import TupleType
from relay2relax.relay_ir.transform.qnn.relay_values import RelayValues, UnknownScalesError

Rule: TypeAlias = Callable[[RelayValues, Call], Expr]


def _quantize(k: RelayValues, call: Call) -> Expr:
    data, scale, zero = call.args
    rank = len(k.type_of(data).shape)
    scale, zero = (k.spread(one, rank, call.attrs.axis) for one in (scale, zero))
    return quantised(k, data, scale, zero, call.attrs.out_dtype)


def _dequantize(k: RelayValues, call: Call) -> Expr:
    data, scale, zero = call.args
    rank = len(k.type_of(data).shape)
    scale, zero = (k.spread(one, rank, call.attrs.axis) for one in (scale, zero))
    return narrowed(k, dequantised(k, data, scale, zero), call.attrs.out_dtype)


def _requantize(k: RelayValues, call: Call) -> Expr:
    data, scale, zero, out_scale, out_zero = call.args
    rounding, dtype = rounding_of(call.attrs)
    rank, axis = len(k.type_of(data).shape), call.attrs.axis
    ratio, zero = k.ratio(scale, out_scale, rank, axis), k.spread(zero, rank, axis)
    if dtype == "int64":
        value = requantised(k, data, zero, k.fixed(ratio), out_zero, rounding)
    else:
        value = requantised_float(k, data, zero, Constant(convert(ratio, dtype)), out_zero, rounding, dtype)
    return saturated(k, value, call.attrs.out_dtype)


def _concatenate(k: RelayValues, call: Call) -> Expr:
    data, scales, zeros, out_scale, out_zero = call.args
    types = k.types.of(data)
    assert isinstance(types, TupleType)
    parts = []
    for index in range(len(types.fields)):
        part, scale, zero = (_field(one, index) for one in (data, scales, zeros))
        factor = k.factor(scale, out_scale)
        parts.append(part_moved(k, part, zero, factor, out_zero, k.dtype_of(part)))
    made: Expr = op.concatenate(parts, axis=call.attrs.axis)
    return made


def _field(value: Expr, index: int) -> Expr:
    return value.fields[index] if isinstance(value, Tuple) else TupleGetItem(value, index)


def _sum(name: str) -> Rule:
    def rule(k: RelayValues, call: Call) -> Expr:
        lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, out_scale, out_zero = call.args

        def moved(data: Expr, scale: Expr, zero: Expr, side: int) -> Expr:
            rank = len(k.type_of(data).shape)
            axis = axes_of(call.attrs, rank)[side]
            return requantised(k, data, k.spread(zero, rank, axis), k.factor(scale, out_scale, rank, axis), out_zero)

        left, right = moved(lhs, lhs_scale, lhs_zero, 0), moved(rhs, rhs_scale, rhs_zero, 1)
        return combined(k, name, left, right, out_zero, k.dtype_of(lhs))

    return rule


def _mul(k: RelayValues, call: Call) -> Expr:
    lhs, rhs, lhs_scale, lhs_zero, rhs_scale, rhs_zero, out_scale, out_zero = call.args
    if not isinstance(lhs_scale, Constant) or not isinstance(rhs_scale, Constant):
        raise UnknownScalesError
    ranks = [len(k.type_of(one).shape) for one in (lhs, rhs)]
    axis = shared_axis(call.attrs, (lhs_scale.data.ndim, rhs_scale.data.ndim), max(ranks))
    left = k.spread(lhs_zero, ranks[0], axes_of(call.attrs, ranks[0])[0])
    right = k.spread(rhs_zero, ranks[1], axes_of(call.attrs, ranks[1])[1])
    product = product_of(k, lhs, left, rhs, right)
    scale = Constant(np.multiply(lhs_scale.data, rhs_scale.data, dtype=np.float32))
    factor = k.factor(scale, out_scale, max(ranks), axis)
    return saturated(k, requantised(k, product, k.const(0, "int32"), factor, out_zero), k.dtype_of(lhs))


def _product(plain: str, outputs: Callable[[Any], int]) -> Rule:
    """Return the rule of a product: operands without their zero points in the ``plain`` operator.

    ``outputs`` gives the weight's axis of output channels.
    """

    def rule(k: RelayValues, call: Call) -> Expr:
        data, weight, zero, weight_zero = call.args[:4]
        rank, axis = len(k.type_of(weight).shape), outputs(call.attrs)
        x = subtract(k, k.cast(data, "int32"), k.spread(zero, 0, 0))
        w = subtract(k, k.cast(weight, "int32"), k.spread(weight_zero, rank, axis))
        return replace(call, op=Op(plain), args=(x, w), type_args=())

    return rule


def _kernel(attrs: Any) -> int:
    place: int = attrs.kernel_layout.index("O")
    return place


def _dense_pack(k: RelayValues, call: Call) -> Expr:
    data, weight, zero, weight_zero = call.args[:4]
    unpacked = op.layout_transform(k.cast(weight, "int32"), call.attrs.weight_layout, "NC")
    x = subtract(k, k.cast(data, "int32"), k.spread(zero, 0, 0))
    w = subtract(k, unpacked, k.spread(weight_zero, 2, 0))
    return Call(Op("nn.dense"), (x, w), DenseAttrs(units=None, out_dtype=call.attrs.out_dtype))


def _avg_pool2d(k: RelayValues, call: Call) -> Expr:
    data, scale, zero, out_scale, out_zero = call.args
    moved = requantised(k, data, zero, k.factor(scale, out_scale), out_zero)
    return saturated(k, replace(call, op=Op("nn.avg_pool2d"), args=(moved,), type_args=()), k.dtype_of(data))


def _function(k: RelayValues, call: Call) -> Expr:
    assert isinstance(call.op, Op)
    data, *parameters = call.args
    scale, zero, out_scale, out_zero = parameters
    function = FUNCTIONS[call.op.name]
    return function_of_reals(k, function, data, scale, zero, out_scale, out_zero, k.dtype_of(data))


def _leaky_relu(k: RelayValues, call: Call) -> Expr:
    data, scale, zero, out_scale, out_zero = call.args
    factor = k.factor(scale, out_scale)
    return leaky(k, data, zero, factor, out_zero, slopes_of(k, call.attrs.alpha), k.dtype_of(data))


def _softmax(k: RelayValues, call: Call) -> Expr:
    """The exponential is a power of two of straight pieces, each as long as ``1 / scale`` steps."""
    data, scale, zero, out_scale, out_zero = call.args
    axis = call.attrs.axis
    if not isinstance(out_scale, Constant):
        raise UnknownScalesError

    def number(value: int) -> Expr:
        return k.const(value, "int32")

    unit: Any = unit_of(k, scale)
    q: Any = subtract(k, k.cast(data, "int32"), zero)
    x: Any = q - op.max(q, axis=axis, keepdims=True)
    power: Any = x + op.right_shift(x, number(1)) - op.right_shift(x, number(4))
    steps: Any = op.minimum(op.maximum(op.divide(power, op.negative(unit)), number(0)), number(20))
    line: Any = op.right_shift(power + steps * unit, number(1)) + unit
    e: Any = op.left_shift(line, op.max(steps, axis=axis, keepdims=True) - steps)
    share: Expr = op.right_shift(op.divide(number(1 << 30), op.sum(e, axis=axis, keepdims=True)) * e, number(23))
    factor = k.fixed(np.asarray(2.0**-7 / spread(out_scale.data, 0, 0).astype(np.float64)))
    return saturated(k, requantised(k, share, number(0), factor, out_zero), "int8")


CANONICAL: Mapping[str, Rule] = {
    "qnn.add": _sum("add"),
    "qnn.avg_pool2d": _avg_pool2d,
    "qnn.batch_matmul": _product("nn.batch_matmul", lambda attrs: 0),
    "qnn.concatenate": _concatenate,
    "qnn.contrib_dense_pack": _dense_pack,
    "qnn.conv2d": _product("nn.conv2d", _kernel),
    "qnn.conv2d_transpose": _product("nn.conv2d_transpose", _kernel),
    "qnn.dense": _product("nn.dense", lambda attrs: 0),
    "qnn.dequantize": _dequantize,
    "qnn.leaky_relu": _leaky_relu,
    "qnn.mul": _mul,
    "qnn.quantize": _quantize,
    "qnn.requantize": _requantize,
    "qnn.softmax": _softmax,
    "qnn.subtract": _sum("subtract"),
    **dict.fromkeys(FUNCTIONS, _function),
}
