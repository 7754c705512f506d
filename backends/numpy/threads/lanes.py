"""Expressions for every thread at once: rows are threads, columns the elements of a vector.

What all threads agree on has one row, or is a numpy scalar. A branch that a thread does not take is
not evaluated for it: its loads are not made.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay2relax.backends.numpy.intrinsics import BINARY, INTRINSICS
from relay2relax.backends.numpy.threads.findings import Fault
from relay2relax.backends.numpy.threads.memory import Memory, Numbers, Owner
from relay2relax.backends.numpy.threads.traffic import WARP
from relay2relax.backends.numpy.threads.watch import Access, Watch
from relay2relax.backends.numpy.threads.wave import Active, Wave
from relay2relax.backends.runtime.extern_calls import math_call
from relay2relax.core.arithmetic import converted
from relay2relax.core.dtype import element_dtype, is_float, numpy_dtype
from relay2relax.core.errors import ExecutionError, UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.ir.expr import (
    Binary,
    Broadcast,
    Buffer,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    IntImm,
    LetIn,
    Not,
    PrimExpr,
    Ramp,
    Select,
    Shuffle,
    Var,
)
from relay2relax.tir.ir.stmt import Stmt
from relay2relax.tir.normalize.kernels import SHUFFLES

_ARITHMETIC = frozenset({"+", "-", "*", "/", "min", "max"})


class Lanes:
    """Evaluates expressions for the threads of ``wave``.

    ``scope`` are the values of variables, ``memories`` what buffers hold; ``allocate`` gives memory
    to one that has none yet. ``stmt`` is where the program is.
    """

    def __init__(
        self,
        function: str,
        wave: Wave,
        memories: dict[Buffer, Memory],
        scope: Mapping[Var, Any],
        watch: Watch | None,
    ) -> None:
        self.function = function
        self.wave = wave
        self.memories = memories
        self.scope = dict(scope)
        self.watch = watch
        self.stmt: Stmt | None = None

    def value(self, expr: PrimExpr, active: Active) -> Any:
        """Return what ``expr`` is for the ``active`` threads; for others it may be anything."""
        match expr:
            case IntImm(value, dtype) | FloatImm(value, dtype):
                return numpy_dtype(dtype).type(value)
            case Var():
                if expr not in self.scope:
                    raise ExecutionError(
                        f"{self.function}: the value of variable {expr.name!r} is not known here", kind=running.EXTENT
                    )
                return self.scope[expr]
            case Binary("and" | "or" as op, a, b):
                first = self.value(a, active)
                rest = active.where(first if op == "and" else np.logical_not(first), self.wave)
                return first if not rest.count else BINARY[op](first, self.value(b, rest))
            case Binary(op, a, b):
                left, right = self.value(a, active), self.value(b, active)
                if self.watch is not None and op in _ARITHMETIC and is_float(element_dtype(expr.dtype)):
                    self.watch.computed(active.count * max(_columns(left), _columns(right)))
                return BINARY[op](left, right)
            case Not(a):
                return np.logical_not(self.value(a, active))
            case Cast(dtype, value):
                return converted(self.value(value, active), numpy_dtype(element_dtype(dtype)))
            case Select(condition, then, otherwise) | Call("if_then_else", (condition, then, otherwise)):
                return self.branch(condition, then, otherwise, active)
            case Call():
                return self.call(expr, active)
            case BufferLoad(buffer, indices, predicate):
                if predicate is not None:
                    active = active.where(self.value(predicate, active), self.wave)
                return self.load(buffer, indices, active)
            case LetIn(var, value, body):
                self.scope[var] = self.value(value, active)
                return self.value(body, active)
            case Ramp(base, stride, lanes):
                count = np.arange(self.number(lanes)).reshape(1, -1)
                begin, step = self.value(base, active), self.value(stride, active)
                return begin + step * count.astype(np.asarray(begin).dtype)
            case Broadcast(value):
                return self.value(value, active)
            case Shuffle(vectors, indices):
                return self.chosen(vectors, indices, active)
        raise UnsupportedError(
            mistake(running.NOT_ON_BACKEND, what=f"the expression {type(expr).__name__} in a kernel", backend="numpy")
        )

    def number(self, expr: PrimExpr) -> int:
        """Return what all threads agree on."""
        value = np.asarray(self.value(expr, Active(None, self.wave.lanes)))
        if value.size != 1 and bool((value != value.flat[0]).any()):
            raise UnsupportedError(
                mistake(running.NOT_ON_BACKEND, what="a length on which threads disagree", backend="numpy")
            )
        return int(value.flat[0])

    def chosen(self, vectors: Sequence[PrimExpr], indices: Sequence[PrimExpr], active: Active) -> Any:
        parts = []
        for vector in vectors:
            value = self.value(vector, active)
            count = int(vector.dtype.rpartition("x")[2]) if "x" in vector.dtype else 1
            parts.append(np.broadcast_to(value, (self.wave.lanes, count)))
        return np.concatenate(parts, axis=1)[:, [self.number(index) for index in indices]]

    def branch(self, condition: PrimExpr, then: PrimExpr, otherwise: PrimExpr, active: Active) -> Any:
        """Return one of two values, each evaluated where it is asked for."""
        asked = self.value(condition, active)
        first, second = active.where(asked, self.wave), active.where(np.logical_not(asked), self.wave)
        if not second.count:
            return self.value(then, first)
        if not first.count:
            return self.value(otherwise, second)
        return np.where(asked, self.value(then, first), self.value(otherwise, second))

    def call(self, expr: Call, active: Active) -> Any:
        if expr.name in INTRINSICS:
            args = [self.value(arg, active) for arg in expr.args]
            if self.watch is not None and is_float(element_dtype(expr.dtype)):
                self.watch.computed(active.count * max(map(_columns, args)))
            return INTRINSICS[expr.name](*args)
        if expr.name in SHUFFLES:
            return self.shuffle(expr, active)
        match expr:
            case Call("tvm_warp_activemask"):
                return np.uint32((1 << WARP) - 1)
            case Call("shift_left" | "shift_right" as name, (a, b)):
                operator = "<<" if name == "shift_left" else ">>"
                return BINARY[operator](self.value(a, active), self.value(b, active))
            case Call("reinterpret", (value,), dtype):
                return np.asarray(self.value(value, active)).view(numpy_dtype(element_dtype(dtype)))
        known = math_call(expr)
        if known is not None:
            return self.value(known, active)
        raise UnsupportedError(
            mistake(running.NOT_ON_BACKEND, what=f"the intrinsic T.{expr.name} in a kernel", backend="numpy")
        )

    def shuffle(self, expr: Call, active: Active) -> Any:
        """Return what other threads of the warp have for a value."""
        given = self.value(expr.args[1], active)
        values = np.broadcast_to(given, (self.wave.lanes, _columns(given)))
        moved, width = self.value(expr.args[2], active), self.number(expr.args[3])
        inside = np.tile(np.arange(self.wave.per_block), len(self.wave.blocks)).reshape(-1, 1)
        lane, begin = inside % width, inside // width * width
        match expr.name:
            case "tvm_warp_shuffle_down":
                source = np.where(lane + moved < width, lane + moved, lane)
            case "tvm_warp_shuffle_up":
                source = np.where(lane - moved >= 0, lane - moved, lane)
            case "tvm_warp_shuffle_xor":
                source = np.where((lane ^ moved) < width, lane ^ moved, lane)
            case _:
                source = np.broadcast_to(moved, lane.shape) % width
        source = (begin + source).astype(np.int64)
        beyond = source >= self.wave.per_block
        rows = self.wave.places.reshape(-1, 1) * self.wave.per_block + np.where(beyond, 0, source)
        if self.watch is not None and self.stmt is not None:
            running_now = np.zeros(self.wave.lanes, np.bool_)
            running_now[active.rows(self.wave)] = True
            asleep = running_now & (beyond | ~running_now[rows])[:, 0]
            if asleep.any():
                self.watch.note(Fault.SHUFFLE, self.stmt, expr.name, int(np.count_nonzero(asleep)))
        return values[rows[:, 0]]

    # Memory

    def memory(self, buffer: Buffer) -> Memory:
        """Return the memory of ``buffer``."""
        found = self.memories.get(buffer)
        if found is None:
            raise self.without_memory(buffer)
        return found

    def without_memory(self, buffer: Buffer) -> ExecutionError:
        """Return the error of an access to ``buffer`` before it has memory."""
        return ExecutionError(f"{self.function}: {buffer.name!r} has no memory yet")

    def places(self, memory: Memory, indices: Sequence[PrimExpr], active: Active) -> Any:
        """Return where elements are among those of one owner; outside of it none is."""
        flat: Any = np.int64(0)
        for dimension, (index, extent) in enumerate(zip(indices, memory.shape, strict=True)):
            found = np.asarray(self.value(index, active)).astype(np.int64)
            if found.size and (found.min() < 0 or found.max() >= extent):
                found = self.inside(memory, dimension, found, extent, active)
            flat = flat * extent + found
        return flat if memory.lanes == 1 else flat * memory.lanes + np.arange(memory.lanes).reshape(1, -1)

    def inside(self, memory: Memory, dimension: int, found: Numbers, extent: int, active: Active) -> Numbers:
        """Return indices, none of them outside; say so where an active thread's is."""
        outside = np.logical_or(found < 0, found >= extent)
        if active.which is not None:
            outside = np.logical_and(outside, active.which)
        if outside.any():
            wrong = np.broadcast_to(found, outside.shape)[outside][0]
            where = f"dimension {dimension} of {memory.name!r}, which has extent {extent}"
            if self.watch is None or self.stmt is None:
                raise ExecutionError(mistake(running.INDEX, index=f"{self.function}: index {wrong}", place=where))
            times = int(np.count_nonzero(outside))
            self.watch.note(Fault.OUTSIDE, self.stmt, f"index {wrong} in {where}", times)
        return np.clip(found, 0, max(extent - 1, 0))

    def owned(self, memory: Memory, flat: Any) -> Numbers:
        """Return where elements are in the row of all owners, for each thread."""
        places = np.asarray(flat)
        if memory.owner is Owner.BLOCK:
            places = places + (self.wave.places * memory.size).reshape(-1, 1)
        elif memory.owner is Owner.THREAD:
            places = places + (np.arange(self.wave.lanes) * memory.size).reshape(-1, 1)
        columns = places.shape[1] if places.ndim == 2 else 1
        return np.broadcast_to(places, (self.wave.lanes, columns))

    def load(self, buffer: Buffer, indices: Sequence[PrimExpr], active: Active) -> Any:
        """Return elements of ``buffer``."""
        memory = self.memory(buffer)
        if not memory.size:
            return memory.data.dtype.type(0)
        flat = self.places(memory, indices, active)
        if memory.owner is Owner.THREAD and _is_common(flat):
            return memory.data.reshape(-1, memory.size)[:, np.ravel(flat)]
        places = self.owned(memory, flat)
        if self.watch is not None and self.stmt is not None and memory.owner is not Owner.THREAD:
            self.watch.access(self.wave, memory, places, active, self.stmt, Access.READ)
        return memory.data[places]

    def store(self, buffer: Buffer, indices: Sequence[PrimExpr], value: Any, active: Active) -> None:
        """Store elements of ``buffer``."""
        memory = self.memory(buffer)
        flat = self.places(memory, indices, active)
        if memory.owner is Owner.THREAD and np.size(flat) == 1:
            place = int(np.ravel(flat)[0])
            column = memory.data.reshape(-1, memory.size)[:, place : place + 1]
            np.copyto(column, value, where=True if active.which is None else active.which)
            return
        if memory.owner is Owner.THREAD and active.which is None and _is_common(flat):
            memory.data.reshape(-1, memory.size)[:, np.ravel(flat)] = value
            return
        places = self.owned(memory, flat)
        columns = max(places.shape[1], _columns(value), active.columns)
        places = np.broadcast_to(places, (self.wave.lanes, columns))
        if self.watch is not None and self.stmt is not None and memory.owner is not Owner.THREAD:
            self.watch.access(self.wave, memory, places, active, self.stmt, Access.WRITE)
        if active.which is None:
            memory.data[places] = value
            return
        chosen = np.broadcast_to(active.which, places.shape)
        memory.data[places[chosen]] = np.broadcast_to(value, places.shape)[chosen]

    def add(self, buffer: Buffer, indices: Sequence[PrimExpr], value: Any, active: Active) -> None:
        """Add to elements of ``buffer``, each thread after another."""
        memory = self.memory(buffer)
        places = self.owned(memory, self.places(memory, indices, active))
        if self.watch is not None and self.stmt is not None and memory.owner is not Owner.THREAD:
            self.watch.access(self.wave, memory, places, active, self.stmt, Access.ATOMIC)
        rows = active.rows(self.wave)
        np.add.at(memory.data, places[rows], np.broadcast_to(value, places.shape)[rows])


def _is_common(flat: Any) -> bool:
    """Whether places are the same for all threads."""
    return np.ndim(flat) < 2 or flat.shape[0] == 1


def _columns(value: Any) -> int:
    return value.shape[1] if isinstance(value, np.ndarray) and value.ndim == 2 else 1
