"""Kernels of GPUs: which functions have them, and their threads one after the other.

Where threads wait for each other, a loop over threads is cut in two at each barrier: all threads
come to it before one goes on. What a thread keeps for itself becomes memory with a place for each
thread. A shuffle is a barrier, too: what it hands on is stored by all threads before it is read.
What a warp does as one (``fragments.py``) is done by a loop over warps.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import tensor_programs
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import (
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    Var,
    binary,
    cast,
    const,
    if_then_else,
)
from relay2relax.tir.ir.stmt import (
    THREAD_KEYS,
    Allocate,
    Attribute,
    BlockRealize,
    BufferStore,
    Evaluate,
    For,
    If,
    Let,
    LoopKind,
    PrimFunc,
    Seq,
    Stmt,
    ThreadAxis,
)
from relay2relax.tir.ir.visit import (
    all_expressions,
    loads,
    map_expr,
    map_stmt,
    statements,
    subexpressions,
    substitute_stmt,
    variables,
)
from relay2relax.tir.normalize.fragments import FRAGMENT_CALLS, WARP, is_fragment, loops_of, memory_of_warps, thread_of

BLOCK_AXES = ("blockIdx.z", "blockIdx.y", "blockIdx.x")
THREAD_AXES = ("threadIdx.z", "threadIdx.y", "threadIdx.x")
SHUFFLES = frozenset({"tvm_warp_shuffle", "tvm_warp_shuffle_up", "tvm_warp_shuffle_down", "tvm_warp_shuffle_xor"})
_BARRIER = "tvm_storage_sync"
_MASK = "tvm_warp_activemask"
_TOGETHER = SHUFFLES | FRAGMENT_CALLS | {_BARRIER}


@dataclass(frozen=True, slots=True)
class Launch:
    """An axis of threads: its variable, its kind, how many there are."""

    var: Var
    tag: str
    extent: PrimExpr


def launch_of(stmt: Stmt) -> tuple[Launch, Stmt] | None:
    """Return the axis of threads that ``stmt`` launches, and what they run."""
    match stmt:
        case For(var, extent, body, thread=tag) if stmt.kind is LoopKind.THREAD:
            return Launch(var, tag, extent), body
        case Attribute(ThreadAxis(var, tag), key, extent, body) if key in THREAD_KEYS:
            return Launch(var, tag, extent), body
    return None


def thread_axes(stmt: Stmt) -> list[Launch]:
    """Return the axes of threads in ``stmt``."""
    return [found[0] for node in statements(stmt) if (found := launch_of(node)) is not None]


@lru_cache(maxsize=256)
def has_kernels(func: PrimFunc) -> bool:
    """Whether ``func`` has kernels whose threads run together: they say where they wait for each
    other, or it is made of plain loops and they share nothing.

    Blocks of schedules say themselves that their threads need not wait.
    """
    axes = thread_axes(func.body)
    if not axes or any(axis.tag not in (*BLOCK_AXES, *THREAD_AXES) for axis in axes):
        return False
    if _waits(func.body):
        return True
    nodes = list(statements(func.body))
    own = [*func.root_buffers, *(node.buffer for node in nodes if isinstance(node, Allocate))]
    for node in nodes:
        if isinstance(node, BlockRealize):
            own += node.block.alloc_buffers
            if node.block.iter_vars:
                return False
    return not any(buffer.scope.startswith(("shared", "warp")) for buffer in own)


def _waits(stmt: Stmt) -> bool:
    nodes = (node for expr in all_expressions(stmt) for node in subexpressions(expr))
    return any(isinstance(node, Call) and node.name in _TOGETHER for node in nodes)


def without_barriers(func: PrimFunc) -> PrimFunc:
    """Return ``func`` with threads that wait for each other as loops, cut at barriers; another
    ``func`` is returned as it is.

    Raises UnsupportedError where threads may come to different barriers.
    """
    if not _waits(func.body) or not thread_axes(func.body):
        return func
    return func.with_body(_Cutter().outside(func.body))


def _refused(what: str) -> UnsupportedError:
    return UnsupportedError(mistake(tensor_programs.NOT_EXPRESSED, what=what))


class _Cutter:
    """Rewrites kernels.

    ``threads`` are the axes around, ``own`` memory of single threads and ``fragments`` that of
    warps, with what has become of them, ``guards`` conditions under which threads run.
    """

    def __init__(self) -> None:
        self.threads: tuple[Launch, ...] = ()
        self.own: dict[Buffer, Buffer] = {}
        self.fragments: dict[Buffer, Buffer] = {}
        self.guards: tuple[PrimExpr, ...] = ()

    def outside(self, stmt: Stmt) -> Stmt:
        """Return a statement of the host, with kernels as loops."""
        return map_stmt(stmt, lambda expr: expr, lambda node: self.inside(node) if launch_of(node) else None)

    def inside(self, stmt: Stmt) -> Stmt:
        """Return a statement of a kernel."""
        launched = launch_of(stmt)
        if launched is not None:
            return self.launch(*launched)
        if not _waits(stmt) and not thread_axes(stmt):
            return self.each(stmt)
        match stmt:
            case Seq(stmts):
                return Seq(tuple(map(self.inside, stmts)))
            case Evaluate(Call(name)) if name == _BARRIER:
                return Seq(())
            case Evaluate(Call(name) as call) if name in FRAGMENT_CALLS:
                return self.each_warp(call)
            case For(extent=extent) if self.common(extent):
                return replace(stmt, body=self.inside(stmt.body), kind=LoopKind.SERIAL)
            case If(condition, then, otherwise):
                return self.branch(condition, then, otherwise)
            case Allocate(buffer, body, None):
                return self.allocate(buffer, body)
            case Allocate(buffer, body, Buffer() as of) if of not in self.own:
                return replace(stmt, body=self.inside(body))
            case Attribute(body=body):
                return self.inside(body)
            case Let(value=value) if self.common(value):
                return replace(stmt, body=self.inside(stmt.body))
            case BufferStore():
                return self.store(stmt)
        raise _refused(f"{type(stmt).__name__} around a barrier or a shuffle")

    def launch(self, axis: Launch, body: Stmt) -> Stmt:
        if axis.tag in BLOCK_AXES:
            return For(axis.var, cast(axis.var.dtype, axis.extent), self.inside(body))
        known = next((one for one in self.threads if one.tag == axis.tag), None)
        if known is not None:
            return self.inside(substitute_stmt(body, {axis.var: cast(axis.var.dtype, known.var)}))
        before, self.threads = self.threads, (*self.threads, axis)
        found = self.inside(body)
        self.threads = before
        return found

    def common(self, expr: PrimExpr) -> bool:
        """Whether all threads of a block find the same for ``expr``."""
        own = {axis.var for axis in self.threads}
        return not own & set(variables(expr)) and not any(load.buffer in self.own for load in loads(expr))

    def number(self) -> PrimExpr:
        """Return the number of a thread in its block."""
        found: PrimExpr = IntImm(0)
        for axis in sorted(self.threads, key=lambda one: THREAD_AXES.index(one.tag)):
            found = binary("+", binary("*", found, cast("int64", axis.extent)), cast("int64", axis.var))
        return found

    def count(self) -> PrimExpr:
        """Return how many threads a block has."""
        found: PrimExpr = IntImm(1)
        for axis in self.threads:
            found = binary("*", found, cast("int64", axis.extent))
        return found

    def each(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` run by every thread that is not kept from it."""
        body = self.moved(stmt)
        for guard in reversed(self.guards):
            body = If(guard, body)
        for axis in sorted(self.threads, key=lambda one: THREAD_AXES.index(one.tag), reverse=True):
            body = For(axis.var, cast(axis.var.dtype, axis.extent), body)
        return body

    def each_warp(self, call: Call) -> Stmt:
        """Return what ``call`` does, by every warp whose first thread is not kept from it."""
        warp = Var("warp", "int64")
        body = self.moved(loops_of(call, warp, self.fragments))
        for guard in reversed(self.guards):
            body = If(guard, body)
        values: dict[Var, PrimExpr] = {}
        number = thread_of(warp)
        for axis in sorted(self.threads, key=lambda one: THREAD_AXES.index(one.tag), reverse=True):
            extent = cast("int64", axis.extent)
            values[axis.var] = cast(axis.var.dtype, binary("%", number, extent))
            number = binary("//", number, extent)
        return For(warp, self.warps(), substitute_stmt(body, values))

    def warps(self) -> PrimExpr:
        """Return how many warps a block has."""
        return simplify(binary("//", self.count(), IntImm(WARP)))

    def moved(self, stmt: Stmt) -> Stmt:
        """Return ``stmt`` with a thread's own memory as a part of that of all threads."""
        if not self.own:
            return stmt

        def change(node: Stmt) -> Stmt | None:
            match node:
                case BufferStore(buffer, indices, value, predicate) if buffer in self.own:
                    places = (self.number(), *(self.read(index) for index in indices))
                    mask = None if predicate is None else self.read(predicate)
                    return BufferStore(self.own[buffer], places, self.read(value), mask)
            return None

        return map_stmt(stmt, self.read, change)

    def read(self, expr: PrimExpr) -> PrimExpr:
        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer in self.own:
                return BufferLoad(self.own[node.buffer], (self.number(), *map(self.read, node.indices)))
            return None

        return map_expr(expr, rewrite)

    def memory(self, name: str, dtype: str, shape: Sequence[PrimExpr] = ()) -> Buffer:
        """Return memory with a place for each thread of a block."""
        return Buffer(name, (self.count(), *(cast("int64", one) for one in shape)), dtype)

    def allocate(self, buffer: Buffer, body: Stmt) -> Stmt:
        if buffer.scope.startswith("shared"):
            return Allocate(buffer, self.inside(body))
        if not self.threads or thread_axes(body):
            return self.further_in(Allocate(buffer, body))
        if is_fragment(buffer):
            held = self.fragments[buffer] = memory_of_warps(buffer, self.warps())
            return Allocate(held, self.inside(body))
        made = self.own[buffer] = self.memory(buffer.name, buffer.dtype, buffer.shape)
        return Allocate(made, self.inside(body))

    def further_in(self, stmt: Stmt) -> Stmt:
        """Return memory of threads that stands around their axes, and what is in it."""
        taken: list[Allocate] = []
        while isinstance(stmt, Allocate):
            taken.append(stmt)
            stmt = stmt.body
        if not isinstance(stmt, (For, Attribute)) or launch_of(stmt) is None:
            raise _refused("memory of threads that is not around them")
        inner = stmt.body
        for one in reversed(taken):
            if not one.buffer.scope.startswith("shared"):
                inner = replace(one, body=inner)
        found: Stmt = replace(stmt, body=inner)
        for one in reversed(taken):
            if one.buffer.scope.startswith("shared"):
                found = replace(one, body=found)
        return self.inside(found)

    def branch(self, condition: PrimExpr, then: Stmt, otherwise: Stmt | None) -> Stmt:
        if self.common(condition):
            other = None if otherwise is None else self.inside(otherwise)
            return If(condition, self.inside(then), other)
        parts: list[Stmt] = []
        made: list[Buffer] = []
        truths = (condition, binary("==", condition, const(0, "bool")))
        for truth, body in zip(truths, (then, otherwise), strict=True):
            if body is None:
                continue
            guard = truth
            if loads(truth):
                # What is asked may be written by then.
                runs = self.memory("runs", "bool")
                made.append(runs)
                guard = BufferLoad(runs, (self.number(),))
                parts.insert(len(made) - 1, self.each(BufferStore(runs, guard.indices, truth)))
            before, self.guards = self.guards, (*self.guards, guard)
            parts.append(self.inside(body))
            self.guards = before
        found: Stmt = Seq(tuple(parts))
        for runs in made:
            found = Allocate(runs, found)
        return found

    def store(self, stmt: BufferStore) -> Stmt:
        """Return a store of what threads hand each other."""
        parts: list[Stmt] = []
        made: list[Buffer] = []

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            match node:
                case Call(name, (_, value, moved, width, *_)) if name in SHUFFLES:
                    handed = self.memory("handed", value.dtype)
                    made.append(handed)
                    parts.append(self.each(BufferStore(handed, (self.number(),), map_expr(value, rewrite))))
                    return BufferLoad(handed, (self.source(name, moved, width),))
                case Call(name) if name == _MASK:
                    return const((1 << 32) - 1, "uint32")
            return None

        value = map_expr(stmt.value, rewrite)
        found: Stmt = Seq((*parts, self.each(replace(stmt, value=value))))
        for handed in made:
            found = Allocate(handed, found)
        return found

    def source(self, name: str, moved: PrimExpr, width: PrimExpr) -> PrimExpr:
        """Return the number of the thread from which a shuffle takes its value."""
        distance, size, number = cast("int64", moved), cast("int64", width), self.number()
        lane = binary("%", number, size)
        begin = binary("-", number, lane)
        match name:
            case "tvm_warp_shuffle_down":
                there = binary("+", lane, distance)
                return binary("+", begin, if_then_else(binary("<", there, size), there, lane))
            case "tvm_warp_shuffle_up":
                there = binary("-", lane, distance)
                return binary("+", begin, if_then_else(binary(">=", there, IntImm(0)), there, lane))
            case "tvm_warp_shuffle_xor":
                there = binary("^", lane, distance)
                return binary("+", begin, if_then_else(binary("<", there, size), there, lane))
        return binary("+", begin, binary("%", distance, size))
