"""Values of small expressions that constants alone decide."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.registry.evaluate import kernel_value
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.table import relay_op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, RelayExpr, children
from relay2relax.relay_ir.ir.types import TensorType, Type
from relay2relax.tir.extent import static

# What decides extents and places has no more elements.
_MOST = 64


def constant_value(root: Expr, types: Mapping[Expr, Type], held: Mapping[Expr, Array]) -> Array | None:
    """Return the value of an expression, None where more than small constants decides it.

    ``types`` has the types of what is in it, ``held`` the values of variables that are weights.
    """
    known: dict[Expr, Array | None] = {}
    stack = [root]
    while stack:
        node = stack[-1]
        operands = _operands(node)
        missing = next((one for one in operands if one not in known), None)
        if any(one in known and known[one] is None for one in operands):
            # What one operand does not have, the whole has not.
            known[node] = None
        elif missing is not None:
            stack.append(missing)
            continue
        else:
            known[node] = _weight(held[node]) if node in held else _value(node, known, types.get(node))
        stack.pop()
    return known[root]


def _operands(node: Expr) -> list[Expr]:
    return [one for one in children(node) if not isinstance(one, Op)] if isinstance(node, RelayExpr) else []


def _weight(array: Array) -> Array | None:
    return array if array.size <= _MOST else None


def _value(node: Expr, known: Mapping[Expr, Array | None], type_: Type | None) -> Array | None:
    if not isinstance(type_, TensorType) or not _is_small(type_):
        return None
    match node:
        case Constant(data):
            return data
        case Call(Op(name), args, attrs):
            record = relay_op(name)
            if record is None or not args:
                return None
            try:
                found = kernel_value(record, attrs, [known[one] for one in args])
            except OpError:
                return None
            return found if isinstance(found, np.ndarray) else None
    return None


def _is_small(type_: TensorType) -> bool:
    size = 1
    for one in type_.shape:
        extent = static(one)
        if extent is None:
            return False
        size *= extent
    return size <= _MOST
