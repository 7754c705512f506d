"""How much a command says beside results and errors."""

from __future__ import annotations

from contextvars import ContextVar
from enum import Enum


class Loudness(Enum):
    """Results, warnings and errors alone; what is worth knowing as well; or also every stage."""

    QUIET = "quiet"
    NORMAL = "normal"
    VERBOSE = "verbose"


loudness: ContextVar[Loudness] = ContextVar("loudness", default=Loudness.NORMAL)


def is_quiet() -> bool:
    """Whether results, warnings and errors are all that is asked for."""
    return loudness.get() is Loudness.QUIET
