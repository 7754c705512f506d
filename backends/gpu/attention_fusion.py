"""Where attention is: products around softmax, which become one kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from relay2relax.backends.c.fusion.attention import Attention, fuse_attention
from relay2relax.backends.c.fusion.rule import Rule
from relay2relax.backends.c.stages import Axis, Blocks, Rows, Stage, mapped, renamed
from relay2relax.backends.gpu.kernel import ZERO, count
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, PrimExpr, Var
from relay2relax.tir.ir.visit import loads, map_expr, variables

# Rows of a block, and columns that it has at once.
TILE = 32
# Words by which lines of a tile are longer: eight of them begin in banks of their own.
LONGER = 4
SCORES_LINE = TILE + 2 * LONGER
_MOST_SHARED = 48 * 1024
_LEAST_ROWS = 16


@dataclass(frozen=True, slots=True)
class Softmax:
    """What becomes of a ``score`` in a ``column`` before its exponential; the largest is found from
    ``identity`` on.
    """

    score: Var
    column: Var
    value: PrimExpr
    identity: PrimExpr


def softmax_of(stages: Sequence[Stage], axes: Sequence[Axis], scores: Buffer, flat: bool = False) -> Softmax | None:
    """Return the softmax that stages by rows over ``axes`` are, None where they are something else.

    It is exponentials of what is left when the largest was taken away, by their sum. Of ``flat``
    stages it is known that they read each other's elements of their own column.
    """
    own = {axis.var for axis in axes}
    score, column = Var("score", scores.dtype), Var("column")
    values: dict[Buffer, PrimExpr] = {}
    largest = total = None
    greatest = Var("greatest", scores.dtype)
    whole = Var("whole", scores.dtype)
    found: Softmax | None = None
    for stage in stages:
        reduction = stage.reduction
        inner = [axis.var for axis in (reduction.axes if reduction is not None else stage.axes)]
        inner = [var for var in inner if var not in own]
        if len(inner) != 1:
            return None

        def rewrite(node: PrimExpr, var: Var = inner[0]) -> PrimExpr | None:
            if node is var:
                return column
            if not isinstance(node, BufferLoad):
                return None
            return score if node.buffer is scores else values.get(node.buffer)

        read = [load for expr in stage.expressions() for load in loads(expr)]
        beside = [one for one in read if one.buffer is scores or column in variables(values.get(one.buffer, ZERO))]
        if not flat and any(simplify(load.indices[-1]) != inner[0] for load in beside):
            return None
        if reduction is None:
            values[stage.target] = map_expr(stage.value, rewrite)
            continue
        if stage.value != reduction.result:
            return None
        source = map_expr(reduction.source, rewrite)
        if largest is None and reduction.op == "max":
            largest, values[stage.target] = stage.target, greatest
            found = Softmax(score, column, source, reduction.identity)
        elif found is not None and total is None and reduction.op == "+" and source == _power(found, greatest):
            total, values[stage.target] = stage.target, whole
        else:
            return None
    if found is None or total is None or stages[-1].reduction is not None:
        return None
    return found if values[stages[-1].target] == Binary("/", _power(found, greatest), whole) else None


def _power(found: Softmax, greatest: Var) -> PrimExpr:
    return Call("exp", (Binary("-", found.value, greatest),), greatest.dtype)


def _as_kernel(found: Attention) -> Blocks | None:
    """Return attention as blocks whose last axis is that of the rows, None where no kernel does
    it.
    """
    rows = [axis for axis in found.moving if (static(axis.extent) or TILE) >= _LEAST_ROWS]
    if not rows or found.scores.dtype != "float32":
        return None
    longest = max(rows, key=lambda axis: static(axis.extent) or 1 << 30)
    axes = (*(axis for axis in found.axes if axis is not longest), longest)
    handed = dict.fromkeys((found.scores, *(stage.target for stage in found.rows)))
    local = {one: replace(one, scope="local") for one in handed if one.scope != "local"}

    def member(stage: Stage, names: Mapping[Var, Var]) -> Stage:
        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer in local:
                return BufferLoad(local[node.buffer], node.indices)
            return None

        values: dict[Var, PrimExpr] = {names[axis.var]: axis.var for axis in axes}
        inner = (axis for axis in stage.axes if axis.var not in values)
        changed = renamed(mapped(stage, rewrite), (*axes, *inner), values)
        return replace(changed, target=local.get(stage.target, stage.target))

    same = {axis.var: axis.var for axis in axes}
    between = Rows(axes, tuple(member(stage, same) for stage in found.rows))
    blocks = Blocks(axes, (member(found.product, found.before), between, member(found.second, found.after)))
    if softmax_of(between.stages, axes, local.get(found.scores, found.scores)) is None or tile_sizes(blocks) is None:
        return None
    return blocks


def tile_sizes(blocks: Blocks) -> tuple[int, int] | None:
    """Return the terms of a score and the columns of the result as tiles have them, None where they
    are not known, or too many.
    """
    product, _, second = blocks.members
    assert isinstance(product, Stage)
    assert isinstance(second, Stage)
    own = {axis.var for axis in blocks.axes}
    lengths = static(count(terms_of(product))), static(count([axis for axis in second.axes if axis.var not in own]))
    if lengths[0] is None or lengths[1] is None:
        return None
    terms, columns = (-(-length // TILE) * TILE for length in (lengths[0], lengths[1]))
    words = TILE * (2 * (terms + LONGER) + columns + LONGER + SCORES_LINE)
    return (terms, columns) if words * 4 <= _MOST_SHARED else None


def terms_of(stage: Stage) -> tuple[Axis, ...]:
    """Return the axes of a sum."""
    assert stage.reduction is not None
    return stage.reduction.axes


FUSE_ATTENTION = Rule(
    "gpu.FuseAttention",
    "Products around softmax become one kernel that keeps no scores; behind what makes rows (attention.py).",
    lambda f: replace(f, program=fuse_attention(f.program, f.given, _as_kernel)),
)
