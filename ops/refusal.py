"""Operators that are read, typed and carried along, but cannot be run: whoever asks hears the name and why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn

from relay2relax.core.errors import UnsupportedError


def refusing(name: str, reason: str) -> Callable[..., NoReturn]:
    """Return a facet that raises UnsupportedError: ``name`` cannot be run, and why."""

    def refuse(*args: Any) -> NoReturn:
        raise UnsupportedError(f"{name} cannot be run: {reason}")

    return refuse
