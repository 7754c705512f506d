"""How loops run on a CPU: decided by rule, stage by stage, as a transformation of tensor programs.

``stages.py`` reads the program, ``fusion.py`` makes its stages fewer, and each kind of stage has a schedule:
``contraction.py`` for sums of products, ``reduction.py`` for other reductions, ``elementwise.py`` for the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from relay2relax.backends.c.contraction import schedule_contraction
from relay2relax.backends.c.elementwise import collapse, schedule_elementwise
from relay2relax.backends.c.fusion import fuse
from relay2relax.backends.c.half import widened
from relay2relax.backends.c.loops import FlatViews, static
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.reduction import schedule_reduction
from relay2relax.backends.c.stages import AnyStage, Opaque, Stage, points, stages_of
from relay2relax.core.dtype import bits, is_float
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import Binary, Buffer, Call, IntImm, PrimExpr, binary
from relay2relax.tir.reshape import size as size_of
from relay2relax.tir.stmt import PrimFunc, Stmt
from relay2relax.tir.visit import subexpressions


@dataclass(frozen=True, slots=True)
class Scheduled:
    """The loops of a stage: what they are called, and what one run comes to.

    ``operations`` counts arithmetic on floats, ``bytes`` each tensor that is read or written once.
    """

    stmt: Stmt
    label: str
    operations: PrimExpr
    bytes: PrimExpr


@dataclass(frozen=True, slots=True)
class Schedule:
    """Loops without blocks, in order; ``views`` are buffers that are another buffer's memory.

    ``begin`` says with which element of that memory a buffer begins.
    """

    stages: tuple[Scheduled, ...]
    views: Mapping[Buffer, Buffer]
    begin: Callable[[Buffer], int]

    def memory(self, buffer: Buffer) -> Buffer:
        """Return the buffer whose memory ``buffer`` is."""
        while buffer in self.views:
            buffer = self.views[buffer]
        return buffer


def schedule(func: PrimFunc, machine: Machine, constants: frozenset[Buffer] = frozenset()) -> Schedule:
    """Return the stages of ``func`` as loops for ``machine``; the content of ``constants`` is known ahead."""
    params = func.buffers
    program = fuse(stages_of(func), params[len(params) - func.num_outputs :], params, constants)
    flat = FlatViews(program.memory)
    known = {program.memory(buffer) for buffer in program.known}
    stages = [one for stage in program.stages for one in _loops(stage, flat, machine, known)]
    return Schedule(tuple(stages), {**program.views, **flat.views}, flat.begin)


def _loops(stage: AnyStage, flat: FlatViews, machine: Machine, known: set[Buffer]) -> list[Scheduled]:
    if isinstance(stage, Opaque):
        return [Scheduled(stage.stmt, _names(stage), IntImm(0), _bytes(stage))]
    plain = flat.flatten(stage)
    operations, moved = _operations(stage), _bytes(stage)
    if plain.reduction is None:
        return [Scheduled(schedule_elementwise(plain, machine), _names(stage), operations, moved)]
    *conversions, plain = widened(collapse(plain))
    ahead = [schedule_elementwise(one, machine) for one in conversions]
    done = [Scheduled(one, f"{_names(stage)}, conversion", IntImm(0), IntImm(0)) for one in ahead]
    tiled = schedule_contraction(plain, machine, lambda buffer: flat.views.get(buffer) in known)
    if tiled is None:
        return [*done, Scheduled(schedule_reduction(plain, machine), _names(stage), operations, moved)]
    *before, main = tiled
    done += [Scheduled(one, f"{_names(stage)}, packing", IntImm(0), IntImm(0)) for one in before]
    return [*done, Scheduled(main, f"{_names(stage)}, product", operations, moved)]


def _names(stage: AnyStage) -> str:
    if isinstance(stage, Opaque):
        return " ".join(sorted({buffer.name for buffer in stage.writes()}))
    extents = "x".join(str(static(axis.extent) or "?") for axis in stage.axes)
    reduced = "" if stage.reduction is None else "x".join(str(static(a.extent) or "?") for a in stage.reduction.axes)
    return f"{stage.target.name} {extents}" + (f" over {reduced}" if reduced else "")


def _operations(stage: Stage) -> PrimExpr:
    reduction = stage.reduction
    total = binary("*", points(stage.axes), IntImm(_arithmetic(stage.value)))
    if reduction is not None:
        everything = points([*stage.axes, *reduction.axes])
        total = binary("+", total, binary("*", everything, IntImm(1 + _arithmetic(reduction.source))))
    return simplify(total)


def _arithmetic(expr: PrimExpr) -> int:
    nodes = (node for node in subexpressions(expr) if isinstance(node, (Binary, Call)))
    return sum(is_float(node.dtype) and getattr(node, "name", "") != "if_then_else" for node in nodes)


def _bytes(stage: AnyStage) -> PrimExpr:
    """Return the memory that a stage touches at most: of each tensor all, or as much as it has points."""
    most = None
    if isinstance(stage, Stage):
        most = points([*stage.axes, *(stage.reduction.axes if stage.reduction is not None else ())])
    total: PrimExpr = IntImm(0)
    for buffer in stage.reads() | stage.writes():
        size = size_of(buffer)
        if isinstance(stage, Stage) and buffer is stage.target:
            size = points(stage.axes)
        elif isinstance(most, IntImm) and isinstance(size, IntImm):
            size = IntImm(min(most.value, size.value))
        total = binary("+", total, binary("*", size, IntImm((bits(buffer.dtype) + 7) // 8)))
    return simplify(total)
