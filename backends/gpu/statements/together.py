"""Rows that a block does together: suppression of boxes.

All threads go through the statement side by side, each with local memory of its own in which the
same stands. What is sorted, and loops whose iterations keep to places of their own, are dealt out
among the threads; so are loops that look whether there is one such case. Whatever else is written
to memory, the first thread writes. Whoever has read what the kernel writes waits before somebody
may write it again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.kernel import WARP, ZERO, across, barrier, buffer, count, first, launch, quotient, unravel
from relay2relax.backends.gpu.statements.ranks import ranked, sorting_of
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary, if_then_else
from relay2relax.tir.ir.stmt import Allocate, BufferStore, For, If, Let, Seq, Stmt
from relay2relax.tir.ir.visit import loads, statements, substitute_stmt

_THREADS = 256
# More rows keep a GPU busy with a thread each.
_MOST_ROWS = 256


def by_blocks(loops: Sequence[For], body: Stmt, keeps_apart: Callable[[For], bool]) -> Stmt | None:
    """Return the kernel of a statement that sorts, and goes on with what is sorted, in a block for
    each row of ``loops``; None of another one.

    ``keeps_apart`` says whether what iterations write is theirs alone.
    """
    axes = [Axis(loop.var, loop.extent) for loop in loops]
    if (static(count(axes)) or 1) > _MOST_ROWS or not any(_sorts(node) for node in statements(body)):
        return None
    thread = Var("thread")
    writer = _Writer(thread, {n.buffer for n in statements(body) if isinstance(n, BufferStore)}, keeps_apart)
    made = writer.stmt(body)
    if made is None:
        return None

    def kernel(block: Var, names: Sequence[Var]) -> Stmt:
        return substitute_stmt(made, {thread: names[0], **unravel(block, axes)})

    return launch(count(axes), [_THREADS], kernel, shared=[writer.flags], own=[writer.flag, writer.rank])


def _sorts(node: Stmt) -> bool:
    return isinstance(node, Seq) and any(sorting_of(part) is not None for part in parts_of(node))


def parts_of(stmt: Seq) -> list[Stmt]:
    """Return the parts of a sequence, what sorts as one of them."""
    found: list[Stmt] = []
    rest = list(stmt.stmts)
    while rest:
        pair = Seq(tuple(rest[:2]))
        taken = 2 if sorting_of(pair) is not None else 1
        found.append(pair if taken == 2 else rest[0])
        del rest[:taken]
    return found


class _Writer:
    """Writes what all threads do; ``written`` is what the kernel writes."""

    def __init__(self, thread: Var, written: set[Buffer], keeps_apart: Callable[[For], bool]) -> None:
        self.thread = thread
        self.written = {one for one in written if one.scope != "local"}
        self.keeps_apart = keeps_apart
        self.flag = buffer("flag", (1,), "int32", "local")
        self.flags = buffer("flags", (_THREADS // WARP,), "int32", "shared")
        self.rank = buffer("rank", (1,), "int64", "local")

    def reads(self, *exprs: PrimExpr) -> bool:
        """Whether expressions read what the kernel writes."""
        return any(load.buffer in self.written for expr in exprs for load in loads(expr))

    def waiting(self, stmt: Stmt, *exprs: PrimExpr) -> Stmt:
        """Return a statement, and a barrier behind it where it reads what may be written next."""
        return Seq((stmt, barrier())) if self.reads(*exprs) else stmt

    def stmt(self, stmt: Stmt) -> Stmt | None:
        """Return what the threads of a block do for ``stmt``, None where they cannot together."""
        found = sorting_of(stmt)
        if found is not None:
            return self.dealt(found.extent, lambda own: ranked(found, own, self.rank))
        match stmt:
            case Seq():
                return self.sequence(stmt)
            case For(extent=extent) if stmt.begin is None and stmt.step is None and not self.reads(extent):
                return None if _is_own(extent) else self.loop(stmt)
            case Let(var, value, body) if not _is_own(value):
                inner = self.stmt(body)
                wait = (barrier(),) if self.reads(value) else ()
                return None if inner is None else Let(var, value, Seq((*wait, inner)))
            case If(condition, then, otherwise):
                return self.branch(condition, then, otherwise)
            case Allocate(held, body, None) if held.scope == "local":
                inner = self.stmt(body)
                return None if inner is None else Allocate(held, inner)
            case BufferStore(target, indices, value) if target.scope == "local":
                return self.waiting(stmt, *indices, value)
            case BufferStore():
                return Seq((If(binary("==", self.thread, ZERO), stmt), barrier()))
        return None

    def sequence(self, stmt: Seq) -> Stmt | None:
        made = [self.stmt(part) for part in parts_of(stmt)]
        found = [one for one in made if one is not None]
        return Seq(tuple(found)) if len(found) == len(made) else None

    def branch(self, condition: PrimExpr, then: Stmt, otherwise: Stmt | None) -> Stmt | None:
        yes, no = self.stmt(then), None if otherwise is None else self.stmt(otherwise)
        if yes is None or (otherwise is not None and no is None):
            return None
        if not self.reads(condition):
            return If(condition, yes, no)
        runs = buffer("runs", (1,), "bool", "local")
        asked = BufferStore(runs, (ZERO,), condition)
        return Allocate(runs, Seq((asked, barrier(), If(first(runs), yes, no))))

    def dealt(self, extent: PrimExpr, body: Callable[[PrimExpr], Stmt]) -> Stmt:
        """Return ``body`` for all numbers below ``extent``, each by one thread."""
        turn = Var("turn")
        own = binary("+", binary("*", turn, IntImm(_THREADS)), self.thread)
        guarded = If(binary("<", own, extent), body(own))
        return Seq((For(turn, quotient(extent, _THREADS), guarded), barrier()))

    def loop(self, loop: For) -> Stmt | None:
        if self.keeps_apart(loop):
            return self.dealt(loop.extent, lambda own: substitute_stmt(loop.body, {loop.var: own}))
        cell = _looks_for(loop)
        if cell is not None:
            return self.looked(loop, *cell)
        inner = self.stmt(loop.body)
        return None if inner is None else For(loop.var, loop.extent, inner)

    def looked(self, loop: For, cell: Buffer, value: IntImm) -> Stmt:
        """Return a loop that gives ``cell`` a ``value`` in one case or another, by all threads."""
        lane, warp = (binary(op, self.thread, IntImm(WARP)) for op in ("%", "//"))
        one, none = IntImm(1, "int32"), IntImm(0, "int32")
        found = if_then_else(binary("==", first(cell), value), one, none)
        whole: list[Stmt] = []
        for number in range(_THREADS // WARP):
            other = BufferLoad(self.flags, (IntImm(number),))
            whole.append(BufferStore(self.flag, (ZERO,), binary("max", first(self.flag), other)))
        return Seq(
            (
                self.dealt(loop.extent, lambda own: substitute_stmt(loop.body, {loop.var: own})),
                BufferStore(self.flag, (ZERO,), found),
                across(self.flag, "max"),
                If(binary("==", lane, ZERO), BufferStore(self.flags, (warp,), first(self.flag))),
                barrier(),
                *whole,
                barrier(),
                If(binary(">", first(self.flag), none), BufferStore(cell, (ZERO,), value)),
            )
        )


def _is_own(value: PrimExpr) -> bool:
    """Whether a value follows from memory of a thread: nobody sees that all threads find the
    same.
    """
    return any(load.buffer.scope == "local" for load in loads(value))


def _looks_for(loop: For) -> tuple[Buffer, IntImm] | None:
    """Return the local memory to which a loop writes, and the one number that it writes there; None
    where it does anything else.
    """
    nodes = list(statements(loop.body))
    own = {node.buffer for node in nodes if isinstance(node, Allocate)}
    stores = [node for node in nodes if isinstance(node, BufferStore) and node.buffer not in own]
    cells = {node.buffer for node in stores}
    values = {node.value for node in stores if isinstance(node.value, IntImm)}
    known = all(isinstance(node, (Seq, If, Let, For, Allocate, BufferStore)) for node in nodes)
    if len(cells) != 1 or len(values) != 1 or not known or not all(isinstance(n.value, IntImm) for n in stores):
        return None
    (cell,), (value,) = cells, values
    return (cell, value) if cell.scope == "local" and isinstance(value, IntImm) else None
