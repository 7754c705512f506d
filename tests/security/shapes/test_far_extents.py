"""Extents beyond what proofs look at are refused on target c, unless there is nothing to access."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay2relax import relax_ir
from relay2relax.backends.c import compile_prim_funcs
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.tir.ir.stmt import PrimFunc

FAR = 1 << 31
# Places that are inside for all extents of int32, and outside for some beyond.
SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def first(a: T.handle, b: T.handle):
        T.func_attr({"num_outputs": 1})
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "int8")
        B = T.match_buffer(b, (4,), "int8")
        for i in range(4):
            B[i] = T.int8(1)
        B[T.min(n * T.int64(4294967296), T.int64(3))] = T.int8(1)

    @T.prim_func
    def between(a: T.handle, b: T.handle):
        T.func_attr({"num_outputs": 1})
        n, m = T.int64(), T.int64()
        A = T.match_buffer(a, (n, m), "int8")
        B = T.match_buffer(b, (), "int8")
        S = T.alloc_buffer((n,), "int8")
        for i in range(n):
            S[i] = T.int8(1)
        B[()] = S[n - T.int64(1)]
"""


def _far(*shape: int) -> Array:
    """Return zeros of a shape that no memory holds: all of them are one."""
    return np.broadcast_to(np.int8(0), shape)


def _function(name: str) -> PrimFunc:
    functions = relax_ir.parse(SCRIPT).functions.values()
    return next(func for func in functions if isinstance(func, PrimFunc) and func.name == name)


def _calls(name: str) -> tuple[Callable[..., None], Callable[..., None]]:
    compiled = compile_prim_funcs([_function(name)])
    return compiled.kernel(name), lambda *arrays: compiled.call(name, *arrays)


@pytest.mark.compiler
@pytest.mark.parametrize("shape", [(FAR, 1), (FAR, 0), (1 << 62, 0), (1, FAR)])
def test_places_of_far_extents(shape: tuple[int, ...]) -> None:
    result = np.zeros(4, np.int8)
    for call in _calls("first"):
        with pytest.raises(ExecutionError, match=f"is beyond {FAR - 1}, and 'B' is not empty"):
            call(_far(*shape), result)
        if shape[0] == 1:
            call(np.ones((1, 1), np.int8), result)
            assert result.tolist() == [1] * 4


@pytest.mark.compiler
def test_temporaries_of_far_extents() -> None:
    result = np.zeros((), np.int8)
    for call in _calls("between"):
        with pytest.raises(ExecutionError, match=f"extent n = {FAR} is beyond {FAR - 1}, and 'S' is not empty"):
            call(_far(FAR, 0), result)
