"""Sorting on GPUs: each element has a thread, which counts how many come before it.

A merge of two runs goes step by step. Counting takes more comparisons, one with every element of
the row, but all elements do it at once, and a warp reads one and the same element at a time. Of
equal elements the earlier one comes first, as where runs are merged.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.kernel import ZERO, buffer, count, fold, guarded, launch, quotient, unravel
from relay2relax.ops.common.order import insertion, merge_sort
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    IntImm,
    Not,
    PrimExpr,
    Var,
    binary,
    cast,
    logical_and,
)
from relay2relax.tir.ir.stmt import Allocate, BufferStore, For, If, Let, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.structural_equal import structural_equal
from relay2relax.tir.ir.visit import all_expressions, loads, map_expr, statements, substitute, substitute_stmt

_THREADS = 128


@dataclass(frozen=True, slots=True)
class Sorting:
    """The indices of a row, sorted: ``order[at]`` holds the index that has the rank ``rank``, of
    which there are ``extent``, and the first ``count`` are wanted. ``before`` says whether index
    ``a`` has to come before index ``b``.
    """

    order: Buffer
    at: tuple[PrimExpr, ...]
    rank: Var
    extent: PrimExpr
    count: PrimExpr
    a: Var
    b: Var
    before: PrimExpr

    def place(self, rank: PrimExpr) -> tuple[PrimExpr, ...]:
        """Return where the index of a rank lies."""
        return tuple(substitute(index, {self.rank: rank}) for index in self.at)

    def precedes(self, a: PrimExpr, b: PrimExpr) -> PrimExpr:
        """Return whether one index has to come before another."""
        return substitute(self.before, {self.a: a, self.b: b})


def by_ranks(loops: Sequence[For], body: Stmt) -> Stmt | None:
    """Return the kernel of a statement that sorts each row of ``loops``, None of another one."""
    found = sorting_of(body)
    if found is None:
        return None
    one = Axis(Var("element"), found.extent)
    axes = (*(Axis(loop.var, loop.extent) for loop in loops), one)
    rank = buffer("rank", (1,), "int64", "local")
    total = count(axes)

    def kernel(block: Var, names: Sequence[Var]) -> Stmt:
        position = binary("+", binary("*", block, IntImm(_THREADS)), names[0])
        values = unravel(position, axes)
        own = values.pop(one.var)
        return guarded(position, total, _THREADS, substitute_stmt(ranked(found, own, rank), values))

    return launch(quotient(total, _THREADS), [_THREADS], kernel, own=[rank])


def ranked(found: Sorting, own: PrimExpr, rank: Buffer) -> Stmt:
    """Return what puts the index ``own`` where it belongs; ``rank`` is memory of a thread."""
    other = Var("other")
    earlier = logical_and(binary("<", other, own), Not(found.precedes(own, other)))
    comes = binary("or", found.precedes(other, own), earlier)
    known = BufferLoad(rank, (ZERO,))
    stored: Stmt = BufferStore(found.order, found.place(known), cast(found.order.dtype, own))
    if found.count != found.extent:
        stored = If(binary("<", known, found.count), stored)
    counted = For(other, found.extent, fold(rank, "+", cast("int64", comes)))
    return Seq((BufferStore(rank, (ZERO,), ZERO), counted, stored))


def sorting_of(body: Stmt) -> Sorting | None:
    """Return what a statement sorts, None where it is not what ``ops/common/order.py`` writes.

    The parts are taken out of it, and it has to be what is written of them again.
    """
    match body:
        case Seq((For(var, extent, BufferStore(order, at, value)), Allocate() as rest)) if value == var:
            return _merged(
                body, rest, Sorting(order, at, var, extent, extent, Var("a", "int64"), Var("b", "int64"), ZERO)
            )
        case Seq(
            (For(var, wanted, BufferStore(order, at, _)), Allocate(body=Seq((_, For(index, extent, If(enters))))))
        ):
            a, b = Var("a", "int64"), Var("b", "int64")
            return _inserted(body, enters, Sorting(order, at, var, extent, wanted, a, b, ZERO), index)
    return None


def _merged(body: Stmt, rest: Stmt, found: Sorting) -> Sorting | None:
    nodes = list(statements(rest))
    scratch = [node.buffer for node in nodes if isinstance(node, BufferStore) and node.buffer.scope != "local"]
    scratch = [one for one in dict.fromkeys(scratch) if one is not found.order]
    values = [node.value for node in nodes if isinstance(node, Let)]
    if len(scratch) != 1 or len(values) != 1:
        return None
    match values[0]:
        case Binary("or", Binary(">=", BufferLoad(left)), Binary("and", Binary("<", BufferLoad(right)), wins)):
            sides = {right: found.a, left: found.b}
        case _:
            return None

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and node.buffer is found.order:
            cells = [load.buffer for index in node.indices for load in loads(index)]
            return next((sides[cell] for cell in cells if cell in sides), None)
        return None

    found = replace(found, before=map_expr(wins, rewrite))
    again = merge_sort(found.order, scratch[0], found.place, found.extent, found.precedes)
    return found if _equal(body, again) else None


def _inserted(body: Stmt, enters: PrimExpr, found: Sorting, index: Var) -> Sorting | None:
    wanted = found.count
    if not isinstance(enters, Binary) or not isinstance(wanted, IntImm):
        return None

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if node is index:
            return found.a
        return found.b if isinstance(node, BufferLoad) and node.buffer is found.order else None

    found = replace(found, before=map_expr(enters.b, rewrite))
    again = insertion(found.order, found.place, found.extent, wanted.value, found.precedes)
    return found if _equal(body, again) else None


def _equal(one: Stmt, other: Stmt) -> bool:
    """Whether two statements over the same buffers and variables do the same in the same words."""
    used = dict.fromkeys(
        node.buffer for node in statements(one) if isinstance(node, BufferStore) and node.buffer.scope != "local"
    )
    read = [load.buffer for expr in all_expressions(one) for load in loads(expr) if load.buffer.scope != "local"]
    handles = {Var(buffer.name, "handle"): buffer for buffer in {**used, **dict.fromkeys(read)}}
    first, second = (PrimFunc("sort", tuple(handles), handles, body) for body in (one, other))
    return structural_equal(first, second)
