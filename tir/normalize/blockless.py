"""Blocks become loops: axes are replaced by their values, predicates and initialisation by
conditions.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.tir.analysis.reshape import flat_index
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, binary, logical_and
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, BufferStore, If, IterKind, Seq, Stmt
from relay2relax.tir.ir.visit import map_expr, map_stmt, substitute_stmt


def lower_blocks(stmt: Stmt) -> Stmt:
    """Return ``stmt`` without blocks, loops as they are."""

    def rewrite(node: Stmt) -> Stmt | None:
        if isinstance(node, Allocate) and isinstance(node.of, Buffer):
            return lower_blocks(in_place(node.body, node.buffer, node.of))
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


def in_place(stmt: Stmt, view: Buffer, of: Buffer, begin: int = 0) -> Stmt:
    """Return ``stmt`` with accesses to ``view`` as accesses to ``of``, in whose memory it is from
    element ``begin`` on.

    The last index is the element's number, which may pass the last extent: memory is row-major.
    """

    def place(indices: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
        number = binary("+", flat_index(view, [expr(index) for index in indices]), IntImm(begin))
        return (*(IntImm(0, number.dtype) for _ in of.shape[1:]), number) if of.shape else ()

    def expr(node: PrimExpr) -> PrimExpr:
        return map_expr(node, load)

    def load(node: PrimExpr) -> PrimExpr | None:
        return BufferLoad(of, place(node.indices)) if isinstance(node, BufferLoad) and node.buffer is view else None

    def rewrite(node: Stmt) -> Stmt | None:
        match node:
            case BufferStore(buffer, indices, value) if buffer is view:
                return BufferStore(of, place(indices), expr(value))
            case Allocate(buffer, body, source) if source is view:
                return Allocate(buffer, in_place(body, view, of, begin), of)
        return None

    return map_stmt(stmt, expr, rewrite)


def _when(condition: PrimExpr, body: Stmt) -> Stmt:
    if isinstance(condition, IntImm):
        return body if condition.value else Seq(())
    return If(condition, body)
