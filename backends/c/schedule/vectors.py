"""Vector statements are at most as wide as a register.

A compiler makes several registers of a wider one, but gcc does so by way of memory: the sums of a
tile that are stored sixteen lanes at a time where registers have eight then live on the stack
through the whole loop, and each of its steps reads and writes them there.
"""

from __future__ import annotations

from relay2relax.backends.c.access import CONVERSIONS, coefficient
from relay2relax.backends.c.machine import Machine
from relay2relax.tir.arith.floats import fits
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, BufferLoad, Call, Cast, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BufferStore, For, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import map_stmt, mentions, subexpressions, substitute_stmt

# The widest loop that is written as one statement on vectors.
WIDEST = 64
_BYTES = ("int8", "uint8")
_CONVERTED = (*_BYTES, "int32", "float32")


def fit_registers(stmt: Stmt, machine: Machine) -> Stmt:
    """Return ``stmt`` with vectorised loops around plain stores cut into parts that registers
    hold.
    """

    def rewrite(node: Stmt) -> Stmt | None:
        if not isinstance(node, For) or node.kind is not LoopKind.VECTORIZED or not isinstance(node.body, BufferStore):
            return None
        store, lane = node.body, node.var
        extent, lanes = static(node.extent), machine.lanes(store.buffer.dtype)
        if store.buffer.dtype in _BYTES or any(isinstance(part, Cast) for part in subexpressions(store.value)):
            return _converted(node, store, extent, machine)
        if extent is None or not lanes < extent <= WIDEST or extent % lanes:
            return node
        if coefficient(store.indices[-1], lane) != 1 or not _plain(store.value, lane):
            return node
        return Seq(tuple(_part(node, begin, lanes) for begin in range(0, extent, lanes)))

    return map_stmt(stmt, lambda expr: expr, rewrite)


def _converted(loop: For, store: BufferStore, extent: int | None, machine: Machine) -> Stmt:
    """Return a loop that stores bytes, or what was made of some, in parts of as many as registers
    hold numbers of 32 bits, by way of which they go; what is left in smaller ones.
    """
    least, lanes = min(4, machine.lanes("int32")), machine.lanes("int32")
    if extent is None or not least <= extent <= WIDEST or extent % least:
        return loop
    if store.buffer.dtype not in _CONVERTED or not _converts(store.value, loop.var):
        return loop
    if coefficient(store.indices[-1], loop.var) != 1:
        return loop
    parts, begin = [], 0
    while begin < extent:
        while begin + lanes > extent:
            lanes //= 2
        parts.append(_part(loop, begin, lanes))
        begin += lanes
    return Seq(tuple(parts))


def _converts(value: PrimExpr, lane: Var) -> bool:
    """Say whether bytes are made of ``value`` by operations that there are for vectors."""
    if not mentions(value, lane):
        return True
    match value:
        case Binary("+" | "-" | "*" | "/" | "min" | "max", a, b):
            return value.dtype in ("float32", "int32") and _converts(a, lane) and _converts(b, lane)
        case Cast(dtype, inner):
            known = (inner.dtype, dtype) in CONVERSIONS and (inner.dtype != "float32" or fits(inner, dtype))
            return known and _converts(inner, lane)
        case Call("nearbyint", (inner,)):
            return value.dtype == "float32" and _converts(inner, lane)
        case BufferLoad(_, indices):
            return coefficient(indices[-1], lane) == 1
    return False


def _part(loop: For, begin: int, lanes: int) -> For:
    lane = Var(loop.var.name, loop.var.dtype)
    place = binary("+", lane, IntImm(begin, lane.dtype)) if begin else lane
    return For(lane, IntImm(lanes), substitute_stmt(loop.body, {loop.var: place}), LoopKind.VECTORIZED)


def _plain(value: PrimExpr, lane: Var) -> bool:
    """Say whether ``value`` becomes arithmetic on vectors: what a compiler makes of other loops
    does not depend on their length.
    """
    match value:
        case Binary(_, a, b):
            return _plain(a, lane) and _plain(b, lane)
        case Call("if_then_else", (condition, a, b)) if not mentions(condition, lane):
            return _plain(a, lane) and _plain(b, lane)
        case BufferLoad(_, indices):
            return coefficient(indices[-1], lane) in (0, 1)
    return not mentions(value, lane)
