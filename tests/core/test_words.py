"""Words of programs: quoted text means in Python what it was, and names are names."""

from __future__ import annotations

import ast
import keyword
import unicodedata

import pytest

from relay2relax.core.dtype import DTypeError, check_dtype, is_dtype
from relay2relax.core.source import visible
from relay2relax.core.words import WordError, check_device, check_layout, code, dotted, quoted, sign, word
from relay2relax.tir.script.names import RESERVED, Scope, identifier

CHARACTERS = [chr(number) for number in range(0x300)] + [
    chr(number) for number in range(0x2000, 0x2100)
] + ["\u061c", "\u180e", "\ud800", "\udfff", "\ufeff", "\uffff", "\U000e0001", "\U0001f600", "日"]  # fmt: skip


def test_quoted_text_is_the_text_and_shows_whole() -> None:
    for char in CHARACTERS:
        literal = quoted(f"a{char}b")
        assert ast.literal_eval(literal) == f"a{char}b"
        assert len(literal.splitlines()) == 1
        literal.encode()  # a half of a pair has no bytes
        assert not {unicodedata.category(one) for one in literal} & {"Cc", "Cf", "Cs", "Zl", "Zp"}, ascii(literal)


def test_what_a_terminal_would_act_upon() -> None:
    assert visible("\x1b[31mred\u202e\n\x9b") == "\\x1b[31mred\\u202e\\x0a\\u009b"
    assert visible("one\ntwo\t\x07", lines=True) == "one\ntwo\t\\x07"
    assert visible("größer 日") == "größer 日"


@pytest.mark.parametrize(
    "text", ["", "a b", "a-b", "1a", "a.b", "if", "a\n", "a;b", "ä", "a\u200b", "__import__('os')"]
)
def test_what_is_no_name(text: str) -> None:
    with pytest.raises(WordError):
        word(text)


@pytest.mark.parametrize("text", ["nn.relu", "a", "a_1.b2"])
def test_names_with_dots(text: str) -> None:
    assert dotted(text) == text


@pytest.mark.parametrize("text", ["a..b", ".a", "a.", "a.if", "a. b", "a.b()"])
def test_what_is_no_name_with_dots(text: str) -> None:
    with pytest.raises(WordError):
        dotted(text)


def test_signs() -> None:
    assert code("{} {} {}", word("a"), sign("//"), word("b")) == "a // b"
    with pytest.raises(WordError):
        sign("+ 1 +")


@pytest.mark.parametrize(
    "hint", [*CHARACTERS, *keyword.kwlist, *sorted(RESERVED), "__debug__", "__class__", "_", "", "a.b", "1"]
)
def test_names_made_of_any_text(hint: str) -> None:
    name = identifier(hint)
    assert name.isidentifier()
    assert name.isascii()
    assert not keyword.iskeyword(name)
    assert name not in RESERVED
    assert not name.startswith("__")
    # Python reads it as this name, also as an argument and within a class.
    tree = ast.parse(f"class Module:\n    def {name}({name}):\n        {name} = {name}")
    assert isinstance(tree.body[0], ast.ClassDef)


def test_names_are_told_apart() -> None:
    scope = Scope()
    scope.enter()
    names = [scope.define(object(), hint) for hint in ("a b", "a_b", "a\nb", "a_b_1", "if", "if_")]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(
    "dtype", ["float32", "bool", "int4", "uint1", "float32x4", "int8xvscalex16", "float8_e4m3fn", "bfloat16", "handle",
              "custom[posites2]16", "", "void"],
)  # fmt: skip
def test_words_that_are_dtypes(dtype: str) -> None:
    assert check_dtype(dtype) == dtype


@pytest.mark.parametrize(
    "dtype", ["float", "floatx4", "int0", "float32x", "float32x0", "float32\n", "float32 ", "Float32", "float16\", 1)",
              "ｆloat32", "float３２", "float32\x00"],
)  # fmt: skip
def test_words_that_are_no_dtypes(dtype: str) -> None:
    assert not is_dtype(dtype)
    with pytest.raises(DTypeError, match="unknown dtype"):
        check_dtype(dtype)


def test_a_typo_is_told() -> None:
    with pytest.raises(DTypeError, match="did you mean `float32`"):
        check_dtype("flaot32")


def test_a_dtype_is_a_word() -> None:
    with pytest.raises(DTypeError, match="found int"):
        check_dtype(32)  # type: ignore[arg-type]


@pytest.mark.parametrize("text", ["NCHW", "NCHW4c", "OIHW16i16o", "", "__undef__"])
def test_layouts(text: str) -> None:
    check_layout(text)


@pytest.mark.parametrize("text", ['NCHW"', "NC HW", "NCHW\n", "N" * 100])
def test_what_is_no_layout(text: str) -> None:
    with pytest.raises(WordError, match="is not the name of a layout"):
        check_layout(text)


def test_devices() -> None:
    check_device("cuda:0:global")
    with pytest.raises(WordError, match="is not the name of a device"):
        check_device("cuda:0:global\nimport os")
