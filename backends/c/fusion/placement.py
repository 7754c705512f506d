"""Tensors made where they are wanted: inside of what they are only copied into.

A stage that pads or concatenates is a choice between boxes: in each box of its result it copies a
tensor, or writes a number. Such a tensor is made in its box from the start, everyone reads it
there, and no copy is left; a box with a number becomes a stage of its own. Where tensors are joined
again and again, each time with one more, the last of the results holds all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Optional, TypeAlias

from relay2relax.backends.c.stages import AnyStage, Axis, Opaque, Stage
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, FloatImm, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import map_expr, mentions, substitute

# A stage of more boxes is left as it is.
_MOST_BOXES = 600
# Box of a result: for each axis where it begins and ends (None: at the axis' extent, which may be
# symbolic).
_Range: TypeAlias = tuple[int, Optional[int]]
_Box: TypeAlias = tuple[_Range, ...]
# Where a buffer lies in another: for each dimension of that one, which of its own it is (None:
# none), and its begin.
Place: TypeAlias = tuple[tuple[Optional[int], int], ...]


@dataclass(frozen=True, slots=True)
class Piece:
    """What a stage stores in one box of its axes."""

    axes: tuple[Axis, ...]
    box: _Box
    value: PrimExpr

    def at(self, indices: Sequence[PrimExpr]) -> PrimExpr:
        """Return the value at a place in the box."""
        return substitute(self.value, {axis.var: index for axis, index in zip(self.axes, indices, strict=True)})


def place_parts(stages: Sequence[AnyStage], fixed: frozenset[Buffer]) -> list[AnyStage]:
    """Return the program with tensors that are only parts of others made in those.

    Those in ``fixed`` stay.
    """
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
        pieces = _united(pieces_of(stage)) if isinstance(stage, Stage) else None
        if pieces is None or not isinstance(stage, Stage):
            continue
        if any(stage.target in other.writes() for n in users[stage.target] if n != number for other in work[n]):
            continue
        moved: dict[Buffer, Place] = {}
        rest: list[AnyStage] = []
        for piece in pieces:
            source = _source(stage, piece)
            place_ = _whole(stage, piece) if source is not None and source not in fixed else None
            if source is None or place_ is None or source in moved:
                rest.append(_part(stage, piece))
            elif _is_made_before(work, users[source], number, source):
                moved[source] = place_
            else:
                rest.append(_part(stage, piece))
        if not moved:
            continue
        work[number] = rest
        for buffer in moved:
            for user in users.pop(buffer):
                work[user] = [relocated(one, moved, stage.target) for one in work[user]]
                users[stage.target].add(user)
    return [stage for parts in work for stage in parts]


def _united(pieces: list[Piece] | None) -> list[Piece] | None:
    """Return the boxes with those joined that lie side by side and are copied from one tensor as
    one: parts of an earlier result that are there already.
    """
    if pieces is None:
        return None
    found: list[Piece] = []
    for piece in sorted(pieces, key=lambda one: [low for low, _ in one.box]):
        before = found[-1] if found else None
        box = None
        if before is not None and isinstance(piece.value, BufferLoad) and before.value == piece.value:
            box = _side_by_side(before.box, piece.box)
        if before is not None and box is not None:
            found[-1] = replace(before, box=box)
        else:
            found.append(piece)
    return found if len(found) < len(pieces) else pieces


def _side_by_side(first: _Box, second: _Box) -> _Box | None:
    """Return the box of two where the second begins where the first ends, and they are alike
    otherwise.
    """
    apart = [axis for axis, (one, other) in enumerate(zip(first, second, strict=True)) if one != other]
    if len(apart) != 1 or first[apart[0]][1] != second[apart[0]][0]:
        return None
    return tuple((low, second[axis][1]) if axis == apart[0] else (low, high) for axis, (low, high) in enumerate(first))


def _is_made_before(work: Sequence[Sequence[AnyStage]], users: set[int], number: int, buffer: Buffer) -> bool:
    """Whether only ordinary stages touch ``buffer``, and some before ``number`` write it, none from
    there on.
    """
    stages = [(n, stage) for n in users for stage in work[n]]
    if any(isinstance(stage, Opaque) for _, stage in stages):
        return False
    writers = [n for n, stage in stages if buffer in stage.writes()]
    return bool(writers) and max(writers) < number


def side_by_side(
    index: Var, begins: Sequence[int], piece: Callable[[int], PrimExpr], begin: int = 0, end: int | None = None
) -> PrimExpr:
    """Return the choice of ``piece(n)`` where ``index`` lies behind ``begins[n]`` and before the
    next of them.
    """
    end = len(begins) if end is None else end
    if end - begin == 1:
        return piece(begin)
    middle = (begin + end) // 2
    first = side_by_side(index, begins, piece, begin, middle)
    rest = side_by_side(index, begins, piece, middle, end)
    return Call("if_then_else", (binary("<", index, IntImm(begins[middle])), first, rest), first.dtype)


def pieces_of(stage: Stage) -> list[Piece] | None:
    """Return the boxes of a stage that chooses between several, or None where it is something
    else.
    """
    if stage.reduction is not None or stage.indices != tuple(axis.var for axis in stage.axes):
        return None
    if not isinstance(stage.value, (Call, BufferLoad)):
        return None
    order = {axis.var: place_ for place_, axis in enumerate(stage.axes)}
    sizes = [axis.extent.value if isinstance(axis.extent, IntImm) else None for axis in stage.axes]
    still: dict[Var, PrimExpr] = {axis.var: IntImm(0) for axis in stage.axes if axis.extent == IntImm(1)}
    found: list[Piece] = []
    stack = [Piece(stage.axes, tuple((0, None) for _ in stage.axes), stage.value)]
    while stack:
        piece = stack.pop()
        match piece.value:
            case Call("if_then_else", (condition, then, otherwise), _):
                inner = _cut(piece.box, condition, order, sizes, still)
                if inner is None or len(found) + len(stack) > _MOST_BOXES:
                    return None
                box, outside = inner
                stack += [replace(piece, box=other, value=otherwise) for other in outside]
                if box is not None:
                    stack.append(replace(piece, box=box, value=then))
            case BufferLoad() | FloatImm() | IntImm():
                found.append(piece)
            case _:
                return None
    return found


def _cut(
    box: _Box,
    condition: PrimExpr,
    order: dict[Var, int],
    sizes: Sequence[int | None],
    still: Mapping[Var, PrimExpr],
) -> tuple[_Box | None, list[_Box]] | None:
    """Return the part of ``box`` where a condition holds, and boxes for the rest.

    None for other conditions.
    """
    outside: list[_Box] = []
    inside = list(box)
    parts = [condition]
    while parts:
        part = parts.pop()
        match part:
            case Binary("and", a, b):
                parts += [b, a]
                continue
            case Binary("==", a, IntImm(value)):
                parts += [binary("<", a, IntImm(value + 1)), binary(">=", a, IntImm(value))]
                continue
        limit = _limit(simplify(substitute(part, still)), order)
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


def _source(stage: Stage, piece: Piece) -> Buffer | None:
    """Return the buffer that a piece copies from."""
    if not isinstance(piece.value, BufferLoad) or piece.value.dtype != stage.target.dtype:
        return None
    return piece.value.buffer


def _whole(stage: Stage, piece: Piece) -> Place | None:
    """Return where in the result the buffer lies of which a piece is a copy.

    None where it is not a copy of all of it.

    Its dimensions must be those of the result, in order; dimensions of one element may be missing
    on either side.
    """
    assert isinstance(piece.value, BufferLoad)
    buffer, indices = piece.value.buffer, piece.value.indices
    place_: list[tuple[int | None, int]] = []
    dimension = 0
    for axis, (low, high) in zip(stage.axes, piece.box, strict=True):
        extent = simplify(_extent(axis, low, high))
        while dimension < len(indices) and not mentions(indices[dimension], axis.var) and _is_one(buffer, dimension):
            dimension += 1
        if dimension < len(indices) and mentions(indices[dimension], axis.var):
            if simplify(binary("-", indices[dimension], axis.var)) != IntImm(-low):
                return None
            if simplify(buffer.shape[dimension]) != extent:
                return None
            place_.append((dimension, low))
            dimension += 1
        elif extent == IntImm(1):
            place_.append((None, low))
        else:
            return None
    if any(not _is_one(buffer, d) for d in range(dimension, len(indices))):
        return None
    return tuple(place_)


def _is_one(buffer: Buffer, dimension: int) -> bool:
    return simplify(buffer.shape[dimension]) == IntImm(1)


def _part(stage: Stage, piece: Piece) -> Stage:
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


def relocated(stage: AnyStage, moved: Mapping[Buffer, Place], target: Buffer) -> AnyStage:
    """Return ``stage`` with the buffers ``moved`` as parts of ``target``."""
    if isinstance(stage, Opaque) or not moved.keys() & (stage.reads() | stage.writes()):
        return stage

    def shifted(indices: Sequence[PrimExpr], place_: Place) -> tuple[PrimExpr, ...]:
        own = (IntImm(0) if dimension is None else indices[dimension] for dimension, _ in place_)
        return tuple(simplify(binary("+", index, IntImm(low))) for index, (_, low) in zip(own, place_, strict=True))

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
