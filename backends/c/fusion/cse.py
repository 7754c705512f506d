"""Equal stages over equal operands: the first one serves all."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.c.stages import AnyStage, Stage, mapped
from relay2relax.tir.ir.expr import Buffer, BufferLoad, PrimExpr, Var
from relay2relax.tir.ir.visit import map_expr, substitute


def eliminate_common(stages: Sequence[AnyStage], fixed: frozenset[Buffer]) -> list[AnyStage]:
    """Return the program without stages that compute what one before them has.

    Those that write ``fixed`` stay.
    """
    written: dict[Buffer, int] = {}
    for stage in stages:
        for buffer in stage.writes():
            written[buffer] = written.get(buffer, 0) + 1
    names: list[Var] = []
    seen: dict[object, Buffer] = {}
    same: dict[Buffer, Buffer] = {}
    found: list[AnyStage] = []

    def renamed(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad) and node.buffer in same:
            return BufferLoad(same[node.buffer], tuple(map_expr(index, renamed) for index in node.indices))
        return None

    # A statement of another kind names its operands in many ways: they stay.
    still = fixed.union(b for s in stages if not isinstance(s, Stage) for b in s.reads() | s.writes())
    for stage in stages:
        if isinstance(stage, Stage):
            if not same.keys().isdisjoint(stage.reads()):
                stage = mapped(stage, renamed)
            # A buffer that is written again does not hold what it held.
            if stage.target not in still and all(written.get(b, 1) == 1 for b in (stage.target, *stage.reads())):
                key = _key(stage, names)
                first = seen.setdefault(key, stage.target)
                if first is not stage.target:
                    same[stage.target] = first
                    continue
        found.append(stage)
    return found


def _key(stage: Stage, names: list[Var]) -> object:
    """Return a value that is equal for stages that compute the same, whatever their axes are
    called.
    """
    reduction = stage.reduction
    axes = (*stage.axes, *(reduction.axes if reduction is not None else ()))
    while len(names) < len(axes) + 1:
        names.append(Var(f"a{len(names)}"))
    values: dict[Var, PrimExpr] = {axis.var: name for axis, name in zip(axes, names, strict=False)}
    if reduction is not None:
        values[reduction.result] = names[len(axes)]
    of_reduction = (
        None
        if reduction is None
        else (reduction.op, substitute(reduction.identity, values), substitute(reduction.source, values))
    )
    return (
        stage.target.dtype,
        tuple(stage.target.shape),
        tuple(axis.extent for axis in axes),
        len(stage.axes),
        tuple(substitute(index, values) for index in stage.indices),
        substitute(stage.value, values),
        of_reduction,
    )
