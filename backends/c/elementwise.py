"""The schedule of stages without a reduction: few, long loops."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from relay2relax.backends.c.fusion import cost
from relay2relax.backends.c.loops import block, coefficient, parallel, put, static
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.stages import Axis, Stage, points
from relay2relax.tir.arith import prove, simplify
from relay2relax.tir.expr import Binary, BufferLoad, Call, IntImm, PrimExpr, Select, Var, binary, children
from relay2relax.tir.stmt import BufferStore, For, LoopKind, Stmt
from relay2relax.tir.visit import loads, map_expr, subexpressions

_MOST_PIECES = 6


def schedule_elementwise(stage: Stage, machine: Machine) -> Stmt:
    """Return the loops of a flattened stage without reduction."""
    stage = collapse(stage)
    store = BufferStore(stage.target, stage.indices, stage.value)
    if not stage.axes:
        return store
    inner = innermost(stage)
    outer = [axis for axis in stage.axes if axis is not inner]
    work = binary("*", points(stage.axes), IntImm(1 + cost(stage.value)))
    if not outer:
        loop = parallel([inner], store, simplify(work), machine.parallel_work)
        if isinstance(loop, For) and loop.kind is LoopKind.SERIAL:
            loop = replace(loop, kind=LoopKind.VECTORIZED)
        return loop
    return parallel(outer, _pieces(inner, store), simplify(work), machine.parallel_work)


def collapse(stage: Stage) -> Stage:
    """Return ``stage`` with neighbouring axes made one where every access moves through them as through one."""
    axes = list(stage.axes)
    place, value = stage.indices[0], stage.value
    bare = _bare_variables(value)
    position = len(axes) - 2
    while position >= 0:
        first, second = axes[position], axes[position + 1]
        inner = static(second.extent)
        joined = inner is not None and first.var not in bare and second.var not in bare
        if joined:
            for index in (place, *(load.indices[0] for load in loads(value))):
                a, b = coefficient(index, first.var), coefficient(index, second.var)
                joined = joined and a is not None and b is not None and a == b * (inner or 0)
        if joined:
            both = Axis(Var(second.var.name), simplify(binary("*", first.extent, second.extent)))
            values: dict[Var, PrimExpr] = {first.var: IntImm(0), second.var: both.var}
            place, value = simplify(put(place, values)), _simplified(put(value, values))
            axes[position : position + 2] = [both]
        position -= 1
    return Stage(tuple(axes), stage.target, (place,), value, stage.reduction)


def _bare_variables(value: PrimExpr) -> set[Var]:
    """Return the variables that ``value`` uses outside of the indices of loads."""
    found: set[Var] = set()
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, Var):
            found.add(node)
        elif not isinstance(node, BufferLoad):
            stack += children(node)
        else:
            # A load within an index is not at an affine place: its variables stay as they are.
            for index in node.indices:
                if loads(index):
                    found.update(v for v in subexpressions(index) if isinstance(v, Var))
    return found


def _simplified(value: PrimExpr) -> PrimExpr:
    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if isinstance(node, BufferLoad):
            return BufferLoad(node.buffer, tuple(simplify(map_expr(i, rewrite)) for i in node.indices))
        return None

    return map_expr(value, rewrite)


def innermost(stage: Stage) -> Axis:
    """Return the axis along which the stage stores to neighbouring places, else the last."""
    for axis in reversed(stage.axes):
        if coefficient(stage.indices[0], axis.var) == 1:
            return axis
    return stage.axes[-1]


# Loops without conditions


def _pieces(axis: Axis, store: BufferStore) -> Stmt:
    """Return the loop over ``axis``, cut where conditions on it change, so that they vanish from its body."""
    extent = static(axis.extent)
    cuts = {0} if extent is not None else set()
    if extent is not None:
        for condition in _conditions(store.value):
            found = _threshold(condition, axis.var)
            if found is not None and 0 < found < extent:
                cuts.add(found)
    if extent is None or len(cuts) == 1 or len(cuts) > _MOST_PIECES:
        return For(axis.var, axis.extent, store, LoopKind.VECTORIZED)
    places = [*sorted(cuts), extent]
    pieces: list[Stmt] = []
    for low, high in pairwise(places):
        var = Var(axis.var.name)
        shifted: PrimExpr = binary("+", var, IntImm(low)) if low else var
        limits = {axis.var: (low, high - 1)}

        def decide(node: PrimExpr, limits: dict[Var, tuple[int, int]] = limits) -> PrimExpr | None:
            if isinstance(node, Binary) and node.dtype == "bool" and node.op not in ("and", "or") and not loads(node):
                known = prove(node, limits)
                return None if known is None else IntImm(int(known), "bool")
            if isinstance(node, Call) and node.name == "if_then_else":
                condition = map_expr(node.args[0], decide)
                if isinstance(condition, IntImm):
                    return map_expr(node.args[1] if condition.value else node.args[2], decide)
            return None

        value = put(map_expr(store.value, decide), {axis.var: shifted})
        index = put(store.indices[0], {axis.var: shifted})
        body = BufferStore(store.buffer, (index,), value)
        pieces.append(For(var, IntImm(high - low), body, LoopKind.VECTORIZED))
    return block(*pieces)


def _conditions(value: PrimExpr) -> list[PrimExpr]:
    found: list[PrimExpr] = []
    for node in subexpressions(value):
        match node:
            case Call("if_then_else", (condition, _, _), _) | Select(condition, _, _):
                found += [part for part in subexpressions(condition) if isinstance(part, Binary)]
    return found


def _threshold(condition: PrimExpr, var: Var) -> int | None:
    """Return where along ``var`` a comparison changes its value, where that is a constant."""
    if not isinstance(condition, Binary) or condition.op not in ("<", "<=", ">", ">="):
        return None
    difference = simplify(binary("-", condition.a, condition.b))
    factor = coefficient(difference, var)
    rest = simplify(put(difference, {var: IntImm(0, var.dtype)}))
    if factor not in (1, -1) or not isinstance(rest, IntImm):
        return None
    # factor * var + rest, compared with zero: the first var where the comparison is different from before.
    zero = -rest.value * factor
    after = condition.op in ("<=", ">") if factor == 1 else condition.op in ("<", ">=")
    return zero + 1 if after else zero
