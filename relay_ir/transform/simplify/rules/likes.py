"""Operators that take a shape or dtype from a tensor, as those that are told it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.transform.simplify.rules.rule import Rule
from relay2relax.tir.extent import static

_Concrete: TypeAlias = Callable[[Call, list[int], str], Expr]


_CONCRETE: Mapping[str, _Concrete] = {
    "zeros_like": lambda call, shape, dtype: op.zeros(shape, dtype),
    "ones_like": lambda call, shape, dtype: op.ones(shape, dtype),
    "full_like": lambda call, shape, dtype: op.full(call.args[1], shape, dtype),
    "reshape_like": lambda call, shape, dtype: op.reshape(call.args[0], shape),
    "collapse_sum_like": lambda call, shape, dtype: op.collapse_sum_to(call.args[0], shape),
    "broadcast_to_like": lambda call, shape, dtype: op.broadcast_to(call.args[0], shape),
}


def _concrete(call: Call, types: TypeTable) -> Expr:
    assert isinstance(call.op, Op)
    ty = types.tensor(call)
    extents = [static(extent) for extent in ty.shape] if ty is not None else [None]
    shape = [extent for extent in extents if extent is not None]
    if ty is None or len(shape) < len(extents):
        return call
    return _CONCRETE[call.op.name](call, shape, ty.dtype)


def _concrete_cast(call: Call, types: TypeTable) -> Expr:
    ty = types.tensor(call)
    return call if ty is None else op.cast(call.args[0], ty.dtype)


RULES = (*(Rule((name,), _concrete) for name in _CONCRETE), Rule(("cast_like",), _concrete_cast))
