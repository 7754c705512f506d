"""What patterns match; the meaning of each case is that of TVM's tests of dataflow patterns."""

from __future__ import annotations

import numpy as np
import pytest

from relay2relax import relay_ir
from relay2relax.relay_ir import Call, Constant, Expr, Function, If, Let, Op, OpaqueAttrs, Tuple, TupleGetItem, op, var
from relay2relax.relay_ir.dataflow_pattern import (
    DFPattern,
    FunctionPattern,
    PatternError,
    dominates,
    has_dtype,
    has_shape,
    has_type,
    is_constant,
    is_expr,
    is_if,
    is_let,
    is_op,
    is_tuple,
    is_tuple_get_item,
    is_var,
    match,
    wildcard,
)

ELEMWISE, BROADCAST, INJECTIVE = 0, 1, 2
X, Y, Z = var("x"), var("y"), var("z")
F = var("f")
CONV = op.nn.conv2d(X, Y, kernel_size=(3, 3))
IS_CONV = is_op("nn.conv2d")(wildcard(), wildcard())
OPTIONAL = IS_CONV.optional(is_op("nn.relu")).optional(is_op("tanh"))
BIASED = is_op("nn.relu")(IS_CONV.optional(lambda conv: is_op("nn.bias_add")(conv, wildcard())))
LESS = is_op("less")(is_var("x"), is_var("y"))
TYPED = var("t", shape=(10, 10), dtype="float32")
CALL_ATTRS = OpaqueAttrs("DictAttrs", (("call_attr", "attr"),))
COMPOSITE = Function((X, Y), X + Y, attrs={"Composite": "add"})
TWO = FunctionPattern([one := wildcard(), two := wildcard()], one + two)
TRIPLE = Tuple((X, Y, Op("add")))

MATCHES: list[tuple[DFPattern, Expr]] = [
    (is_op("add"), Op("add")),
    (is_op("add") | is_op("subtract"), Op("subtract")),
    (is_op("add")(is_var("x"), is_var("y")), Y + X),
    (is_var("x") * is_var("y"), Y * X),
    (wildcard()(None), op.nn.relu(X)),
    (wildcard()(None), X + Y),
    (TWO, Function((X, Y), X + Y)),
    (FunctionPattern(None, wildcard()), Function((X,), X)),
    (is_if(LESS, is_var("x"), is_var("y")), If(X < Y, X, Y)),
    (is_let(bound := is_var("z"), LESS, bound), Let(Z, X < Y, Z)),
    (BIASED, op.nn.relu(CONV)),
    (BIASED, op.nn.relu(op.nn.bias_add(CONV, Z))),
    (OPTIONAL, CONV),
    (OPTIONAL, op.nn.relu(CONV)),
    (OPTIONAL, op.tanh(CONV)),
    (OPTIONAL, op.tanh(op.nn.relu(CONV))),
    (is_tuple([is_var("x"), wildcard(), is_op("add")]), TRIPLE),
    (is_tuple_get_item(is_tuple(None)), TupleGetItem(TRIPLE, 2)),
    (is_tuple_get_item(is_tuple(None), 1), TupleGetItem(TRIPLE, 1)),
    (is_op("concatenate")(is_tuple(None)), op.concatenate((X, Y), axis=0)),
    (has_type(relay_ir.TensorType((10, 10), "float32")), TYPED),
    (has_dtype("float32"), TYPED),
    (has_shape([10, 10]), TYPED),
    (is_op("add").has_attr({"TOpPattern": BROADCAST})(wildcard(), wildcard()), X + Y),
    (wildcard().has_attr({"Composite": "add"}), COMPOSITE),
    (IS_CONV.has_attr({"data_layout": "NCHW"}), CONV),
    (IS_CONV.has_attr({"kernel_size": [3, 3]}), CONV),
    (is_op("cast")(wildcard()).has_attr({"dtype": "float32"}), X.astype("float32")),
    (wildcard()(wildcard()).has_attr({"call_attr": "attr"}), Call(F, (X,), CALL_ATTRS)),
    (wildcard()(wildcard()).has_attr({}), Call(F, (X,))),
    (is_constant(), relay_ir.const(1.0)),
    (is_expr(relay_ir.const(1.0)), relay_ir.const(1.0)),
    (is_expr(Op("add"))(wildcard(), wildcard()), X + Y),
    # A product of a quotient is a quotient of a product, and the other way round.
    (is_var("x") * is_var("y") / is_var("z"), X * (Y / Z)),
    (is_var("x") * is_var("y") / is_var("z"), X / Z * Y),
    (is_var("x") * (is_var("y") / is_var("z")), X * Y / Z),
]  # fmt: skip

REFUSED: list[tuple[DFPattern, Expr]] = [
    (is_op("add"), Op("subtract")),
    (is_var("x") - is_var("y"), Y - X),
    (is_var("x") / is_var("y"), Y / X),
    (is_op("add")(wildcard(), wildcard()), X - Y),
    (TWO, Function((X, Y), X - Y)),
    (TWO, Function((X,), X + X)),
    (is_if(LESS, is_var("x"), is_var("y")), If(X > Y, X, Y)),
    (is_if(LESS, is_var("x"), is_var("y")), If(X < Y, Y, X)),
    (is_let(bound := is_var("z"), LESS, bound), Let(Z, X > Y, Z)),
    (is_let(bound := is_var("z"), LESS, bound), Let(Z, X < Y, Z * X)),
    (OPTIONAL, op.nn.relu(op.tanh(CONV))),
    (BIASED, op.tanh(CONV)),
    (BIASED, op.nn.relu(CONV + Y)),
    (BIASED, op.nn.relu(op.nn.bias_add(op.nn.dense(X, Y), Z))),
    (is_tuple([is_var("x"), wildcard(), is_op("add"), wildcard()]), TRIPLE),
    (is_tuple_get_item(is_tuple(None), 1), TupleGetItem(TRIPLE, 2)),
    (has_type(relay_ir.TensorType((10, 10), "int32")), TYPED),
    (has_dtype("int32"), TYPED),
    (has_shape([10, 5]), TYPED),
    (is_op("nn.dense").has_attr({"TOpPattern": ELEMWISE})(wildcard(), wildcard()), op.nn.dense(X, Y)),
    (is_op("add").has_attr({"TOpPattern": BROADCAST})(wildcard(), wildcard()), Let(Z, X + Y, Z)),
    (is_op("add").has_attr({"FTVMCompute": 1}), Op("add")),
    (wildcard().has_attr({"Composite": "add"}), Function((X,), X, attrs={"Composite": "conv"})),
    (wildcard().has_attr({"Composite": "add"}), Function((X,), X, attrs={"Other": "add"})),
    (IS_CONV.has_attr({"data_layout": "NHWC"}), CONV),
    (IS_CONV.has_attr({"no_such_attribute": "NCHW"}), CONV),
    (IS_CONV.has_attr({"kernel_size": [2, 1]}), CONV),
    (wildcard()(wildcard()).has_attr({"call_attr": "attr"}), Call(F, (X,))),
    (is_constant(), X),
    (is_expr(relay_ir.const(1.0)), relay_ir.const(1)),
    (is_var("x"), Y),
]  # fmt: skip


@pytest.mark.parametrize(("pattern", "expr"), MATCHES)
def test_these_match(pattern: DFPattern, expr: Expr) -> None:
    assert match(pattern, expr)


@pytest.mark.parametrize(("pattern", "expr"), REFUSED)
def test_these_do_not(pattern: DFPattern, expr: Expr) -> None:
    assert not pattern.match(expr)


def test_a_constant_is_asked_for() -> None:
    biased = is_op("nn.bias_add")(is_op("nn.conv2d")(wildcard(), is_constant()), wildcard())
    weight = Constant(np.ones((3, 3, 3, 3), np.float32))
    assert not biased.match(op.nn.bias_add(CONV, Z))
    assert biased.match(op.nn.bias_add(op.nn.conv2d(X, weight), Z))


def test_a_part_that_stands_twice_matches_one_node() -> None:
    left, right = is_op("nn.relu")(IS_CONV), is_op("nn.leaky_relu")(IS_CONV)
    diamond = left + right
    other = op.nn.conv2d(Z, Y)
    assert diamond.match(op.nn.relu(CONV) + op.nn.leaky_relu(CONV, alpha=0.0))
    assert not diamond.match(op.nn.relu(CONV) + op.nn.leaky_relu(other, alpha=0.0))
    assert not diamond.match(op.nn.relu(CONV))
    assert not diamond.match(op.nn.relu(CONV) + op.nn.leaky_relu(CONV, alpha=0.0) + CONV)


def elementwise(args: DFPattern | None) -> DFPattern:
    return wildcard().has_attr({"TOpPattern": ELEMWISE})(args)


def relu(expr: Expr, times: int = 1) -> Expr:
    for _ in range(times):
        expr = op.nn.relu(expr)
    return expr


def test_dominators() -> None:
    add = is_op("add")(wildcard(), wildcard())
    diamond = dominates(IS_CONV, elementwise(wildcard()), add)
    leaky = op.nn.leaky_relu(CONV, alpha=0.0)
    assert diamond.match(relu(CONV, 2) + leaky)
    assert diamond.match(op.tanh(relu(CONV, 2)) + leaky)
    once, twice = relu(CONV), relu(CONV) + relu(CONV)
    assert diamond.match(once + op.tanh(once))
    # Two parents; a node off the path; a way round the parent; no parent.
    assert not diamond.match(relu(CONV) + op.nn.leaky_relu(op.nn.conv2d(Z, Y), alpha=0.0))
    assert not diamond.match(twice + leaky)
    assert not diamond.match(relu(X) + leaky)
    assert not diamond.match(relu(X, 2) + op.tanh(relu(X)))
    with_sums = dominates(IS_CONV, elementwise(wildcard()) | is_op("add")(wildcard(), wildcard()), add)
    assert with_sums.match(op.tanh(once + once) + leaky)


def test_the_parent_of_a_dominator_is_one_node() -> None:
    pattern = dominates(IS_CONV, is_op("nn.relu")(wildcard()), is_op("add")(wildcard(), wildcard()))
    second = op.nn.conv2d(op.tanh(CONV), Y)
    assert not pattern.match(relu(second) + relu(CONV))
    assert not pattern.match(second + relu(CONV))


def test_operands_beside_the_path_do_not_count() -> None:
    path = elementwise(None) | wildcard().has_attr({"TOpPattern": BROADCAST})(None)
    pattern = wildcard().has_attr({"TOpPattern": INJECTIVE})(wildcard()).dominates(IS_CONV, path)
    assert pattern.match(op.reshape(relu(op.nn.bias_add(CONV, Z)), newshape=(-1, 2, 8)))


def test_types_along_a_dominator() -> None:
    data, weight = var("data", shape=(1, 3, 12, 12)), var("weight", shape=(3, 3, 3, 3))
    conv = op.nn.conv2d(data, weight)
    expr = relu(conv, 2) + op.nn.leaky_relu(conv, alpha=0.0)

    def diamond(shape: list[int], dtype: str) -> DFPattern:
        sum_of = is_op("add")(wildcard(), wildcard()).has_shape(shape)
        return dominates(IS_CONV, elementwise(wildcard()).has_dtype(dtype), sum_of)

    assert diamond([1, 3, 10, 10], "float32").match(expr)
    assert not diamond([1, 1, 10, 10], "float32").match(expr)
    assert not diamond([1, 3, 10, 10], "float16").match(expr)


@pytest.mark.sweep(every=2)
def test_a_long_chain_of_a_pattern_that_contains_itself() -> None:
    expr: Expr = op.nn.dense(X, Y)
    for _ in range(20_000):
        expr = op.abs(expr)
    inner = wildcard()
    chain = is_op("abs")(inner)
    inner.redirect_to(chain | is_op("nn.dense")(wildcard(), wildcard()))
    assert chain.match(expr)
    assert not chain.match(op.tanh(expr))
    long = wildcard().dominates(is_op("nn.dense")(wildcard(), wildcard()), is_op("abs")(wildcard()))
    assert long.match(expr)


def test_diamonds_in_a_row_are_walked_once() -> None:
    expr: Expr = CONV
    for _ in range(60):
        expr = op.nn.relu(expr) + op.tanh(expr)
    path = elementwise(wildcard()) | is_op("add")(wildcard(), wildcard())
    assert dominates(IS_CONV, path, wildcard()).match(expr)


def test_what_is_no_pattern_or_no_program_is_refused() -> None:
    with pytest.raises(PatternError, match="a pattern, found int"):
        is_op("add")(1, 2)  # type: ignore[arg-type]
    with pytest.raises(PatternError, match="an expression, found int"):
        wildcard().match(1)
    with pytest.raises(PatternError, match="an expression of Relay, found str"):
        wildcard().partition("x")
