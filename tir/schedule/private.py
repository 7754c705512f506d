"""Memory of their own for the iterations of parallel loops, where a machine has one memory for all threads."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.tir.arith import Bounds, simplify
from relay2relax.tir.blockless import lower_blocks
from relay2relax.tir.expr import Buffer, PrimExpr
from relay2relax.tir.schedule.blocks import with_accesses
from relay2relax.tir.schedule.independence import private_buffers
from relay2relax.tir.schedule.positions import accesses, box_of
from relay2relax.tir.schedule.tree import bounds_of, loops_in
from relay2relax.tir.stmt import Allocate, For, LoopKind, PrimFunc, Stmt
from relay2relax.tir.visit import map_parts


def lowered_stage(func: PrimFunc, stage: Stmt) -> Stmt:
    """Return a stage of ``func`` as loops without blocks.

    Temporaries that each iteration of an outermost parallel loop makes and uses by itself are allocated in the loop,
    as large as one iteration needs them: what iterations do may overlap, ``Schedule.parallel`` allows that.
    """
    own = {loop.var: _private(func, loop) for loop in loops_in(stage) if loop.kind is LoopKind.PARALLEL}

    def change(node: Stmt) -> Stmt:
        new = map_parts(node, change, lambda expr: expr)
        if isinstance(new, For):
            for buffer in own.get(new.var, ()):
                new = _narrowed(func, new, buffer)
        return new

    return change(lower_blocks(stage))


def _private(func: PrimFunc, loop: For) -> list[Buffer]:
    inner = loops_in(loop.body)
    found = private_buffers(func, loop, {one.var: one.extent for one in inner}, bounds_of(func, [loop, *inner]))
    return [buffer for buffer in func.root_buffers if buffer in found]


def _narrowed(func: PrimFunc, loop: For, buffer: Buffer) -> For:
    """Return ``loop``, which holds no blocks, with ``buffer`` as memory of each iteration."""
    bounds = bounds_of(func, [loop])
    box = box_of(accesses(loop.body, buffer), buffer.shape, bounds)
    own = Buffer(buffer.name, tuple(extent for _, extent in box), buffer.dtype, "local")

    def moved(target: Buffer, indices: Sequence[PrimExpr], known: Bounds) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        if target is not buffer:
            return target, tuple(indices)
        return own, tuple(simplify(i - begin, known) for i, (begin, _) in zip(indices, box, strict=True))

    return replace(loop, body=Allocate(own, with_accesses(loop.body, bounds, moved)))
