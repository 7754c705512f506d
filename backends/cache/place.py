"""Which folder keeps builds, and whether it may be used.

What lies there is loaded as machine code, so only this user, or the administrator, may be able to
put it there.
"""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path

VARIABLE = "RELAY2RELAX_CACHE"
_WRITABLE_BY_OTHERS = stat.S_IWGRP | stat.S_IWOTH


@dataclass(frozen=True, slots=True)
class Place:
    """The folder of the cache; ``problem`` says why it is not used, "" where it is."""

    folder: Path | None
    problem: str = ""

    def __str__(self) -> str:
        return "no folder" if self.folder is None else str(self.folder)


def find_place() -> Place:
    """Return the folder of the cache, made where it was missing: ``RELAY2RELAX_CACHE``, else the
    user's cache folder.
    """
    written = os.environ.get(VARIABLE, "") or _user_folder()
    expanded = os.path.expanduser(written) if written else ""
    if not expanded:
        return Place(None, "the user has no home folder")
    if expanded.startswith("~"):
        return Place(None, f"the home folder of {expanded.split(os.sep)[0]!r} is not known")
    # Entries are found wherever the process goes later.
    folder = Path(os.path.abspath(expanded))
    return Place(folder, _problem(folder))


def _user_folder() -> str:
    """Return the cache folder of the user, "" for one who has no home."""
    import platformdirs

    if not os.path.isabs(os.path.expanduser("~")):
        return ""
    try:
        return platformdirs.user_cache_dir("relay2relax", appauthor=False)
    except RuntimeError:
        return ""


def _problem(folder: Path) -> str:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        found = folder.stat()
    except (OSError, ValueError) as error:
        return f"it cannot be made: {getattr(error, 'strerror', None) or error}"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder"
    return owner_problem(found) or _problem_above(folder)


def _problem_above(folder: Path) -> str:
    """Return which folder above lets everyone put another in the place of ``folder``, "" where
    none does.
    """
    if hasattr(os, "geteuid"):
        for above in Path(os.path.realpath(folder)).parents:
            mode = above.stat().st_mode
            # In a sticky folder, such as /tmp, names belong to who made them.
            if mode & stat.S_IWOTH and not mode & stat.S_ISVTX:
                return f"everyone may write to {above}, and so exchange it; chmod o-w {above} forbids that"
    return ""


def owner_problem(found: os.stat_result) -> str:
    """Return why somebody else may have put something there, "" where nobody can have."""
    if not hasattr(os, "geteuid"):
        return ""
    if found.st_uid not in (os.geteuid(), 0):
        return f"it belongs to the user of number {found.st_uid}"
    if found.st_mode & _WRITABLE_BY_OTHERS:
        return "others may write to it; chmod go-w makes it this user's alone"
    return ""
