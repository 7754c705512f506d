"""The functions of an exported library, called in this process."""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Sequence
from functools import partial

import numpy as np

from relay2relax.backends.c.loading import MachineCode, load
from relay2relax.backends.threads import thread_count
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import ExecutionError, ParseError

# Threads of a library's own wait in it from its first run on: it stays loaded.
_running: dict[int, ctypes.CDLL] = {}
_FAILED = {1: "memory is lacking", 2: "data name an element that a tensor does not have"}


class LoadedLibrary:
    """A model of an exported library whose shapes are numbers and whose weights are inside.

    One serves one thread at a time.
    """

    def __init__(self, code: MachineCode, name: str, outputs: Sequence[tuple[tuple[int, ...], str]]) -> None:
        """Load a shared object, which is run in this process from then on; it has the functions of
        ``NAME.h``, and gives ``outputs`` of these shapes and dtypes.

        Raises CompilerError where it does not load, ParseError where it has no such functions,
        ExecutionError where memory is lacking.
        """
        library = load(code)
        _running[library._handle] = library
        self._outputs = [(shape, numpy_dtype(dtype)) for shape, dtype in outputs]
        try:
            make, self._run, free = (library[f"{name}_{one}"] for one in ("load", "run", "free"))
            library[f"{name}_set_threads"](ctypes.c_int64(thread_count()))
        except AttributeError as error:
            raise ParseError(f"the library has no functions of a model {name!r}") from error
        make.restype = ctypes.c_void_p
        self._model = ctypes.c_void_p(make())
        if not self._model:
            raise ExecutionError("memory is lacking")
        weakref.finalize(self, partial(free, self._model))

    def __call__(self, *inputs: Array) -> tuple[Array, ...]:
        """Return the outputs for inputs of the shapes and dtypes of the header, which nobody checks
        here.

        Raises ExecutionError where memory is lacking, or data name an element that there is not.
        """
        given = [np.ascontiguousarray(one) for one in inputs]
        outputs = tuple(np.empty(shape, dtype) for shape, dtype in self._outputs)
        code = self._run(self._model, *(ctypes.c_void_p(one.ctypes.data) for one in (*given, *outputs)))
        if code:
            raise ExecutionError(_FAILED.get(code, "extents do not fit each other"))
        return outputs
