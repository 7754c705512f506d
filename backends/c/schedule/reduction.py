"""The schedule of reductions that are no sums of products: accumulators next to the processor,
loops around them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.fusion.cost import effort
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.elementwise import innermost
from relay2relax.backends.c.schedule.loops import block, local, parallel, put, serial, unrolled, vectorized
from relay2relax.backends.c.stages import Axis, Reduction, Stage
from relay2relax.core.dtype import is_float
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    Binary,
    Buffer,
    BufferLoad,
    FloatImm,
    IntImm,
    PrimExpr,
    Var,
    binary,
    if_then_else,
    logical_and,
)
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import BufferStore, For, Stmt
from relay2relax.tir.ir.visit import loads

# So many vectors are accumulated side by side at most.
_MOST_SUMS = 4
# The intrinsic that folds the lanes of a vector.
_ACROSS = {"+": "vector_sum", "min": "vector_min", "max": "vector_max"}
_FIRST = IntImm(0)
# Accumulators of one row that stay in the nearest cache.
_LONGEST_ROW = 256


def schedule_reduction(stage: Stage, machine: Machine) -> Stmt:
    """Return the loops of a flattened stage with a reduction of any kind."""
    reduction = stage.reduction
    assert reduction is not None
    work = effort(stage)
    run = _unit_axis(reduction)
    if run is not None:
        extent = static(run.extent)
        few = extent is not None and extent < machine.lanes(reduction.result.dtype)
        body = _scalar(stage, reduction) if few else _lanes(stage, reduction, run, machine)
        return parallel(stage.axes, body, work, machine.parallel_work)
    if stage.axes:
        inner = innermost(stage)
        length = static(inner.extent)
        if length is not None and 4 <= length <= _LONGEST_ROW:
            outer = [axis for axis in stage.axes if axis is not inner]
            return parallel(outer, _row(stage, reduction, inner, length), work, machine.parallel_work)
    return parallel(stage.axes, _scalar(stage, reduction), work, machine.parallel_work)


def _unit_axis(reduction: Reduction) -> Axis | None:
    """Return the reduced axis along which the source reads neighbouring places, where there is one
    that is long.
    """
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
    """Accumulate along neighbouring places in several lanes, which are folded at the end.

    What the code for vectors has a form for is accumulated in registers, in several so that none
    waits for another.
    """
    dtype = reduction.result.dtype
    lanes, extent = machine.lanes(dtype), static(run.extent)
    in_registers = lanes > 1 and reduction.op in _ACROSS and _is_vector(reduction.source, run, dtype)
    count = _MOST_SUMS if in_registers else 1
    while count > 1 and extent is not None and extent < 2 * count * lanes:
        count //= 2
    return local(dtype, [1], "local", _InLanes(stage, reduction, run, lanes, count, in_registers).body)


@dataclass(frozen=True, slots=True)
class _InLanes:
    """A reduction along ``run`` in ``count`` vectors of ``lanes`` lanes."""

    stage: Stage
    reduction: Reduction
    run: Axis
    lanes: int
    count: int
    in_registers: bool

    def body(self, total: Buffer) -> Stmt:
        """Return the whole, given memory for its result."""
        scope = "register" if self.in_registers else "local"
        shape = [self.count, self.lanes]
        return block(
            BufferStore(total, (_FIRST,), self.reduction.identity),
            local(self.reduction.result.dtype, shape, scope, lambda acc: self._accumulated(acc, total)),
            _finish(self.stage, _last(self.reduction, BufferLoad(total, (_FIRST,)))),
        )

    def _folded(self, acc: Buffer, place: tuple[PrimExpr, ...], value: PrimExpr) -> Stmt:
        held = BufferLoad(acc, place)
        # A NaN does not get past a comparison on the left; the order of elements is not kept, see
        # _last.
        pair = (value, held) if self.reduction.op in ("min", "max") else (held, value)
        return BufferStore(acc, place, binary(self.reduction.op, *pair))

    def _source(self, step: PrimExpr, size: int, offset: PrimExpr) -> PrimExpr:
        return put(self.reduction.source, {self.run.var: binary("+", binary("*", step, IntImm(size)), offset)})

    def _accumulated(self, acc: Buffer, total: Buffer) -> Stmt:
        """Return the loops that accumulate in ``acc``, and what folds that into ``total``."""
        count, lanes = self.count, self.lanes

        def each(change: Callable[[PrimExpr, PrimExpr], Stmt]) -> Stmt:
            return unrolled(count, lambda u: vectorized(lanes, lambda lane: change(u, lane)))

        others = [axis for axis in self.reduction.axes if axis is not self.run]
        return block(
            each(lambda u, lane: BufferStore(acc, (u, lane), self.reduction.identity)),
            serial(others, block(*self._along(acc, total, each))),
            *(self._onto_first(acc, IntImm(u), IntImm(0), lanes) for u in range(1, count)),
            *([] if self.in_registers else self._halves(acc)),
            self._folded(total, (_FIRST,), self._across(acc)),
        )

    def _along(
        self, acc: Buffer, total: Buffer, each: Callable[[Callable[[PrimExpr, PrimExpr], Stmt]], Stmt]
    ) -> Iterator[Stmt]:
        """Yield the loops along ``run``: by all vectors, by one, and by single elements."""
        count, lanes, extent = self.count, self.lanes, self.run.extent
        whole, vectors = (simplify(binary("//", extent, IntImm(size))) for size in (count * lanes, lanes))
        left = simplify(binary("-", vectors, binary("*", whole, IntImm(count))))
        rest = simplify(binary("%", extent, IntImm(lanes)))
        step, after, last = Var("k"), Var("k"), Var("k")

        def update(u: PrimExpr, lane: PrimExpr) -> Stmt:
            offset = binary("+", binary("*", u, IntImm(lanes)), lane)
            return self._folded(acc, (u, lane), self._source(step, count * lanes, offset))

        def further(lane: PrimExpr) -> Stmt:
            number = binary("+", binary("*", whole, IntImm(count)), after)
            return self._folded(acc, (_FIRST, lane), self._source(number, lanes, lane))

        yield For(step, whole, each(update))
        if left != IntImm(0):
            yield For(after, left, vectorized(lanes, further))
        if rest != IntImm(0):
            yield For(last, rest, self._folded(total, (_FIRST,), self._source(vectors, lanes, last)))

    def _onto_first(self, acc: Buffer, register: PrimExpr, begin: PrimExpr, width: int) -> Stmt:
        """Return what folds elements of a vector onto the first one's."""

        def fold(lane: PrimExpr) -> Stmt:
            return self._folded(acc, (_FIRST, lane), BufferLoad(acc, (register, binary("+", lane, begin))))

        return vectorized(width, fold)

    def _halves(self, acc: Buffer) -> Iterator[Stmt]:
        width = self.lanes
        while width > 1:
            width //= 2
            yield self._onto_first(acc, _FIRST, IntImm(width), width)

    def _across(self, acc: Buffer) -> PrimExpr:
        load = BufferLoad(acc, (_FIRST, _FIRST))
        return call(_ACROSS[self.reduction.op], load, dtype=load.dtype) if self.in_registers else load


def _is_vector(expr: PrimExpr, run: Axis, dtype: str) -> bool:
    """Whether the code for vectors has a form for ``expr`` along ``run``."""
    match expr:
        case BufferLoad(_, (index,)):
            same = expr.dtype == dtype and dtype in ("float32", "float64")
            return same and not loads(index) and coefficient(index, run.var) in (0, 1)
        case Binary("+" | "-" | "*" | "/" | "min" | "max", a, b):
            return _is_vector(a, run, dtype) and _is_vector(b, run, dtype)
    return isinstance(expr, FloatImm)


def _last(reduction: Reduction, result: PrimExpr) -> PrimExpr:
    """Return ``result``, or the last element where comparing one by one would end with it: where it
    is NaN.
    """
    if reduction.op not in ("min", "max") or not is_float(result.dtype):
        return result
    last = put(reduction.source, {axis.var: binary("-", axis.extent, 1) for axis in reduction.axes})
    found = if_then_else(call("isnan", last, dtype="bool"), last, result)
    present = [binary(">", axis.extent, 0) for axis in reduction.axes if static(axis.extent) is None]
    return if_then_else(logical_and(*present), found, result)
