"""Functions for external compilers, as TVM's test_compiler_function_utils.py, and by numbers."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core import Relay2RelaxError
from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir import IRModule
from relay2relax.relay_ir.transform import (
    InlineCompilerFunctionsBoundTo,
    MarkCompilerFunctionsAsExtern,
    OutlineCompilerFunctionsWithExistingGlobalSymbols,
)

DENSE = """(%a: Tensor[(16, 8), float32], %b: Tensor[(24, 8), float32], %c: Tensor[(24), float32],
    ATTRS) -> Tensor[(16, 24), float32] {
  %4 = fn (%p: Tensor[(16, 8), float32], %q: Tensor[(24, 8), float32], %r: Tensor[(24), float32],
      PartitionedFromPattern="nn.dense_add_", Composite="one.dense_bias") -> Tensor[(16, 24), float32] {
    %5 = nn.dense(%p, %q, units=24);
    add(%5, %r)
  };
  %4(%a, %b, %c)
}"""
FIRST = 'Inline=1, Compiler="one", global_symbol="main_0", Primitive=1'
PRODUCT = """fn (%d: Tensor[(6, 3, 4), float32], %e: Tensor[(6, 3, 4), float32],
    Inline=1, Compiler="two", global_symbol="main_3", Primitive=1) -> Tensor[(6, 3, 3), float32] {
  nn.batch_matmul(%d, %e, transpose_b=True)
}"""
MAIN = """
#[version = "0.0.5"]
def @main(%x: Tensor[(16, 8), float32], %w: Tensor[(24, 8), float32], %bias: Tensor[(24), float32],
    %y: Tensor[(6, 3, 4), float32]) -> (Tensor[(16, 24), float32], Tensor[(6, 3, 3), float32]) {
  CALL
  %2 = PRODUCT;
  %3 = %2(%y, %y);
  (%1, %3)
}
"""


def program(call: str, rest: str = "") -> IRModule:
    return relay_ir.infer_type(relay_ir.parse(MAIN.replace("PRODUCT", PRODUCT).replace("CALL", call) + rest))


def literal() -> IRModule:
    return program(f"%0 = fn {DENSE.replace('ATTRS', FIRST)};\n  %1 = %0(%x, %w, %bias);")


def let_bound() -> IRModule:
    return program(f"let %f = fn {DENSE.replace('ATTRS', FIRST)};\n  %1 = %f(%x, %w, %bias);")


def outlined(attrs: str = FIRST) -> IRModule:
    return program("%1 = @main_0(%x, %w, %bias);", f"\ndef @main_0{DENSE.replace('ATTRS', attrs)}\n")


def same(found: IRModule, expected: IRModule) -> bool:
    return relay_ir.first_difference(relay_ir.infer_type(found), expected) is None


@pytest.mark.parametrize("before", [literal, let_bound])
def test_literals_become_functions(before: Callable[[], IRModule]) -> None:
    assert same(OutlineCompilerFunctionsWithExistingGlobalSymbols("one")(before()), outlined())
    every = OutlineCompilerFunctionsWithExistingGlobalSymbols()(before())
    assert sorted(var.name for var in every.functions) == ["main", "main_0", "main_3"]
    mod = before()
    assert OutlineCompilerFunctionsWithExistingGlobalSymbols("three")(mod) is mod


def test_functions_are_marked() -> None:
    assert same(MarkCompilerFunctionsAsExtern("one")(outlined()), outlined("Extern=1"))
    mod = outlined()
    assert MarkCompilerFunctionsAsExtern("two")(mod) is mod


@pytest.mark.parametrize("by_name", [True, False])
def test_functions_go_back(by_name: bool) -> None:
    mod = outlined()
    found = InlineCompilerFunctionsBoundTo(["main_0" if by_name else mod.get_global_var("main_0")])(mod)
    assert same(found, program("%0 = nn.dense(%x, %w, units=24);\n  %1 = add(%0, %bias);"))
    assert InlineCompilerFunctionsBoundTo([])(mod) is mod


def test_numbers_stay() -> None:
    draw = np.random.default_rng(0)
    args = [draw.standard_normal(shape).astype("float32") for shape in ((16, 8), (24, 8), (24,), (6, 3, 4))]
    expected = (args[0] @ args[1].T + args[2], args[3] @ args[3].transpose(0, 2, 1))
    outside = OutlineCompilerFunctionsWithExistingGlobalSymbols()(let_bound())
    for mod in (outside, InlineCompilerFunctionsBoundTo(["main_0", "main_3"])(outside)):
        for found, wanted in zip(create_executor("debug", mod).evaluate()(*args), expected, strict=True):
            np.testing.assert_allclose(np.asarray(found), wanted, rtol=1e-4, atol=1e-5)


def test_what_is_refused() -> None:
    nameless = program(
        f"%0 = fn {DENSE.replace('ATTRS', 'Compiler=' + chr(34) + 'one' + chr(34))};\n  %1 = %0(%x, %w, %bias);"
    )
    with pytest.raises(UnsupportedError, match="no global_symbol"):
        OutlineCompilerFunctionsWithExistingGlobalSymbols()(nameless)
    with pytest.raises(UnsupportedError, match="not for an external compiler"):
        InlineCompilerFunctionsBoundTo(["main"])(outlined())
    with pytest.raises(Relay2RelaxError, match="absent"):
        InlineCompilerFunctionsBoundTo(["absent"])(outlined())
    used = program("let %f = @main_0;\n  %1 = %f(%x, %w, %bias);", f"\ndef @main_0{DENSE.replace('ATTRS', FIRST)}\n")
    with pytest.raises(UnsupportedError, match="without being called"):
        InlineCompilerFunctionsBoundTo(["main_0"])(used)
