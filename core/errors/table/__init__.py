"""All kinds of mistakes, a file for each area; codes are given by area and in order.

01 reading, 02 types of Relay, 03 operators, 04 TVMScript and what is asked of graphs, 05 Relax and
frontends, 06 tensor programs, 07 graphs, translators and patterns, 08 running and building,
09 files, options and all else.
"""

from functools import lru_cache
from importlib import import_module

from relay2relax.core.errors.kind import ErrorKind

AREAS = (
    "reading",
    "types",
    "operators",
    "script",
    "relax",
    "frontends",
    "tensor_programs",
    "graphs",
    "translating",
    "patterns",
    "running",
    "limits",
    "files",
    "general",
)


@lru_cache(maxsize=None)
def all_kinds() -> dict[str, ErrorKind]:
    """Return every kind by its code, in the order of codes."""
    areas = [import_module(f"{__name__}.{area}") for area in AREAS]
    found = [value for area in areas for value in vars(area).values() if isinstance(value, ErrorKind)]
    return {kind.code: kind for kind in sorted(found, key=lambda kind: kind.code)}


def find_kind(code: str) -> ErrorKind | None:
    """Return the kind with ``code``; the prefix may be left out, and letters be small."""
    digits = code.upper().removeprefix("R2R-").zfill(4)
    return all_kinds().get(f"R2R-{digits}")
