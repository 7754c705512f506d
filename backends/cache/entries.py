"""Files of the cache: what a build was made of names the file, and its content has a seal.

    file ::= mark (8 bytes), bytes of content (u64), seal (32 bytes), content

A file of another length than it states is not read, however long it is. The seal is the sha256 of
the name and of the content's digest (``backends/cache/digests.py``): an entry that is put in the
place of another does not fit. A file that is damaged, or is not this user's, is as good as none.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import re
import stat
import struct
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

from relay2relax.backends.cache.digests import Buffer, digest
from relay2relax.backends.cache.place import owner_problem

_MARK = b"R2RKEP3\n"
_LENGTH = struct.Struct("<Q")
# Bytes before the content.
HEAD_BYTES = len(_MARK) + _LENGTH.size + hashlib.sha256().digest_size
# Nothing else in the folder is ours.
NAME = re.compile(r"[0-9a-f]{40}\.(so|dll|build|program|weights)")
# When an entry was used is written down at most so often, in seconds.
_NOTED = 600
_FLAGS = (
    os.O_RDONLY
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    # Else the opening of a pipe would wait for its other end.
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_BINARY", 0)
)


def read_entry(path: Path) -> bytes | None:
    """Return the content of an entry, None where there is none that fits its seal.

    That it was used is noted as the time of its last change.
    """
    return _checked(path, _whole)


def map_entry(path: Path) -> memoryview | None:
    """Return the content of an entry as :func:`read_entry` does, mapped from its file: memory is
    read from there when it is looked at. Another program that removes the file, or writes an entry
    of the name anew, changes nothing of it.
    """
    return _checked(path, _mapped)


_Found = TypeVar("_Found", bytes, memoryview)


def _checked(path: Path, read: Callable[[int, int], _Found]) -> _Found | None:
    """Return the content of an entry, which ``read`` reads, given an open file and its size."""
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or owner_problem(found):
            return None
        with open(handle, "rb", buffering=0, closefd=False) as stream:
            head = stream.read(HEAD_BYTES)
        if head[: len(_MARK) + _LENGTH.size] != _MARK + _LENGTH.pack(max(0, found.st_size - HEAD_BYTES)):
            return None
        content = read(handle, found.st_size)
        if head != _head(path.name, content):
            return None
        _note_use(handle, found)
    except (OSError, ValueError):
        return None
    finally:
        os.close(handle)
    return content


def _whole(handle: int, size: int) -> bytes:
    with open(handle, "rb", buffering=0, closefd=False) as stream:
        stream.seek(HEAD_BYTES)
        return stream.readall()


def _mapped(handle: int, size: int) -> memoryview:
    return memoryview(mmap.mmap(handle, size, access=mmap.ACCESS_READ))[HEAD_BYTES:]


def _note_use(handle: int, found: os.stat_result) -> None:
    if found.st_mtime < time.time() - _NOTED and os.utime in os.supports_fd:
        # On a disk that is only to be read it keeps its time.
        with suppress(OSError):
            os.utime(handle)


def write_entry(path: Path, parts: Sequence[Buffer], work: Path) -> None:
    """Write an entry, whole or not at all, by way of a file in ``work`` on the same disk; its
    content is the ``parts`` one behind the other.

    Raises OSError where that fails. When it returns, the entry outlives the end of the machine's
    power.
    """
    made = work / path.name
    with open(made, "wb", opener=_private) as stream:
        stream.write(_head(path.name, *parts))
        for part in parts:
            stream.write(part)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(made, path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _head(name: str, *parts: Buffer) -> bytes:
    """Return what stands before the content of an entry."""
    size = sum(memoryview(part).nbytes for part in parts)
    return _MARK + _LENGTH.pack(size) + hashlib.sha256(name.encode() + b"\0" + digest(*parts)).digest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
