"""Relay text as it was before TVM 0.7: the dialects ``v0.0.1`` to ``v0.0.4``.

What they do otherwise than the dialect of today: a program may be one expression; ``(T)`` groups a
type; calls and projections follow each other freely; there is a minus before an operand; ``;;``
separates statements; and the metadata begin with ``METADATA:``. In the first two versions the end
of a line ends a statement, too, extents may be followed by a comma, type variables are written
``<%t>``, arms of a match ``pattern -> value``, floats need no suffix, and ``#`` begins a remark.

The forms are those of TVM's grammar and printer between January 2019 and August 2020.
"""

from __future__ import annotations

import re

import numpy as np

from relay2relax.core.source import SourceText
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr
from relay2relax.relay_ir.ir.types import TupleType, Type, TypeVar
from relay2relax.relay_ir.text.expr import ExpressionReader
from relay2relax.relay_ir.text.lexer import BLANK, Lexer, metadata_offsets
from relay2relax.relay_ir.text.types import TypeReader, separator, sequence
from relay2relax.tir.extent import Extent

_HEADER = re.compile(rf"{BLANK}v0\.0\.([1-4])\b")
# Signs do not belong to a literal, and a dot belongs to it only if digits follow.
_LITERAL = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?f?")
_INTEGER = re.compile(r"\d+")
_OPERAND_ENDS = frozenset({")", "local", "graph", "global", "number", "^"})


# A remark of the first two versions, or a string that may hold such a mark.
_REMARK = re.compile(r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"|#(?!\[)[^\n]*')


def without_remarks(text: str) -> str:
    """Return ``text`` with the remarks blanked out that the first two versions begin with ``#``,
    as TVM 0.5 printed types; any other text as it is.
    """
    header = _HEADER.match(text)
    if header is None or int(header[1]) > 2:
        return text
    return _REMARK.sub(lambda found: found[0] if found[0][0] == '"' else " " * len(found[0]), text)


def older_reader(source: SourceText) -> ExpressionReader | None:
    """Return the reader of a text whose first line is ``v0.0.1`` to ``v0.0.4``, None for any other
    text.
    """
    header = _HEADER.match(source.text)
    return OlderReader(OlderLexer(source, header.end(), int(header[1]))) if header else None


class OlderLexer(Lexer):
    """The tokens of an older text, told apart as the dialect of today tells them wherever that is
    possible.
    """

    __slots__ = ("_metadata", "_opened", "lines")

    def __init__(self, source: SourceText, start: int, version: int) -> None:
        self.lines = version < 3
        self._metadata = metadata_offsets(source.text)[0]
        self._opened = False
        super().__init__(source, start)
        # The first readers took ``1.5`` for a float32; later ones wrote float64 so, and read no
        # such literal.
        self.release = (0, 6)
        self.bare_float = "float32" if version < 3 else "float64"

    def advance(self) -> None:
        """Go on to the next token."""
        operand = self.start > 0 and self.kind in _OPERAND_ENDS
        previous = self.kind
        super().advance()
        if self.kind == "number":
            self._narrow(operand)
        elif self.kind == ";" and self.text.startswith(";", self.end):
            self.end += 1  # ``;;``
        elif (self.kind == "," and previous == "(") or (self.value == "mut" and previous == "let"):
            self.advance()  # ``zeros(, shape=[1])``, ``let mut %x``
        elif self.kind == "{" and self.previous_end <= self._metadata < self.start:
            self.kind = "metadata"  # after the remark ``/* meta data */``

    def _narrow(self, after_operand: bool) -> None:
        if self.value[0] == "-":
            if after_operand:
                self.kind = "-"
                self.shorten(self.start + 1)
            return
        found = _LITERAL.match(self.text, self.start)
        if found is not None:
            self.shorten(found.end())

    def at_line_start(self) -> bool:
        """Whether the current token is the first of its line, in a version where that means
        something.
        """
        return self.lines and "\n" in self.text[self.previous_end : self.start]

    def expect(self, kind: str, purpose: str = "") -> str:
        """Like the base.

        The end of a line stands for a semicolon, an arrow for the double arrow.
        """
        if kind == ";" and self.kind != ";" and (self.at_line_start() or self.kind == "end"):
            return ""
        if kind == "=>" and self.kind == "->":
            kind = "->"
        return super().expect(kind, purpose)

    def accept(self, kind: str) -> bool:
        """Like the base; the end of a line stands for a comma."""
        return super().accept(kind) or (kind == "," and self.kind not in (")", "]", "}") and self.at_line_start())


class OlderTypes(TypeReader):
    """Types of an older text."""

    def parameters(self) -> tuple[TypeVar, ...]:
        """Read ``[T, U]`` or ``<%T, %U>``."""
        if self.lexer.kind != "<":
            return super().parameters()
        found = sequence(self.lexer, "<", ">", lambda: TypeVar(self.lexer.expect("local", "for a type variable")[1:]))
        for var in found:
            self.bind(var)
        return tuple(found)

    def _compound(self) -> Type:
        if self.lexer.kind != "local":
            return super()._compound()
        found = self.variable(self.lexer.value[1:])
        if found is None:
            self.lexer.fail(f"unknown type variable {self.lexer.value}")
        self.lexer.advance()
        return found

    def _parenthesised(self) -> Type:
        lexer = self.lexer
        start = lexer.start
        lexer.advance()
        fields: list[Type] = []
        grouping = False
        while lexer.more("(", ")", start):
            fields.append(self.read())
            grouping = len(fields) == 1 and lexer.kind == ")"
            separator(lexer, len(fields), "(", ")", start)
        lexer.advance()
        return fields[0] if grouping else TupleType(tuple(fields))

    def _shape(self) -> tuple[Extent, ...]:
        return super()._shape() if self.lexer.kind == "(" else (self.extent(),)


class OlderReader(ExpressionReader):
    """Expressions of an older text."""

    lexer: OlderLexer

    def __init__(self, lexer: OlderLexer) -> None:
        super().__init__(lexer, OlderTypes)
        self._primaries["-"] = self._negative

    def _bound(self, name: str) -> Expr:
        return self._scoped(self._braces) if self.lexer.kind == "{" else super()._bound(name)

    def _operand(self, expr: Expr, start: int) -> Expr:
        lexer = self.lexer
        while True:
            if lexer.kind == "(" and not lexer.at_line_start():
                expr = self._call(expr, start)
            elif lexer.kind == "^":
                expr = self._read_reference(expr, start)
            elif lexer.kind == ".":
                expr = self._projection(expr, start)
            else:
                return expr

    def _projection(self, value: Expr, start: int) -> Expr:
        lexer = self.lexer
        found = _INTEGER.match(lexer.text, lexer.end)
        if found is None:
            return super()._projection(value, start)
        # ``%x.0.1`` is two projections, not one by the number 0.1.
        lexer.advance()
        lexer.shorten(found.end())
        return self._projected(value, start)

    def _negative(self, start: int) -> Expr:
        lexer = self.lexer
        lexer.enter("operands")
        negative = self._operator("negative", start, lexer.end)
        lexer.advance()
        at = lexer.start
        operand = self._operand(self._primary(), at)
        lexer.leave()
        if isinstance(operand, Constant) and operand.data.ndim == 0 and operand.data.dtype != np.bool_:
            return self.located(Constant(np.negative(operand.data)), start)
        return self.located(Call(negative, (operand,), NoAttrs()), start)
