"""Running an operator call on arrays: the record's numpy kernel, given its arguments as the record
takes them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, of_array
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.record import A, OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, show
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import as_prim
from relay2relax.tir.ir.expr import FloatImm, PrimExpr, Var


def kernel_value(op: OpDef[A], attrs: A, args: Sequence[Any]) -> Any:
    """Return the value of a call of arrays, by the record's numpy kernel.

    Raises OpError for arguments that the kernel cannot take: Relay's rules look less closely at
    some calls, and shapes that are open beforehand may not fit.
    """
    try:
        with np.errstate(all="ignore"):
            return op.numpy(attrs, *args)
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        given = ", ".join(map(_described, args))
        raise OpError(f"{op.name} cannot be computed of {given}: {error}") from error


def _described(arg: object) -> str:
    if isinstance(arg, np.ndarray):
        return f"{of_array(arg)}{show(arg.shape)}"
    return f"({', '.join(map(_described, arg))})" if isinstance(arg, tuple) else str(arg)


def evaluate_call(
    origin: Origin, inputs: Sequence[Array], outputs: Sequence[Array], values: Mapping[Var, int] | None = None
) -> None:
    """Compute the call ``origin`` of the tensors ``inputs`` (tuples flattened) into ``outputs``.

    ``values`` are those of the symbolic extents in its attributes and shape arguments; raises
    ExecutionError where one is missing.
    """
    attrs = with_values(origin.attrs, values) if values else origin.attrs
    result = kernel_value(origin.op, attrs, _arguments(origin, iter(inputs), values or {}))
    results = result if isinstance(result, tuple) else (result,)
    for target, found in zip(outputs, results, strict=True):
        target[...] = found


def with_values(attrs: Any, values: Mapping[Var, int]) -> Any:
    """Return an attribute object with its symbolic extents replaced by their values."""

    def change(value: Any) -> Any:
        if isinstance(value, tuple):
            return tuple(change(one) for one in value)
        if isinstance(value, FloatImm):
            return value  # No extent: the region of a resize, say.
        return integer(value, values) if isinstance(value, PrimExpr) else value

    changed = {one.name: change(getattr(attrs, one.name)) for one in fields(attrs)}
    return replace(attrs, **changed)


def _arguments(origin: Origin, arrays: Iterator[Array], values: Mapping[Var, int]) -> list[Any]:
    """Return the arguments of an operator: tuples put together again, shapes evaluated."""

    def one(arg: Any) -> Any:
        match arg:
            case TensorType():
                return next(arrays)
            case TupleType(parts):
                return tuple(one(part) for part in parts)
        return tuple(integer(as_prim(extent), values) for extent in arg)

    return [one(arg) for arg in origin.args]
