"""Compiled functions that run long ask now and then whether they are to end.

Their loops call ``r2r_ended`` (``codegen/threads.py``), which asks Python twenty times a second, in
the thread that called: limits around the call are looked at, and in the main thread handlers of
signals run, Ctrl-C among them. What that raises ends the call, and is raised behind it.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NoReturn

from relay2relax.backends.c.codegen.threads import PROCESS
from relay2relax.backends.c.loading import load
from relay2relax.backends.c.toolchain import compile_object
from relay2relax.backends.c.unit import Unit
from relay2relax.core.limits import check

# Functions of Python's own interface, in the order of the structure in C.
_PYTHON = (
    "PyGILState_Ensure", "PyGILState_Release", "PyObject_CallNoArgs", "Py_DecRef", "PyErr_Fetch", "PyErr_Restore",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Process:
    """What compiled objects of one process share: the functions of :data:`PROCESS`."""

    library: ctypes.CDLL
    question: object

    def address(self, name: str) -> ctypes.c_void_p:
        """Return where a function is."""
        return ctypes.cast(self.library[name], ctypes.c_void_p)


@lru_cache(maxsize=None)
def process() -> Process:
    """Return what this process has, which is never unloaded."""
    library = load(compile_object([Unit(PROCESS, runs_once=True)]))

    def question() -> None:
        check()

    addresses = [ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value for name in _PYTHON]
    library["r2r_use_python"]((ctypes.c_void_p * (len(_PYTHON) + 1))(*addresses, id(question)))
    return Process(library, question)


def share_pool(library: ctypes.CDLL, threads: int) -> None:
    """Let the loops of an object, where it has any, run on so many threads."""
    try:
        use_pool = library["r2r_use_pool"]
    except AttributeError:
        return
    use_pool(process().address("r2r_share") if threads > 1 else None, ctypes.c_int64(threads))


def entry_function(library: ctypes.CDLL, symbol: str) -> Any:
    """Return the C function of an entry, which takes four tables and returns a number."""
    function = library[symbol]
    function.argtypes = (ctypes.c_void_p,) * 4
    function.restype = ctypes.c_int64
    return function


def raise_answer() -> NoReturn:
    """Raise what the answer was to the question with which a function of this thread has ended."""
    ctypes.PYFUNCTYPE(None)(process().address("r2r_raise").value or 0)()
    raise AssertionError("a function ended without an answer")
