"""Element-wise stages over the result of a reduction, done when the result is stored."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.c.fusion.uses import find_uses
from relay2relax.backends.c.stages import (
    AnyStage,
    Axis,
    Reduction,
    Stage,
    points,
    tidy,
    with_digits,
)
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, Cast, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, map_expr, substitute


def fuse_epilogues(stages: Sequence[AnyStage], fixed: frozenset[Buffer]) -> list[AnyStage]:
    work: list[AnyStage | None] = list(stages)
    uses = find_uses(work)
    for number in range(len(work)):
        stage = work[number]
        at = number
        while isinstance(stage, Stage) and stage.reduction is not None:
            use = uses.get(stage.target)
            if stage.target in fixed or use is None or len(use.stages) != 1:
                break
            reader = use.stages[0]
            consumer = work[reader]
            if not isinstance(consumer, Stage) or consumer.reduction is not None:
                break
            merged = _finished(stage, consumer)
            if merged is None:
                break
            # The reduction moves down to its reader; its operands stay alive that long.
            work[at], work[reader] = None, merged
            for buffer in stage.reads():
                uses[buffer].stages[:] = [reader if n == at else n for n in uses[buffer].stages]
            stage, at = merged, reader
    return [stage for stage in work if stage is not None]


def _finished(stage: Stage, consumer: Stage) -> Stage | None:
    """Return ``stage`` storing what ``consumer`` makes of its result, or None where that is not
    element by element.
    """
    reads = [load for load in loads(consumer.value) if load.buffer is stage.target]
    if not reads or any(load != reads[0] for load in reads):
        return None
    consumer = with_digits(consumer, reads[0].indices)
    reads = [load for load in loads(consumer.value) if load.buffer is stage.target]
    if points(stage.axes) != points(consumer.axes) or stage.indices != tuple(axis.var for axis in stage.axes):
        return None
    values = _inverse(stage.axes, reads[0].indices, consumer.axes)
    if values is None:
        return None
    reduction = stage.reduction
    assert isinstance(reduction, Reduction)
    bounds = stage.bounds
    own = reads[0]

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        return stage.value if node == own else None

    value = tidy(substitute(map_expr(consumer.value, rewrite), values), bounds)
    indices = tuple(simplify(substitute(index, values), bounds) for index in consumer.indices)
    return Stage(stage.axes, consumer.target, indices, value, reduction)


def _inverse(axes: Sequence[Axis], indices: Sequence[PrimExpr], readers: Sequence[Axis]) -> dict[Var, PrimExpr] | None:
    """Return the reader's axes in terms of ``axes``, given that the reader loads at ``indices``, or
    None.

    Each index must be made of whole reader's axes, as digits of one number are; each axis must
    occur once.
    """
    extents = {axis.var: axis.extent for axis in readers}
    values: dict[Var, PrimExpr] = {}
    for axis, index in zip(axes, indices, strict=True):
        digits = _digits(index, extents)
        if digits is None:
            return None
        rest: PrimExpr = axis.var
        covered: PrimExpr = IntImm(1)
        for var in digits:
            if var in values:
                return None
            values[var] = binary("%", rest, extents[var]) if len(digits) > 1 else rest
            rest = binary("//", rest, extents[var])
            covered = simplify(binary("*", covered, extents[var]))
        if covered != simplify(axis.extent):
            return None
    for axis in readers:
        if axis.var not in values:
            if axis.extent != IntImm(1):
                return None
            values[axis.var] = IntImm(0)
    return values


def _digits(index: PrimExpr, extents: dict[Var, PrimExpr]) -> list[Var] | None:
    """Return the variables of a mixed-radix number, lowest first, or None where ``index`` is
    none.
    """
    terms: list[tuple[int, Var]] = []
    stack = [index]
    while stack:
        match stack.pop():
            case Binary("+", a, b):
                stack += [a, b]
            case Binary("*", Var() as var, IntImm(factor)) | Binary("*", IntImm(factor), Var() as var):
                terms.append((factor, var))
            case Var() as var:
                terms.append((1, var))
            case IntImm(0):
                pass
            case Cast("int64", value):
                stack.append(value)
            case _:
                return None
    terms.sort(key=lambda term: term[0])
    place = 1
    for number, (factor, var) in enumerate(terms):
        if var not in extents or factor != place:
            return None
        extent = extents[var]
        if isinstance(extent, IntImm):
            place *= extent.value
        elif number != len(terms) - 1:
            return None
    return [var for _, var in terms]
