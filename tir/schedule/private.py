"""Memory of their own for the iterations of loops: what apache-tvm finds out by itself, for other
machines.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import Bounds, simplify
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, For, LoopKind, PrimFunc, Stmt
from relay2relax.tir.ir.visit import map_parts
from relay2relax.tir.normalize.blockless import lower_blocks
from relay2relax.tir.schedule.blocks import with_accesses
from relay2relax.tir.schedule.independence import private_buffers
from relay2relax.tir.schedule.positions import Box, accesses, box_of
from relay2relax.tir.schedule.tree import Path, blocks_in, bounds_of, find, loop_at, loops_in, loops_of

# What is no larger may be allocated again and again: it lies on the stack.
_SMALL_BYTES = 1 << 14


def lowered_stage(func: PrimFunc, stage: Stmt) -> Stmt:
    """Return a stage of ``func`` as loops without blocks.

    Temporaries that each iteration of a parallel loop makes and uses by itself are allocated in the
    loop, as large as one iteration needs them: what iterations do may overlap,
    ``Schedule.parallel`` allows that. Those that are small are allocated in the innermost loop for
    which this holds, so that they stay near.
    """
    places: dict[Buffer, tuple[Var, Box]] = {}
    # A loop comes before those within it. One program may be called twice: only within a stage is a
    # loop told by its variable.
    for path in find(func.with_body(stage), lambda stmt: isinstance(stmt, For)):
        loop = loop_at(path)
        if any(isinstance(stmt, BlockRealize) for stmt in path):
            # What a box within a block begins with, its axes would have to tell.
            continue
        for buffer, box in _private(func, path):
            if loop.kind is LoopKind.PARALLEL or _is_small(buffer, box):
                places[buffer] = loop.var, box

    def change(node: Stmt) -> Stmt:
        new = map_parts(node, change, lambda expr: expr)
        if isinstance(new, For):
            for buffer, (var, box) in places.items():
                if var is new.var:
                    new = _narrowed(func, new, buffer, box)
        return new

    return change(lower_blocks(stage))


def _private(func: PrimFunc, path: Path) -> list[tuple[Buffer, Box]]:
    """Return the temporaries that each iteration of a loop has for itself, and what of them one
    iteration uses.
    """
    loop = loop_at(path)
    if not blocks_in(loop.body):
        return []
    inner = loops_in(loop.body)
    around = [*loops_of(path), loop]
    extents = {one.var: one.extent for one in inner}
    found = private_buffers(func, loop, extents, bounds_of(func, [*around, *inner]))
    known = bounds_of(func, around)
    kept = [buffer for buffer in func.root_buffers if buffer in found]
    return [(buffer, box_of(accesses(loop.body, buffer), buffer.shape, known)) for buffer in kept]


def _is_small(buffer: Buffer, box: Box) -> bool:
    extents = [extent.value for _, extent in box if isinstance(extent, IntImm)]
    return len(extents) == len(box) and math.prod(extents) * bits(buffer.dtype) <= _SMALL_BYTES * 8


def _narrowed(func: PrimFunc, loop: For, buffer: Buffer, box: Box) -> For:
    """Return ``loop``, which holds no blocks, with ``buffer`` as memory of each iteration."""
    own = Buffer(buffer.name, tuple(extent for _, extent in box), buffer.dtype, "local")

    def moved(target: Buffer, indices: Sequence[PrimExpr], known: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        if target is not buffer:
            return target, tuple(indices)
        return own, tuple(simplify(i - begin, known) for i, (begin, _) in zip(indices, box, strict=True))

    return replace(loop, body=Allocate(own, with_accesses(loop.body, bounds_of(func, [loop]), moved)))
