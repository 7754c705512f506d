"""Sizes and times as people write them, ``4GB``, ``512MiB``, ``60s``, ``1.5h``; counts, lists."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

# So many names are listed in a message.
_MANY = 8
_BYTES = {"": 1, "b": 1} | {
    unit: base**power
    for power, prefix in enumerate("kmgt", 1)
    for unit, base in ((f"{prefix}b", 1000), (f"{prefix}ib", 1024))
}
_SECONDS = {"": 1.0, "ms": 0.001, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}
_AMOUNT = re.compile(r"(?P<number>[0-9]{1,30}(?:\.[0-9]{1,30})?) ?(?P<unit>[A-Za-z]*)")


def parse_bytes(text: str) -> int | None:
    """Return a size in bytes; None for a text that is none."""
    found = _amount(text, _BYTES)
    return None if found is None else int(found)


def parse_seconds(text: str) -> float | None:
    """Return a time in seconds; None for a text that is none."""
    return _amount(text, _SECONDS)


def counted(count: int, one: str, several: str = "") -> str:
    """Return ``1 byte``, ``2 bytes``; ``several`` is the plural where that is not ``one`` with an
    s.
    """
    return f"{count} {one if count == 1 else several or one + 's'}"


def listed(names: Iterable[str]) -> str:
    """Return names for a message, the first ones of many."""
    every = list(names)
    rest = f" and {len(every) - _MANY} more" if len(every) > _MANY else ""
    return ", ".join(every[:_MANY]) + rest or "none"


def _amount(text: str, units: Mapping[str, float]) -> float | None:
    found = _AMOUNT.fullmatch(text.strip())
    if found is None or found["unit"].lower() not in units:
        return None
    whole, unit = found["number"], units[found["unit"].lower()]
    return int(whole) * unit if whole.isdigit() else float(whole) * unit
