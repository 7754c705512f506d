"""A program that runs at once where its arguments are what it was made for.

The only thing done for these is the call. What else may be given (an array in another order, of
another dtype, too few arguments), what runs within limits, and a call that ends early go to the
whole program, made by whoever opened it, which converts, counts, and says what is wrong.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relay2relax.backends.c.asking import entry_function, process, raise_answer, share_pool
from relay2relax.backends.c.codegen.threads import STOPPED
from relay2relax.backends.c.loading import MachineCode, load
from relay2relax.backends.ready.document import Document
from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.limits import active, out_of_memory

ALIGNMENT = 64
_BYTE = np.dtype(np.uint8)


@dataclass(frozen=True, slots=True)
class Input:
    """A parameter of a program: its name, shape and dtype."""

    name: str
    shape: tuple[int, ...]
    dtype: str


class Kernel:
    """Machine code that is called on arrays which fit it."""

    def __init__(self, document: Document, code: bytes, weights: memoryview | None, threads: int) -> None:
        """Load the code; it reads ``weights`` where they are.

        Raises CompilerError where it does not load.
        """
        self._library = load(MachineCode(document.library, code))
        self._weights = weights
        share_pool(self._library, threads)
        if document.asks:
            self._library["r2r_use_ask"](process().address("r2r_ask"))
        self._function = entry_function(self._library, document.symbol)
        base = 0 if weights is None else np.frombuffer(weights, _BYTE).ctypes.data
        self._table = (ctypes.c_void_p * len(document.constants))(*(base + one for one in document.constants))
        self._results = [(one.shape, numpy_dtype(one.dtype)) for one in document.results]
        self._pack = struct.Struct(f"{len(document.inputs) + len(self._results) + 1}P").pack
        self._size = document.arena + ALIGNMENT
        # A call takes an arena, and gives it back: calls may run beside each other.
        self._arenas: list[Array] = []

    def __call__(self, given: Sequence[Array]) -> tuple[Array, ...] | None:
        """Return the results, None where data name an element that there is not.

        Raises OutOfMemoryError where memory is lacking, and what a handler of a signal raised.
        """
        try:
            results = tuple([np.empty(*one) for one in self._results])
            arena = self._arenas.pop() if self._arenas else empty((self._size,), _BYTE, lambda: "temporaries")
        except MemoryError as problem:
            raise out_of_memory("the results of a program", problem) from problem
        addresses = [one.__array_interface__["data"][0] for one in (*given, *results, arena)]
        addresses[-1] += -addresses[-1] % ALIGNMENT
        place = self._function(self._pack(*addresses), None, self._table, None)
        self._arenas.append(arena)
        if place == STOPPED:
            raise_answer()
        return None if place else results


@dataclass(frozen=True, slots=True)
class Ready:
    """A program in machine code: ``document`` says what it takes and gives, ``kernel`` runs it."""

    document: Document
    kernel: Kernel

    def run(self, given: Sequence[Array]) -> Any:
        """Return what the program computes of arrays that fit it, as the virtual machine returns
        it; None where data name an element that there is not.
        """
        found, order = self.kernel(given), self.document.order
        if found is None or order is None:
            return found and found[0]
        return tuple([found[number] for number in order])


@dataclass(slots=True)
class Program:
    """The function of a model: ``program(*arrays)``, or by the names of its inputs.

    ``whole`` makes the function that the virtual machine runs; it is asked for where there is
    nothing ``ready``, and for what that does not take.
    """

    whole: Callable[[], Callable[..., Any]]
    ready: Ready | None = None
    _function: Callable[..., Any] | None = field(default=None, repr=False)

    @property
    def inputs(self) -> tuple[Input, ...] | None:
        """Shapes and dtypes of the inputs; None where they are known only to the whole program."""
        if self.ready is None:
            return None
        return tuple(Input(one.name, one.shape, one.dtype) for one in self.ready.document.inputs)

    def __call__(self, *args: Any, **named: Any) -> Any:
        """Return what the model computes: an array, or a tuple of them; they share memory with
        nothing.

        Raises ExecutionError as a function of the virtual machine does, for arguments that do not
        fit and for data that name an element which a tensor does not have.
        """
        if self.ready is not None and active() is None:
            given = _in_order(self.ready.document, args, named)
            found = None if given is None else self.ready.run(given)
            if found is not None:
                return found
        if self._function is None:
            self._function = self.whole()
        return self._function(*args, **named)


def _in_order(document: Document, args: Sequence[Any], named: dict[str, Any]) -> list[Array] | None:
    """Return the arguments in the order of the parameters, None where one does not fit as it is."""
    rest = document.inputs[len(args) :]
    if len(args) + len(named) != len(document.inputs) or any(one.name not in named for one in rest):
        return None
    given = [*args, *(named[one.name] for one in rest)]
    for value, wanted in zip(given, document.inputs, strict=True):
        if type(value) is not np.ndarray or value.shape != wanted.shape or value.dtype != numpy_dtype(wanted.dtype):
            return None
        if not value.flags.c_contiguous or not value.flags.aligned:
            return None
    return given
