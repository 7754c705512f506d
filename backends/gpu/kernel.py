"""What kernels are built with: launches, positions, guards, sums over the threads of a warp."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from relay2relax.backends.c.stages import Axis, Stage, points
from relay2relax.tir.arith.simplify import ceiling, simplify
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import (
    BinaryOp,
    Buffer,
    BufferLoad,
    Call,
    IntImm,
    PrimExpr,
    StringImm,
    Var,
    binary,
    cast,
)
from relay2relax.tir.ir.stmt import Allocate, BufferStore, Evaluate, For, If, LoopKind, Seq, Stmt
from relay2relax.tir.ir.visit import substitute

WARP = 32
ZERO = IntImm(0)
# What threads of a warp hand each other.
SHUFFLED = frozenset({"float32", "float64", "int32", "int64", "uint32"})
# Of a loop that a compiler is not to unroll: it would read all tiles before it uses the first.
ROLLED: Mapping[str, bool] = {"disable_unroll": True}
FOLDED: Mapping[str, BinaryOp] = {"+": "+", "*": "*", "min": "min", "max": "max"}


def launch(
    blocks: PrimExpr,
    threads: Sequence[int],
    body: Callable[[Var, Sequence[Var]], Stmt],
    shared: Sequence[Buffer] = (),
    own: Sequence[Buffer] = (),
) -> Stmt:
    """Return a kernel of ``blocks`` with ``threads`` along x, y, …; ``shared`` is the memory of a
    block, ``own`` that of a thread.
    """
    block = Var("block")
    names = [Var(name) for name, _ in zip(("thread", "thread_y", "thread_z"), threads, strict=False)]
    stmt = body(block, names)
    for buffer in own:
        stmt = Allocate(buffer, stmt)
    for axis, var, count in zip("xyz", names, threads, strict=False):
        stmt = For(var, IntImm(count), stmt, LoopKind.THREAD, thread=f"threadIdx.{axis}")
    for buffer in shared:
        stmt = Allocate(buffer, stmt)
    return For(block, blocks, stmt, LoopKind.THREAD, thread="blockIdx.x")


def barrier() -> Stmt:
    """Return what all threads of a block wait for."""
    return Evaluate(Call("tvm_storage_sync", (StringImm("shared"),), "int32"))


def quotient(a: PrimExpr, b: int) -> PrimExpr:
    """Return ``a / b``, rounded up."""
    return ceiling(a, b)


def guarded(position: PrimExpr, extent: PrimExpr, step: int, body: Stmt) -> Stmt:
    """Return ``body`` where ``position`` lies below ``extent``; a multiple of ``step`` needs no
    question.
    """
    count = static(extent)
    return body if count is not None and count % step == 0 else If(binary("<", position, extent), body)


def unravel(position: PrimExpr, axes: Sequence[Axis]) -> dict[Var, PrimExpr]:
    """Return the place on each axis of a number of the points of all, the last axis innermost."""
    found: dict[Var, PrimExpr] = {}
    for number in range(len(axes) - 1, 0, -1):
        axis = axes[number]
        if axis.extent == IntImm(1):
            found[axis.var] = ZERO
            continue
        found[axis.var] = simplify(binary("%", position, axis.extent))
        position = simplify(binary("//", position, axis.extent))
    if axes:
        found[axes[0].var] = position
    return found


def count(axes: Sequence[Axis]) -> PrimExpr:
    """Return the number of points."""
    return points(axes)


def buffer(name: str, shape: Sequence[int], dtype: str, scope: str) -> Buffer:
    """Return a buffer of constant shape."""
    return Buffer(name, tuple(IntImm(extent) for extent in shape), dtype, scope)


def first(own: Buffer) -> BufferLoad:
    """Return the one element of a buffer."""
    return BufferLoad(own, (ZERO,))


def fold(own: Buffer, op: BinaryOp, value: PrimExpr) -> Stmt:
    """Return a statement that folds ``value`` into the one element of a buffer."""
    return BufferStore(own, (ZERO,), binary(op, first(own), value))


def across(own: Buffer, op: BinaryOp, threads: int = WARP) -> Stmt:
    """Return statements after which the one element of each thread is folded over ``threads``
    neighbours of a warp.
    """
    steps: list[Stmt] = []
    distance = threads // 2
    lanes = [IntImm(WARP, "int32"), IntImm(WARP, "int32")]
    while distance:
        mask = Call("tvm_warp_activemask", (), "uint32")
        other = Call("tvm_warp_shuffle_xor", (mask, first(own), IntImm(distance, "int32"), *lanes), own.dtype)
        steps.append(fold(own, op, other))
        distance //= 2
    return Seq(tuple(steps))


def finish(stage: Stage, result: PrimExpr, values: Mapping[Var, PrimExpr]) -> Stmt:
    """Return the store of what ``stage`` makes of the ``result`` of its reduction."""
    reduction = stage.reduction
    known = dict(values)
    if reduction is not None:
        known[reduction.result] = cast(reduction.result.dtype, result)
    return BufferStore(stage.target, (place(stage.indices[0], known),), substitute(stage.value, known))


def place(index: PrimExpr, values: Mapping[Var, PrimExpr]) -> PrimExpr:
    """Return an index at values of its variables, in canonical form."""
    return simplify(substitute(index, values))
