"""Names that one process at a time writes to before it renames what it wrote.

What is being written has one name, made of its target's, and is locked by who writes it. A process
that dies gives up the lock; the next one removes what it left.
"""

from __future__ import annotations

import errno
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from relay2relax.core.errors import Diagnostic, FileError

# Makes what is claimed, and returns it opened, None where the system opens no folders.
Make: TypeAlias = Callable[[Path], "int | None"]
# Removes what is there; raises FileError where that is somebody else's.
Clear: TypeAlias = Callable[[Path], None]

# How long to wait for another process, in seconds, and how often to look.
_PATIENCE = 60.0
_PAUSE = 0.02
# What file systems without locks answer.
_NO_LOCKS = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS, errno.EINVAL, errno.EBADF)


def beside(path: Path) -> Path:
    """Return the name under which ``path`` is written before it is renamed."""
    return path.with_name(f".{path.name[:50]}.relay2relax")


def make_file(path: Path) -> int:
    """Make a file that is not there yet, with the mode that the umask leaves; return it opened."""
    return os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)


def make_folder(path: Path) -> int | None:
    """Make a folder that is not there yet, with the mode that the umask leaves; return it
    opened.
    """
    os.mkdir(path)
    try:
        return _open(path)
    except FileNotFoundError:
        # Another process took it for a leftover, and removed it.
        raise FileExistsError(path) from None


@contextmanager
def claimed(path: Path, make: Make, clear: Clear) -> Iterator[int | None]:
    """Let the block write at ``path``, which ``make`` makes and opens, while no other process
    does.

    ``clear`` removes what a process that was killed left there. What is still there behind the
    block is removed, as far as that can be done.

    Raises OSError where the name cannot be made or locked, FileError where another process writes
    there for longer than a minute.
    """
    descriptor = _claim(path, make, clear)
    try:
        yield descriptor
    finally:
        # Behind a success the name is gone; behind a failure the next run removes what stays.
        with suppress(OSError, FileError):
            if _is_at(descriptor, path):
                clear(path)
        _close(descriptor)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Lock what is at ``path`` while the block moves and removes it, so that no other process
    takes it for a leftover.

    Raises OSError where that fails, FileError where another process holds it longer than a minute.
    """
    descriptor = _open(path)
    try:
        end = time.monotonic() + _PATIENCE
        while not _lock(descriptor):
            _wait(path, end)
        yield
    finally:
        _close(descriptor)


def clear_stale(path: Path, clear: Clear) -> bool:
    """Remove what a process left at ``path``; return whether the name is free.

    It is not where a process writes there now.
    """
    try:
        descriptor = _open(path)
    except FileNotFoundError:
        return True
    try:
        if not _lock(descriptor):
            return False
        if _is_at(descriptor, path):
            clear(path)
        return True
    finally:
        _close(descriptor)


def _is_at(descriptor: int | None, path: Path) -> bool:
    """Whether the open file is the one that the path names."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    return descriptor is None or os.path.samestat(os.fstat(descriptor), found)


def _claim(path: Path, make: Make, clear: Clear) -> int | None:
    end = time.monotonic() + _PATIENCE
    while True:
        try:
            descriptor = make(path)
        except FileExistsError:
            if not clear_stale(path, clear):
                _wait(path, end)
            continue
        # Another process may have taken what was just made for a leftover, and removed it.
        kept = False
        try:
            kept = _lock(descriptor) and _is_at(descriptor, path)
        finally:
            if not kept:
                _close(descriptor)
        if kept:
            return descriptor


def _wait(path: Path, end: float) -> None:
    if time.monotonic() > end:
        raise FileError(Diagnostic(f"another process is writing {path}", file=str(path)))
    time.sleep(_PAUSE)


def _open(path: Path) -> int | None:
    """Open what is at ``path``; links are not followed, and nothing waits for a FIFO."""
    if sys.platform == "win32":
        os.stat(path)
        return None
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)


def _lock(descriptor: int | None) -> bool:
    """Lock an open file; return whether no other process has done so.

    Where the system has no locks, whoever runs two processes at once sees to it.
    """
    if sys.platform == "win32" or descriptor is None:
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
    return True


def _close(descriptor: int | None) -> None:
    # What was written was asked for by ``fsync`` before: closing tells nothing that matters.
    with suppress(OSError):
        if descriptor is not None:
            os.close(descriptor)
