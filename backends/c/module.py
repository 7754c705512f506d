"""A set of PrimFuncs compiled into one shared object.

A PrimFunc becomes one exported C function that calls one C function per stage, in order; stages that print
alike share it. Temporaries live in an arena that the caller brings. An entry takes an array of addresses (the
parameters' buffers, then the arena) and an array of the variables' values."""

from __future__ import annotations

import ctypes
import os
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.backends.binding import bind_call, extent_function, integer
from relay2relax.backends.c.codegen import argument_names, stage_kernel
from relay2relax.backends.c.compile import find_compiler, load_library, processors
from relay2relax.backends.c.header import HEADER
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.plan import ALIGNMENT, Arena, plan_memory
from relay2relax.backends.c.schedule import schedule
from relay2relax.backends.c.threads import DECLARATION, POOL
from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExecutionError
from relay2relax.tir.expr import Binary, Buffer, IntImm, PrimExpr, Var
from relay2relax.tir.stmt import PrimFunc
from relay2relax.tir.visit import shape_variables

# Kernels of this much text make one file; files are compiled side by side.
_UNIT_CHARACTERS = 24000


@dataclass(frozen=True, slots=True)
class Entry:
    """How the C function of one PrimFunc is called."""

    func: PrimFunc
    symbol: str
    variables: tuple[Var, ...]
    arena: Arena


class CompiledModule:
    """PrimFuncs in machine code, called by name."""

    def __init__(self, library: ctypes.CDLL, entries: Mapping[str, Entry]) -> None:
        self._entries = entries
        self._functions: dict[str, Any] = {}
        for name, entry in entries.items():
            function = getattr(library, entry.symbol)
            function.argtypes = (ctypes.c_void_p, ctypes.c_void_p)
            function.restype = None
            self._functions[name] = function

    def function(self, name: str) -> tuple[Entry, Any]:
        """Return what is known of the function ``name``, and its C entry."""
        if name not in self._entries:
            raise ExecutionError(f"the compiled module has no function {name!r}")
        return self._entries[name], self._functions[name]

    def kernel(self, name: str) -> Callable[..., None]:
        """Return ``name`` as a function of inputs, scalars and outputs, all of the right shapes."""
        entry, function = self.function(name)
        func = entry.func
        count = len(func.buffers)
        inputs, scalars = count - func.num_outputs, len(func.params) - count
        where = [
            next((n, d) for n, b in enumerate(func.buffers) for d, e in enumerate(b.shape) if e is var)
            for var in entry.variables[scalars:]
        ]
        state = _State(count, len(entry.variables))
        places = {var: number for number, var in enumerate(entry.variables)}
        size = extent_function(entry.arena.size, places)

        def run(*args: Any) -> None:
            arrays = (*args[:inputs], *args[inputs + scalars :])
            given, addresses, numbers = state.arrays, state.addresses, state.numbers
            values = [*args[inputs : inputs + scalars], *(arrays[n].shape[d] for n, d in where)]
            for number, array in enumerate(arrays):
                # Weights come again and again: what is known of them is kept.
                if array is not given[number]:
                    given[number] = array
                    state.held[number] = held = array if array.flags.c_contiguous else np.ascontiguousarray(array)
                    addresses[number] = held.__array_interface__["data"][0]
                elif array is not state.held[number]:
                    np.copyto(state.held[number], array)
            addresses[count] = state.arena(size(values))
            for number, value in enumerate(values):
                numbers[number] = value
            function(addresses, numbers)

        return run

    def call(self, name: str, *arrays: Array, scalars: Sequence[int] = ()) -> None:
        """Run ``name`` on its inputs, then its outputs, which are written in place.

        Raises ExecutionError where an array does not fit its parameter.
        """
        entry, function = self.function(name)
        values = bind_call(entry.func, arrays, scalars)
        first = len(arrays) - entry.func.num_outputs
        given = [np.ascontiguousarray(array).reshape(array.shape) for array in arrays]
        arena = aligned_bytes(integer(entry.arena.size, values))
        addresses = (ctypes.c_void_p * (len(given) + 1))(*(array.ctypes.data for array in given), arena.ctypes.data)
        numbers = (ctypes.c_int64 * max(len(entry.variables), 1))(*(values[v] for v in entry.variables))
        function(addresses, numbers)
        for array, used in zip(arrays[first:], given[first:], strict=True):
            if used.ctypes.data != array.ctypes.data:
                array[...] = used


class _State(threading.local):
    """What one thread keeps from call to call of one function: argument blocks, and memory for temporaries."""

    def __init__(self, arrays: int, variables: int) -> None:
        self.arrays: list[Any] = [None] * arrays
        # What was passed in the end: the array itself, or a contiguous copy of it.
        self.held: list[Any] = [None] * arrays
        self.addresses = (ctypes.c_void_p * (arrays + 1))()
        self.numbers = (ctypes.c_int64 * max(variables, 1))()
        self._memory = aligned_bytes(0)
        self._address = 0

    def arena(self, size: int) -> int:
        """Return where ``size`` bytes are."""
        if self._memory.size < size or not self._address:
            self._memory = aligned_bytes(size)
            self._address = int(self._memory.ctypes.data)
        return self._address


def aligned_bytes(size: int) -> Array:
    """Return ``size`` bytes of memory whose address suits the widest vector."""
    memory = np.empty(size + ALIGNMENT, np.uint8)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


def compile_prim_funcs(funcs: Sequence[PrimFunc]) -> CompiledModule:
    """Compile ``funcs`` (of distinct names) into one shared object and load it.

    Raises UnsupportedError for what C cannot express (float16, extern calls), CompilerError where the
    compiler is missing or refuses the code."""
    units, entries = generate(funcs, find_compiler().machine)
    library = load_library(units)
    library.r2r_set_threads(ctypes.c_int64(thread_count()))
    return CompiledModule(library, entries)


def thread_count() -> int:
    """Return how many threads a module uses: ``RELAY2RELAX_THREADS``, else as many as the process has processors.

    Raises ExecutionError where the variable is no positive number.
    """
    given = os.environ.get("RELAY2RELAX_THREADS", "")
    if not given:
        return processors()
    if not given.isdecimal() or int(given) < 1:
        raise ExecutionError(f"RELAY2RELAX_THREADS is {given!r}, expected a positive number")
    return int(given)


def generate(funcs: Sequence[PrimFunc], machine: Machine) -> tuple[list[str], dict[str, Entry]]:
    """Return the C files of ``funcs``, and by name how each is called."""
    kernels: dict[str, tuple[str, str]] = {}
    bodies: list[str] = []
    entries: dict[str, Entry] = {}
    for number, func in enumerate(funcs):
        entry, body = _entry(func, f"r2r_entry_{number}", kernels, machine)
        if func.name in entries:
            raise ExecutionError(f"two functions are called {func.name!r}")
        entries[func.name] = entry
        bodies.append(body)
    head = HEADER + DECLARATION
    units: list[list[str]] = [[]]
    size = 0
    for text, (name, _) in kernels.items():
        size += len(text)
        if size > _UNIT_CHARACTERS and units[-1]:
            units.append([])
            size = len(text)
        units[-1].append(text.replace("@", name))
    declarations = [declaration.replace("@", name) for name, declaration in kernels.values()]
    texts = ["\n\n".join([head, *unit]) + "\n" for unit in units if unit]
    return [*texts, "\n\n".join([head, POOL, *declarations, *bodies]) + "\n"], entries


def _entry(func: PrimFunc, symbol: str, kernels: dict[str, tuple[str, str]], machine: Machine) -> tuple[Entry, str]:
    params = func.buffers
    extents = shape_variables([*params, *func.root_buffers])
    scheduled = schedule(func, machine)
    stages = [stage_kernel(stage, extents, scheduled.memory) for stage in scheduled.stages]
    lifetimes: dict[Buffer, tuple[int, int]] = {}
    for step, kernel in enumerate(stages):
        for buffer in kernel.buffers:
            if buffer not in params:
                lifetimes[buffer] = (lifetimes.get(buffer, (step, step))[0], step)
    arena = plan_memory(lifetimes)
    scalars = [p for p in func.params if p not in func.buffer_map]
    variables = tuple(dict.fromkeys([*scalars, *(e for b in params for e in b.shape if isinstance(e, Var))]))
    names = {var: f"n{number}" for number, var in enumerate(variables)}
    lines = [f"R2R_EXPORT void {symbol}(void* const* a, const int64_t* s) {{"]
    lines += [f"  const int64_t {name} = s[{number}];" for number, name in enumerate(names.values())]
    places = {buffer: f"a[{number}]" for number, buffer in enumerate(params)}
    for buffer, offset in arena.offsets.items():
        places[buffer] = f"(char*)a[{len(params)}] + {_size_text(offset, names)}"
    for kernel in stages:
        name, _ = kernels.setdefault(kernel.text, (f"r2r_stage_{len(kernels)}", kernel.declaration))
        lines.append(f"  {name}({argument_names(kernel, places, names)});")
    lines.append("}")
    return Entry(func, symbol, variables, arena), "\n".join(lines)


def _size_text(size: PrimExpr, names: Mapping[Var, str]) -> str:
    match size:
        case IntImm(value):
            return str(value)
        case Var():
            return names[size]
        case Binary(("+" | "-" | "*") as op, a, b):
            return f"({_size_text(a, names)} {op} {_size_text(b, names)})"
        case Binary(("//" | "%") as op, a, b):
            # Simplification may leave a negative part to divide, of a size that is not.
            name = "r2r_floordiv_int64_t" if op == "//" else "r2r_floormod_int64_t"
            return f"{name}({_size_text(a, names)}, {_size_text(b, names)})"
        case Binary(("min" | "max") as op, a, b):
            left, right = _size_text(a, names), _size_text(b, names)
            return f"({left} {'<' if op == 'min' else '>'} {right} ? {left} : {right})"
    raise ExecutionError(f"{size!r} is not an extent")
