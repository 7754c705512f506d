"""The layer that reads documents: what is refused, and where it says that the mistake is."""

from __future__ import annotations

import json
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from relay2relax.core.errors import ParseError
from relay2relax.core.schema import Extent, Form, OpenExtent, field, parse_json, read_json, read_value, to_plain


class Tensor(Form):
    name: str
    shape: tuple[Extent, ...]
    prims: tuple[OpenExtent, ...] = ()


class Input(Form, tag_field="kind", tag="input"):
    hint: str


class Branch(Form, tag_field="kind", tag="branch"):
    inside: dict[str, Input]
    pair: tuple[int, int] = (0, 0)


class Document(Form):
    version: Literal[1]
    tensors: dict[str, Tensor]
    attrs: tuple[Input | Branch, ...] = ()
    about: str = field(name="relay2relax", default="")
    scale: float | None = None


class Nested(Form):
    inside: Nested | None = None


WHOLE = {
    "version": 1,
    "tensors": {"v": {"name": "v", "shape": []}, "w": {"name": "w", "shape": [2, 3], "prims": [-1, 3]}},
    "attrs": [{"kind": "input", "hint": "x"}, {"kind": "branch", "inside": {"a": {"kind": "input", "hint": "y"}}}],
    "relay2relax": "here",
    "scale": 0.5,
}


def test_a_document_becomes_its_form_and_is_written_again() -> None:
    found = read_json(json.dumps(WHOLE), Document, "the document")
    assert found.tensors["w"].shape == (2, 3)
    assert found.about == "here"
    assert found.attrs[1] == Branch({"a": Input("y")})
    plain = to_plain(found)
    assert list(plain) == list(WHOLE)
    assert read_json(json.dumps(plain), Document, "the document") == found


def changed(path: str, value: object) -> dict[str, object]:
    """Return the whole document with ``value`` at a path; a value that is ``...`` is taken away."""
    document: dict[str, object] = json.loads(json.dumps(WHOLE))
    *steps, last = [int(step) if step.isdigit() else step for step in path.split("/")]
    target: Any = document
    for step in steps:
        target = target[step]
    if value is ...:
        del target[last]
    else:
        target[last] = value
    return document


@pytest.mark.parametrize(
    ("path", "value", "said"),
    [
        ("tensors/w/shape/0", True, "expected `int`, found `bool` at $.tensors.w.shape[0]"),
        ("tensors/w/shape/0", 2.0, "expected `int`, found `float` at $.tensors.w.shape[0]"),
        ("tensors/w/shape/0", "2", "expected `int`, found `str` at $.tensors.w.shape[0]"),
        ("tensors/w/shape/0", None, "expected `int`, found `null` at $.tensors.w.shape[0]"),
        ("tensors/w/shape/1", -1, "expected `int` >= 0 at $.tensors.w.shape[1]"),
        ("tensors/w/prims/1", -2, "expected `int` >= -1 at $.tensors.w.prims[1]"),
        ("tensors/w/shape/1", 2**63, "expected `int` <= 9223372036854775807 at $.tensors.w.shape[1]"),
        ("tensors/w/shape", 3, "expected `array`, found `int` at $.tensors.w.shape"),
        ("tensors/w/shape", {}, "expected `array`, found `object` at $.tensors.w.shape"),
        ("tensors/w", [], "expected `object`, found `array` at $.tensors.w"),
        ("tensors/w/name", ..., "the key 'name' is missing at $.tensors.w"),
        ("tensors/w/colour", "red", "the key 'colour' is unknown at $.tensors.w"),
        ("tensors", ..., "the key 'tensors' is missing"),
        ("version", 2, "2 is none of the values allowed at $.version"),
        ("version", True, "expected `int`, found `bool` at $.version"),
        ("attrs/0/kind", "output", "'output' is none of the values allowed at $.attrs[0].kind"),
        ("attrs/0/kind", ..., "the key 'kind' is missing at $.attrs[0]"),
        ("attrs/1/pair", [1], "expected `array` of length 2, found 1 at $.attrs[1].pair"),
        ("attrs/1/inside/a/hint", False, "expected `str`, found `bool` at $.attrs[1].inside.a.hint"),
        ("relay2relax", 7, "expected `str`, found `int` at $.relay2relax"),
        ("scale", "0.5", "expected `float | null`, found `str` at $.scale"),
    ],
)
def test_what_is_wrong_is_said_with_its_place(path: str, value: object, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        read_json(json.dumps(changed(path, value)), Document, "the file")
    assert caught.value.diagnostics[0].title == f"the file: {said}"


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "the file is not a JSON document (line 1, column 1): Expecting value"),
        (b"", "the file is not a JSON document (line 1, column 1): Expecting value"),
        ('{"a":\n 1,,}', "the file is not a JSON document (line 2, column 4): Expecting property name"),
        ("[" * 100_000, "the file is not a JSON document: it is nested too deeply"),
        ('{"a": NaN}', "the file is not a JSON document: NaN is not a number of JSON"),
        ('{"a": [-Infinity]}', "the file is not a JSON document: -Infinity is not a number of JSON"),
        ('{"a": 1e999}', "the file is not a JSON document: the number 1e999 is too large"),
        ("9" * 5000, "the file is not a JSON document: Exceeds the limit"),
        (b"\xff\xfe\xfa", "the file is not a JSON document: 'utf-8' codec|the file is not a JSON document: 'utf-16"),
        ('{"a": 1, "b": {"c": [0, {"d": 1, "d": 1}]}}', "the file: the key 'd' stands twice at $.b.c[1]"),
        ('{"a": 1, "a": 2}', "the file: the key 'a' stands twice"),
    ],
)
def test_texts_that_are_not_json(content: str, said: str) -> None:
    with pytest.raises(ParseError) as caught:
        parse_json(content, "the file")
    assert any(caught.value.diagnostics[0].title.startswith(one) for one in said.split("|"))


def test_nesting_is_limited() -> None:
    value: dict[str, object] = {}
    for _ in range(100_000):
        value = {"inside": value}
    with pytest.raises(ParseError, match="the value is nested too deeply"):
        read_value(value, Nested, "the value")


def test_strings_that_utf8_cannot_say_are_read() -> None:
    assert parse_json('"\\ud800"', "the file") == "\ud800"
    assert read_json('["\ud800"]', list[str], "the file") == ["\ud800"]


def test_the_key_at_fault_is_found_among_many() -> None:
    tensors = {f"t{i}": {"name": "", "shape": [i]} for i in range(1000)}
    tensors["t617"]["shape"] = [True]
    with pytest.raises(ParseError, match=r"at \$\.tensors\.t617\.shape\[0\]$"):
        read_value({"version": 1, "tensors": tensors}, Document, "the file")


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3),
    max_leaves=5,
)


@given(path=st.sampled_from(["version", "tensors", "tensors/w", "tensors/w/shape/0", "attrs/1", "scale"]), value=VALUES)
def test_any_value_anywhere_is_read_or_refused(path: str, value: object) -> None:
    document = changed(path, value)
    try:
        found = read_value(document, Document, "the file")
    except ParseError as error:
        assert error.diagnostics[0].title.startswith("the file: ")  # noqa: PT017 - some values are right
    else:
        assert read_value(to_plain(found), Document, "the file") == found
