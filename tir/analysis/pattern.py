"""How a PrimFunc uses its operands, which decides what may be fused with it.

The kinds and their numbers are those of TVM's ``OpPatternKind``; what TVM's AnnotateTIROpPattern
writes down as ``op_pattern`` is the same.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from enum import IntEnum

from relay2relax.tir.ir.expr import Binary, BufferLoad, Cast, IntImm, PrimExpr, Var
from relay2relax.tir.ir.stmt import Block, BlockRealize, BufferStore, Evaluate, For, IterKind, PrimFunc, While
from relay2relax.tir.ir.visit import expressions, loads, statements, sub_statements, variables


class OpPattern(IntEnum):
    """The kinds, each more demanding to fuse than the one before."""

    ELEMWISE = 0  # each element of an operand goes to the same place of the result
    BROADCAST = 1  # operands are repeated along axes of the result
    INJECTIVE = 2  # each element of the result is made of elements at places that follow from its own
    COMM_REDUCE = 3  # axes are summed up, the others keep their order
    OUT_ELEMWISE_FUSABLE = 4  # elementwise work may follow, nothing may go before: a product of matrices, a convolution
    TUPLE = 7  # puts values together
    OPAQUE = 8  # nothing can be said


def op_pattern(func: PrimFunc) -> OpPattern:
    """Return the kind of ``func``: of its blocks, the one that is hardest to fuse."""
    kind = OpPattern.ELEMWISE
    for block in _blocks(func):
        own = _block_pattern(block)
        if own is OpPattern.OPAQUE:
            return own
        if own < OpPattern.COMM_REDUCE and kind is OpPattern.COMM_REDUCE:
            own = OpPattern.OUT_ELEMWISE_FUSABLE  # what follows a sum, as in a mean, cannot be sums of what went before
        kind = max(kind, own)
    return kind


def _blocks(func: PrimFunc) -> Iterator[Block]:
    stack = [func.body]
    while stack:
        stmt = stack.pop()
        if isinstance(stmt, BlockRealize):
            yield stmt.block
        else:
            stack.extend(reversed(sub_statements(stmt)))


def _block_pattern(block: Block) -> OpPattern:
    stores: list[BufferStore] = []
    found: list[BufferLoad] = []
    for stmt in statements(block.body):
        match stmt:
            case BufferStore():
                stores.append(stmt)
            case BlockRealize() | Evaluate() | For() | While():
                return OpPattern.OPAQUE
        found += [load for expr in expressions(stmt) for load in loads(expr)]
    reduced = {axis.var for axis in block.iter_vars if axis.kind is IterKind.REDUCE}
    # A reduction may have several results, as that of the largest value and its place.
    together = reduced and all(_same(one.indices, stores[0].indices) for one in stores)
    if not stores or (len(stores) > 1 and not together):
        return OpPattern.OPAQUE
    store = stores[0]
    kinds = [_access(store, load) for load in found]
    kind = max(kinds, default=OpPattern.ELEMWISE)
    if kind is OpPattern.BROADCAST and OpPattern.ELEMWISE in kinds:
        # What is added along an axis does not keep the rest from being elementwise.
        return OpPattern.ELEMWISE
    if kind is not OpPattern.OPAQUE:
        return kind
    if not reduced:
        return OpPattern.OPAQUE
    if _multiplies(store) or not all(_keeps_order(load.indices, reduced) for load in found):
        return OpPattern.OUT_ELEMWISE_FUSABLE
    return OpPattern.COMM_REDUCE


def _access(store: BufferStore, load: BufferLoad) -> OpPattern:
    """Return how the place that is read follows from the place that is written."""
    if _same(store.indices, load.indices):
        return OpPattern.ELEMWISE
    places = iter(store.indices)
    wanted = (
        index
        for index, extent in zip(load.indices, load.buffer.shape, strict=True)
        if not (_is_number(index, 0) and _is_number(extent, 1))
    )
    if all(any(index is place for place in places) for index in wanted):
        return OpPattern.BROADCAST
    axes = set(store.indices)
    if any(loads(index) for index in load.indices):
        return OpPattern.OPAQUE
    if all(isinstance(axis, Var) for axis in axes) and all(
        var in axes for index in load.indices for var in variables(index)
    ):
        return OpPattern.INJECTIVE
    return OpPattern.OPAQUE


def _same(first: Sequence[PrimExpr], second: Sequence[PrimExpr]) -> bool:
    return len(first) == len(second) and all(a is b for a, b in zip(first, second, strict=True))


def _is_number(expr: PrimExpr, value: int) -> bool:
    return isinstance(expr, IntImm) and expr.value == value


def _multiplies(store: BufferStore) -> bool:
    """Whether the store adds a product to what is there: ``c = c + a * b``."""
    match store.value:
        case Binary("+", BufferLoad(buffer, indices), summand) if buffer is store.buffer:
            while isinstance(summand, Cast):
                summand = summand.value
            return _same(indices, store.indices) and isinstance(summand, Binary) and summand.op == "*"
    return False


def _keeps_order(indices: Sequence[PrimExpr], reduced: set[Var]) -> bool:
    """Whether no index mixes axes that are summed up with others."""
    return all(isinstance(index, Var) or not reduced.intersection(variables(index)) for index in indices)
