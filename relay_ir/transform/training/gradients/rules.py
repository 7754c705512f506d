"""What rules of gradients are, and what they are made of."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Op
from relay2relax.relay_ir.ir.types import TensorType, TupleType, Type
from relay2relax.tir.extent import static

# (call, gradient of its result, types) -> gradients of its arguments.
Gradient: TypeAlias = Callable[[Call, Expr, TypeTable], "list[Expr]"]
Rules: TypeAlias = Mapping[str, Gradient]


def unknown_gradient(name: str) -> UnsupportedError:
    """Return the error for an operator whose gradient is not here."""
    return UnsupportedError(f"the gradient of the operator {name} is not known")


def no_tensors() -> UnsupportedError:
    """Return the error for the gradient by, or of, something else."""
    return UnsupportedError("gradients are of tensors, and of tuples of them")


def has_floats(ty: Type) -> bool:
    """Whether the gradient by a value of this type may be other than zero.

    What is not a tensor may hold floats.
    """
    parts = ty.fields if isinstance(ty, TupleType) else (ty,)
    return any(not isinstance(one, TensorType) or one.dtype.startswith(("float", "bfloat")) for one in parts)


def op_name(call: Call) -> str:
    """Return the name of the operator that is called."""
    assert isinstance(call.op, Op)
    return call.op.name


def tensor(expr: Expr, types: TypeTable) -> TensorType:
    """Return the type of a value that is a tensor."""
    found = types.tensor(expr)
    assert found is not None
    return found


def static_shape(expr: Expr, types: TypeTable, call: Call) -> list[int]:
    """Return the shape of a tensor; raises UnsupportedError where an extent is unknown."""
    extents = [static(extent) for extent in tensor(expr, types).shape]
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents):
        raise UnsupportedError(f"the gradient of {op_name(call)} is known for static shapes only")
    return known


def unary(rule: Callable[[Expr, Expr, Expr], Expr]) -> Gradient:
    """Return the gradient of an operator of one argument: ``rule(x, result, gradient)``."""
    return lambda call, grad, types: [rule(call.args[0], call, grad)]


def binary(rule: Callable[[Expr, Expr, Expr, Expr], tuple[Expr, Expr]]) -> Gradient:
    """Return the gradient of a broadcasting operator: ``rule(x, y, result, gradient)``."""

    def gradient(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
        x, y = call.args
        of_x, of_y = rule(x, y, call, grad)
        return [op.collapse_sum_like(of_x, x), op.collapse_sum_like(of_y, y)]

    return gradient


def zeros(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Return the gradients of what does not change with its arguments."""
    return [op.zeros_like(one) for one in call.args]


def ones(x: Expr) -> Expr:
    """Return ones of the shape of ``x``."""
    made: Expr = op.ones_like(x)
    return made


def spread(value: Expr, axes: Sequence[int], keepdims: object) -> Expr:
    """Return ``value`` with the axes that a reduction dropped, of extent 1."""
    for axis in () if keepdims else axes:
        value = op.expand_dims(value, axis)
    return value
