"""Kernels of a PrimFunc, launched one after the other.

Statements around kernels are the host's. All threads of some blocks run in lock-step, one wave of
blocks after another: what a thread may see of the others before a barrier is undecided, so a
program is right only if :func:`check_kernels` finds no race in it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

import numpy as np

from relay2relax.backends.numpy.binding import bind_call, check_apart
from relay2relax.backends.numpy.threads.findings import Fault, Finding, KernelReport
from relay2relax.backends.numpy.threads.lanes import Lanes
from relay2relax.backends.numpy.threads.machine import Machine
from relay2relax.backends.numpy.threads.memory import Ledger, Memory, Numbers, Owner, own_memory
from relay2relax.backends.numpy.threads.watch import Watch
from relay2relax.backends.numpy.threads.wave import Active, Wave
from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.tir.ir.expr import Buffer, Call, FloatImm, IntImm, Var
from relay2relax.tir.ir.stmt import (
    Allocate,
    Assert,
    Attribute,
    Block,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    If,
    Let,
    PrimFunc,
    Seq,
    Stmt,
)
from relay2relax.tir.ir.visit import all_expressions, loads, statements, subexpressions, written_buffers
from relay2relax.tir.normalize.indices import with_signed_indices
from relay2relax.tir.normalize.kernels import BLOCK_AXES, THREAD_AXES, launch_of, thread_axes
from relay2relax.tir.normalize.ranges import counted_from_zero

# What every GPU since 2017 has for a block: threads, and bytes of shared memory without asking.
MOST_THREADS = 1024
MOST_SHARED = 48 * 1024
# Threads of a wave: as many that numpy's calls cost little, and temporaries stay in the cache.
_LANES = 1 << 15
_WATCHED: ContextVar[tuple[list[KernelReport], int | None] | None] = ContextVar("watched", default=None)


@contextmanager
def watching(most_blocks: int | None = None) -> Iterator[list[KernelReport]]:
    """Check every kernel that is run within, and give the reports.

    With ``most_blocks`` a kernel is checked in some of its blocks, and run in all of them after.
    """
    reports: list[KernelReport] = []
    token = _WATCHED.set((reports, most_blocks))
    try:
        yield reports
    finally:
        _WATCHED.reset(token)


def run_kernels(func: PrimFunc, arrays: Sequence[Array], scalars: Sequence[float] = ()) -> None:
    """Run the kernels of ``func`` on ``arrays``, inputs and outputs.

    Raises ExecutionError where an array does not fit or an index leaves its buffer, and
    UnsupportedError for words of kernels that numpy does not run.
    """
    watched = _WATCHED.get()
    if watched is not None:
        reports, most_blocks = watched
        reports += check_kernels(func, arrays, scalars, most_blocks)
        if most_blocks is None:
            return
    _Host(func, arrays, scalars).go()


def check_kernels(
    func: PrimFunc, arrays: Sequence[Array], scalars: Sequence[float] = (), most_blocks: int | None = None
) -> list[KernelReport]:
    """Run the kernels of ``func`` on ``arrays`` and return what each does, and what is wrong in it.

    ``arrays`` are inputs and outputs; outputs are written. With ``most_blocks``, of a kernel with
    more blocks the first, the last and some between are run, and results are not complete. Raises
    the errors of :func:`run_kernels`, but for an index that leaves its buffer, which is reported.
    """
    host = _Host(func, arrays, scalars, most_blocks, watched=True)
    host.go()
    return host.reports


class _Host:
    """Runs what is around kernels, and launches them."""

    def __init__(
        self,
        func: PrimFunc,
        arrays: Sequence[Array],
        scalars: Sequence[float],
        most_blocks: int | None = None,
        watched: bool = False,
    ) -> None:
        self.func = with_signed_indices(counted_from_zero(func))
        self.scope: dict[Var, Any] = dict(bind_call(self.func, arrays, scalars))
        for var, value in self.scope.items():
            if isinstance(value, int) and var.dtype != "handle":
                self.scope[var] = numpy_dtype(var.dtype).type(value)
        self.most_blocks = most_blocks
        self.watched = watched
        self.memories: dict[Buffer, Memory] = {}
        self.declared: list[Buffer] = []
        self.reports: list[KernelReport] = []
        written = written_buffers(self.func.body) | added_buffers(self.func.body)
        aliases = {n.buffer: n.of for n in statements(self.func.body) if isinstance(n, Allocate)}
        roots = {_root(buffer, aliases) for buffer in written}
        check_apart(func, arrays, [n for n, buffer in enumerate(self.func.buffers) if buffer in roots])
        self.copied: list[tuple[Array, Array]] = []
        given = len(arrays) - func.num_outputs
        for number, (buffer, array) in enumerate(zip(self.func.buffers, arrays, strict=True)):
            data = np.ascontiguousarray(array).reshape(-1)
            if buffer in roots and not np.shares_memory(data, array):
                self.copied.append((array, data))
            ledger = Ledger.of(data.size, number < given) if watched and buffer in roots else None
            self.memories[buffer] = Memory(buffer.name, Owner.ALL, data.size, array.shape, data, 1, ledger)

    def go(self) -> None:
        """Run the function."""
        with np.errstate(all="ignore"):
            for buffer in self.func.root_buffers:
                self.allocate(buffer)
            self.run(self.func.body)
        for array, data in self.copied:
            array[...] = data.reshape(array.shape)
        for buffer in self.func.buffers[len(self.func.buffers) - self.func.num_outputs :]:
            ledger = self.memories[buffer].ledger
            if ledger is not None and self.reports and all(one.run == one.blocks for one in self.reports):
                missing = int(np.count_nonzero(~ledger.written))
                if missing:
                    self.missing(buffer, missing)

    def missing(self, buffer: Buffer, times: int) -> None:
        self.reports[-1].findings.append(Finding(Fault.MISSING, buffer.name, 1, f"the result {buffer.name}", times))

    def run(self, stmt: Stmt) -> None:
        """Run a statement of the host."""
        match stmt:
            case Seq(stmts):
                for part in stmts:
                    self.run(part)
            case BufferStore():
                self.launch(stmt)
            case _ if launch_of(stmt) is not None:
                self.launch(stmt)
            case For() if _is_filling(stmt):
                self.fill(stmt)
            case Attribute(body=body):
                self.run(body)
            case Allocate(buffer, body, of):
                self.allocate(buffer, of if isinstance(of, Buffer) else None)
                self.run(body)
            case BlockRealize(_, Block(iter_vars=()) as block, None) if block.init is None and not block.matches:
                for buffer in block.alloc_buffers:
                    self.allocate(buffer)
                self.run(block.body)
            case Let(var, value, body):
                self.scope[var] = self.one().value(value, Active(None, 1))
                self.run(body)
            case If(condition, then, otherwise):
                if bool(self.one().value(condition, Active(None, 1))):
                    self.run(then)
                elif otherwise is not None:
                    self.run(otherwise)
            case For(var, extent, body):
                for step in range(self.one().number(extent)):
                    self.scope[var] = numpy_dtype(var.dtype).type(step)
                    self.run(body)
            case Assert() | Evaluate(IntImm()):
                pass
            case _:
                raise UnsupportedError(
                    mistake(running.NOT_ON_BACKEND, what=f"{type(stmt).__name__} around kernels", backend="numpy")
                )

    def fill(self, stmt: Stmt) -> None:
        """Run loops around the store of a constant, at once."""
        axes: list[tuple[Var, int]] = []
        while isinstance(stmt, For):
            axes.append((stmt.var, self.one().number(stmt.extent)))
            stmt = stmt.body
        points = math.prod(extent for _, extent in axes)
        if not points:
            return
        scope = dict(self.scope)
        places = np.unravel_index(np.arange(points), [extent for _, extent in axes])
        for (var, _), place in zip(axes, places, strict=True):
            scope[var] = place.astype(numpy_dtype(var.dtype)).reshape(-1, 1)
        lanes = Lanes(self.func.name, Wave.of(np.arange(points), 1), dict(self.memories), scope, None)
        Machine(lanes, {}).run(stmt, Active(None, points))

    def one(self) -> Lanes:
        """Return what evaluates expressions of the host."""
        return Lanes(self.func.name, Wave.of(np.zeros(1, np.int64), 1), self.memories, self.scope, None)

    def allocate(self, buffer: Buffer, of: Buffer | None = None) -> None:
        """Give ``buffer`` memory of all threads; a kernel has memory of its blocks and threads."""
        if of is not None and of not in self.memories:
            return
        shape = tuple(self.one().number(extent) for extent in buffer.shape)
        if of is not None:
            self.memories[buffer] = self.memories[of].seen_as(buffer.name, shape)
        elif buffer.scope not in ("global", ""):
            self.declared.append(buffer)
        else:
            self.memories[buffer] = own_memory(buffer, shape, Owner.ALL, 1, self.watched)

    def launch(self, stmt: Stmt) -> None:
        """Run a kernel, in waves of blocks."""
        extents: dict[str, int] = {}
        for axis in thread_axes(stmt):
            tag, number = axis.tag, self.one().number(axis.extent)
            if tag not in (*BLOCK_AXES, *THREAD_AXES) or extents.setdefault(tag, number) != number:
                raise UnsupportedError(
                    mistake(running.NOT_ON_BACKEND, what=f"a kernel with threads {tag!r} of two kinds", backend="numpy")
                )
        blocks = math.prod(extents.get(tag, 1) for tag in BLOCK_AXES)
        threads = math.prod(extents.get(tag, 1) for tag in THREAD_AXES)
        report = KernelReport(self.func.name, blocks, threads)
        watch = Watch(self.func, report) if self.watched else None
        for memory in self.memories.values():
            if memory.ledger is not None:
                memory.ledger.forget()
        if not blocks * threads:
            return
        numbers = self.chosen(blocks)
        report.run = len(numbers)
        at_once = max(1, _LANES // threads)
        for begin in range(0, len(numbers), at_once):
            wave = Wave.of(numbers[begin : begin + at_once], threads)
            memories = dict(self.memories)
            lanes = Lanes(self.func.name, wave, memories, self.scope, watch)
            machine = Machine(lanes, _axes(wave, extents))
            for buffer in self.declared:
                machine.allocate(buffer)
            machine.run(stmt, Active(None, wave.lanes))
            shared = [one for b, one in memories.items() if one.owner is Owner.BLOCK and one.name == b.name]
            alone = {id(one.data): one.size * one.data.itemsize for one in shared}
            report.shared_bytes = sum(alone.values())
        if report.run < blocks:
            # What the blocks that were left out would have written, others may read.
            for memory in self.memories.values():
                if memory.ledger is not None:
                    memory.ledger.written.fill(True)
        if watch is not None:
            if threads > MOST_THREADS:
                watch.note(Fault.THREADS, stmt, f"{threads}, of at most {MOST_THREADS}")
            if report.shared_bytes > MOST_SHARED:
                watch.note(Fault.SHARED, stmt, f"{report.shared_bytes} bytes, of at most {MOST_SHARED}")
            report.findings += watch.findings()
            self.reports.append(report)

    def chosen(self, blocks: int) -> Numbers:
        """Return the blocks that are run."""
        if self.most_blocks is None or blocks <= self.most_blocks:
            return np.arange(blocks)
        return np.unique(np.linspace(0, blocks - 1, self.most_blocks).astype(np.int64))


def _is_filling(stmt: Stmt) -> bool:
    while isinstance(stmt, For):
        stmt = stmt.body
    return isinstance(stmt, BufferStore) and isinstance(stmt.value, (IntImm, FloatImm))


def added_buffers(stmt: Stmt) -> set[Buffer]:
    """Return the buffers to whose elements atomic additions are made, or whose addresses are
    otherwise taken.
    """
    nodes = (node for expr in all_expressions(stmt) for node in subexpressions(expr))
    return {
        load.buffer for node in nodes if isinstance(node, Call) and node.name == "address_of" for load in loads(node)
    }


def _root(buffer: Buffer, aliases: dict[Buffer, Any]) -> Buffer:
    """Return the buffer in whose memory ``buffer`` lies."""
    while isinstance(aliases.get(buffer), Buffer):
        buffer = aliases[buffer]
    return buffer


def _axes(wave: Wave, extents: dict[str, int]) -> dict[str, Numbers]:
    """Return the numbers of the threads of ``wave`` along each axis."""
    found = {}
    for tags, numbers in ((BLOCK_AXES, wave.threads // wave.per_block), (THREAD_AXES, wave.threads % wave.per_block)):
        for tag in reversed(tags):
            if tag in extents:
                found[tag] = (numbers % extents[tag]).reshape(-1, 1)
                numbers = numbers // extents[tag]
    return found
