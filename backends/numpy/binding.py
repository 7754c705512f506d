"""What a call of a PrimFunc fixes before it runs: the values of symbolic extents and of scalar
parameters.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_float, numpy_dtype
from relay2relax.core.errors import ExecutionError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import Var
from relay2relax.tir.ir.stmt import PrimFunc


def bind_call(func: PrimFunc, arrays: Sequence[Array], scalars: Sequence[float] = ()) -> dict[Var, Any]:
    """Return the value of every variable in the shapes of ``func``'s buffers, and of its scalar
    parameters.

    ``arrays`` follow the buffers of the parameters. Raises ExecutionError naming function,
    parameter and dimension where an array does not fit.
    """
    buffers = func.buffers
    if len(arrays) != len(buffers):
        raise ExecutionError(
            f"{func.name} takes {len(buffers)} arrays, {len(arrays)} were given", kind=running.ARGUMENT
        )
    values: dict[Var, Any] = {}
    parameters = [p for p in func.params if p not in func.buffer_map]
    if len(scalars) != len(parameters):
        raise ExecutionError(
            f"{func.name} takes {len(parameters)} scalars, {len(scalars)} were given", kind=running.ARGUMENT
        )
    for parameter, scalar in zip(parameters, scalars, strict=True):
        as_given = is_float(parameter.dtype) or parameter.dtype == "handle"
        values[parameter] = scalar if as_given else int(scalar)
    for buffer, array in zip(buffers, arrays, strict=True):
        what, rank = f"{func.name}: argument {buffer.name!r}", len(buffer.shape)
        if not isinstance(array, (np.ndarray, np.generic)):
            raise ExecutionError(
                mistake(running.ARGUMENT, what=what, found=f"type {type(array).__name__}", expected="a tensor")
            )
        if array.dtype != numpy_dtype(buffer.dtype):
            raise ExecutionError(
                mistake(running.ARGUMENT, what=what, found=f"dtype {array.dtype}", expected=buffer.dtype)
            )
        if array.ndim != rank:
            raise ExecutionError(mistake(running.ARGUMENT, what=what, found=f"{array.ndim} dimensions", expected=rank))
        for extent, actual in zip(buffer.shape, array.shape, strict=True):
            if isinstance(extent, Var):
                values.setdefault(extent, int(actual))
    for buffer, array in zip(buffers, arrays, strict=True):
        for dimension, (extent, actual) in enumerate(zip(buffer.shape, array.shape, strict=True)):
            expected = integer(extent, values)
            if expected != actual:
                what = f"{func.name}: dimension {dimension} of argument {buffer.name!r}"
                raise ExecutionError(mistake(running.ARGUMENT, what=what, found=f"extent {actual}", expected=expected))
    return values


def read_only(func: PrimFunc, number: int) -> ExecutionError:
    """Return the error of an array that ``func`` writes to and nobody may."""
    name = func.buffers[number].name
    return ExecutionError(f"{func.name}: argument {name!r} is read-only, and is written to", kind=running.ARGUMENT)


def check_apart(func: PrimFunc, arrays: Sequence[Array], written: Iterable[int]) -> None:
    """Raise ExecutionError where an array that ``func`` writes to, by its number, has an element
    that another one has, too: what is computed would depend on the order of loops.
    """
    for number in written:
        for other, array in enumerate(arrays):
            if other != number and np.may_share_memory(arrays[number], array) and _share(arrays[number], array):
                mine, its = func.buffers[number].name, func.buffers[other].name
                problem = f"arguments {mine!r} and {its!r} share memory, and {mine!r} is written to"
                raise ExecutionError(f"{func.name}: {problem}", kind=running.ARGUMENT)


def _share(a: Array, b: Array) -> bool:
    """Whether arrays have an element in common; where that takes long to find out, they do."""
    most: Any = 10_000
    try:
        return np.shares_memory(a, b, max_work=most)
    except RuntimeError:  # Of numpy: it would take longer than that.
        return True
