"""Calls that the virtual machine carries out itself, and the ways to write them: one module, on
every backend.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ExecutionError, ParseError

SCRIPT = """
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def accumulate(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2, 3), "float32"), C: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("both"):
                vi, vj = T.axis.remap("SS", [i, j])
                C[vi, vj] = A[vi, vj] * B[vi, vj]
                A[vi, vj] = A[vi, vj] + B[vi, vj]

    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((2, 3), "float32")):
        for i, j in T.grid(2, 3):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                A[vi, vj] = A[vi, vj] * T.float32(2)

    @T.prim_func(private=True, s_tir=True)
    def scaled(a: T.handle, factor: T.float32, shift: T.int64, b: T.handle):
        s0, s1 = T.int32(), T.int32()
        A = T.match_buffer(a, (2, 3), strides=[s0, s1], elem_offset=T.int32(), offset_factor=1)
        B = T.match_buffer(b, (2, 3), strides=[3, 1], elem_offset=0)
        A1 = T.decl_buffer((6,), data=A.data)
        for i in range(6):
            with T.sblock("scaled"):
                v = T.axis.spatial(6, i)
                B[v // 3, v % 3] = A1[v] * factor + T.Cast("float32", shift)

    @T.prim_func(private=True, s_tir=True)
    def largest(A: T.Buffer((2, 3), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("row"):
                vi = T.axis.spatial(2, i)
                with T.init():
                    B[vi] = T.min_value("float32")
                for j in range(3):
                    with T.sblock("element"):
                        vj = T.axis.reduce(3, j)
                        B[vi] = T.max(B[vi], A[vi, vj])

    @R.function
    def in_place(x: R.Tensor((2, 3), "float32"), y: R.Tensor((2, 3), "float32")):
        cls = Module
        with R.dataflow():
            a = R.add(x, x)
            both = R.call_tir_inplace(cls.accumulate, (a, y), [0, -1],
                                      [R.Tensor((2, 3), "float32"), R.Tensor((2, 3), "float32")])
            total = R.subtract(both[0], both[1])
            b = R.call_tir_inplace(cls.twice, (total,), 0, R.Tensor((2, 3), "float32"))
            c = R.add(b, y)
            R.output(c)
        return c

    @R.function
    def in_argument(x: R.Tensor((2, 3), "float32")):
        cls = Module
        y = R.call_tir_inplace(cls.twice, (x,), 0, R.Tensor((2, 3), "float32"))
        return y

    @R.function
    def numbers(x: R.Tensor((2, 3), "float32"), factor: R.Prim("float32")):
        cls = Module
        y = R.call_tir(cls.scaled, (x, factor, R.prim_value(4)), R.Tensor((2, 3), "float32"))
        return y

    @R.function
    def rows(x: R.Tensor((2, 3), "float32")):
        cls = Module
        y = R.call_tir(cls.largest, (x,), R.Tensor((2,), "float32"))
        return y

    @R.function
    def views(x: R.Tensor((2, 6), "float32")):
        with R.dataflow():
            tail = R.memory.view(x, R.shape([6]), R.dtype("float32"), R.prim_value(24))
            whole = R.memory.view(x, R.shape([12]))
            own = R.memory.ensure_zero_offset(tail)
            a = R.add(own, own)
            b = R.add(whole, whole)
            R.output(a, b)
        return (a, b)

    @R.function(pure=False)
    def memory(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2, 3), "float32"):
        cls = Module
        storage: R.Object = R.vm.alloc_storage(R.shape([24]), R.prim_value(0), R.dtype("uint8"), R.str("global"))
        y: R.Tensor((2, 3), "float32") = R.vm.alloc_tensor(storage, 0, R.shape([2, 3]), R.dtype("float32"))
        cls.scaled(x, R.prim_value(T.float32(2)), R.prim_value(1), y)
        R.vm.kill_object(storage)
        return y

    @R.function
    def shaped(x: R.Tensor((2, 3), "float32"), numbers: R.Tensor((2,), "int64")) -> R.Tensor("float32", ndim=2):
        shape: R.Shape(ndim=2) = R.tensor_to_shape(numbers)
        y = R.reshape(x, shape)
        return y

    @R.function
    def of_shape(shape: R.Shape(["n", "m"])):
        n, m = T.int64(), T.int64()
        y = R.full(R.shape([m, n]), R.const(1.5, "float32"), "float32")
        return y

    @R.function(pure=False)
    def asserted(x: R.Tensor(("n", 3), "float32")) -> R.Tensor(("n", 3), "float32"):
        n = T.int64()
        R.assert_op(R.prim_value(n * 2 > 3), R.prim_value(n), format="n is {}")
        return x

    @R.function
    def packed(x: R.Tensor((2, 3), "float32")) -> R.Tensor((2,), "int64"):
        shape: R.Shape(ndim=2) = R.call_pure_packed("vm.builtin.shape_of", x, ty_args=(R.Shape(ndim=2),))
        y = R.call_pure_packed("relax.run.shape_to_tensor", shape, ty_args=(R.Tensor((2,), "int64"),))
        return y

    @R.function
    def chosen(x: R.Tensor((), "int64")) -> R.Tensor((), "int64"):
        low = R.less(x, R.const(1, "int64"))
        middle = R.less(x, R.const(5, "int64"))
        if low:
            y = R.const(1, "int64")
        elif middle:
            y = R.add(x, x)
        else:
            y = R.multiply(x, x)
        return y
"""
X = np.arange(6, dtype=np.float32).reshape(2, 3)
Y = X[::-1] + 1
WIDE = np.arange(12, dtype=np.float32).reshape(2, 6)
CASES: dict[str, tuple[list[Any], Callable[[], Any]]] = {
    "in_place": ([X, Y], lambda: (2 * X + Y - 2 * X * Y) * 2 + Y),
    "in_argument": ([X], lambda: 2 * X),
    "numbers": ([X, 0.5], lambda: X / 2 + 4),
    "rows": ([X], lambda: X.max(axis=1)),
    "views": ([WIDE], lambda: (2 * WIDE[1], 2 * WIDE.reshape(12))),
    "memory": ([X], lambda: 2 * X + 1),
    "shaped": ([X, np.array([3, 2])], lambda: X.reshape(3, 2)),
    "of_shape": ([(2, 5)], lambda: np.full((5, 2), 1.5, np.float32)),
    "asserted": ([X], lambda: X),
    "packed": ([X], lambda: np.array([2, 3])),
    "chosen": ([np.array(3)], lambda: np.array(6)),
}


@pytest.fixture(scope="module")
def module() -> rx.IRModule:
    return rx.parse(SCRIPT)


@pytest.fixture(scope="module", params=["numpy", "c", pytest.param("tvm", marks=pytest.mark.tvm)])
def machine(request: pytest.FixtureRequest, module: rx.IRModule) -> backends.VirtualMachine:
    if request.param == "tvm":
        pytest.importorskip("tvm")
    return backends.VirtualMachine(backends.build(module, request.param))


@pytest.mark.parametrize("name", CASES)
def test_what_the_machine_carries_out_itself(machine: backends.VirtualMachine, name: str) -> None:
    args, expected = CASES[name]
    found = machine[name](*(np.array(arg) if isinstance(arg, np.ndarray) else arg for arg in args))
    wanted = expected()
    for one, other in zip(*((v if isinstance(v, tuple) else (v,)) for v in (found, wanted)), strict=True):
        np.testing.assert_array_equal(np.asarray(one), other)


def test_an_argument_that_is_written_holds_the_result(module: rx.IRModule) -> None:
    for target in ("numpy", "c"):
        machine = backends.VirtualMachine(backends.build(module, target))
        data = np.array(X.T, order="C").T  # Columns first: compiled code works on a copy.
        machine["in_argument"](data)
        np.testing.assert_array_equal(data, 2 * X)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_views_of_arguments_in_any_order_and_of_too_little(target: str) -> None:
    text = """
@R.function
def main(x: R.Tensor((2, 3), "float32"), y: R.Tensor(("n",), "float32")):
    a = R.memory.view(x, R.shape([6]))
    b = R.memory.view(y, R.shape([4]), R.dtype("float32"), R.prim_value(8))
    return (a, b)
"""
    machine = backends.VirtualMachine(backends.build(rx.parse(text), target))
    rows, rest = machine["main"](np.array(X.T, order="C").T, np.arange(6, dtype=np.float32))
    assert (rows.tolist(), rest.tolist()) == ([0, 1, 2, 3, 4, 5], [2, 3, 4, 5])
    with pytest.raises(ExecutionError, match="does not lie 8 bytes into 20 bytes"):
        machine["main"](X, np.arange(5, dtype=np.float32))


def test_the_script_comes_back(module: rx.IRModule) -> None:
    text = module.script("tvm-0.27")
    assert rx.parse(text).script("tvm-0.27") == text


def test_results_lie_in_arguments_of_their_kind() -> None:
    for written in ("[1]", "[0, 1]", "0", "[2]"):
        text = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((2,), "float32"), B: T.Buffer((3,), "float32")):
        for i in range(2):
            A[i] = A[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((3,), "float32"), y: R.Tensor((3,), "float32")):
        cls = Module
        z = R.call_tir_inplace(cls.twice, (x, y), {written}, R.Tensor((2,), "float32"))
        return z
"""
        with pytest.raises(ParseError, match=r"R\.call_tir_inplace of twice"):
            rx.parse(text)


@pytest.mark.parametrize(
    ("args", "places", "said"),
    [
        ("x, y", "[-1]", "twice has 2 parameters; call_tir_inplace passes 2 arguments, 0 scalars and 1 results"),
        ("x, y, y", "[0]", "twice has 2 parameters; call_tir_inplace passes 3 arguments, 0 scalars and 0 results"),
        ("x,", "[0]", "twice has 2 parameters; call_tir_inplace passes 1 arguments, 0 scalars and 0 results"),
        ("x, i", "[0]", "argument 1 of twice: dtype int32, expected float32"),
    ],
)
def test_calls_pass_what_the_prim_func_takes(args: str, places: str, said: str) -> None:
    """``-1`` stands for a result that the PrimFunc takes after the arguments."""
    text = f"""
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def twice(A: T.Buffer((2,), "float32"), B: T.Buffer((2,), "float32")):
        for i in range(2):
            A[i] = B[i] * T.float32(2)

    @R.function
    def main(x: R.Tensor((2,), "float32"), y: R.Tensor((2,), "float32"), i: R.Tensor((2,), "int32")):
        cls = Module
        z = R.call_tir_inplace(cls.twice, ({args}), {places}, R.Tensor((2,), "float32"))
        return z
"""
    with pytest.raises(rx.WellFormedError) as caught:
        rx.parse(text)
    assert said in str(caught.value)
