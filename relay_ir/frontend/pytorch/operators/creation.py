"""Tensors out of nothing, and parts of matrices."""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from relay2relax.core.dtype import is_float
from relay2relax.relay_ir.build.composed import threefry_key
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Number, Value
from relay2relax.relay_ir.frontend.pytorch.dtypes import result_dtype
from relay2relax.relay_ir.frontend.pytorch.notes import DRAWS
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr
from relay2relax.tir.extent import Extent, static, sub
from relay2relax.tir.ir.expr import PrimExpr


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
    given = [at.plain(one) for one in at.args[:count]]
    bounds = [one if isinstance(one, PrimExpr) else at.number(place) for place, one in enumerate(given)]
    floats = any(isinstance(one, float) for one in bounds)
    dtype = at.dtype_at(count) or (at.default_dtype if floats else "int64")
    start, stop, step = ([0, *bounds, 1], [*bounds, 1], bounds)[count - 1]
    if not any(isinstance(one, PrimExpr) for one in bounds):
        return at.call("arange", *(at.const(one, dtype) for one in (start, stop, step)), dtype)
    if step != 1 or floats:
        at.refuse("its ends are open extents, and its step is another than 1")
    made = at.call("arange", *(at.extent_value(cast(Extent, one)) for one in (start, stop, step)), "int64")
    extent = sub(cast(Extent, stop), cast(Extent, start))
    return at.cast(at.of_shape(made, [extent]), dtype)


def _full(value: Number) -> Convert:
    """``ones(shape, dtype, …)``."""

    def convert(at: Conversion) -> Value:
        dtype = at.dtype_at(1) or at.default_dtype
        return at.filled(at.const(value, dtype), at.extents_at(0), dtype)

    return convert


def _empty(at: Conversion) -> Value:
    dtype = at.dtype_at(1) or at.default_dtype
    if any(isinstance(one, PrimExpr) for one in cast("list[Value]", at.value(0))):
        return _full(0)(at)
    return at.call("zeros", shape=at.sizes(0), dtype=dtype)


def _fill(at: Conversion) -> Value:
    data, value = at.tensor(0), at.value(1)
    dtype = at.dtype(data)
    made = at.cast(at.tensor(1), dtype) if isinstance(value, RelayExpr) else at.const(at.number(1), dtype)
    return at.call("full", made, shape=list(at.shape(data)), dtype=dtype)


def _filled(at: Conversion, shape: Sequence[Extent], value: Value, dtype: str) -> Value:
    return at.filled(at.cast(at.with_args([value]).tensor(0), dtype), shape, dtype)


def _full_of(at: Conversion) -> Value:
    """``full(shape, value, dtype, …)``."""
    value = at.value(1)
    own = at.dtype(at.tensor(1)) if isinstance(value, RelayExpr) else result_dtype((), (), (value,))
    return _filled(at, at.extents_at(0), value, at.dtype_at(2) or own)


def _full_like(value: Number | None) -> Convert:
    """``ones_like(data, dtype, …)``; with the value where that is None: ``full_like(data, value,
    …)``.
    """

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        place = 2 if value is None else 1
        filling = at.value(1) if value is None else value
        dtype = at.dtype_at(place) or at.dtype(data)
        if None in [static(one) for one in at.extents(data)]:
            made = at.cast(at.with_args([filling]).tensor(0), dtype)
            return at.call("full_like", at.cast(data, dtype), made)
        return _filled(at, list(at.shape(data)), filling, dtype)

    return convert


def _new_full(value: Number | None) -> Convert:
    """``new_zeros(data, shape, dtype, …)``, ``new_full(data, shape, value, dtype, …)``."""

    def convert(at: Conversion) -> Value:
        place = 3 if value is None else 2
        filling = at.value(2) if value is None else value
        return _filled(at, at.extents_at(1), filling, at.dtype_at(place) or at.dtype(at.tensor(0)))

    return convert


def _scalar_tensor(at: Conversion) -> Value:
    return at.cast(at.tensor(0), at.dtype_at(1) or at.default_dtype)


def _tensor_of(at: Conversion) -> Value:
    """``tensor(data, dtype, …)`` of a number, or of a list of them."""
    data, dtype = at.value(0), at.dtype_at(1)
    if not isinstance(data, list):
        return at.tensor(0) if dtype is None else at.cast(at.tensor(0), dtype)
    found = np.array(data)
    if found.dtype == object:
        at.refuse("its numbers are not known beforehand")
    own = {"b": "bool", "i": "int64", "f": at.default_dtype}[found.dtype.kind]
    return at.const(found, dtype or own)


def _key(at: Conversion) -> Expr:
    """Return a state of Relay's generator of random numbers, one of its own for each node.

    What PyTorch draws is not drawn: its generators are others.
    """
    at.note(DRAWS)
    return replace(threefry_key(zlib.crc32((at.span.source_name or "").encode())), span=at.span)


def _normal(at: Conversion) -> Value:
    """``randn(shape, dtype, …)``."""
    shape, dtype = at.sizes(0), at.dtype_at(1) or at.default_dtype
    return at.fields(at.call("random.normal", _key(at), shape, dtype))[1]


def _uniform(at: Conversion) -> Value:
    """``rand(shape, dtype, …)``."""
    shape, dtype = at.sizes(0), at.dtype_at(1) or at.default_dtype
    return at.fields(at.call("random.uniform", _key(at), shape, dtype))[1]


def _multinomial(at: Conversion) -> Value:
    """``multinomial(weights, count, replacement, …)``."""
    if not at.number(2, False) and at.integer(1) > 1:
        at.refuse("it draws several without putting any back")
    drawn = at.fields(at.call("random.multinomial", _key(at), at.tensor(0), at.integer(1)))[1]
    return at.cast(drawn, "int64")


def _eye(at: Conversion) -> Value:
    """``eye(n, dtype, …)``, ``eye(n, m, dtype, …)``."""
    count = len(at.args) - 4
    rows, columns = at.integer(0), at.integer(count - 1)
    return at.const(np.eye(rows, columns), at.dtype_at(count) or at.default_dtype)


def _linspace(at: Conversion) -> Value:
    """``linspace(start, end, steps, dtype, …)``, from both ends to the middle as PyTorch."""
    steps, dtype = at.integer(2), at.dtype_at(3) or at.default_dtype
    numbers = np.arange(steps)
    if any(isinstance(at.plain(at.value(place)), RelayExpr) for place in (0, 1)):
        return _computed_linspace(at, numbers, dtype)
    start, end = float(at.number(0)), float(at.number(1))
    step = (end - start) / max(steps - 1, 1)
    made = np.where(numbers < steps / 2, start + step * numbers, end - step * (steps - 1 - numbers))
    return at.const(made, dtype)


def _computed_linspace(at: Conversion, numbers: np.ndarray, dtype: str) -> Value:
    """The same of ends that the program computes."""
    if not is_float(dtype):
        at.refuse("its ends are computed, and its numbers integers")
    start, end = (at.cast(at.tensor(place), dtype) for place in (0, 1))
    last = max(len(numbers) - 1, 1)
    step = at.call("divide", at.call("subtract", end, start), at.const(last, dtype))
    up = at.call("add", start, at.call("multiply", step, at.const(numbers, dtype)))
    down = at.call("subtract", end, at.call("multiply", step, at.const(len(numbers) - 1 - numbers, dtype)))
    return at.call("where", at.const(numbers < len(numbers) / 2, "bool"), up, down)


RECORDS = records({
    "full": _full_of, "full_like": _full_like(None), "ones_like": _full_like(1), "zeros_like": _full_like(0),
    "empty_like": _full_like(0), "new_zeros": _new_full(0), "new_ones": _new_full(1), "new_full": _new_full(None),
    "new_empty": _new_full(0), "zero": _full_like(0), "tensor": _tensor_of,
    "scalar_tensor": _scalar_tensor, "eye": _eye, "linspace": _linspace,
    "arange": _arange, "empty": _empty, "fill": _fill, "ones": _full(1), "tril": _trilu(False), "triu": _trilu(True),
    "zeros": _full(0), "randn": _normal, "rand": _uniform, "multinomial": _multinomial,
})  # fmt: skip
