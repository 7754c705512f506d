"""Results that are interleaved of several: each is made where it belongs.

A transposed convolution of stride k makes k results per dimension, one for each remainder of the
position, and then interleaves them: its reader loads ``[…, x // k, …, x % k, …]``. Here each
remainder becomes a sum of products of its own that stores every k-th element of the reader's
result, and reads every operand with plain strides.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

from relay2relax.backends.c.stages import AnyStage, Axis, Stage
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.visit import loads, map_expr, substitute

# More results than this stay interleaved.
_MOST_RESULTS = 16


@dataclass(frozen=True, slots=True)
class _Period:
    """``(var + shift) // size`` is the index of one dimension, ``(var + shift) % size`` of
    another.
    """

    var: Var
    shift: int
    size: int
    quotient: int
    remainder: int


def split_interleaved(stages: Sequence[AnyStage], fixed: frozenset[Buffer]) -> list[AnyStage]:
    """Return the program with interleaved reductions made one by one, in place of the stage that
    interleaves them.
    """
    work: list[list[AnyStage]] = [[stage] for stage in stages]
    users: dict[Buffer, list[int]] = {}
    for number, stage in enumerate(stages):
        for buffer in stage.reads() | stage.writes():
            users.setdefault(buffer, []).append(number)
    for number, stage in enumerate(stages):
        if not isinstance(stage, Stage) or stage.reduction is not None:
            continue
        for load in dict.fromkeys(loads(stage.value)):
            periods = _periods(load, stage.axes) if load.buffer not in fixed else []
            # The one that makes what is loaded, and its one reader.
            if not periods or len(users[load.buffer]) != 2 or users[load.buffer][1] != number:
                continue
            (maker,) = work[users[load.buffer][0]] or (None,)
            if any(other != load for other in loads(stage.value) if other.buffer is load.buffer):
                continue
            if not isinstance(maker, Stage) or maker.reduction is None or maker.target is not load.buffer:
                continue
            if maker.indices != tuple(axis.var for axis in maker.axes):
                continue
            remainders = product(*(range(period.size) for period in periods))
            work[number] = [_one_of(maker, stage, load, periods, chosen) for chosen in remainders]
            work[users[load.buffer][0]] = []
            break
    return [stage for parts in work for stage in parts]


def _periods(load: BufferLoad, axes: Sequence[Axis]) -> list[_Period]:
    """Return how the load takes its elements apart by remainders, nothing where it does not, or in
    another way.
    """
    extents = {axis.var: axis.extent for axis in axes}
    found: dict[tuple[Var, int, int], dict[str, int]] = {}
    for dimension, index in enumerate(load.indices):
        match index:
            case Binary(("//" | "%") as op, position, IntImm(size)):
                shifted = _shifted(position)
                if shifted is None or not isinstance(extents.get(shifted[0]), IntImm):
                    return []
                parts = found.setdefault((*shifted, size), {})
                if op in parts or (op == "%" and simplify(load.buffer.shape[dimension]) != IntImm(size)):
                    return []
                parts[op] = dimension
            case IntImm():
                pass
            case _ if _shifted(index) is None:
                return []
    if any(len(parts) != 2 for parts in found.values()):
        return []
    periods = [_Period(*key, parts["//"], parts["%"]) for key, parts in found.items()]
    count = 1
    for period in periods:
        count *= period.size
    return periods if count <= _MOST_RESULTS and len({p.var for p in periods}) == len(periods) else []


def _shifted(index: PrimExpr) -> tuple[Var, int] | None:
    match index:
        case Var():
            return index, 0
        case Binary("+", Var() as var, IntImm(shift)):
            return var, shift
        case Binary("-", Var() as var, IntImm(shift)):
            return var, -shift
    return None


def _one_of(made: Stage, reader: Stage, load: BufferLoad, periods: Sequence[_Period], chosen: Sequence[int]) -> Stage:
    """Return the sum of products for one remainder of each period, stored as ``reader`` would."""
    places = list(load.indices)
    steps: dict[Var, Axis] = {}
    values: dict[Var, PrimExpr] = {}
    extents = {axis.var: axis.extent for axis in reader.axes}
    for period, remainder in zip(periods, chosen, strict=True):
        first = (remainder - period.shift) % period.size
        extent = extents[period.var]
        assert isinstance(extent, IntImm)
        axis = Axis(Var(period.var.name), IntImm(-(-(extent.value - first) // period.size)))
        steps[period.var] = axis
        values[period.var] = binary("+", binary("*", axis.var, IntImm(period.size)), IntImm(first))
        places[period.quotient] = binary("+", axis.var, IntImm((first + period.shift) // period.size))
        places[period.remainder] = IntImm(remainder)
    axes = tuple(steps.get(axis.var, axis) for axis in reader.axes)
    bounds = {axis.var: (0, binary("-", axis.extent, 1)) for axis in axes}

    def tidy(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad):
            return BufferLoad(node.buffer, tuple(simplify(map_expr(i, tidy), bounds) for i in node.indices))
        return None

    own = {axis.var: simplify(place) for axis, place in zip(made.axes, places, strict=True)}
    result = map_expr(substitute(made.value, own), tidy)

    # The load is replaced before the reader's axes are, for it is told by its indices.
    marker = Var("result", load.dtype)
    value = map_expr(reader.value, lambda node: marker if node == load else None)
    value = map_expr(map_expr(substitute(value, values), tidy), lambda node: result if node is marker else None)
    indices = tuple(simplify(substitute(index, values), bounds) for index in reader.indices)
    reduction = made.reduction
    assert reduction is not None
    source = map_expr(substitute(reduction.source, own), tidy)
    return Stage(axes, reader.target, indices, value, replace(reduction, source=source))
