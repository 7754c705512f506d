"""Guards in C programs: before any rule changes a stage, what its accesses need is proved or
checked.
"""

from __future__ import annotations

from dataclasses import replace

from relay2relax.backends.c.fusion.rule import Fusion
from relay2relax.backends.c.schedule.loops import serial
from relay2relax.backends.c.stages import AnyStage, Opaque, Stage
from relay2relax.tir.analysis.guards import Guards, extents_known, has_elements
from relay2relax.tir.ir.expr import BufferLoad, PrimExpr, binary
from relay2relax.tir.ir.stmt import BufferStore, If, Seq, Stmt


def guard_accesses(fusion: Fusion) -> Fusion:
    """Return the program with every index proved to lie in its tensor, or guarded."""
    return fusion.of([_guarded(stage, fusion) for stage in fusion.stages])


def _guarded(stage: AnyStage, fusion: Fusion) -> AnyStage:
    if not stage.writes().isdisjoint(fusion.settled):
        return stage
    # What calls of several functions have become: no rule has yet put their stages together.
    guards = Guards(next((fusion.owners[one] for one in stage.writes() if one in fusion.owners), ""))
    known = extents_known(stage.reads() | stage.writes(), fusion.relations)
    if isinstance(stage, Opaque):
        return replace(stage, stmt=guards.statement(stage.stmt, known))
    for axis in stage.axes:
        known = known.loop(axis.var, axis.extent)
    indices = tuple(guards.value(index, known) for index in stage.indices)
    places = guards.places(stage.target, indices, known)
    found = replace(stage, indices=places, value=guards.value(stage.value, known))
    reduction = stage.reduction
    if reduction is not None:
        identity = guards.value(reduction.identity, known)
        for axis in reduction.axes:
            known = known.loop(axis.var, axis.extent)
        source = guards.value(reduction.source, known)
        found = replace(found, reduction=replace(reduction, identity=identity, source=source))
    filled = has_elements(stage.target)
    return found if places == indices or filled is None else Opaque(_loops(found, filled))


def _loops(stage: Stage, condition: PrimExpr) -> Stmt:
    """Return a stage, as it was read, as loops that store where ``condition`` holds."""
    body: Stmt = BufferStore(stage.target, stage.indices, stage.value)
    reduction = stage.reduction
    if reduction is not None:
        so_far = BufferLoad(stage.target, stage.indices)
        body = BufferStore(stage.target, stage.indices, binary(reduction.op, so_far, reduction.source))
        body = Seq((BufferStore(stage.target, stage.indices, reduction.identity), serial(reduction.axes, body)))
    return serial(stage.axes, If(condition, body))
