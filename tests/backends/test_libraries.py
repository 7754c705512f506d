"""Matrix products and convolutions that go to OpenBLAS and PyTorch."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from relay2relax import backends, relay_ir, translator
from relay2relax.backends import libraries
from relay2relax.core.errors import UnsupportedError
from relay2relax.relax_ir import parse
from relay2relax.relax_ir.ir.expr import IRModule
from relay2relax.relax_ir.transform import DispatchCalls

RANDOM = np.random.default_rng(23)
PACKAGES = {"openblas": "scipy_openblas32", "torch": "torch"}


@pytest.fixture(params=PACKAGES)
def dispatch(request: pytest.FixtureRequest) -> Callable[[IRModule], IRModule]:
    """The pass for one library; skips the test where that is not installed."""
    pytest.importorskip(PACKAGES[request.param])
    return DispatchCalls(getattr(libraries, request.param)())


def normal(*shape: int, dtype: str = "float32") -> np.ndarray:
    return RANDOM.standard_normal(shape).astype(dtype)


def product(left: str, right: str, dtype: str = "float32", options: str = "") -> IRModule:
    return parse(f"""
from tvm.script import ir as I
from tvm.script import relax as R
@I.ir_module
class Module:
    @R.function
    def main(a: R.Tensor({left}, dtype="{dtype}"), b: R.Tensor({right}, dtype="{dtype}")):
        with R.dataflow():
            c = R.matmul(a, b{options})
            R.output(c)
        return c
""")


def convolution(options: str, data: str = "(2, 6, 9, 8)", weight: str = "(4, 3, 3, 2)") -> IRModule:
    module = relay_ir.parse(f"""#[version = "0.0.5"]
def @main(%x: Tensor[{data}, float32], %w: Tensor[{weight}, float32]) {{ nn.conv2d(%x, %w, {options}) }}""")
    return translator.via_graph(module)


def run(module: IRModule, *args: np.ndarray, target: str = "numpy") -> Any:
    return backends.VirtualMachine(backends.build(module, target=target))["main"](*args)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("left", "right"),
    [((3, 4), (4, 5)), ((2, 3, 4), (4, 5)), ((2, 1, 3, 4), (7, 4, 5)), ((3, 4), (2, 4, 5)), ((2, 3, 0), (0, 5))],
)
def test_products(
    left: tuple[int, ...], right: tuple[int, ...], dtype: str, dispatch: Callable[[IRModule], IRModule]
) -> None:
    module = dispatch(product(str(left), str(right), dtype))
    assert ".matmul" in module.script()
    assert "R.matmul" not in module.script()
    a, b = normal(*left, dtype=dtype), normal(*right, dtype=dtype)
    a.flags.writeable = False
    np.testing.assert_allclose(run(module, a, b), a @ b, rtol=1e-4, atol=1e-5)


@pytest.mark.compiler
def test_beside_compiled_code(dispatch: Callable[[IRModule], IRModule], tmp_path: Path) -> None:
    module = relay_ir.parse("""#[version = "0.0.5"]
def @main(%x: Tensor[(?, 8), float32], %w: Tensor[(5, 8), float32]) { nn.relu(nn.dense(%x, %w, units=5)) }""")
    weight = normal(5, 8)
    relax = dispatch(translator.via_graph(module, {"w": weight}))
    assert "R.call_dps_packed" in relax.script()
    executable = backends.build(relax, target="c")
    executable.save(tmp_path / "dense.r2r")
    for rows in (1, 4):
        x = normal(rows, 8)
        for one in (executable, backends.Executable.load(tmp_path / "dense.r2r")):
            found = backends.VirtualMachine(one)["main"](x)
            np.testing.assert_allclose(found, np.maximum(x @ weight.T, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [
        "groups=2, channels=4, kernel_size=[3, 2]",
        "groups=2, channels=4, kernel_size=[3, 2], padding=[1, 2, 1, 2], strides=[2, 1]",
        "groups=2, channels=4, kernel_size=[3, 2], padding=[1], dilation=[2, 3], strides=[1, 2]",
    ],
)
def test_convolutions(options: str, dispatch: Callable[[IRModule], IRModule]) -> None:
    plain = convolution(options)
    module = dispatch(plain)
    assert "R.nn.conv2d" not in module.script()
    x, w = normal(2, 6, 9, 8), normal(4, 3, 3, 2)
    np.testing.assert_allclose(run(module, x, w), run(plain, x, w), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "module",
    [
        product("(3, 4)", "(4, 5)", "float16"),
        product("(3, 4)", "(4, 5)", "int32"),
        product("(4,)", "(4, 5)"),
        product("(3, 4)", "(4, 5)", options=', out_dtype="float64"'),
        convolution("kernel_size=[3, 2], channels=4, groups=2, padding=[0, 0, 1, 1]"),
        convolution(
            'kernel_size=[3, 2], channels=4, data_layout="NHWC", kernel_layout="HWIO"', "(2, 9, 8, 3)", "(3, 2, 3, 4)"
        ),
    ],
    ids=["half", "integers", "vector", "wider", "one-sided", "layout"],
)
def test_what_is_not_the_librarys_stays(module: IRModule, dispatch: Callable[[IRModule], IRModule]) -> None:
    assert "call_dps_packed" not in dispatch(module).script()


@pytest.mark.parametrize("name", PACKAGES)
def test_an_absent_library_is_named(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def absent(module: str, *args: Any, **named: Any) -> Any:
        if module == PACKAGES[name]:
            raise ImportError(f"No module named {module!r}")
        return real(module, *args, **named)

    monkeypatch.setattr(builtins, "__import__", absent)
    libraries._library.cache_clear()
    for ask in (getattr(libraries, name), lambda: libraries.library_function(f"{name}.matmul")):
        with pytest.raises(UnsupportedError, match=rf"relay2relax\[{name}\]"):
            ask()
    monkeypatch.undo()
    assert libraries.library_function(f"{name}.solve") is None
