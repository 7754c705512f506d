"""Kernels of reductions: a thread, a warp or a block for each result, by how operands lie."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.schedule.elementwise import collapse, innermost
from relay2relax.backends.c.schedule.loops import serial
from relay2relax.backends.c.stages import Axis, Reduction, Stage
from relay2relax.backends.gpu.kernel import (
    FOLDED,
    SHUFFLED,
    WARP,
    ZERO,
    across,
    barrier,
    buffer,
    count,
    finish,
    first,
    fold,
    guarded,
    launch,
    quotient,
    unravel,
)
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BufferStore, For, If, Seq, Stmt
from relay2relax.tir.ir.visit import loads, substitute

# Fewer terms are one thread's; more for so few results are a block's.
_SHORT = WARP
_LONG = 2048
_FEW_RESULTS = 1024
_ENOUGH_RESULTS = 1 << 14
_ROWS = 4
_BLOCK = 256
_PARTS = 8


def reduction(stage: Stage) -> Stmt:
    """Return the kernel of a flattened stage with a reduction."""
    stage = collapse(stage)
    own = stage.reduction
    assert own is not None
    results, terms = static(count(stage.axes)), static(count(own.axes))
    short = terms is not None and terms < _SHORT
    shared = own.op in FOLDED and own.result.dtype in SHUFFLED
    inner = unit_axis(stage)
    if not shared or (short and inner is None):
        return by_threads(stage)
    if inner is not None:
        ordered = (*(axis for axis in own.axes if axis is not inner), inner)
        stage = Stage(stage.axes, stage.target, stage.indices, stage.value, _with(own, ordered))
        few = results is not None and results <= _FEW_RESULTS
        return by_blocks(stage) if few and (terms is None or terms >= _LONG) else by_warps(stage)
    if results is not None and results < _ENOUGH_RESULTS and stage.axes:
        return by_columns(stage)
    return by_threads(stage)


def _with(own: Reduction, axes: Sequence[Axis]) -> Reduction:
    return Reduction(tuple(axes), own.op, own.identity, own.source, own.result)


def unit_axis(stage: Stage) -> Axis | None:
    """Return the reduced axis along which operands lie, where there is one.

    A few terms are worth it only where those of the next result follow: in windows that overlap a
    thread has a result.
    """
    own = stage.reduction
    assert own is not None
    found = [load.indices[0] for load in loads(own.source) if not loads(load.indices[0])]
    terms = static(count(own.axes))
    least = 2 if terms is not None and terms < _SHORT else _PARTS
    for axis in reversed(own.axes):
        extent = static(axis.extent) or WARP
        strides = [coefficient(index, axis.var) for index in found]
        if extent < least or not all(stride in (0, 1) for stride in strides) or 1 not in strides:
            continue
        along = [index for index, stride in zip(found, strides, strict=True) if stride == 1]
        beside = [coefficient(index, other.var) for index in along for other in stage.axes]
        if extent >= _PARTS or all(one == 0 or (one is not None and one >= extent) for one in beside):
            return axis
    return None


def lanes_of(own: Reduction) -> int:
    """Return how many threads of a warp compute a result together: a power of two, and no more than
    there are terms but for that.
    """
    terms, lanes = static(count(own.axes)), WARP
    while terms is not None and lanes // 2 >= terms:
        lanes //= 2
    return lanes


def ordered_axes(stage: Stage) -> tuple[Axis, ...]:
    """Return the axes of a stage, the one along which it stores last."""
    if not stage.axes:
        return ()
    inner = innermost(stage)
    return (*(axis for axis in stage.axes if axis is not inner), inner)


def by_threads(stage: Stage) -> Stmt:
    """Return a kernel in which a thread computes a result."""
    own = stage.reduction
    assert own is not None
    axes = ordered_axes(stage)
    total = count(axes)
    threads = 128
    sum_ = buffer("sum", (1,), own.result.dtype, "local")

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        position = binary("+", binary("*", block, IntImm(threads)), names[0])
        return guarded(position, total, threads, one_result(stage, own, unravel(position, axes), sum_))

    return launch(quotient(total, threads), [threads], body, own=[sum_])


def one_result(stage: Stage, own: Reduction, values: dict[Var, PrimExpr], sum_: Buffer) -> Stmt:
    """Return what a thread does for a result of its own."""
    renamed = [Axis(Var(axis.var.name), axis.extent) for axis in own.axes]
    known = {**values, **{old.var: new.var for old, new in zip(own.axes, renamed, strict=True)}}
    update = fold(sum_, own.op, substitute(own.source, known))
    return Seq(
        (
            BufferStore(sum_, (ZERO,), substitute(own.identity, values)),
            serial(renamed, update),
            finish(stage, first(sum_), values),
        )
    )


def partial(own: Reduction, values: dict[Var, PrimExpr], sum_: Buffer, lane: PrimExpr, threads: int) -> Stmt:
    """Return what a thread folds of a result that ``threads`` compute together."""
    terms = count(own.axes)
    step = Var("step")
    position = binary("+", binary("*", step, IntImm(threads)), lane)
    update = fold(sum_, own.op, substitute(own.source, {**values, **unravel(position, own.axes)}))
    return Seq(
        (
            BufferStore(sum_, (ZERO,), substitute(own.identity, values)),
            For(step, quotient(terms, threads), guarded(position, terms, threads, update)),
        )
    )


def by_warps(stage: Stage) -> Stmt:
    """Return a kernel in which a warp computes a result, or a part of one where there are few
    terms.
    """
    own = stage.reduction
    assert own is not None
    axes = ordered_axes(stage)
    total = count(axes)
    lanes = lanes_of(own)
    rows = _ROWS * WARP // lanes
    sum_ = buffer("sum", (1,), own.result.dtype, "local")

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        lane, row = names
        position = binary("+", binary("*", block, IntImm(rows)), row)
        values = unravel(position, axes)
        parts = Seq(
            (
                partial(own, values, sum_, lane, lanes),
                across(sum_, FOLDED[own.op], lanes),
                If(binary("==", lane, ZERO), finish(stage, first(sum_), values)),
            )
        )
        return guarded(position, total, rows, parts)

    return launch(quotient(total, rows), [lanes, rows], body, own=[sum_])


def together(own: Reduction, sum_: Buffer, stage_: Buffer, lane: PrimExpr, threads: int) -> Stmt:
    """Return statements after which every thread of a block has the fold of all of them."""
    warp = binary("//", lane, IntImm(WARP))
    steps: list[Stmt] = [across(sum_, FOLDED[own.op])]
    if threads > WARP:
        steps += [
            If(binary("==", binary("%", lane, IntImm(WARP)), ZERO), BufferStore(stage_, (warp,), first(sum_))),
            barrier(),
            BufferStore(sum_, (ZERO,), BufferLoad(stage_, (ZERO,))),
        ]
        steps += [fold(sum_, own.op, BufferLoad(stage_, (IntImm(number),))) for number in range(1, threads // WARP)]
    return Seq(tuple(steps))


def by_blocks(stage: Stage) -> Stmt:
    """Return a kernel in which a block computes a result."""
    own = stage.reduction
    assert own is not None
    axes = ordered_axes(stage)
    sum_ = buffer("sum", (1,), own.result.dtype, "local")
    warps = buffer("warps", (_BLOCK // WARP,), own.result.dtype, "shared")

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        values = unravel(block, axes)
        return Seq(
            (
                partial(own, values, sum_, names[0], _BLOCK),
                together(own, sum_, warps, names[0], _BLOCK),
                If(binary("==", names[0], ZERO), finish(stage, first(sum_), values)),
            )
        )

    return launch(count(axes), [_BLOCK], body, shared=[warps], own=[sum_])


def by_columns(stage: Stage) -> Stmt:
    """Return a kernel in which a column of threads computes a result: neighbours have neighbouring
    results.
    """
    own = stage.reduction
    assert own is not None
    axes = ordered_axes(stage)
    total = count(axes)
    sum_ = buffer("sum", (1,), own.result.dtype, "local")
    parts = buffer("parts", (_PARTS, WARP), own.result.dtype, "shared")

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        lane, row = names
        position = binary("+", binary("*", block, IntImm(WARP)), lane)
        values = unravel(position, axes)
        folds = [fold(sum_, own.op, BufferLoad(parts, (IntImm(number), lane))) for number in range(1, _PARTS)]
        store = Seq((*folds, finish(stage, first(sum_), values)))
        return Seq(
            (
                guarded(position, total, WARP, Seq((
                    partial(own, values, sum_, row, _PARTS),
                    BufferStore(parts, (row, lane), first(sum_)),
                ))),
                barrier(),
                If(binary("==", row, ZERO), guarded(position, total, WARP, store)),
            )
        )  # fmt: skip

    return launch(quotient(total, WARP), [WARP, _PARTS], body, shared=[parts], own=[sum_])
