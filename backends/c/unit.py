"""One C file as it is given to the compiler."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Unit:
    """The text of a C file, and whether all it holds runs once, or is not worth more of a
    compiler's time.
    """

    text: str
    runs_once: bool = False
