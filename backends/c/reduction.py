"""The schedule of reductions that are no sums of products: accumulators next to the processor, loops around them."""

from __future__ import annotations

from collections.abc import Mapping

from relay2relax.backends.c.elementwise import innermost
from relay2relax.backends.c.fusion import cost
from relay2relax.backends.c.loops import block, coefficient, local, parallel, put, serial, static, vectorized
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.stages import Axis, Reduction, Stage, points
from relay2relax.core.dtype import is_float
from relay2relax.tir.arith import simplify
from relay2relax.tir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary, if_then_else, logical_and
from relay2relax.tir.intrinsics import call
from relay2relax.tir.stmt import BufferStore, For, LoopKind, Stmt
from relay2relax.tir.visit import loads

# Accumulators of one row that stay in the nearest cache.
_LONGEST_ROW = 256


def schedule_reduction(stage: Stage, machine: Machine) -> Stmt:
    """Return the loops of a flattened stage with a reduction of any kind."""
    reduction = stage.reduction
    assert reduction is not None
    work = binary(
        "*",
        points([*stage.axes, *reduction.axes]),
        IntImm(1 + cost(reduction.source)),
    )
    run = _unit_axis(reduction)
    if run is not None:
        body = _lanes(stage, reduction, run, machine)
        return parallel(stage.axes, body, simplify(work), machine.parallel_work)
    if stage.axes:
        inner = innermost(stage)
        length = static(inner.extent)
        if length is not None and 4 <= length <= _LONGEST_ROW:
            outer = [axis for axis in stage.axes if axis is not inner]
            return parallel(outer, _row(stage, reduction, inner, length), simplify(work), machine.parallel_work)
    return parallel(stage.axes, _scalar(stage, reduction), simplify(work), machine.parallel_work)


def _unit_axis(reduction: Reduction) -> Axis | None:
    """Return the reduced axis along which the source reads neighbouring places, where there is one that is long."""
    found = loads(reduction.source)
    for axis in reversed(reduction.axes):
        extent = static(axis.extent)
        if extent is not None and extent < 8:
            continue
        strides = [coefficient(load.indices[0], axis.var) for load in found if not loads(load.indices[0])]
        if len(strides) == len(found) and all(stride in (0, 1) for stride in strides) and 1 in strides:
            return axis
    return None


def _finish(stage: Stage, result: PrimExpr, values: Mapping[Var, PrimExpr] | None = None) -> Stmt:
    """Return the store of what the stage makes of ``result``."""
    assert stage.reduction is not None
    known = {**(values or {}), stage.reduction.result: result}
    return BufferStore(stage.target, (put(stage.indices[0], known),), put(stage.value, known))


def _scalar(stage: Stage, reduction: Reduction) -> Stmt:
    def body(acc: Buffer) -> Stmt:
        place = (IntImm(0),)
        update = BufferStore(acc, place, binary(reduction.op, BufferLoad(acc, place), reduction.source))
        return block(
            BufferStore(acc, place, reduction.identity),
            serial(reduction.axes, update),
            _finish(stage, BufferLoad(acc, place)),
        )

    return local(reduction.result.dtype, [1], "local", body)


def _row(stage: Stage, reduction: Reduction, inner: Axis, length: int) -> Stmt:
    """Accumulate a whole row at once: the reduction's loops run around the row."""

    def body(acc: Buffer) -> Stmt:
        def update(i: PrimExpr) -> Stmt:
            source = put(reduction.source, {inner.var: i})
            return BufferStore(acc, (i,), binary(reduction.op, BufferLoad(acc, (i,)), source))

        def start(i: PrimExpr) -> Stmt:
            return BufferStore(acc, (i,), put(reduction.identity, {inner.var: i}))

        return block(
            vectorized(length, start),
            serial(reduction.axes, vectorized(length, update)),
            vectorized(length, lambda i: _finish(stage, BufferLoad(acc, (i,)), {inner.var: i})),
        )

    return local(reduction.result.dtype, [length], "local", body)


def _lanes(stage: Stage, reduction: Reduction, run: Axis, machine: Machine) -> Stmt:
    """Accumulate along neighbouring places in several lanes, which are folded at the end."""
    lanes = machine.lanes(reduction.result.dtype)
    others = [axis for axis in reduction.axes if axis is not run]
    whole = simplify(binary("//", run.extent, IntImm(lanes)))
    rest = simplify(binary("%", run.extent, IntImm(lanes)))
    dtype = reduction.result.dtype

    def folded(acc: Buffer, place: PrimExpr, value: PrimExpr) -> Stmt:
        held = BufferLoad(acc, (place,))
        # A NaN does not get past a comparison on the left; the order of elements is not kept, see _last.
        pair = (value, held) if reduction.op in ("min", "max") else (held, value)
        return BufferStore(acc, (place,), binary(reduction.op, *pair))

    def body(acc: Buffer) -> Stmt:
        step = Var("k")

        def update(lane: PrimExpr) -> Stmt:
            k = binary("+", binary("*", step, IntImm(lanes)), lane)
            return folded(acc, lane, put(reduction.source, {run.var: k}))

        def tail(lane: PrimExpr) -> Stmt:
            k = binary("+", binary("*", whole, IntImm(lanes)), lane)
            return folded(acc, IntImm(0), put(reduction.source, {run.var: k}))

        inner = [For(step, whole, vectorized(lanes, update), LoopKind.SERIAL)]
        if rest != IntImm(0):
            remaining = Var("k")
            inner.append(For(remaining, rest, tail(remaining), LoopKind.SERIAL))
        halves: list[Stmt] = []
        width = lanes
        while width > 1:
            width //= 2
            fold = [(lambda lane, w=width: folded(acc, lane, BufferLoad(acc, (binary("+", lane, IntImm(w)),))))][0]
            halves.append(vectorized(width, fold))
        return block(
            vectorized(lanes, lambda lane: BufferStore(acc, (lane,), reduction.identity)),
            serial(others, block(*inner)),
            *halves,
            _finish(stage, _last(reduction, BufferLoad(acc, (IntImm(0),)))),
        )

    return local(dtype, [lanes], "local", body)


def _last(reduction: Reduction, result: PrimExpr) -> PrimExpr:
    """Return ``result``, or the last element where comparing one by one would end with it: where it is NaN."""
    if reduction.op not in ("min", "max") or not is_float(result.dtype):
        return result
    last = put(reduction.source, {axis.var: binary("-", axis.extent, 1) for axis in reduction.axes})
    found = if_then_else(call("isnan", last, dtype="bool"), last, result)
    present = [binary(">", axis.extent, 0) for axis in reduction.axes if static(axis.extent) is None]
    return if_then_else(logical_and(*present), found, result)
