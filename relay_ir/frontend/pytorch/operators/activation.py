"""Activations."""

from __future__ import annotations

import math

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
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


def _same(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        return at.call(name, at.tensor(0))

    return convert


def _softmax(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        dtype = at.dtype_at(2)
        data = at.tensor(0) if dtype is None else at.cast(at.tensor(0), dtype)
        return at.call(name, data, axis=at.integer(1))

    return convert


def _dropout(at: Conversion) -> Value:
    if at.number(2, False):
        at.refuse("the module trains: trace it after `.eval()`")
    return at.tensor(0)


RECORDS = records({
    "dropout": _dropout, "gelu": _gelu, "hardtanh": _hardtanh, "log_softmax": _softmax("nn.log_softmax"),
    "relu": _same("nn.relu"), "relu6": _relu6, "sigmoid": _same("sigmoid"), "silu": _silu,
    "softmax": _softmax("nn.softmax"), "tanh": _same("tanh"),
})  # fmt: skip
