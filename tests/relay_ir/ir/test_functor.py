"""Visitors, mutators, the scope builder, and modules that check what is added to them."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.backends import create_executor
from relay2relax.core.source import Span
from relay2relax.relay_ir import (
    Call,
    Constant,
    ExprFunctor,
    ExprMutator,
    ExprVisitor,
    Function,
    GlobalVar,
    If,
    IRModule,
    Let,
    ScopeBuilder,
    TensorType,
    const,
    var,
)
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import BuildError
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes


class Listing(ExprVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[str] = []

    def visit_call(self, call: Call) -> None:
        self.seen.append(getattr(call.op, "name", "fn"))

    def visit_var(self, var: relay_ir.Var) -> None:
        self.seen.append(f"%{var.name}")


class Doubled(ExprMutator):
    def visit_constant(self, constant: Constant) -> relay_ir.Expr:
        return replace(constant, data=constant.data * 2)


def test_a_visitor_sees_every_node_once() -> None:
    x = var("x", shape=(2,))
    shared = op.tanh(x)
    listing = Listing()
    listing.visit(Function((x,), op.add(shared, op.exp(shared))))
    assert listing.seen == ["%x", "tanh", "exp", "add"]


def test_a_mutator_keeps_what_it_does_not_touch() -> None:
    x = var("x", shape=(2,))
    span = Span("model", 3, 3, 1, 9)
    shared = replace(op.tanh(x), span=span)
    two = const(1.0)
    function = Function((x,), relay_ir.Tuple((shared, replace(op.add(shared, two), span=span), shared)))
    changed = of_type(Doubled().visit(function), Function)
    assert changed.params == function.params
    first, second, third = of_type(changed.body, relay_ir.Tuple).fields
    assert first is shared
    assert third is shared
    total = of_type(second, Call)
    assert total.span is span
    assert of_type(total.args[1], Constant).data == 2
    assert ExprMutator().visit(function) is function


def test_a_mutator_can_replace_variables() -> None:
    class Renamed(ExprMutator):
        def visit_var(self, var: relay_ir.Var) -> relay_ir.Var:
            return replace(var, name=f"{var.name}_new")

    mod = relay_ir.parse(
        '#[version = "0.0.5"]\ntype Pair { Two(float32, float32) }\n'
        "def @main(%p: Pair) -> float32 { match (%p) { Two(%a, %b) => { let %c = add(%a, %b); %c } } }"
    )
    changed = Renamed().visit(mod["main"])
    assert {node.name for node in nodes(changed) if isinstance(node, relay_ir.Var)} == {
        f"{name}_new" for name in "pabc"
    }
    assert free_vars(changed) == ()
    assert relay_ir.structural_equal(changed, mod["main"])


def test_a_functor_computes() -> None:
    class Depth(ExprFunctor[int]):
        def visit_default(self, expr: relay_ir.Expr) -> int:
            return 1 + max((self.visit(part) for part in self.parts(expr)), default=0)

    x = var("x", shape=(1,))
    body: relay_ir.Expr = x
    length = 3 * sys.getrecursionlimit()
    for _ in range(length):
        body = op.tanh(body)
    assert Depth().visit(body) == length + 1
    with pytest.raises(NotImplementedError, match="no method for a Var"):
        ExprFunctor().visit(x)


def test_parts_may_be_left_out() -> None:
    class Outside(Listing):
        def parts(self, expr: relay_ir.Expr) -> Sequence[relay_ir.Expr]:
            return () if isinstance(expr, Function) else super().parts(expr)

    x, y = var("x", shape=(2,)), var("y", shape=(2,))
    listing = Outside()
    listing.visit(op.add(Call(Function((y,), op.exp(y)), (x,)), x))
    assert "exp" not in listing.seen


# --- statements ---


def test_scopes() -> None:
    x, c = var("x", "float32"), var("c", "bool")
    sb = ScopeBuilder()
    doubled = sb.let("doubled", op.add(x, x))
    with sb.if_scope(c):
        one = sb.let("one", const(1.0))
        sb.ret(op.add(doubled, one))
    with sb.else_scope():
        sb.ret(doubled)
    mod = IRModule({GlobalVar("main"): Function((x, c), sb.get())})
    assert isinstance(mod["main"].body, Let)
    assert isinstance(mod["main"].body.body, If)
    run = create_executor("debug", mod).evaluate()
    assert run(np.float32(2), np.bool_(True)) == 5
    assert run(np.float32(2), np.bool_(False)) == 4


def test_scopes_that_are_not_complete() -> None:
    with pytest.raises(BuildError, match="no result"):
        ScopeBuilder().get()
    sb = ScopeBuilder()
    with pytest.raises(BuildError, match="no if_scope before it"), sb.else_scope():
        pass
    with sb.if_scope(const(True)):
        sb.ret(1)
        with pytest.raises(BuildError, match="already has its result"):
            sb.let("x", 1)
        with pytest.raises(BuildError, match="open scope"):
            sb.get()
    with pytest.raises(BuildError, match="follow if_scope"):
        sb.ret(1)


# --- modules ---


def test_a_module_checks_what_is_added() -> None:
    x = var("x", shape=(10, 1))
    mod = relay_ir.Module({})
    mod[GlobalVar("f")] = Function((x,), x + x)
    assert str(mod).startswith(
        "def @f(%x: Tensor[(10, 1), float32] /* ty=Tensor[(10, 1), float32] */) -> Tensor[(10, 1)"
    )
    assert mod["f"].ret_type == TensorType((10, 1), "float32")
    y = var("y", shape=(3,))
    with pytest.raises(relay_ir.TypeInferenceError, match="does not accept"):
        mod["g"] = Function((x, y), op.nn.dense(x, y, units=3))
    assert [name.name for name in mod.functions] == ["f"]
    z = var("z", shape=(10, 1))
    mod["g"] = Function((z,), mod.get_global_var("f")(z))
    mod["f"] = Function((x,), op.tanh(x))
    assert {name.name for name in mod.functions} == {"f", "g"}
    assert mod["g"].ret_type == TensorType((10, 1), "float32")


def test_operators_by_name() -> None:
    x = var("x", shape=(2,))
    assert op.tanh(x).op == op.get("tanh")
    with pytest.raises(AttributeError, match="no operator"):
        op.get("nn.conv")


def test_devices() -> None:
    assert relay_ir.gpu(1) == relay_ir.VirtualDevice(2, 1)
    assert relay_ir.cpu() == relay_ir.VirtualDevice(1, 0)


def test_functions_are_found_by_name_after_every_change() -> None:
    x = relay_ir.var("x", shape=(2,))
    mod = relay_ir.IRModule({GlobalVar("f"): Function((x,), x + x)})
    f = mod.get_global_var("f")
    mod["g"] = Function((x,), op.tanh(x))
    assert mod.get_global_var("f") is f
    assert "g" in mod
    assert mod.get_global_var("g") in mod
    assert "h" not in mod
    smaller = mod.without_functions(["f"])
    assert "f" not in smaller
    assert f not in smaller
    assert "f" in mod
    assert mod.with_function(GlobalVar("h"), mod["f"])["h"] is mod["f"]
