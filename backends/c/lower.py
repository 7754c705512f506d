"""Blocks become loops: axes are replaced by their values, predicates and initialisation by conditions."""

from __future__ import annotations

from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import IntImm, PrimExpr, binary, logical_and
from relay2relax.tir.stmt import Allocate, BlockRealize, If, IterKind, Seq, Stmt
from relay2relax.tir.visit import map_stmt, substitute_stmt


def lower_blocks(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without blocks, loops as they are."""

    def rewrite(node: Stmt) -> Stmt | None:
        if not isinstance(node, BlockRealize):
            return None
        block = node.block
        values = {axis.var: value for axis, value in zip(block.iter_vars, node.values, strict=True)}
        body = lower_blocks(substitute_stmt(block.body, values))
        if block.init is not None:
            init: Stmt = lower_blocks(substitute_stmt(block.init, values))
            reduced = [values[a.var] for a in block.iter_vars if a.kind is IterKind.REDUCE]
            start = logical_and(*(binary("==", simplify(value), IntImm(0, value.dtype)) for value in reduced))
            body = Seq((_when(start, init), body))
        for buffer in reversed(block.alloc_buffers):
            body = Allocate(buffer, body)
        return body if node.predicate is None else _when(node.predicate, body)

    return map_stmt(stmt, lambda expr: expr, rewrite)


def _when(condition: PrimExpr, body: Stmt) -> Stmt:
    if isinstance(condition, IntImm):
        return body if condition.value else Seq(())
    return If(condition, body)
