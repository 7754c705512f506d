"""Passes over Relay."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from relay2relax import relay_ir
from relay2relax.core import Relay2RelaxError
from relay2relax.relay_ir import Call, Function, GlobalVar, IRModule, Let, RefCreate, RefRead, RefWrite, var
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes
from relay2relax.relay_ir.transform import DeadCodeElimination, InlineLocalFunctions, Sequential, ToGraphNormalForm


def module(*params: relay_ir.Var, body: relay_ir.Expr) -> IRModule:
    return IRModule({GlobalVar("main"): Function(params, body)})


def kinds(mod: IRModule) -> set[type]:
    return {type(node) for node in nodes(mod["main"].body)}


def test_lets_become_sharing() -> None:
    x, y = var("x", shape=(2,)), var("y")
    mod = module(x, body=Let(y, op.nn.relu(x), op.add(y, y)))
    shared = op.nn.relu(x)
    assert relay_ir.structural_equal(ToGraphNormalForm()(mod), module(x, body=op.add(shared, shared)))


def test_a_module_without_lets_is_returned_as_it_is() -> None:
    x = var("x", shape=(2,))
    mod = module(x, body=op.nn.relu(x))
    for one in (ToGraphNormalForm(), InlineLocalFunctions(), DeadCodeElimination()):
        assert one(mod) is mod


def test_effects_stay_in_order() -> None:
    x, cell, done = var("x", shape=(2,)), var("cell"), var("done")
    body = Let(cell, RefCreate(x), Let(done, RefWrite(cell, op.nn.relu(x)), RefRead(cell)))
    mod = module(x, body=body)
    assert relay_ir.structural_equal(ToGraphNormalForm()(mod), mod)
    assert relay_ir.structural_equal(DeadCodeElimination()(mod), mod)


def test_recursive_functions_stay_bound() -> None:
    x, f, n = var("x", shape=(2,)), var("f"), var("n")
    mod = module(x, body=Let(f, Function((n,), Call(f, (op.nn.relu(n),))), Call(f, (x,))))
    assert ToGraphNormalForm()(mod)["main"] is mod["main"]
    assert InlineLocalFunctions()(mod)["main"] is mod["main"]


def test_functions_are_inlined_with_arguments_shared() -> None:
    x, n = var("x", shape=(2,)), var("n")
    double = Function((n,), op.add(n, n))
    argument = op.nn.relu(x)
    mod = module(x, body=Call(double, (argument,)))
    inlined = InlineLocalFunctions()(mod)
    assert relay_ir.structural_equal(inlined, module(x, body=op.add(argument, argument)))


def test_a_function_passed_to_a_function() -> None:
    x, n, g = var("x", shape=(2,)), var("n"), var("g")
    apply = Function((g,), Call(g, (x,)))
    mod = module(x, body=Call(apply, (Function((n,), op.nn.relu(n)),)))
    assert relay_ir.structural_equal(InlineLocalFunctions()(mod), module(x, body=op.nn.relu(x)))


def test_copies_have_variables_of_their_own() -> None:
    x, n, m, k = (var(name, shape=(2,)) for name in "xnmk")
    body = Let(k, op.nn.relu(n), Call(Function((m,), op.add(m, k), attrs={"Primitive": 1}), (n,)))
    function = Function((n,), body)
    mod = module(x, body=op.add(Call(function, (x,)), Call(function, (op.nn.relu(x),))))
    inlined = InlineLocalFunctions()(mod)["main"]
    bound = [node.var for node in nodes(inlined) if isinstance(node, Let)]
    bound += [param for node in nodes(inlined) if isinstance(node, Function) for param in node.params]
    assert len(bound) == 5
    assert len(set(bound)) == 5
    assert free_vars(inlined) == ()


def test_functions_with_attributes_stay() -> None:
    x, n = var("x", shape=(2,)), var("n")
    mod = module(x, body=Call(Function((n,), op.nn.relu(n), attrs={"Composite": "dense"}), (x,)))
    assert InlineLocalFunctions()(mod) is mod
    assert relay_ir.structural_equal(InlineLocalFunctions(marked=True)(mod), module(x, body=op.nn.relu(x)))


def test_a_wrong_number_of_arguments() -> None:
    x, n = var("x", shape=(2,)), var("n")
    with pytest.raises(Relay2RelaxError, match="1 parameters is called with 2 arguments"):
        InlineLocalFunctions()(module(x, body=Call(Function((n,), n), (x, x))))


def test_with_references_arguments_are_evaluated_once() -> None:
    x, n = var("x", shape=(2,)), var("n")
    cell = RefCreate(x)
    mod = module(x, body=Call(Function((n,), relay_ir.Tuple((RefRead(n), RefRead(n)))), (cell,)))
    inlined = InlineLocalFunctions()(mod)["main"].body
    assert isinstance(inlined, Let)
    assert inlined.value is cell


def test_dead_lets_go() -> None:
    x, y, z = var("x", shape=(2,)), var("y"), var("z")
    mod = module(x, body=Let(y, op.nn.relu(x), Let(z, op.add(y, y), x)))
    assert DeadCodeElimination()(mod)["main"].body is x
    used = module(x, body=Let(y, op.nn.relu(x), Let(z, op.add(y, y), y)))
    assert relay_ir.structural_equal(DeadCodeElimination()(used), module(x, body=Let(y, op.nn.relu(x), y)))


def test_the_let_form_lstm(get_model_case: Callable[[str], Any]) -> None:
    mod = relay_ir.load_json(get_model_case("lstm_relay").json)
    flat = Sequential((ToGraphNormalForm(), InlineLocalFunctions()))(mod)
    assert kinds(mod) >= {Let, Function}
    assert not kinds(flat) & {Let, Function}
    other = Sequential((InlineLocalFunctions(), ToGraphNormalForm()))(mod)
    assert relay_ir.first_difference(flat, other) is None
    before, after = (relay_ir.infer_type(one)["main"].ret_type for one in (mod, flat))
    assert before == after
    # Nothing is computed twice: one call less for each of the four cells that were called.
    calls = [sum(isinstance(node, Call) for node in nodes(one["main"])) for one in (mod, flat)]
    assert calls[1] == calls[0] - 4


def test_long_chains() -> None:
    length = 5 * sys.getrecursionlimit()
    x = var("x", shape=(1,))
    names = [var(f"v{index}") for index in range(length)]
    body: relay_ir.Expr = names[-1]
    for index in range(length - 1, -1, -1):
        body = Let(names[index], op.nn.relu(names[index - 1] if index else x), body)
    mod = module(x, body=body)
    flat = ToGraphNormalForm()(mod)
    assert sum(isinstance(node, Call) for node in nodes(flat["main"])) == length
    assert DeadCodeElimination()(mod)["main"] is mod["main"]
    assert InlineLocalFunctions()(mod)["main"] is mod["main"]
