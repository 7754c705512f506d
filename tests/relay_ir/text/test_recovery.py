"""Texts that break off: what was read until there is said, and kept where that is asked for."""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from relay2relax import backends, relay_ir
from relay2relax.core.errors import ParseError
from relay2relax.relay_ir import TensorType, TupleType

TEXT = """#[version = "0.0.5"]
def @relu(%x: Tensor[(2), float32]) -> Tensor[(2), float32] {
  nn.relu(%x)
}

def @main(%x: Tensor[(2, 2), float32], %g: fn (int32) -> int32) -> Tensor[(2), float32] {
  %0 = nn.relu(%x) /* ty=Tensor[(2, 2), float32] */;
  let %a = split(%0, indices_or_sections=2);
  let %b = add(%a.0, meta[relay.Constant][0] /* ty=Tensor[(1, 2), float32] span=x:1:2 */);
  %3 = if (True) { %0 } else { %x };
  sum(%3, axis=[1])
}

#[metadata]
{
  "root": 1, "nodes": [{"type_key": "[]"}]
"""


def cut(before: str) -> str:
    return TEXT.partition(before)[0]


def read(text: str, said: str) -> relay_ir.IRModule:
    with pytest.raises(ParseError, match="--recover") as refused:
        relay_ir.parse(text)
    assert said in str(refused.value)
    with pytest.warns(UserWarning, match=re.escape(said)):
        mod = relay_ir.parse(text, recover=True)
    return relay_ir.infer_type(mod)


def test_bindings_before_the_break_are_kept() -> None:
    mod = read(cut("axis=[1]"), "line 11; read whole: @relu; read of @main: 4 bindings, its result is a tuple of the 2")
    assert relay_ir.structural_equal(mod["relu"], relay_ir.parse(cut("def @main"))["relu"])
    values = np.array([[-1, 2], [3, -4]], "float32"), np.array([[10, 20]], "float32")
    run = backends.create_executor("debug", mod).evaluate()
    added, chosen = run(values[0], lambda x: x, values[1])
    positive = np.maximum(values[0], 0)
    np.testing.assert_array_equal(added, positive[:1] + values[1])
    np.testing.assert_array_equal(chosen, positive)


def test_one_value_that_nothing_uses_is_the_result() -> None:
    mod = read(cut("let %b"), "read of @main: 2 bindings, its result is %a")
    half = TensorType((1, 2), "float32")
    assert mod["main"].ret_type == TupleType((half, half))


def test_a_function_without_a_whole_binding_is_lost() -> None:
    for place in ("%x) /* ty=", "nn.relu(%x) /*", "(%x: Tensor[(2, 2)"):
        mod = read(cut(place), "read whole: @relu; the rest is lost")
        assert [var.name for var in mod.functions] == ["relu"]


def test_constants_are_parameters_where_the_metadata_breaks_off() -> None:
    for text in (TEXT, cut('"root"'), cut("metadata]")):
        mod = read(text, "the metadata section breaks off")
        assert [param.name for param in mod["main"].params] == ["x", "g", "constant_0"]
        assert mod["main"].ret_type == TensorType((2,), "float32")


def test_expressions_break_off_too() -> None:
    body = "free_var %x: Tensor[(2), float32];\n%0 = nn.relu(%x);\nlet %y = add(%0, %x);\n"
    function = f"fn (%x: Tensor[(2), float32]) -> float32 {{\n{body.partition(';')[2]}"
    for text, name in ((body, "the expression"), (function, "the function")):
        mod = read(text + "sum(%y, ax", f"read of {name}: 2 bindings, its result is %y")
        found = backends.create_executor("debug", mod).evaluate()(np.array([-1, 3], "float32"))
        assert found.tolist() == [-1, 6]


def test_every_place_of_the_break_gives_a_module_or_an_error() -> None:
    begin, end = TEXT.index("def @main"), TEXT.index('"root"')
    for place in range(begin + 1, end):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mod = relay_ir.infer_type(relay_ir.parse(TEXT[:place], recover=True))
        assert mod["relu"].params, place


@pytest.mark.parametrize(
    "text",
    [
        "def @main(%x: Tensor[(2), float32]) {\n  %0 = ad(%x, %x);\n  %0\n}\n",
        "def @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, %x);\n  add(%0 }\n",
        "def @main(%x: Tensor[(2), float32]) {\n  %0 = add(%x, ;\n  add(%0, %x)\n",
        "def @main(%x: Tensor[(2), float32]) {\n  add(%x",
        "hello",
    ],
)
def test_other_mistakes_stay_mistakes(text: str) -> None:
    with pytest.raises(ParseError) as without:
        relay_ir.parse(text)
    with pytest.raises(ParseError) as asked:
        relay_ir.parse(text, recover=True)
    assert str(without.value) == str(asked.value)
    assert "--recover" not in str(asked.value)


def test_whole_texts_are_read_without_a_word(tmp_path: Path) -> None:
    whole = cut("def @main").replace("@relu", "@main")
    (tmp_path / "net.relay").write_text(whole)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mod = relay_ir.load(tmp_path / "net.relay", recover=True)
    assert relay_ir.structural_equal(mod, relay_ir.parse(whole))
