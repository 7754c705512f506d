"""Variables that data decide are known as such: numbers that a program is given, and what it
computes from what it loads.

What is proved of positions does not hold for them (``arith/overflow.py``).
"""

from __future__ import annotations

from dataclasses import replace

from relay2relax.core.dtype import is_int
from relay2relax.tir.ir.expr import Buffer, BufferLoad, FunctionCall, Given, PrimExpr, Var
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, For, Let, PrimFunc, Stmt
from relay2relax.tir.ir.visit import map_parts, shape_variables, statements, subexpressions, substitute, variables


def with_given(func: PrimFunc) -> PrimFunc:
    """Return ``func`` with variables that data decide as ``Given``; it computes what it did."""
    extents = _extents(func)
    given: dict[Var, PrimExpr] = {
        param: Given(param.name, param.dtype)
        for param in func.params
        if param not in func.buffer_map and is_int(param.dtype) and param not in extents
    }
    for node in statements(func.body):
        if isinstance(node, Let) and is_int(node.var.dtype) and node.var not in extents:
            parts = subexpressions(node.value)
            if any(isinstance(part, (BufferLoad, FunctionCall, Given)) or part in given for part in parts):
                given[node.var] = Given(node.var.name, node.var.dtype)
    if all(isinstance(var, Given) for var in given):
        return func

    def named(var: Var) -> Var:
        found = given.get(var, var)
        return found if isinstance(found, Var) else var

    def change(stmt: Stmt) -> Stmt:
        changed = map_parts(stmt, change, lambda expr: substitute(expr, given))
        return replace(changed, var=named(changed.var)) if isinstance(changed, Let) else changed

    return replace(func, params=tuple(map(named, func.params)), body=change(func.body))


def _extents(func: PrimFunc) -> set[Var]:
    """Return the variables in extents of loops and tensors."""
    buffers: list[Buffer] = [*func.buffers, *func.root_buffers]
    found: set[Var] = set()
    for node in statements(func.body):
        match node:
            case For(extent=extent):
                found.update(variables(extent))
            case Allocate(buffer):
                buffers.append(buffer)
            case BlockRealize(block=block):
                buffers += [*block.alloc_buffers, *(match.buffer for match in block.matches)]
                found.update(var for axis in block.iter_vars for var in variables(axis.extent))
    return found.union(shape_variables(buffers))
