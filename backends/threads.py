"""How many threads compiled programs and libraries run on."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from relay2relax.core.errors import ExecutionError

_CHOSEN: ContextVar[int] = ContextVar("_CHOSEN", default=0)


@contextmanager
def threads(count: int) -> Iterator[None]:
    """Let modules that are loaded while the block runs use ``count`` threads."""
    token = _CHOSEN.set(count)
    try:
        yield
    finally:
        _CHOSEN.reset(token)


def thread_count() -> int:
    """Return how many threads a module uses: those of :func:`threads`, ``RELAY2RELAX_THREADS``,
    else as many as the process has processors.

    Raises ExecutionError where the variable is no positive number.
    """
    if _CHOSEN.get():
        return _CHOSEN.get()
    given = os.environ.get("RELAY2RELAX_THREADS", "")
    if not given:
        return processors()
    if not given.isdecimal() or int(given) < 1:
        raise ExecutionError(f"RELAY2RELAX_THREADS is {given!r}, expected a positive number")
    return int(given)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
