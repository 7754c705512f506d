"""Numbers that are no tensors as operands and attributes of operators, on every machine that takes
them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from typed import of_type

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError

ROW = np.array([1, 4, 2], np.int64)
TABLE = np.arange(12, dtype=np.float32).reshape(3, 4)
X, T = 'x: R.Tensor((3,), "int64")', 'x: R.Tensor((3, 4), "float32")'
# Parameters and call; arguments; what comes out, by hand.
CASES: dict[str, tuple[str, str, list[Any], Any]] = {
    "number": (X, "R.add(x, R.prim_value(2))", [ROW], ROW + 2),
    "parameter": (f"{X}, n: T.int64", "R.add(x, n)", [ROW, 5], ROW + 5),
    "on the left": (f"{X}, n: T.int64", "R.subtract(n, x)", [ROW, 5], 5 - ROW),
    "narrow": (
        'x: R.Tensor((2,), "int32"), n: T.int32',
        "R.multiply(x, n)",
        [np.array([3, 4], np.int32), 2],
        np.array([6, 8], np.int32),
    ),
    "compared": (f"{X}, n: T.int64", "R.less(x, n)", [ROW, 2], ROW < 2),
    "real": (f"{T}, n: T.float32", "R.maximum(x, n)", [TABLE, 4.5], np.maximum(TABLE, np.float32(4.5))),
    "dimension": ('x: R.Tensor((3, "n"), "float32")', "R.take(x, R.prim_value(n - 1), axis=1)", [TABLE], TABLE[:, 3]),
    "place": (f"{T}, n: T.int64", "R.take(x, n, axis=0)", [TABLE, 1], TABLE[1]),
    "unit matrix": ("n: T.int64, k: T.int64", 'R.eye(n, 3, k, dtype="float32")', [2, 1], np.eye(2, 3, 1, np.float32)),
    "triangle": (f"{T}, k: T.int64", "R.tril(x, k)", [TABLE, 1], np.tril(TABLE, 1)),
    "row": ("n: T.int64, m: T.int64", 'R.arange(n, m, 2, dtype="int64")', [1, 6], np.arange(1, 6, 2)),
    "extent": (f"{X}, n: T.int64", "R.reshape(x, (n, -1))", [ROW, 3], ROW.reshape(3, 1)),
    "spread": ('x: R.Tensor((1,), "int64"), n: T.int64', "R.broadcast_to(x, (n,))", [ROW[:1], 4], ROW[[0] * 4]),
}


def script(params: str, call: str) -> str:
    return f"@R.function\ndef main({params}):\n    y = {call}\n    return y\n"


@pytest.mark.parametrize("target", ["numpy", pytest.param("c", marks=pytest.mark.compiler)])
@pytest.mark.parametrize("name", CASES)
def test_scalars(name: str, target: str) -> None:
    params, call, arguments, expected = CASES[name]
    module = rx.parse(script(params, call))
    found = backends.VirtualMachine(backends.build(module, target))["main"](*arguments)
    assert found.dtype == expected.dtype
    np.testing.assert_array_equal(found, expected)
    assert rx.parse(module.script()).script() == module.script()


@pytest.mark.tvm
@pytest.mark.parametrize("name", CASES)
def test_apache_tvm_computes_the_same(name: str) -> None:
    tvm = pytest.importorskip("tvm")
    from tvm import relax

    params, call, arguments, expected = CASES[name]
    module = tvm.IRModule({"main": tvm.script.from_source(script(params, call)).with_attr("global_symbol", "main")})
    machine = relax.VirtualMachine(relax.build(module, target="llvm"), tvm.cpu())
    given = [tvm.runtime.tensor(one) if isinstance(one, np.ndarray) else one for one in arguments]
    np.testing.assert_array_equal(machine["main"](*given).numpy(), expected)


def test_operators_of_numbers_alone_make_numbers() -> None:
    module = rx.parse(script("n: T.int64, m: T.int64", "R.add(n, m)"))
    assert of_type(module["main"], rx.Function).ret == rx.PrimStructInfo("int64")


def test_other_operators_take_tensors() -> None:
    for call in ("R.exp(n)", 'R.full((2,), n, dtype="float32")', "R.where(R.const(True), n, n)"):
        with pytest.raises(Relay2RelaxError, match="is a scalar, expected a tensor"):
            rx.parse(script("n: T.float32", call))


def test_attributes_that_only_the_running_program_knows_are_kept() -> None:
    text = script(f"{T}, n: T.float32", "R.clip(x, 0, n)")
    module = rx.parse(text)
    assert "R.clip(x, 0, n)" in module.script()
    with pytest.raises(Relay2RelaxError, match=r"R\.clip cannot be run .* no place for one of these arguments"):
        backends.VirtualMachine(backends.build(module))["main"](TABLE, 1.0)


def test_results_have_the_shape_of_a_parameter() -> None:
    text = 'def main(s: R.Shape([2, 3]), v: R.Tensor((), "float32")) -> R.Tensor(s, "float32"):'
    module = rx.parse(f"@R.function\n{text}\n    y: R.Tensor(s, 'float32') = R.full(s, v)\n    return y\n")
    assert of_type(module["main"], rx.Function).ret == rx.TensorStructInfo((2, 3), "float32")
