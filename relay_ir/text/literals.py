"""Numbers and strings as Relay's text format spells them, read and written."""

from __future__ import annotations

import math
import re

import numpy as np

from relay2relax.core.dtype import is_float
from relay2relax.core.source import to_bytes, to_text
from relay2relax.core.words import Code, matching, truth

Scalar = tuple[int | float | bool, str]

# Suffixes of scalar constants; a dtype that is not listed is written as
# ``meta[relay.Constant][i]``.
SUFFIXES = {
    "int16": "i16",
    "int32": "",
    "int64": "i64",
    "float16": "f16",
    "float32": "f",
    "float64": "f64",
}

_INTEGER = re.compile(r"(-*)(\d+)(?:i(16|32|64)?)?\Z")
_FLOAT = re.compile(r"(-*)(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|inf|nan)f(16|32|64)?\Z")
# A literal as it is written.
_LITERAL = re.compile(r"-?(?:\d+(?:\.\d*)?(?:e[+-]?\d+)?|inf|nan)(?:i16|i64|f16|f64|f)?")
_UNMARKED = re.compile(r"-*\d+(?:\.\d*)?(?:[eE][+-]?\d+)?\Z")
# The least values that round to infinity.
_TOO_LARGE = {16: 65520.0, 32: 3.4028235677973366e38, 64: math.inf}


class MalformedNumber(ValueError):
    """A literal is not a number, or does not fit the width it states."""


def read_number(text: str, stated: str = "", bare_float: str = "") -> Scalar:
    """Return value and dtype of a literal.

    An integer without width is int32 if it fits, else int64.

    A literal is a float only if it has the suffix ``f``. TVM up to 0.8 wrote int64 and float64
    without suffix: there the dtype is ``stated`` by a comment, or a float without suffix is a
    ``bare_float``. Raises MalformedNumber with what is wrong.
    """
    if (stated or bare_float) and _UNMARKED.match(text):
        if is_float(stated) or (bare_float and not stated and not _INTEGER.match(text)):
            return read_number(f"{text}f{(stated or bare_float).removeprefix('float')}")
        if stated.startswith("int"):
            return read_number(f"{text}i{stated.removeprefix('int')}")
    found = _INTEGER.match(text)
    if found is not None:
        signs, digits, width = found.groups()
        if len(digits) > 20:
            raise MalformedNumber("the number does not fit 64 bits")
        value = -int(digits) if len(signs) % 2 else int(digits)
        bits = int(width) if width else 32 if "i" in text or -(2**31) <= value < 2**31 else 64
        if not -(2 ** (bits - 1)) <= value < 2 ** (bits - 1):
            raise MalformedNumber(f"the number does not fit {bits} bits")
        return value, f"int{bits}"
    found = _FLOAT.match(text)
    if found is None:
        hint = "; a float ends in f, as in 1.5f" if _UNMARKED.match(text) else ""
        raise MalformedNumber(f"not a number{hint}")
    signs, digits, width = found.groups()
    bits = int(width or 32)
    number = float(digits)
    if digits != "inf" and number >= _TOO_LARGE[bits]:
        raise MalformedNumber(f"the number does not fit a float of {bits} bits")
    return -number if len(signs) % 2 else number, f"float{bits}"


def format_float(value: float, digits: int = 6) -> str:
    """Return ``value`` as C++ streams print it: ``%g`` with ``digits`` significant digits."""
    return f"{value:.{digits}g}"


def format_scalar(value: int | float | bool, dtype: str, exact: bool = False) -> Code:
    """Return the literal of ``value``; floats have the 6 digits of TVM, with ``exact`` as many as
    they need.
    """
    if dtype == "bool":
        return truth(value)
    if is_float(dtype):
        return _literal(_digits(float(value), dtype, exact) + SUFFIXES[dtype])
    return _literal(f"{int(value)}{SUFFIXES.get(dtype, '')}")


def format_double(value: float, exact: bool = False) -> Code:
    """Return an attribute of C++ type ``double``, which TVM writes like a float32.

    With ``exact`` a value that is not a float32 is marked as a float64, since TVM's reader rounds
    what is not.
    """
    if not exact:
        return _literal(format_float(value) + "f")
    with np.errstate(over="ignore"):
        is_float32 = float(np.float32(value)) == value
    return _literal(_digits(value, "float64", True) + ("f" if is_float32 else "f64"))


def _literal(text: str) -> Code:
    return matching(text, _LITERAL, "a number")


def _digits(value: float, dtype: str, exact: bool) -> str:
    if not exact or not math.isfinite(value):
        return format_float(value)
    rounded = np.dtype(dtype).type
    with np.errstate(over="ignore"):
        # Seventeen digits tell any two values apart.
        return next(
            short
            for digits in range(6, 18)
            if rounded(short := format_float(value, digits)) == rounded(value) or digits == 17
        )


_ESCAPED = re.compile(r'\\(?:(["\\trn])|x([0-9A-F]{2}))')
_PLAIN = {'"': b'"', "\\": b"\\", "t": b"\t", "r": b"\r", "n": b"\n"}


def unquote(literal: str) -> str:
    """Return the text of a string literal; what :func:`quoted_for_relay` escaped is undone.

    TVM's own reader keeps escapes as they are, and so changes what its writer wrote; we read what
    was meant.
    """
    body = literal[1:-1]
    if "\\" not in body:
        return body
    raw = bytearray()
    last = 0
    for found in _ESCAPED.finditer(body):
        raw += to_bytes(body[last : found.start()])
        raw += _PLAIN[found[1]] if found[1] else bytes([int(found[2], 16)])
        last = found.end()
    raw += to_bytes(body[last:])
    return to_text(bytes(raw))
