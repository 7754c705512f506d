"""How much arithmetic the loops of a PrimFunc are, and how long its sums: as expressions over its
symbolic extents, or for given ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from relay2relax.core.dtype import is_float
from relay2relax.tir.arith.evaluate import integer, is_computed
from relay2relax.tir.extent import Extent, canonical
from relay2relax.tir.ir.expr import Binary, Buffer, BufferLoad, Call, Cast, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BlockRealize, BufferStore, For, PrimFunc, Stmt, While
from relay2relax.tir.ir.visit import loads, sub_statements, subexpressions, substitute, variables

_NOT_ARITHMETIC = frozenset({"if_then_else", "likely"})
_SPREADS = frozenset("+*")
_ONE = IntImm(1, "int64")


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """What one call of a PrimFunc computes.

    ``multiply_adds`` are products that are added up, of whatever dtype. ``operations`` is all
    arithmetic on floats: a multiply-add is two, a function such as ``exp`` one. Arithmetic on
    indices is left out, and so is setting sums to zero.
    """

    multiply_adds: Extent
    operations: Extent


def arithmetic(func: PrimFunc) -> Arithmetic:
    """Return the arithmetic of one call of ``func``.

    Both sides of a branch count, and the body of a ``while`` once.
    """
    products: PrimExpr = IntImm(0, "int64")
    operations = products
    for store, times in _stores(func.body):
        if _is_multiply_add(store):
            products = binary("+", products, times)
        count = operation_count(store.value)
        if count:
            operations = binary("+", operations, binary("*", times, IntImm(count, "int64")))
    return Arithmetic(canonical(products), canonical(operations))


def operation_count(expr: PrimExpr) -> int:
    """Return how many operations on floats evaluating ``expr`` once is."""
    nodes = (node for node in subexpressions(expr) if isinstance(node, (Binary, Call)))
    return sum(is_float(node.dtype) and getattr(node, "name", "") not in _NOT_ARITHMETIC for node in nodes)


def _stores(body: Stmt) -> Iterator[tuple[BufferStore, PrimExpr]]:
    """Yield each store with the number of times that it is done.

    An extent that an outer loop decides is taken as large as it gets.
    """
    stack: list[tuple[Stmt, PrimExpr, dict[Var, PrimExpr]]] = [(body, _ONE, {})]
    while stack:
        stmt, times, largest = stack.pop()
        match stmt:
            case BufferStore():
                yield stmt, times
            case For(var, extent, inner):
                extent = substitute(extent, largest)
                stack.append((inner, binary("*", times, extent), {**largest, var: extent}))
            case BlockRealize(values, block):
                bound = {axis.var: substitute(v, largest) for axis, v in zip(block.iter_vars, values, strict=True)}
                stack.append((block.body, times, {**largest, **bound}))
            case _:
                stack.extend((one, times, largest) for one in sub_statements(stmt))


def longest_sum(func: PrimFunc, extents: Mapping[Var, int]) -> float:
    """Return the largest number of roundings in a row on the way to an element of a result of
    ``func``: of a matrix product, the length of the common axis. It is at least 1.

    ``extents`` are the symbolic ones where it is called. Several sums of one PrimFunc count as if
    each followed the others. Infinity stands for a length that ``extents`` do not decide.
    """
    longest: dict[Buffer, float] = {}
    stack: list[tuple[Stmt, _Turns]] = [(func.body, _Turns({}, {}, {}))]
    while stack:
        stmt, turns = stack.pop()
        match stmt:
            case BufferStore(buffer=buffer) if is_float(buffer.dtype):
                longest[buffer] = max(longest.get(buffer, 0), turns.of_sum(stmt, extents))
            case For(var, extent, inner):
                stack.append((inner, turns.inside(var, extent)))
            case While():
                # How often it turns, the data decide.
                stack.append((stmt.body, turns.inside(Var("turns", "int64"), Var("unknown", "int64"))))
            case BlockRealize(values, block):
                bound = {axis.var: value for axis, value in zip(block.iter_vars, values, strict=True)}
                stack += [(one, turns.bound(bound)) for one in (block.init, block.body) if one is not None]
            case _:
                stack.extend((one, turns) for one in sub_statements(stmt))
    return max(1, sum(longest.values()))


@dataclass(frozen=True, slots=True)
class _Turns:
    """The loops around a statement, outer ones first: how often each turns, the largest value of
    each variable, and the loops that the axes of blocks depend on.
    """

    extents: Mapping[Var, PrimExpr]
    largest: Mapping[Var, PrimExpr]
    loops: Mapping[Var, frozenset[Var]]

    def inside(self, var: Var, extent: PrimExpr) -> _Turns:
        """Return these, and a loop inside of them."""
        extent = substitute(extent, self.largest)
        return _Turns(
            {**self.extents, var: extent}, {**self.largest, var: extent}, {**self.loops, var: frozenset((var,))}
        )

    def bound(self, axes: Mapping[Var, PrimExpr]) -> _Turns:
        """Return these, with what the axes of a block stand for."""
        largest = {axis: substitute(value, self.largest) for axis, value in axes.items()}
        loops = {axis: self._loops_of(value) for axis, value in axes.items()}
        return _Turns(self.extents, {**self.largest, **largest}, {**self.loops, **loops})

    def _loops_of(self, expr: PrimExpr) -> frozenset[Var]:
        """Return the loops of which each turn gives ``expr`` another value.

        Of what is divided, several turns have the same one, so it has none.
        """
        if not all(
            isinstance(part, (Var, IntImm)) or getattr(part, "op", "") in _SPREADS for part in subexpressions(expr)
        ):
            return frozenset()
        return frozenset().union(*(self.loops.get(var, frozenset()) for var in variables(expr)))

    def of_sum(self, store: BufferStore, known: Mapping[Var, int]) -> float:
        """Return how many values a store adds to what it finds, 0 where it does not look at that.

        Where it looks at another element, as a running sum does, every turn along that axis adds
        to the one before.
        """
        found = [load.indices for load in loads(store.value) if load.buffer is store.buffer]
        if not found or (isinstance(store.value, Binary) and store.value.op in ("min", "max")):
            return 0
        same = [own for own, *others in zip(store.indices, *found, strict=True) if all(one == own for one in others)]
        own = {loop for index in same for loop in self._loops_of(index)}
        extents = [extent for var, extent in self.extents.items() if var not in own]
        if not all(is_computed(extent, known) for extent in extents):
            return math.inf
        return math.prod(integer(extent, known) for extent in extents)


def _is_multiply_add(store: BufferStore) -> bool:
    """Whether a store adds a product of two different values to what it finds."""
    match store.value:
        case Binary("+", BufferLoad(buffer, indices), added) if buffer is store.buffer and indices == store.indices:
            while isinstance(added, Cast):
                added = added.value
            return isinstance(added, Binary) and added.op == "*" and added.a != added.b
    return False
