"""Loops and axes that begin elsewhere than at 0, or count by more than 1, as those that backends
and schedules know.
"""

from __future__ import annotations

from dataclasses import replace

from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir import intrinsics
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BlockRealize, For, IterKind, IterVar, PrimFunc, Stmt
from relay2relax.tir.ir.visit import map_block, map_parts, statements, substitute, substitute_stmt


def counted_from_zero(func: PrimFunc) -> PrimFunc:
    """Return ``func`` with all loops and axes from 0 on by 1, ``func`` itself where they are."""
    if not any(_is_moved(node) for node in statements(func.body)):
        return func
    return func.with_body(_change(func.body))


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
            axes: list[IterVar] = []
            bound: list[PrimExpr] = []
            places: dict[Var, PrimExpr] = {}
            for axis, value in zip(block.iter_vars, values, strict=True):
                axes.append(replace(axis, begin=None))
                bound.append(value if axis.begin is None else simplify(binary("-", value, axis.begin)))
                if axis.begin is None:
                    continue
                begin = axis.begin
                if not isinstance(begin, IntImm):
                    # The loops around are not seen in a block: what the begin is comes in as an
                    # axis of its own.
                    begin = Var(f"{axis.var.name}_begin", axis.var.dtype)
                    axes.append(IterVar(begin, intrinsics.max_value(begin.dtype), IterKind.SPATIAL))
                    bound.append(axis.begin)
                places[axis.var] = binary("+", axis.var, begin)
            own = map_block(block, lambda s: substitute_stmt(s, places), lambda e: substitute(e, places), {})
            return BlockRealize(tuple(bound), replace(own, iter_vars=tuple(axes)), changed.predicate)
    return changed
