"""Visitors see every node in the order of evaluation.

Mutators change nodes, and what follows from them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from typed import of_type

from relay2relax import relax_ir as rx
from relay2relax.core.errors import Relay2RelaxError, UnsupportedError
from relay2relax.relax_ir import Constant, ExprMutator, ExprVisitor, Function, TensorStructInfo, Var, call_op

EVERYTHING = """
@I.ir_module
class Module:
    @T.prim_func(private=True)
    def copy(a: T.Buffer((2,), "float32"), b: T.Buffer((2,), "float32")):
        for i in range(2):
            with T.sblock("copy"):
                v = T.axis.spatial(2, i)
                b[v] = a[v]

    @R.function(private=True)
    def twice(x: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
        y = R.add(x, x)
        return y

    @R.function(pure=False)
    def main(x: R.Tensor((2,), dtype="float32"), flag: R.Tensor((), dtype="bool")):
        cls = Module
        with R.dataflow():
            lv = R.call_tir(cls.copy, (x,), out_ty=R.Tensor((2,), dtype="float32"))
            gv = R.call_dps_packed("ext", (lv,), out_ty=R.Tensor((2,), dtype="float32"))
            R.output(gv)
        t = (gv, R.const(1.0, "float32"))
        f = t[0]
        s = R.shape([2])
        c = R.match_cast(f, R.Tensor((2,), dtype="float32"))
        if flag:
            b = R.call_packed("effect", c, R.str("word"), R.dtype("int8"), R.prim_value(3), ty_args=R.Object())
            r = cls.twice(c)
        else:
            r = c
        @R.function
        def local(y: R.Tensor((2,), dtype="float32")) -> R.Tensor((2,), dtype="float32"):
            return y
        z: R.Tensor((2,), dtype="float32") = local(r)
        return z
"""


class Log(ExprVisitor):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def visit_default(self, expr: rx.Expr) -> None:
        self.lines.append(f"{type(expr).__name__}{':' + expr.name if isinstance(expr, Var) else ''}")

    def visit_var_def(self, var: Var) -> None:
        self.lines.append(f"def {var.name}")

    def visit_binding(self, binding: rx.Binding) -> None:
        self.lines.append("Binding")

    def visit_match_cast(self, binding: rx.MatchCast) -> None:
        self.lines.append("MatchCast")

    def visit_binding_block(self, block: rx.BindingBlock) -> None:
        self.lines.append("BindingBlock")

    def visit_dataflow_block(self, block: rx.BindingBlock) -> None:
        self.lines.append("DataflowBlock")


IN_ORDER = """
def:x def:flag GlobalVar Var:x CallTIR def:lv Binding Var:lv CallDPSPacked def:gv Binding DataflowBlock
Var:gv Constant Tuple def:t Binding Var:t TupleGetItem def:f Binding ShapeExpr def:s Binding Var:f def:c MatchCast
Var:flag ExternFunc Var:c StringImm DataTypeImm PrimValue Call def:b Binding
GlobalVar Var:c Call def:r_branch Binding BindingBlock Var:r_branch SeqExpr Var:c SeqExpr If def:r Binding
def:y Var:y SeqExpr Function def:local Binding Var:local Var:r Call def:z Binding BindingBlock Var:z SeqExpr Function
"""


def test_every_kind_of_node_in_order() -> None:
    mod = rx.parse(EVERYTHING)
    log = Log()
    log.visit(of_type(mod["main"], Function))
    assert " ".join(log.lines).replace("def ", "def:") == " ".join(IN_ORDER.split())
    whole = Log()
    whole.visit(mod)
    assert len(whole.lines) > len(log.lines)


def test_parts_of_programs() -> None:
    func = rx.parse(EVERYTHING)["twice"]
    assert isinstance(func, Function)
    (block,) = func.body.blocks
    for program, lines in [
        (block, ["Var:x", "Var:x", "Call", "def y", "Binding", "BindingBlock"]),
        (block.bindings[0], ["Var:x", "Var:x", "Call", "def y", "Binding"]),
        (block.bindings[0].value, ["Var:x", "Var:x", "Call"]),
    ]:
        log = Log()
        log.visit(program)
        assert log.lines == lines


def test_entering() -> None:
    class Outer(Log):
        def enter(self, expr: rx.Expr) -> bool:
            return not isinstance(expr, (rx.If, Function)) or expr is main

    main = rx.parse(EVERYTHING)["main"]
    assert isinstance(main, Function)
    log = Outer()
    log.visit(main)
    assert "If" not in log.lines
    assert log.lines.count("Function") == 1


def test_nothing_changes() -> None:
    mod = rx.parse(EVERYTHING)
    assert ExprMutator(mod).module() is mod
    main = mod["main"]
    assert isinstance(main, Function)
    assert ExprMutator(mod).visit(main) is main


def parse_function(body: str, params: str = 'x: R.Tensor((2, 3), dtype="float32")') -> rx.IRModule:
    lines = "".join(f"    {line}\n" for line in body.splitlines())
    return rx.parse(f"@R.function\ndef main({params}):\n{lines}")


class Reduced(ExprMutator):
    """Sums where there was a negation, so the rank changes."""

    def visit_call(self, call: rx.Call) -> rx.Expr:
        if getattr(call.op, "name", "").endswith("negative"):
            return call_op("sum", call.args[0], axis=(0,))
        return call


def test_struct_info_follows() -> None:
    mod = parse_function(
        """with R.dataflow():
    a = R.negative(x)
    b = R.exp(a)
    R.output(b)
c = (b, x)
d = c[0]
return d"""
    )
    made = Reduced(mod).module()
    rx.check_well_formed(made)
    func = made["main"]
    assert isinstance(func, Function)
    assert func.ret == TensorStructInfo((3,), "float32")
    infos = {b.var.name: b.var.info for block in func.body.blocks for b in block.bindings}
    assert infos["b"] == TensorStructInfo((3,), "float32")
    assert rx.structural_equal(rx.parse(made.script()), made)


def test_variables_that_become_others() -> None:
    class Wider(ExprMutator):
        def visit_var_def(self, var: Var) -> Var:
            return Var(var.name, TensorStructInfo((4, 3), "float32")) if var.name == "x" else var

    mod = parse_function("y = R.add(x, x)\nz = R.sum(y)\nreturn z")
    made = Wider(mod).module()
    rx.check_well_formed(made)
    func, before = made["main"], mod["main"]
    assert isinstance(func, Function)
    assert isinstance(before, Function)
    y, z = func.body.blocks[0].bindings
    assert y.var.info == TensorStructInfo((4, 3), "float32")
    assert z.var is before.body.blocks[0].bindings[1].var  # what it is did not change


def test_methods_may_emit_and_nest() -> None:
    class Expanded(ExprMutator):
        def visit_call(self, call: rx.Call) -> rx.Expr:
            first = self.builder.emit(call_op("exp", call.args[0]), "first")
            return call_op("add", first, call_op("negative", first))

        def visit_constant(self, constant: Constant) -> rx.Expr:
            return Constant(constant.data * 2)

    made = Expanded(parse_function('y = R.add(x, R.const(1.0, "float32"))\nreturn y')).module()
    expected = parse_function("first = R.exp(x)\nn = R.negative(first)\ny = R.add(first, n)\nreturn y")
    assert rx.first_difference(made, expected) is None
    doubled = ExprMutator()
    doubled.visit_constant = Expanded().visit_constant  # type: ignore[method-assign]
    found = doubled.visit(call_op("add", Constant(np.float32(1)), Constant(np.float32(2))))
    assert isinstance(found, rx.Call)
    assert [float(one.data) for one in found.args if isinstance(one, Constant)] == [2.0, 4.0]


def test_bindings_that_go() -> None:
    class Without(ExprMutator):
        def visit_binding(self, binding: rx.Binding) -> None:
            if isinstance(binding.value, Var):
                self.vars[binding.var] = binding.value
            else:
                self.keep(binding)

    made = Without(parse_function("a = x\nb = a\nc = R.exp(b)\nd = c\nreturn d")).module()
    assert rx.first_difference(made, parse_function("c = R.exp(x)\nreturn c")) is None


def test_branches_and_local_functions() -> None:
    text = """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32"), flag: R.Tensor((), dtype="bool")):
    if flag:
        y = R.negative(x)
        r = R.exp(y)
    else:
        r = R.negative(x)
    @R.function
    def f(a: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        b = R.negative(a)
        return b
    z = f(x)
    w = R.add(r, z)
    return w
"""
    made = Reduced(rx.parse(text)).module()
    rx.check_well_formed(made)
    func = made["main"]
    assert isinstance(func, Function)
    infos = {b.var.name: b.var.info for block in func.body.blocks for b in block.bindings}
    assert infos["r"] == infos["z"] == TensorStructInfo((3,), "float32")


def test_callees() -> None:
    class Renamed(ExprMutator):
        def visit_global_var(self, var: rx.GlobalVar) -> rx.Expr:
            return self.mod.get_global_var("twice" if var.name == "once" else var.name)

        def visit_extern_func(self, func: rx.ExternFunc) -> rx.Expr:
            return rx.ExternFunc(func.name + "2")

    mod = rx.parse(EVERYTHING.replace("def twice", "def once").replace("cls.twice", "cls.once"))
    twice = rx.GlobalVar("twice")
    mod = rx.IRModule({**mod.functions, twice: mod["once"]})
    script = Renamed(mod).module().script()
    assert "cls.twice(c)" in script
    assert '"effect2"' in script


def test_what_cannot_stand_there() -> None:
    class Wrong(ExprMutator):
        def visit_seq_expr(self, seq: rx.SeqExpr) -> rx.Expr:
            return seq.body

    with pytest.raises(Relay2RelaxError, match="a Var cannot stand in the place of a SeqExpr"):
        Wrong(parse_function("return x")).module()
    recursive = """
@R.function
def main(x: R.Tensor((2, 3), dtype="float32"), flag: R.Tensor((), dtype="bool")):
    @R.function
    def f(a: R.Tensor((2, 3), dtype="float32")) -> R.Tensor((2, 3), dtype="float32"):
        b: R.Tensor((2, 3), dtype="float32") = f(a)
        c = R.negative(b)
        return c
    z = f(x)
    return z
"""
    with pytest.raises(UnsupportedError, match="f calls itself"):
        Reduced(rx.parse(recursive)).module()


@pytest.mark.parametrize("walk", [lambda mod: Log().visit(mod), lambda mod: ExprMutator(mod).module()])
def test_deep_programs(walk: Callable[[rx.IRModule], object]) -> None:
    flag, x = Var("flag", TensorStructInfo((), "bool")), Var("x", TensorStructInfo((), "float32"))
    value: rx.Expr = x
    for _ in range(3_000):
        value = rx.If(flag, rx.SeqExpr((), call_op("negative", value)), rx.SeqExpr((), x))
    func = Function((flag, x), rx.SeqExpr((), value), x.info)
    walk(rx.transform.Normalize()(rx.IRModule({rx.GlobalVar("main"): func})))
