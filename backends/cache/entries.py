"""Files of the cache: what a build was made of names the file, and its content has a seal.

    file ::= mark (8 bytes), bytes of content (u64), sha256 of name and content (32 bytes), content

A file of another length than it states is not read, however long it is. The seal is over the name
as well: an entry that is put in the place of another does not fit. A file that is damaged, or is
not this user's, is as good as none.
"""

from __future__ import annotations

import hashlib
import os
import re
import stat
import struct
import time
from contextlib import suppress
from pathlib import Path

from relay2relax.backends.cache.place import owner_problem

_MARK = b"R2RKEP2\n"
_LENGTH = struct.Struct("<Q")
_BEGIN = len(_MARK) + _LENGTH.size + hashlib.sha256().digest_size
# Nothing else in the folder is ours.
NAME = re.compile(r"[0-9a-f]{40}\.(so|dll|build)")
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
    try:
        handle = os.open(path, _FLAGS)
    except OSError:
        return None
    try:
        whole = _whole(handle)
    finally:
        os.close(handle)
    if whole is None or whole[:_BEGIN] != _head(path.name, memoryview(whole)[_BEGIN:]):
        return None
    return whole[_BEGIN:]


def _whole(handle: int) -> bytes | None:
    """Return what a file of this user contains, and note that it was read.

    None where it is of another length than it states.
    """
    try:
        found = os.fstat(handle)
        if not stat.S_ISREG(found.st_mode) or owner_problem(found):
            return None
        with open(handle, "rb", buffering=0, closefd=False) as stream:
            begin = stream.read(len(_MARK) + _LENGTH.size)
            if begin != _MARK + _LENGTH.pack(max(0, found.st_size - _BEGIN)):
                return None
            whole = begin + stream.readall()
    except OSError:
        return None
    if found.st_mtime < time.time() - _NOTED and os.utime in os.supports_fd:
        # On a disk that is only to be read it keeps its time.
        with suppress(OSError):
            os.utime(handle)
    return whole


def write_entry(path: Path, content: bytes, work: Path) -> None:
    """Write an entry, whole or not at all, by way of a file in ``work`` on the same disk.

    Raises OSError where that fails. When it returns, the entry outlives the end of the machine's
    power.
    """
    made = work / path.name
    with open(made, "wb", opener=_private) as stream:
        stream.write(_head(path.name, content))
        stream.write(content)
        stream.flush()
        os.fsync(stream.fileno())
    os.replace(made, path)
    if hasattr(os, "O_DIRECTORY"):
        folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _head(name: str, content: bytes | memoryview) -> bytes:
    """Return what stands before the content of an entry."""
    digest = hashlib.sha256(name.encode() + b"\0")
    digest.update(content)
    return _MARK + _LENGTH.pack(len(content)) + digest.digest()


def _private(path: str, flags: int) -> int:
    return os.open(path, flags, 0o600)
