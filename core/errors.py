"""The exceptions of the product, and the one form in which they reach a reader.

Every mistake is a :class:`Diagnostic`; an exception carries one or several of them and renders them
with the source line, carets under the place, what was expected, and help where there is any.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from relay2relax.core.source import SourceRange, SourceText


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: a title, where it is, what is said under the carets, and what may help."""

    title: str
    where: SourceRange | None = None
    label: str = ""
    notes: tuple[str, ...] = ()
    help: str = ""

    def render(self, source: SourceText | None = None) -> str:
        """Return the mistake as text; with ``source`` the line and carets are shown."""
        head = f"error: {self.title}"
        if self.where is not None:
            head += f" ({self.where})"
        lines = [head]
        if self.where is not None and source is not None:
            lines += source.excerpt(self.where, self.label)
        elif self.label:
            lines.append(f"  {self.label}")
        lines += [f"note: {note}" for note in self.notes]
        if self.help:
            lines += ["", f"help: {self.help}"]
        return "\n".join(lines)


class Relay2RelaxError(Exception):
    """Base of all errors that the product raises on purpose.

    ``diagnostics`` lists every mistake that was found, in source order; ``source`` is the text they
    point into.
    """

    def __init__(self, problem: str | Diagnostic | Iterable[Diagnostic], source: SourceText | None = None) -> None:
        if isinstance(problem, str):
            problem = Diagnostic(problem)
        found = (problem,) if isinstance(problem, Diagnostic) else tuple(problem)
        self.diagnostics: tuple[Diagnostic, ...] = found
        self.source = source
        super().__init__("\n\n".join(one.render(source) for one in found))


class ParseError(Relay2RelaxError):
    """A text, JSON document or binary file does not have the form its format demands."""


class FileError(Relay2RelaxError):
    """A file cannot be read or written."""


class UnsupportedError(Relay2RelaxError):
    """The input is legal, but the chosen target or stage cannot express it."""


class ExecutionError(Relay2RelaxError):
    """A program could not be run: wrong arguments, a missing function, a failing check."""


class CompilerError(Relay2RelaxError):
    """The C compiler is missing or refused generated code."""
