"""What this package is: an entry serves the sources that made it, and no others.

Whether a file is the same is told by its size and by when it was changed, as Python tells whether
what it has compiled still fits. Reading a thousand files takes longer than loading a program.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from functools import lru_cache
from importlib.util import find_spec

import numpy as np

from relay2relax.core import IMPORTED

_PACKAGE = __name__.partition(".")[0]


@lru_cache(maxsize=None)
def sources_digest(packages: tuple[str, ...]) -> str | None:
    """Return a hash of the sources of these packages, None where they are not those that were
    loaded, or are no files.
    """
    key = hashlib.sha256(f"{sys.version} {np.__version__}".encode())
    count = 0
    for package in packages:
        found = find_spec(f"{_PACKAGE}.{package}")
        for folder in (found and found.submodule_search_locations) or ():
            for name, about in _sources(folder):
                if about.st_mtime > IMPORTED:
                    return None
                key.update(f"{package} {name} {about.st_size} {about.st_mtime_ns}\n".encode())
                count += 1
    return key.hexdigest() if count else None


def _sources(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """Yield the sources in a folder, by their path from there, and what the system says of them."""
    folders = [root]
    while folders:
        with os.scandir(folders.pop()) as there:
            found = sorted(there, key=lambda one: one.name)
        for one in found:
            if one.is_dir():
                folders.append(one.path)
            elif one.name.endswith(".py"):
                yield one.path[len(root) :], one.stat()
