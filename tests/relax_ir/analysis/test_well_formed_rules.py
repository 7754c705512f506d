"""The rules of TVM's well-formedness that a script cannot break: programs put together by hand, one
per rule.

Each verdict is that of TVM 0.27's ``relax.analysis.check_well_formed`` for the same program.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from relay2relax import backends
from relay2relax import relax_ir as rx
from relay2relax.relax_ir import Binding, BindingBlock, SeqExpr, TensorStructInfo, Var, call_op
from relay2relax.relax_ir.ir.expr import (
    Call,
    Constant,
    ExternFunc,
    Function,
    GlobalVar,
    If,
    IRModule,
    Tuple,
    TupleGetItem,
)
from relay2relax.relax_ir.ir.struct_info import FuncStructInfo, StructInfo, TupleStructInfo
from relay2relax.tir.ir import expr as tir

M, N = tir.Var("m"), tir.Var("n")
INFO = TensorStructInfo((M, N), "float32")
SCALAR = TensorStructInfo((), "int32")
X, Y = Var("x", INFO), Var("y", INFO)


def module(
    *blocks: BindingBlock,
    body: rx.Expr = X,
    params: tuple[Var, ...] = (X,),
    ret: StructInfo = INFO,
    pure: bool = True,
    attrs: Mapping[str, object] | None = None,
) -> IRModule:
    return IRModule({GlobalVar("main"): Function(params, SeqExpr(blocks, body), ret, attrs or {}, pure)})


def returning(*params: Var) -> IRModule:
    """Return a module of functions that each give their parameter back."""
    return IRModule({GlobalVar(f"f{n}"): Function((p,), SeqExpr((), p), p.info) for n, p in enumerate(params)})


def mistakes(mod: IRModule) -> list[str]:
    with pytest.raises(rx.WellFormedError) as caught:
        rx.check_well_formed(mod)
    return [one.title for one in caught.value.diagnostics]


def test_variables_belong_to_one_function() -> None:
    assert "the variable x is defined twice" in mistakes(returning(X, X))
    size = tir.Var("s")
    first, second = Var("a", TensorStructInfo((5, size), "float32")), Var("b", TensorStructInfo((size, 7), "float32"))
    assert mistakes(returning(first, second)) == ["the symbolic dimension s is one of f0, too"]


def test_normal_form() -> None:
    flag = Var("flag", TensorStructInfo((), "bool"))
    chosen = If(TupleGetItem(Tuple((flag,)), 0), SeqExpr((), X), SeqExpr((), X))
    inner = "an argument is a TupleGetItem; it needs a variable of its own"
    assert mistakes(module(BindingBlock((Binding(Y, chosen),)), body=Y, params=(X, flag))) == [inner]
    nested, field = Var("t", TupleStructInfo((TupleStructInfo((SCALAR,)),))), Var("r", SCALAR)
    twice = BindingBlock((Binding(field, TupleGetItem(TupleGetItem(nested, 0), 0)),))
    assert mistakes(module(twice, body=field, params=(nested,), ret=SCALAR)) == [inner]
    assert mistakes(module(body=call_op("add", X, X))) == ["the result is a Call that has no variable"]
    pair = Var("p", TupleStructInfo((INFO, INFO)))
    calls = BindingBlock((Binding(pair, Tuple((X, call_op("add", X, X)))),))
    assert mistakes(module(calls)) == ["an argument is a Call; it needs a variable of its own"]


def test_names_and_purity() -> None:
    assert mistakes(module(attrs={"global_symbol": "other"})) == [
        "the function has the name main, and the attribute global_symbol other"
    ]
    rx.check_well_formed(module(attrs={"global_symbol": "main"}))
    forced = {"relax.force_pure": True}
    assert len(mistakes(module(pure=False, attrs=forced))) == 1
    effect = Binding(Var("u", rx.ObjectStructInfo(), dataflow=True), Call(ExternFunc("f"), (X,)))
    in_dataflow = module(BindingBlock((effect,), dataflow=True), attrs=forced)
    assert mistakes(in_dataflow) == ["a dataflow block contains a call that may have effects"]
    outside = BindingBlock((Binding(Var("u", rx.ObjectStructInfo()), effect.value),))
    rx.check_well_formed(module(outside, attrs=forced))
    # A local function says for itself that it is pure.
    local = Var("g", FuncStructInfo((), INFO))
    inside = BindingBlock((Binding(local, Function((), SeqExpr((outside,), X), INFO)),))
    assert mistakes(module(inside, attrs=forced)) == ["a pure function contains a call that may have effects"]


@pytest.mark.parametrize("dtype", ["int32", "float32"])
def test_extents_are_int64(dtype: str) -> None:
    x = Var("x", TensorStructInfo((tir.Var("d", dtype),), "float32"))
    assert set(mistakes(returning(x))) == {f"an extent has dtype {dtype}, expected int64"}


def local_function_in_dataflow(captured: bool) -> IRModule:
    one, two, three = (Var(name, SCALAR, dataflow=True) for name in ("one", "two", "three"))
    inner, result = Var("inner", SCALAR), Var("result", SCALAR)
    block = BindingBlock((Binding(two, Constant(np.array(2, "int32"))), Binding(inner, two)), dataflow=True)
    local = Var("f", FuncStructInfo((), SCALAR), dataflow=True)
    body = SeqExpr((BindingBlock((Binding(inner, one),)),), inner) if captured else SeqExpr((block,), inner)
    outer = (
        Binding(one, Constant(np.array(1, "int32"))),
        Binding(local, Function((), body, SCALAR)),
        Binding(three, Call(local, ())),
        Binding(result, call_op("add", one, three)),
    )
    return module(BindingBlock(outer, dataflow=True), body=result, params=(), ret=SCALAR)


def test_local_functions_may_stand_in_dataflow_blocks() -> None:
    mod = local_function_in_dataflow(captured=False)
    rx.check_well_formed(mod)
    assert rx.structural_equal(rx.parse(rx.print_module(mod)), mod)
    for target in ("numpy", "c"):
        assert backends.VirtualMachine(backends.build(mod, target))["main"]() == 3
    assert mistakes(local_function_in_dataflow(captured=True)) == ["the dataflow variable one is out of reach here"]


def test_a_callable_defines_its_dimensions() -> None:
    """TVM writes the type of a function that returns a function in this way."""
    text = """
@R.function
def main() -> R.Callable((R.Tensor((m, n), dtype="float32"),), R.Tensor((m, n), dtype="float32"), True):
    @R.function
    def local(x: R.Tensor((m, n), dtype="float32")) -> R.Tensor((m, n), dtype="float32"):
        return x
    return local
"""
    (func,) = rx.parse(text).functions.values()
    assert isinstance(func, Function)
    assert isinstance(func.ret, FuncStructInfo)
