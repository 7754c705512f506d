"""What can be kept of a text that breaks off, as a log does that was cut.

Functions and type definitions before the break are whole. Of the function that breaks off, or of
the expression, the bindings are kept that end before the break; its result is what they leave
unused, in a tuple where that is more than one. What stood in the metadata section is left out where
the section breaks off. Nothing is put in the place of what is lost.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.core.amounts import counted
from relay2relax.core.errors import ParseError
from relay2relax.core.source import SourceText
from relay2relax.relay_ir.text.lexer import Lexer, metadata_offsets

_HELP = "give --recover, or recover=True in Python, to go on with what was read"
# What begins a definition or an expression; another text is not Relay that breaks off.
_BEGINNINGS = frozenset({"def", "type", "extern", "fn", "free_var", "let", "graph"})
_OPENING, _CLOSING = frozenset("([{"), frozenset(")]}")
_NO_METADATA = "the metadata section breaks off: constants are parameters, of the types that comments state"
# A line that was to be `#[metadata]`.
_HEADING = re.compile(r"\n#(?:\[[a-z]*)?\Z")
_STRING = re.compile(r'"[^"\\]*(?:\\[\s\S][^"\\]*)*"')


@dataclass(frozen=True, slots=True)
class Remains:
    """What is left of a text that breaks off.

    ``text``  what is kept, with a result and a bracket where a function breaks off. Places are
        those of the whole text.
    ``said``  what was read and what is lost, as a sentence.
    """

    text: str
    said: str

    def noted(self, problem: ParseError, source: SourceText) -> ParseError:
        """Return ``problem`` with what was read, and with how to keep it."""
        *others, last = problem.diagnostics
        help = f"{last.help}; {_HELP}" if last.help else _HELP
        return ParseError([*others, replace(last, notes=(*last.notes, self.said), help=help)], source)


def remains(lexer: Lexer, begun: int, functions: Sequence[str]) -> Remains | None:
    """Return what is left of a text whose reader gave up at the current token of ``lexer``, None
    where it does not break off, or where nothing is left.

    ``begun`` is where the definition begins that cannot be read, ``functions`` are those before it.
    """
    text = lexer.text
    start, end = metadata_offsets(text)
    heading = _HEADING.search(text)
    if heading is not None or (start < end and _is_cut(text[end:])):
        return Remains(text[: heading.start() if heading else start], _NO_METADATA)
    first = next((one.kind for one in _tokens(lexer, begun)), "")
    rest = text[begun:].rstrip()
    begins = first in _BEGINNINGS or any(word.startswith(rest) for word in ("def", "type", "extern"))
    if start < end or not rest or not begins or not _breaks_off(lexer):
        return None
    last = len(text.rstrip())
    said = f"the text breaks off in line {lexer.source.range(last, last).line}"
    if functions:
        named = f"{', '.join(f'@{name}' for name in functions[:8])}{', …' if functions[8:] else ''}"
        said += f"; read whole: {named}"
    kept = _kept(lexer, begun, first)
    if kept is None:
        return Remains(text[:begun], f"{said}; the rest is lost") if functions else None
    unused = f"a tuple of the {len(kept.unused)} values that nothing uses" if kept.unused[1:] else kept.result
    said += f"; read of {kept.name}: {counted(kept.count, 'binding')}, its result is {unused}"
    return Remains(f"{kept.text}\n{kept.result}{kept.closing}\n", said)


@dataclass(frozen=True, slots=True)
class _Kept:
    """Of a definition that breaks off what is kept: its text, with how many bindings, and what
    these leave unused.
    """

    name: str
    text: str
    closing: str
    count: int
    unused: tuple[str, ...]

    @property
    def result(self) -> str:
        return self.unused[0] if len(self.unused) == 1 else f"({', '.join(self.unused)})"


def _tokens(lexer: Lexer, start: int, end: int | None = None) -> Iterator[Lexer]:
    """Yield one lexer at each token from offset ``start`` on, up to ``end``, the end of the text,
    or what is no token.
    """
    try:
        found = Lexer(lexer.source, start)
        while found.kind != "end" and (end is None or found.start < end):
            yield found
            found.advance()
    except ParseError:
        return


def _breaks_off(lexer: Lexer) -> bool:
    """Whether what cannot be read stands in the last line, and more is opened than closed there."""
    if "\n" in lexer.text.rstrip()[lexer.start :]:
        return False
    rest = [one.kind for one in _tokens(lexer, lexer.start)]
    closed = rest.count("}")
    return closed == 0 or len(lexer.blocks) + rest.count("{") > closed


def _kept(lexer: Lexer, begun: int, first: str) -> _Kept | None:
    """Return what is kept of the definition or expression that begins at offset ``begun``, None
    where none of its bindings is whole.
    """
    text = lexer.text
    if first not in ("def", "fn"):
        found = _bindings(lexer, begun) if first in ("free_var", "let", "graph") else None
        return found and _Kept("the expression", text[: found[0]], "", *found[1:])
    if not lexer.blocks:
        return None
    brace = lexer.blocks[0]
    found = _bindings(lexer, brace + 1)
    if found is None:
        return None
    name, typed, depth = "the function", brace, 0
    for one in _tokens(lexer, begun, brace):
        depth += (one.kind in _OPENING) - (one.kind in _CLOSING)
        if one.kind == "global":
            name = one.value
        if one.kind == "->" and not depth:
            typed = min(typed, one.start)
    # The type of the result is that of what is lost.
    return _Kept(name, text[:typed] + " " * (brace - typed) + text[brace : found[0]], "\n}", *found[1:])


def _bindings(lexer: Lexer, start: int) -> tuple[int, int, tuple[str, ...]] | None:
    """Return where the last whole binding ends of the block from offset ``start`` on, how many
    there are, and what they leave unused; None where there is none.
    """
    bound: dict[str, None] = {}
    used: set[str] = set()
    statement: list[tuple[str, str]] = []
    read: list[str] = []  # since the last binding
    depth = count = end = 0
    for one in _tokens(lexer, start):
        depth += (one.kind in _OPENING) - (one.kind in _CLOSING)
        if one.kind != ";" or depth:
            statement.append((one.kind, one.value))
            continue
        name, value = _binding(statement)
        read += (shown for kind, shown in value if kind in ("graph", "local"))
        statement = []
        if name:
            used.update(part for shown in read for part in _names(shown, bound))
            used.discard(name)
            bound.pop(name, None)
            bound[name] = None
            read, count, end = [], count + 1, one.end
    return (end, count, tuple(name for name in bound if name not in used)) if count else None


def _binding(statement: list[tuple[str, str]]) -> tuple[str, list[tuple[str, str]]]:
    """Return the name that a statement binds, nothing where it binds none, and the tokens of its
    value.
    """
    match statement:
        case [("graph", name), ("=", _), *value]:
            return name, value
        case [("let", _), ("local", name), *value]:
            return name, value
        case [("free_var", _), *_]:
            return "", []
    return "", statement


def _names(shown: str, bound: Mapping[str, None]) -> Iterator[str]:
    """Yield the names that a variable may mean: `%x.0` is a field of `%x` where no `%x.0` is
    bound.
    """
    yield shown
    while shown not in bound and "." in shown:
        shown = shown.rpartition(".")[0]
        yield shown


def _is_cut(document: str) -> bool:
    """Whether a JSON document ends before all that it opens is closed."""
    rest = _STRING.sub("", document)
    return not rest.strip() or '"' in rest or sum(map(rest.count, "[{")) > sum(map(rest.count, "]}"))
