"""Small stages in a row as one kernel of one block: a launch costs more than what they compute."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from relay2relax.backends.c.fusion.rule import Rule
from relay2relax.backends.c.stages import Part, Program, Rows, Stage, flat_index, mapped, points
from relay2relax.backends.gpu.copies import SMALL
from relay2relax.backends.gpu.kernel import FOLDED, SHUFFLED
from relay2relax.core.dtype import bits
from relay2relax.tir.analysis.reshape import size as size_of
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, PrimExpr
from relay2relax.tir.ir.visit import map_expr

# So many stages are one kernel at most.
_LONGEST = 24
_LOCAL_BYTES = 8 << 10


def join_small(program: Program, given: frozenset[Buffer]) -> Program:
    """Return ``program`` with runs of small stages as rows without axes.

    The buffers ``given`` are wanted by others, too.
    """
    still = given.union(*(set(pair) for pair in program.views.items()), program.known)
    users: dict[Buffer, set[int]] = {}
    for number, part in enumerate(program.stages):
        for buffer in part.reads() | part.writes():
            users.setdefault(buffer, set()).add(number)
    found: list[Part] = []
    run: list[int] = []
    for number, part in enumerate(program.stages):
        if not _is_small(part, program) or len(run) == _LONGEST:
            found += _joined(run, program, still, users)
            run = []
        if _is_small(part, program):
            run.append(number)
        else:
            found.append(part)
    return replace(program, stages=(*found, *_joined(run, program, still, users)))


def _is_small(part: Part, program: Program) -> bool:
    if not isinstance(part, Stage) or program.memory(part.target) in program.known:
        return False
    own = part.reduction
    work = static(points((*part.axes, *(own.axes if own is not None else ()))))
    folds = own is None or (own.op in FOLDED and own.result.dtype in SHUFFLED)
    return work is not None and work <= SMALL and folds


def _joined(
    run: Sequence[int], program: Program, still: frozenset[Buffer], users: dict[Buffer, set[int]]
) -> list[Part]:
    """Return the stages of a run as one; what only they use lies in shared memory."""
    stages = [program.stages[number] for number in run]
    members = [stage for stage in stages if isinstance(stage, Stage)]
    if len(members) < 2:
        return [*stages]
    local: dict[Buffer, Buffer] = {}
    for stage in members:
        target, size = stage.target, static(size_of(stage.target))
        if target in still or size is None or not users[target] <= set(run):
            continue
        if size * max(bits(target.dtype), 8) // 8 <= _LOCAL_BYTES:
            local[target] = Buffer(target.name, (size_of(target),), target.dtype, "local")
    held = sum(math.prod(static(e) or 1 for e in own.shape) * max(bits(own.dtype), 8) // 8 for own in local.values())
    if held > 4 * _LOCAL_BYTES:
        return [*stages]
    return [Rows((), tuple(_within(stage, local) for stage in members))]


def _within(stage: Stage, local: dict[Buffer, Buffer]) -> Stage:
    bounds = stage.bounds

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and node.buffer in local:
            indices = [map_expr(index, rewrite) for index in node.indices]
            return BufferLoad(local[node.buffer], (flat_index(node.buffer, indices, bounds),))
        return None

    changed = mapped(stage, rewrite)
    target = local.get(stage.target)
    if target is None:
        return changed
    return replace(changed, target=target, indices=(flat_index(stage.target, stage.indices, bounds),))


JOIN_SMALL = Rule(
    "gpu.JoinSmall",
    "Small stages in a row become one kernel of one block; last, so that no rule sees them as one (runs.py).",
    lambda f: replace(f, program=join_small(f.program, f.given | f.results)),
)
