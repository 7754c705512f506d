"""One file that appears whole or not at all."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from relay2relax.core.output.claim import beside, claimed, make_file
from relay2relax.core.output.content import Content, committed, put, reported, take_mode
from relay2relax.core.output.leftovers import remove
from relay2relax.core.output.marks import is_marked
from relay2relax.core.output.sacred import is_foreign, is_read, refuse


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file to write.

    ``reads`` are the files that it is made from; none of them is ever written over. ``is_own``
    tells whether a file was written here, and may be written over without ``force``. ``parents``:
    the folders above it are made where they are not there.

    A link is followed. What is no regular file (a device, a FIFO, a descriptor below ``/dev/fd``)
    is written to and not replaced.
    """

    path: Path
    reads: tuple[Path, ...] = ()
    force: bool = False
    is_own: Callable[[Path], bool] = is_marked
    parents: bool = True

    def check(self) -> None:
        """Raise FileError where the file must not be written over."""
        with reported(self.path):
            target = _target(self.path)
            if target is None:
                return
            if target.is_dir():
                raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(self.path))
            problem = is_read(target, self.reads, self.path)
            if problem is None and not self.force:
                problem = is_foreign(target, self.is_own, self.path)
        refuse([problem] if problem else [])

    def write(self, content: Content) -> None:
        """Write the file; raises FileError where it must not be written over, or that fails."""
        self.check()
        with reported(self.path):
            target = _target(self.path)
            if target is None:
                _send(self.path, content)
            else:
                if self.parents:
                    target.parent.mkdir(parents=True, exist_ok=True)
                _replace(target, content, self.reads)


def _target(path: Path) -> Path | None:
    """Return the name of what is to be replaced, links followed; None where it is written to.

    Raises OSError where a link leads nowhere but to itself.
    """
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        mode = stat.S_IFREG
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)) or any(map(_is_descriptor, _links(path))):
        return None
    return Path(os.path.realpath(path))


def _links(path: Path) -> Iterator[Path]:
    """Yield the path, and each to which a link leads from it."""
    yield path
    while path.is_symlink():
        path = Path(os.path.realpath(path.parent)) / os.readlink(path)
        yield path


def _is_descriptor(path: Path) -> bool:
    """Whether the path is what a process has open: it has that open whatever is renamed."""
    return str(path.parent) == "/dev/fd" or (path.parent.name == "fd" and path.is_relative_to("/proc"))


def _send(path: Path, content: Content) -> None:
    descriptor = os.open(path, os.O_WRONLY)
    try:
        put(descriptor, content)
    finally:
        os.close(descriptor)


def _replace(path: Path, content: Content, reads: tuple[Path, ...]) -> None:
    """Write the file aside, and rename it."""
    aside = beside(path)
    with claimed(aside, make_file, partial(remove, names=(), reads=reads)) as descriptor:
        assert descriptor is not None
        put(descriptor, content)
        take_mode(path, aside)
        os.fsync(descriptor)
        os.replace(aside, path)
        committed(path.parent)
