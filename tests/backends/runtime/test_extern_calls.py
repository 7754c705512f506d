"""Functions that tensor programs call by name, on numpy and in C."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import ExecutionError, ParseError

TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]
DATA = np.linspace(-3, 3, 12, dtype="float32").reshape(3, 4)


def build(body: str, target: str, constant: bool = False) -> Any:
    lines = "\n".join(f"        {line}" for line in body.strip("\n").splitlines())
    argument = "R.const([[1, 2, 3, 4], [5, 6, 7, 8], [9, 10, 11, 12]], 'float32')" if constant else "x"
    module = rx.parse(f"""
@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def f(A: T.Buffer((3, 4), "float32"), B: T.Buffer((3, 4), "float32")):
{lines}

    @R.function
    def main(x: R.Tensor((3, 4), "float32")) -> R.Tensor((3, 4), "float32"):
        cls = Module
        with R.dataflow():
            twice = R.add(x, x)
            y = R.call_tir(cls.f, ({argument},), R.Tensor((3, 4), dtype="float32"))
            z = R.add(y, twice)
            R.output(z)
        return z
""")
    assert rx.first_difference(rx.parse(module.script()), module) is None
    return backends.build(module, target)


def run(body: str, target: str, constant: bool = False) -> np.ndarray:
    """Return what the tensor program ``body`` makes of DATA."""
    result = backends.VirtualMachine(build(body, target, constant))["main"](DATA)
    found: np.ndarray = np.asarray(result) - (DATA + DATA)
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize(
    ("call", "expected"),
    [
        ('T.call_pure_extern("float32", "expf", A[i, j])', np.exp(DATA)),
        ('T.call_extern("float32", "atan2f", A[i, j], T.float32(2))', np.arctan2(DATA, 2)),
        ('T.call_pure_extern("float32", "rintf", A[i, j] * T.float32(0.5))', np.rint(DATA / 2)),
        ('T.Cast("float32", T.call_pure_extern("float64", "erf", T.Cast("float64", T.float32(0))))', DATA * 0),
    ],
)
def test_the_math_library(call: str, expected: np.ndarray, target: str) -> None:
    found = run(f"for i, j in T.grid(3, 4):\n    B[i, j] = {call}", target)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_registered_functions_of_numbers(target: str) -> None:
    calls: list[tuple[Any, ...]] = []

    @backends.register_func("test.outside.scalar", override=True)
    def scalar(x: float, place: int, word: str) -> float:
        calls.append((type(x), type(place), word))
        return x * 10 + place

    found = run(
        """
for i, j in T.grid(3, 4):
    with T.sblock("B"):
        vi, vj = T.axis.remap("SS", [i, j])
        B[vi, vj] = T.if_then_else(
            vi == 1, T.call_extern("float32", "test.outside.scalar", A[vi, vj], vj, "word"), A[vi, vj])
""",
        target,
    )
    expected = DATA.copy()
    expected[1] = DATA[1] * 10 + np.arange(4)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert calls == [(float, int, "word")] * 4


@pytest.mark.parametrize("target", TARGETS)
def test_registered_functions_of_memory(target: str) -> None:
    @backends.register_func("test.outside.rows", override=True)
    def rows(source: np.ndarray, destination: np.ndarray, count: int) -> None:
        destination[:count] = source[:count] + 1

    @backends.register_func("test.outside.arrays", override=True)
    def arrays(source: np.ndarray, destination: np.ndarray, columns: np.ndarray) -> None:
        assert source.shape == destination.shape == (3, 4)
        assert columns.shape == (4, 3)
        destination += columns.T

    found = run(
        """
for i in range(3):
    T.evaluate(T.call_extern("int32", "test.outside.rows", T.address_of(A[i, 0]), T.address_of(B[i, 0]), 4))
with T.sblock("packed"):
    T.reads(A[0:3, 0:4])
    T.writes(B[0:3, 0:4])
    T.call_packed("test.outside.arrays",
        T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(3, 4), 0, 2, T.float32(0), 0),
        T.tvm_stack_make_array(B.data, T.tvm_stack_make_shape(3, 4), 0, 2, T.float32(0), 0),
        T.tvm_stack_make_array(A.data, T.tvm_stack_make_shape(4, 3), T.tvm_stack_make_shape(1, 4), 2, T.float32(0), 0))
""",
        target,
    )
    np.testing.assert_allclose(found, 2 * DATA + 1, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("target", TARGETS)
def test_a_function_that_nobody_registered(target: str) -> None:
    body = 'for i, j in T.grid(3, 4):\n    B[i, j] = T.call_extern("float32", "test.outside.nobody", A[i, j])'
    with pytest.raises(ExecutionError, match=r"no function 'test\.outside\.nobody' is registered"):
        backends.VirtualMachine(build(body, target))


def test_symbols_of_the_process_are_not_called() -> None:
    with pytest.raises(ExecutionError, match="no function 'abort' is registered"):
        run('T.evaluate(T.call_extern("int32", "abort"))', "numpy")


def test_constants_are_not_folded_through_them() -> None:
    """A function may be registered after the program was built, and may answer otherwise each
    time.
    """
    body = 'for i, j in T.grid(3, 4):\n    B[i, j] = T.call_extern("float32", "test.outside.later", A[i, j])'
    executable = build(body, "numpy", constant=True)
    for factor in (2, 3):
        backends.register_func("test.outside.later", override=True)(lambda x, factor=factor: x * factor)
        found = backends.VirtualMachine(executable)["main"](DATA) - 2 * DATA
        np.testing.assert_allclose(found, np.arange(1, 13).reshape(3, 4) * factor, rtol=1e-5, atol=1e-5)


def test_a_function_has_a_name() -> None:
    with pytest.raises(ParseError, match="an external function has a name"):
        build('T.evaluate(T.call_extern("int32", A[0, 0]))', "numpy")
