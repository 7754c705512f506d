"""Lists of models: a file of text with the path of a model, or of a folder of models, on each line.

    # what the team of the camera uses
    nets/mobilenet.relay
    nets/old

Paths are relative to the folder of the list. Empty lines, and lines that begin with ``#``, say
nothing.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from relay2relax.core.errors import Diagnostic, FileError, ParseError, mistake
from relay2relax.core.errors.table.files import FILE
from relay2relax.core.limits import read_file
from relay2relax.core.source import SourceRange, SourceText, visible

# Endings of documents, weights and archives, which are no list whatever is in them.
_NO_LISTS = frozenset({".json", ".tar", ".params", ".safetensors", ".npz", ".npy", ".pt"})
# Text of more bytes is a model.
_LARGEST = 1 << 24
# With so many mistakes a file is no list.
_MOST = 100


@dataclass(frozen=True, slots=True)
class Place:
    """Where models are looked for: a file or a folder, as it is called in the list."""

    name: str
    path: Path


def may_be_list(path: Path) -> bool:
    """Whether a file that holds no model may hold a list: it is text, and not too long.

    What cannot be read holds none.
    """
    try:
        if path.suffix in _NO_LISTS or path.stat().st_size > _LARGEST:
            return False
        return b"\0" not in read_file(path)
    except OSError:
        return False


def read_list(path: Path) -> tuple[Place, ...]:
    """Return what a list names, each place once.

    Raises FileError with a mistake for every line that names no file or folder, the first hundred,
    and ParseError where no line names anything.
    """
    try:
        text = os.fsdecode(read_file(path).removeprefix(b"\xef\xbb\xbf"))
    except OSError as error:
        raise FileError.unread(path, error) from None
    places: dict[Path, Place] = {}
    problems: list[Diagnostic] = []
    for number, line in enumerate(text.split("\n"), 1):
        name = line.strip()
        if not name or name.startswith("#"):
            continue
        place = Place(visible(name), path.parent / name)
        column = line.index(name) + 1
        where = SourceRange(str(path), number, column, number, column + len(name))
        problems += _problems(place, path, where)
        places.setdefault(place.path, place)
        if len(problems) == _MOST:
            break
    if problems:
        note = f"{str(path)!r} holds no model, so that it is read as a list of models: a path on each line"
        raise FileError([*problems[:-1], replace(problems[-1], notes=(note,))], SourceText(text, str(path)))
    if not places:
        raise ParseError(f"{str(path)!r} holds no model, and as a list of models it names none")
    return tuple(places.values())


def kind_of(path: Path) -> int:
    """Return the kind of what is at a path, as ``stat.S_IFMT`` gives it.

    Raises FileError where nothing is there, or what is neither a file nor a folder: reading a pipe
    or a device may never end.
    """
    try:
        kind = stat.S_IFMT(path.stat().st_mode)
    except (OSError, ValueError) as error:
        raise FileError.unread(path, error) from None
    if kind not in (stat.S_IFREG, stat.S_IFDIR):
        problem = "it is neither a file nor a folder"
        raise FileError(replace(mistake(FILE, action="read", file=repr(str(path)), problem=problem), file=str(path)))
    return kind


def _problems(place: Place, listing: Path, where: SourceRange) -> Iterator[Diagnostic]:
    """Yield what is wrong with what a line names, if anything."""
    try:
        if kind_of(place.path) == stat.S_IFREG and place.path.samefile(listing):
            title = f"the list names itself: {place.name!r}"
            yield Diagnostic(title, where, kind=FILE)
    except FileError as error:
        yield replace(error.diagnostics[0], where=where)
