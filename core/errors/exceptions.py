from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import ClassVar

from typing_extensions import Self

from relay2relax.core.errors.kind import ErrorKind
from relay2relax.core.errors.nearest import nearest_file
from relay2relax.core.errors.table import files, general, limits, reading, running, translating
from relay2relax.core.source import SourceRange, SourceText, visible

# What a message shows of a line, and how many mistakes; ``diagnostics`` has all of it.
_LONGEST_LINE = 600
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One mistake: a title, where it is, what is said under the carets, and what may help.

    ``kind`` gives it its code; where there is none yet, the exception that carries it says the
    kind. ``file`` is the file that it is about where it has no place in a text.
    """

    title: str
    where: SourceRange | None = None
    label: str = ""
    notes: tuple[str, ...] = ()
    help: str = ""
    kind: ErrorKind | None = None
    file: str = ""

    def render(self, source: SourceText | None = None) -> str:
        """Return the mistake as text; with ``source`` the line and carets are shown.

        What a terminal would act upon is written by number, whatever a file says.
        """
        head = f"error: {self.title}" if self.kind is None else f"error[{self.kind.code}]: {self.title}"
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
        return visible("\n".join(map(_cut, lines)), lines=True)


def _cut(text: str) -> str:
    """Return ``text`` with every line as long as a screen can show."""
    if len(text) <= _LONGEST_LINE:
        return text
    return "\n".join(
        line if len(line) <= _LONGEST_LINE else f"{line[:_LONGEST_LINE]}… ({len(line)} characters)"
        for line in text.split("\n")
    )


def mistake(kind: ErrorKind, where: SourceRange | None = None, label: str = "", **fields: object) -> Diagnostic:
    """Return a mistake of ``kind``, its title made from the kind's template.

    Raises KeyError for a field of the template that is not given.
    """
    return Diagnostic(kind.message(**fields), where, label, kind.notes, kind.help, kind)


class Relay2RelaxError(Exception):
    """Base of all errors that the product raises on purpose.

    ``diagnostics`` lists every mistake that was found, in source order; ``source`` is the text they
    point into. A mistake that names no kind is of ``kind``, or of the kind of the class.
    """

    kind: ClassVar[ErrorKind] = general.REFUSED

    def __init__(
        self,
        problem: str | Diagnostic | Iterable[Diagnostic],
        source: SourceText | None = None,
        *,
        kind: ErrorKind | None = None,
    ) -> None:
        if isinstance(problem, str):
            problem = Diagnostic(problem)
        found = (problem,) if isinstance(problem, Diagnostic) else tuple(problem)
        own = kind or type(self).kind
        self.diagnostics: tuple[Diagnostic, ...] = tuple(
            one if one.kind is not None else replace(one, kind=own) for one in found
        )
        self.source = source
        shown = [one.render(source) for one in self.diagnostics[:_MOST_SHOWN]]
        if len(self.diagnostics) > _MOST_SHOWN:
            shown.append(f"… and {len(self.diagnostics) - _MOST_SHOWN} more mistakes")
        super().__init__("\n\n".join(shown))

    @property
    def first_kind(self) -> ErrorKind:
        """The kind of the first mistake."""
        kind = self.diagnostics[0].kind if self.diagnostics else None
        return kind or type(self).kind

    @property
    def code(self) -> str:
        """The code of the first mistake."""
        return self.first_kind.code

    def located(self, where: SourceRange | None, source: SourceText | None, *notes: str) -> Self:
        """Return the error with a place, and ``notes``, for mistakes that have neither."""
        found = [
            one if one.where is not None or one.notes else replace(one, where=where, notes=notes)
            for one in self.diagnostics
        ]
        return type(self)(found, source)


class ParseError(Relay2RelaxError):
    """A text, JSON document or binary file does not have the form its format demands."""

    kind = reading.MALFORMED


def placed(error: Relay2RelaxError, place: str, kind: ErrorKind = reading.MALFORMED) -> ParseError:
    """Return the first mistake of ``error`` as one of what is read, with its help, at ``place``."""
    first = error.diagnostics[0]
    return ParseError(Diagnostic(f"{place}: {first.title}", help=first.help, kind=kind))


class FileError(Relay2RelaxError):
    """A file cannot be read or written."""

    kind = files.FILE

    @classmethod
    def unread(cls, path: str | os.PathLike[str], error: Exception) -> Self:
        """Return the mistake of a file that the system does not let us read."""
        name = os.fspath(path)
        problem = getattr(error, "strerror", None) or error
        found = mistake(files.FILE, action="read", file=repr(name), problem=problem)
        if isinstance(error, FileNotFoundError):
            found = replace(found, help=nearest_file(path) or found.help)
        return cls(replace(found, file=name))


@contextmanager
def about(file: str) -> Iterator[None]:
    """Let mistakes of the block that have no place say that they are about ``file``."""
    try:
        yield
    except Relay2RelaxError as error:
        error.diagnostics = tuple(
            one if one.where is not None or one.file else replace(one, file=file) for one in error.diagnostics
        )
        raise


class UnsupportedError(Relay2RelaxError):
    """The input is legal, but the chosen target or stage cannot express it."""

    kind = translating.UNSUPPORTED


class ExecutionError(Relay2RelaxError):
    """A program could not be run: wrong arguments, a missing function, a failing check."""

    kind = running.EXECUTION


class OutOfMemoryError(ExecutionError):
    """The system has not as much memory as a program needs."""

    kind = limits.NO_MEMORY


class LimitError(Relay2RelaxError):
    """A limit of :class:`relay2relax.Limits` is reached."""

    kind = limits.STEPS


class CompilerError(Relay2RelaxError):
    """The C compiler is missing or refused generated code."""

    kind = running.COMPILER
