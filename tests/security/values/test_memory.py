"""Memory that a program asks for, or in which it says a tensor lies."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import backends, relax_ir
from relay2relax.core.errors import ExecutionError, UnsupportedError

STORED = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def main(a: R.Tensor((8,), "float32")):
        s: R.Object = R.vm.alloc_storage(R.shape([64]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
        t = R.vm.alloc_tensor(s, R.prim_value(OFFSET), R.shape([8]), R.dtype("float32"))
        return t
"""
KERNEL = """
@I.ir_module
class Module:
    @T.prim_func
    def kernel(A: T.Buffer((8,), "float32"), I: T.Buffer((8,), "int32"), B: T.Buffer((8,), "float32")):
        DEFINED
        for i in range(8):
            C[i] = A[i] * T.float32(10)
        for i in range(8):
            B[i] = C[i]

    @R.function
    def main(a: R.Tensor((8,), "float32"), i: R.Tensor((8,), "int32")) -> R.Tensor((8,), "float32"):
        return R.call_tir(Module.kernel, (a, i), out_sinfo=R.Tensor((8,), "float32"))
"""


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("offset", [-4096, -1, 33, 1 << 40])
def test_a_tensor_lies_in_its_storage(target: str, offset: int) -> None:
    module = relax_ir.parse(STORED.replace("OFFSET", str(offset)))
    machine = backends.VirtualMachine(backends.build(module, target=target))
    with pytest.raises(ExecutionError, match="does not lie"):
        machine["main"](np.ones(8, np.float32))


def run(target: str, defined: str) -> np.ndarray:
    module = relax_ir.parse(KERNEL.replace("DEFINED", defined), check_well_formed=False)
    machine = backends.VirtualMachine(backends.build(module, target=target))
    found: np.ndarray = machine["main"](np.ones(8, np.float32), np.full(8, 8, np.int32))
    return found


@pytest.mark.compiler
@pytest.mark.parametrize(
    "defined",
    [
        'C = T.alloc_buffer((I[0],), "float32")',
        'C = T.alloc_buffer((T.int64(35184372088832),), "float32")',
        'C = T.alloc_buffer((T.int64(4611686018427387904),), "float32")',
        'C = T.alloc_buffer((8,), "float32", elem_offset=-1000000000)',
    ],
)
@pytest.mark.parametrize("checked", [False, True])
def test_c_refuses_memory_that_it_cannot_have(defined: str, checked: bool) -> None:
    module = relax_ir.parse(KERNEL.replace("DEFINED", defined), check_well_formed=False)
    with pytest.raises(UnsupportedError, match="C has no memory for"):
        backends.build(module, target="c", checked=checked)


@pytest.mark.parametrize("steps", ["(-100000000,)", "(100000000,)", "(-1,)", "(2,)"])
def test_numpy_looks_at_steps(steps: str) -> None:
    with pytest.raises(ExecutionError, match="the memory where it lies 8"):
        run("numpy", f'C = T.decl_buffer((8,), "float32", data=B.data, strides={steps})')


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
def test_memory_that_is_there_is_given(target: str) -> None:
    np.testing.assert_array_equal(run(target, 'C = T.alloc_buffer((8,), "float32")'), np.full(8, 10, np.float32))
