"""What a call of a PrimFunc fixes before it runs: the values of symbolic extents and of scalar parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ExecutionError
from relay2relax.tir.expr import Binary, Cast, IntImm, PrimExpr, Var
from relay2relax.tir.stmt import PrimFunc

_INTEGER: Mapping[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "min": min,
    "max": max,
    "<": lambda a, b: int(a < b),
    "<=": lambda a, b: int(a <= b),
    ">": lambda a, b: int(a > b),
    ">=": lambda a, b: int(a >= b),
    "==": lambda a, b: int(a == b),
    "!=": lambda a, b: int(a != b),
    "and": lambda a, b: int(bool(a and b)),
    "or": lambda a, b: int(bool(a or b)),
}


def integer(expr: PrimExpr, values: Mapping[Var, int]) -> int:
    """Return the value of an integer expression over bound variables; raises ExecutionError where one is
    free.
    """
    match expr:
        case IntImm(value):
            return value
        case Var(name) if expr in values:
            return int(values[expr])
        case Var(name):
            raise ExecutionError(f"the value of symbolic extent {name!r} is not known here")
        case Binary(op, a, b) if op in _INTEGER:
            return int(_INTEGER[op](integer(a, values), integer(b, values)))
        case Cast(_, value):
            return integer(value, values)
    raise ExecutionError(f"{expr!r} is not an extent")


def extent_function(expr: PrimExpr, places: Mapping[Var, int]) -> Callable[[Sequence[int]], int]:
    """Return a function that computes ``expr`` from a list of values, in which ``places`` says where variables are."""
    match expr:
        case IntImm(constant):
            return lambda values: constant
        case Var(name):
            if expr not in places:
                raise ExecutionError(f"the value of symbolic extent {name!r} is not known here")
            place = places[expr]
            return lambda values: values[place]
        case Binary(op, a, b) if op in _INTEGER:
            operation, left, right = _INTEGER[op], extent_function(a, places), extent_function(b, places)
            return lambda values: int(operation(left(values), right(values)))
        case Cast(_, inner):
            return extent_function(inner, places)
    raise ExecutionError(f"{expr!r} is not an extent")


def bind_call(func: PrimFunc, arrays: Sequence[Array], scalars: Sequence[int] = ()) -> dict[Var, int]:
    """Return the value of every variable in the shapes of ``func``'s buffers, and of its scalar parameters.

    ``arrays`` follow the buffers of the parameters. Raises ExecutionError naming function, parameter and
    dimension where an array does not fit."""
    buffers = func.buffers
    if len(arrays) != len(buffers):
        raise ExecutionError(f"{func.name} takes {len(buffers)} arrays, {len(arrays)} were given")
    values: dict[Var, int] = {}
    parameters = [p for p in func.params if p not in func.buffer_map]
    if len(scalars) != len(parameters):
        raise ExecutionError(f"{func.name} takes {len(parameters)} scalars, {len(scalars)} were given")
    values.update(zip(parameters, (int(s) for s in scalars), strict=True))
    for buffer, array in zip(buffers, arrays, strict=True):
        what, rank = f"{func.name}: argument {buffer.name!r}", len(buffer.shape)
        if array.dtype != numpy_dtype(buffer.dtype):
            raise ExecutionError(f"{what} has dtype {array.dtype}, expected {buffer.dtype}")
        if array.ndim != rank:
            raise ExecutionError(f"{what} has {array.ndim} dimensions, expected {rank}")
        for extent, actual in zip(buffer.shape, array.shape, strict=True):
            if isinstance(extent, Var):
                values.setdefault(extent, int(actual))
    for buffer, array in zip(buffers, arrays, strict=True):
        for dimension, (extent, actual) in enumerate(zip(buffer.shape, array.shape, strict=True)):
            expected = integer(extent, values)
            if expected != actual:
                what = f"{func.name}: dimension {dimension} of argument {buffer.name!r}"
                raise ExecutionError(f"{what} is {actual}, expected {expected}")
    return values
