"""The memory of running kernels: of all blocks, of each block, of each thread."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from enum import Enum

import numpy as np
import numpy.typing as npt

from relay2relax.core.dtype import Array, element_dtype, lanes_of, numpy_dtype
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.ir.expr import Buffer

Numbers = npt.NDArray[np.int64]
Truths = npt.NDArray[np.bool_]

_NOBODY = -1
_SEVERAL = -2


class Owner(Enum):
    """Who sees memory: all threads, those of one block, or one thread."""

    ALL = "global"
    BLOCK = "shared"
    THREAD = "local"


@dataclass(frozen=True, slots=True)
class Memory:
    """Elements in one row; each owner has ``size`` of them, one owner's after another's.

    ``shape`` is that of the buffer through which they are accessed, whose elements are vectors of
    ``lanes``; ``ledger`` says who touched an element last, where that is asked for.
    """

    name: str
    owner: Owner
    size: int
    shape: tuple[int, ...]
    data: Array
    lanes: int = 1
    ledger: Ledger | None = None

    def seen_as(self, name: str, shape: tuple[int, ...]) -> Memory:
        """Return the same memory as a buffer of another shape."""
        return replace(self, name=name, shape=shape)


@dataclass(slots=True)
class Ledger:
    """Which thread wrote and read each element last, and how many barriers its block had passed
    then.

    A thread is a number: that of its block times the threads of a block, and its place in it.
    """

    written: Truths
    writer: Numbers
    written_at: Numbers
    reader: Numbers
    read_at: Numbers
    reading_block: Numbers = field(repr=False)
    atomic: Truths = field(repr=False)

    @classmethod
    def of(cls, size: int, written: bool = False) -> Ledger:
        """Return a ledger of ``size`` elements that nobody has touched; ``written``: they have
        values.
        """
        writer, written_at, reader, read_at, block = (np.full(size, _NOBODY, np.int64) for _ in range(5))
        return cls(
            np.full(size, written, np.bool_), writer, written_at, reader, read_at, block, np.zeros(size, np.bool_)
        )

    def forget(self) -> None:
        """Begin another kernel: whatever was done before is done."""
        self.writer.fill(_NOBODY)
        self.reader.fill(_NOBODY)

    def read(self, places: Numbers, threads: Numbers, blocks: Numbers, now: Numbers, per_block: int) -> Truths:
        """Note reads, and return which of them another thread's write races with."""
        writer = self.writer[places]
        apart = (writer // per_block != blocks) | (self.written_at[places] == now)
        races: Truths = (writer != _NOBODY) & (writer != threads) & apart
        before, block = self.reader[places], self.reading_block[places]
        recent = (before != _NOBODY) & ((block != blocks) | (self.read_at[places] == now))
        shared = recent & (before != threads)
        elsewhere = recent & (block != blocks)
        self.reader[places] = np.where(shared, _SEVERAL, threads)
        self.reading_block[places] = np.where(elsewhere, _SEVERAL, blocks)
        self.read_at[places] = now
        # Of one instruction the last thread is noted: who finds another one there shares with it.
        others = self.reader[places] != threads
        self.reader[places[others]] = _SEVERAL
        distant = self.reading_block[places] != blocks
        self.reading_block[places[distant]] = _SEVERAL
        return races

    def write(
        self, places: Numbers, threads: Numbers, blocks: Numbers, now: Numbers, per_block: int, atomic: bool = False
    ) -> Truths:
        """Note writes, and return which of them race with what another thread does.

        Atomic additions do not race with each other.
        """
        writer, reader = self.writer[places], self.reader[places]
        apart = (writer // per_block != blocks) | (self.written_at[places] == now)
        races: Truths = (writer != _NOBODY) & (writer != threads) & apart
        if atomic:
            races &= ~self.atomic[places]
        recent = (self.reading_block[places] != blocks) | (self.read_at[places] == now)
        races |= (reader != _NOBODY) & (reader != threads) & recent
        self.writer[places] = threads
        self.written_at[places] = now
        self.written[places] = True
        self.atomic[places] = atomic
        if not atomic:
            races |= self.writer[places] != threads
        return races


def own_memory(buffer: Buffer, shape: tuple[int, ...], owner: Owner, owners: int, watched: bool = False) -> Memory:
    """Return memory of its own for each of ``owners``: zeros."""
    lanes = lanes_of(buffer.dtype)
    if not isinstance(lanes, int):
        raise UnsupportedError(mistake(running.NOT_ON_BACKEND, what=f"elements of {buffer.dtype}", backend="numpy"))
    size = math.prod(shape) * lanes
    data = np.zeros(size * owners, numpy_dtype(element_dtype(buffer.dtype)))
    return Memory(buffer.name, owner, size, shape, data, lanes, Ledger.of(data.size) if watched else None)
