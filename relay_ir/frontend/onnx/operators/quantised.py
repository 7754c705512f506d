"""Numbers of few bits. What ONNX computes in integers and rounds is said by plain operators, to the
bit; Relay's ``qnn`` operators round halves otherwise.
"""

from __future__ import annotations

from relay2relax.core.dtype import integer_range, is_float
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.elements import Element, element_of
from relay2relax.relay_ir.frontend.onnx.operators.arithmetic import half_to_even
from relay2relax.relay_ir.frontend.onnx.operators.casting import converted
from relay2relax.relay_ir.frontend.onnx.operators.convolution import windows
from relay2relax.relay_ir.frontend.onnx.operators.matmul import matmul
from relay2relax.relay_ir.frontend.onnx.operators.pooling import pooled
from relay2relax.relay_ir.frontend.onnx.protos import element_numbered
from relay2relax.relay_ir.ir.expr import Expr


def _aligned(at: Conversion, x: Expr, value: Expr, axis: int, block: int = 0) -> Expr:
    """Return a scale or zero point as it meets ``x``: one number, one for each place of an axis, or
    one for each block.
    """
    if block:
        rank, axis = at.rank(x), axis % at.rank(x)
        wide = at.call("repeat", value, block, axis=axis)
        return at.slice(wide, axis, 0, at.shape(x)[axis]) if rank else wide
    if at.rank(value) != 1 or at.rank(x) == 0:
        return value
    if at.static(value) == (1,):
        return at.scalar(value)
    behind = at.rank(x) - 1 - axis % at.rank(x)
    return at.unsqueeze(value, list(range(1, behind + 1))) if behind else value


def quantized(at: Conversion, x: Expr, scale: Expr, zero: Expr | None, dtype: str, axis: int, block: int = 0) -> Expr:
    """Return ``round(x / scale) + zero`` in ``dtype``, kept inside of it."""
    scale = _aligned(at, x, at.cast(scale, at.dtype(x)), axis, block)
    return _rounded(at, at.call("divide", x, scale), zero, dtype, axis, block)


def _rounded(at: Conversion, x: Expr, zero: Expr | None, dtype: str, axis: int, block: int = 0) -> Expr:
    """Return ``round(x) + zero`` in ``dtype``, kept inside of it."""
    made = half_to_even(at, x)
    if zero is not None:
        made = at.call("add", made, at.cast(_aligned(at, x, zero, axis, block), at.dtype(x)))
    low, high = integer_range(dtype)
    return at.cast(at.call("clip", made, a_min=float(low), a_max=float(high)), element_of(dtype).dtype)


def dequantized(at: Conversion, x: Expr, scale: Expr, zero: Expr | None, axis: int, block: int = 0) -> Expr:
    """Return ``(x - zero) * scale``."""
    wide = at.cast(x, "int32")
    if zero is not None:
        wide = at.call("subtract", wide, at.cast(_aligned(at, x, zero, axis, block), "int32"))
    return at.call("multiply", at.cast(wide, at.dtype(scale)), _aligned(at, x, scale, axis, block))


def _quantize(at: Conversion) -> Expr:
    zero = at.arg(2) if at.has(2) else None
    into = at.element(zero) if zero is not None else element_of("uint8")
    if at.attr("output_dtype", 0):
        into = element_numbered(at.attr("output_dtype"))
    x = at.arg(0)
    wide = x if at.floating(x) else at.cast(x, "float32")
    axis, block = at.attr("axis", 1), at.attr("block_size", 0)
    if is_float(into.name):
        return _floats(at, wide, zero, into, axis, block)
    return at.holding(quantized(at, wide, at.arg(1), zero, into.name, axis, block), into)


def _floats(at: Conversion, x: Expr, zero: Expr | None, into: Element, axis: int, block: int) -> Expr:
    """Return ``x / scale`` as floats of few bits."""
    made = at.call("divide", x, _aligned(at, x, at.cast(at.arg(1), at.dtype(x)), axis, block))
    if zero is not None:
        made = at.call("add", made, at.cast(_aligned(at, x, zero, axis, block), at.dtype(x)))
    return converted(at, made, into, bool(at.attr("saturate", 1)))


def _dequantize(at: Conversion) -> Expr:
    x, scale = at.arg(0), at.arg(1)
    zero = at.arg(2) if at.has(2) else None
    axis, block = at.attr("axis", 1), at.attr("block_size", 0)
    if not at.floating(x):
        return dequantized(at, x, scale, zero, axis, block)
    made = at.cast(x, at.dtype(scale))
    if zero is not None:
        made = at.call("subtract", made, at.cast(_aligned(at, x, zero, axis, block), at.dtype(scale)))
    return at.call("multiply", made, _aligned(at, x, scale, axis, block))


def _without_zero(at: Conversion, x: Expr, zero: Expr | None, rows: bool = False) -> Expr:
    """Return integers less their zero point, as int32."""
    wide = at.cast(x, "int32")
    if zero is None:
        return wide
    zero = at.cast(zero, "int32")
    if at.rank(zero) == 1 and at.static(zero) == (1,):
        zero = at.scalar(zero)
    if rows and at.rank(zero) == 1:
        zero = at.unsqueeze(zero, [1])
    return at.call("subtract", wide, zero)


def _matmul_integer(at: Conversion) -> Expr:
    left = _without_zero(at, at.arg(0), at.arg(2) if at.has(2) else None, rows=True)
    right = _without_zero(at, at.arg(1), at.arg(3) if at.has(3) else None)
    return matmul(at, left, right, "int32")


def _convolved(at: Conversion, data: Expr, zero: Expr | None, weight: Expr, weight_zero: Expr | None) -> Expr:
    """Return the convolution of integers, which are those of int32."""
    shape = at.shape(weight)
    rank = len(shape) - 2
    kernel = tuple(at.attr("kernel_shape", shape[2:]))
    wide = _without_zero(at, data, zero)
    if weight_zero is not None and at.rank(weight_zero) == 1 and at.shape(weight_zero)[0] > 1:
        weight_zero = at.unsqueeze(weight_zero, list(range(1, rank + 2)))
    kernels = _without_zero(at, weight, weight_zero)
    return at.call(
        f"nn.conv{rank}d", wide, kernels, groups=at.attr("group", 1), channels=shape[0], kernel_size=kernel,
        out_dtype="int32", **windows(at, data, kernel),
    )  # fmt: skip


def _conv_integer(at: Conversion) -> Expr:
    return _convolved(at, at.arg(0), at.arg(2) if at.has(2) else None, at.arg(1), at.arg(3) if at.has(3) else None)


def _requantized(at: Conversion, total: Expr, factor: Expr, scale: Expr, zero: Expr, axis: int) -> Expr:
    """Return integers times ``factor`` as numbers of ``scale`` and ``zero``.

    The quotient of the two is one number for each channel, as in ONNX's reference and ONNX Runtime.
    """
    factor, scale = (_aligned(at, total, at.cast(one, "float32"), axis) for one in (factor, scale))
    floats = at.call("multiply", at.cast(total, "float32"), at.call("divide", factor, scale))
    return _rounded(at, floats, zero, at.dtype(zero), axis)


def _qlinear_conv(at: Conversion) -> Expr:
    data, weight = at.arg(0), at.arg(3)
    total = _convolved(at, data, at.arg(2), weight, at.arg(5))
    if at.has(8):
        total = at.call("nn.bias_add", total, at.arg(8))
    factor = at.call("multiply", at.arg(1), at.arg(4))
    return _requantized(at, total, factor, at.arg(6), at.arg(7), 1)


def _qlinear_matmul(at: Conversion) -> Expr:
    left = _without_zero(at, at.arg(0), at.arg(2), rows=True)
    total = matmul(at, left, _without_zero(at, at.arg(3), at.arg(5)), "int32")
    factor = at.call("multiply", at.cast(at.arg(1), "float32"), at.cast(at.arg(4), "float32"))
    return _requantized(at, total, factor, at.arg(6), at.arg(7), -1)


# Operators of com.microsoft: between numbers, back to numbers.


def _zero(at: Conversion, place: int, like: Expr) -> Expr:
    return at.arg(place) if at.has(place) else at.like(0, like)


def _qlinear_binary(name: str) -> Convert:
    def convert(at: Conversion) -> Expr:
        left = dequantized(at, at.arg(0), at.arg(1), at.arg(2) if at.has(2) else None, 1)
        right = dequantized(at, at.arg(3), at.arg(4), at.arg(5) if at.has(5) else None, 1)
        zero = _zero(at, 7, at.arg(0))
        return quantized(at, at.call(name, left, right), at.arg(6), zero, at.dtype(zero), 1)

    return convert


def _qlinear_unary(name: str) -> Convert:
    def convert(at: Conversion) -> Expr:
        x = dequantized(at, at.arg(0), at.arg(1), at.arg(2) if at.has(2) else None, 1)
        given = {"alpha": float(at.attr("alpha", 0.01))} if name == "nn.leaky_relu" else {}
        zero = _zero(at, 4, at.arg(0))
        return quantized(at, at.call(name, x, **given), at.arg(3), zero, at.dtype(zero), 1)

    return convert


def _qlinear_softmax(at: Conversion) -> Expr:
    x = dequantized(at, at.arg(0), at.arg(1), at.arg(2) if at.has(2) else None, 1)
    zero, scale = _zero(at, 4, at.arg(0)), at.arg(3)
    # ONNX Runtime counts in whole steps: of a scale of 1 / 255, whose float is above it, in 254.
    steps = at.call("floor", at.call("divide", at.like(1.0, scale), scale))
    made = at.call("multiply", at.call("nn.softmax", x, axis=at.attr("axis", -1)), steps)
    return quantized(at, made, at.like(1.0, scale), zero, at.dtype(zero), 1)


def _qlinear_concat(at: Conversion) -> Expr:
    parts = [dequantized(at, at.arg(i), at.arg(i + 1), at.arg(i + 2), 1) for i in range(2, len(at.args), 3)]
    whole = at.call("concatenate", at.tuple(parts), axis=at.wanted("axis"))
    return quantized(at, whole, at.arg(0), at.arg(1), at.dtype(at.arg(1)), 1)


def _qlinear_average(at: Conversion, everywhere: bool = False) -> Expr:
    if at.attr("channels_last", 0):
        at.refuse("its channels are last")
    x = dequantized(at, at.arg(0), at.arg(1), at.arg(2) if at.has(2) else None, 1)
    made = at.call("mean", x, axis=list(range(2, at.rank(x))), keepdims=True) if everywhere else pooled(at, x, "avg")
    zero = _zero(at, 4, at.arg(0))
    return quantized(at, made, at.arg(3), zero, at.dtype(zero), 1)


def _qgemm(at: Conversion) -> Expr:
    left, right = at.arg(0), at.arg(3)
    if at.attr("transA", 0):
        left = at.transpose(left, [1, 0])
    if at.attr("transB", 0):
        right = at.transpose(right, [1, 0])
    left, right = _without_zero(at, left, at.arg(2)), _without_zero(at, right, at.arg(5))
    total = matmul(at, left, right, "int32")
    if at.has(6):
        total = at.call("add", total, at.arg(6))
    factor = at.call("multiply", at.arg(1), at.arg(4))
    alpha = at.attr("alpha", 1.0)
    if alpha != 1.0:
        factor = at.call("multiply", factor, at.like(alpha, factor))
    if not at.has(7):
        return at.call("multiply", at.cast(total, "float32"), _aligned(at, total, factor, -1))
    return _requantized(at, total, factor, at.arg(7), at.arg(8), -1)


def _in_floats(at: Conversion, total: Expr, scale: Expr, bias: int) -> Expr:
    """Return integers times a scale, with the bias that may be an argument."""
    made = at.call("multiply", at.cast(total, at.dtype(scale)), _aligned(at, total, scale, -1))
    return at.call("add", made, at.arg(bias)) if at.has(bias) else made


def _matmul_to_floats(at: Conversion) -> Expr:
    """``MatMulIntegerToFloat``: both, their scales, their zero points, a bias."""
    left = _without_zero(at, at.arg(0), at.arg(4) if at.has(4) else None)
    right = _without_zero(at, at.arg(1), at.arg(5) if at.has(5) else None)
    scale = at.call("multiply", at.arg(2), at.arg(3))
    return _in_floats(at, matmul(at, left, right, "int32"), scale, 6)


def _quantising_matmul(at: Conversion) -> Expr:
    """``DynamicQuantizeMatMul``: floats, whose scale follows from them; weights, their scale and
    zero point, a bias.
    """
    data, zero_number = at.arg(0), at.like(0.0, at.arg(0))
    low = at.call("minimum", at.call("min", data), zero_number)
    high = at.call("maximum", at.call("max", data), zero_number)
    span = at.call("divide", at.call("subtract", high, low), at.like(255.0, data))
    scale = at.call("where", at.call("equal", span, zero_number), at.like(1.0, data), span)
    zero = half_to_even(at, at.call("divide", at.call("negative", low), scale))
    zero = at.cast(at.call("clip", zero, a_min=0.0, a_max=255.0), "uint8")
    left = _without_zero(at, quantized(at, data, scale, zero, "uint8", -1), zero)
    right = _without_zero(at, at.arg(1), at.arg(3) if at.has(3) else None)
    return _in_floats(at, matmul(at, left, right, "int32"), at.call("multiply", scale, at.arg(2)), 4)


OPERATORS: dict[str, Convert] = {
    "QuantizeLinear": _quantize,
    "DequantizeLinear": _dequantize,
    "MatMulInteger": _matmul_integer,
    "ConvInteger": _conv_integer,
    "QLinearConv": _qlinear_conv,
    "QLinearMatMul": _qlinear_matmul,
    "com.microsoft.QuantizeLinear": _quantize,
    "com.microsoft.DequantizeLinear": _dequantize,
    "com.microsoft.MatMulInteger16": _matmul_integer,
    "com.microsoft.QLinearConv": _qlinear_conv,
    "com.microsoft.QLinearAdd": _qlinear_binary("add"),
    "com.microsoft.QLinearMul": _qlinear_binary("multiply"),
    "com.microsoft.QLinearSigmoid": _qlinear_unary("sigmoid"),
    "com.microsoft.QLinearLeakyRelu": _qlinear_unary("nn.leaky_relu"),
    "com.microsoft.QLinearSoftmax": _qlinear_softmax,
    "com.microsoft.QLinearConcat": _qlinear_concat,
    "com.microsoft.QLinearAveragePool": _qlinear_average,
    "com.microsoft.QLinearGlobalAveragePool": lambda at: _qlinear_average(at, everywhere=True),
    "com.microsoft.QGemm": _qgemm,
    "com.microsoft.MatMulIntegerToFloat": _matmul_to_floats,
    "com.microsoft.DynamicQuantizeMatMul": _quantising_matmul,
}
