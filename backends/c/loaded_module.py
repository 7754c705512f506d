"""A set of PrimFuncs compiled into one shared object.

``program.py`` writes the C files and says how their functions are called; here they are called.
Temporaries live in an arena per thread. What depends on constants alone is computed when the module
is loaded, and kept.
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relay2relax.backends.c.codegen.plan import ALIGNMENT, byte_size
from relay2relax.backends.c.codegen.program import Entry, generate
from relay2relax.backends.c.toolchain import compile_object, find_compiler, load_object
from relay2relax.backends.numpy.binding import bind_call, read_only
from relay2relax.backends.threads import thread_count
from relay2relax.core.dtype import Array, is_float, numpy_dtype
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.tir.arith.evaluate import extent_function, integer
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Var
from relay2relax.tir.ir.stmt import PrimFunc


@dataclass(frozen=True, slots=True)
class KernelTime:
    """What one stage took in all: seconds, and the floating-point operations and bytes of memory it
    comes to.
    """

    function: str
    label: str
    seconds: float
    operations: int
    bytes: int


class CompiledModule:
    """PrimFuncs in machine code, called by name."""

    def __init__(self, path: Path, entries: Mapping[str, Entry], constants: Mapping[Buffer, Array]) -> None:
        """Load the shared object at ``path``, and compute what depends on ``constants`` alone."""
        self.path = path
        self.entries = entries
        self._functions: dict[str, Any] = {}
        self._constant_tables: dict[str, _ConstantTable] = {}
        self._times: dict[str, _Times] = {}
        self._profiling = False
        library = load_object(path)
        library.r2r_set_threads(ctypes.c_int64(thread_count()))
        for name, entry in entries.items():
            self._functions[name] = _bound(library, entry.symbol)
            self._constant_tables[name] = _prepare(library, entry, constants)
            self._times[name] = _Times(len(entry.stages))

    def function(self, name: str) -> tuple[Entry, Any]:
        """Return what is known of the function ``name``, and its C entry."""
        if name not in self.entries:
            raise ExecutionError(f"the compiled module has no function {name!r}", kind=running.NO_FUNCTION)
        return self.entries[name], self._functions[name]

    @contextmanager
    def profiled(self) -> Iterator[None]:
        """Measure every stage of what runs inside; ``kernel_times`` says what was seen."""
        self._profiling = True
        try:
            yield
        finally:
            self._profiling = False

    def kernel_times(self) -> list[KernelTime]:
        """Return what was measured, stage by stage in the order of the program, summed over all
        calls.
        """
        found = []
        for name, entry in self.entries.items():
            times = self._times[name]
            if not times.calls:
                continue
            values = dict(zip(entry.variables, times.values, strict=True))
            for number, stage in enumerate(entry.stages):
                operations, moved = (integer(one, values) * times.calls for one in (stage.operations, stage.bytes))
                found.append(KernelTime(name, stage.label, times.seconds[number + 1], operations, moved))
        return found

    def memory(self) -> str:
        """Return the memory plan as text: what every function keeps, and where its temporaries lie
        in the arena.

        Of temporaries it says from which stage to which they are wanted, in the order of
        ``kernel_times``. Sizes are bytes, in terms of symbolic extents where there are any.
        """
        lines = []
        for name, entry in self.entries.items():
            alive = "" if entry.variables else f", of which {entry.arena.most_alive({})} are wanted at once"
            lines.append(f"{name}: arena {entry.arena.size} bytes{alive}; computed ahead {entry.prepared.size} bytes")
            for buffer, offset in entry.prepared.offsets.items():
                lines.append(f"  ahead {offset}: {byte_size(buffer)} bytes, {buffer.name}")
            for buffer, offset in entry.arena.offsets.items():
                first, last = entry.arena.lifetimes[buffer]
                lines.append(f"  arena {offset}: {byte_size(buffer)} bytes, stages {first} to {last}, {buffer.name}")
        return "\n".join(lines)

    def kernel(self, name: str) -> Callable[..., None]:
        """Return ``name`` as a function of inputs, scalars and outputs.

        That raises ExecutionError, before anything runs, for what is no array of the parameter's
        dtype and shape.
        """
        entry, function = self.function(name)
        func = entry.func
        count = len(func.buffers)
        inputs, scalars = count - func.num_outputs, len(func.params) - count
        where = _dimensions(func, entry.variables[scalars:])
        state = _PerThread(func, len(entry.variables))
        places = {var: number for number, var in enumerate(entry.variables)}
        size = extent_function(entry.arena.size, places)
        table, times = self._constant_tables[name].address, self._times[name]
        floats = any(is_float(var.dtype) for var in entry.variables)
        written = frozenset(entry.written)

        def run(*args: Any) -> None:
            arrays = args if not scalars else (*args[:inputs], *args[inputs + scalars :])
            own = state.own
            if scalars and own.scalars != args[inputs : inputs + scalars]:
                own.fit(func, arrays, args[inputs : inputs + scalars])
            given, held, addresses, dtypes = own.arrays, own.held, own.addresses, own.dtypes
            for number, array in enumerate(arrays):
                # Inputs may come again and again: what is known of them is kept.
                if array is not given[number]:
                    # So are the shapes of all of them, which were compared with the parameters.
                    if (
                        type(array) is not np.ndarray
                        or array.dtype is not dtypes[number]
                        or array.shape != own.shapes[number]
                    ):
                        own.fit(func, arrays, args[inputs : inputs + scalars])
                    given[number] = array
                    # Such flags have arrays that are contiguous, aligned and writeable.
                    used = array if array.flags.carray else _in_order(array)
                    if number in written and not array.flags.writeable:
                        raise read_only(func, number)
                    held[number] = used
                    addresses[number] = used.__array_interface__["data"][0]
                elif array is not held[number]:
                    np.copyto(held[number], array)
            values = [*args[inputs : inputs + scalars], *[arrays[n].shape[d] for n, d in where]]
            if floats:
                values = [_number(var, value) for var, value in zip(entry.variables, values, strict=True)]
            # The extents of one call are mostly those of the one before.
            if values != own.last:
                own.numbers[: len(values)] = values
                own.reserve(size(values))
                own.last = values
            if self._profiling:
                times.calls, times.values = times.calls + 1, values
                function(own.places, own.values, table, times.seconds)
            else:
                function(own.places, own.values, table, None)
            for number in entry.written:
                # What is written may be an argument, whose memory may have another order than the
                # kernel's.
                if held[number] is not arrays[number]:
                    np.copyto(arrays[number], held[number])

        return run

    def call(self, name: str, *arrays: Array, scalars: Sequence[float] = ()) -> None:
        """Run ``name`` on its inputs, then its outputs, which are written in place.

        Raises ExecutionError where an array does not fit its parameter.
        """
        entry, function = self.function(name)
        values = bind_call(entry.func, arrays, scalars)
        first = len(arrays) - entry.func.num_outputs
        for number in entry.written:
            if not arrays[number].flags.writeable:
                raise read_only(entry.func, number)
        given = [_in_order(array) for array in arrays]
        arena = aligned_bytes(integer(entry.arena.size, values))
        addresses = (ctypes.c_void_p * (len(given) + 1))(*(array.ctypes.data for array in given), arena.ctypes.data)
        numbers = (ctypes.c_int64 * max(len(entry.variables), 1))(*(_number(v, values[v]) for v in entry.variables))
        function(addresses, numbers, self._constant_tables[name].table, None)
        for array, used in zip(arrays[first:], given[first:], strict=True):
            if used.ctypes.data != array.ctypes.data:
                array[...] = used


def _in_order(array: Array) -> Array:
    """Return ``array``, or a copy, whose elements lie in order where the processor reads them."""
    return array if array.flags.c_contiguous and array.flags.aligned else np.array(array, order="C")


def _dimensions(func: PrimFunc, variables: Sequence[Var]) -> list[tuple[int, int]]:
    """Return for each variable a buffer, by its number, and a dimension that is its extent."""
    found: dict[PrimExpr, tuple[int, int]] = {}
    for number, buffer in enumerate(func.buffers):
        for dimension, extent in enumerate(buffer.shape):
            if isinstance(extent, Var):
                found.setdefault(extent, (number, dimension))
    return [found[var] for var in variables]


def _number(var: Var, value: float) -> int:
    """Return a scalar as the integer that is passed: itself, or the bits of a floating-point
    number.
    """
    if not is_float(var.dtype):
        return int(value)
    return int(np.float64(value).view(np.int64))


def _bound(library: ctypes.CDLL, symbol: str) -> Any:
    function = getattr(library, symbol)
    function.argtypes = (ctypes.c_void_p,) * 4
    function.restype = None
    return function


def _prepare(library: ctypes.CDLL, entry: Entry, constants: Mapping[Buffer, Array]) -> _ConstantTable:
    """Compute what an entry has computed ahead; return the table of what it keeps from then on."""
    memory = aligned_bytes(integer(entry.prepared.size, {}))
    arrays = [np.ascontiguousarray(constants[buffer]) for buffer in entry.constants]
    if entry.ahead is not None:
        sources = [np.ascontiguousarray(constants[buffer]) for buffer in entry.sources]
        scratch = aligned_bytes(integer(entry.scratch.size, {}))
        _bound(library, entry.ahead)(None, None, _table([*sources, memory, scratch]), None)
    return _ConstantTable((*arrays, memory), _table([*arrays, memory]))


def _table(arrays: Sequence[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


@dataclass(frozen=True, slots=True)
class _ConstantTable:
    """Arrays that a function reads on every call, and their addresses."""

    arrays: tuple[Array, ...]
    table: Any

    @property
    def address(self) -> int:
        """Where the table is."""
        return ctypes.addressof(self.table)


class _Times:
    """Seconds by stage over so many calls, behind one place for the clock.

    ``values`` of the last call's variables.
    """

    def __init__(self, stages: int) -> None:
        self.seconds = (ctypes.c_double * (stages + 1))()
        self.calls = 0
        self.values: list[int] = []


class _CallState:
    """What one thread keeps from call to call of one function: argument blocks, and memory for
    temporaries.
    """

    def __init__(self, func: PrimFunc, variables: int) -> None:
        arrays = len(func.buffers)
        # Nothing yet: not even None, which nobody shall pass.
        self.arrays: list[Any] = [self] * arrays
        self.dtypes = [numpy_dtype(buffer.dtype) for buffer in func.buffers]
        # Shapes, and scalars, that are known to fit together.
        self.shapes: list[tuple[int, ...] | None] = [None] * arrays
        self.scalars: tuple[Any, ...] = ()
        # What was passed in the end: the array itself, or a contiguous copy of it.
        self.held: list[Any] = [None] * arrays
        self.addresses = (ctypes.c_void_p * (arrays + 1))()
        self.numbers = (ctypes.c_int64 * max(variables, 1))()
        self.places, self.values = ctypes.addressof(self.addresses), ctypes.addressof(self.numbers)
        self.last: list[int] | None = None
        self._memory = aligned_bytes(0)
        self._size = -1

    def fit(self, func: PrimFunc, arrays: Sequence[Any], scalars: tuple[Any, ...]) -> None:
        """See that arguments fit the parameters and each other, and remember their shapes.

        Raises ExecutionError naming function, parameter and dimension where they do not.
        """
        bind_call(func, arrays, scalars)
        self.shapes = [array.shape for array in arrays]
        self.scalars = scalars

    def reserve(self, size: int) -> None:
        """See that the arena has ``size`` bytes."""
        if self._size < size:
            self._memory, self._size = aligned_bytes(size), size
            self.addresses[len(self.arrays)] = int(self._memory.ctypes.data)


class _PerThread(threading.local):
    """One :class:`_CallState` for each thread."""

    def __init__(self, func: PrimFunc, variables: int) -> None:
        self.own = _CallState(func, variables)


def aligned_bytes(size: int) -> Array:
    """Return ``size`` bytes of memory whose address suits the widest vector."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def compile_prim_funcs(funcs: Sequence[PrimFunc], constants: Mapping[Buffer, Array] | None = None) -> CompiledModule:
    """Compile ``funcs`` (of distinct names) into one shared object and load it.

    ``constants`` are buffers of theirs.

    Raises UnsupportedError for what C cannot express (extern calls), CompilerError where the
    compiler is missing or refuses the code.
    """
    known = constants or {}
    units, entries = generate(funcs, find_compiler().machine, known)
    return CompiledModule(compile_object(units), entries, known)
