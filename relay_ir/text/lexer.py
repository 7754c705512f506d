"""Relay's text as tokens.

One pattern finds the next token and the blanks and comments before it. Names are read more widely
than TVM's own reader does, because importers make names such as ``d1.3.weight``,
``aten::linear_0.bias`` or ``input:0`` which TVM prints and cannot read back; where that makes a
text ambiguous (``%x.0``), the parser decides by the names in reach.
"""

from __future__ import annotations

import re
from typing import NoReturn

from relay2relax.core.errors import Diagnostic, ErrorKind, ParseError
from relay2relax.core.errors.table import reading
from relay2relax.core.limits import active
from relay2relax.core.source import SequentialSpan, SourceRange, SourceText, Span

# A comment without a comment inside. After a ``*`` that does not close it TVM skips one character,
# and so do we.
_COMMENT = r"/\*[^*/]*(?:(?:\*(?!/)[\s\S]|/(?!\*))[^*/]*)*\*/"
# A comment reaches to the end of its line: were it to end before, a row of slashes could be read in
# 2^n ways.
BLANK = rf"(?:[ \t\n]|\r\n|//[^\n]*(?=\n|\Z)|{_COMMENT})*"
WORD = r"[A-Za-z_][A-Za-z0-9_/]*"
# The characters of an importer's name go on past a dot, colon or dash only where another part
# follows.
NAME = r"(?:[^\W\d]|/(?![/*]))[\w/]*(?:(?:[.\-#$~|^&'](?=[\w/])|::(?=\w)|:(?=\d))[\w/]*)*"

_TOKEN = re.compile(
    rf"""{BLANK}(?:
    (?P<mark>[()\[\]{{}},;.+*/?^]|=[=>]?|[<>:]=?|!=|->|-(?!-*(?:\d|(?:inf|nan)f)))
  | (?P<graph>%\d+)
  | (?P<local>%{NAME})
  | (?P<number>-*(?:\d[\d.eE+\-]*(?:[fi][\d.eE+\-]*)?|(?:inf|nan)f(?:16|32|64)?(?!\w)))
  | (?P<meta>meta\[[^\]\n]*\]\[\d{{1,9}}\])
  | (?P<metadata>\#\[\s*metadata\s*\]|METADATA:)
  | (?P<name>match\?|{WORD}(?:\.{WORD})*)
  | (?P<global>@{NAME})
  | (?P<string>"[^"\\]*(?:\\[\s\S][^"\\]*)*")
  | (?P<version>\#\[\s*version\s*=\s*"[^"\n]*"\s*\])
  | (?P<end>\Z)
  | (?P<bad>[\s\S])
    )""",
    re.VERBOSE,
).match  # fmt: skip

# The section as TVM has it since 0.7, as 0.6 had it, and as versions before that.
_METADATA = re.compile(r"^(?:#\[\s*metadata\s*\]|METADATA:|/\* meta data \*/)", re.MULTILINE)
_PLACE = re.compile(r"(.*):(-?\d{1,9}):(-?\d{1,9})", re.DOTALL)
_IN_COMMENT = re.compile(r"\*/|/\*|\*[\s\S]|\Z")
_STRICT = re.compile(WORD)

# Levels of nesting that are read; each takes up to six calls of Python's thousand.
MAX_DEPTH = 100

KEYWORDS = {
    word: word
    for word in (
        "let", "fn", "def", "if", "else", "type", "match", "match?", "extern", "free_var", "ref", "ref_read",
        "ref_write", "True", "False", "_",
    )
}  # fmt: skip

# What ends the innermost bracket that is open; the text may end before that.
_CLOSING = (")", "]", "}")
_ENDING = frozenset((*_CLOSING, "end"))

_DESCRIPTIONS = {
    "graph": "a graph variable",
    "local": "a local variable",
    "global": "a global variable",
    "number": "a number",
    "name": "a name",
    "string": "a string",
    "meta": "a reference into the metadata",
    "version": "a version line",
    "metadata": "the metadata section",
    "end": "the end of the text",
}


def describe(kind: str) -> str:
    """Return how a kind of token is called in messages."""
    return _DESCRIPTIONS.get(kind, f"`{kind}`")


class Lexer:
    """A text and the current token in it.

    ``kind`` is the spelling of a mark or keyword, or else ``graph``, ``local``, ``global``,
    ``number``, ``name``, ``string``, ``meta``, ``version``, ``metadata`` or ``end``; ``value`` is
    the token's text; ``previous_end`` is where the token before it ended.
    """

    __slots__ = (
        "bare_float", "blocks", "budget", "depth", "end", "kind", "previous_end", "problems", "release", "source",
        "start", "text", "value",
    )  # fmt: skip

    def __init__(self, source: SourceText, start: int = 0) -> None:
        self.source = source
        self.text = source.text
        self.problems: list[Diagnostic] = []
        self.end = self.previous_end = self.start = start
        self.release: tuple[int, int] | None = None  # of TVM, where the text shows it
        self.bare_float = ""  # the dtype of a float without suffix, where the dialect has such
        self.kind = self.value = ""
        self.depth = 0
        self.blocks: list[int] = []  # where the blocks begin that are open
        self.budget = active()
        self.advance()

    def advance(self) -> None:
        """Go on to the next token."""
        self.previous_end = self.end
        if self.budget is not None:
            self.budget.check()
        while True:
            found = _TOKEN(self.text, self.end)
            assert found is not None  # the last alternative takes anything
            kind = found.lastgroup
            assert kind is not None
            self.value = value = found[kind]
            self.end = found.end()
            self.start = self.end - len(value)
            if kind == "mark":
                self.kind = value
                if value == "/" and self.text.startswith("*", self.end):
                    self._skip_comment()
                    continue
            elif kind == "name":
                self.kind = KEYWORDS.get(value, "name")
            else:
                self.kind = kind
                if kind == "bad":
                    self._bad()
            return

    def peek(self) -> str:
        """Return the kind of the token after the current one (``name`` for keywords)."""
        found = _TOKEN(self.text, self.end)
        assert found is not None
        return found["mark"] or found.lastgroup or "end"

    def shorten(self, end: int) -> None:
        """Let the current token end at ``end``; the rest is read as tokens of its own."""
        self.end = end
        self.value = self.text[self.start : end]

    def strict_end(self) -> int:
        """Return where the current variable would end for TVM's reader."""
        found = _STRICT.match(self.text, self.start + 1)
        return found.end() if found is not None else self.start + 1

    def _skip_comment(self) -> None:
        """Skip a comment that holds comments, whose first character is the current token."""
        opened, at, depth = self.start, self.end + 1, 1
        while depth:
            if self.budget is not None:
                self.budget.check()
            found = _IN_COMMENT.search(self.text, at)
            assert found is not None
            if not found[0]:
                self.fail("the comment is not closed", opened, opened + 2, "opened here")
            depth += {"*/": -1, "/*": 1}.get(found[0], 0)
            at = found.end()
        self.end = at

    def _bad(self) -> NoReturn:
        if self.value == '"':
            self.fail("the string is not closed", label="opened here")
        if self.value == "#":
            self.fail(
                "unsupported attribute",
                label='expected `#[version = "0.0.5"]` or `#[metadata]`',
            )
        if self.value in "%@":
            self.fail(f"a name must follow `{self.value}`")
        self.fail(f"unknown character {self.value!r}")

    # --- places and mistakes ---

    def where(self, start: int | None = None, end: int | None = None) -> SourceRange:
        """Return the range between two offsets, that of the current token by default."""
        first = self.start if start is None else start
        last = self.end if end is None else end
        return self.source.range(first, max(first, last))

    def report(
        self,
        title: str,
        start: int | None = None,
        end: int | None = None,
        label: str = "",
        help: str = "",
        kind: ErrorKind = reading.RELAY_SYNTAX,
    ) -> None:
        """Note a mistake and go on."""
        self.problems.append(Diagnostic(title, self.where(start, end), label, help=help, kind=kind))
        if len(self.problems) >= 20:
            raise ParseError(self.problems, self.source)

    def fail(
        self,
        title: str,
        start: int | None = None,
        end: int | None = None,
        label: str = "",
        help: str = "",
        kind: ErrorKind = reading.RELAY_SYNTAX,
    ) -> NoReturn:
        """Raise ParseError with this mistake and those noted before."""
        problem = Diagnostic(title, self.where(start, end), label, help=help, kind=kind)
        raise ParseError([*self.problems, problem], self.source)

    def unexpected(self, wanted: str, help: str = "") -> NoReturn:
        """Raise ParseError: the current token is not what must stand here."""
        found = describe(self.kind).removeprefix("a ").removeprefix("the ")
        if self.kind in ("name", "number", "local", "global", "graph"):
            found += f" `{self.value}`" if len(self.value) < 40 else ""
        if self.kind == "end" and self.blocks:
            self._ends_inside(self.blocks[-1], help or f"expected {wanted}, and `}}`")
        title = "the text ends too early" if self.kind == "end" else f"unexpected {found}"
        self.fail(title, label=f"expected {wanted}", help=help)

    def _ends_inside(self, start: int, help: str = "") -> NoReturn:
        """Raise ParseError: the text ends inside the block that begins at offset ``start``."""
        line = self.where(start, start + 1).line
        self.fail(f"the text ends inside a block, which line {line} opens", start, start + 1, "opened here", help)

    def unclosed(self, opening: str, start: int, wanted: str) -> NoReturn:
        """Raise ParseError: ``wanted`` must stand here, in the bracket that was opened at offset
        ``start``.

        Where the text ends here, or another bracket, it is the open one that is shown.
        """
        if self.kind == "end" and opening == "{":
            self._ends_inside(start)
        if self.kind == "end":
            self.fail(f"the text ends too early: `{opening}` is not closed", start, start + 1, "opened here")
        if self.kind in _CLOSING:
            self.fail(f"unexpected `{self.kind}`: `{opening}` is not closed", start, start + 1, "opened here")
        self.unexpected(wanted)

    def close(self, opening: str, closing: str, start: int, wanted: str) -> None:
        """Go on after the bracket that closes the one at offset ``start``; raises ParseError where
        it does not stand here.
        """
        if self.kind != closing:
            self.unclosed(opening, start, wanted)
        self.advance()

    def more(self, opening: str, closing: str, start: int) -> bool:
        """Whether a list that was opened at offset ``start`` goes on.

        Raises ParseError where the text ends, or another bracket, before the list is closed.
        """
        if self.kind == closing:
            return False
        if self.kind in _ENDING:
            self.unclosed(opening, start, f"`{closing}`")
        return True

    def enter(self, what: str, help: str = "") -> None:
        """Count one more level of nesting; raises ParseError where there are too many."""
        self.depth += 1
        if self.depth > MAX_DEPTH:
            self.fail(reading.NESTING.message(what=what, most=MAX_DEPTH), help=help, kind=reading.NESTING)

    def leave(self) -> None:
        """Count one level of nesting less."""
        self.depth -= 1

    def expect(self, kind: str, purpose: str = "") -> str:
        """Return the text of the current token, which must be of ``kind``, and go on."""
        if self.kind != kind:
            self.unexpected(f"{describe(kind)} {purpose}".rstrip())
        value = self.value
        self.advance()
        return value

    def accept(self, kind: str) -> bool:
        """Go on if the current token is of ``kind``; return whether it was."""
        if self.kind != kind:
            return False
        self.advance()
        return True

    # --- comments that carry something ---

    def span(self) -> Span | None:
        """Return the span that a comment before the current token states, e.g. ``/* ty=…
        span=conv1:0:0 */``.
        """
        if self.start - self.previous_end < 9:
            return None
        begin = self.text.find(" span=", self.previous_end, self.start)
        if begin < 0:
            return None
        shown = self.text[begin + 6 : self.text.find(" */", begin)]
        places = [_PLACE.fullmatch(part) for part in shown.removesuffix(" ]").split(", span=")]
        spans = [Span(place[1], int(place[2]), int(place[3])) for place in places if place]
        if len(spans) != len(places):
            return None  # a remark of somebody else's
        return spans[0] if len(spans) == 1 else SequentialSpan.of(tuple(spans))


def metadata_offsets(text: str) -> tuple[int, int]:
    """Return from where to where the line ``#[metadata]`` stands, the end of the text where there
    is none.
    """
    found = _METADATA.search(text)
    return found.span() if found else (len(text), len(text))
