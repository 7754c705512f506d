"""Indices may be of any integer dtype, on both backends."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relax_ir
from relay2relax.core.errors import ExecutionError

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func
    def f(
        a: T.Buffer((4,), "DTYPE"),
        w: T.Buffer((300,), "int32"),
        b: T.Buffer((4,), "int32"),
        c: T.Buffer((300,), "int32"),
    ):
        T.func_attr({"num_outputs": 2})
        for i in range(300):
            with T.block("c"):
                v = T.axis.spatial(300, i)
                c[v] = 0
        for i in range(4):
            with T.block("b"):
                v = T.axis.spatial(4, i)
                b[v] = w[a[v]]
                c[a[v]] = v + 1

    @R.function
    def main(a: R.Tensor((4,), "DTYPE"), w: R.Tensor((300,), "int32")):
        return R.call_tir(
            Module.f, (a, w), out_sinfo=[R.Tensor((4,), "int32"), R.Tensor((300,), "int32")]
        )
"""
# The largest number lies inside of the table, or outside.
DTYPES = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("dtype", DTYPES)
def test_indices(dtype: str, target: str) -> None:
    module = relax_ir.parse(SCRIPT.replace("DTYPE", dtype))
    run = backends.VirtualMachine(backends.build(module, target=target))["main"]
    weights = np.arange(300, dtype=np.int32) * 7
    largest = np.iinfo(dtype).max
    places = np.array([0, 3, 5, min(largest, 299)], dtype)
    found, stored = run(places, weights)
    np.testing.assert_array_equal(found, weights[places])
    wanted = np.zeros(300, np.int32)
    wanted[places] = [1, 2, 3, 4]
    np.testing.assert_array_equal(stored, wanted)
    if largest > 300:
        with pytest.raises(ExecutionError):
            run(np.array([0, 1, 2, largest], dtype), weights)
