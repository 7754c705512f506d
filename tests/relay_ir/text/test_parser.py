"""Relay text is read as TVM reads it, and where it cannot be read, the message shows why."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from typed import of_type

from relay2relax.core import ParseError, Relay2RelaxError, Span
from relay2relax.core.source import SequentialSpan
from relay2relax.relay_ir import (
    Call,
    Constant,
    Function,
    IncompleteType,
    Let,
    Match,
    Op,
    TensorType,
    Tuple,
    TupleGetItem,
    TypeCall,
    Var,
    parse,
    parse_expr,
)
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import IntImm

CASES = Path(__file__).parent.parent / "cases"
# A text and what its author is told of it: ``bad/topic/x.relay`` and ``x.err``.
BAD = sorted((CASES / "bad").rglob("*.relay"))
HEADER = '#[version = "0.0.5"]\n'


def body(text: str) -> object:
    return parse(HEADER + text)["main"].body


def scalars(text: str) -> list[tuple[object, str]]:
    expr = parse_expr(text)
    assert isinstance(expr, Tuple)
    return [(field.data.item(), field.data.dtype.name) for field in expr.fields if isinstance(field, Constant)]


def test_literals_have_the_widths_their_suffixes_state() -> None:
    assert scalars("(1, -1, --5, 3000000000, -2147483648, 2i16, 2i64, 7i)") == [
        (1, "int32"),
        (-1, "int32"),
        (5, "int32"),
        (3000000000, "int64"),
        (-2147483648, "int32"),
        (2, "int16"),
        (2, "int64"),
        (7, "int32"),
    ]
    assert scalars("(1f, -2.5f, 5.f, 1.5f16, 1E3f64, True, False)") == [
        (1.0, "float32"),
        (-2.5, "float32"),
        (5.0, "float32"),
        (1.5, "float16"),
        (1000.0, "float64"),
        (True, "bool"),
        (False, "bool"),
    ]
    infinite = scalars("(inff, -inff, nanf, inff16, inff64)")
    assert infinite[:2] == [(np.inf, "float32"), (-np.inf, "float32")]
    assert np.isnan(of_type(infinite[2][0], float))
    assert infinite[3:] == [(np.inf, "float16"), (np.inf, "float64")]


@pytest.mark.parametrize(
    "literal",
    ["1.5", "1e3", "1-2", "70000f16", "1e400f", "1e400f64", "40000i16", "99999999999999999999", "1f8", "1f-2"],
)
def test_malformed_numbers_are_refused(literal: str) -> None:
    with pytest.raises(ParseError, match="malformed number"):
        parse_expr(literal)


def test_operators_bind_by_precedence_and_to_the_left() -> None:
    def shape(expr: object) -> object:
        match expr:
            case Call(Op(name), args):
                return (name, *map(shape, args))
            case Constant(data):
                return data.item()
        raise AssertionError(expr)

    assert shape(parse_expr("1 - 2 - 3 * 4 / 5")) == ("subtract", ("subtract", 1, 2), ("divide", ("multiply", 3, 4), 5))
    assert shape(parse_expr("1 < 2 == 3 + 4 >= 5")) == (
        "equal",
        ("less", 1, 2),
        ("greater_equal", ("add", 3, 4), 5),
    )
    assert shape(parse_expr("(1 - (2 - 3)) != 1 - -3")) == (
        "not_equal",
        ("subtract", 1, ("subtract", 2, 3)),
        ("subtract", 1, -3),
    )


def test_types() -> None:
    function = parse(
        HEADER + "def @main(%a: Tensor[(?, 3, 2i64), float32], %b: Tensor[(4), bfloat16], %c: Tensor[(), bool],"
        " %d: bfloat16, %e: (int8,), %f: _, %g: Unknown, %h: float) { () }"
    )["main"]
    a, b, c, d, e, f, g, h = (param.type_annotation for param in function.params)
    assert a == TensorType((ANY, 3, IntImm(2, "int64")), "float32")
    assert b == TensorType((4,), "bfloat16")
    assert c == TensorType((), "bool")
    assert d == TensorType((), "bfloat16")
    assert e is not None
    assert e.fields == (TensorType((), "int8"),)  # type: ignore[attr-defined]
    assert isinstance(f, IncompleteType)
    assert isinstance(g, TypeCall)
    assert h == TensorType((), "float32")


def test_graph_variables_denote_one_shared_expression() -> None:
    expr = body("def @main(%x: int32) { %7 = %x + 1; (%7, %7, %7.0) }")
    assert isinstance(expr, Tuple)
    first, second, third = expr.fields
    assert first is second
    assert isinstance(third, TupleGetItem)
    assert third.tuple_value is first


def test_the_first_let_of_a_scope_does_not_hide_a_parameter() -> None:
    function = parse(HEADER + "def @main(%x: int32) { let %x = 1; let %y = %x; let %x = 2; %x }")["main"]
    first = function.body
    assert isinstance(first, Let)
    second = first.body
    assert isinstance(second, Let)
    third = second.body
    assert isinstance(third, Let)
    assert second.value is function.params[0]
    assert third.body is third.var


def test_names_end_with_their_scope() -> None:
    with pytest.raises(ParseError, match="unknown variable %t"):
        parse_expr("if (True) { let %t = 1; %t } else { %t }")


def test_sequencing_is_a_let_of_a_nameless_variable() -> None:
    expr = parse_expr("1; 2")
    assert isinstance(expr, Let)
    assert expr.var.name == ""
    assert isinstance(expr.var.type_annotation, IncompleteType)


def test_attributes() -> None:
    call = body(
        "def @main(%x: Tensor[(1, 3, 8, 8), float32], %w: Tensor[(4, 3, 3, 3), float32]) {"
        ' nn.conv2d(%x, %w, padding=[1, 1], channels=None, kernel_size=([3, 3i64]), data_layout="NCHW",) }'
    )
    assert isinstance(call, Call)
    assert call.attrs.padding == (1, 1)
    assert call.attrs.channels is None
    assert call.attrs.kernel_size == (3, IntImm(3, "int64"))
    assert call.attrs.strides == (1, 1)
    opaque = body('def @main(%f: fn (int32) -> int32) { %f(1, k=[True, "a"], attrs_type_key="attrs.Test") }')
    assert isinstance(opaque, Call)
    assert (opaque.attrs.type_key, opaque.attrs.fields) == ("attrs.Test", (("k", (True, "a")),))


def test_attributes_of_functions_and_calls_may_have_dotted_names() -> None:
    function = parse(HEADER + "def @main(%x: int32, relay.reshape_only=1, Inline=True) { %x }")["main"]
    assert function.attrs == {"relay.reshape_only": 1, "Inline": 1}


def test_commas_that_tvm_does_not_insist_on() -> None:
    assert scalars("(1, 2 3, 4,)") == [(1, "int32"), (2, "int32"), (3, "int32"), (4, "int32")]
    call = body("def @main(%x: int32) { nn.max_pool2d(%x, pool_size=[2, 2 ] strides=[2, 2]) }")
    assert isinstance(call, Call)
    assert (call.attrs.pool_size, call.attrs.strides) == ((2, 2), (2, 2))
    with pytest.raises(ParseError, match="unexpected number"):
        parse_expr("(1 2, 3)")


def test_strings_are_what_the_printer_escaped() -> None:
    function = parse(HEADER + r'def @main(note="a\"b\\c\n\xC3\xA9", plain="C:\dir") { 1 }')["main"]
    assert function.attrs == {"note": 'a"b\\c\né', "plain": r"C:\dir"}


def test_comments_nest() -> None:
    assert scalars("/* a /* b */ c */ (1, // d (\n 2 /* e ** f */)") == [(1, "int32"), (2, "int32")]
    assert scalars("/*/* a */*/ " * 10_000 + "(1,)") == [(1, "int32")]


def test_a_row_of_digits_is_read_once() -> None:
    with pytest.raises(ParseError, match="not a number"):
        parse("def @main() { " + "1" * 200_000 + "-1 }")


def test_a_row_of_slashes_is_one_comment() -> None:
    assert not parse("/" * 20_000).functions
    with pytest.raises(ParseError, match="unexpected name `v`"):
        parse("/" * 20_000 + "\nv")


def test_importers_names_are_read() -> None:
    function = parse((CASES / "text" / "importer_names.relay").read_text())["main"]
    assert [param.name for param in function.params] == [
        "input.1", "aten::linear_0.weight", "d1.3.bias", "scope/conv:0", "x", "let", "conv-1", "a.0",
    ]  # fmt: skip
    result = function.body
    assert isinstance(result, Tuple)
    inner, field, conv, nested, other, last = result.fields
    assert isinstance(inner, TupleGetItem)
    assert isinstance(field, TupleGetItem)
    assert (field.tuple_value, field.index) == (function.params[5], 0)
    assert conv is function.params[6]
    assert isinstance(nested, TupleGetItem)
    assert (nested.tuple_value, nested.index) == (function.params[7], 1)
    assert isinstance(other, TupleGetItem)
    assert isinstance(last, TupleGetItem)
    assert last.tuple_value is function.params[7]


def test_spans_come_from_comments() -> None:
    function = parse((CASES / "text" / "importer_names.relay").read_text())["main"]
    assert function.params[0].span == Span("aten::linear_0.input.1")
    result = function.body
    assert isinstance(result, Tuple)
    pieces = result.fields[0]
    assert isinstance(pieces, TupleGetItem)
    whole = pieces.tuple_value
    assert isinstance(whole, Tuple)
    assert whole.span == Span("tuple", 1, 2)
    bias, _, _, one = whole.fields
    assert isinstance(bias, Call)
    assert bias.span == Span("Windows C:\\net", 3, 0)
    assert isinstance(bias.args[0], Call)
    assert bias.args[0].span == Span("/d1/d1.0/Conv (a b)", 12, 7)
    assert isinstance(one, Constant)
    assert one.span == Span("Constant_1")
    assert result.span is None
    assert all(not isinstance(field, TupleGetItem) or field.span in (None, Span("field")) for field in result.fields)


def test_several_spans_of_one_node() -> None:
    expr = parse_expr("1 /* ty=int32 [ span=a:1:2, span=b c:3:4 ] */")
    assert isinstance(expr, Constant)
    assert isinstance(expr.span, SequentialSpan)
    assert expr.span.spans == (Span("a", 1, 2), Span("b c", 3, 4))


def test_a_module_may_lack_the_version_line_and_come_in_any_order() -> None:
    mod = parse("def @main(%x: List[int32]) { @later(%x) }\ndef @later(%y: List[int32]) { %y }\ntype List[A] { Nil }")
    call = mod["main"].body
    assert isinstance(call, Call)
    assert call.op is mod.get_global_var("later")
    (header,) = mod.type_definitions
    assert mod["later"].params[0].type_annotation == TypeCall(header, (TensorType((), "int32"),))


def test_matches() -> None:
    expr = body(
        "type T { A(int32), B }\ndef @main(%t: T) { match? (%t) { A(%n: int32) => %n + 1, B => { 0 }, _ => 2 } }"
    )
    assert isinstance(expr, Match)
    assert not expr.complete
    assert len(expr.clauses) == 3


def test_matches_as_values_are_read_as_tvm_writes_them() -> None:
    text = (
        HEADER + "def @main(%x: int32) -> int32 {\n  let %y = match (%x) {\n    _ => {\n      1\n    },\n  };\n"
        "  %0 = match? (%y) {\n    _ => {\n      2\n    },\n  };\n  add(%0, %y)\n}\n"
    )
    assert parse(text).astext() == text


def test_constructors_used_as_functions() -> None:
    mod = parse((CASES / "text" / "callbacks.relay").read_text())
    (data,) = mod.type_definitions.values()
    let = mod["apply"].body
    assert isinstance(let, Let)
    assert isinstance(let.value, Let)
    call = let.body
    assert isinstance(call, Call)
    assert call.args[0].name == data.constructors[0].name == "Cons"  # type: ignore[union-attr]


def test_nodes_know_where_they_stand() -> None:
    mod = parse("def @main(%x: int32) {\n  %0 = add(%x, 1);\n  let %y = %0;\n  %y\n}", "model.relay")
    let = mod["main"].body
    assert isinstance(let, Let)
    place = mod.locations[let.value]
    assert (place.name, place.line, place.column, place.end_line, place.end_column) == ("model.relay", 2, 8, 2, 18)
    assert str(mod.locations[let.var]) == "model.relay:3:7"
    assert let in mod.locations
    assert len(mod.locations) == len(list(mod.locations))


@pytest.mark.parametrize("path", BAD, ids=lambda path: path.stem)
def test_mistakes_show_where_and_why(path: Path, golden_text: Callable[[str, str], None]) -> None:
    with pytest.raises(ParseError) as caught:
        parse(path.read_text(), "model.relay")
    golden_text(str(path.relative_to(CASES).with_suffix(".err")), f"{caught.value}\n")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('#[version = "0.0.6"]\ndef @main() { 1 }', "unknown version '0.0.6'"),
        ("v0.0.5\ndef @main() { 1 }", "unknown version v0.0.5 of the text format"),
        ("v1\nfn () { 1 }", "unknown version v1 of the text format"),
        ("#[verion = 1]", "unsupported attribute"),
    ],
)
def test_wrong_version_lines(text: str, message: str) -> None:
    with pytest.raises(ParseError, match=message):
        parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "def @main() { " + "(" * 5000,
        "def @main(%f: fn () -> int32) { " + "%f(" * 5000,
        "def @main() { " + "fn () {" * 5000,
        "def @main() { " + "if (True) {" * 5000,
        "def @main() { " + "match (1) { _ => " * 5000,
        "def @main(%x: " + "(" * 5000,
        "def @main(%x: " + "fn (" * 5000,
        "def @main(%x: " + "A[" * 5000,
        "def @main(a=" + "[" * 5000,
        "def @main(a=" + "fn (a=" * 5000,
        "type T { A(int32) } def @main(%t: T) { match (%t) { " + "A(" * 5000,
        "def @main() { " + "fn () {" * 99 + "fn (%x: " + "(" * 5000,
    ],
)
def test_deep_nesting_is_refused(text: str) -> None:
    with pytest.raises(ParseError, match="nested more than 100 deep"):
        parse(text)


def test_moderate_nesting_is_read() -> None:
    expr = parse_expr("fn () {" * 95 + " 1 " + "}" * 95)
    assert isinstance(expr, Function)


def test_long_programs_are_read_without_recursion() -> None:
    count = 20_000
    lines = [f"  %{i} = nn.relu(%{i - 1}) /* ty=Tensor[(2), float32] span=relu_{i}:0:0 */;" for i in range(1, count)]
    lets = [f"  let %y{i} = %y{i - 1};" for i in range(1, count)]
    mod = parse(
        "\n".join(
            [
                "def @main(%x: Tensor[(2), float32]) {",
                "  %0 = %x;",
                *lines,
                f"  %{count - 1}",
                "}",
                "def @lets(%y0: int32) {",
                *lets,
                f"  %y{count - 1}",
                "}",
            ]
        )
    )
    steps, expr = 0, mod["main"].body
    while isinstance(expr, Call):
        steps, expr = steps + 1, expr.args[0]
    assert steps == count - 1
    assert isinstance(expr, Var)
    steps, expr = 0, mod["lets"].body
    while isinstance(expr, Let):
        steps, expr = steps + 1, expr.body
    assert steps == count - 1


SEEDS = [path.read_text() for path in [*sorted((CASES / "text").glob("*.relay")), *BAD]]
PIECES = [
    "%", "@", "(", ")", "{", "}", "[", "]", ",", ";", ":", ".", "=", "->", "=>", "/*", "*/", "//", '"', "\\", "#[",
    "meta[", "-", "let ", "fn ", "if ", "match ", "ref", "1", "1f", "0.0", "inff", "?", "_", "\0", "é", "\n", "Tensor[",
    "%0", "%x", "span=", "meta[relay.Constant][0]", "#[metadata]\n{}", "attrs_type_key=", "virtual_device=",
    "99999999999999999999999", "1e999f",
]  # fmt: skip


@settings(max_examples=300)
@given(data=st.data())
def test_damaged_texts_end_in_a_module_or_in_our_error(data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(SEEDS))
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(text)))
        end = min(len(text), start + data.draw(st.integers(0, 8)))
        text = (
            text[:start] + data.draw(st.one_of(st.just(""), st.sampled_from(PIECES), st.text(max_size=3))) + text[end:]
        )
    try:
        mod = parse(text)
    except Relay2RelaxError:
        return
    assert mod.astext()
