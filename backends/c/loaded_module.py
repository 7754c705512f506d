"""A set of PrimFuncs compiled into one shared object.

``program.py`` writes the C files and says how their functions are called; here they are called.
What depends on constants alone is computed when the module is loaded, and kept.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from relay2relax.backends.c.asking import entry_function, process, share_pool
from relay2relax.backends.c.codegen.plan import byte_size
from relay2relax.backends.c.codegen.program import Entry, generate
from relay2relax.backends.c.codegen.threads import LOADED
from relay2relax.backends.c.fusion.bytes.spans import spans_of_arrays
from relay2relax.backends.c.kernel_call import (
    ConstantTable,
    KernelCall,
    Times,
    aligned_bytes,
    bytes_left,
    copy_back,
    count_steps,
    in_order,
    kernel_call,
    number_bits,
)
from relay2relax.backends.c.loading import MachineCode, load
from relay2relax.backends.c.outside import outside
from relay2relax.backends.c.relations import relations_check
from relay2relax.backends.c.toolchain import compile_object, find_compiler
from relay2relax.backends.numpy.binding import bind_call, check_apart, read_only
from relay2relax.backends.threads import thread_count
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.core.errors.table import running
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.ir.expr import Buffer
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

    def __init__(self, code: MachineCode, entries: Mapping[str, Entry], constants: Mapping[Buffer, Array]) -> None:
        """Load a shared object, and compute what depends on ``constants`` alone.

        ``name`` is its name in the cache.
        """
        self.name = code.name
        self.entries = entries
        self._functions: dict[str, Any] = {}
        self._constant_tables: dict[str, ConstantTable] = {}
        self._times: dict[str, Times] = {}
        self._calls: dict[str, KernelCall] = {}
        self._library = library = load(code)
        share_pool(library, thread_count())
        if any(entry.asks for entry in entries.values()):
            library["r2r_use_ask"](process().address("r2r_ask"))
        for name, entry in entries.items():
            self._functions[name] = entry_function(library, entry.symbol)
            self._constant_tables[name] = _prepare(library, entry, constants)
            self._times[name] = Times(len(entry.stages))

    def function(self, name: str) -> tuple[Entry, Any]:
        """Return what is known of the function ``name``, and its C entry."""
        if name not in self.entries:
            raise ExecutionError(f"the compiled module has no function {name!r}", kind=running.NO_FUNCTION)
        return self.entries[name], self._functions[name]

    def kept(self, name: str) -> tuple[Array, ...]:
        """Return the arrays that the function ``name`` reads on every call, in its order: constants
        as they came, then the memory of what was computed ahead.
        """
        return self._constant_tables[name].arrays

    @contextmanager
    def profiled(self) -> Iterator[None]:
        """Measure every stage of what runs inside; ``kernel_times`` says what was seen."""
        for times in self._times.values():
            times.wanted = True
        try:
            yield
        finally:
            for times in self._times.values():
                times.wanted = False

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
        return self.kernel_call(name).checked

    def kernel_call(self, name: str) -> KernelCall:
        """Return ``name`` as a function that looks at its arguments, and as one that does not.

        Whoever asks gets the same: its calls share their memory for temporaries.
        """
        entry, function = self.function(name)
        if name not in self._calls:
            failed = partial(outside, self._library, entry)
            self._calls[name] = kernel_call(entry, function, self._constant_tables[name], self._times[name], failed)
        return self._calls[name]

    def call(self, name: str, *arrays: Array, scalars: Sequence[float] = ()) -> None:
        """Run ``name`` on its inputs, then its outputs, which are written in place.

        Raises ExecutionError where an array does not fit its parameter.
        """
        entry, function = self.function(name)
        values = bind_call(entry.func, arrays, scalars)
        relations_check(entry)(values)
        for number in entry.written:
            if not arrays[number].flags.writeable:
                raise read_only(entry.func, number)
        check_apart(entry.func, arrays, entry.written)
        given = [in_order(array) for array in arrays]
        arena = aligned_bytes(integer(entry.arena.size, values), name)
        addresses = (ctypes.c_void_p * (len(given) + 1))(*(array.ctypes.data for array in given), arena.ctypes.data)
        count_steps(entry, integer(entry.steps, values))
        given_values = [*(number_bits(v, values[v]) for v in entry.variables), bytes_left()]
        numbers = (ctypes.c_int64 * len(given_values))(*given_values)
        place = function(addresses, numbers, self._constant_tables[name].table, None)
        if place:
            raise outside(self._library, entry, place)
        copy_back(entry, given, arrays)


def _prepare(library: ctypes.CDLL, entry: Entry, constants: Mapping[Buffer, Array]) -> ConstantTable:
    """Compute what an entry has computed ahead; return the table of what it keeps from then on."""
    memory = aligned_bytes(integer(entry.prepared.size, {}), entry.func.name)
    arrays = [np.ascontiguousarray(constants[buffer]) for buffer in entry.constants]
    if entry.ahead is not None:
        sources = [np.ascontiguousarray(constants[buffer]) for buffer in entry.sources]
        scratch = aligned_bytes(integer(entry.scratch.size, {}), entry.func.name)
        count_steps(entry, integer(entry.steps_ahead, {}))
        left = (ctypes.c_int64 * 1)(bytes_left())
        place = entry_function(library, entry.ahead)(None, left, _table([*sources, memory, scratch]), None)
        if place:
            raise outside(library, entry, place)
    table = _table([*arrays, memory])
    return ConstantTable((*arrays, memory), table, ctypes.addressof(table))


def _table(arrays: Sequence[Array]) -> Any:
    return (ctypes.c_void_p * len(arrays))(*(array.ctypes.data for array in arrays))


def compile_prim_funcs(
    funcs: Sequence[PrimFunc], constants: Mapping[Buffer, Array] | None = None, checked: bool = False
) -> CompiledModule:
    """Compile ``funcs`` (of distinct names) into one shared object and load it.

    ``constants`` are buffers of theirs. With ``checked`` every access looks whether it is inside.

    Raises UnsupportedError for what C cannot express (extern calls), CompilerError where the
    compiler is missing or refuses the code.
    """
    known = constants or {}
    units, entries = generate(funcs, find_compiler().machine, known, LOADED, checked, spans_of_arrays(known))
    return CompiledModule(compile_object(units), entries, known)
