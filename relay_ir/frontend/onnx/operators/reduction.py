"""Reductions, order, and sums along an axis."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.core.dtype import is_float, is_int
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr

# Makes the reduction of a tensor over axes (None: all).
Reduce = Callable[[Conversion, Expr, "list[int] | None", bool], Expr]


# What the extremes of no numbers are.
_INFINITE = {"max": float("-inf"), "min": float("inf")}


def _plain(name: str) -> Reduce:
    def reduced(at: Conversion, x: Expr, axes: list[int] | None, keep: bool) -> Expr:
        dtype = at.dtype(x)
        if name == "mean" and is_int(dtype):
            return at.cast(at.call(name, at.cast(x, "float64"), axis=axes, keepdims=keep), dtype)
        if dtype == "bool":
            return at.call({"max": "any", "min": "all"}.get(name, name), x, axis=axes, keepdims=keep)
        made = at.call(name, x, axis=axes, keepdims=keep)
        if name not in _INFINITE or not is_float(dtype):
            return made
        # Relay begins at the lowest, or greatest, finite number: not where there is nothing else.
        end = at.like(_INFINITE[name], x)
        return at.call("where", at.call("all", at.call("equal", x, end), axis=axes, keepdims=keep), end, made)

    return reduced


def _l1(at: Conversion, x: Expr, axes: list[int] | None, keep: bool) -> Expr:
    return at.call("sum", at.call("abs", x), axis=axes, keepdims=keep)


def _squares(at: Conversion, x: Expr, axes: list[int] | None, keep: bool) -> Expr:
    return at.call("sum", at.call("multiply", x, x), axis=axes, keepdims=keep)


def _l2(at: Conversion, x: Expr, axes: list[int] | None, keep: bool) -> Expr:
    if at.floating(x):
        return at.call("sqrt", _squares(at, x, axes, keep))
    wide = at.cast(x, "float64")
    return at.cast(at.call("sqrt", _squares(at, wide, axes, keep)), at.dtype(x))


def _log_sum(at: Conversion, x: Expr, axes: list[int] | None, keep: bool) -> Expr:
    wide = x if at.floating(x) else at.cast(x, "float64")
    return at.cast(at.call("log", at.call("sum", wide, axis=axes, keepdims=keep)), at.dtype(x))


def _log_sum_exp(at: Conversion, x: Expr, axes: list[int] | None, keep: bool) -> Expr:
    wide = x if at.floating(x) else at.cast(x, "float64")
    largest = at.call("max", wide, axis=axes, keepdims=True)
    # Of infinite numbers nothing is taken away.
    largest = at.call("where", at.call("isfinite", largest), largest, at.like(0, wide))
    total = at.call("sum", at.call("exp", at.call("subtract", wide, largest)), axis=axes, keepdims=keep)
    if not keep:
        largest = at.call("reshape_like", largest, total)
    return at.cast(at.call("add", at.call("log", total), largest), at.dtype(x))


def _reduction(reduce: Reduce) -> Convert:
    def convert(at: Conversion) -> Expr:
        x = at.arg()
        axes = at.ints(1, "axes")
        if not axes:
            if at.attr("noop_with_empty_axes", 0):
                # Nothing is summed up; what is done to each element is.
                return reduce(at, x, [], True) if reduce not in _KEEPING else at.call("copy", x)
            axes = None
        if at.rank(x) == 0:
            return reduce(at, at.reshape(x, [1]), [0], False)
        return reduce(at, x, axes, bool(at.attr("keepdims", 1)))

    return convert


_SUM, _MEAN, _MAX, _MIN, _PROD = (_plain(name) for name in ("sum", "mean", "max", "min", "prod"))
_KEEPING = (_SUM, _MEAN, _MAX, _MIN, _PROD)


def _extreme_place(name: str) -> Convert:
    def convert(at: Conversion) -> Expr:
        x = at.arg()
        last = bool(at.attr("select_last_index", 0))
        made = at.call(name, x, [at.axis(x, 0)], bool(at.attr("keepdims", 1)), False, last)
        return at.cast(made, "int64")

    return convert


def _topk(at: Conversion) -> tuple[Expr, ...]:
    x = at.arg()
    count = at.known(1, "k")
    given: dict[str, object] = {
        "axis": at.attr("axis", -1), "ret_type": "both", "is_ascend": not at.attr("largest", 1), "dtype": "int64"
    }  # fmt: skip
    if count is None:
        made = at.dynamic("topk", x, at.arg(1), **given)
    else:
        made = at.call("topk", x, int(count.reshape(-1)[0]), **given)
    return tuple(at.fields(made))


def _cumulative(name: str) -> Convert:
    def convert(at: Conversion) -> Expr:
        x = at.arg(0)
        axes = at.ints(1)
        if axes is None:
            at.refuse("it says no axis to sum along")
        axis, turned = axes[0] % at.rank(x), at.attr("reverse", 0)
        made = at.call("reverse", x, axis=axis) if turned else x
        made = at.call(name, made, axis=axis, dtype=at.dtype(x), exclusive=bool(at.attr("exclusive", 0)))
        return at.call("reverse", made, axis=axis) if turned else made

    return convert


OPERATORS: dict[str, Convert] = {
    "ReduceSum": _reduction(_SUM),
    "ReduceMean": _reduction(_MEAN),
    "ReduceMax": _reduction(_MAX),
    "ReduceMin": _reduction(_MIN),
    "ReduceProd": _reduction(_PROD),
    "ReduceL1": _reduction(_l1),
    "ReduceL2": _reduction(_l2),
    "ReduceSumSquare": _reduction(_squares),
    "ReduceLogSum": _reduction(_log_sum),
    "ReduceLogSumExp": _reduction(_log_sum_exp),
    "ArgMax": _extreme_place("argmax"),
    "ArgMin": _extreme_place("argmin"),
    "TopK": _topk,
    "CumSum": _cumulative("cumsum"),
    "CumProd": _cumulative("cumprod"),
}
