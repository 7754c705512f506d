"""Kernels of stages without a reduction: vectors of a few elements, and tiles that turn matrices
around.
"""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.schedule.elementwise import collapse, innermost
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.backends.gpu.kernel import WARP, barrier, buffer, count, finish, guarded, launch, quotient, unravel
from relay2relax.core.dtype import bits
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    BufferLoad,
    Call,
    Cast,
    IntImm,
    Not,
    PrimExpr,
    Select,
    Var,
    binary,
    children,
    logical_and,
)
from relay2relax.tir.ir.stmt import BufferStore, For, If, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import loads, map_expr, subexpressions, substitute

_THREADS = 256
_FEW = 1 << 15
_VECTOR_BYTES = 16
_LONGEST_VECTOR = 4
# What apache-tvm has code for one number for, and none for a vector.
_ALONE = frozenset({"if_then_else", "erf", "cosh", "sinh"})
# Rows of a tile that each thread takes.
_ROWS = 4


def elementwise(stage: Stage) -> Stmt:
    """Return the kernel of a flattened stage without a reduction."""
    stage = collapse(stage)
    if not stage.axes:
        return launch(IntImm(1), [1], lambda block, threads: finish(stage, IntImm(0), {}))
    inner = innermost(stage)
    across = _read_across(stage, inner)
    if across is not None:
        return _turned(stage, inner, *across)
    axes = (*(axis for axis in stage.axes if axis is not inner), inner)
    width = _width(stage, inner)
    steps = Axis(inner.var, simplify(binary("//", inner.extent, IntImm(width))))
    total = count((*axes[:-1], steps))
    points = static(total)
    threads = _THREADS if points is None or points > _FEW else 128

    def body(block: Var, own: object) -> Stmt:
        assert isinstance(own, list)
        position = binary("+", binary("*", block, IntImm(threads)), own[0])
        values = unravel(position, (*axes[:-1], steps))
        if width == 1:
            return guarded(position, total, threads, finish(stage, IntImm(0), values))
        lane = Var("lane")
        values[inner.var] = binary("+", binary("*", values[inner.var], IntImm(width)), lane)
        vector = For(lane, IntImm(width), finish(stage, IntImm(0), values), LoopKind.VECTORIZED)
        return guarded(position, total, threads, vector)

    return launch(quotient(total, threads), [threads], body)


def _width(stage: Stage, inner: Axis) -> int:
    """Return how many neighbouring elements a thread computes at once."""
    nodes = subexpressions(stage.value)
    dtypes = {node.dtype for node in nodes if isinstance(node, (BufferLoad, Cast, Binary, Call))} | {stage.target.dtype}
    if any(isinstance(node, (Select, Not)) or (isinstance(node, Call) and node.name in _ALONE) for node in nodes):
        return 1
    if not all(_is_plain(dtype) for dtype in dtypes):
        return 1
    extent = static(inner.extent)
    width = min(_LONGEST_VECTOR, _VECTOR_BYTES * 8 // max(bits(dtype) for dtype in dtypes))
    accessed = [stage.indices[0], *(load.indices[0] for load in loads(stage.value))]
    while width > 1 and not (
        extent is not None and extent % width == 0 and all(_lies(index, inner, stage, width) for index in accessed)
    ):
        width //= 2
    # A variable outside of indices would be a vector of numbers.
    return width if not _outside(stage.value, inner.var) else 1


def _is_plain(dtype: str) -> bool:
    return dtype in ("float32", "int32", "float64", "bool", "float16")


def _outside(value: PrimExpr, var: Var) -> bool:
    """Whether ``value`` uses ``var`` other than in indices of loads."""
    stack = [value]
    while stack:
        node = stack.pop()
        if node is var:
            return True
        if not isinstance(node, BufferLoad):
            stack += children(node)
    return False


def _lies(index: PrimExpr, inner: Axis, stage: Stage, width: int) -> bool:
    """Whether vectors along ``inner`` are neighbours that begin at multiples of ``width``, or all
    the same.
    """
    if loads(index):
        return False
    along = coefficient(index, inner.var)
    if along == 0:
        return True
    others = [coefficient(index, axis.var) for axis in stage.axes if axis is not inner]
    start = simplify(substitute(index, {axis.var: IntImm(0) for axis in stage.axes}))
    known = all(one is not None and one % width == 0 for one in others)
    return along == 1 and known and isinstance(start, IntImm) and start.value % width == 0


def _read_across(stage: Stage, inner: Axis) -> tuple[Axis, BufferLoad] | None:
    """Return the axis along which the one operand lies that is read across it, and its load."""
    if any(
        isinstance(node, Select) or (isinstance(node, Call) and node.name == "if_then_else")
        for node in subexpressions(stage.value)
    ):
        return None
    found = None
    for load in dict.fromkeys(loads(stage.value)):
        place = load.indices[0]
        if loads(place):
            return None
        if coefficient(place, inner.var) in (0, 1):
            continue
        for axis in stage.axes:
            long = all((static(one.extent) or WARP) >= 8 for one in (axis, inner))
            if axis is not inner and coefficient(place, axis.var) == 1 and long:
                if found is not None:
                    return None
                found = axis, load
                break
    return found


def _turned(stage: Stage, inner: Axis, other: Axis, load: BufferLoad) -> Stmt:
    """Return a kernel that reads tiles along ``other`` and writes them along ``inner``."""
    rest = [axis for axis in stage.axes if axis not in (inner, other)]
    tile = buffer("tile", (WARP, WARP + 1), load.dtype, "shared")
    along, beside = quotient(inner.extent, WARP), quotient(other.extent, WARP)
    tiles = [*rest, Axis(Var("beside"), beside), Axis(Var("along"), along)]

    def body(block: Var, own: object) -> Stmt:
        assert isinstance(own, list)
        lane, row = own
        at = unravel(block, tiles)
        begin = {
            axis.var: binary("*", at[part.var], IntImm(WARP)) for axis, part in ((other, tiles[-2]), (inner, tiles[-1]))
        }

        def step(number: int, first: Axis, second: Axis, stmt: Mapping[Var, PrimExpr]) -> dict[Var, PrimExpr]:
            lower = binary("+", row, IntImm(number * WARP // _ROWS))
            return {
                **stmt,
                first.var: binary("+", begin[first.var], lane),
                second.var: binary("+", begin[second.var], lower),
            }

        parts: list[Stmt] = []
        for number in range(_ROWS):
            values = step(number, other, inner, at)
            low = binary("+", row, IntImm(number * WARP // _ROWS))
            stored = BufferStore(tile, (low, lane), substitute(load, values))
            parts.append(_within(values, (other, inner), stored))
        parts.append(barrier())
        for number in range(_ROWS):
            values = step(number, inner, other, at)
            low = binary("+", row, IntImm(number * WARP // _ROWS))
            value = _put(stage.value, load, BufferLoad(tile, (lane, low)))
            store = finish(Stage(stage.axes, stage.target, stage.indices, value), IntImm(0), values)
            parts.append(_within(values, (inner, other), store))
        return Seq(tuple(parts))

    return launch(count(tiles), [WARP, WARP // _ROWS], body, shared=[tile])


def _put(value: PrimExpr, load: BufferLoad, other: PrimExpr) -> PrimExpr:
    """Return ``value`` with ``other`` in the place of ``load``."""
    return map_expr(value, lambda node: other if node == load else None)


def _within(values: Mapping[Var, PrimExpr], axes: tuple[Axis, ...], body: Stmt) -> Stmt:
    """Return ``body`` where tiles are within the tensor."""
    asked = [
        binary("<", values[axis.var], axis.extent)
        for axis in axes
        if static(axis.extent) is None or (static(axis.extent) or 0) % WARP
    ]
    return If(logical_and(*asked), body) if asked else body
