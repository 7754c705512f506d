"""Which part of a buffer statements touch, seen from a place in the program: boxes over the loops
around it.

The box of an access covers at least what it touches; that is safe wherever something is made for
it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from relay2relax.tir.arith.simplify import Bounds, constant_difference, limits, prove, simplify, split_by_variables
from relay2relax.tir.ir.expr import Buffer, BufferData, Call, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import Allocate, BlockRealize, BufferStore, For, Let, Stmt
from relay2relax.tir.ir.visit import (
    all_expressions,
    expressions,
    loads,
    statements,
    sub_statements,
    subexpressions,
    substitute,
    variables,
)
from relay2relax.tir.schedule.tree import limit

# Where something begins, and how far it goes; a box has one for each dimension.
Range: TypeAlias = tuple[PrimExpr, PrimExpr]
Box: TypeAlias = list[Range]


@dataclass(frozen=True, slots=True)
class Access:
    """A load or store, its indices over the variables around a statement and the loops within
    it.
    """

    indices: tuple[PrimExpr, ...]
    is_store: bool


@dataclass(frozen=True, slots=True)
class Accesses:
    """All that a statement does with one buffer, and the extents of all loops within the
    statement.
    """

    found: tuple[Access, ...]
    loops: Mapping[Var, PrimExpr]

    def bounds(self, around: Bounds) -> Bounds:
        """Return the bounds ``around`` the statement together with those of its loops."""
        return {**around, **{var: limit(extent) for var, extent in self.loops.items()}}


def reached_indirectly(stmt: Stmt) -> set[Buffer]:
    """Return the buffers whose memory ``stmt`` reaches in other ways: by their address, or as
    another buffer.
    """
    found = {node.of for node in statements(stmt) if isinstance(node, Allocate) and isinstance(node.of, Buffer)}
    for node in (node for expr in all_expressions(stmt) for node in subexpressions(expr)):
        match node:
            case BufferData(buffer):
                found.add(buffer)
            case Call("address_of"):
                found.update(load.buffer for load in loads(node))
    return found


def accesses(stmt: Stmt, buffer: Buffer) -> Accesses:
    """Return the accesses to ``buffer`` within ``stmt``, in program order."""
    found: list[Access] = []
    inner: dict[Var, PrimExpr] = {}

    def walk(node: Stmt, values: dict[Var, PrimExpr]) -> None:
        for expr in expressions(node):
            indices_read = (load.indices for load in loads(expr) if load.buffer is buffer)
            found.extend(Access(tuple(substitute(index, values) for index in one), False) for one in indices_read)
        match node:
            case BufferStore(target, indices) if target is buffer:
                found.append(Access(tuple(substitute(index, values) for index in indices), True))
            case For(var, extent):
                inner[var] = substitute(extent, values)
            case Let(var, value):
                values = {**values, var: substitute(value, values)}
            case BlockRealize(places, block):
                known = zip(block.iter_vars, places, strict=True)
                values = {**values, **{axis.var: substitute(value, values) for axis, value in known}}
        for part in sub_statements(node):
            walk(part, values)

    walk(stmt, {})
    return Accesses(tuple(found), inner)


def box_of(touched: Accesses, shape: Sequence[PrimExpr], around: Bounds) -> Box:
    """Return a box that covers ``touched``, over variables outside of the statement.

    At most all of ``shape``.

    Where nothing better is known a dimension is whole. Otherwise a box may begin before 0 or end
    behind the extent, where accesses are guarded.
    """
    bounds = touched.bounds(around)
    return [
        _covering([access.indices[d] for access in touched.found], extent, touched.loops, bounds)
        for d, extent in enumerate(shape)
    ]


def _covering(indices: Sequence[PrimExpr], size: PrimExpr, inner: Mapping[Var, PrimExpr], bounds: Bounds) -> Range:
    whole = (IntImm(0, size.dtype), size)
    begin = last = None
    for index in dict.fromkeys(indices):
        reach = _reach(index, inner, bounds)
        if reach is None:
            return whole
        low, high = reach
        if begin is None or last is None:
            begin, last = low, high
            continue
        before, behind = constant_difference(low, begin, bounds), constant_difference(high, last, bounds)
        if before is None or behind is None:
            return whole
        begin = low if before < 0 else begin
        last = high if behind > 0 else last
    if begin is None or last is None:
        return whole
    extent = simplify(last - begin + 1, bounds)
    # What is as long as the dimension, and what stays within it anyway, is no gain over all of it.
    return whole if prove(extent >= size, bounds) is True else (simplify(begin, bounds), extent)


def _reach(index: PrimExpr, inner: Mapping[Var, PrimExpr], bounds: Bounds) -> tuple[PrimExpr, PrimExpr] | None:
    """Return the smallest and the largest value of ``index`` while the loops ``inner`` run, None if
    not known.
    """
    terms = None if loads(index) else split_by_variables(index, inner, bounds)
    if terms is None:
        return None
    low = high = terms[1]
    for count, atom in terms[0]:
        first: PrimExpr = IntImm(0, index.dtype)
        if isinstance(atom, Var):
            last = binary("-", inner[atom], 1)
        else:
            least, most = limits(atom, bounds)
            if least is None or most is None:
                return None
            first, last = IntImm(least, index.dtype), IntImm(most, index.dtype)
        if count < 0:
            first, last = last, first
        low, high = low + first * count, high + last * count
    # The extent of a loop may depend on another one.
    return None if inner.keys() & {*variables(low), *variables(high)} else (low, high)
