"""Rules that are modules, after the meaning of TVM's ``test_dataflow_rewriter.py``."""

from __future__ import annotations

import pytest

from relay2relax import relax_ir as rx
from relay2relax.relax_ir import transform
from relay2relax.relax_ir.dpl import PatternError, PatternMatchingRewriter

T16 = "R.Tensor((16,), 'float32')"
SQUARE = "R.Tensor((16, 16), 'float32')"


def module(*functions: str) -> rx.IRModule:
    return rx.parse("@I.ir_module\nclass Module:\n" + "\n".join(functions))


def function(name: str, params: str, *lines: str, private: bool = False, pure: bool = True) -> str:
    """Return a function; ``params`` are of 16 numbers, or written out."""
    typed = params if "R." in params else ", ".join(f"{one}: {T16}" for one in params.split())
    head = [f"    @R.function(private={private}, pure={pure})", f"    def {name}({typed}):"]
    return "\n".join([*head, *(f"        {line}" for line in lines)]) + "\n"


def main_of(params: str, *lines: str, pure: bool = True) -> rx.Function:
    func = module(function("main", params, *lines, private=True, pure=pure))["main"]
    assert isinstance(func, rx.Function)
    return func


def rule(params: str, pattern: list[str], replacement: list[str], *others: str) -> PatternMatchingRewriter:
    sides = (function("pattern", params, *pattern), function("replacement", params, *replacement))
    return PatternMatchingRewriter.from_module(module(*sides, *others))


def fast(name: str, args: str, info: str = T16) -> str:
    return f"R.call_pure_packed('{name}', {args}, sinfo_args=({info},))"


ADD = rule("a b", ["c = R.add(a, b)", "return c"], [f"c = {fast('fast_add', 'a, b')}", "return c"])
TIMES = rule("a b", ["return R.multiply(a, b)"], [f"return {fast('fast_multiply', 'a, b')}"])
JOINED = rule(
    f"a: {SQUARE}, b: {SQUARE}, c: {T16}",
    ["d = R.matmul(a, c)", "e = R.matmul(b, c)", "return (d, e)"],
    ["f = R.concat([a, b])", "g = R.matmul(f, c)", "return R.split(g, 2)"],
)
STATE = f"s: {T16}, a: {SQUARE}, b: {SQUARE}"
APART = ["l = t[0]", "r = t[1]", "o = R.add(l, r)"]
JOINED_LINES = ["f = R.concat([a, b])", "g = R.matmul(f, s)", "t = R.split(g, 2)"]


def check(after: object, expected: object) -> None:
    assert isinstance(after, (rx.Function, rx.IRModule))
    assert isinstance(expected, (rx.Function, rx.IRModule))
    rx.assert_structural_equal(after, expected)


def test_of_functions_modules_and_as_a_pass() -> None:
    half = ["h = R.split(x, 2)", "l = h[0]", "r = h[1]"]
    whole = "x: R.Tensor((32,), 'float32')"
    before = module(
        function("one", whole, *half, "o = R.add(l, r)", "return o"),
        function("two", "x", "o = R.add(x, x)", "return o"),
    )
    expected = module(
        function("one", whole, *half, f"o = {fast('fast_add', 'l, r')}", "return o"),
        function("two", "x", f"o = {fast('fast_add', 'x, x')}", "return o"),
    )
    check(ADD(before), expected)
    check(transform.Sequential([ADD])(before), expected)
    alone = before["one"]
    assert isinstance(alone, rx.Function)
    check(ADD(alone), expected["one"])


def test_again_and_again() -> None:
    after = ADD(main_of("x", "y = R.add(x, x)", "z = R.add(y, y)", "return z"))
    check(after, main_of("x", f"y = {fast('fast_add', 'x, x')}", f"z = {fast('fast_add', 'y, y')}", "return z"))


def test_composition() -> None:
    before = main_of("a b c", "d = R.add(a, b)", "e = R.multiply(c, d)", "return e")
    expected = main_of("a b c", f"d = {fast('fast_add', 'a, b')}", f"e = {fast('fast_multiply', 'c, d')}", "return e")
    check((ADD | TIMES)(before), expected)


def test_one_rule_makes_what_another_takes() -> None:
    two = "R.const(2.0, 'float32')"
    doubled = rule("a", ["return R.add(a, a)"], [f"return R.multiply(a, {two})"])
    scalar = f"a: {T16}, b: R.Tensor((), 'float32')"
    times = rule(scalar, ["return R.multiply(a, b)"], [f"return {fast('scaled', 'a, b')}"])
    after = (doubled | times)(main_of("a", "b = R.add(a, a)", "return b"))
    check(after, main_of("a", f"b = {fast('scaled', f'a, {two}')}", "return b"))


SUBROUTINE = function("subroutine", "a", "return R.multiply(a, R.const(2.0, 'float32'))", private=True)
OTHER = function("subroutine", "a", "return R.exp(a)", private=True)
BY_CALL = rule("a", ["return R.add(a, a)"], ["b = Module.subroutine(a)", "return b"], SUBROUTINE)
BY_OTHER = rule("a", ["return R.multiply(a, a)"], ["b = Module.subroutine(a)", "return b"], OTHER)


def test_functions_that_are_called_come_along() -> None:
    before = module(function("main", "a", "b = R.add(a, a)", "c = R.add(b, b)", "return c"))
    expected = module(
        function("main", "a", "b = Module.subroutine(a)", "c = Module.subroutine(b)", "return c"), SUBROUTINE
    )
    check(BY_CALL(before), expected)
    # Those that nothing calls do not.
    check((BY_CALL | BY_OTHER)(before), expected)
    with pytest.raises(PatternError, match="to call subroutine"):
        BY_CALL(main_of("a", "b = R.add(a, a)", "return b"))


def test_names_may_be_taken() -> None:
    before = module(function("main", "a", "b = R.add(a, a)", "c = R.multiply(b, b)", "return c"))
    expected = module(
        function("main", "a", "b = Module.subroutine(a)", "c = Module.subroutine_1(b)", "return c"),
        SUBROUTINE,
        OTHER.replace("subroutine", "subroutine_1"),
    )
    check((BY_CALL | BY_OTHER)(before), expected)


@pytest.mark.parametrize(
    ("lines", "result"),
    [
        (
            ["t = (d, e)", "l = t[0]", "r = t[1]", "o = R.add(l, r)"],
            ["l = t[0]", "r = t[1]", "o = R.add(l, r)", "return o"],
        ),
        (["o = (d, e)"], ["return t"]),
        (["o = R.add(d, e)"], ["l = t[0]", "r = t[1]", "o = R.add(l, r)", "return o"]),
    ],
    ids=["explicit", "output", "implicit"],
)
def test_tuples(lines: list[str], result: list[str]) -> None:
    before = main_of(STATE, "d = R.matmul(a, s)", "e = R.matmul(b, s)", *lines, "return o")
    check(JOINED(before), main_of(STATE, *JOINED_LINES, *result))


@pytest.mark.parametrize("shared", [True, False])
def test_fields_share_what_they_are_made_of(shared: bool) -> None:
    pair = f"R.Tuple({T16}, {T16})"
    both = rule(
        "x y z", ["l = R.add(x, y)", "r = R.add(y, z)", "return (l, r)"], [f"return {fast('both', 'x, y, z', pair)}"]
    )
    second = "b" if shared else "d"
    before = main_of("a b c d", "l = R.add(a, b)", f"r = R.add({second}, c)", "o = R.multiply(l, r)", "return o")
    lines = [f"p = {fast('both', 'a, b, c', pair)}", "l = p[0]", "r = p[1]", "o = R.multiply(l, r)", "return o"]
    check(both(before), main_of("a b c d", *lines) if shared else before)


def test_nothing_is_computed_twice() -> None:
    params = f"s: {SQUARE}, a: {SQUARE}, b: {SQUARE}"
    joined = rule(
        f"a: {SQUARE}, b: {SQUARE}, c: {SQUARE}",
        ["d = R.matmul(a, c)", "e = R.matmul(b, c)", "return (d, e)"],
        ["f = R.concat([a, b])", "g = R.matmul(f, c)", "return R.split(g, 2)"],
    )
    lines = ["p = R.matmul(a, s)", "q = R.matmul(p, b)", "r = R.matmul(q, s)", "o = R.add(p, r)", "return o"]
    before = main_of(params, *lines)
    check(joined(before), before)


def test_three_fields() -> None:
    q = "R.Tensor((4,), 'float32')"
    whole = "x: R.Tensor((12,), 'float32')"
    parts = ["t = R.split(x, 3)", "a = t[0]", "b = t[1]", "c = t[2]"]
    turned = [f"d = {fast('turned', 'a', q)}", f"e = {fast('turned', 'b', q)}"]
    apart = fast("apart", "x", f"R.Tuple({q}, {q}, {q})")
    three = rule(whole, [*parts, *turned, "return (d, e, c)"], [f"return {apart}"])
    before = main_of(whole, *parts, *turned, f"o = {fast('attention', 'd, e, c', q)}", "return o")
    lines = [
        f"t = {apart}",
        "c = t[2]", "d = t[0]", "e = t[1]", f"o = {fast('attention', 'd, e, c', q)}", "return o",
    ]  # fmt: skip
    check(three(before), main_of(whole, *lines))


@pytest.mark.parametrize("between", [True, False])
def test_nothing_moves_over_an_effect(between: bool) -> None:
    params = f"s: {T16}, w: {SQUARE}, b: {T16}"
    fused = rule(params, ["t = R.matmul(w, s)", "u = R.add(b, t)", "return u"], [f"return {fast('fused', 's, w, b')}"])
    shown = ["R.print(format='between')"] if between else []
    before = main_of(
        params, "R.print(format='first')", "t = R.matmul(w, s)", *shown, "u = R.add(b, t)", "R.print(format='last')",
        "return u", pure=False,
    )  # fmt: skip
    lines = ["R.print(format='first')", f"u = {fast('fused', 's, w, b')}", "R.print(format='last')", "return u"]
    check(fused(before), before if between else main_of(params, *lines, pure=False))


def test_branches() -> None:
    params = f"a: {T16}, b: {T16}, c: R.Tensor((), 'bool')"

    def branch(first: str, second: str, third: str) -> rx.Function:
        lines = ["if c:", f"    o = {first}", "else:", f"    d = {second}", f"    o = {third}", "return o"]
        return main_of(params, *lines)

    before = branch("R.add(a, b)", "R.add(a, b)", "R.add(d, b)")
    check(ADD(before), branch(*(fast("fast_add", args) for args in ("a, b", "a, b", "d, b"))))


def test_dimensions_stand_for_any() -> None:
    shapes = "a: R.Tensor(('m', 'n'), 'float32'), b: R.Tensor(('n', 'n'), 'float32')"
    dims = ["m = T.int64()", "n = T.int64()"]
    square = rule(
        shapes, ["return R.matmul(a, b)"], [*dims, "return " + fast("square", "a, b", "R.Tensor((m, n), 'float32')")]
    )
    params = ", ".join(
        f"{name}: R.Tensor({shape}, 'float32')"
        for name, shape in (("a", "('n', 'n * 2')"), ("b", "('n * 2', 'n * 2')"), ("c", "('n', 'n')"))
    )
    turned = "e = R.permute_dims(d)"
    before = main_of(params, "n = T.int64()", "d = R.matmul(a, b)", turned, "f = R.matmul(e, c)", "return f")
    expected = main_of(
        params,
        "n = T.int64()",
        "d = " + fast("square", "a, b", "R.Tensor((n, n * 2), 'float32')"),
        turned,
        "f = " + fast("square", "e, c", "R.Tensor((n * 2, n), 'float32')"),
        "return f",
    )
    check(square(before), expected)
    uneven = main_of("a: R.Tensor((4, 8), 'float32'), b: R.Tensor((8, 2), 'float32')", "d = R.matmul(a, b)", "return d")
    check(square(uneven), uneven)


BUFFER = "(a: T.Buffer((16,), 'float32')):\n        T.evaluate(0)\n"
BAD: dict[str, tuple[list[str], str]] = {
    "no pattern": ([function("replacement", "a", "return a")], "'pattern' of a module"),
    "no replacement": ([function("pattern", "a", "return a")], "'replacement' of a module"),
    "other shapes": (
        [function("pattern", "a", "return a"), function("replacement", "a: R.Tensor((8,), 'float32')", "return a")],
        "of the signature of its pattern",
    ),
    "a tensor program as pattern": (
        [f"    @T.prim_func\n    def pattern{BUFFER}", function("replacement", "a", "return a")],
        "'pattern' of a module that is a rule is a Relax function",
    ),
    "a tensor program as replacement": (
        [function("pattern", "a", "return a"), f"    @T.prim_func\n    def replacement{BUFFER}"],
        "'replacement' of a module that is a rule is a Relax function",
    ),
    "a public function beside": (
        [
            function("pattern", "a", "return R.exp(a)"),
            function("replacement", "a", "return Module.other(a)"),
            function("other", "a", "return R.tanh(a)"),
        ],
        "'other' beside pattern and replacement is private",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_no_rule(name: str) -> None:
    functions, message = BAD[name]
    with pytest.raises(PatternError, match=message):
        PatternMatchingRewriter.from_module(module(*functions))
