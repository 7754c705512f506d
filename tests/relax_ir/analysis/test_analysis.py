"""What programs use, define and do, as TVM's functions of these names say."""

from __future__ import annotations

from typing import Any

import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import Function, TensorStructInfo
from relay2relax.relax_ir.analysis import analysis
from relay2relax.tir.ir import expr as tir

TEXT = """
@I.ir_module
class Module:
    @R.function(private=True)
    def func(a: R.Tensor((5, 5), "float32")) -> R.Tensor((5, 5), "float32"):
        b = R.add(a, a)
        return b

    @R.function
    def main(x: R.Tensor(("n", 5), "float32"), y: R.Tensor((1, 5), "float32")):
        n = T.int64()
        m = T.int64()
        cls = Module
        z = R.add(x, y)
        with R.dataflow():
            q = R.match_cast(z, R.Tensor((5, 5), "float32"))
            p = cls.func(q)
            s = R.reshape(p, R.shape([25]))
            R.output(s)
        w = R.match_cast(s, R.Tensor((m,), "float32"))
        @R.function
        def local(v: R.Tensor((m,), "float32")) -> R.Tensor((m,), "float32"):
            k = R.add(v, w)
            return k
        r = local(w)
        t = R.zeros(R.shape([n * 2, m]), "float32")
        return (r, t)
"""


def names(found: Any) -> list[str]:
    return [one.name for one in found]


@pytest.fixture
def module() -> rx.IRModule:
    return rx.parse(TEXT)


@pytest.fixture
def main(module: rx.IRModule) -> Function:
    found = module["main"]
    assert isinstance(found, Function)
    return found


def test_variables(main: Function) -> None:
    assert names(analysis.all_vars(main)) == ["x", "y", "z", "q", "p", "s", "w", "v", "k", "local", "r", "t"]
    assert names(analysis.bound_vars(main)) == names(analysis.all_vars(main))
    assert not analysis.free_vars(main)
    assert names(analysis.free_vars(main.body)) == ["x", "y"]
    assert names(analysis.bound_vars(main.body))[:2] == ["z", "q"]
    local = analysis.name_to_binding(main)["local"][0].value
    assert names(analysis.free_vars(local)) == ["w"]
    assert names(analysis.used_vars(local)) == ["v", "w", "k"]
    assert names(analysis.all_global_vars(main)) == ["func"]
    assert names(analysis.all_global_vars(main.body.blocks[0])) == []


def test_dimensions(main: Function) -> None:
    assert names(analysis.defined_symbolic_vars(main)) == ["n", "m"]
    assert not analysis.free_symbolic_vars(main)
    assert names(analysis.free_symbolic_vars(main.body)) == ["n"]
    n, m = analysis.defined_symbolic_vars(main)
    info = TensorStructInfo((n * 2, m, m), "float32")
    assert analysis.tir_vars_in_struct_info(info) == (n, m)
    assert analysis.definable_tir_vars_in_struct_info(info) == (m,)
    assert analysis.erase_to_well_defined(info, [m]) == TensorStructInfo(None, "float32", 3)
    assert analysis.struct_info_lca(info, TensorStructInfo((1, 2, 3), "float32")) == TensorStructInfo(
        None, "float32", 3
    )


def test_uses_by_variable(main: Function) -> None:
    block = next(one for one in main.body.blocks if one.dataflow)
    chain = {var.name: names(users) for var, users in analysis.udchain(block).items()}
    assert chain == {"z": ["q"], "q": ["p"], "p": ["s"], "s": []}
    values = {var.name: type(value).__name__ for var, value in analysis.get_var2val(main).items()}
    assert values["k"] == values["p"] == "Call"
    assert values["local"] == "Function"
    assert [len(found) for name, found in analysis.name_to_binding(main).items() if name == "q"] == [1]


def test_every_expression(main: Function) -> None:
    found: list[str] = []
    analysis.post_order_visit(main.body.blocks[0], lambda expr: found.append(type(expr).__name__))
    assert found[:3] == ["Var", "Var", "Call"]


def test_effects() -> None:
    text = """
@I.ir_module
class Module:
    @R.function(pure=False)
    def effect(x: R.Tensor((2,), "float32")) -> R.Object:
        u = R.call_packed("f", x, ty_args=R.Object())
        return u

    @R.function(pure=False)
    def caller(x: R.Tensor((2,), "float32")) -> R.Object:
        u = Module.effect(x)
        return u

    @R.function
    def nested(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        @R.function(pure=False)
        def inner(y: R.Tensor((2,), "float32")) -> R.Object:
            v = R.call_packed("f", y, ty_args=R.Object())
            return v
        return x
"""
    mod = rx.parse(text)
    functions = {var.name: func for var, func in mod.functions.items() if isinstance(func, Function)}
    assert analysis.contains_impure_call(functions["effect"])
    assert analysis.contains_impure_call(functions["caller"], mod)
    assert not analysis.contains_impure_call(functions["caller"], mod, mod.get_global_var("effect"))
    assert not analysis.contains_impure_call(functions["nested"], mod)
    inner = analysis.name_to_binding(functions["nested"])["inner"][0].value
    assert analysis.contains_impure_call(inner)


def test_circles_of_calls() -> None:
    head = "@I.ir_module\nclass Module:\n"
    body = (
        '    @R.function\n    def {0}(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n'
        "        y = Module.{1}(x)\n        return y\n"
    )
    calls = {"a": "b", "b": "c", "c": "a", "d": "d", "e": "a", "f": "g", "g": "h"}
    text = head + "".join(body.format(*pair) for pair in calls.items())
    text += '    @R.function\n    def h(x: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):\n        return x\n'
    assert list(map(names, analysis.detect_recursion(rx.parse(text)))) == [["a", "b", "c"], ["d"]]


def test_copies_have_variables_of_their_own(module: rx.IRModule, main: Function) -> None:
    copy = rx.copy_with_new_vars(main)
    assert rx.first_difference(main, copy) is None
    assert not set(analysis.all_vars(main)) & set(analysis.all_vars(copy))
    assert not set(analysis.defined_symbolic_vars(main)) & set(analysis.defined_symbolic_vars(copy))
    both = rx.IRModule({**module.functions, rx.GlobalVar("copy"): copy})
    rx.check_well_formed(both)
    again = rx.IRModule({**module.functions, rx.GlobalVar("copy"): main})
    with pytest.raises(rx.WellFormedError):
        rx.check_well_formed(again)
    n = tir.Var("n")
    shape = rx.Function((), rx.SeqExpr((), rx.ShapeExpr((n,))), rx.ShapeStructInfo((n,)))
    assert analysis.free_symbolic_vars(rx.copy_with_new_vars(shape)) == (n,)


def test_a_copy_of_a_function_that_calls_itself() -> None:
    text = """
@R.function
def main(x: R.Tensor((2,), "float32"), flag: R.Tensor((), "bool")) -> R.Tensor((2,), "float32"):
    @R.function
    def loop(y: R.Tensor((2,), "float32")) -> R.Tensor((2,), "float32"):
        if flag:
            z: R.Tensor((2,), "float32") = loop(y)
        else:
            z = y
        return z
    w = loop(x)
    return w
"""
    main = rx.parse(text)["main"]
    assert isinstance(main, Function)
    copy = rx.copy_with_new_vars(main)
    assert rx.structural_equal(main, copy)
    rx.check_well_formed(rx.IRModule({rx.GlobalVar("main"): copy}))
