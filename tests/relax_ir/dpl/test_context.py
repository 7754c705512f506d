"""Which variables of a block a context's patterns are; each test has the meaning of TVM's test of
that name, of ``test_dataflow_pattern.py`` of TVM 0.27.
"""

from __future__ import annotations

import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir.dpl import (
    PatternContext,
    PatternError,
    TupleGetItemPattern,
    is_call_dps_packed,
    is_op,
    is_var,
    wildcard,
)

SHAPE = "R.Tensor((32, 32), 'float32')"
DIAMOND = "a = matmul x w; b = relu a; c = sigmoid a; d = plus b c"
SMALL_DIAMOND = "a = relu x; b = plus a a"
SMALL_PARALLEL = "a = relu x; b = relu x; c = plus a b"
TWO_CBR = "a = conv x w; b = bias a u; c = relu b; d = conv x v; e = bias d u; f = relu e; g = concat c f"
NESTED = (
    "a = matmul x w; b = matmul x w; c = sigmoid a; d = sigmoid b; "
    "e = plus a b; f = plus c e; g = plus d e; h = plus f g"
)
CHAIN = "a = relu x; b = sigmoid a; c = neg b"


def block(lines: str) -> rx.BindingBlock:
    """Return a dataflow block of calls of packed functions, ``name = function operands``."""
    made = []
    for line in lines.split("; "):
        name, _, call = line.partition(" = ")
        func, *operands = call.split()
        made.append(f"{name} = R.call_dps_packed('{func}', ({', '.join(operands)},), out_sinfo={SHAPE})")
    return parsed("\n        ".join(made), name, ", ".join(f"{one}: {SHAPE}" for one in "xywuv"))


def parsed(body: str, output: str, params: str) -> rx.BindingBlock:
    script = f"""
@R.function
def main({params}):
    with R.dataflow():
        {body}
        R.output({output})
    return {output}
"""
    func = rx.parse(script)["main"]
    assert isinstance(func, rx.Function)
    return func.body.blocks[0]


packed = is_call_dps_packed


def test_simple_used_by() -> None:
    dfb = block(CHAIN)
    with PatternContext() as context:
        free, user = is_var("x"), wildcard()
        free ^ user
        found = context.match_dfb(dfb)
    assert found is not None
    assert (found[free].name, found[user]) == ("x", dfb.bindings[0].var)


def test_simple_call_tir_edge() -> None:
    dfb = block(CHAIN)
    with PatternContext() as context:
        relu, sigmoid = packed("relu"), packed("sigmoid")
        relu.used_by(sigmoid)
        found = context.match_dfb(dfb)
    assert found == {relu: dfb.bindings[0].var, sigmoid: dfb.bindings[1].var}


def test_simple_oub() -> None:
    dfb = block(CHAIN)
    with PatternContext() as context:
        relu, sigmoid = packed("relu"), packed("sigmoid")
        relu >> sigmoid
        assert context.match_dfb(dfb) == {relu: dfb.bindings[0].var, sigmoid: dfb.bindings[1].var}


def test_counter_syntax_match() -> None:
    with PatternContext() as context:
        packed("relu") >> packed("impossible")
        assert context.match_dfb(block(CHAIN)) is None
    with PatternContext() as context:
        packed("relu") ^ packed("impossible")
        assert context.match_dfb(block(CHAIN)) is None


def test_diamond() -> None:
    with PatternContext() as context:
        matmul, relu, sigmoid, plus = map(packed, ("matmul", "relu", "sigmoid", "plus"))
        matmul ^ relu
        matmul ^ sigmoid
        relu >> plus
        sigmoid >> plus
        assert context.match_dfb(block(DIAMOND))
    with PatternContext() as context:
        relu, sigmoid, plus = map(packed, ("relu", "sigmoid", "plus"))
        packed("matmul").fork_to(relu, sigmoid)
        relu >> plus
        sigmoid >> plus
        assert context.match_dfb(block(DIAMOND))


def test_diamond_counter_oub() -> None:
    with PatternContext() as context:
        matmul, relu, sigmoid, plus = map(packed, ("matmul", "relu", "sigmoid", "plus"))
        matmul >> relu
        matmul >> sigmoid
        relu >> plus
        sigmoid >> plus
        assert context.match_dfb(block(DIAMOND)) is None


def test_distinguish_diamond_and_parallel() -> None:
    with PatternContext() as context:
        fork, join = packed("relu"), packed("plus")
        fork.only_used_by(join, index=0)
        fork.only_used_by(join, index=1)
        assert context.match_dfb(block(SMALL_DIAMOND))
        assert context.match_dfb(block(SMALL_PARALLEL)) is None
    with PatternContext() as context:
        join = packed("plus")
        packed("relu") >> join
        packed("relu") >> join
        assert context.match_dfb(block(SMALL_PARALLEL))
        assert context.match_dfb(block(SMALL_DIAMOND)) is None


def test_nested_context() -> None:
    dfb = block(TWO_CBR)
    with PatternContext() as outer:
        packed("conv") >> packed("bias") >> packed("relu")
        with PatternContext() as middle:
            packed("conv") >> packed("relu")
            with PatternContext() as inner:
                packed("bias") >> packed("relu")
                assert inner.match_dfb(dfb)
                assert PatternContext.current() is inner
            assert middle.match_dfb(dfb) is None
            assert PatternContext.current() is middle
        assert outer.match_dfb(dfb)
        assert PatternContext.current() is outer
    assert PatternContext.current() is None


@pytest.mark.parametrize(("name", "there"), [("x", True), ("y", False)])
def test_two_cbr(name: str, there: bool) -> None:
    with PatternContext() as context:
        first = packed("conv") >> packed("bias") >> packed("relu")
        second = first.dup()
        assert not set(first.patterns) & set(second.patterns)
        is_var(name).fork_to(first, second)
        assert bool(context.match_dfb(block(TWO_CBR))) is there


def test_two_matmul() -> None:
    script = """lv0 = R.call_dps_packed("matmul", (a, b), out_sinfo=R.Tensor((32, 48), "float32"))
        lv1 = R.call_dps_packed("matmul", (lv0, c), out_sinfo=R.Tensor((32, 32), "float32"))"""
    params = "a: R.Tensor((32, 16), 'float32'), b: R.Tensor((16, 48), 'float32'), c: R.Tensor((48, 32), 'float32')"
    dfb = parsed(script, "lv1", params)
    with PatternContext() as context:
        packed("matmul") >> packed("matmul")
        assert context.match_dfb(dfb)
    with PatternContext() as context:
        packed("matmul").has_shape([32, 48]) >> packed("matmul").has_shape([32, 32])
        assert context.match_dfb(dfb)
    with PatternContext() as context:
        packed("matmul").has_shape([32, 32]) >> packed("matmul").has_shape([32, 48])
        assert context.match_dfb(dfb) is None
    with PatternContext() as context:
        packed("matmul") >> packed("matmul") >> packed("matmul")
        assert context.match_dfb(dfb) is None


def test_concat_mm_split() -> None:
    script = """lv0 = R.call_dps_packed("concat", (b, c), out_sinfo=R.Tensor((32, 32), "float32"))
        lv1 = R.call_dps_packed("matmul", (a, lv0), out_sinfo=R.Tensor((32, 32), "float32"))
        lv2 = R.call_dps_packed("split", (lv1,), out_sinfo=[HALF, HALF])
        lv3 = lv2[0]
        lv4 = lv2[1]
        lv5 = R.add(lv3, lv4)""".replace("HALF", 'R.Tensor((16, 32), "float32")')
    params = "a: R.Tensor((32, 32), 'float32'), b: R.Tensor((16, 32), 'float32'), c: R.Tensor((16, 32), 'float32')"
    dfb = parsed(script, "lv5", params)
    with PatternContext() as context:
        packed("concat") >> packed("matmul") >> packed("split")
        assert context.match_dfb(dfb)
    with PatternContext() as context:
        split = packed("split")
        first, second = (TupleGetItemPattern(split, place).has_shape([16, 32]) for place in (0, 1))
        split.fork_to(first, second)
        add = is_op("relax.add")(first, second)
        first >> add
        second >> add
        assert context.match_dfb(dfb)


def test_self_attention() -> None:
    lines = (
        "a = fc x w; b = turned a; c = fc x u; d = turned c; e = times b d; f = softmax e; "
        "g = fc x v; h = turned g; i = times f h"
    )
    with PatternContext() as context:
        query = packed("fc") >> packed("turned")
        key, value = query.dup(), query.dup()
        is_var("x").fork_to(query, key, value)
        assert context.match_dfb(block(lines))


def test_nested_diamond() -> None:
    dfb = block(NESTED)
    for only, there in ((False, True), (True, False)):
        with PatternContext() as context:
            sigmoid, middle, last = packed("sigmoid"), packed("plus"), packed("plus")
            packed("matmul").fork_to(sigmoid, middle)
            sigmoid >> last
            _ = middle >> last if only else middle ^ last
            assert bool(context.match_dfb(dfb)) is there
    with PatternContext() as context:
        left, right, last = packed("plus"), packed("plus"), packed("plus")
        packed("plus").fork_to(left, right)
        left >> last
        right >> last
        assert context.match_dfb(dfb)


def test_incremental_solving() -> None:
    dfb = block(CHAIN)
    relu, sigmoid, neg = map(packed, ("relu", "sigmoid", "neg"))
    with PatternContext() as outer:
        relu >> sigmoid
        with PatternContext(incremental=True) as inner:
            sigmoid >> neg
            found = inner.match_dfb(dfb)
            assert found is not None
            assert set(found) == {relu, sigmoid, neg}
        found = outer.match_dfb(dfb)
        assert found is not None
        assert set(found) == {relu, sigmoid}


def test_incremental_solving_counter() -> None:
    dfb = block("a = sigmoid x; b = neg a")
    relu, sigmoid, neg = map(packed, ("relu", "sigmoid", "neg"))
    with PatternContext():
        relu >> sigmoid
        for incremental in (False, True):
            with PatternContext(incremental) as inner:
                sigmoid >> neg
                assert bool(inner.match_dfb(dfb)) is not incremental
    with pytest.raises(PatternError, match="within another"):
        PatternContext(incremental=True)


def _products(*lines: str) -> rx.BindingBlock:
    params = ", ".join(f"{name}: R.Tensor((64, 64), 'float32')" for name in ("x1", "x2", "w0", "w1", "w2"))
    return parsed("\n        ".join([*lines, "out = (lv0, lv1, lv2)"]), "out", params)


@pytest.mark.parametrize("second", ["x1", "x2"])
def test_attention_qkv(second: str) -> None:
    """Three products of one input; ``test_attention_fake_qkv`` has another input in two of them."""
    dfb = _products("lv0 = R.matmul(x1, w0)", f"lv1 = R.matmul({second}, w1)", f"lv2 = R.matmul({second}, w2)")
    with PatternContext() as context:
        given, weights = wildcard(), [wildcard() for _ in range(3)]
        for weight in weights:
            is_op("relax.matmul")(given, weight)
    found = context.match_dfb(dfb)
    if second == "x2":
        assert found is None
    else:
        assert found is not None
        assert [found[one].name for one in weights] == ["w0", "w1", "w2"]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("(1024, 128)", "(1024, 128)", True),
        ("('n', 128)", "('n', 128)", True),
        ("(1024, 128)", "(1, 128)", False),
        ("('n', 128)", "('m', 128)", False),
    ],
)
def test_same_shape_pattern(a: str, b: str, same: bool) -> None:
    script = "c = R.multiply(a, R.const(2, 'float32'))\n        d = R.add(b, c)\n        out = R.abs(d)"
    dfb = parsed(script, "out", f"a: R.Tensor({a}, 'float32'), b: R.Tensor({b}, 'float32')")
    with PatternContext() as context:
        left, right = wildcard(), wildcard()
        is_op("relax.add")(left, right)
        left.same_shape_as(right)
    assert (context.match_dfb(dfb) is not None) is same


def test_no_block() -> None:
    with PatternContext() as context:
        wildcard() ^ wildcard()
    with pytest.raises(PatternError, match="a dataflow block"):
        context.match_dfb(3)


@pytest.mark.sweep(every=2)
def test_a_chain_may_be_long() -> None:
    count = 3000
    lines = "; ".join(f"v{i} = relu {f'v{i - 1}' if i else 'x'}" for i in range(count))
    with PatternContext() as context:
        chain = packed("relu") >> packed("relu")
        for _ in range(count - 2):
            chain = chain[-1] >> packed("relu")
        found = context.match_dfb(block(lines))
    assert found is not None
    assert len(found) == count
