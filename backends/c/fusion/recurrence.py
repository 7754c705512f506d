"""Products that a recurrence repeats: what does not depend on the step before is done for all steps
at once.

A cell of an LSTM or a GRU multiplies ``[input, state]`` with one matrix at every step. Such a sum
over a joined operand is a sum over the input plus a sum over the state; the inputs of all steps are
known before the first, and their sums become one product over a matrix with a row per step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.fusion.placement import Piece, pieces_of, side_by_side
from relay2relax.backends.c.stages import AnyStage, Axis, Reduction, Stage, tidy
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, map_expr, substitute

# Fewer products are not worth being put together.
_LEAST_STEPS = 4


@dataclass(frozen=True, slots=True)
class _TimeStep:
    """A product with a joined operand: ``joined`` is loaded at ``run``, the reduced axis, in
    ``dimension``.
    """

    number: int
    stage: Stage
    joined: BufferLoad
    weight: BufferLoad
    dimension: int
    pieces: tuple[Piece, Piece]

    @property
    def run(self) -> Axis:
        """The reduced axis."""
        assert self.stage.reduction is not None
        return self.stage.reduction.axes[0]


def batch_recurrences(stages: Sequence[AnyStage], memory: Callable[[Buffer], Buffer]) -> list[AnyStage]:
    """Return the program with sums over the inputs of repeated products made at once, before the
    first of them.

    ``memory`` says which buffer's memory a buffer is.
    """
    makers = _single_makers(stages, memory)
    groups: dict[object, list[_TimeStep]] = {}
    for number, stage in enumerate(stages):
        step = _time_step(number, stage, stages, makers) if isinstance(stage, Stage) else None
        if step is not None:
            groups.setdefault(_signature(step), []).append(step)
    before: dict[int, list[AnyStage]] = {}
    changed: dict[int, Stage] = {}
    hoisted: set[int] = set()
    for group in groups.values():
        if len(group) < _LEAST_STEPS:
            continue
        for side in (0, 1):
            early = _available(group, side, stages, makers, memory)
            if early is not None:
                made, results = _together(group, side)
                before.setdefault(group[0].number, []).extend([*(stages[n] for n in early), *made])
                hoisted |= set(early)
                changed |= {step.number: result for step, result in zip(group, results, strict=True)}
                break
    found: list[AnyStage] = []
    for number, stage in enumerate(stages):
        found += before.get(number, [])
        if number not in hoisted:
            found.append(changed.get(number, stage))
    return found


def _single_makers(stages: Sequence[AnyStage], memory: Callable[[Buffer], Buffer]) -> dict[Buffer, int | None]:
    """Return which stage writes each buffer, None where several do."""
    makers: dict[Buffer, int | None] = {}
    for number, stage in enumerate(stages):
        for buffer in map(memory, stage.writes()):
            makers[buffer] = None if buffer in makers else number
    return makers


def _time_step(
    number: int, stage: Stage, stages: Sequence[AnyStage], makers: dict[Buffer, int | None]
) -> _TimeStep | None:
    reduction = stage.reduction
    if reduction is None or reduction.op != "+" or len(reduction.axes) != 1:
        return None
    if reduction.identity not in (FloatImm(0.0, "float32"), FloatImm(0.0, "float64")):
        return None
    match reduction.source:
        case Binary("*", BufferLoad() as a, BufferLoad() as b):
            run = reduction.axes[0].var
        case _:
            return None
    for joined, weight in ((a, b), (b, a)):
        maker = makers.get(joined.buffer)
        if maker is None or joined.indices.count(run) != 1 or weight.indices.count(run) != 1 or maker > number:
            continue
        made = stages[maker]
        pieces = pieces_of(made) if isinstance(made, Stage) else None
        dimension = joined.indices.index(run)
        if pieces is None or len(pieces) != 2 or not all(isinstance(p.value, BufferLoad) for p in pieces):
            continue
        first, second = sorted(pieces, key=lambda piece: piece.box[dimension][0])
        others = [d for d in range(len(first.box)) if d != dimension]
        if all(first.box[d] == second.box[d] == (0, None) for d in others) and first.box[dimension][1] is not None:
            return _TimeStep(number, stage, joined, weight, dimension, (first, second))
    return None


def _signature(step: _TimeStep) -> object:
    """Return what the steps of one recurrence have in common."""
    order = {axis.var: n for n, axis in enumerate((*step.stage.axes, step.run))}

    def shown(index: PrimExpr) -> object:
        return order.get(index, index) if isinstance(index, Var) else index

    if any(not isinstance(i, (Var, IntImm)) for i in (*step.weight.indices, *step.joined.indices)):
        return object()
    extents = tuple(axis.extent for axis in (*step.stage.axes, step.run))
    cut = step.pieces[0].box[step.dimension][1]
    indices = (tuple(map(shown, step.weight.indices)), tuple(map(shown, step.joined.indices)))
    return step.weight.buffer, indices, extents, cut, step.dimension


def _available(
    group: Sequence[_TimeStep],
    side: int,
    stages: Sequence[AnyStage],
    makers: dict[Buffer, int | None],
    memory: Callable[[Buffer], Buffer],
) -> list[int] | None:
    """Return the stages to be done earlier so that one part of every operand is there before the
    first step, or None.

    Only stages without a reduction are, for they cost little.
    """
    first = group[0].number
    wanted = [load.buffer for step in group for load in loads(step.pieces[side].value)]
    early: set[int] = set()
    stack = [*wanted, group[0].weight.buffer]
    while stack:
        buffer = memory(stack.pop())
        if buffer not in makers:
            continue
        maker = makers[buffer]
        if maker is None:
            return None
        if maker < first or maker in early:
            continue
        stage = stages[maker]
        if not isinstance(stage, Stage) or stage.reduction is not None:
            return None
        early.add(maker)
        stack += stage.reads()
        if len(early) > 4 * len(group):
            return None
    return sorted(early)


def _together(group: Sequence[_TimeStep], side: int) -> tuple[list[AnyStage], list[Stage]]:
    """Return the stages that make one sum for all steps, and the steps with the other part of their
    sums.
    """
    one = group[0]
    dtype = one.joined.dtype
    low, high = one.pieces[side].box[one.dimension]
    extent = simplify(binary("-", one.run.extent if high is None else IntImm(high), IntImm(low)))
    count = len(group)
    # The rows: for each step what its operand is indexed with, and the summed part.
    row_axes = [axis for axis in one.stage.axes if axis.var in one.joined.indices]
    rows = Buffer("steps", (IntImm(count), *(axis.extent for axis in row_axes), extent), dtype)
    step, run = Var("step"), Var("k")
    places = [Var(axis.var.name) for axis in row_axes]

    def operand(number: int) -> PrimExpr:
        other = group[number]
        at = {axis.var: place for axis, place in zip(_row_axes(other), places, strict=True)}
        indices = [substitute(index, at) for index in other.joined.indices]
        indices[other.dimension] = simplify(binary("+", run, IntImm(low)))
        return other.pieces[side].at(indices)

    axes = (
        Axis(step, IntImm(count)),
        *(Axis(p, a.extent) for p, a in zip(places, row_axes, strict=True)),
        Axis(run, extent),
    )
    bounds = {axis.var: (0, binary("-", axis.extent, 1)) for axis in axes}
    gather = Stage(
        axes, rows, tuple(axis.var for axis in axes), tidy(side_by_side(step, range(count), operand), bounds)
    )
    # Their product with the matrix.
    mine = {axis.var: Var(axis.var.name) for axis in one.stage.axes}
    result, k, t = Var("result", dtype), Var("k"), Var("step")
    sums = Buffer("sums", (IntImm(count), *(axis.extent for axis in one.stage.axes)), dtype)
    row = BufferLoad(rows, (t, *(mine[axis.var] for axis in row_axes), k))
    moved: dict[Var, PrimExpr] = {**mine, one.run.var: binary("+", k, IntImm(low))}
    weight = map_expr(one.weight, lambda node: moved.get(node) if isinstance(node, Var) else None)
    assert isinstance(weight, BufferLoad)
    weight = BufferLoad(weight.buffer, tuple(simplify(index) for index in weight.indices))
    outer = (Axis(t, IntImm(count)), *(Axis(mine[axis.var], axis.extent) for axis in one.stage.axes))
    summed = Reduction((Axis(k, extent),), "+", FloatImm(0.0, dtype), binary("*", row, weight), result)
    product = Stage(outer, sums, tuple(axis.var for axis in outer), result, summed)
    return [gather, product], [_rest(other, 1 - side, sums, number) for number, other in enumerate(group)]


def _row_axes(step: _TimeStep) -> list[Axis]:
    return [axis for axis in step.stage.axes if axis.var in step.joined.indices]


def _rest(step: _TimeStep, side: int, sums: Buffer, number: int) -> Stage:
    """Return a step that sums one part of its operand, and adds what was summed for it before."""
    stage, reduction = step.stage, step.stage.reduction
    assert reduction is not None
    low, high = step.pieces[side].box[step.dimension]
    extent = simplify(binary("-", step.run.extent if high is None else IntImm(high), IntImm(low)))
    k = Var("k")
    place = simplify(binary("+", k, IntImm(low)))
    indices = [place if index is step.run.var else index for index in step.joined.indices]
    weight = BufferLoad(
        step.weight.buffer, tuple(place if index is step.run.var else index for index in step.weight.indices)
    )
    own = BufferLoad(sums, (IntImm(number), *(axis.var for axis in stage.axes)))
    total = binary("+", reduction.result, own)
    value = map_expr(stage.value, lambda node: total if node is reduction.result else None)
    part = step.pieces[side].at(indices)
    return Stage(
        stage.axes,
        stage.target,
        stage.indices,
        value,
        replace(reduction, axes=(Axis(k, extent),), source=binary("*", part, weight)),
    )
