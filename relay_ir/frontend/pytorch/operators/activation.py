"""Activations."""

from __future__ import annotations

import math

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.elementwise import floats, softplus
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr


def _gelu(at: Conversion) -> Value:
    data = at.tensor(0)
    return _gelu_by_tanh(at, data) if at.value(1) == "tanh" else _gelu_by_erf(at, data)


def _gelu_by_erf(at: Conversion, data: Expr) -> Expr:
    dtype = at.dtype(data)
    scaled = at.call("multiply", data, at.const(math.sqrt(0.5), dtype))
    half = at.call("multiply", at.call("erf", scaled), at.const(0.5, dtype))
    return at.call("multiply", data, at.call("add", at.const(0.5, dtype), half))


def _gelu_by_tanh(at: Conversion, data: Expr) -> Expr:
    dtype = at.dtype(data)
    cube = at.call("power", data, at.const(3.0, dtype))
    inner = at.call("add", data, at.call("multiply", cube, at.const(0.044715, dtype)))
    curve = at.call("tanh", at.call("multiply", inner, at.const(math.sqrt(2 / math.pi), dtype)))
    half = at.call("multiply", data, at.const(0.5, dtype))
    return at.call("multiply", half, at.call("add", curve, at.const(1.0, dtype)))


def _silu(at: Conversion) -> Value:
    data = at.tensor(0)
    return at.call("multiply", data, at.call("sigmoid", data))


def _hardtanh(at: Conversion) -> Value:
    return at.call("clip", at.tensor(0), float(at.number(1)), float(at.number(2)))


def _relu6(at: Conversion) -> Value:
    return at.call("clip", at.tensor(0), 0.0, 6.0)


def _softmax(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        dtype = at.dtype_at(2)
        data = at.tensor(0) if dtype is None else at.cast(at.tensor(0), dtype)
        return at.call(name, data, axis=at.integer(1))

    return convert


def _dropout(at: Conversion) -> Value:
    if at.value(2) not in (None, False):
        at.refuse("the module trains: trace it after `.eval()`")
    return at.tensor(0)


def _leaky_relu(at: Conversion) -> Value:
    return at.call("nn.leaky_relu", at.tensor(0), alpha=float(at.number(1, 0.01)))


def _elu(at: Conversion) -> Value:
    """``elu(data, alpha, scale, input_scale)``."""
    data = at.tensor(0)
    dtype = at.dtype(data)
    alpha, scale, inner = (float(at.number(place, 1)) for place in (1, 2, 3))
    zero = at.const(0.0, dtype)
    below = at.call("minimum", data, zero)
    scaled = below if inner == 1 else at.call("multiply", below, at.const(inner, dtype))
    curve = at.call("subtract", at.call("exp", scaled), at.const(1.0, dtype))
    made = at.call("add", at.call("nn.relu", data), at.call("multiply", at.const(alpha, dtype), curve))
    return made if scale == 1 else at.call("multiply", made, at.const(scale, dtype))


def _hardsigmoid(at: Conversion) -> Value:
    return _hard(at, at.tensor(0))


def _hard(at: Conversion, data: Expr) -> Expr:
    dtype = at.dtype(data)
    line = at.call("clip", at.call("add", data, at.const(3.0, dtype)), 0.0, 6.0)
    return at.call("divide", line, at.const(6.0, dtype))


def _hardswish(at: Conversion) -> Value:
    data = at.tensor(0)
    dtype = at.dtype(data)
    line = at.call("clip", at.call("add", data, at.const(3.0, dtype)), 0.0, 6.0)
    return at.call("divide", at.call("multiply", data, line), at.const(6.0, dtype))


def _softplus(at: Conversion) -> Value:
    """``softplus(data, beta, threshold)``."""
    data = at.tensor(0)
    beta, limit = float(at.number(1, 1)), float(at.number(2, 20))
    scaled = at.call("multiply", data, at.const(beta, at.dtype(data)))
    made = at.call("divide", softplus(at, scaled), at.const(beta, at.dtype(data)))
    return at.call("where", at.call("greater", scaled, at.const(limit, at.dtype(data))), data, made)


def _mish(at: Conversion) -> Value:
    data = at.tensor(0)
    return at.call("multiply", data, at.call("tanh", softplus(at, data)))


def _threshold(at: Conversion) -> Value:
    data = at.tensor(0)
    limit, value = (at.const(at.number(place), at.dtype(data)) for place in (1, 2))
    return at.call("where", at.call("less_equal", data, limit), value, data)


def _native_dropout(at: Conversion) -> Value:
    data = at.with_args([_dropout(at)]).tensor(0)
    return data, at.call("full", at.const(True, "bool"), shape=list(at.shape(data)), dtype="bool")


def _glu(at: Conversion) -> Value:
    data = at.tensor(0)
    one, other = at.fields(at.call("split", data, 2, at.integer(1, -1)))
    return at.call("multiply", one, at.call("sigmoid", other))


def _relu(at: Conversion) -> Value:
    data = at.tensor(0)
    if at.exact and not is_float(at.dtype(data)):
        return at.call("maximum", data, at.const(0, at.dtype(data)))
    return at.call("nn.relu", data)


def _of_floats(name: str) -> Convert:
    """Of integers PyTorch makes floats first."""
    return lambda at: at.call(name, floats(at))


def _plain_softmax(name: str) -> Convert:
    """``_softmax(data, axis, half_to_float)``."""

    def convert(at: Conversion) -> Value:
        data = at.cast(at.tensor(0), "float32") if at.value(2) is True else at.tensor(0)
        if at.rank(data):
            return at.call(name, data, axis=at.integer(1))
        return at.call("reshape", at.call(name, at.call("reshape", data, [1]), axis=0), ())

    return convert


RECORDS = records({
    "leaky_relu": _leaky_relu, "elu": _elu, "hardsigmoid": _hardsigmoid, "hardswish": _hardswish,
    "softplus": _softplus, "mish": _mish, "threshold": _threshold, "native_dropout": _native_dropout, "glu": _glu,
    "_softmax": _plain_softmax("nn.softmax"), "_log_softmax": _plain_softmax("nn.log_softmax"),
    "dropout": _dropout, "gelu": _gelu, "hardtanh": _hardtanh, "log_softmax": _softmax("nn.log_softmax"),
    "relu": _relu, "relu6": _relu6, "sigmoid": _of_floats("sigmoid"), "silu": _silu,
    "softmax": _softmax("nn.softmax"), "tanh": _of_floats("tanh"),
})  # fmt: skip
