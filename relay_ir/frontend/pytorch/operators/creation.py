"""Tensors out of nothing, and parts of matrices."""

from __future__ import annotations

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Number, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import RelayExpr


def _trilu(upper: bool) -> Convert:
    def convert(at: Conversion) -> Value:
        return at.call("trilu", at.tensor(0), at.const(at.integer(1, 0), "int32"), upper)

    return convert


def _arange(at: Conversion) -> Value:
    """``arange(stop, …)``, ``arange(start, stop, …)``, ``arange(start, stop, step, …)``; dtype,
    layout, device and whether to pin memory follow.
    """
    count = len(at.args) - 4
    if not 1 <= count <= 3:
        at.refuse(f"it has {len(at.args)} arguments")
    bounds: list[Number] = [at.number(place) for place in range(count)]
    floats = any(isinstance(one, float) for one in bounds)
    dtype = at.dtype_at(count) or (at.default_dtype if floats else "int64")
    start, stop, step = ([0, *bounds, 1], [*bounds, 1], bounds)[count - 1]
    made = [at.const(one, dtype) for one in (start, stop, step)]
    return at.call("arange", *made, dtype)


def _full(value: Number) -> Convert:
    """``ones(shape, dtype, …)``."""

    def convert(at: Conversion) -> Value:
        dtype = at.dtype_at(1) or at.default_dtype
        return at.call("full", at.const(value, dtype), shape=at.sizes(0), dtype=dtype)

    return convert


def _empty(at: Conversion) -> Value:
    return at.call("zeros", shape=at.sizes(0), dtype=at.dtype_at(1) or at.default_dtype)


def _fill(at: Conversion) -> Value:
    data, value = at.tensor(0), at.value(1)
    dtype = at.dtype(data)
    made = at.cast(at.tensor(1), dtype) if isinstance(value, RelayExpr) else at.const(at.number(1), dtype)
    return at.call("full", made, shape=list(at.shape(data)), dtype=dtype)


RECORDS = records({
    "arange": _arange, "empty": _empty, "fill": _fill, "ones": _full(1), "tril": _trilu(False), "triu": _trilu(True),
    "zeros": _full(0),
})  # fmt: skip
