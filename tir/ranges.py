"""Loops and axes that begin elsewhere than at 0, or count by more than 1, as those that backends and schedules know."""

from __future__ import annotations

from dataclasses import replace

from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import IntImm, PrimExpr, Var, binary
from relay2relax.tir.stmt import BlockRealize, For, IterVar, PrimFunc, Stmt
from relay2relax.tir.visit import map_parts, statements, substitute_stmt


def counted_from_zero(func: PrimFunc) -> PrimFunc:
    """Return ``func`` with all loops and axes from 0 on by 1, ``func`` itself where they are."""
    if not any(_is_moved(node) for node in statements(func.body)):
        return func
    return replace(func, body=_change(func.body), origin=None)


def _is_moved(stmt: Stmt) -> bool:
    match stmt:
        case For(begin=begin, step=step):
            return begin is not None or step is not None
        case BlockRealize(block=block):
            return any(axis.begin is not None for axis in block.iter_vars)
    return False


def _change(stmt: Stmt) -> Stmt:
    changed = map_parts(stmt, _change, lambda expr: expr)
    match changed:
        case For(var, extent, body, begin=begin, step=step) if _is_moved(changed):
            count = extent if step is None else binary("//", binary("-", binary("+", extent, step), 1), step)
            value: PrimExpr = var if step is None else binary("*", var, step)
            place = value if begin is None else binary("+", begin, value)
            return replace(changed, extent=count, body=substitute_stmt(body, {var: place}), begin=None, step=None)
        case BlockRealize(values, block) if _is_moved(changed):
            begins = [IntImm(0, a.var.dtype) if a.begin is None else a.begin for a in block.iter_vars]
            bound = tuple(simplify(binary("-", value, begin)) for value, begin in zip(values, begins, strict=True))
            places = {a.var: binary("+", a.var, begin) for a, begin in zip(block.iter_vars, begins, strict=True)}
            inner = substitute_stmt(replace(changed, values=bound), _shifted(places))
            assert isinstance(inner, BlockRealize)
            axes = tuple(IterVar(axis.var, axis.extent, axis.kind) for axis in block.iter_vars)
            return replace(inner, block=replace(inner.block, iter_vars=axes))
    return changed


def _shifted(places: dict[Var, PrimExpr]) -> dict[Var, PrimExpr]:
    """Return ``places`` without the variables that stay where they are."""
    return {var: place for var, place in places.items() if place is not var}
