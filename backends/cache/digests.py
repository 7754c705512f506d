"""Digests of large contents: whether they are the same, found on all processors.

    digest ::= sha256 of (sha256 of a piece)*, pieces of 4 MiB, the last one may be shorter

Pieces are hashed side by side, and the digest does not depend on how many at a time.
"""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Callable
from typing import TypeAlias, Union

Buffer: TypeAlias = Union[bytes, bytearray, memoryview]

_PIECE = 1 << 22
# What is read of a file at a time: it stays in a processor's cache until it is hashed.
_BLOCK = 1 << 18
# More threads at a time do not find more memory to read.
_MOST_THREADS = 8


def digest(*parts: Buffer) -> bytes:
    """Return the digest of what ``parts`` are, one behind the other."""
    views = [memoryview(part).cast("B") for part in parts]
    pieces: list[list[memoryview]] = [[]]
    left = _PIECE
    for view in views:
        while view.nbytes:
            if not left:
                pieces.append([])
                left = _PIECE
            pieces[-1].append(view[:left])
            taken = min(left, view.nbytes)
            left, view = left - taken, view[taken:]
    return _joined(len(pieces), lambda number: _hashed(pieces[number]))


def file_digest(path: str | os.PathLike[str]) -> bytes:
    """Return the digest of what a file contains, of which little is in memory at a time.

    Raises OSError where it cannot be read.
    """
    size = os.stat(path).st_size
    return _joined(max(1, -(-size // _PIECE)), lambda number: _read(path, number * _PIECE, size))


def _hashed(views: list[memoryview]) -> bytes:
    found = hashlib.sha256()
    for view in views:
        found.update(view)
    return found.digest()


def _read(path: str | os.PathLike[str], offset: int, size: int) -> bytes:
    found, left = hashlib.sha256(), min(size - offset, _PIECE)
    with open(path, "rb", buffering=0) as stream:
        stream.seek(offset)
        while left:
            block = stream.read(min(_BLOCK, left))
            if not block:
                raise OSError(f"{os.fspath(path)!r} became shorter while it was read")
            found.update(block)
            left -= len(block)
    return found.digest()


def _joined(count: int, hashed: Callable[[int], bytes]) -> bytes:
    """Return the digest of ``count`` pieces, each of which ``hashed`` hashes."""
    found = [b""] * count
    numbers = iter(range(count))
    problems: list[BaseException] = []

    def work() -> None:
        try:
            for number in numbers:
                found[number] = hashed(number)
        except Exception as problem:  # noqa: BLE001 - raised again below, in the thread that asked
            problems.append(problem)

    # Hashing a piece gives the interpreter free; for less a thread is not worth its start.
    others = [threading.Thread(target=work) for _ in range(min(count, os.cpu_count() or 1, _MOST_THREADS) - 1)]
    for other in others:
        other.start()
    work()
    for other in others:
        other.join()
    if problems:
        raise problems[0]
    return hashlib.sha256(b"".join(found)).digest()
