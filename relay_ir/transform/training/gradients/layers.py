"""The gradients of layers: products, normalisation, losses."""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, TupleGetItem
from relay2relax.relay_ir.transform.parts import along, scalar
from relay2relax.relay_ir.transform.training.gradients.rules import Rules, static_shape, tensor
from relay2relax.tir.extent import static


def _dense(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    data, weight = call.args
    of_data = op.nn.dense(grad, op.transpose(weight), units=static(tensor(weight, types).shape[1]))
    of_weight = op.nn.dense(op.transpose(grad), op.transpose(data), units=static(tensor(data, types).shape[1]))
    return [op.collapse_sum_like(of_data, data), op.collapse_sum_like(of_weight, weight)]


def _matmul(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    if (bool(call.attrs.transpose_a), bool(call.attrs.transpose_b)) == (False, True):
        return _dense(call, grad, types)
    return _products(call, grad, op.nn.matmul)


def _batch_matmul(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    if (bool(call.attrs.transpose_a), bool(call.attrs.transpose_b)) == (False, True):
        left, right, grad = (op.transpose(one, [0, 2, 1]) for one in (*call.args, grad))
        back = op.transpose(grad, [0, 2, 1])
        found = op.nn.batch_matmul(back, right), op.nn.batch_matmul(grad, left)
        return [op.collapse_sum_like(one, arg) for one, arg in zip(found, call.args, strict=True)]
    return _products(call, grad, op.nn.batch_matmul)


def _products(call: Call, grad: Expr, multiply: Callable[..., Expr]) -> list[Expr]:
    """Differentiate a product of which not just the right factor is transposed."""
    left, right = call.args

    def product(a: Expr, b: Expr, turn_a: bool, turn_b: bool) -> Expr:
        return multiply(a, b, transpose_a=turn_a, transpose_b=turn_b)

    match bool(call.attrs.transpose_a), bool(call.attrs.transpose_b):
        case True, True:
            found = product(right, grad, True, True), product(grad, left, True, True)
        case True, False:
            found = product(right, grad, False, True), product(left, grad, False, False)
        case _:
            found = product(grad, right, False, True), product(left, grad, True, False)
    return [op.collapse_sum_like(one, arg) for one, arg in zip(found, call.args, strict=True)]


def _bias_add(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    of_bias = op.sum(grad, call.attrs.axis, keepdims=False, exclude=True)
    return [op.collapse_sum_like(grad, call.args[0]), of_bias]


def _prelu(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    x, alpha = call.args
    axis, rank = int(call.attrs.axis), len(tensor(x, types).shape)
    below = op.less(x, op.zeros_like(x))
    slopes = op.broadcast_to_like(along(alpha, rank, [axis % rank]), x)
    of_slopes = op.sum(op.where(below, grad * x, op.zeros_like(x)), axis=[axis], exclude=True)
    return [op.where(below, grad * slopes, grad), of_slopes]


def _softmax(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    result: Expr = call
    return [(grad - op.sum(grad * result, call.attrs.axis, True)) * result]


def _log_softmax(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [grad - op.sum(grad, axis=call.attrs.axis, keepdims=True) * op.exp(call)]


def _field(grad: Expr, index: int) -> Expr:
    return TupleGetItem(grad, index)


def _batch_norm(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Differentiate with the statistics as arguments, which the operator hands on as results."""
    data, gamma, beta, mean, variance = call.args
    rank = len(tensor(data, types).shape)
    axis = int(call.attrs.axis) % rank
    of_result, of_mean, of_given = (_field(grad, index) for index in range(3))
    small = scalar(call.attrs.epsilon, tensor(variance, types).dtype)
    scale = op.rsqrt(op.add(variance, small))
    centred = op.subtract(data, along(mean, rank, [axis]))

    def total(value: Expr) -> Expr:
        made: Expr = op.sum(value, axis=[axis], exclude=True)
        return made

    factor = op.multiply(gamma, scale) if call.attrs.scale else scale
    products, sums = total(of_result * centred), total(of_result)
    of_variance = products * factor * scale * scale * scalar(-0.5, tensor(variance, types).dtype)
    return [
        of_result * along(factor, rank, [axis]),
        products * scale if call.attrs.scale else op.zeros_like(gamma),
        sums if call.attrs.center else op.zeros_like(beta),
        of_mean - sums * factor,
        of_given + of_variance,
    ]


def _cross_entropy(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    prediction: Expr
    prediction, target = call.args
    share = grad / _batch(call, types)
    return [-share * target / prediction, -share * op.log(prediction)]


def _cross_entropy_with_logits(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    prediction, target = call.args
    share = grad / _batch(call, types)
    return [-share * target, -share * prediction]


def _batch(call: Call, types: TypeTable) -> Expr:
    data = call.args[0]
    return scalar(static_shape(data, types, call)[0], tensor(data, types).dtype)


def _dropout(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    """Differentiate what the executors compute: all of the data, as in inference."""
    return [_field(grad, 0)]


RULES: Rules = {
    "nn.batch_matmul": _batch_matmul,
    "nn.batch_norm": _batch_norm,
    "nn.bias_add": _bias_add,
    "nn.cross_entropy": _cross_entropy,
    "nn.cross_entropy_with_logits": _cross_entropy_with_logits,
    "nn.dense": _dense,
    "nn.dropout": _dropout,
    "nn.log_softmax": _log_softmax,
    "nn.matmul": _matmul,
    "nn.prelu": _prelu,
    "nn.softmax": _softmax,
}
