"""Results that lie where an operand did: of a stage that reads an element only where it stores one.

The operand is a temporary of the same shape that nobody reads afterwards. Result and operand are
one memory from then on, as other views are. Reductions do not write over what they read: tiles at
an edge overlap, and compute some elements twice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from relay2relax.backends.c.stages import Part, Program, Rows, Stage
from relay2relax.tir.ir.expr import Buffer
from relay2relax.tir.ir.visit import loads


def write_over(program: Program, params: frozenset[Buffer], constants: frozenset[Buffer]) -> Program:
    """Return ``program`` with results in the memory of operands.

    ``params`` and ``constants`` keep what they hold.
    """
    first: dict[Buffer, int] = {}
    last: dict[Buffer, int] = {}
    for number, stage in enumerate(program.stages):
        for buffer in map(program.memory, stage.reads() | stage.writes()):
            first.setdefault(buffer, number)
            last[buffer] = number
    for number, stage in enumerate(program.stages):
        for target, operand in _pairs(stage):
            new, old = program.memory(target), program.memory(operand)
            still = params | constants | program.known
            if new is old or old in still or new in program.known or first[new] != number or last[old] != number:
                continue
            # Where the result is the caller's memory, its operand is made there already.
            kept, gone = (new, old) if new in params else (old, new)
            program = replace(program, views={**program.views, gone: kept})
            first[kept], last[kept] = first[old], last[new]
    return program


def _pairs(stage: Part) -> Iterator[tuple[Buffer, Buffer]]:
    """Yield what a stage stores to, and what it reads nowhere else than where it stores."""
    match stage:
        case Stage(reduction=None):
            members: tuple[Stage, ...] = (stage,)
        case Rows():
            members = stage.stages
        case _:
            return
    rows = [axis.var for axis in stage.axes] if isinstance(stage, Rows) else []
    for place, member in enumerate(members):
        target, stored = member.target, member.indices
        dimensions = [stored.index(row) for row in rows if row in stored]
        if member.reduction is not None or target.scope == "local" or len(dimensions) != len(rows):
            continue
        for operand in dict.fromkeys(load.buffer for load in loads(member.value)):
            if operand.scope == "local" or (operand.shape, operand.dtype) != (target.shape, target.dtype):
                continue
            # Others in the row may read all of the row before.
            if all(
                load.indices == stored
                if one is member
                else number < place and all(load.indices[d] is stored[d] for d in dimensions)
                for number, one in enumerate(members)
                for expr in one.expressions()
                for load in loads(expr)
                if load.buffer is operand
            ):
                yield target, operand
