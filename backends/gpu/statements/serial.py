"""Kernels of what is not a nest of loops around one store: sorting, suppression of boxes, scans.

Rows that are sorted have a thread for each element (``ranks.py``); rows of running sums
(``scans.py``), and rows that are sorted for what comes then (``together.py``), have a block each.
Iterations of the outermost loops that keep to places of their own take a thread each; whatever else
there is runs in one thread. Parts that follow each other are kernels of their own where one of them
is not for one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.backends.c.stages import Axis
from relay2relax.backends.gpu.kernel import WARP, count, guarded, launch, quotient, unravel
from relay2relax.backends.gpu.statements.ranks import by_ranks, sorting_of
from relay2relax.backends.gpu.statements.scans import by_scan
from relay2relax.backends.gpu.statements.together import by_blocks, parts_of
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import Allocate, BufferStore, For, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import all_expressions, loads, map_parts, mentions, statements, substitute_stmt


def serial_kernels(stmt: Stmt) -> Stmt:
    """Return the kernels of a statement, one after the other.

    Parts of it whose iterations are independent are kernels of their own; what is between them is
    one thread's.
    """
    outside: list[Allocate] = []
    while isinstance(stmt, Allocate) and _is_outside(stmt):
        outside.append(stmt)
        stmt = stmt.body
    parts = _apart(stmt)
    if len(parts) == 1 or any(map(_is_outside, statements(stmt))):
        outside += [node for node in statements(stmt) if isinstance(node, Allocate) and _is_outside(node)]
        parts = [stmt]
    kernels: Stmt = Seq(tuple(map(_kernel, parts))) if len(parts) > 1 else _kernel(stmt)
    for allocation in reversed(outside):
        kernels = replace(allocation, body=kernels)
    return kernels


def _apart(stmt: Stmt) -> list[Stmt]:
    """Return the parts of a statement that are kernels."""
    if not isinstance(stmt, Seq):
        return [stmt]
    found: list[Stmt] = []
    between: list[Stmt] = []
    for part in parts_of(stmt):
        loops, inner = _independent(part)
        if not loops and sorting_of(part) is None:
            between.append(part)
            continue
        if between:
            found.append(Seq(tuple(between)))
            between = []
        found += _sorted_apart(loops, inner) or [part]
    return [*found, Seq(tuple(between))] if between else found


def _sorted_apart(loops: Sequence[For], inner: Stmt) -> list[Stmt]:
    """Return independent loops as one nest for each part of what they do, where one part sorts, and
    a block cannot do all of them together.
    """
    if not isinstance(inner, Seq) or sorting_of(inner) is not None or together(loops, inner) is not None:
        return []
    parts = parts_of(inner)
    if all(sorting_of(part) is None for part in parts):
        return []
    for loop in reversed(loops):
        parts = [replace(loop, body=part) for part in parts]
    return parts


def together(loops: Sequence[For], inner: Stmt) -> Stmt | None:
    """Return the kernel of what threads or blocks do together for each iteration of ``loops``, None
    where there is none.
    """
    # A scan is a loop whose iterations need each other, so it is none of the loops outside.
    return by_ranks(loops, inner) or by_scan(loops, inner) or by_blocks(loops, _plain(inner), _keeps_apart)


def _kernel(stmt: Stmt) -> Stmt:
    """Return the kernel of a statement."""
    loops, inner = _independent(stmt)
    found = together(loops, inner)
    if found is not None:
        return found
    if loops:
        axes = [Axis(loop.var, loop.extent) for loop in loops]
        total = count(axes)

        def body(block: Var, names: Sequence[Var]) -> Stmt:
            position = binary("+", binary("*", block, IntImm(WARP)), names[0])
            values = unravel(position, axes)
            return guarded(position, total, WARP, substitute_stmt(_plain(inner), values))

        return launch(quotient(total, WARP), [WARP], body)
    whole = _plain(stmt)
    return launch(IntImm(1), [1], lambda block, names: whole)


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
