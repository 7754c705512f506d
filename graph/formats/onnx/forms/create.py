"""Tensors that are made."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.ops.registry.types import TensorType
from relay2relax.ops.tensor.create import RelaxArangeAttrs
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import FloatImm, IntImm


def filled(value: int) -> Form:
    """Return the form of a tensor of the result's shape that holds ``value`` everywhere."""

    def form(at: Site, attrs: object, *rest: str) -> str:
        return at.node("Expand", at.const(value, at.result.dtype), at.extents(at.result.shape))

    return form


def full(place: int) -> Form:
    """Return the form of a tensor that holds the argument ``place`` everywhere."""

    def form(at: Site, attrs: object, *args: str) -> str:
        value = at.cast(args[place], at.type(place).dtype, at.result.dtype)
        return at.node("Expand", value, at.extents(at.result.shape))

    return form


def dynamic(value: int) -> Form:
    def form(at: Site, attrs: object, shape: str) -> str:
        return at.node("Expand", at.const(value, at.result.dtype), at.cast(shape, at.type().dtype, "int64"))

    return form


def dynamic_full(at: Site, attrs: object, value: str, shape: str) -> str:
    filling = at.cast(value, at.type().dtype, at.result.dtype)
    return at.node("Expand", filling, at.cast(shape, at.type(1).dtype, "int64"))


def arange(at: Site, attrs: RelaxArangeAttrs) -> str:
    ends = [_number(one) for one in (attrs.start, attrs.end, attrs.step)]
    if None in ends or static(at.result.shape[0]) is None:
        at.refuse("an end is computed")
    (count,) = at.static(at.result.shape, "its extent")
    values = np.asarray(ends[0]) + np.arange(count) * np.asarray(ends[2])
    return at.const(values, at.result.dtype)


def arange_of(at: Site, attrs: object, start: str, stop: str, step: str) -> str:
    dtype = at.result.dtype
    wide = dtype if dtype in ("float32", "float64", "int16", "int32", "int64") else "int64"
    given = [at.cast(one, at.type(place).dtype, wide) for place, one in enumerate((start, stop, step))]
    scalars = [at.node("Reshape", one, at.ints([])) if at.type(i).rank else one for i, one in enumerate(given)]
    return at.cast(at.node("Range", *scalars), wide, dtype)


def _number(value: Any) -> float | int | None:
    match value:
        case IntImm(number) | FloatImm(number):
            return number
        case int() | float():
            return value
    data = getattr(getattr(value, "value", None), "value", None)
    return data if isinstance(data, (int, float)) else None


def known(make: Callable[[Any, TensorType], Any]) -> Form:
    """Return the form of a tensor that attributes alone decide."""

    def form(at: Site, attrs: Any, *rest: str) -> str:
        at.static(at.result.shape, "its extent")
        return at.const(np.asarray(make(attrs, at.result), numpy_dtype(at.result.dtype)), at.result.dtype)

    return form


def _eye(attrs: Any, out: TensorType) -> Any:
    rows, columns = (static(one) or 0 for one in out.shape)
    return np.eye(rows, columns, k=int(_number(attrs.k) or 0))


FORMS: dict[str, Form] = {
    "zeros_like": filled(0),
    "ones_like": filled(1),
    "R.zeros": filled(0),
    "R.ones": filled(1),
    "zeros": filled(0),
    "ones": filled(1),
    "R.full": full(1),
    "full": full(0),
    "R.full_like": full(1),
    "full_like": full(1),
    "R.arange": arange,
    "arange": arange_of,
    "R.eye": known(_eye),
    "R.eye_like": known(_eye),
    "dyn.zeros": dynamic(0),
    "dyn.ones": dynamic(1),
    "dyn.full": dynamic_full,
}
