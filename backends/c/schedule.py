"""How loops run on a CPU: decided by rule, stage by stage, as a transformation of tensor programs.

``stages.py`` reads the program, ``fusion.py`` makes its stages fewer, and each kind of stage has a schedule:
``contraction.py`` for sums of products, ``reduction.py`` for other reductions, ``elementwise.py`` for the rest.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.backends.c.contraction import schedule_contraction
from relay2relax.backends.c.elementwise import collapse, schedule_elementwise
from relay2relax.backends.c.fusion import fuse
from relay2relax.backends.c.half import widened
from relay2relax.backends.c.loops import FlatViews
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.reduction import schedule_reduction
from relay2relax.backends.c.stages import AnyStage, Opaque, stages_of
from relay2relax.tir.expr import Buffer
from relay2relax.tir.stmt import PrimFunc, Stmt


@dataclass(frozen=True, slots=True)
class Schedule:
    """Loops without blocks, in order; ``views`` are buffers that are another buffer's memory."""

    stages: tuple[Stmt, ...]
    views: Mapping[Buffer, Buffer]

    def memory(self, buffer: Buffer) -> Buffer:
        """Return the buffer whose memory ``buffer`` is."""
        while buffer in self.views:
            buffer = self.views[buffer]
        return buffer


def schedule(func: PrimFunc, machine: Machine) -> Schedule:
    """Return the stages of ``func`` as loops for ``machine``."""
    params = func.buffers
    program = fuse(stages_of(func), params[len(params) - func.num_outputs :], params)
    flat = FlatViews(program.memory)
    stages = [stmt for stage in program.stages for stmt in _loops(stage, flat, machine)]
    return Schedule(tuple(stages), {**program.views, **flat.views})


def _loops(stage: AnyStage, flat: FlatViews, machine: Machine) -> list[Stmt]:
    if isinstance(stage, Opaque):
        return [stage.stmt]
    plain = flat.flatten(stage)
    if plain.reduction is None:
        return [schedule_elementwise(plain, machine)]
    done: list[Stmt] = []
    for part in widened(collapse(plain)):
        if part.reduction is None:
            done.append(schedule_elementwise(part, machine))
            continue
        tiled = schedule_contraction(part, machine)
        done += tiled if tiled is not None else [schedule_reduction(part, machine)]
    return done
