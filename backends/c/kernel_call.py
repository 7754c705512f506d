"""One call of a compiled function: its arguments are checked, laid out, and belong to that call.

A signal handler, another thread, or a function that is called back may call the same function at
any moment. So what a call writes is its own: the tables that C reads are made anew, and the memory
of temporaries is taken from a shelf for as long as the call lasts. What is remembered from call to
call is never changed, only replaced as a whole: which shapes fit, and what follows from values of
extents. Addresses are asked for at every call, for an array may have got other memory since.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from operator import and_, attrgetter
from typing import Any, TypeAlias, Union

import numpy as np

from relay2relax.backends.c.codegen.plan import ALIGNMENT
from relay2relax.backends.c.codegen.program import ANY_SIZE, Entry
from relay2relax.backends.c.relations import relations_check
from relay2relax.backends.numpy.binding import bind_call, check_apart, read_only
from relay2relax.core.arrays import empty
from relay2relax.core.dtype import Array, is_float, numpy_dtype
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.limits import active
from relay2relax.tir.arith.evaluate import extent_function
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import PrimFunc

_BYTE = np.dtype(np.uint8)
# The C function of an entry: parameters, values of variables, constants, seconds by stage or None.
# It returns 0, or the number of the place at which it ended early.
EntryFunction: TypeAlias = Callable[[bytes, Union[bytes, None], int, Any], int]
# Steps of a call that are looked at.
_COUNTED = 1 << 20
# So many arenas are kept for calls to come: one for each call that runs at a time.
_MOST_ARENAS = 64

_first_byte = ctypes.c_char.from_buffer
_address_of = ctypes.addressof
# What must be as it was for an array to fit again.
_facts = attrgetter("__class__", "dtype", "shape")


@dataclass(frozen=True, slots=True)
class ConstantTable:
    """Arrays that a function reads on every call, the table of their addresses, and where it is."""

    arrays: tuple[Array, ...]
    table: Any
    address: int


class Times:
    """Seconds by stage over so many calls, behind one place for the clock.

    ``values`` of the last call's variables. Calls are measured while ``wanted``.
    """

    def __init__(self, stages: int) -> None:
        self.wanted = False
        self.seconds = [0.0] * (stages + 1)
        self.calls = 0
        self.values: list[int] = []

    def add(self, measured: Sequence[float], values: list[int]) -> None:
        """Count one more call, whose seconds by stage were ``measured``."""
        self.seconds = [sum(pair) for pair in zip(self.seconds, measured, strict=True)]
        self.calls, self.values = self.calls + 1, values


# A piece of memory for temporaries: its size, its address, and what holds it.
_Piece: TypeAlias = tuple[int, int, Array]


def _new_piece(size: int, function: str) -> _Piece:
    memory = aligned_bytes(size, function)
    return size, memory.ctypes.data, memory


@dataclass(frozen=True, slots=True)
class KernelCall:
    """A kernel as a function of inputs, scalars and outputs: one that looks whether these fit, and
    one for callers that have seen it take arguments of the same types and shapes.
    """

    checked: Callable[..., None]
    fitting: Callable[..., None]


@dataclass(frozen=True, slots=True)
class _Values:
    """Values of the variables of a call, the table of them that C reads, the arena's size, and how
    many steps the loops take.
    """

    values: list[int]
    table: bytes | None
    arena: int
    steps: int


def kernel_call(
    entry: Entry,
    function: EntryFunction,
    constants: ConstantTable,
    times: Times,
    outside: Callable[[int], Relay2RelaxError],
) -> KernelCall:
    """Return ``entry`` as a function of inputs, scalars and outputs.

    That raises ExecutionError, before anything runs, for what is no array of the parameter's dtype
    and shape, for extents that do not fit each other, and for an array that would be written and is
    only to be read. It raises what ``outside`` returns where the function ended early.
    """
    func = entry.func
    count = len(func.buffers)
    inputs, scalars = count - func.num_outputs, len(func.params) - count
    variables = entry.variables
    where = _dimensions(func, variables[scalars:])
    # Bits that are zero in addresses that the processor reads as they are.
    unaligned = [numpy_dtype(buffer.dtype).alignment - 1 for buffer in func.buffers]
    pack = struct.Struct(f"{count + 1}P").pack
    pack_numbers = struct.Struct(f"{len(variables) + 1}q").pack
    values_of, stages = _values_of(entry), len(entry.stages) + 1
    # A call takes a piece, and gives it back: calls may run inside each other, and beside.
    free: list[_Piece] = []
    check = relations_check(entry)
    # Arrays and scalars of these kinds and shapes fit; what followed from the last extents.
    known: tuple[list[Any] | None, tuple[Any, ...]] = None, ()
    last = values_of([]) if not variables else _Values([], None, 0, 0)
    # Within limits, what takes many steps is counted; of the rest the machine counts the calls.
    counted = not isinstance(entry.steps, IntImm) or entry.steps.value >= _COUNTED

    def checked(*args: Any) -> None:
        nonlocal known
        arrays, given = args, ()
        if scalars:
            arrays, given = (*args[:inputs], *args[inputs + scalars :]), args[inputs : inputs + scalars]
        try:
            facts = [*map(_facts, arrays)]
        except AttributeError:
            facts = []
        if (facts, given) != known:
            check(bind_call(func, arrays, given))
            known = facts, given
        fitting(*args)

    def fitting(*args: Any) -> None:
        nonlocal last
        arrays, given = args, ()
        if scalars:
            arrays, given = (*args[:inputs], *args[inputs + scalars :]), args[inputs : inputs + scalars]
        if entry.apart:
            check_apart(func, arrays, entry.written)
        used: Sequence[Array] = arrays
        try:
            # A quarter of the time that the array's interface takes; refused for what is not
            # contiguous, is read-only, or empty.
            addresses = [*map(_address_of, map(_first_byte, arrays))]
            simple = not any(map(and_, addresses, unaligned))
        except (TypeError, ValueError, BufferError):
            simple = False
        if not simple:
            used = _all_in_order(entry, arrays)
            addresses = [array.__array_interface__["data"][0] for array in used]
        now = last
        if variables:
            values = [arrays[number].shape[dimension] for number, dimension in where]
            if scalars:
                values = [*map(number_bits, variables, given), *values]
            # The extents of one call are mostly those of the one before.
            if values != now.values:
                last = now = values_of(values)
        if counted:
            count_steps(entry, now.steps)
        try:
            piece = free.pop()
        except IndexError:
            piece = _NO_PIECE
        if piece[0] < now.arena:
            piece = _new_piece(now.arena, func.name)
        numbers = now.table if not entry.own else pack_numbers(*now.values, bytes_left())
        table = pack(*addresses, piece[1])
        if times.wanted:
            measured = (ctypes.c_double * stages)()
            place = function(table, numbers, constants.address, measured)
            times.add(list(measured), now.values)
        else:
            place = function(table, numbers, constants.address, None)
        if len(free) < _MOST_ARENAS:
            free.append(piece)
        if place:
            raise outside(place)
        if used is not arrays:
            copy_back(entry, used, arrays)

    return KernelCall(checked, fitting)


def _values_of(entry: Entry) -> Callable[[list[int]], _Values]:
    """Return what computes, of the values of the variables, what a call needs of them."""
    variables = entry.variables
    places = {var: number for number, var in enumerate(variables)}
    size, steps = extent_function(entry.arena.size, places), extent_function(entry.steps, places)
    pack = struct.Struct(f"{len(variables)}q").pack
    return lambda values: _Values(values, pack(*values) if values else None, size(values), steps(values))


def count_steps(entry: Entry, steps: int) -> None:
    """Count the steps that a call is about to take; raises LimitError where it may not."""
    budget = active()
    if budget is not None:
        budget.take(steps, entry.func.name)


def bytes_left() -> int:
    """Return how many bytes of memory a call may have."""
    budget = active()
    left = None if budget is None else budget.left()
    return ANY_SIZE if left is None else left


def _all_in_order(entry: Entry, arrays: Sequence[Array]) -> list[Array]:
    for number in entry.written:
        if not arrays[number].flags.writeable:
            raise read_only(entry.func, number)
    return [in_order(array) for array in arrays]


def copy_back(entry: Entry, used: Sequence[Array], arrays: Sequence[Array]) -> None:
    """Copy what was written to copies of arrays back to them.

    What is written may be an argument, whose memory may have another order than the kernel's.
    """
    for number in entry.written:
        if used[number] is not arrays[number]:
            np.copyto(arrays[number], used[number])


def in_order(array: Array) -> Array:
    """Return ``array``, or a copy, whose elements lie in order where the processor reads them."""
    # A scalar of numpy has no memory of its own that stays.
    fits = isinstance(array, np.ndarray) and array.flags.c_contiguous and array.flags.aligned
    return array if fits else np.array(array, order="C")


def _dimensions(func: PrimFunc, variables: Sequence[Var]) -> list[tuple[int, int]]:
    """Return for each variable a buffer, by its number, and a dimension that is its extent."""
    found: dict[PrimExpr, tuple[int, int]] = {}
    for number, buffer in enumerate(func.buffers):
        for dimension, extent in enumerate(buffer.shape):
            if isinstance(extent, Var):
                found.setdefault(extent, (number, dimension))
    return [found[var] for var in variables]


def number_bits(var: Var, value: float) -> int:
    """Return a scalar as the integer that is passed: itself, or the bits of a floating-point
    number.
    """
    if not is_float(var.dtype):
        return int(value)
    return int(np.float64(value).view(np.int64))


def aligned_bytes(size: int, function: str) -> Array:
    """Return ``size`` bytes of memory for ``function``, zeros, whose address suits the widest
    vector.

    Raises OutOfMemoryError where there is not as much, LimitError where the limits do not allow it.
    """
    memory = empty((size + ALIGNMENT,), _BYTE, lambda: f"what {function} keeps meanwhile", zeros=True)
    start = -memory.ctypes.data % ALIGNMENT
    return memory[start : start + size]


_NO_PIECE: _Piece = (0, 0, np.empty(0, np.uint8))
