"""How the virtual machine runs a PrimFunc on numpy.

A PrimFunc that still is its operator's own definition runs the record's numpy kernel, so that Relay and Relax agree bit
for bit; any other one is evaluated block by block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from relay2relax.backends.binding import bind_call, integer
from relay2relax.backends.numpy_tir import evaluate_prim_func
from relay2relax.backends.shape_heap import attribute_variables
from relay2relax.core.dtype import Array
from relay2relax.ops.lower import Origin
from relay2relax.ops.types import TensorType, TupleType
from relay2relax.tir.expr import PrimExpr, Var
from relay2relax.tir.extent import as_prim
from relay2relax.tir.stmt import PrimFunc


def numpy_kernel(func: PrimFunc) -> Callable[..., None]:
    """Return a function of inputs, scalars and outputs that runs ``func``."""
    buffers = len(func.buffers)
    scalars = len(func.params) - buffers
    first = buffers - func.num_outputs

    def split(args: Sequence[Any]) -> tuple[Sequence[Array], Sequence[int], Sequence[Array]]:
        return args[:first], args[first : first + scalars], args[first + scalars :]

    origin = func.origin
    if not isinstance(origin, Origin):

        def evaluate(*args: Any) -> None:
            inputs, numbers, outputs = split(args)
            evaluate_prim_func(func, inputs, outputs, numbers)

        return evaluate
    symbolic = bool(attribute_variables(origin.attrs)) or any(isinstance(a, tuple) for a in origin.args)

    def run(*args: Any) -> None:
        inputs, numbers, outputs = split(args)
        values = bind_call(func, (*inputs, *outputs), numbers) if symbolic else {}
        attrs = with_values(origin.attrs, values) if symbolic else origin.attrs
        with np.errstate(all="ignore"):
            result = origin.op.numpy(attrs, *_group(origin, iter(inputs), values))
        results = result if isinstance(result, tuple) else (result,)
        for target, found in zip(outputs, results, strict=True):
            target[...] = found

    return run


def _group(origin: Origin, arrays: Iterator[Array], values: Mapping[Var, int]) -> list[Any]:
    """Return the arguments of an operator: tuples put together again, shapes evaluated."""

    def one(arg: Any) -> Any:
        match arg:
            case TensorType():
                return next(arrays)
            case TupleType(parts):
                return tuple(one(part) for part in parts)
        return tuple(integer(as_prim(extent), values) for extent in arg)

    return [one(arg) for arg in origin.args]


def with_values(attrs: Any, values: Mapping[Var, int]) -> Any:
    """Return an attribute object with its symbolic extents replaced by their values."""

    def change(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(change(one) for one in value)
        return integer(value, values) if isinstance(value, PrimExpr) else value

    changed = {one.name: change(getattr(attrs, one.name)) for one in fields(attrs)}
    return replace(attrs, **changed)
