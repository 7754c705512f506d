"""The gradients of element-wise operators."""

from __future__ import annotations

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.transform.parts import scalar
from relay2relax.relay_ir.transform.training.gradients.rules import (
    Gradient,
    Rules,
    binary,
    ones,
    tensor,
    unary,
    zeros,
)


def _log_base(base: float) -> Gradient:
    def gradient(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
        x: Expr = call.args[0]
        number = scalar(base, tensor(x, types).dtype)
        return [grad * ones(x) / (op.log(number) * x)]

    return gradient


def _sqrt(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    x = call.args[0]
    half = scalar(0.5, tensor(x, types).dtype)
    return [grad * half * op.power(x, op.negative(half))]


def _rsqrt(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    result: Expr = call
    half = scalar(-0.5, tensor(call.args[0], types).dtype)
    return [grad * half * result / call.args[0]]


def _erf(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    x: Expr = call.args[0]
    # 2 / sqrt(pi)
    factor = scalar(1.1283791670955126, tensor(x, types).dtype)
    return [factor * op.exp(-x * x) * grad]


def _clip(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    x: Expr = call.args[0]
    dtype = tensor(x, types).dtype
    low, high = (op.broadcast_to_like(scalar(one, dtype), x) for one in (call.attrs.a_min, call.attrs.a_max))
    none, all_of_it = op.zeros_like(x), ones(x)
    return [op.where(op.less(x, low), none, op.where(op.less(high, x), none, all_of_it * grad))]


def _relu(x: Expr, result: Expr, grad: Expr) -> Expr:
    none, all_of_it = op.zeros_like(x), ones(x)
    made: Expr = op.where(op.less(x, none), none, all_of_it * grad)
    return made


def _leaky_relu(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    x = call.args[0]
    slope = scalar(call.attrs.alpha, tensor(x, types).dtype)
    return [op.where(op.less(x, op.zeros_like(x)), grad * slope, grad)]


def _abs(x: Expr, result: Expr, grad: Expr) -> Expr:
    none, one = op.zeros_like(x), ones(x)
    made: Expr = op.where(op.less(x, none), -one * grad, one * grad)
    return made


def _power(x: Expr, y: Expr, result: Expr, grad: Expr) -> tuple[Expr, Expr]:
    """Differentiate ``x ** y``; by ``y`` it is 0 where ``x`` is 0."""
    nothing = op.zeros_like(result)
    by_exponent = op.where(op.equal(x, op.zeros_like(x)), nothing, grad * result * op.log(x))
    return grad * y * op.power(x, y - ones(y)), by_exponent


def _larger(x: Expr, y: Expr, grad: Expr) -> Expr:
    """Return the gradient by ``x`` where it is larger, half of it where both are equal."""
    whole: Expr = op.cast_like(op.greater(x, y), grad)
    same: Expr = op.cast_like(op.equal(x, y), grad)
    return grad * (whole + same / (ones(same) + ones(same)))


def _where(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    condition, x, y = call.args
    none = op.zeros_like(grad)
    of_x, of_y = op.where(condition, grad, none), op.where(condition, none, grad)
    return [op.zeros_like(condition), op.collapse_sum_like(of_x, x), op.collapse_sum_like(of_y, y)]


def _cast_like(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
    return [op.cast_like(grad, call.args[0]), op.zeros_like(call.args[1])]


RULES: Rules = {
    "abs": unary(_abs),
    "acos": unary(lambda x, r, g: g * (-ones(x) / op.sqrt(ones(x) - (x * x)))),
    "acosh": unary(lambda x, r, g: g * ones(x) / op.sqrt((x * x) - ones(x))),
    "add": binary(lambda x, y, r, g: (g, g)),
    # HigherOrderGradient computes again what stands in it.
    "annotation.checkpoint": unary(lambda x, r, g: g),
    "annotation.stop_fusion": unary(lambda x, r, g: g),
    "asin": unary(lambda x, r, g: g * ones(x) / op.sqrt(ones(x) - (x * x))),
    "asinh": unary(lambda x, r, g: g * ones(x) / op.sqrt(ones(x) + (x * x))),
    "atan": unary(lambda x, r, g: g * ones(x) / (ones(x) + (x * x))),
    "atanh": unary(lambda x, r, g: g * ones(x) / (ones(x) - (x * x))),
    "cast": unary(lambda x, r, g: op.cast_like(g, x)),
    "cast_like": _cast_like,
    "ceil": zeros,
    "clip": _clip,
    "copy": unary(lambda x, r, g: g),
    "cos": unary(lambda x, r, g: g * (-ones(x) * op.sin(x))),
    "cosh": unary(lambda x, r, g: g * op.sinh(x)),
    "divide": binary(lambda x, y, r, g: (g / y, -(g * r / y))),
    "erf": _erf,
    "exp": unary(lambda x, r, g: g * op.exp(x)),
    "floor": zeros,
    "log": unary(lambda x, r, g: g * ones(x) / x),
    "log10": _log_base(10.0),
    "log2": _log_base(2.0),
    "maximum": binary(lambda x, y, r, g: (_larger(x, y, g), _larger(y, x, g))),
    "minimum": binary(lambda x, y, r, g: (_larger(y, x, g), _larger(x, y, g))),
    "multiply": binary(lambda x, y, r, g: (g * y, g * x)),
    "negative": unary(lambda x, r, g: -g),
    "nn.leaky_relu": _leaky_relu,
    "nn.relu": unary(_relu),
    "power": binary(_power),
    "round": zeros,
    "rsqrt": _rsqrt,
    "sigmoid": unary(lambda x, r, g: g * r * (ones(r) - r)),
    "sign": zeros,
    "sin": unary(lambda x, r, g: g * op.cos(x)),
    "sinh": unary(lambda x, r, g: g * op.cosh(x)),
    "sqrt": _sqrt,
    "subtract": binary(lambda x, y, r, g: (g, op.negative(g))),
    "tan": unary(lambda x, r, g: g / (op.cos(x) * op.cos(x))),
    "tanh": unary(lambda x, r, g: g * (ones(r) - r * r)),
    "trunc": zeros,
    "where": _where,
}
