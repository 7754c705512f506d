"""What takes the place of matches; each test has the meaning of TVM's test of that name.

They are those of ``test_dataflow_pattern.py`` of TVM 0.27 that rewrite.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import call_op
from relay2relax.relax_ir.dpl import (
    DFPattern,
    PatternContext,
    PatternError,
    is_const,
    is_op,
    rewrite_bindings,
    rewrite_call,
    wildcard,
)
from relay2relax.tir.ir import expr as tir

Matches = Mapping[DFPattern, Any]


def main_of(params: str, *lines: str, dataflow: bool = True) -> rx.Function:
    """Return a private function of float32 parameters (``x: (16, 16), …``) and bindings; the last
    one is its result.
    """
    typed = params if "R." in params or not params else ", ".join(f"{one}, 'float32')" for one in _typed(params))
    result = lines[-1].partition(" = ")[0]
    body = [f"        {line}" for line in lines]
    if dataflow:
        body = ["        with R.dataflow():", *(f"    {line}" for line in body), f"            R.output({result})"]
    head = ["@I.ir_module", "class Module:", "    @R.function(private=True)", f"    def main({typed}):"]
    func = rx.parse("\n".join([*head, *body, f"        return {result}"]))["main"]
    assert isinstance(func, rx.Function)
    return func


def _typed(params: str) -> list[str]:
    return [f"{name}: R.Tensor({shape}" for name, _, shape in (one.partition(": ") for one in params.split("; "))]


def check(after: rx.Function, expected: rx.Function) -> None:
    rx.assert_structural_equal(after, expected)


def number(value: float, dtype: str = "float32") -> rx.Constant:
    return rx.Constant(np.array(value, dtype))


def test_rewrite_simple() -> None:
    main = main_of("x: (16, 16)", "x2 = R.add(x, x)", "x4 = R.add(x2, x2)")
    twice = main_of(
        "x: (16, 16)", "x2 = R.multiply(x, R.const(2, 'float32'))", "x4 = R.multiply(x2, R.const(2, 'float32'))"
    )
    x = wildcard()
    pattern = is_op("relax.add")(x, x)
    check(rewrite_call(pattern, lambda _, found: call_op("multiply", found[x], number(2)), main), twice)
    inner = is_op("relax.add")(x, x)
    pattern = is_op("relax.add")(inner, inner)
    after = rewrite_call(pattern, lambda _, found: call_op("multiply", found[x], number(4)), main)
    check(after, main_of("x: (16, 16)", "x4 = R.multiply(x, R.const(4, 'float32'))"))
    assert rewrite_call(pattern, lambda value, _: value, main) is main


def test_rewrite_attention() -> None:
    params = "q: (2, 64, 8, 40); k: (2, 64, 8, 40); v: (2, 64, 8, 40)"
    main = main_of(
        params,
        *(f"t{one} = R.permute_dims({one}, axes=[0, 2, 1, 3])" for one in "qkv"),
        *(f"r{one} = R.reshape(t{one}, R.shape([16, 64, 40]))" for one in "qkv"),
        "turned = R.permute_dims(rk, axes=[0, 2, 1])",
        "scores = R.matmul(rq, turned)",
        "scaled = R.multiply(scores, R.const(0.158, 'float32'))",
        "weights = R.nn.softmax(scaled, axis=-1)",
        "mixed = R.matmul(weights, rv)",
        "apart = R.reshape(mixed, R.shape([2, 8, 64, 40]))",
        "out = R.permute_dims(apart, axes=[0, 2, 1, 3])",
    )
    q, k, v = wildcard(), wildcard(), wildcard()

    def flat(tensor: DFPattern) -> DFPattern:
        return is_op("relax.reshape")(is_op("relax.permute_dims")(tensor), wildcard())

    scores = is_op("relax.matmul")(flat(q), is_op("relax.permute_dims")(flat(k)))
    weights = is_op("relax.nn.softmax")(is_op("relax.multiply")(scores, is_const()))
    mixed = is_op("relax.matmul")(weights, flat(v))
    pattern = is_op("relax.permute_dims")(is_op("relax.reshape")(mixed, wildcard()))
    after = rewrite_call(pattern, lambda _, found: call_op("nn.attention", found[q], found[k], found[v]), main)
    check(after, main_of(params, "out = R.nn.attention(q, k, v)"))


def _three_products() -> tuple[PatternContext, Callable[[Matches, Any], dict[rx.Var, rx.Expr]]]:
    with PatternContext() as context:
        given, weights = wildcard(), [wildcard() for _ in range(3)]
        products = [is_op("relax.matmul")(given, one) for one in weights]

    def joined(found: Matches, _: Any) -> dict[rx.Var, rx.Expr]:
        whole = _concat([found[one] for one in weights], 1)
        product = call_op("matmul", found[given], whole, out_dtype="")
        width = found[weights[0]].info.shape[1]
        parts = (_slice(product, 2, place * width, (place + 1) * width) for place in range(3))
        return {found[one]: part for one, part in zip(products, parts, strict=True)}

    return context, joined


def _concat(fields: list[rx.Expr], axis: int) -> rx.Call:
    return call_op("concat", rx.Tuple(tuple(fields)), axis=axis)


def _slice(data: rx.Expr, axis: int, begin: int, end: int) -> rx.Call:
    return call_op("strided_slice", data, axes=(axis,), begin=(begin,), end=(end,), strides=None)


def _joined_lines(x: str, weights: str, results: str, prefix: str = "") -> list[str]:
    outs = results.split()
    return [
        f"{prefix}all = R.concat(({', '.join(weights.split())}), axis=1)",
        f"{prefix}product = R.matmul({x}, {prefix}all)",
        *(
            f"{out} = R.strided_slice({prefix}product, axes=[2], begin=[{64 * i}], end=[{64 * i + 64}])"
            for i, out in enumerate(outs)
        ),
    ]


def test_combine_matmul_twice() -> None:
    params = "x1: (2, 10, 64); x2: (2, 10, 64); " + "; ".join(f"w{i}: (64, 64)" for i in range(6))
    main = main_of(
        params,
        *(f"lv{i} = R.matmul(x{1 + i // 3}, w{i})" for i in range(6)),
        "out = (lv0, lv1, lv2, lv3, lv4, lv5)",
    )
    expected = main_of(
        params,
        *_joined_lines("x1", "w0 w1 w2", "lv0 lv1 lv2", "a"),
        *_joined_lines("x2", "w3 w4 w5", "lv3 lv4 lv5", "b"),
        "out = (lv0, lv1, lv2, lv3, lv4, lv5)",
    )
    check(rewrite_bindings(*_three_products(), main), expected)


def test_dataflow_may_start_with_match_cast() -> None:
    params = ", ".join(f"{one}0: R.Tensor" for one in ("x", "a", "b", "c"))
    casts = [
        "x = R.match_cast(x0, R.Tensor((2, 10, 64), 'float32'))",
        *(f"{one} = R.match_cast({one}0, R.Tensor((64, 64), 'float32'))" for one in "abc"),
    ]
    main = main_of(params, *casts, *(f"p{one} = R.matmul(x, {one})" for one in "abc"), "out = (pa, pb, pc)")
    expected = main_of(params, *casts, *_joined_lines("x", "a b c", "pa pb pc"), "out = (pa, pb, pc)")
    check(rewrite_bindings(*_three_products(), main), expected)


def test_combine_matmul_emit_order() -> None:
    params = "x: (2, 10, 64); w0: (64, 64); w1: (64, 64); w2: (64, 64)"
    turned = ["a = R.permute_dims(w0)", "b = R.permute_dims(w1)", "bb = R.permute_dims(b)", "c = R.permute_dims(w2)"]
    main = main_of(
        params, turned[0], "p = R.matmul(x, a)", *turned[1:3], "q = R.matmul(x, bb)", turned[3], "r = R.matmul(x, c)",
        "out = (p, q, r)",
    )  # fmt: skip
    expected = main_of(params, *turned, *_joined_lines("x", "a bb c", "p q r"), "out = (p, q, r)")
    check(rewrite_bindings(*_three_products(), main), expected)


def test_combine_transposed_matmul_twice() -> None:
    params = "x1: (2, 10, 64); x2: (2, 10, 64); " + "; ".join(f"w{i}: (64, 64)" for i in range(4))
    lines = [
        line for i in range(4) for line in (f"t{i} = R.permute_dims(w{i})", f"p{i} = R.matmul(x{1 + i // 2}, t{i})")
    ]
    main = main_of(params, *lines, "out = (p0, p1, p2, p3)")
    expected = main_of(
        params,
        *(
            line
            for x, i in (("x1", 0), ("x2", 2))
            for line in (
                f"c{i} = R.concat((w{i}, w{i + 1}), axis=0)",
                f"t{i} = R.permute_dims(c{i})",
                f"m{i} = R.matmul({x}, t{i})",
                f"s{i} = R.split(m{i}, indices_or_sections=[64], axis=-1)",
                f"p{i} = s{i}[0]",
                f"p{i + 1} = s{i}[1]",
            )
        ),
        "out = (p0, p1, p2, p3)",
    )
    with PatternContext() as context:
        given, one, two = wildcard(), wildcard(), wildcard()
        first = is_op("relax.matmul")(given, is_op("relax.permute_dims")(one))
        second = is_op("relax.matmul")(given, is_op("relax.permute_dims")(two))

    def joined(found: Matches, _: Any) -> dict[rx.Var, rx.Expr]:
        turned = call_op("permute_dims", _concat([found[one], found[two]], 0), axes=None)
        product = call_op("matmul", found[given], turned, out_dtype="")
        parts = call_op("split", product, indices_or_sections=(found[one].info.shape[0],), axis=-1)
        return {found[first]: rx.TupleGetItem(parts, 0), found[second]: rx.TupleGetItem(parts, 1)}

    check(rewrite_bindings(context, joined, main), expected)


def test_commutative_pattern_match() -> None:
    main = main_of("x: (1024,)", "y = R.add(x, x)", "out = R.add(R.const(1.0, 'float32'), y)")
    op = is_op("relax.add") | is_op("relax.multiply")
    arg, const = wildcard(), is_const()
    pattern = op(arg, const)

    def two(value: rx.Expr, found: Matches) -> rx.Expr:
        if found[const].data != 1.0:
            return value
        return rx.Call(found[op], (found[arg], number(2)))

    expected = main_of("x: (1024,)", "y = R.add(x, x)", "out = R.add(y, R.const(2.0, 'float32'))")
    check(rewrite_call(pattern, two, main), expected)


def test_repeated_pattern_match() -> None:
    params = "x: (1024,); y: (1024,); z: (1024,)"
    five = "R.const(5.0, 'float32')"
    main = main_of(params, "a = R.add(x, y)", "b = R.add(a, z)", f"out = R.multiply(b, {five})")
    left, right, factor = wildcard(), wildcard(), is_const()
    pattern = is_op("relax.multiply")(is_op("relax.add")(left, right), factor)

    def spread(_: rx.Expr, found: Matches) -> rx.Expr:
        return call_op("add", *(call_op("multiply", found[one], found[factor]) for one in (left, right)))

    expected = main_of(
        params,
        f"x5 = R.multiply(x, {five})",
        f"y5 = R.multiply(y, {five})",
        "a = R.add(x5, y5)",
        f"z5 = R.multiply(z, {five})",
        "out = R.add(a, z5)",
    )
    check(rewrite_call(pattern, spread, main), expected)


@pytest.mark.parametrize("dataflow", [True, False])
def test_rewrite_without_trivial_binding(dataflow: bool) -> None:
    main = main_of("x: (1024,)", "a = R.add(x, x)", "b = R.reshape(a, (1024,))", dataflow=dataflow)
    arg, shape = wildcard(), wildcard()
    pattern = is_op("relax.reshape")(arg, shape)

    def same(value: rx.Expr, found: Matches) -> rx.Expr:
        return found[arg] if found[shape].values == (1024,) else value

    check(rewrite_call(pattern, same, main), main_of("x: (1024,)", "b = R.add(x, x)", dataflow=dataflow))


def test_iterative_rewrite_without_trivial_binding() -> None:
    """What TVM has as operands of strided_slice are attributes here."""
    main = main_of(
        "x: (1024,)",
        "a = R.strided_slice(x, [0], [0], [512], [1])",
        "b = R.strided_slice(x, [0], [512], [1024], [1])",
        "c = R.add(a, b)",
    )
    arg = wildcard()
    pattern = is_op("relax.strided_slice")(arg).has_attr({"axes": [0], "strides": [1]})

    def part(value: rx.Expr, found: Matches) -> rx.Expr:
        assert isinstance(value, rx.Call)
        (begin,), (end,) = value.attrs.begin, value.attrs.end
        if end - begin != 512:
            return value
        return rx.TupleGetItem(call_op("split", found[arg], indices_or_sections=2, axis=0), begin // 512)

    expected = main_of("x: (1024,)", "s = R.split(x, 2)", "a = s[0]", "b = s[1]", "c = R.add(a, b)")
    check(rewrite_call(pattern, part, main), expected)


def test_iterative_rewrite_with_removed_intermediates() -> None:
    params = "a: (1024,); b: (1024,)"
    split = ["c = R.concat([a, b])", "d = R.split(c, 2)", "e = d[0]", "f = d[1]"]
    main = main_of(params, *split, "g = R.add(a, e)", "h = R.add(f, g)")
    fields, one = wildcard(), wildcard()
    apart = is_op("relax.split")(is_op("relax.concat")(fields).has_attr({"axis": 0}))
    apart_again = apart.has_attr({"axis": 0, "indices_or_sections": 2})
    doubled = is_op("relax.add")(one, one)

    def simpler(value: rx.Expr, found: Matches) -> rx.Expr:
        if apart_again in found:
            whole = found[fields]
            assert isinstance(whole, rx.Tuple)
            return whole if len(whole.fields) == 2 else value
        return call_op("multiply", found[one], number(2))

    expected = main_of(params, "g = R.multiply(a, R.const(2, 'float32'))", "h = R.add(b, g)")
    check(rewrite_call(apart_again | doubled, simpler, main), expected)


@pytest.mark.parametrize(
    ("wanted", "made", "there"),
    [
        # test_wildcard_with_ty_updates_when_matching
        ((2, 3), ["R.zeros([2, 3], 'int32')", "R.ones([2, 3], 'int32')"], True),
        # test_wildcard_with_ty_is_no_op_when_not_matching
        ((2, 3), ["R.zeros([16, 32], 'int32')", "R.ones([16, 32], 'int32')"], False),
        # test_wildcard_ty_for_unknown_dtype
        ((2, 3), ["R.zeros([2, 3], 'float32')", "R.ones([2, 3], 'float32')"], True),
        # test_wildcard_ty_with_symbolic_vars
        ((tir.Var("m"), tir.Var("n")), ["R.zeros([64, 128], 'int32')", "R.ones([64, 128], 'int32')"], True),
        ((tir.Var("m"), tir.Var("n")), ["R.zeros([64, 128], 'int32')", "R.ones([1, 128], 'int32')"], False),
    ],
)
def test_wildcard_with_struct_info(wanted: tuple[Any, ...], made: list[str], there: bool) -> None:
    info = rx.TensorStructInfo(wanted)
    left, right = wildcard().has_struct_info(info), wildcard().has_ty(info)
    pattern = is_op("relax.add")(left, right)
    lines = [f"a = {made[0]}", f"b = {made[1]}"]
    main = main_of("", *lines, "c = R.add(a, b)")
    after = rewrite_call(pattern, lambda _, found: call_op("multiply", found[left], found[right]), main)
    check(after, main_of("", *lines, "c = R.multiply(a, b)") if there else main)


def test_backtrack_if_rewriter_returns_no_op() -> None:
    main = main_of("", "a = R.ones([64, 128], 'int32')", "b = R.zeros([64, 128], 'int32')", "c = R.add(a, b)")
    anything = is_op("relax.add")(wildcard(), wildcard())
    arg = wildcard()
    zero = is_op("relax.add")(arg, is_op("relax.zeros")(wildcard()))

    def without_zero(value: rx.Expr, found: Matches) -> rx.Expr:
        return value if anything in found else found[arg]

    check(rewrite_call(anything | zero, without_zero, main), main_of("", "c = R.ones([64, 128], 'int32')"))


def test_backtrack_for_no_op_rewriter_does_not_match_on_var() -> None:
    main = main_of("", "a = R.ones([64, 128], 'int32')", "b = R.zeros([64, 128], 'int32')", "c = R.add(a, b)")
    pattern = is_op("relax.add")(wildcard(), wildcard()) | is_op("relax.add")(wildcard(), wildcard())
    seen: list[Any] = []

    def look(value: rx.Expr, found: Matches) -> rx.Expr:
        seen.append(found[pattern])
        return value

    assert rewrite_call(pattern, look, main) is main
    assert seen
    assert all(isinstance(one, rx.Call) for one in seen)


@pytest.mark.sweep(every=2)
def test_rewriting_that_does_not_end_is_refused() -> None:
    main = main_of("x: (4,)", "y = R.exp(x)")
    arg = wildcard()
    pattern = is_op("relax.exp")(arg)
    with pytest.raises(PatternError, match="did not come to an end"):
        rewrite_call(pattern, lambda _, found: call_op("exp", call_op("exp", found[arg])), main)


def test_values_that_need_each_other_are_refused() -> None:
    main = main_of("x: (4,)", "a = R.exp(x)", "b = R.tanh(x)", "c = R.add(a, b)")
    with PatternContext() as context:
        x = wildcard()
        one, two = is_op("relax.exp")(x), is_op("relax.tanh")(x)

    def crossed(found: Matches, _: Any) -> dict[rx.Var, rx.Expr]:
        return {found[one]: call_op("exp", found[two]), found[two]: call_op("tanh", found[one])}

    with pytest.raises(PatternError, match="without a circle"):
        rewrite_bindings(context, crossed, main)
