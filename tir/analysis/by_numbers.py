"""Whether plain numbers prove what a PrimFunc accesses, whatever it is called with.

A model calls few functions many times. Those of which this is known need no second look where they
have become part of another function: ``relations.py`` and ``guards.py`` would find nothing there.
"""

from __future__ import annotations

from relay2relax.core import dtype as dt
from relay2relax.tir.arith.algebra import Bounds
from relay2relax.tir.arith.interval import Interval
from relay2relax.tir.arith.numbers import is_inside_by_numbers, number_limits
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, LetIn, PrimExpr, Var
from relay2relax.tir.ir.stmt import BlockRealize, BufferStore, For, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import expressions, statements, subexpressions

_DIVISIONS = ("//", "%", "truncdiv", "truncmod")


def proved_by_numbers(func: PrimFunc) -> bool:
    """Whether every access of ``func`` lies inside, and every divisor is a constant.

    False where loops, blocks or indices are not of the plain kinds; then nothing is known.
    """
    bounds: dict[Var, Interval] = {}
    return all(_is_proved(stmt, bounds) for stmt in statements(func.body))


def _is_proved(stmt: Stmt, bounds: dict[Var, Interval]) -> bool:
    """Look at one statement; add to ``bounds`` the limits of what it counts."""
    found: dict[Var, Interval] = {}
    match stmt:
        case Seq():
            return True
        case For(var, IntImm(count), begin=None, step=None):
            found = {var: (0, count - 1)}
        case BlockRealize(values, block, None) if not block.alloc_buffers and not block.matches:
            axes = (axis.var for axis in block.iter_vars)
            found = {var: number_limits(value, bounds) for var, value in zip(axes, values, strict=True)}
        case BufferStore(buffer, indices, predicate=None) if _is_inside(buffer, indices, bounds):
            pass
        case _:
            return False
    # Limits that nobody knows, none at all, and a variable of two loops prove nothing.
    for var, (low, high) in found.items():
        if low is None or high is None or high < low or bounds.setdefault(var, (low, high)) != (low, high):
            return False
    return all(_is_plain(node, bounds) for expr in expressions(stmt) for node in subexpressions(expr))


def _is_plain(node: PrimExpr, bounds: Bounds) -> bool:
    match node:
        case BufferLoad(buffer, indices, predicate):
            return predicate is None and _is_inside(buffer, indices, bounds)
        case Binary(op, _, divisor) if op in _DIVISIONS and dt.is_int(divisor.dtype):
            return isinstance(divisor, IntImm)
    return not isinstance(node, LetIn)


def _is_inside(buffer: Buffer, indices: tuple[PrimExpr, ...], bounds: Bounds) -> bool:
    return len(indices) == len(buffer.shape) and all(
        is_inside_by_numbers(index, extent, bounds) for index, extent in zip(indices, buffer.shape, strict=True)
    )
