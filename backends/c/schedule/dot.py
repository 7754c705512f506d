"""Sums of products whose own sum is split over the lanes, as that of two neighbouring rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from relay2relax.backends.c.access import clamp_start, coefficient
from relay2relax.backends.c.machine import Machine
from relay2relax.backends.c.schedule.loops import at, block, local, parallel, put, serial, unrolled, vectorized
from relay2relax.backends.c.schedule.product import FASTER, can_pack, stride, vector_width
from relay2relax.backends.c.stages import Axis, Reduction, Stage, points
from relay2relax.tir.arith.simplify import ceiling, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary, const
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import BufferStore, For, LoopKind, Stmt


def dot_axis(stage: Stage, a: BufferLoad, b: BufferLoad) -> Axis | None:
    reduction = stage.reduction
    assert reduction is not None
    for axis in reversed(reduction.axes):
        if stride(a, axis) == 1 and stride(b, axis) == 1 and (static(axis.extent) or 8) >= 8:
            return axis
    return None


def run_axis(stage: Stage, a: BufferLoad, b: BufferLoad) -> Axis | None:
    """Return a reduced axis of neighbouring places in ``a`` along which ``b``, packed anew, could
    have them, too.
    """
    reduction = stage.reduction
    assert reduction is not None
    if not can_pack(stage, b):
        return None
    for axis in reduction.axes:
        if stride(a, axis) == 1 and stride(b, axis) and (static(axis.extent) or 0) >= 8:
            return axis
    return None


def turned_factor(stage: Stage, load: BufferLoad, run: Axis, machine: Machine) -> tuple[BufferLoad, Stmt]:
    """Return a load from a copy in which ``run`` is the innermost dimension, and the stage that
    makes the copy.
    """
    reduction = stage.reduction
    assert reduction is not None
    axes = [axis for axis in (*stage.axes, *reduction.axes) if axis is not run and stride(load, axis) != 0]
    place: PrimExpr = IntImm(0)
    for axis in (*axes, run):
        place = binary("+", binary("*", place, axis.extent), axis.var)
    size = points([*axes, run])
    turned = BufferLoad(Buffer("turned", (size,), load.dtype), (simplify(place),))
    return turned, parallel([*axes, run], BufferStore(turned.buffer, turned.indices, load), size, machine.parallel_work)


def split_over_lanes(
    stage: Stage, a: BufferLoad, b: BufferLoad, run: Axis, machine: Machine, around: frozenset[Var] = frozenset()
) -> Stmt:
    """Return the schedule in which the lanes share out the reduced axis ``run``."""
    reduction = stage.reduction
    assert reduction is not None
    stage = replace(stage, axes=tuple(axis for axis in stage.axes if axis.var not in around))
    dtype = reduction.result.dtype
    lanes = vector_width(static(run.extent) or machine.lanes(dtype), machine.lanes(dtype))
    columns = _longest(stage, b, a) or _longest(stage, a, b)
    count = static(columns.extent) if columns is not None else 1
    size = min(8, count) if count is not None else 1
    beside = _beside(stage, columns)
    rows = 1 if beside is None else machine.lanes(dtype)
    axes = [axis for axis in stage.axes if axis is not beside and (axis is not columns or size == 1)]
    start: dict[Var, PrimExpr] = {}
    first: dict[Var, PrimExpr] = {}
    for axis, count, begins in ((beside, rows, first), (columns, size, start)):
        if axis is not None and count > 1:
            step = Var("tile")
            begins[axis.var] = clamp_start(step, count, axis.extent)
            axes.append(Axis(step, ceiling(axis.extent, count)))
    body = _Dot(stage, reduction, a, b, run, lanes, size, start, rows, first).body()
    work = simplify(binary("//", points([*stage.axes, *reduction.axes]), IntImm(FASTER)))
    return parallel(axes, body, work, None if around else machine.parallel_work)


@dataclass(frozen=True, slots=True)
class _Dot:
    """``size`` sums of ``a * b`` at once, each in ``lanes`` lanes along ``run``; so for ``rows``
    rows one after the other, before all are stored.

    ``start`` and ``first`` say with which column and row they begin, by the axis' variable, if
    there are any.
    """

    stage: Stage
    reduction: Reduction
    a: BufferLoad
    b: BufferLoad
    run: Axis
    lanes: int
    size: int
    start: Mapping[Var, PrimExpr]
    rows: int
    first: Mapping[Var, PrimExpr]

    def body(self) -> Stmt:
        """Return the sums and what the stage makes of them."""
        row, column = Var("row"), Var("column")

        def with_sums(sums: Buffer) -> Stmt:
            made = self._sums(sums, row)
            if self.rows == 1:
                made, stores = at(made, row, IntImm(0)), self._store(IntImm(0), column, sums)
            else:
                made = For(row, IntImm(self.rows), made, LoopKind.SERIAL)
                stores = vectorized(self.rows, lambda t: self._store(t, column, sums))
            return block(made, For(column, IntImm(self.size), stores, LoopKind.SERIAL))

        return local(self.reduction.result.dtype, [self.size, self.rows], "local", with_sums)

    def _place(self, t: PrimExpr, u: PrimExpr) -> dict[Var, PrimExpr]:
        """Return what the variables of row ``t`` and column ``u`` are."""
        rows = {var: binary("+", first, t) for var, first in self.first.items()}
        return rows | {var: binary("+", start, u) for var, start in self.start.items()}

    def _product(self, place: PrimExpr, t: PrimExpr, u: PrimExpr) -> PrimExpr:
        """Return the factors' product at a place along ``run``, for row ``t`` and column ``u``."""
        values = {self.run.var: place, **self._place(t, u)}
        return binary("*", put(self.a, values), put(self.b, values))

    def _outer(self, body: Stmt) -> Stmt:
        return serial([axis for axis in self.reduction.axes if axis is not self.run], body)

    def _sums(self, sums: Buffer, t: PrimExpr) -> Stmt:
        """Return what leaves the sums of row ``t`` in ``sums``."""
        dtype, extent = self.reduction.result.dtype, self.run.extent
        whole = simplify(binary("//", extent, IntImm(self.lanes)))
        rest = simplify(binary("%", extent, IntImm(self.lanes)))
        shape = [self.size, self.lanes]
        registers = local(dtype, shape, "register", lambda acc: self._in_lanes(acc, sums, t, whole))
        if rest == IntImm(0):
            return registers
        last = Var("k")

        def tail(u: PrimExpr) -> Stmt:
            product = self._product(binary("+", binary("*", whole, IntImm(self.lanes)), last), t, u)
            return BufferStore(sums, (u, t), binary("+", BufferLoad(sums, (u, t)), product))

        return block(registers, self._outer(For(last, rest, unrolled(self.size, tail), LoopKind.SERIAL)))

    def _in_lanes(self, acc: Buffer, sums: Buffer, t: PrimExpr, whole: PrimExpr) -> Stmt:
        """Return what sums up whole vectors in ``acc``, and the lanes of that in ``sums``."""
        dtype, k = self.reduction.result.dtype, Var("k")

        def update(u: PrimExpr, lane: PrimExpr) -> Stmt:
            product = self._product(binary("+", binary("*", k, IntImm(self.lanes)), lane), t, u)
            return BufferStore(acc, (u, lane), binary("+", BufferLoad(acc, (u, lane)), product))

        def each(change: Callable[[PrimExpr, PrimExpr], Stmt]) -> Stmt:
            return unrolled(self.size, lambda u: vectorized(self.lanes, lambda lane: change(u, lane)))

        def total(u: PrimExpr) -> Stmt:
            return BufferStore(sums, (u, t), call("vector_sum", BufferLoad(acc, (u, IntImm(0))), dtype=dtype))

        return block(
            each(lambda u, lane: BufferStore(acc, (u, lane), const(0, dtype))),
            self._outer(For(k, whole, each(update), LoopKind.SERIAL)),
            unrolled(self.size, total),
        )

    def _store(self, t: PrimExpr, u: PrimExpr, sums: Buffer) -> Stmt:
        values = {**self._place(t, u), self.reduction.result: BufferLoad(sums, (u, t))}
        return BufferStore(self.stage.target, (put(self.stage.indices[0], values),), put(self.stage.value, values))


def _beside(stage: Stage, columns: Axis | None) -> Axis | None:
    """Return an axis that is not the columns' own, and along which results lie beside each other:
    what is made of a vector of sums is made at once.
    """
    for axis in stage.axes:
        if axis is not columns and coefficient(stage.indices[0], axis.var) == 1 and (static(axis.extent) or 0) >= 16:
            return axis
    return None


def _longest(stage: Stage, moving: BufferLoad, still: BufferLoad) -> Axis | None:
    """Return the longest axis along which only one factor moves, so that the other is read once for
    several sums.
    """
    found = [
        axis
        for axis in stage.axes
        if static(axis.extent) is not None and stride(still, axis) == 0 and stride(moving, axis) is not None
    ]
    return max(found, key=lambda axis: static(axis.extent) or 0, default=None)
