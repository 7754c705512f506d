"""The gradients of reductions and scans."""

from __future__ import annotations

import math
from collections.abc import Sequence

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.transform.parts import scalar
from relay2relax.relay_ir.transform.training.gradients.rules import Rules, spread, static_shape, tensor


def _axes(call: Call, types: TypeTable) -> list[int]:
    """Return the axes that a reduction takes away."""
    rank = len(tensor(call.args[0], types).shape)
    if call.attrs.axis is None:
        return list(range(rank))
    axes = sorted(int(axis) % rank for axis in call.attrs.axis)
    return [axis for axis in range(rank) if axis not in axes] if call.attrs.exclude else axes


def _sum(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [op.broadcast_to_like(spread(grad, _axes(call, types), call.attrs.keepdims), call.args[0])]


def _mean(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, axes = call.args[0], _axes(call, types)
    shape = static_shape(data, types, call)
    share = 1.0
    for axis in axes:
        share /= shape[axis]
    whole = spread(grad, axes, call.attrs.keepdims)
    return [op.broadcast_to_like(whole * scalar(share, tensor(data, types).dtype), data)]


def _variance(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Differentiate by the data and by the mean, which is an argument of its own."""
    data, mean = call.args
    axes, shape = _axes(call, types), static_shape(data, types, call)
    count = math.prod(shape[axis] for axis in axes) - int(bool(call.attrs.unbiased))
    factor = scalar(2.0 / max(count, 1), tensor(data, types).dtype)
    of_data = spread(grad, axes, call.attrs.keepdims) * factor * op.subtract(data, mean)
    return [of_data, op.collapse_sum_like(op.negative(of_data), mean)]


def _chosen(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    axes = _axes(call, types)
    return [extremum(call, spread(grad, axes, call.attrs.keepdims), axes, spread(call, axes, call.attrs.keepdims))]


def extremum(call: Call, grad: Expr, axes: Sequence[int], kept: Expr) -> Expr:
    """Share the gradient of a largest or smallest element among the elements equal to it.

    ``grad`` and ``kept``, the element, have the reduced axes with extent 1.
    """
    chosen: Expr = op.cast_like(op.equal(kept, call.args[0]), grad)
    count: Expr = op.sum(chosen, list(axes), keepdims=True)
    return chosen * grad / count


def _cumsum(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Sum from the end; without an axis the data are flattened."""
    data, axis = call.args[0], call.attrs.axis
    place = 0 if axis is None else int(axis)
    turned = op.reverse(grad, axis=place)
    added = op.cumsum(turned, axis=place, exclusive=bool(call.attrs.exclusive))
    found = op.cast_like(op.reverse(added, axis=place), data)
    return [op.reshape_like(found, data) if axis is None else found]


RULES: Rules = {
    "cumsum": _cumsum,
    "max": _chosen,
    "mean": _mean,
    "min": _chosen,
    "sum": _sum,
    "variance": _variance,
}
