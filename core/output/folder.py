"""Files that belong together, in a folder: all of them are written, or none.

A folder that is not there is written aside and renamed. One that holds nothing but what is written
anew is exchanged for another in one step. In any other, the new files are written aside, and then
exchanged for the old ones by a journal (``journal.py``): where that is cut short, the next run puts
the old ones back.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from relay2relax.core.errors import Diagnostic, FileError, mistake
from relay2relax.core.errors.table import files
from relay2relax.core.output import journal
from relay2relax.core.output.claim import Clear, beside, claimed, clear_stale, locked, make_folder
from relay2relax.core.output.content import (
    Content,
    committed,
    create,
    digest,
    file_digest,
    mode_of,
    reported,
    settle,
    take_mode,
)
from relay2relax.core.output.leftovers import kept_by_others, own_names, remove
from relay2relax.core.output.manifest import MANIFEST, Origin, Written, manifest_text, read_manifest
from relay2relax.core.output.sacred import foreign, is_read, refuse
from relay2relax.core.output.swap import swap


@dataclass(frozen=True, slots=True)
class Foreseen:
    """What writing into a folder would do: files that are written over or removed, and
    ``problems`` for which nothing would be written.
    """

    over: tuple[Path, ...] = ()
    gone: tuple[Path, ...] = ()
    problems: tuple[Diagnostic, ...] = ()

    def check(self) -> None:
        """Raise FileError where nothing would be written."""
        refuse(self.problems)


@dataclass(frozen=True, slots=True)
class OutputFolder:
    """A folder to write files into, and what they are made of.

    ``reads`` are the files that are read meanwhile; none of them is ever written over, or removed.
    Written over are files that the folder's list (``manifest.py``) names as this ``origin``'s, as
    long as nobody has changed them; with ``force`` every file, links and folders excepted.

    What the same command wrote before of the model in the same place, and does not write now, is
    removed.
    """

    path: Path
    origin: Origin
    reads: tuple[Path, ...] = ()
    force: bool = False

    def check(self, names: Iterable[str]) -> None:
        """Put right what a run left that was cut short, and raise FileError where a file of
        ``names`` must not be written over.

        Files are not read for it: whether they were changed is seen when they are written.
        """
        with reported(self.path):
            folder = Path(os.path.realpath(self.path))
            clear_stale(beside(folder), self._remover(names))
            # Looked at once: another process may make the folder meanwhile.
            found = mode_of(folder)
            if found is not None and stat.S_ISDIR(found):
                clear_stale(folder / journal.NAME, self._undoer(folder))
                refuse(self._problems(folder, names, whole=False))
            elif found is not None:
                refuse([self._is_a_file()])

    def foresee(self, names: Collection[str]) -> Foreseen:
        """Return what writing files of these ``names`` would do, without touching anything."""
        with reported(self.path):
            folder = Path(os.path.realpath(self.path))
            mode = mode_of(folder)
            if mode is None:
                return Foreseen(problems=tuple(self._left_problems(folder, names)))
            if not stat.S_ISDIR(mode):
                return Foreseen(problems=(self._is_a_file(),))
            over = tuple(self.path / name for name in names if mode_of(folder / name) is not None)
            gone = self._gone(folder, read_manifest(folder) or {}, names)
            problems = (*self._left_problems(folder, names), *self._problems(folder, names, whole=True))
            return Foreseen(over, tuple(self.path / name for name in gone), problems)

    def write(self, contents: Mapping[str, Content], stay: Collection[str] = ()) -> tuple[Path, ...]:
        """Write the files, by their names, and return their paths.

        ``stay`` names files that were written before and stay as they are. Raises FileError where
        a file must not be written over, or writing fails: the folder is then as it was.
        """
        self.check(contents)
        with reported(self.path):
            folder = Path(os.path.realpath(self.path))
            written = {name: Written(digest(content), self.origin) for name, content in contents.items()}
            if not folder.is_dir():
                folder.parent.mkdir(parents=True, exist_ok=True)
                aside = beside(folder)
                with claimed(aside, make_folder, self._remover(contents)):
                    # Another process may have made the folder meanwhile.
                    if not folder.is_dir():
                        _fill(aside, {MANIFEST: manifest_text(written), **contents})
                        os.rename(aside, folder)
                        committed(folder.parent)
                        return tuple(self.path / name for name in contents)
            with claimed(folder / journal.NAME, make_folder, self._undoer(folder)):
                self._exchange(folder, contents, written, stay)
        return tuple(self.path / name for name in contents)

    def _exchange(
        self, folder: Path, contents: Mapping[str, Content], written: Mapping[str, Written], stay: Collection[str]
    ) -> None:
        """Exchange the files of a folder that this process has claimed."""
        refuse(self._problems(folder, contents, whole=True))
        listed = read_manifest(folder) or {}
        gone = self._gone(folder, listed, {*contents, *stay})
        kept = {name: one for name, one in listed.items() if name not in gone and _is_in(folder, name)}
        text = manifest_text({**kept, **written})
        whole = {MANIFEST: text, **contents}
        if set(os.listdir(folder)) <= {*whole, *gone, journal.NAME} and _exchange_folder(
            folder, whole, self._remover({*contents, *gone})
        ):
            return
        aside = folder / journal.NAME / journal.NEW
        aside.mkdir()
        _fill(aside, whole)
        journal.exchange(folder, {name: one.sha256 for name, one in written.items()} | {MANIFEST: digest(text)}, gone)

    def _remover(self, names: Iterable[str]) -> Clear:
        """Return what removes a folder that a run left that writes such files."""
        return partial(remove, names=(*names, journal.NAME), reads=self.reads)

    def _undoer(self, folder: Path) -> Clear:
        return partial(journal.undo, folder, self.reads)

    def _left_problems(self, folder: Path, names: Iterable[str]) -> Iterator[Diagnostic]:
        """Yield what is wrong with making outputs where they are made."""
        aside = beside(folder)
        for path, own in ((aside, own_names(aside, (*names, journal.NAME))), (folder / journal.NAME, journal.ENTRIES)):
            yield from kept_by_others(path, own, self.reads)

    def _is_a_file(self) -> Diagnostic:
        lost = mistake(files.OVERWRITE, path=self.path, why="it is a file, not a folder")
        return replace(lost, help="name another folder, with --out", file=str(self.path))

    def _gone(self, folder: Path, listed: Mapping[str, Written], names: Collection[str]) -> list[str]:
        """Return the files of earlier runs that are removed when those of ``names`` are written."""
        return [name for name, one in listed.items() if name not in names and self._is_stale(folder, name, one)]

    def _is_stale(self, folder: Path, name: str, written: Written) -> bool:
        """Whether a listed file is one that an earlier run of the same origin wrote, and nobody
        changed or reads.
        """
        path = folder / name
        return (
            (written.origin.command, written.origin.model) == (self.origin.command, self.origin.model)
            and _is_in(folder, name)
            and is_read(path, self.reads, path) is None
            and file_digest(path) == written.sha256
        )

    def _problems(self, folder: Path, names: Iterable[str], whole: bool) -> Iterator[Diagnostic]:
        """Yield what is wrong with writing over the files that are there.

        ``whole``: they are read.
        """
        listed = read_manifest(folder)
        # Files by what is wrong with all of them.
        others: dict[str, list[Path]] = {}
        if listed is None and not self.force:
            yield foreign([self.path / MANIFEST], "not made here: it is not a list of files")
        for name in (*names, MANIFEST):
            path = folder / name
            mode = mode_of(path)
            if mode is None:
                continue
            shown = self.path / name
            problem = is_read(path, self.reads, shown)
            if problem is not None:
                yield problem
            elif not stat.S_ISREG(mode):
                lost = mistake(files.OVERWRITE, path=shown, why="it is not a regular file")
                yield replace(lost, help="write into another folder, with --out", file=str(shown))
            elif not self.force and name != MANIFEST:
                why = self._why_foreign(path, (listed or {}).get(name), whole)
                if why:
                    others.setdefault(why, []).append(shown)
        for why, shown_ones in others.items():
            yield foreign(shown_ones, why)

    def _why_foreign(self, path: Path, written: Written | None, whole: bool) -> str:
        """Return why a file is not this origin's to write over, "" where it is."""
        if written is None:
            return "not written here"
        if not written.origin.is_model_of(self.origin):
            # Where the list says it, the folder is where one is.
            model = os.path.relpath(path.parent / written.origin.model)
            return f"made of {model if os.path.exists(model) else written.origin.model}"
        if whole and file_digest(path) != written.sha256:
            return "changed since written here"
        return ""


def _is_in(folder: Path, name: str) -> bool:
    """Whether ``name`` is a regular file in ``folder``, and no link."""
    path = folder / name
    return path.parent == folder and path.is_file() and not path.is_symlink()


def _exchange_folder(folder: Path, contents: Mapping[str, Content], clear: Clear) -> bool:
    """Exchange a folder, all of whose files are written over or gone, for a new one in one step,
    and ``clear`` away the old one.

    Return whether that can be done: not where the folder is mounted, or this process works in it.
    """
    if _works_in(folder) or not os.access(folder.parent, os.W_OK | os.X_OK):
        return False
    aside = beside(folder)
    with locked(folder), claimed(aside, make_folder, clear):
        _fill(aside, contents)
        for path in aside.iterdir():
            take_mode(folder / path.name, path)
        take_mode(folder, aside)
        if not swap(aside, folder):
            return False
        committed(folder.parent)
        # What is aside now is the old folder, and locked. The next run removes it where this one
        # cannot, and nobody does where somebody put a file there meanwhile.
        with suppress(OSError, FileError):
            clear(aside)
    return True


def _works_in(folder: Path) -> bool:
    try:
        here = Path.cwd()
    except FileNotFoundError:
        return False
    return folder == here or folder in here.parents


def _fill(folder: Path, contents: Mapping[str, Content]) -> None:
    for name, content in contents.items():
        create(folder / name, content)
    settle(folder)
