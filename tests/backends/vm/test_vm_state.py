"""Calls in parts, calls that are kept, and what sees the machine's calls."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relax_ir
from relay2relax.core.errors import ExecutionError

TARGETS = ["numpy", pytest.param("c", marks=pytest.mark.compiler)]
each_target = pytest.mark.parametrize("target", [*TARGETS, pytest.param("tvm", marks=pytest.mark.tvm)])
SCRIPT = """
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n",), dtype="float32"), w: R.Tensor((1,), dtype="float32")):
        n = T.int64()
        a: R.Tensor((n,), dtype="float32") = R.add(x, w)
        b: R.Tensor((n,), dtype="float32") = R.multiply(a, a)
        return (a, b)
"""
X, W = np.array([1, 2, 3], "float32"), np.array([1], "float32")


def machine(target: str) -> backends.VirtualMachine:
    return backends.VirtualMachine(backends.build(relax_ir.parse(SCRIPT), target=target))


@each_target
def test_calls_in_parts(target: str) -> None:
    vm = machine(target)
    with pytest.raises(ExecutionError, match="main has no inputs"):
        vm.invoke_stateful("main")
    vm.set_input("main", X, W)
    with pytest.raises(ExecutionError, match="main has no outputs"):
        vm.get_outputs("main")
    vm.invoke_stateful("main")
    first, second = vm.get_outputs("main")
    assert np.asarray(first).tolist() == [2.0, 3.0, 4.0]
    assert np.asarray(second).tolist() == [4.0, 9.0, 16.0]


def test_inputs_by_name() -> None:
    vm = machine("numpy")
    vm.set_input("main", w=W, x=X)
    vm.invoke_stateful("main")
    assert vm.get_outputs("main")[1].tolist() == [4.0, 9.0, 16.0]
    vm.set_input("main", X)
    with pytest.raises(ExecutionError, match="missing arguments: w"):
        vm.invoke_stateful("main")
    with pytest.raises(ExecutionError, match="no function 'other'"):
        vm.set_input("other", X)


@each_target
def test_calls_that_are_kept(target: str) -> None:
    vm = machine(target)
    vm.save_function("main", "on_x", X, W)
    assert np.asarray(vm["on_x"]()[1]).tolist() == [4.0, 9.0, 16.0]
    for name in ("on_x", "main"):
        with pytest.raises(ExecutionError, match=f"has a function '{name}' already"):
            vm.save_function("main", name, X, W)


@pytest.mark.parametrize("target", TARGETS)
def test_instruments(target: str) -> None:
    vm = machine(target)
    seen: list[tuple[str, bool]] = []

    def look(function: Any, name: str, before: bool, result: Any, *args: Any) -> int:
        seen.append((name, before))
        assert callable(function)
        return 0

    vm.set_instrument(look)
    assert vm["main"](X, W)[1].tolist() == [4.0, 9.0, 16.0]
    names = [name for name, before in seen if before]
    assert names[:2] == ["vm.builtin.alloc_shape_heap", "vm.builtin.check_tensor_info"]
    assert [name for name, before in seen if not before] == names
    assert {"relax.add", "relax.multiply"} <= set(names) or any(name.startswith("fused_") for name in names)
    with pytest.raises(ExecutionError, match="dimension 0 is 2, expected 1"):
        vm["main"](X, X[:2])
    del seen[:]
    vm.set_instrument(None)
    vm["main"](X, W)
    assert not seen


def test_instruments_leave_calls_out() -> None:
    vm = machine("numpy")
    vm.set_instrument(lambda function, name, before, result, *args: int(before and name == "relax.multiply"))
    assert vm["main"](X, W)[1] is None
