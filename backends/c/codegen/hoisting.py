"""Guards that an inner loop would repeat are looked at once, before it."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.tir.analysis.guards import GUARD
from relay2relax.tir.ir.expr import Binary, Call, IntImm, PrimExpr, Select, Var, binary, children, logical_and
from relay2relax.tir.ir.stmt import BufferStore, For, Let, Seq, Stmt
from relay2relax.tir.ir.visit import loads, map_expr, map_stmt, statements, variables

# A loop over so many empty ones is soon over.
_FEW = 1 << 20


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


def rounds_within(loop: For) -> PrimExpr | None:
    """Return a condition without which the loops have no rounds in which ``loop`` does all of its
    work; None where that is not known.

    A loop over 2**62 empty ones would never end; one of few rounds soon does.
    """
    if isinstance(loop.extent, IntImm) and loop.extent.value <= _FEW:
        return None
    return _work(loop.body, frozenset((loop.var,)))


def _work(stmt: Stmt, around: frozenset[Var]) -> PrimExpr | None:
    """Return a condition over what ``around`` does not change without which ``stmt`` does
    nothing.
    """
    match stmt:
        case For(var, extent, body):
            within = _work(body, around | {var})
            if isinstance(extent, IntImm) or any(True for _ in loads(extent)) or around & {*variables(extent)}:
                return within
            own = binary(">", extent, 0)
            return own if within is None else binary("and", own, within)
        case Seq((first, *others)):
            whole = _work(first, around)
            for one in others:
                part = _work(one, around)
                whole = None if whole is None or part is None else binary("or", whole, part)
            return whole
    return None


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
