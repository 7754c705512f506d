"""The body of one PrimFunc as part of another."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from relay2relax.tir.analysis.regions import block_regions
from relay2relax.tir.ir.expr import Buffer, BufferLoad, PrimExpr, Var
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, For, Let, PrimFunc, Seq, Stmt
from relay2relax.tir.ir.visit import (
    map_expr,
    map_parts,
    statements,
    substitute,
    substitute_stmt,
)


def instantiate(
    func: PrimFunc, inputs: Sequence[Buffer | PrimExpr], outputs: Sequence[Buffer], scalars: Sequence[PrimExpr] = ()
) -> tuple[tuple[Stmt, ...], tuple[Buffer, ...]]:
    """Return the statements of ``func`` over other buffers, and the temporaries that they need.

    ``inputs`` and ``outputs`` follow the buffers of its parameters; an expression among the inputs
    stands for a buffer that holds this one number. ``scalars`` are the values of its scalar
    parameters.
    """
    buffers: dict[Buffer, Buffer] = {}
    numbers: dict[Buffer, PrimExpr] = {}
    values: dict[Var, PrimExpr] = {}
    for own, given in zip(func.buffers, (*inputs, *outputs), strict=True):
        if not isinstance(given, Buffer):
            numbers[own] = given
            continue
        buffers[own] = given
        for extent, actual in zip(own.shape, given.shape, strict=True):
            if isinstance(extent, Var):
                values.setdefault(extent, actual)
    values.update(zip((param for param in func.params if param not in func.buffer_map), scalars, strict=True))
    for own in func.root_buffers:
        shape = tuple(substitute(extent, values) for extent in own.shape)
        buffers[own] = Buffer(own.name, shape, own.dtype, own.scope)
    body = _with_numbers(func.body, numbers) if numbers else func.body
    body = substitute_stmt(body, values, buffers)
    return body.stmts if isinstance(body, Seq) else (body,), tuple(buffers[own] for own in func.root_buffers)


def _with_numbers(body: Stmt, numbers: Mapping[Buffer, PrimExpr]) -> Stmt:
    """Return ``body`` with the one number that each of the buffers holds in its place."""

    def number(node: PrimExpr) -> PrimExpr | None:
        return numbers.get(node.buffer) if isinstance(node, BufferLoad) else None

    def change(node: Stmt) -> Stmt:
        changed = map_parts(node, change, lambda expr: map_expr(expr, number))
        if isinstance(changed, BlockRealize):
            reads = tuple(region for region in changed.block.reads if region.buffer not in numbers)
            return replace(changed, block=replace(changed.block, reads=reads))
        return changed

    return change(body)


def with_scalars(func: PrimFunc, places: Collection[int]) -> PrimFunc:
    """Return ``func`` with scalars for those parameters, buffers that are read and hold one number
    each.
    """
    params = list(func.params)
    numbers: dict[Buffer, PrimExpr] = {}
    for place in places:
        buffer = func.buffer_map[params[place]]
        params[place] = Var(buffer.name, buffer.dtype)
        numbers[buffer] = params[place]
    buffer_map = {param: buffer for param, buffer in func.buffer_map.items() if buffer not in numbers}
    body = _with_numbers(func.body, numbers)
    return func.with_params(params, buffer_map).with_body(body)


def copied_with_own_names(stmt: Stmt, block_name: Callable[[str], str]) -> Stmt:
    """Return ``stmt`` with variables and buffers of its own.

    ``block_name`` gives its blocks' names.
    """
    values: dict[Var, Var] = {}
    buffers: dict[Buffer, Buffer] = {}
    for node in statements(stmt):
        match node:
            case For(var=var) | Let(var=var):
                values[var] = Var(var.name, var.dtype)
            case Allocate(buffer):
                buffers[buffer] = replace(buffer)
            case BlockRealize(block=block):
                values.update((axis.var, Var(axis.var.name, axis.var.dtype)) for axis in block.iter_vars)
                buffers.update((buffer, replace(buffer)) for buffer in block.alloc_buffers)

    def expr(node: PrimExpr) -> PrimExpr:
        return substitute(node, values, buffers)

    def change(node: Stmt) -> Stmt:
        changed = map_parts(node, change, expr, buffers)
        match changed:
            case For(var) | Let(var):
                return replace(changed, var=values[var])
            case BlockRealize(block=block):
                axes = tuple(replace(axis, var=values[axis.var]) for axis in block.iter_vars)
                own = replace(block, iter_vars=axes, name=block_name(block.name))
                if len({region.buffer for region in own.reads}) < len(own.reads):
                    # One buffer is now read as several operands.
                    own = replace(own, reads=block_regions(own)[0])
                return replace(changed, block=own)
        return changed

    return change(stmt)
