"""Kernels of stages by rows: a block has a row, and keeps in shared memory what stages hand on."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from relay2relax.backends.c.stages import Axis, Reduction, Rows, Stage
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
    guarded,
    launch,
    quotient,
    unravel,
)
from relay2relax.backends.gpu.reduction import lanes_of, one_result, ordered_axes, partial, together, unit_axis
from relay2relax.core.dtype import bits
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import For, If, Seq, Stmt
from relay2relax.tir.ir.visit import map_expr

_MOST_SHARED = 40 * 1024
_MOST_THREADS = 256


def by_rows(rows: Rows, stages: Sequence[Stage]) -> Stmt:
    """Return the kernel of flattened ``stages`` that run row by row."""
    own = {axis.var for axis in rows.axes}
    inner = [replace(stage, axes=tuple(axis for axis in stage.axes if axis.var not in own)) for stage in stages]
    axes = [axis for axis in rows.axes if axis.extent != IntImm(1)]
    still: dict[Var, PrimExpr] = {axis.var: ZERO for axis in rows.axes if axis not in axes}
    if not _fits(stages):
        return _one_thread(axes, still, inner)
    return _Block(axes, still, inner).kernel()


def _fits(stages: Sequence[Stage]) -> bool:
    """Whether a block can run the stages: their rows lie in shared memory, and warps can fold."""
    local = {stage.target for stage in stages if stage.target.scope == "local"}
    sizes = [static(extent) for own in local for extent in own.shape]
    if any(size is None for size in sizes):
        return False
    held = sum(math.prod(static(e) or 1 for e in own.shape) * max(bits(own.dtype), 8) // 8 for own in local)
    folds = [stage.reduction for stage in stages if stage.reduction is not None]
    return held <= _MOST_SHARED and all(one.op in FOLDED and one.result.dtype in SHUFFLED for one in folds)


class _Block:
    """A row by the threads of a block."""

    def __init__(self, axes: Sequence[Axis], still: dict[Var, PrimExpr], stages: Sequence[Stage]) -> None:
        self.axes = axes
        self.still = still
        local = dict.fromkeys(stage.target for stage in stages if stage.target.scope == "local")
        self.shared = {own: replace(own, scope="shared") for own in local}
        self.stages = [self.moved(stage) for stage in stages]
        longest = max(static(self.points(stage)) or _MOST_THREADS for stage in stages)
        self.threads = WARP
        while self.threads < min(longest, _MOST_THREADS):
            self.threads *= 2
        self.sums: dict[str, Buffer] = {}
        self.warps: dict[str, Buffer] = {}

    def points(self, stage: Stage) -> PrimExpr:
        inner = stage.reduction.axes if stage.reduction is not None and not stage.axes else stage.axes
        return count(inner)

    def moved(self, stage: Stage) -> Stage:
        """Return a stage whose row lies in shared memory."""

        def rewrite(node: PrimExpr) -> PrimExpr | None:
            if isinstance(node, BufferLoad) and node.buffer in self.shared:
                return BufferLoad(self.shared[node.buffer], tuple(map_expr(one, rewrite) for one in node.indices))
            return None

        reduction = stage.reduction
        if reduction is not None:
            reduction = replace(reduction, source=map_expr(reduction.source, rewrite),
                                identity=map_expr(reduction.identity, rewrite))  # fmt: skip
        target = self.shared.get(stage.target, stage.target)
        return Stage(stage.axes, target, stage.indices, map_expr(stage.value, rewrite), reduction)

    def kernel(self) -> Stmt:
        for stage in self.stages:
            if stage.reduction is not None:
                dtype = stage.reduction.result.dtype
                self.sums.setdefault(dtype, buffer("sum", (1,), dtype, "local"))
                self.warps.setdefault(dtype, buffer("warps", (_MOST_THREADS // WARP,), dtype, "shared"))

        def body(block: Var, names: Sequence[Var]) -> Stmt:
            row = {**unravel(block, self.axes), **self.still}
            parts: list[Stmt] = []
            for stage in self.stages:
                parts += [self.stage(stage, row, names[0]), barrier()]
            return Seq(tuple(parts[:-1]))

        used = [*self.shared.values(), *(self.warps.values() if self.threads > WARP else ())]
        return launch(count(self.axes), [self.threads], body, shared=used, own=[*self.sums.values()])

    def stage(self, stage: Stage, row: dict[Var, PrimExpr], lane: Var) -> Stmt:
        reduction = stage.reduction
        if reduction is not None and not stage.axes:
            sum_, warps = self.sums[reduction.result.dtype], self.warps[reduction.result.dtype]
            return Seq(
                (
                    partial(reduction, row, sum_, lane, self.threads),
                    together(reduction, sum_, warps, lane, self.threads),
                    If(binary("==", lane, ZERO), finish(stage, first(sum_), row)),
                )
            )
        axes = ordered_axes(stage)
        points = count(axes)
        step = Var("step")
        if reduction is not None and self.by_warps(stage):
            return self.results_by_warps(stage, reduction, row, lane)
        position = binary("+", binary("*", step, IntImm(self.threads)), lane)
        values = {**row, **unravel(position, axes)}
        if reduction is None:
            one = finish(stage, ZERO, values)
        else:
            one = one_result(stage, reduction, values, self.sums[reduction.result.dtype])
        return For(step, quotient(points, self.threads), guarded(position, points, self.threads, one))

    def by_warps(self, stage: Stage) -> bool:
        """Whether threads of a warp compute a result together: operands lie along its terms."""
        reduction = stage.reduction
        assert reduction is not None
        return (static(count(reduction.axes)) or 0) > 1 and unit_axis(stage) is not None

    def results_by_warps(self, stage: Stage, reduction: Reduction, row: dict[Var, PrimExpr], lane: Var) -> Stmt:
        """Return the kernel's part in which warps, or parts of them, take results in turn."""
        lanes = lanes_of(reduction)
        axes, step, warps = ordered_axes(stage), Var("step"), self.threads // lanes
        inner = unit_axis(stage)
        own = replace(
            reduction, axes=(*(one for one in reduction.axes if one is not inner), *((inner,) if inner else ()))
        )
        position = binary("+", binary("*", step, IntImm(warps)), binary("//", lane, IntImm(lanes)))
        values, sum_ = {**row, **unravel(position, axes)}, self.sums[reduction.result.dtype]
        within = binary("%", lane, IntImm(lanes))
        parts = Seq(
            (
                partial(own, values, sum_, within, lanes),
                across(sum_, FOLDED[own.op], lanes),
                If(binary("==", within, ZERO), finish(stage, first(sum_), values)),
            )
        )
        total = count(axes)
        return For(step, quotient(total, warps), guarded(position, total, warps, parts))


def _one_thread(axes: Sequence[Axis], still: dict[Var, PrimExpr], stages: Sequence[Stage]) -> Stmt:
    """Return a kernel in which a thread has a row."""
    total, threads = count(axes), WARP
    local = dict.fromkeys(stage.target for stage in stages if stage.target.scope == "local")
    sums: dict[str, Buffer] = {}
    for stage in stages:
        if stage.reduction is not None:
            dtype = stage.reduction.result.dtype
            sums.setdefault(dtype, buffer("sum", (1,), dtype, "local"))

    def body(block: Var, names: Sequence[Var]) -> Stmt:
        position = binary("+", binary("*", block, IntImm(threads)), names[0])
        row = {**unravel(position, axes), **still}
        parts: list[Stmt] = []
        for stage in stages:
            renamed = [Axis(Var(axis.var.name), axis.extent) for axis in stage.axes]
            values = {**row, **{old.var: new.var for old, new in zip(stage.axes, renamed, strict=True)}}
            reduction = stage.reduction
            one = (
                finish(stage, ZERO, values)
                if reduction is None
                else one_result(stage, reduction, values, sums[reduction.result.dtype])
            )
            for axis in reversed(renamed):
                one = For(axis.var, axis.extent, one)
            parts.append(one)
        return guarded(position, total, threads, Seq(tuple(parts)))

    return launch(quotient(total, threads), [threads], body, own=[*local, *sums.values()])
