"""Source text, places in it, and the spans that Relay nodes carry.

Two things are kept apart. A :class:`SourceRange` says where in a text we read something; it serves
error messages. A :class:`Span` is part of a Relay program: importers put the name of the original
operator there, and TVM prints it as ``span=name:line:column``.
"""

from __future__ import annotations

import json
import re
from bisect import bisect_right
from dataclasses import dataclass


def to_bytes(text: str) -> bytes:
    """Return ``text`` as UTF-8; bytes that :func:`to_text` took as they were come back."""
    try:
        return text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:  # half of a pair, which no file holds but a Python string may
        return text.encode("utf-8", "surrogatepass")


def to_text(raw: bytes) -> str:
    """Return the text that UTF-8 ``raw`` holds; bytes that are none are kept as they are."""
    return raw.decode("utf-8", "surrogateescape")


# What is wrong with a string that UTF-8 does not hold.
HALF_OF_PAIR = "holds half of a pair of surrogates"
# What a terminal or an editor acts upon instead of showing it: control characters, marks that turn
# the direction of text, characters without width, separators of lines, halves of pairs.
_UNSHOWN_BUT_CONTROLS = (
    "\\x7f-\\x9f\\xad\\u061c\\u115f\\u1160\\u180e\\u200b-\\u200f\\u2028-\\u202e\\u2060-\\u206f"
    "\\u3164\\ud800-\\udfff\\ufeff\\uffa0\\ufff0-\\ufffb\\ufffe\\uffff\\U000e0000-\\U000e0fff"
)
UNSHOWN = f"\\x00-\\x1f{_UNSHOWN_BUT_CONTROLS}"
_UNSHOWN = re.compile(f"[{UNSHOWN}]")
_UNSHOWN_BUT_LINES = re.compile(f"[\\x00-\\x08\\x0b-\\x1f{_UNSHOWN_BUT_CONTROLS}]")


def visible(text: str, lines: bool = False) -> str:
    """Return ``text`` with what a terminal would act upon as ``\\x1b`` or ``\\u202e``.

    With ``lines`` it is a text of several lines, whose newlines and tabs stay.
    """
    pattern = _UNSHOWN_BUT_LINES if lines else _UNSHOWN
    return text if text.isprintable() else pattern.sub(lambda found: escaped(found[0]), text)


def visible_json(text: str) -> str:
    """Return a JSON document that says the same, what a terminal acts upon as ``\\u202e``."""
    return _UNSHOWN_BUT_LINES.sub(lambda found: json.dumps(found[0])[1:-1], text)


def escaped(char: str) -> str:
    """Return one character as Python and C++ write it by its number."""
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x80 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a node came from, as TVM's ``Span`` records it (0 where unknown)."""

    source_name: str
    line: int = 0
    column: int = 0
    end_line: int = 0
    end_column: int = 0

    def __str__(self) -> str:
        return f"{self.source_name}:{self.line}:{self.column}"


@dataclass(frozen=True, slots=True)
class SequentialSpan(Span):
    """Several places that became one node; it reads as the first of them."""

    spans: tuple[Span, ...] = ()

    @staticmethod
    def of(spans: tuple[Span, ...]) -> SequentialSpan:
        """Return the span that stands for ``spans``."""
        first = spans[0] if spans else Span("")
        return SequentialSpan(first.source_name, first.line, first.column, first.end_line, first.end_column, spans)


@dataclass(frozen=True, slots=True)
class SourceRange:
    """A range in a named text; lines and columns count from 1, ``end_column`` is exclusive."""

    name: str
    line: int
    column: int
    end_line: int
    end_column: int

    def __str__(self) -> str:
        return f"{self.name}:{self.line}:{self.column}"

    def to(self, other: SourceRange) -> SourceRange:
        """Return the range from the start of this one to the end of ``other``."""
        return SourceRange(self.name, self.line, self.column, other.end_line, other.end_column)


class SourceText:
    """A named text that can show excerpts of itself."""

    __slots__ = ("_lines", "_starts", "name", "text")

    def __init__(self, text: str, name: str = "<text>") -> None:
        self.text = text
        self.name = name
        self._lines: list[str] | None = None
        self._starts: list[int] | None = None

    def range(self, start: int, end: int) -> SourceRange:
        """Return the range from offset ``start`` to offset ``end`` (exclusive) of the text."""
        if self._starts is None:
            self._starts = [0, *(found.end() for found in re.finditer("\n", self.text))]
        line, end_line = bisect_right(self._starts, start), bisect_right(self._starts, end)
        first, last = start - self._starts[line - 1] + 1, end - self._starts[end_line - 1] + 1
        return SourceRange(self.name, line, first, end_line, last)

    def line(self, number: int) -> str:
        """Return line ``number`` (from 1) without its newline; empty past the end."""
        if self._lines is None:
            self._lines = self.text.split("\n")
        return self._lines[number - 1] if 0 < number <= len(self._lines) else ""

    def excerpt(self, where: SourceRange, label: str = "", width: int = 160) -> list[str]:
        """Return the lines that show ``where`` with carets under it.

        Long lines are cut to ``width`` columns.
        """
        first = max(1, where.line - 1)
        gutter = len(str(where.line))
        rows = [" " * gutter + " |"]
        # A long line is shown as a window around the place, so that the carets stay on the screen.
        start = max(0, where.column - 1 - width // 2) if where.column > width else 0
        for number in range(first, where.line + 1):
            # One character for one, so that the carets stand under their place.
            text = _UNSHOWN.sub("\ufffd", self.line(number).replace("\t", " ").rstrip("\r"))
            rows.append(f"{number:>{gutter}} | {text[start : start + width]}".rstrip())
        length = where.end_column - where.column if where.end_line == where.line else 1
        length = max(1, min(length, width))
        carets = " " * (where.column - 1 - start) + "^" * length
        rows.append(" " * gutter + " | " + carets + (f" {label}" if label else ""))
        return rows
