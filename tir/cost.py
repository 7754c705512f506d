"""How much arithmetic the loops of a PrimFunc are, as expressions over its symbolic extents."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from relay2relax.core.dtype import is_float
from relay2relax.tir.extent import Extent, canonical
from relay2relax.tir.ir.expr import Binary, BufferLoad, Call, Cast, IntImm, PrimExpr, Var, binary
from relay2relax.tir.ir.stmt import BlockRealize, BufferStore, For, PrimFunc, Stmt
from relay2relax.tir.ir.visit import sub_statements, subexpressions, substitute

_NOT_ARITHMETIC = frozenset({"if_then_else", "likely"})
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


def _is_multiply_add(store: BufferStore) -> bool:
    """Whether a store adds a product of two different values to what it finds."""
    match store.value:
        case Binary("+", BufferLoad(buffer, indices), added) if buffer is store.buffer and indices == store.indices:
            while isinstance(added, Cast):
                added = added.value
            return isinstance(added, Binary) and added.op == "*" and added.a != added.b
    return False
