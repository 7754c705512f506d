"""Tensors made where they are wanted: inside of what they are only copied into.

A stage that pads or concatenates is a choice between boxes: in each box of its result it copies a tensor, or writes a
number. Such a tensor is made in its box from the start, everyone reads it there, and no copy is left; a box with a
number becomes a stage of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Optional, TypeAlias

from relay2relax.backends.c.stages import AnyStage, Axis, Opaque, Stage
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import Binary, Buffer, BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.visit import map_expr, substitute

# A stage of more boxes is left as it is.
_MOST_BOXES = 40
# Box of a result: for each axis where it begins and ends (None: at the axis' extent, which may be symbolic).
_Range: TypeAlias = tuple[int, Optional[int]]
_Box: TypeAlias = tuple[_Range, ...]


@dataclass(frozen=True, slots=True)
class _Piece:
    box: _Box
    value: PrimExpr


def place(stages: Sequence[AnyStage], fixed: set[Buffer]) -> list[AnyStage]:
    """Return the program with tensors that are only parts of others made in those; those in ``fixed`` stay."""
    # Every stage may become several; a list of those stands where it was.
    work: list[list[AnyStage]] = [[stage] for stage in stages]
    users: dict[Buffer, set[int]] = {}
    for number, stage in enumerate(stages):
        for buffer in stage.reads() | stage.writes():
            users.setdefault(buffer, set()).add(number)
    for number in range(len(work)):
        if len(work[number]) != 1:
            continue
        (stage,) = work[number]
        pieces = _pieces(stage) if isinstance(stage, Stage) else None
        if pieces is None or not isinstance(stage, Stage):
            continue
        if any(stage.target in other.writes() for n in users[stage.target] if n != number for other in work[n]):
            continue
        moved: dict[Buffer, tuple[int, ...]] = {}
        rest: list[AnyStage] = []
        for piece in pieces:
            source = _whole(stage, piece)
            free = source is not None and source not in moved and source not in fixed
            if source is not None and free and _is_made_before(work, users[source], number, source):
                moved[source] = tuple(low for low, _ in piece.box)
            else:
                rest.append(_part(stage, piece))
        if not moved:
            continue
        work[number] = rest
        for buffer in moved:
            for user in users.pop(buffer):
                work[user] = [_relocated(one, moved, stage.target) for one in work[user]]
                users[stage.target].add(user)
    return [stage for parts in work for stage in parts]


def _is_made_before(work: Sequence[Sequence[AnyStage]], users: set[int], number: int, buffer: Buffer) -> bool:
    """Whether only ordinary stages touch ``buffer``, and some before ``number`` write it, none from there on."""
    stages = [(n, stage) for n in users for stage in work[n]]
    if any(isinstance(stage, Opaque) for _, stage in stages):
        return False
    writers = [n for n, stage in stages if buffer in stage.writes()]
    return bool(writers) and max(writers) < number


def _pieces(stage: Stage) -> list[_Piece] | None:
    """Return the boxes of a stage that chooses between several, or None where it is something else."""
    if stage.reduction is not None or stage.indices != tuple(axis.var for axis in stage.axes):
        return None
    if not isinstance(stage.value, (Call, BufferLoad)):
        return None
    order = {axis.var: place_ for place_, axis in enumerate(stage.axes)}
    sizes = [axis.extent.value if isinstance(axis.extent, IntImm) else None for axis in stage.axes]
    found: list[_Piece] = []
    stack = [_Piece(tuple((0, None) for _ in stage.axes), stage.value)]
    while stack:
        piece = stack.pop()
        match piece.value:
            case Call("if_then_else", (condition, then, otherwise), _):
                inner = _cut(piece.box, condition, order, sizes)
                if inner is None or len(found) + len(stack) > _MOST_BOXES:
                    return None
                box, outside = inner
                stack += [_Piece(other, otherwise) for other in outside]
                if box is not None:
                    stack.append(_Piece(box, then))
            case BufferLoad() | FloatImm() | IntImm():
                found.append(piece)
            case _:
                return None
    return found


def _cut(
    box: _Box, condition: PrimExpr, order: dict[Var, int], sizes: Sequence[int | None]
) -> tuple[_Box | None, list[_Box]] | None:
    """Return the part of ``box`` where a condition holds, and boxes for the rest; None for other conditions."""
    outside: list[_Box] = []
    inside = list(box)
    parts = [condition]
    while parts:
        part = parts.pop()
        if isinstance(part, Binary) and part.op == "and":
            parts += [part.b, part.a]
            continue
        limit = _limit(part, order)
        if limit is None:
            return None
        axis, value, below = limit
        low, high = inside[axis]
        end = high if high is not None else sizes[axis]
        if end is None:
            return None
        value = min(max(value, low), end)
        kept, lost = ((low, value), (value, end)) if below else ((value, end), (low, value))
        if lost[0] < lost[1]:
            outside.append(tuple(lost if d == axis else one for d, one in enumerate(inside)))
            inside[axis] = kept
        if kept[0] >= kept[1]:
            return None, outside
    return tuple(inside), outside


def _limit(condition: PrimExpr, order: dict[Var, int]) -> tuple[int, int, bool] | None:
    """Return axis and constant of ``axis < constant`` (True) or ``axis >= constant`` (False)."""
    match condition:
        case Binary(("<" | "<=" | ">" | ">=") as op, Var() as var, IntImm(value)) if var in order:
            return order[var], value + (op in ("<=", ">")), op in ("<", "<=")
        case Binary(("<" | "<=" | ">" | ">=") as op, IntImm(value), Var() as var) if var in order:
            return order[var], value + (op in ("<", ">=")), op in (">", ">=")
    return None


def _extent(axis: Axis, low: int, high: int | None) -> PrimExpr:
    return IntImm(high - low) if high is not None else simplify(binary("-", axis.extent, IntImm(low)))


def _whole(stage: Stage, piece: _Piece) -> Buffer | None:
    """Return the buffer of which a piece is a copy, all of it and in place."""
    if not isinstance(piece.value, BufferLoad):
        return None
    buffer, indices = piece.value.buffer, piece.value.indices
    if buffer.dtype != stage.target.dtype or len(indices) != len(stage.axes):
        return None
    for axis, index, extent, (low, high) in zip(stage.axes, indices, buffer.shape, piece.box, strict=True):
        begin = simplify(substitute(index, {axis.var: IntImm(low)}))
        if simplify(binary("-", index, axis.var)) != IntImm(-low) or begin != IntImm(0):
            return None
        if simplify(extent) != simplify(_extent(axis, low, high)):
            return None
    return buffer


def _part(stage: Stage, piece: _Piece) -> Stage:
    """Return the stage that fills one box."""
    axes: list[Axis] = []
    values: dict[Var, PrimExpr] = {}
    for axis, (low, high) in zip(stage.axes, piece.box, strict=True):
        var = Var(axis.var.name)
        axes.append(Axis(var, _extent(axis, low, high)))
        values[axis.var] = binary("+", var, IntImm(low)) if low else var

    def tidy(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad):
            return BufferLoad(node.buffer, tuple(simplify(map_expr(index, tidy)) for index in node.indices))
        return None

    value = map_expr(substitute(piece.value, values), tidy)
    return Stage(tuple(axes), stage.target, tuple(values[axis.var] for axis in stage.axes), value)


def _relocated(stage: AnyStage, moved: dict[Buffer, tuple[int, ...]], target: Buffer) -> AnyStage:
    """Return ``stage`` with the buffers ``moved`` as parts of ``target``, which begin at the given places."""
    if isinstance(stage, Opaque) or not moved.keys() & (stage.reads() | stage.writes()):
        return stage

    def shifted(indices: Sequence[PrimExpr], begin: Sequence[int]) -> tuple[PrimExpr, ...]:
        return tuple(simplify(binary("+", index, IntImm(low))) for index, low in zip(indices, begin, strict=True))

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and node.buffer in moved:
            return BufferLoad(target, shifted([map_expr(i, rewrite) for i in node.indices], moved[node.buffer]))
        return None

    reduction = stage.reduction
    if reduction is not None:
        source, identity = map_expr(reduction.source, rewrite), map_expr(reduction.identity, rewrite)
        reduction = replace(reduction, source=source, identity=identity)
    value, indices = map_expr(stage.value, rewrite), tuple(map_expr(index, rewrite) for index in stage.indices)
    if stage.target in moved:
        return Stage(stage.axes, target, shifted(indices, moved[stage.target]), value, reduction)
    return Stage(stage.axes, stage.target, indices, value, reduction)
