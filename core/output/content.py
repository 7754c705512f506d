"""What is written: bytes, or parts one behind the other; and the writing of it to the disk."""

from __future__ import annotations

import hashlib
import os
import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Union

from relay2relax.core.errors import Diagnostic, FileError

# A file's bytes, or its parts one behind the other; views of memory are not copied.
Content = Union[bytes, Sequence[Union[bytes, memoryview]]]


def parts_of(content: Content) -> Sequence[bytes | memoryview]:
    """Return the parts of ``content``."""
    return (content,) if isinstance(content, bytes) else content


def digest(content: Content) -> str:
    """Return the SHA-256 of ``content`` in hexadecimal digits."""
    found = hashlib.sha256()
    for part in parts_of(content):
        found.update(part)
    return found.hexdigest()


def file_digest(path: Path) -> str:
    """Return the SHA-256 of what ``path`` contains.

    Raises FileError, which names the file, where it cannot be read.
    """
    found = hashlib.sha256()
    try:
        with open(path, "rb") as stream:
            while block := stream.read(1 << 20):
                found.update(block)
    except OSError as error:
        raise FileError(f"cannot read {path}: {error.strerror or error}") from error
    return found.hexdigest()


def mode_of(path: Path) -> int | None:
    """Return the mode of what is at ``path``, itself and not what it links to; None for nothing.

    Raises OSError where it cannot be looked at: then it is not known that nothing is there.
    """
    try:
        return os.lstat(path).st_mode
    except (FileNotFoundError, NotADirectoryError):
        return None


def create(path: Path, content: Content) -> None:
    """Write a file that is not there yet, and wait until it is on the disk.

    Its mode is what the umask leaves. Raises OSError where that fails; the file then stays as far
    as it was written.
    """
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666), "wb") as stream:
        put(stream.fileno(), content)
        os.fsync(stream.fileno())


def put(descriptor: int, content: Content) -> None:
    """Write ``content`` to an open file; raises OSError where that fails."""
    for part in parts_of(content):
        left = memoryview(part).cast("B")
        while left:
            left = left[os.write(descriptor, left) :]


def settle(folder: Path) -> None:
    """Wait until the names in ``folder`` are on the disk; raises OSError where that fails."""
    # Windows opens no folders, and keeps their names without being asked.
    if sys.platform != "win32":
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def take_mode(old: Path, new: Path) -> None:
    """Give ``new`` the mode of ``old``, whose place it takes, where that is there."""
    with suppress(FileNotFoundError):
        os.chmod(new, stat.S_IMODE(os.stat(old).st_mode))


def committed(folder: Path) -> None:
    """Ask for the names in ``folder`` to be on the disk, behind the moment from which they
    count.
    """
    # Where that fails nothing can be taken back, and nothing is wrong but after a loss of power.
    with suppress(OSError):
        settle(folder)


@contextmanager
def reported(path: Path) -> Iterator[None]:
    """Turn an OSError of the block into a FileError that names the file, or else ``path``."""
    try:
        yield
    except OSError as error:
        name = str(error.filename or path)
        raise FileError(Diagnostic(f"cannot write {name}: {error.strerror or error}", file=name)) from error
