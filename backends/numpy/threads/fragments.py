"""Fragments of matrices on numpy: what all threads of a warp do as one.

How a warp reads and writes memory is what is counted: 16-bit matrices by ``ldmatrix``, a thread a
row of eight elements; sums of 32 bits in pairs, four threads to a row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.backends.numpy.threads.findings import Fault
from relay2relax.backends.numpy.threads.lanes import Lanes
from relay2relax.backends.numpy.threads.memory import Memory, Numbers, Owner, Truths
from relay2relax.backends.numpy.threads.traffic import WARP
from relay2relax.backends.numpy.threads.watch import Access
from relay2relax.backends.numpy.threads.wave import Active
from relay2relax.core.dtype import numpy_dtype
from relay2relax.core.errors import ExecutionError, UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.ir.expr import Buffer, Call, PrimExpr
from relay2relax.tir.ir.stmt import Stmt
from relay2relax.tir.normalize.fragments import (
    SIDE,
    Fill,
    Fragment,
    Load,
    Matrix,
    Multiply,
    Store,
    fragment_count,
    operation,
)

_LANES = np.arange(WARP)


@dataclass(slots=True)
class _Held:
    """The fragments of a buffer: those of each warp, and which of them have a value."""

    data: Any
    filled: Truths


class Fragments:
    """The fragments of the warps of ``lanes``."""

    def __init__(self, lanes: Lanes) -> None:
        self.lanes = lanes
        self.held: dict[Buffer, _Held] = {}

    def allocate(self, buffer: Buffer) -> None:
        """Give the fragments of ``buffer`` to every warp; a kernel has them to its end."""
        wave = self.lanes.wave
        if wave.per_block % WARP:
            raise UnsupportedError(
                mistake(running.NOT_ON_BACKEND, what="fragments of a part of a warp", backend="numpy")
            )
        if buffer not in self.held:
            count, warps = fragment_count(buffer), wave.lanes // WARP
            data = np.zeros((warps, count, SIDE, SIDE), numpy_dtype(buffer.dtype))
            self.held[buffer] = _Held(data, np.zeros((warps, count), np.bool_))

    def run(self, call: Call, active: Active, stmt: Stmt) -> None:
        """Do what ``call`` says, by every warp that comes to it."""
        warps = self.warps(active, stmt)
        if not len(warps):
            return
        match operation(call):
            case Fill(target, value):
                self.put(target, warps, self.uniform(value, active, warps).reshape(-1, 1, 1))
            case Load(target, source):
                memory, places = self.places(source, active, warps, stmt)
                self.watch(memory, _as_rows(places), warps, stmt, Access.READ)
                found = memory.data[places]
                self.put(target, warps, found.swapaxes(1, 2) if source.turned else found)
            case Store(target, source):
                memory, places = self.places(target, active, warps, stmt)
                for pair in _as_pairs(places):
                    self.watch(memory, pair, warps, stmt, Access.WRITE)
                found = self.get(source, warps, stmt)
                memory.data[places] = found.swapaxes(1, 2) if target.turned else found
            case Multiply(target, left, right, addend):
                dtype = numpy_dtype(target.buffer.dtype)
                a, b, c = (self.get(one, warps, stmt).astype(np.float32) for one in (left, right, addend))
                self.put(target, warps, (np.matmul(a, b) + c).astype(dtype))
                if self.lanes.watch is not None:
                    self.lanes.watch.computed(2 * SIDE**3 * len(warps))

    def warps(self, active: Active, stmt: Stmt) -> Numbers:
        """Return the warps all of whose threads come; say so where some only do."""
        arrived = np.zeros(self.lanes.wave.lanes, np.bool_)
        arrived[active.rows(self.lanes.wave)] = True
        each = arrived.reshape(-1, WARP)
        some, every = (np.asarray(one) for one in (each.any(axis=1), each.all(axis=1)))
        torn = int(np.count_nonzero(some & ~every))
        if torn and self.lanes.watch is None:
            raise ExecutionError(f"{self.lanes.function}: {Fault.FRAGMENT.value}")
        if torn and self.lanes.watch is not None:
            self.lanes.watch.note(Fault.FRAGMENT, stmt, "a warp under a condition", torn)
        return np.flatnonzero(every)

    def uniform(self, expr: PrimExpr, active: Active, warps: Numbers) -> Any:
        """Return what the first thread of each warp finds for ``expr``."""
        found = np.asarray(self.lanes.value(expr, active))
        return np.broadcast_to(found.reshape(-1, 1), (self.lanes.wave.lanes, 1))[warps * WARP, 0]

    def slot(self, one: Fragment) -> tuple[_Held, int]:
        held = self.held.get(one.buffer)
        if held is None:
            raise self.lanes.without_memory(one.buffer)
        number = self.lanes.number(one.number)
        if not 0 <= number < held.filled.shape[1]:
            place = f"{one.buffer.name!r}, which has {held.filled.shape[1]} fragments"
            raise ExecutionError(mistake(running.INDEX, index=f"{self.lanes.function}: fragment {number}", place=place))
        return held, number

    def put(self, one: Fragment, warps: Numbers, value: Any) -> None:
        held, number = self.slot(one)
        held.data[warps, number] = value
        held.filled[warps, number] = True

    def get(self, one: Fragment, warps: Numbers, stmt: Stmt) -> Any:
        held, number = self.slot(one)
        empty = int(np.count_nonzero(~held.filled[warps, number]))
        if empty and self.lanes.watch is not None:
            self.lanes.watch.note(Fault.UNWRITTEN, stmt, one.buffer.name, empty)
        return held.data[warps, number]

    def places(self, matrix: Matrix, active: Active, warps: Numbers, stmt: Stmt) -> tuple[Memory, Numbers]:
        """Return the memory of a matrix and where its elements are there: for each warp, by lines
        of neighbours.
        """
        lanes = self.lanes
        memory = lanes.memory(matrix.buffer)
        offset = self.uniform(matrix.offset, active, warps).astype(np.int64)
        stride = self.uniform(matrix.stride, active, warps).astype(np.int64)
        line = offset[:, None] + stride[:, None] * np.arange(SIDE)
        places = line[:, :, None] + np.arange(SIDE)
        outside = (places < 0) | (places >= memory.size)
        if outside.any():
            if lanes.watch is None:
                wrong = int(places[outside][0])
                place = f"{memory.name!r}, which has {memory.size} elements"
                raise ExecutionError(mistake(running.INDEX, index=f"{lanes.function}: index {wrong}", place=place))
            lanes.watch.note(Fault.OUTSIDE, stmt, memory.name, int(np.count_nonzero(outside)))
            places = np.clip(places, 0, max(memory.size - 1, 0))
        if memory.owner is Owner.BLOCK:
            places = places + (lanes.wave.places[warps * WARP] * memory.size)[:, None, None]
        elif memory.owner is Owner.THREAD:
            raise UnsupportedError(
                mistake(running.NOT_ON_BACKEND, what="fragments in memory of a thread", backend="numpy")
            )
        return memory, places

    def watch(self, memory: Memory, by_lane: Numbers, warps: Numbers, stmt: Stmt, kind: Access) -> None:
        """Look at an access of every warp: the elements of each of its threads."""
        lanes = self.lanes
        if lanes.watch is None:
            return
        rows = (warps[:, None] * WARP + _LANES).reshape(-1)
        which = np.zeros((lanes.wave.lanes, 1), np.bool_)
        which[rows] = True
        places = np.zeros((lanes.wave.lanes, by_lane.shape[2]), np.int64)
        places[rows] = by_lane.reshape(len(rows), -1)
        active = Active(None if which.all() else which, len(rows))
        lanes.watch.access(lanes.wave, memory, places, active, stmt, kind)


def _as_rows(places: Numbers) -> Numbers:
    """Return the eight neighbours that each thread reads of four matrices of eight by eight."""
    line = _LANES % 8 + 8 * (_LANES // 8 % 2)
    begin = 8 * (_LANES // 16)
    return places[:, line[:, None], begin[:, None] + np.arange(8)]


def _as_pairs(places: Numbers) -> list[Numbers]:
    """Return the pairs that threads write, one after the other."""
    column = (2 * (_LANES % 4))[:, None] + np.arange(2)
    line = (_LANES // 4)[:, None]
    return [places[:, line + down, column + along] for down in (0, 8) for along in (0, 8)]
