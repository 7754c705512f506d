"""Where elements lie in memory.

PrimFuncs that only copy their input in that order: their result is a view of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.tir.arith.simplify import constant_difference, simplify
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary, const
from relay2relax.tir.ir.stmt import Allocate, Block, BlockRealize, BufferStore, For, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import substitute


def row_major(shape: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """Return the strides of a row-major buffer of ``shape``."""
    steps: list[PrimExpr] = [IntImm(1, shape[-1].dtype if shape else "int64")]
    for extent in reversed(shape[1:]):
        steps.insert(0, binary("*", steps[0], extent))
    return tuple(steps[: len(shape)])


def flat_index(buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the position of ``indices`` in the memory of ``buffer``: row-major, unless it has
    strides or an offset.
    """
    result: PrimExpr = IntImm(0) if buffer.offset is None else buffer.offset
    if buffer.strides:
        for index, stride in zip(indices, buffer.strides, strict=True):
            result = binary("+", result, binary("*", index, stride))
        return result
    if buffer.offset is not None:
        return binary("+", result, flat_index(replace(buffer, offset=None), indices))
    for index, extent in zip(indices, buffer.shape, strict=True):
        result = binary("+", binary("*", result, extent), index)
    return result


def constant_stores(stmt: Allocate) -> list[BufferStore]:
    """Return the statements that store what a constant holds."""
    found = []
    extents = [extent.value for extent in stmt.buffer.shape if isinstance(extent, IntImm)]
    for number, value in enumerate(stmt.values or ()):
        indices: list[PrimExpr] = []
        for extent in reversed(extents):
            number, index = divmod(number, extent)
            indices.insert(0, IntImm(index, "int32"))
        found.append(BufferStore(stmt.buffer, tuple(indices), const(value, stmt.buffer.dtype)))
    return found


def size(buffer: Buffer) -> PrimExpr:
    """Return the number of elements of ``buffer``, in canonical form."""
    count: PrimExpr = IntImm(1)
    for extent in buffer.shape:
        count = binary("*", count, extent)
    return simplify(count)


def ordered_copy(block: Block) -> tuple[Buffer, Buffer] | None:
    """Return (source, target) where ``block`` copies all of one buffer to another in the order of
    memory, else None.
    """
    body = block.body
    if block.init is not None or not isinstance(body, BufferStore) or not isinstance(body.value, BufferLoad):
        return None
    source, target = body.value.buffer, body.buffer
    if source.dtype != target.dtype or size(source) != size(target):
        return None
    # An axis of one step is always at its beginning.
    ends = {axis.var: IntImm(0, axis.var.dtype) for axis in block.iter_vars if axis.extent == IntImm(1)}
    bounds = {axis.var: (0, binary("-", axis.extent, 1)) for axis in block.iter_vars}
    read = substitute(flat_index(source, body.value.indices), ends)
    gap = constant_difference(read, substitute(flat_index(target, body.indices), ends), bounds)
    return (source, target) if gap == 0 else None


def is_reshape(func: PrimFunc) -> bool:
    """Whether ``func`` copies its one input to its one output in the order of memory."""
    stmt: Stmt = func.body
    while isinstance(stmt, Seq) and len(stmt.stmts) == 1:
        stmt = stmt.stmts[0]
    loops: list[Var] = []
    while isinstance(stmt, For):
        loops.append(stmt.var)
        stmt = stmt.body
    if not isinstance(stmt, BlockRealize) or stmt.values != tuple(loops) or len(func.params) != 2:
        return False
    return ordered_copy(stmt.block) == func.buffers
