"""Partitioning; the meaning of each case is that of TVM's tests of dataflow patterns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from typed import of_type

from relay2relax import relay_ir
from relay2relax.relay_ir import Call, Expr, Function, IRModule, Tuple, TupleGetItem, const, op, structural_equal, var
from relay2relax.relay_ir.dataflow_pattern import (
    DFPattern,
    FunctionPattern,
    dominates,
    is_constant,
    is_expr,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    partition,
    wildcard,
)

X, W, B, Z = var("x"), var("w"), var("b"), var("z")
IS_CONV = is_op("nn.conv2d")(wildcard(), wildcard())
IS_BIASED = is_op("nn.bias_add")(IS_CONV, wildcard())
Body = Callable[..., Expr]


def biased(x: Expr, w: Expr, b: Expr) -> Expr:
    return of_type(op.nn.bias_add(op.nn.conv2d(x, w), b), Call)


def activated(x: Expr, w: Expr, b: Expr) -> Expr:
    return of_type(op.nn.relu(biased(x, w, b)), Call)


def taken_out(body: Body, label: str, *args: Expr, **attrs: object) -> Expr:
    """Return the call of a function of ``body`` as a partition makes it."""
    params = tuple(var(f"p{place}") for place in range(len(args)))
    return Call(Function(params, body(*params), attrs={"PartitionedFromPattern": label, **attrs}), args)


def test_what_one_pattern_took_out_is_not_looked_into_by_the_next() -> None:
    w2, b2 = var("w2"), var("b2")
    expr = biased(activated(X, W, B), w2, b2)
    for pattern, name in ((is_op("nn.relu")(IS_BIASED), "first"), (IS_BIASED, "second")):
        expr = of_type(pattern.partition(expr, {"Composite": name}), Call)
    inner = taken_out(activated, "nn.conv2d_nn.bias_add_nn.relu_", X, W, B, Composite="first")
    wanted = taken_out(biased, "nn.conv2d_nn.bias_add_", inner, w2, b2, Composite="second")
    assert structural_equal(expr, wanted)


def diamond(x: Expr, w: Expr) -> Expr:
    conv = op.nn.conv2d(x, w)
    return of_type(op.nn.relu(op.nn.relu(conv)) + op.nn.leaky_relu(conv, alpha=0.0), Call)


def wide(x: Expr, w: Expr) -> Expr:
    conv = op.nn.conv2d(x, w)
    once = op.nn.relu(conv)
    return of_type(op.tanh(once + once) + op.nn.leaky_relu(conv, alpha=0.0), Call)


def test_dominators() -> None:
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard()) | is_op("add")(wildcard(), wildcard())
    pattern = dominates(IS_CONV, path, is_op("add")(wildcard(), wildcard()))
    inner = taken_out(diamond, "nn.conv2d_nn.relu_nn.relu_nn.leaky_relu_add_", X * X, W * W)
    wanted = taken_out(wide, "nn.conv2d_nn.relu_add_tanh_nn.leaky_relu_add_", inner, W)
    assert structural_equal(partition(pattern, wide(diamond(X * X, W * W), W)), wanted)


def test_inputs_come_in_the_order_of_the_pattern() -> None:
    gamma, mean, variance, eps = var("gamma"), var("mean"), var("var"), const(np.float32(1e-5))
    parts = [wildcard() for _ in range(5)]
    pattern = parts[0] * (parts[1] - parts[2]) / is_op("sqrt")(parts[3] + is_constant()) + parts[4]

    def normalised(gamma: Expr, x: Expr, mean: Expr, variance: Expr, beta: Expr) -> Expr:
        return of_type(gamma * (x - mean) / op.sqrt(variance + eps) + beta, Call)

    label = "subtract_multiply_add_sqrt_divide_add_"
    once = taken_out(normalised, label, gamma, X, mean, variance, B)
    twice = taken_out(normalised, label, gamma, once, mean, variance, B)
    expr = normalised(gamma, normalised(gamma, X, mean, variance, B), mean, variance, B)
    assert structural_equal(pattern.partition(expr), twice)


def test_groups_that_overlap_or_whose_inside_is_used_elsewhere_stay() -> None:
    normalised = op.nn.batch_norm(X, W, B, Z, var("v"))
    field = is_tuple_get_item(is_op("nn.batch_norm")(*(wildcard() for _ in range(5))), 0)
    both = TupleGetItem(of_type(normalised, Call), 0) + TupleGetItem(of_type(normalised, Call), 0)
    assert field.partition(both) is both
    conv = op.nn.conv2d(X, W)
    overused = op.nn.relu(conv) + conv
    assert is_op("nn.relu")(IS_CONV).partition(overused) is overused


def test_an_inside_that_is_used_on_the_way_to_the_root_is_copied() -> None:
    summed = op.nn.conv2d(X, W) + B
    pattern = (IS_CONV + wildcard()) * wildcard()
    out = op.abs(summed * op.sigmoid(summed))

    def gated(x: Expr, w: Expr, b: Expr, gate: Expr) -> Expr:
        return of_type((op.nn.conv2d(x, w) + b) * gate, Call)

    wanted = taken_out(gated, "nn.conv2d_add_multiply_", X, W, B, op.sigmoid(summed))
    assert structural_equal(pattern.partition(out), op.abs(wanted))


def test_an_input_of_two_branches_is_one_parameter() -> None:
    conv = op.nn.conv2d(X, W)
    pattern = wildcard() * wildcard() + (wildcard() + wildcard())
    wanted = taken_out(lambda left, mid, right: left * mid + (mid + right), "multiply_add_add_", B, conv, Z)
    assert structural_equal(pattern.partition(B * conv + (conv + Z)), wanted)


def test_any_fields_and_any_arguments() -> None:
    joined = is_op("concatenate")(is_tuple(None))
    for fields in ((X,), (X, W), (X, W, X + W)):
        wanted = taken_out(lambda *parts: op.concatenate(parts, axis=0), "Tuple_concatenate_", *fields)
        assert structural_equal(joined.partition(op.concatenate(fields, axis=0)), wanted)
    called = FunctionPattern(None, wildcard() + wildcard())(None) + wildcard()
    function = Function((a := var("a"), b := var("b")), a + b)
    wanted = taken_out(lambda x, y, z: Call(function, (x, y)) + z, "add_FunctionCall_add_", X, W, B)
    assert structural_equal(called.partition(Call(function, (X, W)) + B), wanted)


def test_calls_of_functions() -> None:
    function = Function((a := var("a"), b := var("b")), op.nn.conv2d(a, b))
    wanted = taken_out(lambda x, w, b: Call(function, (x, w)) + b, "nn.conv2d_FunctionCall_add_", X, W, B) + B
    expr = Call(function, (X, W)) + B + B
    one, two = wildcard(), wildcard()
    for body in (is_op("nn.conv2d")(one, two), wildcard()):
        pattern = FunctionPattern([one, two], body)(wildcard(), wildcard()) + wildcard()
        assert structural_equal(pattern.partition(expr), wanted)
    either = FunctionPattern([one, two], is_op("nn.relu")(wildcard())) | FunctionPattern([one, two], IS_CONV)
    out = either(wildcard(), wildcard()).partition(Call(function, (X, W)) + B)
    assert structural_equal(out, taken_out(lambda x, w: Call(function, (x, w)), "nn.conv2d_FunctionCall_", X, W) + B)
    # A function that nothing calls cannot be taken out.
    assert partition(FunctionPattern([one, two], IS_CONV), function) is function


def test_a_check_decides() -> None:
    pattern = is_op("nn.relu")(IS_CONV)

    def check(pre: Expr) -> bool:
        return bool(of_type(of_type(pre, Call).args[0], Call).attrs.data_layout == "NCHW")

    expr = op.nn.relu(op.nn.conv2d(X, W))
    wanted = taken_out(lambda x, w: op.nn.relu(op.nn.conv2d(x, w)), "nn.conv2d_nn.relu_", X, W)
    assert structural_equal(partition(pattern, expr, check=check), wanted)
    other = op.nn.relu(op.nn.conv2d(X, W, data_layout="NHWC"))
    assert partition(pattern, other, check=check) is other


def test_constants_are_inputs_unless_the_pattern_asks_for_them() -> None:
    weight = const(1)
    label = "nn.conv2d_nn.bias_add_nn.relu_"
    lifted = taken_out(activated, label, X, weight, B)
    kept = taken_out(lambda x, b: activated(x, weight, b), label, X, B)
    expr = activated(X, weight, B)

    def pattern(of_weight: DFPattern) -> DFPattern:
        conv = is_op("nn.conv2d")(wildcard(), of_weight)
        return is_op("nn.relu")(is_op("nn.bias_add")(conv, wildcard()))

    assert structural_equal(pattern(wildcard()).partition(expr), lifted)
    assert pattern(is_var()).partition(expr) is expr
    for one in (is_constant(), is_expr(weight), is_var() | is_constant(), is_constant() | is_var()):
        assert structural_equal(pattern(one).partition(expr), kept)
    variable = activated(X, W, B)
    assert pattern(is_constant()).partition(variable) is variable
    assert structural_equal(pattern(is_constant() | is_var()).partition(variable), taken_out(activated, label, X, W, B))


def test_tuples_are_among_what_is_taken_out() -> None:
    pattern = is_tuple([is_op("abs")(wildcard()), is_op("abs")(wildcard())])
    wanted = taken_out(lambda x, w: Tuple((op.abs(x), op.abs(w))), "abs_abs_Tuple_", X, W)
    assert structural_equal(pattern.partition(Tuple((op.abs(X), op.abs(W)))), wanted)


def test_the_result_is_a_program() -> None:
    x, w, b = var("x", shape=(1, 3, 8, 8)), var("w", shape=(4, 3, 3, 3)), var("b", shape=(4,))
    function = Function((x, w, b), activated(x, w, b))
    out = of_type(is_op("nn.relu")(IS_BIASED).partition(function), Function)
    typed = relay_ir.infer_type(IRModule.from_expr(out))
    assert typed["main"].ret_type == relay_ir.TensorType((1, 4, 6, 6), "float32")
