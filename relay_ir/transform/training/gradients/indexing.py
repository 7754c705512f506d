"""The gradients of operators that take elements by their places."""

from __future__ import annotations

import math

import numpy as np

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr
from relay2relax.relay_ir.transform.parts import scalar
from relay2relax.relay_ir.transform.training.gradients.rules import Rules, op_name, static_shape, tensor
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import PrimExpr


def _no_batch(call: Call) -> None:
    if call.attrs.batch_dims:
        raise UnsupportedError(f"the gradient of {op_name(call)} is known for batch_dims of 0 only")


def _take(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Add what was taken to where it was taken from; without an axis the data are flattened."""
    data, indices = call.args
    _no_batch(call)
    shape, rank = static_shape(data, types, call), len(tensor(indices, types).shape)
    axis = 0 if call.attrs.axis is None else int(call.attrs.axis) % len(shape)
    flat = [math.prod(shape)] if call.attrs.axis is None else shape
    others = [*flat[:axis], *flat[axis + 1 :]]
    order = [*range(axis, axis + rank), *range(axis), *range(axis + rank, len(others) + rank)]
    rows = op.reshape(op.transpose(grad, order) if order else grad, [-1, *others])
    places = op.reshape(_in_range(call, indices, flat[axis], types), [1, -1])
    dtype = tensor(data, types).dtype
    found = op.scatter_nd(op.zeros([flat[axis], *others], dtype), places, rows, mode="add")
    if axis:
        found = op.transpose(found, [*range(1, axis + 1), 0, *range(axis + 1, len(flat))])
    return [op.reshape_like(found, data), op.zeros_like(indices)]


def _in_range(call: Call, indices: Expr, extent: int, types: TypeTable) -> Expr:
    """Return the places that ``take`` looks at."""
    dtype = tensor(indices, types).dtype
    if call.attrs.mode == "wrap":
        indices = op.floor_mod(indices, scalar(extent, dtype))
    if call.attrs.mode == "clip":
        indices = op.clip(indices, 0, extent - 1)
    return indices


def _gather(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, indices = call.args
    axis = int(call.attrs.axis)
    return [op.scatter_elements(op.zeros_like(data), indices, grad, axis, "add"), op.zeros_like(indices)]


def _gather_nd(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, indices = call.args
    _no_batch(call)
    return [op.scatter_nd(op.zeros_like(data), indices, grad, mode="add"), op.zeros_like(indices)]


def _set(data: Expr, grad: Expr, begin: list[int], end: list[int], strides: list[int]) -> Expr:
    """Return zeros like ``data`` with ``grad`` where a slice was taken."""
    places = (Constant(np.asarray(one, "int64")) for one in (begin, end, strides))
    made: Expr = op.strided_set(op.zeros_like(data), grad, *places)
    return made


def _number(value: object, call: Call) -> int:
    """Return an index among the attributes, which may have a dtype of its own."""
    found = static(value) if isinstance(value, (int, PrimExpr)) else None
    if found is None:
        raise UnsupportedError(f"the gradient of {op_name(call)} is known for fixed places only")
    return found


def _strided_slice(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, attrs = call.args[0], call.attrs
    shape = static_shape(data, types, call)
    axes = (
        list(range(max(len(attrs.begin), len(attrs.end))))
        if attrs.axes is None
        else [_number(axis, call) % len(shape) for axis in attrs.axes]
    )
    begin, end, strides = [0] * len(shape), list(shape), [1] * len(shape)
    for place, given in enumerate(axes):
        axis = _number(given, call) % len(shape)
        # Where one list is shorter, the rest of the axis is taken.
        if place < len(attrs.begin):
            begin[axis] = _number(attrs.begin[place], call)
        if place < len(attrs.end):
            end[axis] = _number(attrs.end[place], call)
        if attrs.slice_mode == "size":
            end[axis] = shape[axis] if end[axis] < 0 else begin[axis] % shape[axis] + end[axis]
        elif attrs.strides:
            # One stride may stand for all axes.
            strides[axis] = _number(attrs.strides[place if len(attrs.strides) > 1 else 0], call)
    return [_set(data, grad, begin, end, strides)]


def _slice_like(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, like = call.args
    end = static_shape(call, types, call)
    return [_set(data, grad, [0] * len(end), end, [1] * len(end)), op.zeros_like(like)]


def _one_hot(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    indices, on, off = call.args
    none, hot = op.zeros_like(grad), op.equal(call, on)
    of_on, of_off = op.sum(op.where(hot, grad, none)), op.sum(op.where(hot, none, grad))
    return [op.zeros_like(indices), op.cast_like(of_on, on), op.cast_like(of_off, off)]


RULES: Rules = {
    "gather": _gather,
    "gather_nd": _gather_nd,
    "one_hot": _one_hot,
    "slice_like": _slice_like,
    "strided_slice": _strided_slice,
    "take": _take,
}
