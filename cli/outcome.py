"""What a command says besides its result, and its one JSON document.

    outcome.warn("the batch is not known")     # on standard error, and in the document
    outcome.deliver({"outputs": [...]})        # what the command found

With ``--json`` one document is printed when the command ends, however it ends: what was delivered,
and ``exit_code``, ``errors``, ``warnings`` and ``notes``.
"""

from __future__ import annotations

import json
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from relay2relax.cli.loudness import is_quiet
from relay2relax.cli.streams import styled

if TYPE_CHECKING:
    from relay2relax.core.errors import Diagnostic


@dataclass(slots=True)
class Outcome:
    """What a command has said so far, and whether it is asked for JSON, or for JSON on a line."""

    as_json: bool = False
    on_a_line: bool = False
    warnings: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    found: Mapping[str, object] = field(default_factory=dict)

    def document(self, exit_code: int, errors: Sequence[Mapping[str, object]] = ()) -> dict[str, object]:
        """Return the command's document."""
        return {
            **self.found,
            "exit_code": exit_code,
            "errors": list(errors),
            "warnings": _once(self.warnings, self.found.get("warnings")),
            "notes": _once(self.notes, self.found.get("notes")),
        }


# The command that runs; None where its parts are used without it.
_current: ContextVar[Outcome | None] = ContextVar("_current", default=None)


@contextmanager
def collected(told: Outcome) -> Iterator[None]:
    """Collect in ``told`` what the command says while the block runs, what Python warns of among
    it.
    """

    def say(message: Warning | str, *_: object, **__: object) -> None:
        told.warnings.append(str(message))
        print(f"{styled('warning:', 'yellow', sys.stderr)} {message}", file=sys.stderr)

    token, before = _current.set(told), warnings.showwarning
    warnings.showwarning = say
    try:
        yield
    finally:
        _current.reset(token)
        warnings.showwarning = before


def warn(message: str) -> None:
    """Say what may be wrong, while the command goes on."""
    print(f"{styled('warning:', 'yellow', sys.stderr)} {message}", file=sys.stderr)
    told = _current.get()
    if told is not None:
        told.warnings.append(message)


def note(message: str) -> None:
    """Say what a person should know although nothing is wrong."""
    if not is_quiet():
        print(f"{styled('note:', 'dim', sys.stderr)} {message}", file=sys.stderr)
    told = _current.get()
    if told is not None:
        told.notes.append(message)


def said() -> int:
    """Return how many warnings and notes there were so far."""
    told = _current.get()
    return 0 if told is None else len(told.warnings) + len(told.notes)


def asked_for_json(asked: bool) -> bool:
    """Note whether the command is to print a document; return the same."""
    told = _current.get()
    if told is not None:
        told.as_json = asked
    return asked


def asked_for_lines(asked: bool) -> bool:
    """Note whether the command is to print its document on a line; return the same."""
    told = _current.get()
    if told is not None and asked:
        told.as_json = told.on_a_line = True
    return asked


def deliver(document: Mapping[str, object]) -> None:
    """Keep what the command found, for its JSON document."""
    told = _current.get()
    if told is not None:
        told.found = document


def mistake_as_json(mistake: Diagnostic) -> dict[str, object]:
    """Return a mistake as plain values; lines and columns count from 1."""
    where = mistake.where
    return {
        "code": mistake.kind.code if mistake.kind is not None else None,
        "title": mistake.title,
        "file": where.name if where is not None else mistake.file or None,
        "line": where.line if where is not None else None,
        "column": where.column if where is not None else None,
        "end_line": where.end_line if where is not None else None,
        "end_column": where.end_column if where is not None else None,
        "label": mistake.label,
        "notes": list(mistake.notes),
        "helps": [mistake.help] if mistake.help else [],
    }


def print_document(document: Mapping[str, object], on_a_line: bool = False) -> None:
    """Print ``document`` as JSON, in ASCII, at once."""
    print(json.dumps(document, indent=None if on_a_line else 2), flush=on_a_line)


def _once(said: Sequence[str], delivered: object) -> list[str]:
    """Return what was said and what a document says, each once."""
    own = delivered if isinstance(delivered, (list, tuple)) else ()
    return list(dict.fromkeys([*own, *said]))
