"""What a run left that was killed, told from what others keep under such a name.

Only the former may be removed: a folder of ours lists its files, or holds files of the names that
are about to be written.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Collection, Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from relay2relax.core.errors import Diagnostic, mistake
from relay2relax.core.errors.table import files
from relay2relax.core.output.manifest import MANIFEST, read_manifest
from relay2relax.core.output.sacred import is_read, refuse


def is_folder(path: Path) -> bool:
    """Whether a folder is at ``path``, and no link to one."""
    return path.is_dir() and not path.is_symlink()


def kept_by_others(path: Path, own: Collection[str], reads: Iterable[Path]) -> Iterator[Diagnostic]:
    """Yield why what is at ``path`` must not be removed: it is read, or holds something that is
    none of ``own``, the names that a run may have left there.

    Raises OSError where it cannot be looked at.
    """
    if not is_folder(path):
        problem = is_read(path, reads, path)
        if problem is not None:
            yield problem
        return
    others = sorted(path / name for name in set(os.listdir(path)).difference(own))
    if others:
        lost = mistake(files.OVERWRITE, path=", ".join(map(str, others)), why=f"{path} is where outputs are made")
        yield replace(lost, help="move it away, or write somewhere else, with --out", file=str(others[0]))
    for above, _, names in os.walk(path):
        for name in names:
            problem = is_read(Path(above, name), reads, Path(above, name))
            if problem is not None:
                yield problem


def own_names(path: Path, names: Iterable[str]) -> set[str]:
    """Return the names of what a run that writes files of ``names`` into a folder may have left in
    ``path``: these, and what the folder itself lists.
    """
    listed = read_manifest(path) if is_folder(path) else None
    return {*names, MANIFEST, *(listed or ())}


def remove(path: Path, names: Iterable[str], reads: Iterable[Path]) -> None:
    """Remove what a run left at ``path``, a file, or a folder with files of ``names``.

    Raises FileError where somebody else keeps something there, OSError where that fails.
    """
    refuse(kept_by_others(path, own_names(path, names), reads))
    if is_folder(path):
        shutil.rmtree(path)
    else:
        path.unlink()
