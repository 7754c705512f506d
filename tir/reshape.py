"""PrimFuncs that only copy their input in the order of memory: their result is a view of the input."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.tir.arith import constant_difference, simplify
from relay2relax.tir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Var, binary
from relay2relax.tir.stmt import Block, BlockRealize, BufferStore, For, PrimFunc, Seq, Stmt
from relay2relax.tir.visit import substitute


def flat_index(buffer: Buffer, indices: Sequence[PrimExpr]) -> PrimExpr:
    """Return the row-major position of ``indices`` in ``buffer``."""
    result: PrimExpr = IntImm(0)
    for index, extent in zip(indices, buffer.shape, strict=True):
        result = binary("+", binary("*", result, extent), index)
    return result


def size(buffer: Buffer) -> PrimExpr:
    """Return the number of elements of ``buffer``, in canonical form."""
    count: PrimExpr = IntImm(1)
    for extent in buffer.shape:
        count = binary("*", count, extent)
    return simplify(count)


def ordered_copy(block: Block) -> tuple[Buffer, Buffer] | None:
    """Return (source, target) where ``block`` copies all of one buffer to another in the order of memory, else None."""
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
