"""Calls whose extents types left open, and which fit only where an extent of 1 is repeated.

TVM gives buffers of open extents a stride of zero where an extent is 1 (``auto_broadcast``), so an
operator that takes its operands element by element runs on them as if they were as long as the
others: a bias of one element is added everywhere. What else the operator's rule refuses is refused.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay2relax.ops.registry.lower import lower_call
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.arith.evaluate import integer
from relay2relax.tir.extent import as_prim, asked, static
from relay2relax.tir.ir.expr import Binary, IntImm, PrimExpr, Select, Var
from relay2relax.tir.ir.stmt import BlockRealize, IterKind, PrimFunc
from relay2relax.tir.ir.visit import expressions, loads, statements


def repeated(op: OpDef, attrs: Any, types: tuple[Type, ...], problem: OpError) -> tuple[Type, ...]:
    """Return the argument types that the call has with extents of 1 repeated.

    Raises ``problem``, with which the operator's rule refused ``types``, where that does not help.
    """
    values: dict[Var, int] = {}
    opened = tuple(_opened(one, values) for one in types)
    with asked() as conditions:
        try:
            result = op.infer(attrs, *opened)
        except OpError:
            raise problem from None
    longer: dict[Var, int] = {}
    for condition in conditions:
        if not integer(condition, values):
            var, extent = _one(condition, values)
            if var is None or longer.setdefault(var, extent) != extent:
                raise problem
    wanted = tuple(_closed(one, {**values, **longer}) for one in opened)
    if not longer or op.infer(attrs, *wanted) != _closed(result, values):
        raise problem
    if not _is_pointwise(lower_call(op, attrs, opened, result, "open")):
        raise problem
    return wanted


def as_type(value: Any, ty: Type) -> Any:
    """Return ``value`` with the extents of ``ty``, its elements repeated where it had 1."""
    match ty:
        case TensorType(shape) if value.shape != shape:
            return np.ascontiguousarray(np.broadcast_to(value, [static(extent) or 0 for extent in shape]))
        case TupleType(fields):
            return tuple(as_type(one, field) for one, field in zip(value, fields, strict=True))
    return value


def _opened(ty: Type, values: dict[Var, int]) -> Type:
    """Return ``ty`` with a variable for each extent; ``values`` gets what they stand for."""
    match ty:
        case TensorType(shape, dtype):
            names = tuple(Var("n", "int64") for _ in shape)
            values.update((name, static(extent) or 0) for name, extent in zip(names, shape, strict=True))
            return TensorType(names, dtype)
        case TupleType(fields):
            return TupleType(tuple(_opened(field, values) for field in fields))
    return ty


def _closed(ty: Type, values: Mapping[Var, int]) -> Type:
    match ty:
        case TensorType(shape, dtype):
            return TensorType(tuple(integer(as_prim(extent), values) for extent in shape), dtype)
        case TupleType(fields):
            return TupleType(tuple(_closed(field, values) for field in fields))
    return ty


def _one(condition: PrimExpr, values: Mapping[Var, int]) -> tuple[Var | None, int]:
    """Return the extent of 1 in an equation that does not hold, and the other side's value."""
    if isinstance(condition, Binary) and condition.op == "==":
        sides: Sequence[tuple[PrimExpr, PrimExpr]] = ((condition.a, condition.b), (condition.b, condition.a))
        for side, other in sides:
            if isinstance(side, Var) and values[side] == 1:
                return side, integer(other, values)
    return None, 0


def _is_pointwise(func: PrimFunc) -> bool:
    """Whether ``func`` reads its operands at the place that it writes, or at 0."""
    for node in statements(func.body):
        axes = node.block.iter_vars if isinstance(node, BlockRealize) else ()
        if any(axis.kind is not IterKind.SPATIAL for axis in axes):
            return False
        if any(not _is_plain(index) for expr in expressions(node) for load in loads(expr) for index in load.indices):
            return False
    return True


def _is_plain(index: PrimExpr) -> bool:
    match index:
        case Select(_, a, b):
            return _is_plain(a) and _is_plain(b)
    return isinstance(index, (Var, IntImm))
