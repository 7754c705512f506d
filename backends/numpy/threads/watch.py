"""What a run of kernels looks for, and counts."""

from __future__ import annotations

from collections import Counter
from enum import Enum

import numpy as np

from relay2relax.backends.numpy.threads.findings import Fault, Finding, KernelReport, Traffic
from relay2relax.backends.numpy.threads.memory import Memory, Numbers, Owner, Truths
from relay2relax.backends.numpy.threads.traffic import WARP, count_global, count_shared, instructions
from relay2relax.backends.numpy.threads.wave import Active, Wave
from relay2relax.tir.ir.expr import StringImm
from relay2relax.tir.ir.stmt import Evaluate, PrimFunc, Stmt
from relay2relax.tir.ir.visit import map_stmt


class Access(Enum):
    """What a thread does with an element."""

    READ = "read"
    WRITE = "write"
    ATOMIC = "atomic"


class Watch:
    """Looks at a kernel as it runs, and writes into ``report``.

    ``passed`` is how many barriers each block has come through.
    """

    def __init__(self, func: PrimFunc, report: KernelReport) -> None:
        self.func = func
        self.report = report
        self.passed: Numbers = np.zeros(report.blocks, np.int64)
        self.found: Counter[tuple[Fault, Stmt, str]] = Counter()

    def note(self, fault: Fault, stmt: Stmt, about: str, times: int = 1) -> None:
        """Note a mistake in ``stmt``."""
        self.found[fault, stmt, about] += times

    def computed(self, lanes: int) -> None:
        """Count operations on floats."""
        self.report.flops += lanes

    def access(self, wave: Wave, memory: Memory, places: Numbers, active: Active, stmt: Stmt, kind: Access) -> None:
        """Look at an access of the ``active`` threads (rows) to elements of vectors (columns)."""
        columns = places.shape[1]
        if active.columns == 1:
            rows = active.rows(wave)
            self._rows(wave, memory, places[rows], rows, stmt, kind)
            return
        for column in range(max(columns, active.columns)):
            rows = active.rows(wave, column)
            self._rows(wave, memory, places[rows, min(column, columns - 1) :][:, :1], rows, stmt, kind)

    def _rows(self, wave: Wave, memory: Memory, places: Numbers, rows: Numbers, stmt: Stmt, kind: Access) -> None:
        if not len(rows):
            return
        threads, warps = wave.threads[rows], wave.warps[rows]
        ledger = memory.ledger
        if ledger is not None:
            blocks = threads // wave.per_block
            now = self.passed[blocks]
            for column in range(places.shape[1]):
                place = places[:, column]
                if kind is not Access.WRITE:
                    self._count(Fault.UNWRITTEN, stmt, memory.name, ~ledger.written[place])
                if kind is Access.READ:
                    races = ledger.read(place, threads, blocks, now, wave.per_block)
                else:
                    races = ledger.write(place, threads, blocks, now, wave.per_block, kind is Access.ATOMIC)
                self._count(Fault.RACE, stmt, memory.name, races)
        traffic = self.report.traffic.setdefault(memory.name, Traffic())
        for first, width in instructions(places, memory.data.itemsize):
            if memory.owner is Owner.ALL:
                count_global(traffic, first, width, memory.data.itemsize, warps)
            else:
                lanes = threads % wave.per_block % WARP
                count_shared(traffic, first, width, memory.data.itemsize, lanes, warps)

    def _count(self, fault: Fault, stmt: Stmt, about: str, where: Truths) -> None:
        times = int(np.count_nonzero(where))
        if times:
            self.note(fault, stmt, about, times)

    def barrier(self, wave: Wave, active: Active, stmt: Stmt) -> None:
        """Look at a barrier to which the ``active`` threads come."""
        arrived = np.zeros(wave.lanes, np.bool_)
        arrived[active.rows(wave)] = True
        each = arrived.reshape(-1, wave.per_block)
        some, every = (np.asarray(one) for one in (each.any(axis=1), each.all(axis=1)))
        self._count(Fault.BARRIER, stmt, "a barrier under a condition", some & ~every)
        self.passed[wave.blocks[some]] += 1
        self.report.barriers += int(np.count_nonzero(some))

    def findings(self) -> list[Finding]:
        """Return what was found, in the order of lines."""
        known = [
            Finding(fault, about, *line_of(self.func, stmt), times)
            for (fault, stmt, about), times in self.found.items()
        ]
        return sorted(known, key=lambda one: (one.line, one.fault.name, one.about))


def line_of(func: PrimFunc, stmt: Stmt) -> tuple[int, str]:
    """Return the number of the line where ``stmt`` begins in the printed ``func``, and its text."""
    from relay2relax.tir.script.printer import print_prim_func

    mark = Evaluate(StringImm("here"))
    marked = func.with_body(map_stmt(func.body, lambda expr: expr, lambda one: mark if one is stmt else None))
    where = [number for number, line in enumerate(print_prim_func(marked)) if line.strip() == 'T.evaluate("here")']
    number = where[0] if where else 0
    return number + 1, print_prim_func(func)[number].strip()
