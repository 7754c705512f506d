"""The standard streams of the command, which may be closed, be full, or take ASCII alone."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import TextIO

# How the numbers of standard input, output and error are taken where they are closed: what is
# printed fails as the system says it, what is said of mistakes is lost.
_CLOSED = (os.O_RDONLY, os.O_RDONLY, os.O_WRONLY)
_COLOURS = {"red": "31", "green": "32", "yellow": "33", "dim": "2"}


def prepare() -> None:
    """Make the standard streams safe to use.

    Characters that a stream cannot show are escaped. The numbers of closed streams are taken, else
    a file that is opened later would get one, and what is meant for the screen would end in it.
    """
    _read.clear()
    for number, how in enumerate(_CLOSED):
        if not _is_open(number):
            os.open(os.devnull, how)
    if sys.stdout is None:
        sys.stdout = open(1, "w")  # noqa: SIM115 - open to the end of the process
    if sys.stderr is None:
        sys.stderr = open(2, "w")  # noqa: SIM115
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")


# What a command is given for standard input, and for standard output.
INPUT = frozenset(map(Path, ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")))
_OUTPUT = frozenset(map(Path, ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")))
# What standard input held, once it is read.
_read: list[bytes] = []


def read_input() -> bytes:
    """Return all of standard input, however often it is asked for.

    Raises OSError where it cannot be read, LimitError where it is more than the limits leave.
    """
    from relay2relax.core.limits import read_file

    if not _read:
        _read.append(read_file(os.dup(0), "standard input"))
    return _read[0]


def is_output(path: Path) -> bool:
    """Whether what is written to ``path`` appears on standard output."""
    if path in _OUTPUT:
        return True
    try:
        there, screen = os.stat(path), os.fstat(1)
    except OSError:
        return False
    # All terminals and all null devices are one; a file is where it is sent to, too.
    return stat.S_ISREG(there.st_mode) and os.path.samestat(there, screen)


def send(content: bytes) -> None:
    """Write ``content`` to standard output; raises OSError where it takes no more."""
    sys.stdout.flush()
    left = memoryview(content)
    while left:
        left = left[os.write(1, left) :]


def _is_open(number: int) -> bool:
    try:
        os.fstat(number)
    except OSError:
        return False
    return True


def finish() -> OSError | None:
    """Write what standard output still holds; return the error where it takes no more."""
    try:
        sys.stdout.flush()
    except OSError as error:
        # Python would try again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return error
    return None


def styled(text: str, colour: str, stream: TextIO) -> str:
    """Return ``text`` in a colour where ``stream`` shows colours."""
    return f"\x1b[{_COLOURS[colour]}m{text}\x1b[0m" if shows_colours(stream) else text


def shows_colours(stream: TextIO) -> bool:
    """Whether a stream shows colours.

    That is a terminal, unless ``NO_COLOR`` is set; with ``FORCE_COLOR`` it is anything.
    """
    if os.environ.get("NO_COLOR"):
        return False
    return bool(os.environ.get("FORCE_COLOR")) or (stream.isatty() and os.environ.get("TERM") != "dumb")
