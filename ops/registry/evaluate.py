"""Running an operator call on arrays: the record's numpy kernel, given its arguments as the record
takes them.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.limits import Budget, active, out_of_memory
from relay2relax.ops.registry.lower import Origin
from relay2relax.ops.registry.record import A, OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import as_prim, static
from relay2relax.tir.ir.expr import FloatImm, PrimExpr, Var

# Shape and dtype of each tensor.
_Results: TypeAlias = "list[tuple[tuple[int, ...], np.dtype[np.generic]]]"


def kernel_value(op: OpDef[A], attrs: A, args: Sequence[Any]) -> Any:
    """Return the value of a call of arrays, by the record's numpy kernel.

    Raises OpError for arguments that the kernel cannot take: Relay's rules look less closely at
    some calls, and shapes that are open beforehand may not fit. Raises LimitError where the result
    is larger than the limits allow, OutOfMemoryError where the system has no memory for it.
    """
    with np.errstate(all="ignore"):
        return quiet_kernel_value(op, attrs, args)


def quiet_kernel_value(op: OpDef[A], attrs: A, args: Sequence[Any]) -> Any:
    """Return and raise what :func:`kernel_value` does, for callers that have silenced numpy: that
    takes longer than a small kernel.
    """
    budget = active()
    if budget is not None:
        _allow(budget, op, attrs, args)
    if any(isinstance(arg, np.ndarray) and not arg.size for arg in args):
        nothing = _without_elements(op, attrs, args)
        if nothing is not None:
            return nothing
    try:
        return op.numpy(attrs, *args)
    except MemoryError as error:
        raise out_of_memory(call_text(op, args), error) from error
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        size = _size(_results(op, attrs, args))
        if size > sys.maxsize:  # numpy says so in other words than where memory is merely too small
            raise out_of_memory(call_text(op, args), error, size) from error
        raise OpError(f"{op.name} cannot be computed of {_given(args)}: {error}") from error


def _without_elements(op: OpDef[A], attrs: A, args: Sequence[Any]) -> Array | None:
    """Return the result of a call where types tell that it is one tensor without elements.

    A kernel might count to an extent beside one of 0.
    """
    match _results_type(op, attrs, args):
        case TensorType(shape, dtype):
            extents = [static(extent) for extent in shape]
            if 0 in extents and None not in extents:
                known = [extent for extent in extents if extent is not None]
                return empty(known, numpy_dtype(dtype), lambda: call_text(op, args))
    return None


def call_text(op: OpDef[A], args: Sequence[object]) -> str:
    """Return an operator and its arguments' types, for messages."""
    return f"{op.name} of {_given(args)}" if args else op.name


def _allow(budget: Budget, op: OpDef[A], attrs: A, args: Sequence[object]) -> None:
    """Raise LimitError where the results of a call are too large."""
    results = _results(op, attrs, args)
    for shape, _ in results:
        budget.extent(shape, lambda: f"the result of {call_text(op, args)}")
    budget.allocate(_size(results), lambda: call_text(op, args))


def _size(results: _Results) -> int:
    """Return how many bytes results need."""
    return sum(math.prod(shape) * dtype.itemsize for shape, dtype in results)


def _results(op: OpDef[A], attrs: A, args: Sequence[object]) -> _Results:
    """Return shape and dtype of each result that types alone tell."""
    found, whole = [], _results_type(op, attrs, args)
    pending = [] if whole is None else [whole]
    while pending:
        match pending.pop():
            case TupleType(fields):
                pending.extend(fields)
            case TensorType(shape, dtype):
                known = [static(extent) for extent in shape]
                if None not in known:
                    found.append((tuple(extent for extent in known if extent is not None), numpy_dtype(dtype)))
    return found


def _results_type(op: OpDef[A], attrs: A, args: Sequence[object]) -> Type | None:
    """Return the type of what a call gives, None where the operator refuses the arguments."""
    try:
        return op.infer(attrs, *map(_type_of, args))
    except (Relay2RelaxError, LookupError, TypeError, ValueError):
        return None  # What the operator refuses it says itself, in its own words.


def _type_of(arg: object) -> Type | tuple[int, ...]:
    """Return what the type rule takes for an argument: a type, or the extents of a shape."""
    match arg:
        case np.ndarray() | np.generic():
            return TensorType(arg.shape, of_array(np.asarray(arg)))
        case tuple() if all(isinstance(one, (int, np.integer)) for one in arg) and arg:
            return tuple(map(int, arg))
        case tuple():
            return TupleType(tuple(one for one in map(_type_of, arg) if isinstance(one, Type)))
    raise TypeError(f"{type(arg).__name__} has no type")


def _given(args: Sequence[object]) -> str:
    return ", ".join(map(_described, args))


def _described(arg: object) -> str:
    if isinstance(arg, np.ndarray):
        return f"{of_array(arg)}{show(arg.shape)}"
    return f"({', '.join(map(_described, arg))})" if isinstance(arg, tuple) else str(arg)


def evaluate_call(
    origin: Origin, inputs: Sequence[Array], outputs: Sequence[Array], values: Mapping[Var, int] | None = None
) -> None:
    """Compute the call ``origin`` of the tensors ``inputs`` (tuples flattened) into ``outputs``.

    ``values`` are those of the symbolic extents in its attributes and shape arguments; raises
    ExecutionError where one is missing, OpError where a result has another shape than its output.
    """
    attrs = with_values(origin.attrs, values) if values else origin.attrs
    result = kernel_value(origin.op, attrs, _arguments(origin, iter(inputs), values or {}))
    results = result if isinstance(result, tuple) else (result,)
    for target, found in zip(outputs, results, strict=True):
        if np.shape(found) != target.shape:
            raise OpError(
                f"{origin.op.name} of these arguments has shape {show(np.shape(found))}, not {show(target.shape)}"
            )
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
