"""Temporaries of a negative extent are refused in the same words on every target."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relax_ir
from relay2relax.core.errors import ExecutionError

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def k(a: T.handle, b: T.handle):
        n = T.int64()
        A = T.match_buffer(a, (n,), "float32")
        B = T.match_buffer(b, (n,), "float32")
        C = T.alloc_buffer((2, n - 100), "float32")
        for i in range(n):
            C[0, i - 100] = A[i]
        for i in range(n):
            B[i] = C[0, i - 100]

    @R.function
    def main(x: R.Tensor(("n",), "float32")):
        n = T.int64()
        cls = Module
        y = R.call_tir(cls.k, (x,), R.Tensor((n,), "float32"))
        return y
"""


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_the_extent_is_said(target: str) -> None:
    main = backends.VirtualMachine(backends.build(relax_ir.parse(SCRIPT), target))["main"]
    with pytest.raises(ExecutionError, match="dimension 1 of 'C' has extent -97, which is negative"):
        main(np.ones(3, np.float32))
