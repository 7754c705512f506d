"""Kernels of what is not a nest of loops around one store: sorting, suppression of boxes, scans.

Rows that are sorted have a thread for each element (``ranks.py``); rows of running sums
(``scans.py``), and rows that are sorted for what comes then (``together.py``), have a block each.
Iterations of the outermost loops that keep to places of their own take a thread each; whatever else
there is runs in one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.kernel import WARP, count, guarded, launch, quotient, unravel
from relay2relax.backends.gpu.statements.ranks import by_ranks
from relay2relax.backends.gpu.statements.scans import by_scan
from relay2relax.backends.gpu.statements.together import by_blocks
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import Allocate, BufferStore, For, LoopKind, Stmt
from relay2relax.tir.ir.visit import all_expressions, loads, map_parts, mentions, statements, substitute_stmt


def serial_kernel(stmt: Stmt) -> Stmt:
    """Return the kernel of a statement."""
    loops, inner = _independent(stmt)
    # A scan is a loop whose iterations need each other, so it is none of the loops outside.
    together = by_ranks(loops, inner) or by_scan(loops, inner) or by_blocks(loops, _plain(inner), _keeps_apart)
    if together is not None:
        return together
    if loops:
        axes = [Axis(loop.var, loop.extent) for loop in loops]
        total = count(axes)

        def body(block: Var, names: Sequence[Var]) -> Stmt:
            position = binary("+", binary("*", block, IntImm(WARP)), names[0])
            values = unravel(position, axes)
            return guarded(position, total, WARP, substitute_stmt(_plain(inner), values))

        return launch(quotient(total, WARP), [WARP], body)
    outside = [node for node in statements(stmt) if _is_outside(node)]
    whole = _plain(stmt)
    kernel = launch(IntImm(1), [1], lambda block, names: whole)
    for allocation in reversed(outside):
        assert isinstance(allocation, Allocate)
        kernel = replace(allocation, body=kernel)
    return kernel


def _is_outside(node: Stmt) -> bool:
    """Whether memory has to be allocated around a kernel."""
    return isinstance(node, Allocate) and node.of is None and node.buffer.scope == "global"


def _plain(node: Stmt) -> Stmt:
    """Return a statement without memory of all threads and loops for threads of processors."""
    if isinstance(node, Allocate) and _is_outside(node):
        return _plain(node.body)
    if isinstance(node, For) and node.kind is LoopKind.PARALLEL:
        node = replace(node, kind=LoopKind.SERIAL, annotations={})
    return map_parts(node, _plain, lambda expr: expr)


def _independent(stmt: Stmt) -> tuple[list[For], Stmt]:
    """Return the outermost loops whose iterations keep to places of their own, and what is in
    them.
    """
    loops: list[For] = []
    if any(_is_outside(node) for node in statements(stmt)):
        return loops, stmt
    while isinstance(stmt, For) and stmt.begin is None and stmt.step is None:
        if any(mentions(stmt.extent, loop.var) for loop in loops):
            break
        if stmt.kind is not LoopKind.PARALLEL and not _keeps_apart(stmt):
            break
        loops.append(stmt)
        stmt = stmt.body
    return loops, stmt


def _keeps_apart(loop: For) -> bool:
    """Whether what iterations write is told apart by the loop's variable, as one of the indices of
    each access.
    """
    nodes = list(statements(loop.body))
    own = {node.buffer for node in nodes if isinstance(node, Allocate)}
    stores: list[tuple[Buffer, tuple[PrimExpr, ...]]] = [
        (node.buffer, node.indices) for node in nodes if isinstance(node, BufferStore) and node.buffer not in own
    ]
    written = {buffer for buffer, _ in stores}
    read = [(load.buffer, load.indices) for expr in all_expressions(loop.body) for load in loads(expr)]
    places: dict[Buffer, set[int]] = {}
    for buffer, indices in [*stores, *(one for one in read if one[0] in written)]:
        here = {place for place, index in enumerate(indices) if index is loop.var}
        places[buffer] = places.get(buffer, here) & here
    return all(places.values())
