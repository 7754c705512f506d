"""Which buffers keep memory of their own: what rules may dissolve is none of these."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.c.fusion.cost import CHEAP, cost
from relay2relax.backends.c.stages import (
    AnyStage,
    Stage,
)
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.ir.expr import Buffer, IntImm


def made_of(stages: Sequence[AnyStage], constants: frozenset[Buffer], params: frozenset[Buffer]) -> frozenset[Buffer]:
    """Return ``constants`` and the buffers that are computed from nothing else."""
    written: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.writes():
            written[buffer] = written.get(buffer, 0) + 1
    known = set(constants)
    for stage in stages:
        targets = stage.writes()
        read = stage.reads() - targets
        if read and read <= known and all(written[b] == 1 and b not in params for b in targets):
            known |= targets
    return frozenset(known)


def not_spread(stages: Sequence[AnyStage], apart: frozenset[Buffer]) -> set[Buffer]:
    """Return those of ``apart`` that are worth their memory: not a few numbers written to many
    places.
    """
    found: set[Buffer] = set()
    for stage in stages:
        if isinstance(stage, Stage) and stage.target in apart:
            size, sources = static_size(stage.target), [static_size(buffer) for buffer in stage.reads()]
            if size <= sum(sources) or cost(stage.value) > CHEAP or stage.reduction is not None:
                found.add(stage.target)
        else:
            found |= stage.writes() & apart
    return found


def static_size(buffer: Buffer) -> int:
    """Return the number of elements of ``buffer``, 0 where it is symbolic."""
    size = size_of(buffer)
    return size.value if isinstance(size, IntImm) else 0
