"""Which files are not written over, and what is said of them."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from pathlib import Path

from relay2relax.core.errors import Diagnostic, FileError, mistake
from relay2relax.core.errors.table import files


def refuse(problems: Iterable[Diagnostic]) -> None:
    """Raise FileError with the problems, where there are any."""
    found = list(problems)
    if found:
        raise FileError(found)


def is_read(path: Path, reads: Iterable[Path], shown: Path) -> Diagnostic | None:
    """Return what is wrong where ``path`` is one of the files that are read, under any name;
    ``shown`` is what it is called.

    Raises OSError where it cannot be known: the file, or one that is read, cannot be looked at.
    """
    target = _looked_at(path)
    # Writing to a terminal or a pipe takes nothing from who reads there.
    if target is None or not stat.S_ISREG(target.st_mode):
        return None
    for read in reads:
        found = _looked_at(read)
        if found is not None and os.path.samestat(found, target):
            lost = mistake(files.OVERWRITE, path=shown, why="it is read")
            return replace(lost, help="write somewhere else, with --out", file=str(shown))
    return None


def _looked_at(path: Path) -> os.stat_result | None:
    """Return what stands at the end of ``path``, None where nothing does."""
    try:
        return os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        if error.errno == errno.ELOOP:  # links that lead to themselves
            return None
        raise


def foreign(paths: Sequence[Path], why: str) -> Diagnostic:
    """Return the mistake of writing over ``paths``, which were not written here.

    ``why`` goes on behind ``it was``.
    """
    one = len(paths) == 1
    advice = f"write somewhere else, with --out; --force (in Python force=True) writes over {'it' if one else 'them'}"
    lost = mistake(files.OVERWRITE, path=", ".join(map(str, paths)), why=f"{'it was' if one else 'they were'} {why}")
    return replace(lost, help=advice, file=str(paths[0]))


def is_foreign(path: Path, is_own: Callable[[Path], bool], shown: Path) -> Diagnostic | None:
    """Return what is wrong where ``path`` is a file that ``is_own`` does not know.

    Empty files hold nothing that could be lost. Raises OSError where the file cannot be read.
    """
    try:
        empty = os.stat(path).st_size == 0
    except FileNotFoundError:
        return None
    return None if empty or is_own(path) else foreign([shown], "not written here, or was changed since")
