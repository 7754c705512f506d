"""Guards that an inner loop would repeat are looked at once, before it."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.tir.analysis.guards import GUARD
from relay2relax.tir.ir.expr import Binary, Call, IntImm, PrimExpr, Select, Var, binary, children, logical_and
from relay2relax.tir.ir.stmt import BufferStore, For, Let, Seq, Stmt
from relay2relax.tir.ir.visit import loads, map_expr, map_stmt, statements, variables


def hoisted(loop: For) -> Stmt:
    """Return ``loop``, within the guards that all of its steps share and that are surely looked
    at.
    """
    inner = {node.var for node in statements(loop) if isinstance(node, (For, Let))}
    stored = {node.buffer for node in statements(loop) if isinstance(node, BufferStore)}
    for guard, conditions in _sure(loop):
        if inner.isdisjoint(variables(guard)) and stored.isdisjoint(load.buffer for load in loads(guard)):
            return _before(loop, guard, conditions)
    return loop


def _before(loop: For, guard: PrimExpr, conditions: tuple[PrimExpr, ...]) -> Stmt:
    """Return ``loop`` within ``guard``, at which nobody looks where there is no step."""
    place = Var("place", guard.dtype)

    def replaced(expr: PrimExpr) -> PrimExpr:
        return map_expr(expr, lambda node: place if node == guard else None)

    value = guard
    if conditions:
        value = Call("if_then_else", (logical_and(*conditions), guard, IntImm(0, guard.dtype)), guard.dtype)
    return Let(place, value, map_stmt(loop, replaced))


def _sure(stmt: Stmt) -> Iterator[tuple[PrimExpr, tuple[PrimExpr, ...]]]:
    """Yield the guards that ``stmt`` looks at wherever the conditions beside them hold."""
    match stmt:
        case For(_, extent, body):
            if isinstance(extent, IntImm) and extent.value < 1:
                return
            own = () if isinstance(extent, IntImm) else (binary(">", extent, 0),)
            known = {stmt.var}
            for guard, conditions in _sure(body):
                if known.isdisjoint(node for one in conditions for node in variables(one)):
                    yield guard, (*own, *conditions)
        case Seq(stmts):
            for part in stmts:
                yield from _sure(part)
        case BufferStore(_, indices, value):
            for expr in (*indices, value):
                for guard in _evaluated(expr):
                    yield guard, ()


def _evaluated(expr: PrimExpr) -> Iterator[PrimExpr]:
    """Yield the guards in ``expr`` that are surely evaluated, outer ones first."""
    match expr:
        case Call(name) if name == GUARD:
            yield expr
            parts = children(expr)
        case Select(condition) | Call("if_then_else", (condition, *_)) | Binary("and" | "or", condition):
            parts = (condition,)
        case _:
            parts = children(expr)
    for part in parts:
        yield from _evaluated(part)
