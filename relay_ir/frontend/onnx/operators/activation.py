"""Activations."""

from __future__ import annotations

from collections.abc import Mapping
from math import sqrt

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.ir.expr import Expr


def _relu(at: Conversion) -> Expr:
    x = at.arg()
    return at.call("nn.relu", x) if at.floating(x) else at.call("maximum", x, at.like(0, x))


def leaky_relu(at: Conversion, x: Expr, alpha: float) -> Expr:
    """Return ``x``, times ``alpha`` below 0."""
    return at.call("nn.leaky_relu", x, alpha=float(alpha))


def elu(at: Conversion, x: Expr, alpha: float, scale: float = 1.0) -> Expr:
    """``scale * x`` above 0, ``scale * alpha * (exp(x) - 1)`` below."""
    zero, one = at.like(0, x), at.like(1, x)
    below = at.call("subtract", at.call("exp", at.call("minimum", x, zero)), one)
    made = at.call("add", at.call("nn.relu", x), at.call("multiply", at.like(alpha, x), below))
    return made if scale == 1.0 else at.call("multiply", made, at.like(scale, x))


def _selu(at: Conversion) -> Expr:
    gamma = at.attr("gamma", 1.0507009873554805 if at.opset >= 6 else 1.0507)
    return elu(at, at.arg(), at.attr("alpha", 1.6732632423543772 if at.opset >= 6 else 1.6732), gamma)


def _celu(at: Conversion) -> Expr:
    x, alpha = at.arg(), at.attr("alpha", 1.0)
    zero = at.like(0, x)
    powered = at.call("exp", at.call("divide", at.call("minimum", x, zero), at.like(alpha, x)))
    below = at.call("multiply", at.like(alpha, x), at.call("subtract", powered, at.like(1, x)))
    return at.call("add", at.call("nn.relu", x), below)


def _thresholded(at: Conversion) -> Expr:
    x = at.arg()
    passed = at.call("greater", x, at.like(at.attr("alpha", 1.0), x))
    return at.call("where", passed, x, at.like(0, x))


def hard_sigmoid(at: Conversion, x: Expr, alpha: float, beta: float) -> Expr:
    """Return ``alpha * x + beta``, between 0 and 1."""
    line = at.call("add", at.call("multiply", x, at.like(alpha, x)), at.like(beta, x))
    return at.call("clip", line, a_min=0.0, a_max=1.0)


def _hard_swish(at: Conversion) -> Expr:
    return at.call("multiply", at.arg(), hard_sigmoid(at, at.arg(), 1 / 6, 0.5))


def softplus(at: Conversion, x: Expr) -> Expr:
    """Return ``log(1 + exp(x))``, which does not overflow."""
    rest = at.call("log", at.call("add", at.like(1, x), at.call("exp", at.call("negative", at.call("abs", x)))))
    return at.call("add", at.call("nn.relu", x), rest)


def softsign(at: Conversion, x: Expr) -> Expr:
    """Return ``x / (1 + |x|)``."""
    return at.call("divide", x, at.call("add", at.like(1, x), at.call("abs", x)))


def _shrink(at: Conversion) -> Expr:
    x, dtype = at.arg(), at.dtype(at.arg())
    wide = at.cast(x, dtype if at.floating(x) else "float64")
    limit, bias = at.like(at.attr("lambd", 0.5), wide), at.like(at.attr("bias", 0.0), wide)
    above = at.call("where", at.call("greater", wide, limit), at.call("subtract", wide, bias), at.like(0, wide))
    below = at.call("less", wide, at.call("negative", limit))
    return at.cast(at.call("where", below, at.call("add", wide, bias), above), dtype)


def _binarizer(at: Conversion) -> Expr:
    x = at.arg()
    return at.cast(at.call("greater", x, at.like(at.attr("threshold", 0.0), x)), at.dtype(x))


def _prelu(at: Conversion) -> Expr:
    x, slope = at.arg(0), at.arg(1)
    if at.opset < 7 and at.rank(slope) == 1 and at.rank(x) > 2:
        slope = at.unsqueeze(slope, list(range(1, at.rank(x) - 1)))
    return at.call("where", at.call("less", x, at.like(0, x)), at.call("multiply", x, slope), x)


def gelu(at: Conversion, x: Expr, approximate: str = "none") -> Expr:
    """Return the Gaussian error linear unit of ``x``, or what comes near it."""
    half = at.call("multiply", x, at.like(0.5, x))
    if approximate == "tanh":
        cube = at.call("multiply", at.call("multiply", x, x), x)
        inner = at.call("add", x, at.call("multiply", cube, at.like(0.044715, x)))
        inner = at.call("tanh", at.call("multiply", inner, at.like(sqrt(0.6366197723675814), x)))
    else:
        inner = at.call("erf", at.call("multiply", x, at.like(sqrt(0.5), x)))
    return at.call("multiply", half, at.call("add", inner, at.like(1, x)))


def _mish(at: Conversion) -> Expr:
    return at.call("multiply", at.arg(), at.call("tanh", softplus(at, at.arg())))


def softmax(at: Conversion, x: Expr, axis: int, name: str = "nn.softmax") -> Expr:
    """Return a softmax along one axis, which Relay computes in floats."""
    return at.call(name, x, axis=axis)


def _along(name: str) -> Convert:
    return lambda at: softmax(at, at.arg(), at.axis(at.arg(), -1), name)


def _flattened(name: str) -> Convert:
    """Before opset 13 all axes from ``axis`` on are one."""

    def convert(at: Conversion) -> Expr:
        x = at.arg()
        axis = at.axis(x, 1)
        if axis == at.rank(x) - 1:
            return _one(at, x, name)
        shape = at.shape_of(x)
        rows = int_product(at, x, axis)
        return at.reshape_to(_one(at, at.reshape(x, [rows, -1]), name), shape)

    return convert


def int_product(at: Conversion, x: Expr, axis: int) -> int:
    """Return how many elements the axes before ``axis`` have together."""
    product = 1
    for extent in at.shape(x)[:axis]:
        product *= extent
    return product


def _one(at: Conversion, x: Expr, name: str) -> Expr:
    return _hardest(at, x, -1) if name == "hardmax" else softmax(at, x, at.rank(x) - 1, name)


def _hardest(at: Conversion, x: Expr, axis: int) -> Expr:
    (depth,) = (at.shape(x)[axis],)
    places = at.call("argmax", x, axis=[axis])
    on, off = at.like(1, x), at.like(0, x)
    return at.call("one_hot", places, on, off, depth, axis if axis == -1 else axis % at.rank(x), at.dtype(x))


def _hardmax(at: Conversion) -> Expr:
    return _hardest(at, at.arg(), at.axis(at.arg(), -1))


def _dropout(at: Conversion) -> tuple[Expr, ...]:
    """Nothing is dropped where nothing is trained."""
    training = at.known(2)
    if at.has(2) and (training is None or bool(training)) and (at.known(1) is None or at.known(1) != 0):
        at.refuse("it trains")
    x = at.arg()
    if len(at.node.outputs) < 2 or not at.node.outputs[1]:
        return (at.call("copy", x),)
    kept = at.call("ones_like", x)
    return at.call("copy", x), at.cast(kept, "bool" if at.opset >= 10 else at.dtype(x))


OPERATORS: dict[str, Convert | Mapping[int, Convert]] = {
    "Relu": _relu,
    "LeakyRelu": lambda at: leaky_relu(at, at.arg(), at.attr("alpha", 0.01)),
    "Elu": lambda at: elu(at, at.arg(), at.attr("alpha", 1.0)),
    "Selu": _selu,
    "Celu": _celu,
    "ThresholdedRelu": _thresholded,
    "HardSigmoid": lambda at: hard_sigmoid(at, at.arg(), at.attr("alpha", 0.2), at.attr("beta", 0.5)),
    "HardSwish": _hard_swish,
    "Softplus": lambda at: softplus(at, at.arg()),
    "Softsign": lambda at: softsign(at, at.arg()),
    "Shrink": _shrink,
    "PRelu": _prelu,
    "ai.onnx.ml.Binarizer": _binarizer,
    "Gelu": lambda at: gelu(at, at.arg(), at.attr("approximate", "none")),
    "Mish": _mish,
    "Softmax": {1: _flattened("nn.softmax"), 13: _along("nn.softmax")},
    "LogSoftmax": {1: _flattened("nn.log_softmax"), 13: _along("nn.log_softmax")},
    "Hardmax": {1: _flattened("hardmax"), 13: _hardmax},
    "Dropout": _dropout,
}
