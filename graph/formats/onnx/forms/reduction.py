"""Reductions, scans and order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay2relax.core.dtype import is_float
from relay2relax.graph.formats.onnx.builder import Form, Site, Value
from relay2relax.ops.math.reduce import RelaxArgReduceAttrs, RelaxReduceAttrs
from relay2relax.ops.math.scan import ScanopAttrs
from relay2relax.ops.tensor.sorting import ArgsortAttrs, RelaxArgsortAttrs, RelaxSortAttrs
from relay2relax.tir.extent import static


def _axes(at: Site, axis: Sequence[int] | None) -> list[int]:
    return list(range(at.type().rank)) if axis is None else [int(one) for one in axis]


def reduced(kind: str) -> Form:
    """Return the form of a reduction; ONNX Runtime has them of 32 bits and more."""

    def form(at: Site, attrs: RelaxReduceAttrs, data: str) -> str:
        dtype, axes = at.type().dtype, _axes(at, attrs.axis)
        if not axes:
            return at.node("Identity", data)
        wide = "int32" if dtype in ("int8", "int16", "uint8", "uint16", "bool") else dtype
        wide = "int64" if dtype in ("uint32", "uint64") else wide
        made = at.node(f"Reduce{kind}", at.cast(data, dtype, wide), at.ints(axes), keepdims=int(attrs.keepdims))
        return at.cast(made, wide, dtype)

    return form


def extreme_place(kind: str) -> Form:
    def form(at: Site, attrs: RelaxArgReduceAttrs, data: str) -> str:
        if attrs.axis is None:
            flat = at.node("Reshape", data, at.ints([-1]))
            made = at.node(kind, flat, axis=0, keepdims=0)
            if attrs.keepdims:
                made = at.node("Reshape", made, at.ints([1] * at.type().rank))
        else:
            made = at.node(kind, data, axis=int(attrs.axis), keepdims=int(attrs.keepdims))
        return at.cast(made, "int64", at.result.dtype)

    return form


def variance(at: Site, attrs: RelaxReduceAttrs, data: str) -> str:
    axes = at.ints(_axes(at, attrs.axis))
    centred = at.node("Sub", data, at.node("ReduceMean", data, axes, keepdims=1))
    return at.node("ReduceMean", at.node("Mul", centred, centred), axes, keepdims=int(attrs.keepdims))


def deviation(at: Site, attrs: RelaxReduceAttrs, data: str) -> str:
    return at.node("Sqrt", variance(at, attrs, data))


def cumulative_sum(at: Site, attrs: ScanopAttrs, data: str) -> str:
    dtype, out = at.type().dtype, at.result.dtype
    if out == "bool":
        at.refuse("of truth values")
    wide = out if is_float(out) or out in ("int32", "int64") else "int64"
    data = at.cast(data, dtype, wide)
    if attrs.axis is None:
        data = at.node("Reshape", data, at.ints([-1]))
    made = at.node("CumSum", data, at.const(int(attrs.axis or 0), "int64"), exclusive=int(bool(attrs.exclusive)))
    return at.cast(made, wide, out)


def _ordered(at: Site, data: str, axis: int, largest: bool) -> tuple[str, ...]:
    """Return all elements along an axis in order, and their places."""
    dtype, extent = at.type().dtype, at.type().shape[axis]
    wide = dtype if is_float(dtype) or dtype == "int32" else "int64"
    count = at.extents([extent])
    values, places = at.nodes("TopK", 2, at.cast(data, dtype, wide), count, axis=axis, largest=int(largest))
    return at.cast(values, wide, dtype), places


def sort(at: Site, attrs: RelaxSortAttrs, data: str) -> str:
    return _ordered(at, data, attrs.axis, bool(attrs.descending))[0]


def argsort(at: Site, attrs: RelaxArgsortAttrs, data: str) -> str:
    places = _ordered(at, data, attrs.axis, bool(attrs.descending))[1]
    return at.cast(places, "int64", at.result.dtype)


def relay_sort(at: Site, attrs: ArgsortAttrs, data: str) -> str:
    return _ordered(at, data, attrs.axis, not attrs.is_ascend)[0]


def relay_argsort(at: Site, attrs: ArgsortAttrs, data: str) -> str:
    places = _ordered(at, data, attrs.axis, not attrs.is_ascend)[1]
    return at.cast(places, "int64", at.result.dtype)


def topk(at: Site, attrs: Any, data: str) -> Value:
    """The first ``k`` in order; Relay says whether they ascend, Relax whether they descend."""
    dtype, axis = at.type().dtype, attrs.axis
    largest = attrs.largest if hasattr(attrs, "largest") else not attrs.is_ascend
    if attrs.k is None:
        at.refuse("how many is not said")
    if attrs.k < 1:
        return _both(at, attrs, _ordered(at, data, axis, bool(largest)))
    known = static(at.type().shape[axis])
    if known is None:
        at.refuse("it may ask for more elements than there are")
    wide = dtype if is_float(dtype) or dtype == "int32" else "int64"
    given = at.cast(data, dtype, wide), at.ints([min(attrs.k, known)])
    values, places = at.nodes("TopK", 2, *given, axis=axis, largest=int(largest))
    return _both(at, attrs, (at.cast(values, wide, dtype), places))


def _both(at: Site, attrs: Any, found: tuple[str, ...]) -> Value:
    values, places = found[0], at.cast(found[1], "int64", attrs.dtype or "int32")
    given: dict[str, Value] = {"both": (values, places), "values": values, "indices": places}
    return given[attrs.ret_type]


FORMS: dict[str, Form] = {
    "R.sum": reduced("Sum"),
    "R.prod": reduced("Prod"),
    "R.max": reduced("Max"),
    "R.min": reduced("Min"),
    "R.mean": reduced("Mean"),
    "R.argmax": extreme_place("ArgMax"),
    "R.argmin": extreme_place("ArgMin"),
    "R.variance": variance,
    "R.std": deviation,
    "cumsum": cumulative_sum,
    "R.sort": sort,
    "R.argsort": argsort,
    "R.topk": topk,
    "sort": relay_sort,
    "argsort": relay_argsort,
    "topk": topk,
}
