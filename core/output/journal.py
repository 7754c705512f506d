"""How files of a folder are exchanged for others, so that a run that is cut short can be undone.

    .relay2relax/new/…         the new files
    .relay2relax/old/…         the files that they take the place of
    .relay2relax/journal.json  what is about to be done; while it is there, it is not done

Old files are moved aside and new ones into their place, one after the other; then the journal is
removed, which is the moment from which the new ones count. Whoever finds a journal moves the old
files back.
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from relay2relax.core.errors import ParseError
from relay2relax.core.output.content import committed, create, file_digest, settle, take_mode
from relay2relax.core.output.leftovers import kept_by_others
from relay2relax.core.output.sacred import refuse
from relay2relax.core.schema import Form, read_json, to_plain

NAME = ".relay2relax"
NEW = "new"
_OLD = "old"
_JOURNAL = "journal.json"
_BEGUN = "journal"
# What an exchange makes in its folder.
ENTRIES = (NEW, _OLD, _BEGUN, _JOURNAL)


class _Step(Form):
    """A file to write, "" for one to remove; ``replaced`` where there was one of its name."""

    name: str
    sha256: str
    replaced: bool


class _Journal(Form):
    steps: tuple[_Step, ...]


def exchange(folder: Path, files: Mapping[str, str], gone: Iterable[str]) -> None:
    """Move the new ``files``, given with their SHA-256, into ``folder``, and those that are
    ``gone`` away.

    Raises OSError where that fails; :func:`undo` is then to be called.
    """
    aside = folder / NAME
    (aside / _OLD).mkdir()
    steps = [_Step(name=name, sha256=sha, replaced=os.path.lexists(folder / name)) for name, sha in files.items()]
    steps += [_Step(name=name, sha256="", replaced=True) for name in gone]
    text = json.dumps(to_plain(_Journal(steps=tuple(steps)))).encode()
    create(aside / _BEGUN, text)
    os.rename(aside / _BEGUN, aside / _JOURNAL)
    settle(aside)
    for step in steps:
        if step.replaced:
            os.rename(folder / step.name, aside / _OLD / step.name)
        if step.sha256:
            take_mode(aside / _OLD / step.name, aside / NEW / step.name)
            os.rename(aside / NEW / step.name, folder / step.name)
    settle(folder)
    os.unlink(aside / _JOURNAL)
    committed(aside)


def undo(folder: Path, reads: Iterable[Path], aside: Path) -> None:
    """Put the old files back where an exchange was cut short, and remove what it left.

    A file that was changed since is left as it is. Raises OSError where that fails, ParseError for
    a journal that is damaged, FileError where ``aside`` holds something that no exchange left there
    or that is one of ``reads``: nothing is removed then.
    """
    refuse(kept_by_others(aside, ENTRIES, reads))
    if (aside / _JOURNAL).is_file():
        steps = read_json((aside / _JOURNAL).read_bytes(), _Journal, str(aside / _JOURNAL)).steps
        for step in steps:
            if step.name in ("", "..") or Path(step.name).name != step.name:
                raise ParseError(f"{aside / _JOURNAL} names {step.name!r}, which is not in its folder")
            _undo_step(folder / step.name, aside / _OLD / step.name, aside / NEW / step.name, step)
        settle(folder)
        os.unlink(aside / _JOURNAL)
    shutil.rmtree(aside)


def _undo_step(path: Path, old: Path, new: Path, step: _Step) -> None:
    # What is there may be the new file, or one that somebody wrote since.
    is_new = path.is_file() and not new.exists() and file_digest(path) == step.sha256
    if old.exists():
        if is_new or not os.path.lexists(path):
            os.replace(old, path)
    elif is_new and not step.replaced:
        os.unlink(path)
