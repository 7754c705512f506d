"""Reductions and running sums."""

from __future__ import annotations

import math

import numpy as np

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.elementwise import truth
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
        data = _summed(at, 3)
        axes = at.integers(1) if at.rank(data) else None
        return at.call(name, data, axis=axes or None, keepdims=bool(at.number(2, False)))

    return convert


def _extremum(name: str, elementwise: str) -> Convert:
    """``max(data)``, ``max(data, other)``, ``max(data, axis, keepdim)``, which gives places too."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        if len(at.args) == 1:
            made = at.call(name, data, axis=None, keepdims=False)
            return _with_infinite(at, name, data, made, None, False) if at.exact else made
        if isinstance(at.value(1), RelayExpr):
            return at.call(elementwise, *at.promoted(data, at.value(1)))
        if not at.rank(data):
            return data, at.const(0, "int64")
        if at.exact:
            return _extreme_of(at, name)
        given = {"axis": [at.integer(1)], "keepdims": bool(at.number(2, False))}
        places = at.cast(at.call(f"arg{name}", data, **given), "int64")
        return at.call(name, data, **given), places

    return convert


def _place(name: str) -> Convert:
    """TVM's importer leaves the places as int32, which is what Relay's operator gives."""

    def convert(at: Conversion) -> Value:
        if not at.rank(at.tensor(0)):
            return at.const(0, "int64")
        axis = at.integers(1)
        made = at.call(name, at.tensor(0), axis=axis, keepdims=bool(at.number(2, False)))
        return at.cast(made, "int64") if at.exact else made

    return convert


def _cumsum(at: Conversion) -> Value:
    data, stated = at.tensor(0), at.dtype_at(2)
    dtype = stated or ("" if is_float(at.dtype(data)) else "int64")
    return at.call("cumsum", data, axis=at.integer(1), **({"dtype": dtype} if dtype else {}))


def _axes(at: Conversion, place: int) -> list[int] | None:
    """Return the axes of a reduction, None for all of them."""
    return (at.integers(place) or None) if at.rank(at.tensor(0)) else None


def _extreme(name: str) -> Convert:
    """``amax(data, axes, keepdim)``."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        if at.dtype(data) == "bool":
            name_ = {"max": "any", "min": "all"}[name]
            return at.call(name_, data, axis=_axes(at, 1), keepdims=bool(at.number(2, False)))
        made = at.call(name, data, axis=_axes(at, 1), keepdims=bool(at.number(2, False)))
        return _with_infinite(at, name, data, made, _axes(at, 1), bool(at.number(2, False)))

    return convert


def _with_infinite(at: Conversion, name: str, data: Expr, made: Expr, axes: list[int] | None, keep: bool) -> Expr:
    """Relay begins at the lowest, or greatest, finite number: not where there is nothing else.

    NaN is kept, which its operator passes over.
    """
    if not is_float(at.dtype(data)):
        return made
    end = at.const(-math.inf if name == "max" else math.inf, at.dtype(data))
    only = at.call("all", at.call("equal", data, end), axis=axes, keepdims=keep)
    made = at.call("where", only, end, made)
    nan = at.call("any", at.call("isnan", data), axis=axes, keepdims=keep)
    return at.call("where", nan, at.const(math.nan, at.dtype(data)), made)


def _question(name: str) -> Convert:
    """``any(data)``, ``any(data, axes, keepdim)``."""

    def convert(at: Conversion) -> Value:
        return at.call(name, truth(at, at.tensor(0)), axis=_axes(at, 1), keepdims=bool(at.number(2, False)))

    return convert


def _prod(at: Conversion) -> Value:
    """``prod(data, dtype)``, ``prod(data, axis, keepdim, dtype)``."""
    if len(at.args) <= 2:
        return at.call("prod", _summed(at, 1), axis=None, keepdims=False)
    return at.call("prod", _summed(at, 3), axis=_axes(at, 1), keepdims=bool(at.number(2, False)))


def _variance(at: Conversion) -> Value:
    """``var(data, unbiased)``, ``var(data, axes, correction, keepdim)``."""
    if isinstance(at.value(1), bool):
        at = at.with_args([at.value(0), None, int(at.integer(1)), False])
    data, keep = at.tensor(0), bool(at.number(3, False))
    axes = at.integers(1) or list(range(at.rank(data)))
    shape = at.shape(data)
    count = math.prod(shape[axis] for axis in axes)
    mean = at.call("mean", data, axis=axes, keepdims=True)
    rest = at.call("subtract", data, mean)
    total = at.call("sum", at.call("multiply", rest, rest), axis=axes, keepdims=keep)
    return at.call("divide", total, at.const(max(count - float(at.number(2, 1)), 0.0), at.dtype(data)))


def _variance_and_mean(at: Conversion) -> Value:
    """``var_mean(data, unbiased)``, ``var_mean(data, axes, correction, keepdim)``."""
    if isinstance(at.value(1), bool):
        at = at.with_args([at.value(0), None, int(at.integer(1)), False])
    data, keep = at.tensor(0), bool(at.number(3, False))
    axes = at.integers(1) or list(range(at.rank(data)))
    return _variance(at), at.call("mean", data, axis=axes, keepdims=keep)


def _norm(at: Conversion) -> Value:
    """``linalg_vector_norm(data, order, axes, keepdim, dtype)``."""
    stated = at.dtype_at(4)
    data = at.call("abs", at.tensor(0) if stated is None else at.cast(at.tensor(0), stated))
    order, keep = float(at.number(1, 2)), bool(at.number(3, False))
    given = {"axis": (at.integers(2) or None) if at.rank(data) else None, "keepdims": keep}
    if order in (math.inf, -math.inf):
        name = "max" if order > 0 else "min"
        return _with_infinite(at, name, data, at.call(name, data, **given), given["axis"], keep)  # type: ignore[arg-type]
    if order == 0:
        return at.call("sum", at.cast(truth(at, data), at.dtype(data)), **given)
    if order == 2:
        return at.call("sqrt", at.call("sum", at.call("multiply", data, data), **given))
    if order == 1:
        return at.call("sum", data, **given)
    total = at.call("sum", at.call("power", data, at.const(order, at.dtype(data))), **given)
    return at.call("power", total, at.const(1 / order, at.dtype(data)))


def _cumulative(name: str) -> Convert:
    def convert(at: Conversion) -> Value:
        data = _summed(at, 2)
        return at.call(name, data, axis=at.integer(1), dtype=at.dtype(data)) if at.rank(data) else data

    return convert


def _sort(at: Conversion) -> Value:
    """``sort(data, axis, descending)``, ``sort(data, stable, axis, descending)``."""
    places = (2, 3) if len(at.args) > 3 else (1, 2)
    data = at.tensor(0)
    if not at.rank(data):
        return data, at.const(0, "int64")
    axis, ascends = at.integer(places[0], -1), not at.number(places[1], False)
    count = at.shape(data)[axis]
    made = at.call("topk", data, count, axis=axis, ret_type="both", is_ascend=ascends, dtype="int64")
    return tuple(at.fields(made))


def _extreme_of(at: Conversion, name: str) -> Value:
    """``max(data, axis, keepdim)``: NaN and where it stands, where there is one."""
    data = at.tensor(0)
    given = {"axis": [at.integer(1)], "keepdims": bool(at.number(2, False))}
    numbers = at.cast(data, "int32") if at.dtype(data) == "bool" else data
    made = at.cast(at.call(name, numbers, **given), at.dtype(data))
    places = at.cast(at.call(f"arg{name}", numbers, **given), "int64")
    if not is_float(at.dtype(data)):
        return made, places
    made = _with_infinite(at, name, data, made, given["axis"], given["keepdims"])  # type: ignore[arg-type]
    nan = at.call("isnan", data)
    first = at.cast(at.call("argmax", at.cast(nan, "int32"), **given), "int64")
    return made, at.call("where", at.call("isnan", made), first, places)


def _kth(at: Conversion, data: Expr, number: int, axis: int, keep: bool) -> tuple[Expr, Expr]:
    """Return the element that ``number - 1`` are not greater than, and where it stands."""
    given = {"axis": axis, "ret_type": "both", "is_ascend": True, "dtype": "int64"}
    made = at.fields(at.call("topk", data, number, **given))
    last = at.const(number - 1, "int64")
    parts = [at.call("take", one, last, axis=axis) for one in made]
    parts = [at.call("expand_dims", one, axis=axis) for one in parts] if keep else parts
    return parts[0], parts[1]


def _kthvalue(at: Conversion) -> Value:
    data = at.tensor(0)
    if not at.rank(data):
        return data, at.const(0, "int64")
    axis = at.integer(2, -1) % at.rank(data)
    return _kth(at, data, at.integer(1), axis, bool(at.number(3, False)))


def _median(at: Conversion) -> Value:
    """``median(data)``, ``median(data, axis, keepdim)``: the lower one of two."""
    data, whole = at.tensor(0), len(at.args) == 1
    if not at.rank(data):
        return data if whole else (data, at.const(0, "int64"))
    rows = at.call("reshape", data, [-1]) if whole else data
    axis = 0 if whole else at.integer(1) % at.rank(data)
    keep = not whole and bool(at.number(2, False))
    value, place = _kth(at, rows, (at.shape(rows)[axis] - 1) // 2 + 1, axis, keep)
    if not is_float(at.dtype(data)):
        return value if whole else (value, place)
    nan = at.call("isnan", rows)
    any_ = at.call("any", nan, axis=[axis], keepdims=keep)
    first = at.cast(at.call("argmax", at.cast(nan, "int32"), axis=[axis], keepdims=keep), "int64")
    value = at.call("where", any_, at.const(math.nan, at.dtype(data)), value)
    return value if whole else (value, at.call("where", any_, first, place))


def _running(name: str) -> Convert:
    """The greatest or least so far, and where it stands: the last of equals."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        if not at.rank(data):
            return data, at.const(0, "int64")
        axis = at.integer(1) % at.rank(data)
        count = at.shape(data)[axis]
        behind = at.rank(data) - axis - 1
        numbers = at.const(np.arange(count).reshape([-1, *[1] * behind]), "int64")
        places = at.call("broadcast_to", numbers, at.shape(data))
        value, step = data, 1
        while step < count:
            before = at.const(np.maximum(np.arange(count) - step, 0), "int64")
            other, there = (at.call("take", one, before, axis=axis) for one in (value, places))
            kept = at.call("greater_equal" if name == "max" else "less_equal", value, other)
            if is_float(at.dtype(data)):
                nan, known = at.call("isnan", value), at.call("isnan", other)
                kept = at.call("logical_or", nan, at.call("logical_and", kept, at.call("logical_not", known)))
            value = at.call("where", kept, value, other)
            places = at.call("where", kept, places, there)
            step *= 2
        return value, places

    return convert


def _topk(at: Conversion) -> Value:
    data = at.tensor(0)
    if not at.rank(data):
        return data, at.const(0, "int64")
    given = {"axis": at.integer(2, -1), "is_ascend": not at.number(3, True)}
    return tuple(at.fields(at.call("topk", data, at.integer(1), ret_type="both", dtype="int64", **given)))


RECORDS = records({
    "amax": _extreme("max"), "amin": _extreme("min"), "any": _question("any"), "all": _question("all"), "prod": _prod,
    "var": _variance,
    "var_mean": _variance_and_mean, "linalg_vector_norm": _norm, "cumprod": _cumulative("cumprod"), "sort": _sort,
    "topk": _topk,
    "kthvalue": _kthvalue, "median": _median, "cummax": _running("max"), "cummin": _running("min"),
    "argmax": _place("argmax"), "argmin": _place("argmin"), "cumsum": _cumsum, "max": _extremum("max", "maximum"),
    "mean": _reduce("mean"), "min": _extremum("min", "minimum"), "sum": _reduce("sum"),
})  # fmt: skip
