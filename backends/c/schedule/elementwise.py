"""The schedule of stages without a reduction: few, long loops."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeGuard

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.fusion.cost import effort
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.loops import block, local, parallel, put, vectorized
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import ceiling, prove, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    Select,
    Var,
    binary,
    children,
    conjuncts,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, LoopKind, Stmt
from relay2relax.tir.ir.visit import loads, map_expr, subexpressions

# A loop is cut into no more pieces, and so many conditions are taken out of it.
_MOST_PIECES = 6
_DEEPEST_CONDITIONS = 3


def schedule_elementwise(stage: Stage, machine: Machine) -> Stmt:
    """Return the loops of a flattened stage without reduction."""
    stage = collapse(stage)
    store = BufferStore(stage.target, stage.indices, stage.value)
    if not stage.axes:
        return store
    inner = innermost(stage)
    outer = [axis for axis in stage.axes if axis is not inner]
    work = effort(stage)
    other = _read_along(stage, inner)
    if other is not None:
        return _transposing(stage, inner, other, machine)
    if not outer:
        loop = parallel([inner], store, work, machine.parallel_work)
        if isinstance(loop, For) and loop.kind is LoopKind.SERIAL:
            loop = replace(loop, kind=LoopKind.VECTORIZED)
        return loop
    return parallel(outer, _pieces(inner, store), work, machine.parallel_work)


# Rows of a product that make tiles of their own: an unknown number of images would only leave the
# tiles without a size.
_ENOUGH_ROWS = 32


def collapse(stage: Stage) -> Stage:
    """Return ``stage`` with neighbouring axes made one where every access moves through them as
    through one.
    """
    reduction = stage.reduction
    parts = [stage.indices[0], stage.value]
    if reduction is not None:
        parts += [reduction.source, reduction.identity]
    axes, parts = _joined(stage.axes, parts, _ENOUGH_ROWS if reduction is not None else None)
    if reduction is not None:
        reduced, parts = _joined(reduction.axes, parts)
        reduction = replace(reduction, axes=reduced, source=parts[2], identity=parts[3])
    return Stage(axes, stage.target, (parts[0],), parts[1], reduction)


def _joined(
    given: Sequence[Axis], parts: list[PrimExpr], enough: int | None = None
) -> tuple[tuple[Axis, ...], list[PrimExpr]]:
    """Return fewer axes, and an index and expressions in terms of them.

    An axis of symbolic extent stays apart from one that has ``enough`` steps by itself.
    """
    axes = list(given)
    bare = set().union(*(_bare_variables(part) for part in parts[1:]))
    position = len(axes) - 2
    while position >= 0:
        first, second = axes[position], axes[position + 1]
        inner = static(second.extent)
        joined = inner is not None and first.var not in bare and second.var not in bare
        if enough is not None and inner is not None and inner >= enough and static(first.extent) is None:
            joined = False
        for index in (parts[0], *(load.indices[0] for part in parts[1:] for load in loads(part))):
            if not joined:
                break
            a, b = coefficient(index, first.var), coefficient(index, second.var)
            joined = a is not None and b is not None and a == b * (inner or 0)
        if joined:
            both = Axis(Var(second.var.name), simplify(binary("*", first.extent, second.extent)))
            values: dict[Var, PrimExpr] = {first.var: IntImm(0), second.var: both.var}
            parts = [simplify(put(parts[0], values)), *(_simplified(put(part, values)) for part in parts[1:])]
            axes[position : position + 2] = [both]
        position -= 1
    return tuple(axes), parts


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


# Loops that turn matrices around

# As many single-precision numbers as a line of a cache holds.
_TILE = 16
# A cache of the second level keeps at least so many lines of each distance from the next, of so
# many bytes in all.
_WAYS, _WAY_BYTES, _LINE_BYTES = 4, 1 << 16, 64


def _read_along(stage: Stage, inner: Axis) -> Axis | None:
    """Return the axis along which an operand lies, if walking across it along ``inner`` would not
    do.

    A row of the result takes a line of the cache for every element; rows that follow use these
    lines, too, if they are still there.
    """
    for load in loads(stage.value):
        place = load.indices[0]
        stride = 0 if loads(place) else coefficient(place, inner.var)
        if not stride or abs(stride) == 1 or _stay(inner, abs(stride) * ((bits(load.dtype) + 7) // 8)):
            continue
        for axis in stage.axes:
            apart = coefficient(place, axis.var) == 1 and coefficient(stage.indices[0], axis.var) not in (None, 0)
            if apart and axis is not inner and _fills(inner) and _fills(axis):
                return axis
    return None


def _stay(inner: Axis, stride: int) -> bool:
    """Whether the lines of a cache that elements ``stride`` bytes apart lie in have room beside
    each other.
    """
    extent = static(inner.extent)
    return extent is not None and extent <= _WAYS * _WAY_BYTES // max(math.gcd(stride, _WAY_BYTES), _LINE_BYTES)


def _fills(axis: Axis) -> bool:
    extent = static(axis.extent)
    return extent is None or extent >= _TILE


def _transposing(stage: Stage, inner: Axis, other: Axis, machine: Machine) -> Stmt:
    """Return loops over square tiles: each is computed along ``other`` and stored along ``inner``.

    So every line of the cache is used whole while it is there.
    """
    rows, columns = Axis(Var("rows"), ceiling(other.extent, _TILE)), Axis(Var("columns"), ceiling(inner.extent, _TILE))
    begins: dict[Var, PrimExpr] = {
        axis.var: binary("*", tile.var, IntImm(_TILE)) for axis, tile in ((other, rows), (inner, columns))
    }

    def within(axis: Axis) -> PrimExpr:
        left = simplify(binary("-", axis.extent, begins[axis.var]))
        whole = static(axis.extent)
        return IntImm(_TILE) if whole is not None and whole % _TILE == 0 else binary("min", IntImm(_TILE), left)

    def at(row: PrimExpr, column: PrimExpr) -> dict[Var, PrimExpr]:
        steps = {other.var: row, inner.var: column}
        return {var: binary("+", begin, steps[var]) for var, begin in begins.items()}

    def tile(buffer: Buffer) -> Stmt:
        column, row = Var("column"), Var("row")

        def compute(row: PrimExpr) -> Stmt:
            return BufferStore(buffer, (row, column), put(stage.value, at(row, column)))

        def store(column: PrimExpr) -> Stmt:
            place = put(stage.indices[0], at(row, column))
            return BufferStore(stage.target, (place,), BufferLoad(buffer, (row, column)))

        return block(
            For(column, within(inner), vectorized(within(other), compute)),
            For(row, within(other), vectorized(within(inner), store)),
        )

    axes = [*(axis for axis in stage.axes if axis not in (inner, other)), rows, columns]
    body = local(stage.target.dtype, [_TILE, _TILE], "local", tile)
    return parallel(axes, body, effort(stage), machine.parallel_work)


# Loops without conditions


def _pieces(axis: Axis, store: BufferStore) -> Stmt:
    """Return the loop over ``axis``, cut where conditions on it change, so that they vanish from
    its body.
    """
    extent = static(axis.extent)
    cuts = {0} if extent is not None else set()
    if extent is not None:
        for condition in _conditions(store.value):
            found = _threshold(condition, axis.var)
            if found is not None and 0 < found < extent:
                cuts.add(found)
    if extent is None or len(cuts) == 1 or len(cuts) > _MOST_PIECES:
        return _hoisted(axis, store)
    places = [*sorted(cuts), extent]
    pieces: list[Stmt] = []
    for low, high in pairwise(places):
        var = Var(axis.var.name)
        shifted: PrimExpr = binary("+", var, IntImm(low)) if low else var
        limits = {axis.var: (low, high - 1)}
        known = {part: prove(part, limits) for part in _conditions(store.value) if not loads(part)}
        decided = {part: IntImm(int(answer), "bool") for part, answer in known.items() if answer is not None}
        value = put(_decided(store.value, decided), {axis.var: shifted})
        index = put(store.indices[0], {axis.var: shifted})
        pieces.append(_hoisted(Axis(var, IntImm(high - low)), BufferStore(store.buffer, (index,), value)))
    return block(*pieces)


def _hoisted(axis: Axis, store: BufferStore, depth: int = 0) -> Stmt:
    """Return the loop over ``axis`` with conditions that do not depend on it outside."""
    test = None
    if depth < _DEEPEST_CONDITIONS:
        guards = (node.args[0] for node in subexpressions(store.value) if _is_guard(node))
        test = next((part for guard in guards for part in conjuncts(guard) if _is_fixed(part, axis.var)), None)
    if test is None:
        return For(axis.var, axis.extent, store, LoopKind.VECTORIZED)
    branches = [
        _hoisted(axis, replace(store, value=_decided(store.value, {test: IntImm(known, "bool")})), depth + 1)
        for known in (1, 0)
    ]
    return If(test, branches[0], branches[1])


def _is_guard(node: PrimExpr) -> TypeGuard[Call]:
    return isinstance(node, Call) and node.name == "if_then_else"


def _is_fixed(condition: PrimExpr, var: Var) -> bool:
    nodes = list(subexpressions(condition))
    return not any(node is var for node in nodes) and not isinstance(condition, IntImm)


def _decided(value: PrimExpr, known: Mapping[PrimExpr, PrimExpr]) -> PrimExpr:
    """Return ``value`` with the conditions in ``known`` decided, and conditionals on what that
    decides.
    """

    def rewrite(node: PrimExpr) -> PrimExpr | None:
        if node.dtype == "bool" and node in known:
            return known[node]
        if _is_guard(node):
            condition = map_expr(node.args[0], rewrite)
            if isinstance(condition, IntImm):
                return map_expr(node.args[1] if condition.value else node.args[2], rewrite)
        return None

    return map_expr(value, rewrite)


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
    # factor * var + rest, compared with zero: the first var where the comparison is different from
    # before.
    zero = -rest.value * factor
    after = condition.op in ("<=", ">") if factor == 1 else condition.op in ("<", ">=")
    return zero + 1 if after else zero
