"""The gradients of operators, as TVM writes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from relay2relax.core.errors import UnsupportedError
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, TupleGetItem
from relay2relax.relay_ir.ir.types import TensorType, TupleType
from relay2relax.relay_ir.transform.parts import scalar
from relay2relax.tir.extent import static

# (call, gradient of its result, types) -> gradients of its arguments.
Gradient: TypeAlias = Callable[[Call, Any, TypeTable], "list[Any]"]


def unknown_gradient(name: str) -> UnsupportedError:
    """Return the error for an operator whose gradient is not here."""
    return UnsupportedError(f"the gradient of the operator {name} is not known")


def no_tensors() -> UnsupportedError:
    """Return the error for the gradient by, or of, something else."""
    return UnsupportedError("gradients are of tensors, and of tuples of them")


def _tensor(expr: Expr, types: TypeTable) -> TensorType:
    found = types.tensor(expr)
    assert found is not None
    return found


def _shape(expr: Expr, types: TypeTable) -> list[int]:
    """Return the shape of a tensor; raises UnsupportedError where an extent is unknown."""
    extents = [static(extent) for extent in _tensor(expr, types).shape]
    known = [extent for extent in extents if extent is not None]
    if len(known) < len(extents):
        raise UnsupportedError("the gradient of a reduction is known for static shapes only")
    return known


def _unary(rule: Callable[[Any, Any, Any], Any]) -> Gradient:
    """Return the gradient of an operator of one argument: ``rule(x, result, gradient)``."""
    return lambda call, grad, types: [rule(call.args[0], call, grad)]


def _binary(rule: Callable[[Any, Any, Any, Any], tuple[Any, Any]]) -> Gradient:
    """Return the gradient of a broadcasting operator: ``rule(x, y, result, gradient)``."""

    def gradient(call: Call, grad: Any, types: TypeTable) -> list[Any]:
        x, y = call.args
        of_x, of_y = rule(x, y, call, grad)
        return [op.collapse_sum_like(of_x, x), op.collapse_sum_like(of_y, y)]

    return gradient


def _ones(x: Any) -> Any:
    return op.ones_like(x)


def _log_base(base: float) -> Gradient:
    def gradient(call: Call, grad: Any, types: TypeTable) -> list[Any]:
        x: Any = call.args[0]
        number = scalar(base, _tensor(x, types).dtype)
        return [grad * _ones(x) / (op.log(number) * x)]

    return gradient


def _sqrt(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    x = call.args[0]
    half = scalar(0.5, _tensor(x, types).dtype)
    return [grad * half * op.power(x, op.negative(half))]


def _erf(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    x: Any = call.args[0]
    # 2 / sqrt(pi)
    factor = scalar(1.1283791670955126, _tensor(x, types).dtype)
    return [factor * op.exp(-x * x) * grad]


def _clip(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    x: Any = call.args[0]
    dtype = _tensor(x, types).dtype
    low, high = (op.broadcast_to_like(scalar(one, dtype), x) for one in (call.attrs.a_min, call.attrs.a_max))
    zeros, ones = op.zeros_like(x), _ones(x)
    return [op.where(op.less(x, low), zeros, op.where(op.less(high, x), zeros, ones * grad))]


def _relu(x: Any, result: Any, grad: Any) -> Any:
    zeros, ones = op.zeros_like(x), _ones(x)
    return op.where(op.less(x, zeros), zeros, ones * grad)


def _abs(x: Any, result: Any, grad: Any) -> Any:
    zeros, ones = op.zeros_like(x), _ones(x)
    return op.where(op.less(x, zeros), -ones * grad, ones * grad)


def _axes(call: Call, types: TypeTable) -> list[int]:
    """Return the axes that a reduction adds up."""
    rank = len(_tensor(call.args[0], types).shape)
    if call.attrs.axis is None:
        return list(range(rank))
    axes = sorted(int(axis) % rank for axis in call.attrs.axis)
    return [axis for axis in range(rank) if axis not in axes] if call.attrs.exclude else axes


def _spread(grad: Any, call: Call, axes: Sequence[int]) -> Any:
    """Return ``grad`` with the axes that a reduction dropped, of extent 1."""
    for axis in () if call.attrs.keepdims else axes:
        grad = op.expand_dims(grad, axis)
    return grad


def _sum(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    return [op.broadcast_to_like(_spread(grad, call, _axes(call, types)), call.args[0])]


def _mean(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    data, axes = call.args[0], _axes(call, types)
    shape = _shape(data, types)
    share = 1.0
    for axis in axes:
        share /= shape[axis]
    spread = _spread(grad, call, axes)
    return [op.broadcast_to_like(spread * scalar(share, _tensor(data, types).dtype), data)]


def _dense(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    data, weight = call.args
    of_data = op.nn.dense(grad, op.transpose(weight), units=_tensor(weight, types).shape[1])
    of_weight = op.nn.dense(op.transpose(grad), op.transpose(data), units=_tensor(data, types).shape[1])
    return [op.collapse_sum_like(of_data, data), op.collapse_sum_like(of_weight, weight)]


def _batch_matmul(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    left, right = call.args

    def product(a: Any, b: Any, turn_a: bool, turn_b: bool) -> Any:
        return op.nn.batch_matmul(a, b, transpose_a=turn_a, transpose_b=turn_b)

    match bool(call.attrs.transpose_a), bool(call.attrs.transpose_b):
        case True, True:
            found = product(right, grad, True, True), product(grad, left, True, True)
        case True, False:
            found = product(right, grad, False, True), product(left, grad, False, False)
        case False, True:
            turned = [op.transpose(one, [0, 2, 1]) for one in (right, grad, left)]
            found = product(grad, turned[0], False, True), product(turned[1], turned[2], False, True)
        case _:
            found = product(grad, right, False, True), product(left, grad, True, False)
    return [op.collapse_sum_like(one, arg) for one, arg in zip(found, call.args, strict=True)]


def _bias_add(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    of_bias = op.sum(grad, call.attrs.axis, keepdims=False, exclude=True)
    return [op.collapse_sum_like(grad, call.args[0]), of_bias]


def _softmax(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    result: Any = call
    return [(grad - op.sum(grad * result, call.attrs.axis, True)) * result]


def _log_softmax(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    return [grad - op.sum(grad, axis=call.attrs.axis, keepdims=True) * op.exp(call)]


def _transpose(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    axes = call.attrs.axes
    back = [list(axes).index(place) for place in range(len(axes))] if axes else None
    return [op.transpose(grad, axes=back)]


def _concatenate(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    ty = types.of(call.args[0])
    assert isinstance(ty, TupleType)
    axis, places, end = call.attrs.axis, [], 0
    for field in ty.fields[:-1]:
        assert isinstance(field, TensorType)
        end += static(field.shape[axis]) or 0
        places.append(end)
    parts = op.split(grad, tuple(places), axis=axis)
    return [parts.tuple_value if isinstance(parts, TupleGetItem) else parts]


def _like(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    return [op.reshape_like(grad, call.args[0])]


def _spread_like(call: Call, grad: Any, types: TypeTable) -> list[Any]:
    return [op.broadcast_to_like(grad, call.args[0]), op.zeros_like(call.args[1])]


GRADIENTS: Mapping[str, Gradient] = {
    "abs": _unary(_abs),
    "acos": _unary(lambda x, r, g: g * (-_ones(x) / op.sqrt(_ones(x) - (x * x)))),
    "acosh": _unary(lambda x, r, g: g * _ones(x) / op.sqrt((x * x) - _ones(x))),
    "add": _binary(lambda x, y, r, g: (g, g)),
    "asin": _unary(lambda x, r, g: g * _ones(x) / op.sqrt(_ones(x) - (x * x))),
    "asinh": _unary(lambda x, r, g: g * _ones(x) / op.sqrt(_ones(x) + (x * x))),
    "atan": _unary(lambda x, r, g: g * _ones(x) / (_ones(x) + (x * x))),
    "atanh": _unary(lambda x, r, g: g * _ones(x) / (_ones(x) - (x * x))),
    "cast": _unary(lambda x, r, g: op.cast_like(g, x)),
    "clip": _clip,
    "collapse_sum_like": _spread_like,
    "concatenate": _concatenate,
    "copy": _unary(lambda x, r, g: g),
    "cos": _unary(lambda x, r, g: g * (-_ones(x) * op.sin(x))),
    "cosh": _unary(lambda x, r, g: g * op.sinh(x)),
    "divide": _binary(lambda x, y, r, g: (g / y, -(g * r / y))),
    "erf": _erf,
    "exp": _unary(lambda x, r, g: g * op.exp(x)),
    "expand_dims": _like,
    "log": _unary(lambda x, r, g: g * _ones(x) / x),
    "log10": _log_base(10.0),
    "log2": _log_base(2.0),
    "mean": _mean,
    "multiply": _binary(lambda x, y, r, g: (g * y, g * x)),
    "negative": _unary(lambda x, r, g: -g),
    "nn.batch_flatten": _like,
    "nn.batch_matmul": _batch_matmul,
    "nn.bias_add": _bias_add,
    "nn.dense": _dense,
    "nn.log_softmax": _log_softmax,
    "nn.relu": _unary(_relu),
    "nn.softmax": _softmax,
    "ones": lambda call, grad, types: [],
    "ones_like": _unary(lambda x, r, g: op.zeros_like(x)),
    "reshape": _like,
    "sigmoid": _unary(lambda x, r, g: g * r * (_ones(r) - r)),
    "sin": _unary(lambda x, r, g: g * op.cos(x)),
    "sinh": _unary(lambda x, r, g: g * op.cosh(x)),
    "split": lambda call, grad, types: [op.concatenate(grad, axis=call.attrs.axis)],
    "sqrt": _sqrt,
    "squeeze": _like,
    "subtract": _binary(lambda x, y, r, g: (g, op.negative(g))),
    "sum": _sum,
    "tan": _unary(lambda x, r, g: g / (op.cos(x) * op.cos(x))),
    "tanh": _unary(lambda x, r, g: g * (_ones(r) - r * r)),
    "transpose": _transpose,
    "zeros": lambda call, grad, types: [],
    "zeros_like": _unary(lambda x, r, g: r),
}
