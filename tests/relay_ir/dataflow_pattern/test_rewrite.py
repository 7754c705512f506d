"""Rewriting what matches; the meaning of each case is that of TVM's tests of dataflow patterns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pytest
from typed import of_type

from relay2relax import relay_ir
from relay2relax.core.errors.extensions import ExtensionError
from relay2relax.relay_ir import Call, Constant, Expr, Function, TensorType, const, op, structural_equal, var
from relay2relax.relay_ir.dataflow_pattern import (
    DFPattern,
    DFPatternCallback,
    FunctionPattern,
    PatternError,
    dominates,
    is_constant,
    is_expr,
    is_op,
    rewrite,
    wildcard,
)

Found = Mapping[DFPattern, Sequence[Expr]]
X, Y, Z = var("x"), var("y"), var("z")


class Replace(DFPatternCallback):
    """What matches becomes what ``change`` makes of its result and of what the parts matched."""

    def __init__(self, pattern: DFPattern, change: Callable[[Expr, Found], Expr], once: bool = False) -> None:
        super().__init__(rewrite_once=once)
        self.pattern = pattern
        self.change = change

    def callback(self, pre: Expr, post: Expr, node_map: Found) -> Expr:
        return self.change(post, node_map)


def to_difference(post: Expr, _: Found) -> Expr:
    left, right = of_type(post, Call).args
    return left - right


SUM = Replace(is_op("add")(wildcard(), wildcard()), to_difference)


def test_every_match_is_rewritten_from_the_inputs_on() -> None:
    assert structural_equal(rewrite(SUM, (X + Y) * (X + Z)), (X - Y) * (X - Z))
    assert structural_equal(SUM.rewrite(X + (Y + Z)), X - (Y - Z))
    function = Function((a := var("a"),), op.nn.relu(a + a))
    changed = Function((a,), op.nn.relu(a - a))
    assert structural_equal(rewrite(SUM, Call(function, (X,))), Call(changed, (X,)))


def test_what_does_not_match_stays_the_same_object() -> None:
    expr = op.nn.relu(X - Y)
    assert rewrite(SUM, expr) is expr
    mod = relay_ir.Prelude().mod
    assert rewrite(SUM, mod["concat"], mod) is mod["concat"]


def test_a_call_of_a_composite_function() -> None:
    function = Function((X, Y), X + Y, attrs={"Composite": "add"})
    pattern = wildcard().has_attr({"Composite": "add"})(wildcard(), wildcard())
    inlined = Replace(pattern, lambda post, _: (args := of_type(post, Call).args)[0] - args[1])
    assert structural_equal(rewrite(inlined, op.abs(Call(function, (Y, Z)))), op.abs(Y - Z))


class FuseBatchNorm(DFPatternCallback):
    def __init__(self) -> None:
        super().__init__()
        self.x, self.var, self.mean, self.beta, self.gamma = (wildcard() for _ in range(5))
        self.eps = is_constant()
        deviation = is_op("sqrt")(self.var + self.eps)
        self.pattern = self.gamma * (self.x - self.mean) / deviation + self.beta

    def callback(self, pre: Expr, post: Expr, node_map: Found) -> Expr:
        x, gamma, beta, mean, variance = (
            node_map[one][0] for one in (self.x, self.gamma, self.beta, self.mean, self.var)
        )
        epsilon = float(of_type(node_map[self.eps][0], Constant).data)
        return of_type(op.nn.batch_norm(x, gamma, beta, mean, variance, epsilon=epsilon)[0], relay_ir.TupleGetItem)


MEAN, VAR, BETA, GAMMA = var("mean"), var("var"), var("beta"), var("gamma")
EPS = const(np.float32(1e-5))
DEVIATION = op.sqrt(VAR + EPS)


def fused(x: Expr) -> Expr:
    return of_type(
        op.nn.batch_norm(x, GAMMA, BETA, MEAN, VAR, epsilon=float(np.float32(1e-5)))[0], relay_ir.TupleGetItem
    )


@pytest.mark.parametrize(
    "spelt",
    [
        GAMMA * (X - MEAN) / DEVIATION + BETA,
        BETA + GAMMA * (X - MEAN) / DEVIATION,
        GAMMA * ((X - MEAN) / DEVIATION) + BETA,
        (X - MEAN) / DEVIATION * GAMMA + BETA,
    ],
)
def test_sums_and_products_match_however_they_are_spelt(spelt: Expr) -> None:
    assert structural_equal(rewrite(FuseBatchNorm(), spelt), fused(X))


def test_one_match_on_another() -> None:
    first = GAMMA * (X - MEAN) / DEVIATION + BETA
    other = GAMMA * (X - MEAN) / DEVIATION - BETA
    assert rewrite(FuseBatchNorm(), other) is other
    assert structural_equal(rewrite(FuseBatchNorm(), GAMMA * (first - MEAN) / DEVIATION + BETA), fused(fused(X)))
    assert structural_equal(rewrite(FuseBatchNorm(), GAMMA * (other - MEAN) / DEVIATION + BETA), fused(other))


def test_several_callbacks_until_nothing_changes() -> None:
    zero, one = is_expr(const(0)) | is_expr(const(0.0)), is_expr(const(1)) | is_expr(const(1.0))

    def keep(pattern: Callable[[DFPattern], DFPattern], part: DFPattern) -> Replace:
        return Replace(pattern(part), lambda _, found: found[part][0])

    callbacks = [
        keep(lambda x: x + zero, wildcard()),
        keep(lambda x: x - zero, wildcard()),
        keep(lambda x: x * one, wildcard()),
        keep(lambda x: x / one, wildcard()),
        keep(lambda x: x * wildcard(), zero),
        keep(lambda x: x / wildcard(), zero),
    ]
    nought, unit = const(0.0), const(1.0)
    for expr in (X + nought, nought + X, X - nought, X * unit, unit * X, X / unit):
        assert rewrite(callbacks, expr) is X
    assert rewrite(callbacks, X * nought) is nought
    expr = (X + nought * Y) / unit + (Y * unit) - nought / X
    assert structural_equal(rewrite(callbacks, expr), X + Y)


def test_dominators_one_after_another() -> None:
    data, weight = wildcard(), wildcard()
    path = wildcard().has_attr({"TOpPattern": 0})(wildcard()) | is_op("add")(wildcard(), wildcard())
    pattern = dominates(is_op("nn.conv2d")(data, weight), path, is_op("add")(wildcard(), wildcard()))
    removal = Replace(pattern, lambda _, found: op.nn.conv2d(found[data][0], found[weight][0]))
    expr: Expr = X
    wanted: Expr = X
    for inner in (lambda one: one, op.tanh, lambda one: op.tanh(one + one)):
        conv = op.nn.conv2d(expr, Y)
        expr = inner(op.nn.relu(conv)) + op.nn.leaky_relu(conv, alpha=0.0)
        wanted = op.nn.conv2d(wanted, Y)
    assert structural_equal(rewrite(removal, expr), wanted)


def test_a_function_with_any_body() -> None:
    pattern = FunctionPattern([wildcard(), wildcard()], wildcard())(wildcard(), wildcard()) + wildcard()
    function = Function((a := var("a"), b := var("b")), op.nn.conv2d(a, b))
    out = rewrite(Replace(pattern, lambda *_: X + Y), Call(function, (X, Y)) + Z + Z)
    assert structural_equal(out, X + Y + Z)


def shorter(post: Expr, _: Found) -> Expr:
    fields = of_type(of_type(post, Call).args[0], relay_ir.Tuple).fields
    return op.concatenate(fields[:-1], axis=0) if fields[1:] else fields[0]


def test_callbacks_that_run_once() -> None:
    joined = op.concatenate((X, Y, Z), axis=0)
    parts = is_op("concatenate")(None)
    once = op.concatenate((X, Y), axis=0)
    assert rewrite(Replace(parts, shorter), joined) is X
    assert structural_equal(rewrite(Replace(parts, shorter, once=True), joined), once)

    def relu_behind() -> Replace:
        return Replace(is_op("nn.softmax")(None), lambda post, _: op.nn.relu(post), once=True)

    out = rewrite([relu_behind(), Replace(parts, shorter, once=True)], op.nn.softmax(joined))
    assert structural_equal(out, op.nn.relu(op.nn.softmax(once)))
    out = rewrite([relu_behind(), Replace(parts, shorter)], op.nn.softmax(joined))
    assert structural_equal(out, op.nn.relu(op.nn.softmax(X)))


@pytest.mark.parametrize("place", ["argument", "left", "right"])
def test_patterns_that_contain_themselves(place: str) -> None:
    expr: Expr = op.nn.dense(X, Y)
    for _ in range(6):
        expr = op.cast(expr, "float32")
    dense, inner = is_op("nn.dense")(wildcard(), wildcard()), wildcard()
    casts = {"argument": inner, "left": inner | dense, "right": dense | inner}[place]
    pattern = is_op("cast")(casts)
    inner.redirect_to(pattern | dense if place == "argument" else pattern)
    out = rewrite(Replace(pattern, lambda post, _: op.nn.relu(post), once=True), expr)
    assert structural_equal(out, op.nn.relu(expr))


def test_types_are_known_to_callbacks_that_ask() -> None:
    class Typed(DFPatternCallback):
        def __init__(self) -> None:
            super().__init__(require_type=True)
            self.pattern = is_op("abs")(wildcard())
            self.seen: list[object] = []

        def callback(self, pre: Expr, post: Expr, node_map: Found) -> Expr:
            self.seen.append(self.type_of(pre))
            return of_type(post, Call).args[0]

    typed = Typed()
    x = var("x", shape=(2, 3), dtype="float16")
    assert rewrite(typed, op.abs(x)) is x
    assert typed.seen == [TensorType((2, 3), "float16")]


@pytest.mark.sweep(every=2)
def test_rewriting_without_an_end_and_results_that_are_none() -> None:
    turned = Replace(SUM.pattern, lambda post, _: (args := of_type(post, Call).args)[1] + args[0])
    with pytest.raises(PatternError, match="100 rounds"):
        rewrite(turned, op.abs(X) + Y)
    doubled = Replace(is_op("abs")(wildcard()), lambda post, _: op.abs(post))
    with pytest.raises(PatternError, match="rounds of rewriting did not come to an end"):
        rewrite(doubled, op.abs(X))
    nothing = Replace(is_op("abs")(wildcard()), lambda *_: None)  # type: ignore[arg-type]
    with pytest.raises(ExtensionError, match="callback returned NoneType, expected an expression"):
        rewrite(nothing, op.abs(X))
