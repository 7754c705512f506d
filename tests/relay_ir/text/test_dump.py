"""Texts as people have them: dumps without metadata, functions alone, out of logs and pages."""

from __future__ import annotations

import re
from dataclasses import fields
from typing import Any

import numpy as np
import pytest
from typed import of_type, present

from relay2relax import backends, relay_ir
from relay2relax.core.errors import ParseError, UnsupportedError
from relay2relax.ops import relay_op
from relay2relax.relay_ir import Call, Function, Op, TensorType
from relay2relax.relay_ir.ir.rewrite import nodes

OMITTED = """
/* For debugging purposes the metadata section has been omitted.
 * If you would like to see the full metadata section you can set the
 * option to `True` when invoking `astext`.
 */
"""
LINEAR = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 3), float32] /* ty=Tensor[(2, 3), float32] */) -> Tensor[(2, 4), float32] {
  %0 = nn.dense(%x, meta[relay.Constant][0] /* ty=Tensor[(4, 3), float32] */, units=4);
  %1 = nn.bias_add(%0, meta[relay.Constant][1] /* ty=Tensor[(4), float32] span=b:1:2 */);
  multiply(%1, add(%1, meta[relay.Constant][1] /* ty=Tensor[(4), float32] */))
}
"""


def names(mod: relay_ir.IRModule, function: str = "main") -> list[str]:
    return [param.name for param in mod[function].params]


def test_constants_that_are_left_out_become_parameters() -> None:
    mod = relay_ir.parse(LINEAR + OMITTED)
    assert names(mod) == ["x", "constant_0", "constant_1"]
    weight, bias = np.arange(12, dtype="float32").reshape(4, 3), np.arange(4, dtype="float32")
    bound = relay_ir.infer_type(relay_ir.bind_params(mod, {"constant_0": weight, "constant_1": bias}))
    x = np.ones((2, 3), "float32")
    found = backends.create_executor("debug", bound).evaluate()(x)
    linear = x @ weight.T + bias
    np.testing.assert_allclose(found, linear * (linear + bias), rtol=1e-6)


def test_constants_of_called_functions_are_handed_on() -> None:
    text = """
def @scale(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  multiply(%x, meta[relay.Constant][0] /* ty=Tensor[(2), float32] */)
}
def @twice(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  @scale(@scale(%x))
}
def @main(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  add(@twice(%x), meta[relay.Constant][1] /* ty=Tensor[(2), float32] */)
}
"""
    mod = relay_ir.parse(text)
    assert [names(mod, one) for one in ("scale", "twice", "main")] == [
        ["x", "constant_0"], ["x", "constant_0"], ["x", "constant_0", "constant_1"],
    ]  # fmt: skip
    run = backends.create_executor("debug", relay_ir.infer_type(mod)).evaluate()
    one, two, three = (np.full(2, value, "float32") for value in (5, 2, 3))
    np.testing.assert_array_equal(run(one, two, three), np.full(2, 5 * 2 * 2 + 3, "float32"))
    with pytest.raises(UnsupportedError, match="used as a value"):
        relay_ir.parse(text.replace("add(@twice(%x), ", "add((@twice, %x).1, "))


def test_a_boxed_number_follows_from_the_parts() -> None:
    text = "def @main(%x: Tensor[(?, 12), float32]) {\n  split(%x, indices_or_sections=SAID, axis=1) /* ty=TYPE */\n}"
    boxed = "meta[runtime.BoxInt][0]"
    for said, type_, expected in (
        (f"[{boxed}]", "(Tensor[(?, 8), float32], Tensor[(?, 4), float32])", "[8]"),
        (f"[{boxed}, {boxed}]", "(Tensor[(?, 2), int8], Tensor[(?, 3), int8], Tensor[(?, ?), int8])", "[2, 5]"),
        (boxed, "(Tensor[(?, ?), float32], Tensor[(?, ?), float32])", "2"),
    ):  # fmt: skip
        mod = relay_ir.parse(text.replace("SAID", said).replace("TYPE", type_))
        wanted = relay_ir.parse(text.replace("SAID", expected).replace("TYPE", ""))
        assert relay_ir.structural_equal(mod, wanted)
    unknown = "(Tensor[(?, ?), float32], Tensor[(?, 4), float32])"
    with pytest.raises(ParseError, match="the text leaves out the attribute `indices_or_sections`"):
        relay_ir.parse(text.replace("SAID", f"[{boxed}]").replace("TYPE", unknown))


def test_attributes_that_are_operands_are_taken_from_them() -> None:
    text = 'def @main(%n: int32) { arange(0, %n, 1, start=START, stop=STOP, step=STEP, dtype="int32") }'
    left_out = text.replace("START", "meta[relay.Constant][0]").replace("STOP", "meta[relay.Var][0]")
    mod = relay_ir.parse(left_out.replace("STEP", "meta[relay.Constant][1]"))
    call = of_type(mod["main"].body, Call)
    assert (call.attrs.start, call.attrs.stop, call.attrs.step) == call.args
    assert names(mod) == ["n"]


def test_dimensions_that_are_left_out_are_symbols() -> None:
    dim, other = "meta[tir.SizeVar][0]", "meta[tir.SizeVar][1]"
    mod = relay_ir.parse(f"def @main(%x: Tensor[({dim}, {dim}), float32], %y: Tensor[({other}), float32]) {{ %x }}")
    x, y = (of_type(param.type_annotation, TensorType).shape for param in mod["main"].params)
    assert x[0] is x[1]
    assert x[0] is not y[0]


SCATTER = """def @main(%d: Tensor[(4), float32], %i: Tensor[(1, 2), int64], %u: Tensor[(2), float32]) {
  %0 = scatter_nd(%d, %i, %u, meta[relay.attrs.ScatterNDAttrs][0]);
  cumsum(%0, meta[relay.attrs.ScanopAttrs][0]) /* ty=Tensor[(4), float64] */
}"""
TOLD: dict[str, dict[str, object]] = {
    "meta[relay.attrs.ScatterNDAttrs][0]": {"mode": "add"},
    "meta[relay.attrs.ScanopAttrs][0]": {"axis": 0, "exclusive": True},
}


def test_attributes_that_nothing_decides_are_asked_for_by_name_all_at_once() -> None:
    with pytest.raises(ParseError) as caught:
        relay_ir.parse(SCATTER)
    assert [one.title for one in caught.value.diagnostics] == [
        "the text leaves out `meta[relay.attrs.ScatterNDAttrs][0]`: mode of scatter_nd",
        "the text leaves out `meta[relay.attrs.ScanopAttrs][0]`: axis, exclusive of cumsum",
    ]
    assert (
        '{"meta[relay.attrs.ScanopAttrs][0]": {"axis": null, "exclusive": false}}' in caught.value.diagnostics[1].help
    )


def test_attributes_are_those_that_were_given_and_those_that_types_decide() -> None:
    scatter, scan = "meta[relay.attrs.ScatterNDAttrs][0]", "meta[relay.attrs.ScanopAttrs][0]"
    whole = SCATTER.replace(scatter, 'mode="add"').replace(scan, 'axis=0, dtype="float64", exclusive=True')
    assert relay_ir.structural_equal(relay_ir.parse(SCATTER, attrs=TOLD), relay_ir.parse(whole))


@pytest.mark.parametrize(
    ("call", "attributes"),
    [
        ("broadcast_to(%x, ", "shape=[4, 3]"),
        ("zeros(", 'shape=[4, 3], dtype="float32"'),
        ("ones(", 'shape=[4, 3], dtype="float32"'),
        ("full(%y, ", 'shape=[4, 3], dtype="float32"'),
    ],
)
def test_the_shape_that_a_result_has_is_the_one_that_was_asked_for(call: str, attributes: str) -> None:
    text = "def @main(%x: Tensor[(1, 3), float32], %y: float32) { CALL) /* ty=Tensor[(4, 3), float32] */ }"
    dumped = relay_ir.parse(text.replace("CALL", f"{call}meta[relay.attrs.InitOpAttrs][0]"))
    assert relay_ir.structural_equal(dumped, relay_ir.parse(text.replace("CALL", call + attributes)))


def test_what_is_asked_for_is_told_once() -> None:
    """The shape has no default, but that it is missing is no second mistake."""
    with pytest.raises(ParseError) as caught:
        relay_ir.parse("def @main(%x: Tensor[(1, 3), float32]) { broadcast_to(%x, meta[relay.attrs.InitOpAttrs][0]) }")
    assert [one.title for one in caught.value.diagnostics] == [
        "the text leaves out `meta[relay.attrs.InitOpAttrs][0]`: shape of broadcast_to"
    ]


def test_attributes_for_something_else_are_refused() -> None:
    with pytest.raises(ParseError, match=r"given for `meta\[a\]\[1\]`, which the text does not leave out"):
        relay_ir.parse(SCATTER, attrs={**TOLD, "meta[a][1]": {}})
    wrong: dict[str, dict[str, object]] = {**TOLD, "meta[relay.attrs.ScatterNDAttrs][0]": {"mode": "add", "colour": 3}}
    with pytest.raises(ParseError, match="colour"):
        relay_ir.parse(SCATTER, attrs=wrong)
    with pytest.raises(ParseError, match=r"the text leaves out `meta\[relay.attrs.NoSuchAttrs\]\[0\]`"):
        relay_ir.parse("def @main(%x: Tensor[(1), float32]) { %x(meta[relay.attrs.NoSuchAttrs][0]) }")


@pytest.mark.golden
def test_recorded_texts_without_their_metadata_are_whole_with_the_attributes(recorded: Any) -> None:
    """What a text says with its section it says without, once the attributes are told."""
    count = 0
    for case in recorded("operators"):
        text, mark, _ = case["text"].partition("#[metadata]")
        kinds = set(re.findall(r"meta\[([\w.]+)\]\[\d+\]", text))
        if not mark or not kinds or not all(kind.startswith("relay.attrs.") for kind in kinds):
            continue
        whole = relay_ir.parse(case["text"])
        calls = [node for node in nodes(whole["main"]) if isinstance(node, Call)]
        told = dict(zip(re.findall(r"meta\[[\w.]+\]\[\d+\]", text), _attributes(calls), strict=True))
        assert relay_ir.structural_equal(relay_ir.parse(text, attrs=told), whole), case["id"]
        count += 1
    assert count > 100


def _attributes(calls: list[Call]) -> list[dict[str, object]]:
    """Return the attributes of calls whose operators TVM declares none for, in the text's order."""
    undeclared = [
        call for call in calls if isinstance(call.op, Op) and not present(relay_op(call.op.name)).declares_attrs
    ]
    return [{field.name: getattr(call.attrs, field.name) for field in fields(call.attrs)} for call in undeclared]


FUNCTION = """fn (%x: Tensor[(2), float32] /* ty=Tensor[(2), float32] */) -> Tensor[(2), float32] {
  %0 = add(%x, %x) /* ty=Tensor[(2), float32] */;
  multiply(%0, %x) /* ty=Tensor[(2), float32] */
} /* ty=fn (Tensor[(2), float32]) -> Tensor[(2), float32] */
"""


def test_a_function_alone_is_main() -> None:
    mod = relay_ir.parse(FUNCTION)
    assert names(mod) == ["x"]
    found = backends.create_executor("debug", relay_ir.infer_type(mod)).evaluate()(np.array([2, 3], "float32"))
    assert found.tolist() == [8, 18]
    assert relay_ir.structural_equal(relay_ir.parse('#[version = "0.0.5"]\n' + FUNCTION), mod)


def test_several_functions_have_names_of_their_own() -> None:
    mod = relay_ir.parse(FUNCTION + "\n" + FUNCTION.replace("multiply", "subtract"))
    assert [var.name for var in mod.functions] == ["main", "main_1"]
    assert all(isinstance(one, Function) for one in mod.functions.values())
    assert "subtract" in relay_ir.IRModule.from_expr(mod["main_1"]).astext()


def test_free_variables_of_an_expression_are_parameters() -> None:
    mod = relay_ir.parse("free_var %x: Tensor[(2), float32];\n%0 = nn.relu(%x);\nfree_var %y: float32;\nadd(%0, %y)\n")
    assert names(mod) == ["x", "y"]
    assert relay_ir.infer_type(mod)["main"].ret_type == TensorType((2,), "float32")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("INFO:root:", ""),
        ("[12:01:02] compile.py:17: the module is\n[12:01:02] compile.py:18: ", ""),
        ("2023-01-02 03:04:05,006 - tvmc - DEBUG - ", ""),
        ("Here is the model:\n\n```rust\n", "```\n"),
        ("\x1b[1;32m", "\x1b[0m\n"),
        ("\ufeff", ""),
        ("// written by a script\n", ""),
    ],
)
@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_what_stands_around_a_program_is_left_out(before: str, after: str, line_end: str) -> None:
    for program in (LINEAR, FUNCTION, LINEAR.partition("\n")[2]):
        text = (before + program + after).replace("\n", line_end)
        assert relay_ir.structural_equal(relay_ir.parse(text), relay_ir.parse(program))


def test_places_are_those_of_the_file() -> None:
    with pytest.raises(ParseError) as caught:
        relay_ir.parse("INFO: " + FUNCTION.replace("add", "ad"), name="log.txt")
    assert "log.txt:2:8" in str(caught.value)
