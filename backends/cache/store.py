"""Entries read, written and cleared; what cannot be kept in the folder is kept for the process.

The entries that were not used for longest go first where all of them are more than the limit,
``RELAY2RELAX_CACHE_LIMIT``.
"""

from __future__ import annotations

import os
import threading
import warnings
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from relay2relax.backends.cache.digests import Buffer
from relay2relax.backends.cache.entries import NAME, map_entry, read_entry, write_entry
from relay2relax.backends.cache.place import Place, find_place
from relay2relax.backends.cache.work import left_over, remove_left_over, work_folder
from relay2relax.core.amounts import parse_bytes
from relay2relax.core.errors import Relay2RelaxError, mistake
from relay2relax.core.errors.table import files

LIMIT = "RELAY2RELAX_CACHE_LIMIT"
_DEFAULT_LIMIT = "2GB"
# So much is kept for the process where the folder cannot be used, in bytes.
_MOST_IN_MEMORY = 64 * 10**6
# The folder is looked through when the process begins to write, and again after so many entries.
_LOOK_AGAIN = 256


@dataclass(frozen=True, slots=True)
class Kept:
    """How much a cache holds: entries, their bytes, and folders of work that are left over."""

    entries: int
    size: int
    left_over: int


@dataclass(slots=True)
class _Tally:
    """What is known of a folder's size since it was looked through."""

    size: int = 0
    written: int = 0


@dataclass(frozen=True, slots=True)
class Store:
    """The cache of one place."""

    place: Place
    _memory: OrderedDict[str, bytes] = field(default_factory=OrderedDict)
    _tally: _Tally = field(default_factory=_Tally)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def read(self, name: str) -> bytes | None:
        """Return the content of the entry ``name``, None where there is none that fits."""
        folder = self.place.folder
        found = read_entry(folder / name) if folder is not None and not self.place.problem else None
        return found if found is not None else self._memory.get(name)

    def map(self, name: str) -> memoryview | None:
        """Return the content of the entry ``name`` in the folder, mapped from its file; None where
        there is none that fits.
        """
        folder = self.place.folder
        return map_entry(folder / name) if folder is not None and not self.place.problem else None

    def write(self, name: str, *parts: Buffer) -> None:
        """Keep what ``parts`` are, one behind the other, under ``name``: in the folder, else for
        the process, which is said once.

        Raises Relay2RelaxError where the limit is not a size.
        """
        limit = size_limit()
        folder = self.place.folder
        if folder is None or self.place.problem:
            _say(f"builds are kept for this process alone, not in {self.place}: {self.place.problem}")
            self._remember(name, parts)
            return
        try:
            with work_folder(folder) as work:
                write_entry(folder / name, parts, work)
        except OSError as error:
            _say(f"a build is kept for this process alone, not in {folder}: {error.strerror or error}")
            self._remember(name, parts)
            return
        with self._lock:
            tally = self._tally
            tally.size += sum(memoryview(part).nbytes for part in parts)
            if tally.written % _LOOK_AGAIN == 0 or tally.size > limit:
                remove_left_over(folder)
                tally.size = _shrink(folder, limit)
            tally.written += 1

    @contextmanager
    def work(self) -> Iterator[Path]:
        """Make a folder to work in, on the cache's disk; raises OSError where that fails."""
        if self.place.folder is None or self.place.problem:
            raise OSError(self.place.problem)
        with work_folder(self.place.folder) as folder:
            yield folder

    def kept(self) -> Kept:
        """Return how much the folder holds."""
        if self.place.folder is None or self.place.problem:
            return Kept(0, 0, 0)
        found = _entries(self.place.folder)
        return Kept(len(found), sum(size for _, size, _ in found), sum(1 for _ in left_over(self.place.folder)))

    def clear(self) -> Kept:
        """Remove all entries, and what is left over; return what was removed."""
        self._memory.clear()
        if self.place.folder is None or self.place.problem:
            return Kept(0, 0, 0)
        found = [one for one in _entries(self.place.folder) if _removed(one[2])]
        return Kept(len(found), sum(size for _, size, _ in found), remove_left_over(self.place.folder))

    def _remember(self, name: str, parts: Sequence[Buffer]) -> None:
        if sum(memoryview(part).nbytes for part in parts) > _MOST_IN_MEMORY:
            return
        with self._lock:
            self._memory[name] = b"".join(parts)
            while len(self._memory) > 1 and sum(map(len, self._memory.values())) > _MOST_IN_MEMORY:
                self._memory.popitem(last=False)


def open_store() -> Store:
    """Return the cache of the place that is found now.

    Raises Relay2RelaxError where the limit is not a size.
    """
    size_limit()
    return _store(find_place())


def size_limit() -> int:
    """Return how many bytes the entries may have in all: ``RELAY2RELAX_CACHE_LIMIT``, else 2 GB.

    Raises Relay2RelaxError where the variable is not a size.
    """
    given = os.environ.get(LIMIT) or _DEFAULT_LIMIT
    found = parse_bytes(given)
    if found is None:
        raise Relay2RelaxError(mistake(files.OPTION, name=LIMIT, value=repr(given), expected="a size such as 500MB"))
    return found


@lru_cache(maxsize=16)
def _store(place: Place) -> Store:
    return Store(place)


@lru_cache(maxsize=64)
def _say(message: str) -> None:
    """Warn of one thing once."""
    warnings.warn(message, RuntimeWarning, stacklevel=3)


def _entries(folder: Path) -> list[tuple[float, int, str]]:
    """Return when each entry was used last, its size and its path."""
    found = []
    with suppress(OSError), os.scandir(folder) as there:
        for one in there:
            if NAME.fullmatch(one.name):
                with suppress(FileNotFoundError):
                    about = one.stat(follow_symlinks=False)
                    found.append((about.st_mtime, about.st_size, one.path))
    return found


def _shrink(folder: Path, limit: int) -> int:
    """Remove the entries that were not used for longest, until all are within ``limit``; return
    their size.
    """
    found = sorted(_entries(folder))
    size = sum(one for _, one, _ in found)
    # The entry that was just written stays, however small the limit is.
    for _, one, path in found[:-1]:
        if size <= limit:
            break
        if _removed(path):
            size -= one
    return size


def _removed(path: str) -> bool:
    """Remove an entry; another process may have done so already."""
    try:
        os.unlink(path)
    except OSError:
        return False
    return True
