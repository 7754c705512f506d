"""Running sums and products along rows: a block has a row, 256 elements of it at a time.

The threads of a warp add what others have, one, two, four, … before them; warps hand on their
totals through shared memory. Sums of floats are taken in another order than one by one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.kernel import (
    SHUFFLED,
    WARP,
    ZERO,
    barrier,
    buffer,
    count,
    first,
    fold,
    guarded,
    launch,
    quotient,
    unravel,
)
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    Var,
    binary,
    const,
    if_then_else,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, Seq, Stmt
from relay2relax.tir.ir.visit import loads, substitute, substitute_stmt

_THREADS = 256
# Shorter rows have a thread each.
_SHORTEST = 64
_IDENTITY: dict[BinaryOp, int] = {"+": 0, "*": 1}


@dataclass(frozen=True, slots=True)
class Scan:
    """A row of results: each is the one before it and an ``element``, by ``op``; that at 0 is
    ``begin``.
    """

    step: Var
    extent: PrimExpr
    store: BufferStore
    begin: PrimExpr
    element: PrimExpr
    op: BinaryOp


def scan_of(loop: Stmt) -> Scan | None:
    """Return the scan that a loop is, along the last axis of its result; None where it is none."""
    match loop:
        case For(
            step,
            extent,
            If(
                Binary("==", index, IntImm(0)),
                BufferStore(target, here, begin) as store,
                BufferStore(again, there, Binary("+" | "*" as op, BufferLoad(before, places), element)),
            ),
        ) if index is step and target is again is before:
            pass
        case _:
            return None
    earlier = [simplify(substitute(place, {step: binary("-", step, IntImm(1))})) for place in here]
    read = [load.buffer for expr in (begin, element) for load in loads(expr)]
    fits = here == there and here[-1] is step and [*map(simplify, places)] == earlier and target not in read
    if not fits or target.dtype not in SHUFFLED or (static(extent) or _SHORTEST) < _SHORTEST:
        return None
    return Scan(step, extent, store, begin, element, op)


def by_scan(loops: Sequence[For], body: Stmt) -> Stmt | None:
    """Return the kernel of rows of ``loops`` that are a scan each, None of another statement."""
    found = scan_of(body)
    if found is None:
        return None
    axes = [Axis(loop.var, loop.extent) for loop in loops]
    dtype = found.store.buffer.dtype
    value, other, before, carry = (buffer(name, (1,), dtype, "local") for name in ("value", "other", "before", "carry"))
    totals = buffer("totals", (_THREADS // WARP,), dtype, "shared")
    zero = const(_IDENTITY[found.op], dtype)
    chunk = Var("chunk")

    def kernel(block: Var, names: Sequence[Var]) -> Stmt:
        (thread,) = names
        lane, warp = binary("%", thread, IntImm(WARP)), binary("//", thread, IntImm(WARP))
        position = binary("+", binary("*", chunk, IntImm(_THREADS)), thread)
        here = {found.step: position}
        element = if_then_else(
            binary("==", position, ZERO), substitute(found.begin, here), substitute(found.element, here)
        )
        inside = if_then_else(binary("<", position, found.extent), element, zero)
        within: list[Stmt] = [BufferStore(value, (ZERO,), inside)]
        distance = 1
        while distance < WARP:
            lanes = [IntImm(WARP, "int32"), IntImm(WARP, "int32")]
            mask = Call("tvm_warp_activemask", (), "uint32")
            moved = Call("tvm_warp_shuffle_up", (mask, first(value), IntImm(distance, "int32"), *lanes), dtype)
            added = binary(found.op, first(other), first(value))
            chosen = if_then_else(binary(">=", lane, IntImm(distance)), added, first(value))
            within += [BufferStore(other, (ZERO,), moved), BufferStore(value, (ZERO,), chosen)]
            distance *= 2
        warps = [IntImm(number) for number in range(_THREADS // WARP)]
        stored = BufferStore(
            found.store.buffer,
            tuple(substitute(index, here) for index in found.store.indices),
            binary(found.op, first(before), first(value)),
        )
        stmts = (
            *within,
            If(binary("==", lane, IntImm(WARP - 1)), BufferStore(totals, (warp,), first(value))),
            barrier(),
            BufferStore(before, (ZERO,), first(carry)),
            *(If(binary("<", one, warp), fold(before, found.op, BufferLoad(totals, (one,)))) for one in warps),
            guarded(position, found.extent, _THREADS, stored),
            *(fold(carry, found.op, BufferLoad(totals, (one,))) for one in warps),
            barrier(),
        )
        row = unravel(block, axes)
        loop = For(chunk, quotient(found.extent, _THREADS), substitute_stmt(Seq(stmts), row))
        return Seq((BufferStore(carry, (ZERO,), zero), loop))

    return launch(count(axes), [_THREADS], kernel, shared=[totals], own=[value, other, before, carry])
