"""The value of integer expressions whose variables are known: extents when a program runs."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from relay2relax.core.errors import ExecutionError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.ir.expr import Binary, BufferLoad, Cast, IntImm, PrimExpr, Select, Var


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise ExecutionError(f"an extent is {a} // 0")
    return a // b


def _remainder(a: int, b: int) -> int:
    if b == 0:
        raise ExecutionError(f"an extent is {a} % 0")
    return a % b


_INTEGER: Mapping[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "//": _quotient,
    "%": _remainder,
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


def no_extent(expr: PrimExpr) -> ExecutionError:
    """Return what is said of an expression that extents alone do not decide."""
    if isinstance(expr, BufferLoad):
        problem = f"an extent is read from {expr.buffer.name!r}; extents are known before a program runs"
    else:
        problem = f"an extent is computed with {getattr(expr, 'name', type(expr).__name__)}, which extents are not"
    return ExecutionError(problem)


def is_computed(expr: PrimExpr, known: Collection[Var]) -> bool:
    """Whether ``expr`` can be computed from the values of the variables ``known``."""
    match expr:
        case IntImm():
            return True
        case Var():
            return expr in known
        case Binary(op, a, b):
            return op in _INTEGER and is_computed(a, known) and is_computed(b, known)
        case Cast(_, value):
            return value.dtype in ("int32", "int64") and is_computed(value, known)
        case Select(condition, a, b):
            return is_computed(condition, known) and is_computed(a, known) and is_computed(b, known)
    return False


def integer(expr: PrimExpr, values: Mapping[Var, int]) -> int:
    """Return the value of an integer expression over bound variables.

    Raises ExecutionError where one is free.
    """
    match expr:
        case IntImm(value):
            return value
        case Var(name) if expr in values:
            return int(values[expr])
        case Var(name):
            raise ExecutionError(mistake(running.EXTENT, name=name))
        case Binary(op, a, b) if op in _INTEGER:
            return int(_INTEGER[op](integer(a, values), integer(b, values)))
        case Cast(_, value):
            return integer(value, values)
        case Select(condition, a, b):
            return integer(a if integer(condition, values) else b, values)
    raise no_extent(expr)


def extent_function(expr: PrimExpr, places: Mapping[Var, int]) -> Callable[[Sequence[int]], int]:
    """Return a function that computes ``expr`` from a list of values, in which ``places`` says
    where variables are.
    """
    match expr:
        case IntImm(constant):
            return lambda values: constant
        case Var(name):
            if expr not in places:
                raise ExecutionError(mistake(running.EXTENT, name=name))
            place = places[expr]
            return lambda values: values[place]
        case Binary(op, a, b) if op in _INTEGER:
            operation, left, right = _INTEGER[op], extent_function(a, places), extent_function(b, places)
            return lambda values: int(operation(left(values), right(values)))
        case Cast(_, inner):
            return extent_function(inner, places)
        case Select(condition, a, b):
            decides = extent_function(condition, places)
            first, second = extent_function(a, places), extent_function(b, places)
            return lambda values: first(values) if decides(values) else second(values)
    raise no_extent(expr)
