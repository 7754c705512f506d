"""Reductions and running sums."""

from __future__ import annotations

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr


def _summed(at: Conversion, place: int) -> Expr:
    """Return the data in the dtype of the sum, which argument ``place`` may state; of integers it
    is int64.
    """
    data, stated = at.tensor(0), at.dtype_at(place)
    if stated is not None:
        return at.cast(data, stated)
    return data if is_float(at.dtype(data)) else at.cast(data, "int64")


def _reduce(name: str) -> Convert:
    """``sum(data, dtype)``, ``sum(data, axes, keepdim, dtype)``."""

    def convert(at: Conversion) -> Value:
        if len(at.args) <= 2:
            return at.call(name, _summed(at, 1), axis=None, keepdims=False)
        return at.call(name, _summed(at, 3), axis=at.integers(1) or None, keepdims=bool(at.number(2, False)))

    return convert


def _extremum(name: str, elementwise: str) -> Convert:
    """``max(data)``, ``max(data, other)``, ``max(data, axis, keepdim)``, which gives places too."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        if len(at.args) == 1:
            return at.call(name, data, axis=None, keepdims=False)
        if isinstance(at.value(1), RelayExpr):
            return at.call(elementwise, *at.promoted(data, at.value(1)))
        given = {"axis": [at.integer(1)], "keepdims": bool(at.number(2, False))}
        places = at.cast(at.call(f"arg{name}", data, **given), "int64")
        return at.call(name, data, **given), places

    return convert


def _place(name: str) -> Convert:
    """TVM's importer leaves the places as int32, which is what Relay's operator gives."""

    def convert(at: Conversion) -> Value:
        axis = at.integers(1)
        return at.call(name, at.tensor(0), axis=axis, keepdims=bool(at.number(2, False)))

    return convert


def _cumsum(at: Conversion) -> Value:
    data, stated = at.tensor(0), at.dtype_at(2)
    dtype = stated or ("" if is_float(at.dtype(data)) else "int64")
    return at.call("cumsum", data, axis=at.integer(1), **({"dtype": dtype} if dtype else {}))


RECORDS = records({
    "argmax": _place("argmax"), "argmin": _place("argmin"), "cumsum": _cumsum, "max": _extremum("max", "maximum"),
    "mean": _reduce("mean"), "min": _extremum("min", "minimum"), "sum": _reduce("sum"),
})  # fmt: skip
