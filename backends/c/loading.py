"""Machine code in this process: loaded from a copy of its own, unloaded when nobody calls it.

Code is mapped from a file and read when it runs. So what is loaded is a private copy of bytes that
were checked, in memory where the system has such files: nothing that happens to the cache
afterwards changes code that runs, and the cache may lie where no code may be run.
"""

from __future__ import annotations

import _ctypes
import ctypes
import hashlib
import os
import sys
import tempfile
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from relay2relax.backends.cache import open_store
from relay2relax.core.errors import CompilerError, Diagnostic

_HELP = "let TMPDIR, or RELAY2RELAX_CACHE, name a folder of a disk from which programs may be run"
_numbers = count(1)
_loaded: weakref.WeakValueDictionary[str, ctypes.CDLL] = weakref.WeakValueDictionary()
_lock = threading.Lock()


@dataclass(frozen=True, slots=True)
class MachineCode:
    """A shared object: its name in the cache, and its bytes."""

    name: str
    content: bytes


def load(code: MachineCode) -> ctypes.CDLL:
    """Return the loaded object, the same one for the same bytes.

    It is unloaded when neither it nor a function that was asked of it (``library["name"]``) is
    referred to any more. Raises CompilerError where it does not load.
    """
    digest = hashlib.sha256(code.content).hexdigest()
    with _lock:
        library = _loaded.get(digest)
        if library is None:
            library = _loaded[digest] = _load(code)
    return library


def _load(code: MachineCode) -> ctypes.CDLL:
    problems = []
    for place in (_memory_file, _cache_file, _temporary_file):
        try:
            with place(code) as path:
                library = ctypes.CDLL(path)
        except (OSError, AttributeError) as error:
            problems.append(str(error))
            continue
        # Not at the end of the process: other threads may still run.
        weakref.finalize(library, _unload(), library._handle).atexit = False
        return library
    raise CompilerError(Diagnostic("the compiled object does not load", notes=tuple(problems), help=_HELP))


def _unload() -> Callable[[int], object]:
    if sys.platform == "win32":
        return _ctypes.FreeLibrary
    return _ctypes.dlclose


@contextmanager
def _memory_file(code: MachineCode) -> Iterator[str]:
    """Yield a path to a file that has no place on any disk; AttributeError where there are none."""
    handle = os.memfd_create(code.name)
    try:
        with os.fdopen(os.dup(handle), "wb") as stream:
            stream.write(code.content)
        # The loader takes a path that it knows for what it has loaded from there, and numbers of
        # files come again. A path with other empty steps is another one, to the same file.
        steps = "".join("./" if digit == "1" else "/" for digit in f"{next(_numbers):b}")
        yield f"/proc/self/fd/{steps}{handle}"
    finally:
        os.close(handle)


@contextmanager
def _cache_file(code: MachineCode) -> Iterator[str]:
    with open_store().work() as folder:
        yield _written(folder, code)


@contextmanager
def _temporary_file(code: MachineCode) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="relay2relax-", ignore_cleanup_errors=True) as folder:
        yield _written(Path(folder), code)


def _written(folder: Path, code: MachineCode) -> str:
    path = folder / code.name
    path.write_bytes(code.content)
    return str(path)
