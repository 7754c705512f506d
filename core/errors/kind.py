"""Kinds of mistakes: what an error code stands for.

    kind = find_kind("R2R-0103")
    raise ParseError(mistake(kind, name="%y"))      # the message is made from the kind's template
    raise ParseError("…in words of its own", kind=kind)

A code is never given to another kind. ``table/`` holds all kinds, a file for each area;
``relay2relax explain CODE`` shows one, the pages of errors in the documentation show all of them.
"""

from __future__ import annotations

import textwrap
from dataclasses import dataclass
from typing import Literal

from relay2relax.core.errors.exit_code import ExitCode

Language = Literal["relay", "tvmscript", "python"]


@dataclass(frozen=True, slots=True)
class ErrorKind:
    """A kind of mistake.

    ``code``  what the error is known by: ``R2R-`` and four digits.
    ``title``  the mistake in a few words.
    ``why``  what is expected, and why; paragraphs with an empty line between.
    ``example``  a program in ``language`` that makes the mistake; ``mend`` is the same without it.
        Relay is parsed and typed, TVMScript is parsed and checked, Python is run.
    ``template``  the message that most places give, with names of fields in braces; "" where every
        place has a rule, and words, of its own.
    ``notes``, ``help``  what every message of the kind says besides.
    ``exit``  what a command ends with that meets the mistake: where it is not said, with that of
        wrong input.
    """

    code: str
    title: str
    why: str
    example: str
    mend: str
    language: Language = "python"
    template: str = ""
    notes: tuple[str, ...] = ()
    help: str = ""
    exit: ExitCode = ExitCode.INPUT

    def message(self, **fields: object) -> str:
        """Return the template with the fields filled in; raises KeyError for one not given."""
        return self.template.format(**fields)

    def page(self) -> str:
        """Return what ``relay2relax explain`` shows, as Markdown."""
        tongue = "python" if self.language == "tvmscript" else self.language
        mistaken, right = (_block(text, tongue) for text in (self.example, self.mend))
        why = "\n\n".join(textwrap.fill(" ".join(one.split()), 100) for one in self.why.split("\n\n"))
        advice = [f"Help: {self.help}"] if self.help else []
        advice.append(f"Exit code {self.exit:d}: {self.exit.meaning}.")
        parts = [f"# {self.code}: {self.title}", why, *advice, "This is refused:", mistaken, "This is right:", right]
        return "\n\n".join(parts) + "\n"


def _block(text: str, language: str) -> str:
    return f"```{language}\n{textwrap.dedent(text).strip()}\n```"
