"""Indices of unsigned dtypes as int64, with which positions are computed. One beyond int64 becomes
negative: it lies outside of every tensor as it did.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.dtype import is_unsigned
from relay2relax.tir.ir.expr import BufferLoad, PrimExpr, cast
from relay2relax.tir.ir.stmt import BufferStore, PrimFunc, Stmt
from relay2relax.tir.ir.visit import all_expressions, map_expr, map_stmt, statements, subexpressions


def with_signed_indices(func: PrimFunc) -> PrimFunc:
    """Return ``func`` without unsigned indices, ``func`` itself where it has none."""
    stores = (node.indices for node in statements(func.body) if isinstance(node, BufferStore))
    parts = (part for expr in all_expressions(func.body) for part in subexpressions(expr))
    loads = (part.indices for part in parts if isinstance(part, BufferLoad))
    if not any(is_unsigned(index.dtype) for indices in (*stores, *loads) for index in indices):
        return func
    return replace(func, body=map_stmt(func.body, _expr, _store))


def _store(stmt: Stmt) -> Stmt | None:
    if not isinstance(stmt, BufferStore):
        return None
    mask = None if stmt.predicate is None else _expr(stmt.predicate)
    indices = _signed([_expr(index) for index in stmt.indices])
    return replace(stmt, indices=indices, value=_expr(stmt.value), predicate=mask)


def _expr(expr: PrimExpr) -> PrimExpr:
    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, BufferLoad):
            return None
        return replace(node, indices=_signed([map_expr(index, rewrite) for index in node.indices]))

    return map_expr(expr, rewrite)


def _signed(indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    return tuple(cast("int64", index) if is_unsigned(index.dtype) else index for index in indices)
