"""Walks and counts; the meaning of each case is that of TVM's tests."""

from __future__ import annotations

import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import Call, Expr, Function, GlobalVar, IRModule, Let, Tuple, op, var
from relay2relax.relay_ir.analysis import count_layers, list_op_freqs, post_order_visit

X, Y = var("x", shape=(1, 4, 8, 8)), var("y", shape=(4, 4, 1, 1))


def conv(data: Expr) -> Expr:
    call: Expr = op.nn.conv2d(data, Y, kernel_size=(1, 1))
    return call


def test_expressions_are_visited_once_after_their_parts() -> None:
    total = X + Y
    assert isinstance(total, Call)
    pair = Tuple((total, total))
    function = Function((X, Y), pair)
    met: list[Expr] = []
    post_order_visit(function, met.append)
    assert met == [X, Y, total.op, total, pair, function]


def test_a_let_is_visited_after_its_variable_value_and_body() -> None:
    name, body = var("v"), Tuple(())
    let = Let(name, X, body)
    met: list[Expr] = []
    post_order_visit(let, met.append)
    assert met == [name, X, body, let]


def test_shared_calls_count_once_and_inner_functions_count() -> None:
    shared = conv(X)
    inner = Function((Y,), op.nn.relu(Y))
    body = op.add(op.add(shared, shared), Call(inner, (conv(shared),)))
    mod = IRModule({GlobalVar("main"): Function((X,), body)})
    assert list_op_freqs(mod) == {"nn.conv2d": 2, "add": 2, "nn.relu": 1}


def test_operators_of_a_residual_net() -> None:
    # The names are those of TVM's test_analysis_extract_operators.py; ResNet-18 has 18 weighted
    # layers on its main way, 17 of them convolutions.
    mod = relay_ir.testing.resnet.get_workload()[0]
    names = [
        "batch_norm",
        "conv2d",
        "relu",
        "max_pool2d",
        "global_avg_pool2d",
        "batch_flatten",
        "dense",
        "bias_add",
        "softmax",
    ]
    assert set(list_op_freqs(mod)) == {"add", *(f"nn.{name}" for name in names)}
    assert count_layers(mod["main"], ["nn.conv2d", "nn.dense"]) == 18


@pytest.mark.parametrize(("ops", "layers"), [(["nn.conv2d"], 2), (["add"], 1), (["nn.conv2d", "add"], 3), ([], 0)])
def test_calls_side_by_side_are_one_layer(ops: list[str], layers: int) -> None:
    assert count_layers(conv(op.add(conv(X), conv(X))), ops) == layers


def test_a_chain_goes_on_through_lets() -> None:
    first, second = var("first"), var("second")
    chain = Let(first, conv(X), Let(second, conv(first), op.nn.relu(second)))
    assert count_layers(chain, ["nn.conv2d"]) == 2


def test_a_function_that_calls_itself_is_counted() -> None:
    loop, data = var("loop"), var("data")
    body = Let(loop, Function((data,), Call(loop, (conv(data),))), Call(loop, (X,)))
    assert count_layers(body, ["nn.conv2d"]) == 1
