"""What unattended work may use: memory, seconds, steps, and extents of tensors.

    with Limits(memory=4_000_000_000, seconds=60):
        module = relay_ir.infer_type(relay_ir.load("model.relay"))
        report = translator.compare(module)

The limits hold for what the block does, in its thread. Our own loops and allocations ask
:func:`active` whether they may go on; nothing is done by signals, and no thread is stopped from
outside. What runs without asking, a call of numpy or a compiled kernel, ends before the next
question is asked. ``docs/howto/unattended.md`` says what that means.
"""

from __future__ import annotations

import math
import mmap
import os
import select
import stat
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, fields
from types import TracebackType
from typing import TYPE_CHECKING
from weakref import WeakValueDictionary

from relay2relax.core.amounts import counted
from relay2relax.core.errors import mistake
from relay2relax.core.errors.exceptions import LimitError, OutOfMemoryError, Relay2RelaxError
from relay2relax.core.errors.table import files, limits

if TYPE_CHECKING:
    import numpy as np  # commands that need no numbers do not load it

# Modules that Python imports meanwhile, and what it keeps for itself, are not charged to the work.
_HEADROOM = 64_000_000
# What the process has is looked at once in so many questions, and before allocations that count.
_SELDOM = 256
_LARGE = 1 << 16
# Files are read in pieces of so many bytes.
_PIECE = 1 << 22
# A system waits for so many milliseconds at most.
_LONGEST = 1 << 30


@dataclass(frozen=True, slots=True)
class Limits:
    """What the work within ``with Limits(…):`` may use; None is no limit.

    ``memory``  bytes. No tensor is made that does not fit into what is left of them. The process
        may not grow by more meanwhile (looked at on Linux alone; 64 MB of Python's own are free).
    ``seconds``  of wall time.
    ``work``  seconds, of wall time as well as of the processor: it ends when both have passed, so
        that a machine that is busy with other things ends nothing early, nor do many cores.
    ``steps``  instructions of the machines that run Relay and Relax, and of interpreted tensor
        programs.
    ``extents``  the largest extent of a tensor, and the most elements that one has.

    Blocks may be nested: the outer limits hold within the inner ones. One object may be entered in
    several threads; each has it to itself. Reaching a limit raises :class:`LimitError`, which says
    which, where, and what was asked for. Raises Relay2RelaxError for a limit that is not above 0.
    """

    memory: int | None = None
    seconds: float | None = None
    steps: int | None = None
    extents: int | None = None
    work: float | None = None

    def __post_init__(self) -> None:
        numbers = ("seconds", "work")
        for name, kinds in ((one.name, (int, float) if one.name in numbers else (int,)) for one in fields(self)):
            value = getattr(self, name)
            if value is not None and (isinstance(value, bool) or not isinstance(value, kinds) or not value > 0):
                raise Relay2RelaxError(
                    mistake(files.OPTION, name=f"the limit {name}", value=repr(value), expected="a number above 0")
                )

    def __enter__(self) -> Limits:
        _active.set(Budget(self, _active.get()))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        ending = _active.get()
        assert ending is not None
        _active.set(ending.outer)


class Budget:
    """What is left of some limits, and of those around them."""

    def __init__(self, given: Limits, outer: Budget | None) -> None:
        self.outer = outer
        self.limits = given
        self._deadline = math.inf if given.seconds is None else time.monotonic() + given.seconds
        self._working = math.inf if given.work is None else time.monotonic() + given.work
        self._worked = 0.0 if given.work is None else _processor() + given.work
        self._steps = 0
        self._asked = 0
        self._began = 0 if given.memory is None else _resident()
        # Tensors that were allocated and may not be written yet, so that nothing shows them.
        self._held: WeakValueDictionary[int, np.ndarray[tuple[int, ...], np.dtype[np.generic]]] = WeakValueDictionary()

    def step(self) -> None:
        """Count a step of a running program; raises LimitError where it may not go on."""
        self._steps += 1
        if self.limits.steps is not None and self._steps > self.limits.steps:
            raise LimitError(mistake(limits.STEPS, steps=self.limits.steps, by=""))
        self._look()
        if self.outer is not None:
            self.outer.step()

    def check(self) -> None:
        """Raise LimitError where the time is over or the memory is used up."""
        self._look()
        if self.outer is not None:
            self.outer.check()

    def _look(self) -> None:
        now = time.monotonic()
        if now > self._deadline:
            raise LimitError(mistake(limits.SECONDS, seconds=f"{self.limits.seconds:g}"))
        if now > self._working and _processor() > self._worked:
            raise LimitError(mistake(limits.SECONDS, seconds=f"{self.limits.work:g}"))
        self._asked += 1
        if self._asked % _SELDOM == 0 and self.limits.memory is not None:
            used = self._used()
            if used > self.limits.memory:
                raise self._too_much(f"the process has grown by {_size(used)}", 0)

    def remaining(self) -> float | None:
        """Return the seconds that are left, None where they are not limited."""
        own = max(self._deadline - time.monotonic(), 0.0)
        outer = math.inf if self.outer is None else self.outer.remaining()
        least = own if outer is None else min(own, outer)
        return None if least == math.inf else least

    def expired(self) -> LimitError:
        """Return what to raise where something that was given :meth:`remaining` seconds has not
        ended.
        """
        least, outer = self, self.outer
        while outer is not None:
            least, outer = min(least, outer, key=lambda one: one._deadline), outer.outer
        return LimitError(mistake(limits.SECONDS, seconds=f"{least.limits.seconds or 0:g}"))

    def take(self, steps: int, what: str) -> None:
        """Count ``steps`` that ``what`` is about to take; raises LimitError where it may not."""
        most = self.limits.steps
        self._steps += max(steps, 0)
        if most is not None and self._steps > most:
            raise LimitError(mistake(limits.STEPS, steps=most, by=f": {what} takes {steps}"))
        if self.outer is not None:
            self.outer.take(steps, what)

    def left(self) -> int | None:
        """Return the bytes that are left, None where they are not limited."""
        outer = None if self.outer is None else self.outer.left()
        if self.limits.memory is None:
            return outer
        own = max(self.limits.memory - self._used(), 0)
        return own if outer is None else min(own, outer)

    def extent(self, shape: Sequence[int], what: Callable[[], str]) -> None:
        """Raise LimitError where ``what`` has an extent, or a number of elements, beyond the
        limit.
        """
        most = self.limits.extents
        if most is not None:
            count = max([math.prod(shape), *shape])
            if count > most:
                raise LimitError(mistake(limits.EXTENTS, what=what(), shape=_shown(shape), count=count, most=most))
        if self.outer is not None:
            self.outer.extent(shape, what)

    def allocate(self, size: int, what: Callable[[], str]) -> None:
        """Raise LimitError where ``what`` needs more memory, ``size`` bytes, than is left."""
        memory = self.limits.memory
        if memory is not None:
            used = self._used() if _LARGE < size <= memory else 0
            if used + size > memory:
                raise self._too_much(f"{what()} needs {_size(size)}", used)
        if self.outer is not None:
            self.outer.allocate(size, what)

    def refused(self, size: int, what: str) -> LimitError | None:
        """Return what to raise where ``what`` got none of the memory that is left, None where that
        is not limited.
        """
        if self.limits.memory is not None:
            return self._too_much(f"{what} needs {_size(size)}", 0)
        return None if self.outer is None else self.outer.refused(size, what)

    def hold(self, array: np.ndarray[tuple[int, ...], np.dtype[np.generic]]) -> None:
        """Count ``array`` as used until it is freed."""
        if array.nbytes > _LARGE:
            self._held[id(array)] = array
            if self.outer is not None:
                self.outer.hold(array)

    def _used(self) -> int:
        held = sum(one.nbytes for one in list(self._held.values()))
        return max(held, _resident() - self._began - _HEADROOM)

    def _too_much(self, problem: str, used: int) -> LimitError:
        assert self.limits.memory is not None
        already = f", of which {_size(used)} are in use" if used else ""
        return LimitError(mistake(limits.MEMORY, problem=problem, memory=_size(self.limits.memory), already=already))


_active: ContextVar[Budget | None] = ContextVar("_active", default=None)
# The budget of the block around this place, None where nothing is limited. A loop asks once, before
# it begins.
active: Callable[[], Budget | None] = _active.get


@contextmanager
def suspended() -> Iterator[None]:
    """Lift the limits for what is no part of the work: importing modules of this package.

    A limit that is reached halfway would leave a module half made.
    """
    around = _active.set(None)
    try:
        yield
    finally:
        _active.reset(around)


def check() -> None:
    """Raise LimitError where a limit around this place is reached: between two parts of some
    work.
    """
    budget = _active.get()
    if budget is not None:
        budget.check()


@contextmanager
def allocating(size: int, what: Callable[[], str]) -> Iterator[None]:
    """Let the block make ``what``, of ``size`` bytes.

    Raises LimitError before that where it is more than the limits leave, and OutOfMemoryError where
    the system has not as much.
    """
    budget = _active.get()
    if budget is not None:
        budget.check()
        budget.allocate(size, what)
    try:
        if size > sys.maxsize:
            raise MemoryError
        yield
    except MemoryError as problem:
        raise out_of_memory(what(), problem, size) from problem


def read_file(path: str | os.PathLike[str] | int, name: str = "") -> bytes:
    """Return the content of a file, or of one that is open, which is closed; ``name`` is what it is
    called.

    Raises OSError as Python does, LimitError where it is more than the limits leave,
    OutOfMemoryError where the system has not as much memory.
    """
    budget, size = _active.get(), 0
    parts: list[bytes] = []
    what = f"the content of {name or repr(path if isinstance(path, int) else os.fspath(path))}"
    try:
        if budget is None:
            with open(path, "rb") as stream:
                return stream.read()
        with open(path, "rb", buffering=0, opener=_open_at_once) as raw:
            # What is no regular file does not say how large it is, nor when it has more.
            waits = not stat.S_ISREG(os.fstat(raw.fileno()).st_mode)
            while True:
                budget.check()
                if waits and not _has_more(raw.fileno(), budget.remaining()):
                    continue
                part = raw.read(_PIECE)
                if part == b"":
                    return b"".join(parts)
                size += len(part or b"")
                budget.allocate(size, lambda: what)
                parts.append(part or b"")
    except MemoryError as problem:
        raise out_of_memory(what, problem) from problem


def _open_at_once(path: str, flags: int) -> int:
    """Open a file to read it; a pipe with a name is not waited for until somebody writes to it."""
    return os.open(path, flags | getattr(os, "O_NONBLOCK", 0))


def _has_more(descriptor: int, seconds: float | None) -> bool:
    """Wait until what is open has more to read, or has ended; False where ``seconds`` are over.

    Where the system does not tell, reading waits.
    """
    if not hasattr(select, "poll"):
        return True
    asked = select.poll()
    asked.register(descriptor, select.POLLIN)
    return bool(asked.poll(None if seconds is None else min(seconds * 1000 + 1, _LONGEST)))


def no_memory(size: int, what: str) -> LimitError | OutOfMemoryError:
    """Return what to raise where ``what`` got no memory for its ``size`` bytes: a limit, or the
    system, has refused it.
    """
    budget = _active.get()
    refused = None if budget is None else budget.refused(size, what)
    return refused or OutOfMemoryError(mistake(limits.NO_MEMORY, what=what, size=_size(size)))


def out_of_memory(what: str, problem: BaseException, size: int | None = None) -> OutOfMemoryError:
    """Return what to raise where the system has no memory for ``what``: ``size`` bytes, or as many
    as numpy's ``problem`` says.
    """
    shape, dtype = getattr(problem, "shape", None), getattr(problem, "dtype", None)
    if size is None and isinstance(shape, tuple) and dtype is not None:
        size = math.prod(shape) * dtype.itemsize
    match size:
        case None:
            needed = "more"
        case 0:  # numpy multiplies the extents that are not 0, and refuses what an address cannot reach
            needed = "strides longer than all of memory, although it has no elements"
        case _:
            needed = _size(size)
    return OutOfMemoryError(mistake(limits.NO_MEMORY, what=what, size=needed))


def _processor() -> float:
    """Return the seconds that the processor spent on this process and on those that it waited
    for.
    """
    # Of this process it is known to the microsecond; os.times counts in hundredths of a second.
    children = os.times()
    return time.process_time() + children.children_user + children.children_system


def _resident() -> int:
    """Return the bytes of memory that the process has to itself, 0 where the system does not
    tell.
    """
    try:
        with open("/proc/self/statm", "rb") as file:
            _, resident, shared, *_ = file.read().split()
    except OSError:
        return 0
    return (int(resident) - int(shared)) * mmap.PAGESIZE


def _size(count: int) -> str:
    """Return a number of bytes for people, and exactly."""
    for unit, one in (("PB", 10**15), ("TB", 10**12), ("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if count >= one:
            return f"{count / one:.4g} {unit} ({count} bytes)"
    return counted(count, "byte")


def _shown(shape: Sequence[int]) -> str:
    return f"({', '.join(map(str, shape))})"
