"""Element-wise stages, computed where their result is read if that repeats no work that matters."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.c.fusion.cost import CHEAP, cost, is_guarded
from relay2relax.backends.c.fusion.uses import Use, find_uses
from relay2relax.backends.c.fusion.views import divides
from relay2relax.backends.c.stages import (
    AnyStage,
    Axis,
    Stage,
    mapped,
    points,
    tidy,
)
from relay2relax.tir.ir.expr import Buffer, BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var
from relay2relax.tir.ir.visit import loads, map_expr, subexpressions, substitute

# A fused expression does not grow beyond this many nodes.
_MOST_NODES = 400


def inline(stages: Sequence[AnyStage], fixed: frozenset[Buffer], given: frozenset[Buffer]) -> list[AnyStage]:
    work: list[AnyStage | None] = list(stages)
    uses = find_uses(work)
    for number in range(len(work)):
        stage = work[number]
        if not isinstance(stage, Stage) or stage.reduction is not None:
            continue
        target = stage.target
        if target in fixed or stage.indices != tuple(axis.var for axis in stage.axes):
            continue
        use = uses.get(target)
        if use is None or not all(_may_inline(stage, work[reader], use) for reader in use.stages):
            continue
        # What is computed of temporaries may be done where those are made, and its copies placed
        # (placement.py).
        plain = isinstance(stage.value, BufferLoad) and not any(map(divides, stage.value.indices))
        computed = not plain and not stage.reads() <= given
        if computed and any(chooses_copies(work[reader]) for reader in use.stages):
            continue
        # Temporaries that are joined are made where they are wanted, and then nothing is chosen.
        joins = len(stage.reads() - given) > 1 and chooses_copies(stage)
        if joins and _chooses_by_place(stage) and not all(chooses_copies(work[reader]) for reader in use.stages):
            continue
        # The operands of the stage must still be what they were where it is read: nothing is
        # written twice.
        for reader in use.stages:
            consumer = work[reader]
            assert isinstance(consumer, Stage)
            work[reader] = inlined = substituted(stage, consumer)
            _move_uses(uses, consumer, inlined, reader)
        for load in {load.buffer for expr in stage.expressions() for load in loads(expr)}:
            uses[load].stages.remove(number)
        work[number] = None
    return [stage for stage in work if stage is not None]


def chooses_copies(stage: AnyStage | None) -> bool:
    """Whether a stage only copies, here from one tensor, there from another, as padding does."""
    if not isinstance(stage, Stage) or not is_guarded(stage.value):
        return False
    stack = [stage.value]
    while stack:
        match stack.pop():
            case Call("if_then_else", (_, then, otherwise), _):
                stack += [then, otherwise]
            case BufferLoad() | FloatImm() | IntImm():
                pass
            case _:
                return False
    return True


def _chooses_by_place(stage: Stage) -> bool:
    """Whether what a stage copies depends on the place alone, not on numbers that are computed."""
    choices = [one for one in subexpressions(stage.value) if isinstance(one, Call) and one.name == "if_then_else"]
    return not any(loads(choice.args[0]) for choice in choices)


def _move_uses(uses: dict[Buffer, Use], before: Stage, after: Stage, number: int) -> None:
    old = [load.buffer for expr in before.expressions() for load in loads(expr)]
    new = [load.buffer for expr in after.expressions() for load in loads(expr)]
    for buffer in set(new) - set(old):
        uses.setdefault(buffer, Use()).stages.append(number)
    for buffer in old:
        uses[buffer].loads -= 1
    for buffer in new:
        uses[buffer].loads += 1


def _may_inline(stage: Stage, reader: AnyStage | None, use: Use) -> bool:
    if not isinstance(reader, Stage) or any(load.buffer is stage.target for i in reader.indices for load in loads(i)):
        return False
    nodes = sum(1 for _ in subexpressions(stage.value))
    size = sum(1 for expr in reader.expressions() for _ in subexpressions(expr))
    if size + nodes * use.loads > _MOST_NODES:
        return False
    price = cost(stage.value)
    produced = points(stage.axes)
    if reader.reduction is not None:
        in_source = any(load.buffer is stage.target for load in loads(reader.reduction.source))
        if in_source:
            if isinstance(stage.value, BufferLoad):
                return all(not divides(index) for index in stage.value.indices)
            everything = points([*reader.axes, *reader.reduction.axes])
            # A product of two loads is what the tiled schedule knows; it reads each element many
            # times.
            return everything == produced and (price <= CHEAP or len(use.stages) == 1) and not is_guarded(stage.value)
    if price <= CHEAP and not is_guarded(stage.value):
        whole = [
            load for load in loads(stage.value) if points([Axis(Var(""), e) for e in load.buffer.shape]) == produced
        ]
        return use.loads == 1 or len(whole) <= 1
    return len(use.stages) == 1 and use.loads == 1 and points(reader.axes) == produced


def substituted(producer: Stage, consumer: Stage) -> Stage:
    """Return ``consumer`` with what ``producer`` makes in the place of its result."""
    bounds = consumer.bounds

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if not isinstance(node, BufferLoad) or node.buffer is not producer.target:
            return None
        indices = [map_expr(index, rewrite) for index in node.indices]
        values = {axis.var: index for axis, index in zip(producer.axes, indices, strict=True)}
        return tidy(substitute(producer.value, values), bounds)

    return mapped(consumer, rewrite)
