"""Folders in which files are made before they are entries, and in which the C compiler works.

Whoever uses one holds a lock on it, which the system takes back when the process ends, however it
ends. So a folder without a lock is left over, and anyone may remove it.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

# Windows has no such locks: nothing says whether a folder is in use, so none is removed.
if sys.platform != "win32":
    from fcntl import LOCK_EX, LOCK_NB, flock

_PREFIX = "relay2relax-work-"


@contextmanager
def work_folder(root: Path) -> Iterator[Path]:
    """Make a folder of this process in ``root``; it is removed at the end.

    Raises OSError where it cannot be made.
    """
    folder, lock = _locked(root)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def left_over(root: Path) -> Iterator[Path]:
    """Yield the folders in ``root`` that nobody works in any more, each locked while it is looked
    at.
    """
    if sys.platform == "win32":
        return
    with suppress(OSError):
        for folder in [one for one in root.iterdir() if one.name.startswith(_PREFIX)]:
            lock = _try_lock(folder)
            if lock is not None:
                try:
                    yield folder
                finally:
                    os.close(lock)


def remove_left_over(root: Path) -> int:
    """Remove the folders in ``root`` that nobody works in any more; return how many those were."""
    found = 0
    for folder in left_over(root):
        shutil.rmtree(folder, ignore_errors=True)
        found += 1
    return found


def _locked(root: Path) -> tuple[Path, int | None]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=root))
        if sys.platform == "win32":
            return folder, None
        # Between these lines another process may take the folder for one that is left over.
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            continue
        try:
            flock(lock, LOCK_EX)
        except OSError:
            # A file system without locks: nobody else gets one either.
            os.close(lock)
            return folder, None
        if folder.exists():
            return folder, lock
        os.close(lock)


def _try_lock(folder: Path) -> int | None:
    try:
        lock = os.open(folder, os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_DIRECTORY)
    except OSError:
        return None
    if hasattr(os, "geteuid") and os.fstat(lock).st_uid != os.geteuid():
        os.close(lock)
        return None
    try:
        flock(lock, LOCK_EX | LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock
