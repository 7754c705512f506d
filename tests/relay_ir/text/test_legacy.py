"""Text of TVM before 0.9 is read, as those versions printed it and as their readers took it.

The texts follow the printers and grammars of TVM's history: ``v0.0.1`` (March to July 2019),
``v0.0.3``, ``v0.0.4`` (0.6) and ``#[version = "0.0.5"]`` of 0.7 and 0.8.
"""

from __future__ import annotations

import numpy as np
import pytest
from typed import of_type

from relay2relax.core import ParseError
from relay2relax.relay_ir import Call, Constant, Let, TensorType, Tuple, infer_type, parse, parse_expr, structural_equal
from relay2relax.tir.ir.expr import Var

# As the Relay tutorial of 2019 shows it, without the middle.
MLP = """v0.0.1
fn (%data: Tensor[(1, 1, 28, 28), float32], %fc1_weight: Tensor[(10, 784), float32], %fc1_bias: Tensor[(10,), float32]) -> Tensor[(1, 10), float32] {
  %0 = nn.batch_flatten(%data) /* ty=Tensor[(1, 784), float32] */
  %1 = nn.dense(%0, %fc1_weight, units=10) /* ty=Tensor[(1, 10), float32] */
  %2 = nn.bias_add(%1, %fc1_bias, axis=-1) /* ty=Tensor[(1, 10), float32] */
  nn.softmax(%2) /* ty=Tensor[(1, 10), float32] */
}
"""  # noqa: E501
MLP_TODAY = """#[version = "0.0.5"]
def @main(%data: Tensor[(1, 1, 28, 28), float32], %fc1_weight: Tensor[(10, 784), float32], %fc1_bias: Tensor[(10), float32]) -> Tensor[(1, 10), float32] {
  %0 = nn.batch_flatten(%data);
  %1 = nn.dense(%0, %fc1_weight, units=10);
  %2 = nn.bias_add(%1, %fc1_bias, axis=-1);
  nn.softmax(%2)
}
"""  # noqa: E501


def test_a_function_of_the_tutorial_is_the_main_function() -> None:
    assert structural_equal(parse(MLP), parse(MLP_TODAY))
    assert str(infer_type(parse(MLP))) == str(infer_type(parse(MLP_TODAY)))


def test_an_expression_of_the_tutorial_gets_its_free_variables_as_parameters() -> None:
    mod = parse("v0.0.1\nfree_var %x: Tensor[(10, 1), float32]\nadd(%x, %x)\n")
    assert str(mod) == "def @main(%x: Tensor[(10, 1), float32]) {\n  add(%x, %x)\n}\n"


# (older text, the same program as TVM 0.18 writes it)
PROGRAMS = {
    "a tuple on the line after a call, March 2019": (
        "v0.0.1\ndef @main(%x: float32) -> (float32, float32) {\n"
        "  %0 = negative(%x) // ty=float32\n  %1 = exp(%0) // ty=float32\n  %2 = (%0, %1)\n  %2\n}\n",
        "def @main(%x: float32) -> (float32, float32) { %0 = negative(%x); (%0, exp(%0)) }",
    ),
    "a tuple as result follows a line without semicolon": (
        "v0.0.1\nfn (%x: float32) {\n  %0 = negative(%x)\n  (%0, %x)\n}\n",
        "def @main(%x: float32) { %0 = negative(%x); (%0, %x) }",
    ),
    "lets without semicolons, one in braces": (
        "v0.0.1\ndef @main(%x: float32) {\n  let %a = {\n    let %b = exp(%x)\n    %b\n  }\n  let %c: float32 = %a\n"
        "  add(%c, 2f)\n}\n",
        "def @main(%x: float32) { let %a = (let %b = exp(%x); %b); let %c: float32 = %a; add(%c, 2f) }",
    ),
    "no input before an attribute": (
        'v0.0.1\ndef @main() {\n  zeros(, shape=[2], dtype="float32")\n}\n',
        'def @main() { zeros(shape=[2], dtype="float32") }',
    ),
    "attributes that are floats without suffix": (
        "v0.0.1\ndef @main(%x: Tensor[(1, 2,), float32]) {\n  nn.leaky_relu(%x, alpha=0.25)\n}\n",
        "def @main(%x: Tensor[(1, 2), float32]) { nn.leaky_relu(%x, alpha=0.25f) }",
    ),
    "type variables in angle brackets": (
        "v0.0.1\ndef @main<%t>(%f: fn (%t) -> %t, %x: %t) -> %t {\n  %f(%x)\n}\n",
        "def @main[t](%f: fn (t) -> t, %x: t) -> t { %f(%x) }",
    ),
    "branches, calls of globals, references": (
        "v0.0.1\ndef @f(%c: bool, %r: ref(int32)) -> int32 {\n  if (%c) {\n    %0 = @f(False, %r)\n    %0\n  } else {\n"
        "    let %u = (%r := 3)\n    %r^\n  }\n}\n",
        "def @f(%c: bool, %r: ref(int32)) -> int32 { if (%c) { @f(False, %r) } else "
        "{ let %u = ref_write(%r, 3); ref_read(%r) } }",
    ),
    "written by hand for the first reader": (
        "v0.0.1\ndef @main(%x: float32) -> float32 {\n  let mut %y = { %x + 1.5 };\n  %0 = %y * 1e1;\n  %y\n}\n",
        "def @main(%x: float32) -> float32 { let %y = %x + 1.5f; %y }",
    ),
    "semicolons, version 3": (
        "v0.0.3\nfn (%x: Tensor[(2), float32]) {\n  %0 = exp(%x) /* ty=Tensor[(2), float32] */;\n  add(%0, %0)\n}\n",
        "def @main(%x: Tensor[(2), float32]) { %0 = exp(%x); add(%0, %0) }",
    ),
    "0.6: types in parentheses, tuples of one": (
        "v0.0.4\ndef @main(%x: (int32), %y: (int32,), %f: fn ((int32)) -> (bool)) -> (int32) {\n  %y.0\n}\n",
        "def @main(%x: int32, %y: (int32,), %f: fn (int32) -> bool) -> int32 { %y.0 }",
    ),
    "0.6: an extent without parentheses": (
        "v0.0.4\nfn (%x: Tensor[3, float32], %y: Tensor[(3), float32], %z: Tensor[(), float32]) { %x }",
        "def @main(%x: Tensor[(3), float32], %y: Tensor[(3), float32], %z: float32) { %x }",
    ),
    "0.6: matches": (
        "v0.0.4\ntype Opt[A] {\n  Some(A),\n  None,\n}\n\ndef @main[A](%x: Opt[A], %y: A) -> A {\n  match (%x) {\n"
        "    Some(%z) => %z,\n    None => {\n      let %w = %y;\n      %w\n    },\n  }\n}\n",
        "type Opt[A] { Some(A), None } def @main[A](%x: Opt[A], %y: A) -> A "
        "{ match (%x) { Some(%z) => { %z }, None => { let %w = %y; %w } } }",
    ),
    "0.6: minus signs": (
        "v0.0.4\ndef @main(%x: int32) { -%x - -1 -1 * -%x }",
        "def @main(%x: int32) { negative(%x) - -1 - 1 * negative(%x) }",
    ),
    "0.6: projections after calls and after each other": (
        "v0.0.4\ndef @main(%f: fn () -> ((int32, int32), int32)) { %f().0.1 }",
        "def @main(%f: fn () -> ((int32, int32), int32)) { %0 = %f(); (%0.0).1 }",
    ),
    "0.6: values that are matches and blocks": (
        "v0.0.4\ndef @main(%x: int32) { let %y = match? %x { _ => 1 }; %0 = { let %a = %y; %a }; %0 + %x }",
        "def @main(%x: int32) { let %y = (match? (%x) { _ => { 1 } }); %0 = (let %a = %y; %a); %0 + %x }",
    ),
    "0.6: names with dots": (
        "v0.0.4\ndef @main(%layer1.0.conv.weight: float32, %x.1: float32) { add(%layer1.0.conv.weight, %x.1) }",
        "def @main(%a: float32, %b: float32) { add(%a, %b) }",
    ),
    "0.7: references": (
        '#[version = "0.0.5"]\ndef @main(%r: ref(int32)) { let %u = (%r := 1 /* ty=int32 */); %r^ }',
        "def @main(%r: ref(int32)) { let %u = ref_write(%r, 1); ref_read(%r) }",
    ),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_older_programs_mean_what_they_meant(name: str) -> None:
    older, today = PROGRAMS[name]
    assert structural_equal(parse(older), parse(today))


def test_statements_may_be_separated_by_two_semicolons() -> None:
    found = parse_expr("v0.0.4\n1 ;; 2 ;; 3")
    assert isinstance(found, Let)
    assert str(parse("v0.0.4\nfn () { 1 ;; 2 }")["main"].body) == str(parse_expr("1; 2"))


def constants(text: str) -> list[tuple[object, str]]:
    found = parse_expr(text)
    assert isinstance(found, Tuple)
    return [(field.data.item(), field.data.dtype.name) for field in found.fields if isinstance(field, Constant)]


def test_literals_without_suffix_have_the_dtype_their_comment_states() -> None:
    text = "(1 /* ty=int64 */, 2 /* ty=int32 */, 1.5 /* ty=float64 */, 3 /* ty=float64 */, -1e-05 /* ty=float64 */, 2f)"
    expected = [(1, "int64"), (2, "int32"), (1.5, "float64"), (3.0, "float64"), (-1e-05, "float64"), (2.0, "float32")]
    assert constants(f"v0.0.4\n{text}") == expected
    assert constants(f'#[version = "0.0.5"]\n{text}') == expected


def test_literals_without_suffix_and_comment() -> None:
    assert constants("v0.0.4\n(1.5, 1e3, 7)") == [(1.5, "float64"), (1000.0, "float64"), (7, "int32")]
    assert constants("v0.0.1\n(1.5, 1e3, 7)") == [(1.5, "float32"), (1000.0, "float32"), (7, "int32")]
    with pytest.raises(ParseError, match="a float ends in f"):
        parse_expr('#[version = "0.0.5"]\n1.5')


METADATA = """{
  "root": 1,
  "nodes": [
    {"type_key": ""},
    {"type_key": "StrMap", "keys": ["Variable", "relay.Constant"], "data": [2, 4]},
    {"type_key": "Array", "data": [3]},
    {"type_key": "Variable", "attrs": {"dtype": "int32", "name": "n"}},
    {"type_key": "Array", "data": [5]},
    {"type_key": "relay.Constant", "attrs": {"_checked_type_": "0", "data": "0", "span": "0"}}
  ],
  "b64ndarrays": ["P6G0lvBAXt0AAAAAAAAAAAEAAAAAAAAAAQAAAAIgAQACAAAAAAAAAAgAAAAAAAAAAACAPwAAAEA="],
  "attrs": {"tvm_version": "0.6.0"}
}
"""


@pytest.mark.parametrize(("version", "head"), [("v0.0.1", "/* meta data */"), ("v0.0.4", "METADATA:")])
def test_metadata_of_older_texts(version: str, head: str) -> None:
    text = (
        f"{version}\nfn (%x: Tensor[(meta[Variable][0], 2), float32]) {{\n  add(%x, meta[relay.Constant][0])\n}}\n"
        f"{head}\n{METADATA}"
    )
    mod = parse(text)
    constant = of_type(of_type(mod["main"].body, Call).args[1], Constant)
    np.testing.assert_array_equal(constant.data, np.array([1, 2], "float32"))
    extent = of_type(mod["main"].params[0].type_annotation, TensorType).shape[0]
    assert of_type(extent, Var).name == "n"


def test_metadata_left_out_by_an_older_printer() -> None:
    remark = "// meta data omitted. you can use show_meta_data=True to include meta data"
    with pytest.raises(ParseError, match="the text leaves out the value and the type of"):
        parse(f"v0.0.4\nfn () {{\n  meta[relay.Constant][0]\n}}\n{remark}")
    parse(f"v0.0.4\nfn () {{\n  1\n}}\n{remark}")


@pytest.mark.parametrize("text", ["v0.0.1\nfn (%x: int32) { %x", "v0.0.4\nfn (%x: int32) { %y }", "v0.0.1\n%0 = 1 2"])
def test_mistakes_in_older_texts(text: str) -> None:
    with pytest.raises(ParseError):
        parse(text)
