"""Borders of images as conditions where the images are read.

A processor reads an image that has its border in memory, for vectors and without conditions. On a
GPU each border would be a launch of its own, and a condition costs a thread little.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.c.fusion.inlining import chooses_copies, substituted
from relay2relax.backends.c.fusion.rule import Fusion, Rule
from relay2relax.backends.c.fusion.uses import find_uses
from relay2relax.backends.c.fusion.views import divides
from relay2relax.backends.c.stages import AnyStage, Stage
from relay2relax.tir.ir.expr import Buffer, BufferLoad, Call
from relay2relax.tir.ir.visit import loads


def inline_borders(stages: Sequence[AnyStage], fixed: frozenset[Buffer]) -> list[AnyStage]:
    """Return the program without stages that put a border around one tensor."""
    work: list[AnyStage | None] = list(stages)
    for number, stage in enumerate(stages):
        if not isinstance(stage, Stage) or stage.target in fixed or not _is_border(stage):
            continue
        readers = find_uses(work).get(stage.target)
        found = [work[one] for one in readers.stages] if readers is not None else []
        if readers is None or not all(isinstance(one, Stage) and _reads_plainly(one, stage.target) for one in found):
            continue
        for place in readers.stages:
            reader = work[place]
            assert isinstance(reader, Stage)
            work[place] = substituted(stage, reader)
        work[number] = None
    return [stage for stage in work if stage is not None]


def _is_border(stage: Stage) -> bool:
    """Whether a stage copies one tensor, and writes numbers around it."""
    if stage.reduction is not None or stage.indices != tuple(axis.var for axis in stage.axes):
        return False
    value = stage.value
    if not isinstance(value, Call) or not chooses_copies(stage):
        return False
    read = list(loads(value))
    return len(read) == 1 and not any(divides(index) for index in read[0].indices)


def _reads_plainly(reader: Stage, buffer: Buffer) -> bool:
    """Whether ``reader`` reads the tensor as a window moves over it, and no index depends on it."""
    found = [load for expr in reader.expressions() for load in loads(expr) if load.buffer is buffer]
    inner = [load for index in reader.indices for load in loads(index)]
    return reader.reduction is not None and not inner and not any(_is_loaded(load) for load in found)


def _is_loaded(load: BufferLoad) -> bool:
    return any(loads(index) for index in load.indices)


def _inlined(fusion: Fusion) -> Fusion:
    return fusion.of(inline_borders(fusion.stages, fusion.fixed))


INLINE_BORDERS = Rule(
    "gpu.InlineBorders",
    "A border is a condition where a window reads; before parts are placed, which would make each side of it a "
    "stage (borders.py).",
    _inlined,
)
