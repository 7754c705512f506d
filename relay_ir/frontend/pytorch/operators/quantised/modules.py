"""Quantised modules of TorchScript, by Relay's operators of QNN.

PyTorch's quantised tensors carry their scale and zero point; here these are noted by expression
(``Types.quantised``). What they are computed of: TVM 0.18 python/tvm/relay/frontend/qnn_torch.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import cast

import numpy as np

from relay2relax.core.dtype import integer_range
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.dtypes import BY_NUMBER
from relay2relax.relay_ir.frontend.pytorch.operators.arithmetic import half_to_even
from relay2relax.relay_ir.frontend.pytorch.operators.quantised.packed import Packed
from relay2relax.relay_ir.frontend.pytorch.operators.record import AtenOperator, Convert, records
from relay2relax.relay_ir.frontend.pytorch.types import Quantised
from relay2relax.relay_ir.ir.expr import Expr, RelayExpr
from relay2relax.relay_ir.ir.types import TupleType

# The numbers of PyTorch's quantised dtypes.
_DTYPES = {12: "int8", 13: "uint8"}


def _of(at: Conversion, place: int) -> tuple[Expr, Quantised]:
    """Return an argument that is quantised, and how."""
    data = at.tensor(place)
    found = at.types.quantised.get(data)
    if found is None:
        at.refuse(f"the scale of argument {place} is not known")
    return data, found


def _with(at: Conversion, made: Expr, scale: float, zero: int) -> Expr:
    """Return an expression that is quantised so."""
    at.types.quantised[made] = Quantised(scale, zero)
    return made


def _pair(at: Conversion, how: Quantised) -> tuple[Expr, Expr]:
    return at.const(how.scale, "float32"), at.const(how.zero, "int32")


def _stated(at: Conversion, place: int) -> Quantised:
    """Return the scale and zero point that arguments state."""
    return Quantised(float(at.number(place)), at.integer(place + 1))


def _quantize(at: Conversion, data: Expr, how: Quantised, dtype: str, axis: int = -1) -> Expr:
    made = at.call("qnn.quantize", data, *_pair(at, how), axis=axis, out_dtype=dtype)
    return _with(at, made, how.scale, how.zero)


def _dequantize(at: Conversion, data: Expr, how: Quantised) -> Expr:
    return at.call("qnn.dequantize", data, *_pair(at, how))


def _quantize_per_tensor(at: Conversion) -> Value:
    """``quantize_per_tensor(data, scale, zero point, dtype)``."""
    number = at.integer(3)
    if number not in _DTYPES:
        at.refuse(f"it makes numbers of {BY_NUMBER.get(number, f'dtype {number}')}")
    return _quantize(at, at.tensor(0), _stated(at, 1), _DTYPES[number], 1 if at.rank(at.tensor(0)) > 1 else 0)


def _dequantized(at: Conversion) -> Value:
    return _dequantize(at, *_of(at, 0))


def _layer(at: Conversion) -> Packed:
    found = at.value(1)
    if not isinstance(found, Packed):
        at.refuse("its weights are not packed")
    return found


def _weight(at: Conversion, layer: Packed) -> tuple[Expr, Expr, Expr]:
    """Return the weight as int8, its scale and its zero point."""
    scale, zero = at.const(layer.scale, "float32"), at.const(0, "int32")
    held = layer.weight_variable()
    weight = held if layer.keep else at.call("qnn.quantize", held, scale, zero, axis=layer.axis, out_dtype="int8")
    return weight, scale, zero


def _requantized(at: Conversion, made: Expr, layer: Packed, source: Quantised, relu: bool, dtype: str) -> Expr:
    """Return sums of products as numbers of the output, the bias added before."""
    scale = np.asarray(np.float32(source.scale) * layer.scale)
    bias = layer.bias_variable(scale)
    if bias is not None:
        given = at.const(scale, "float32"), at.const(0, "int32")
        numbers = bias if layer.keep else at.call("qnn.quantize", bias, *given, axis=0, out_dtype="int32")
        made = at.call("nn.bias_add", made, numbers)
    how = _stated(at, 2)
    made = at.call(
        "qnn.requantize", made, at.const(scale, "float32"), at.const(0, "int32"), *_pair(at, how), axis=1,
        out_dtype="int32",
    )  # fmt: skip
    low, high = integer_range(dtype)
    made = at.call("clip", made, a_min=float(how.zero if relu else low), a_max=float(high))
    return _with(at, at.cast(made, dtype), how.scale, how.zero)


def _convolution(rank: int, relu: bool = False, transposed: bool = False) -> Convert:
    """``quantized::conv2d(data, layer, scale, zero point)``."""

    def convert(at: Conversion) -> Value:
        (data, source), layer = _of(at, 0), _layer(at)
        dtype = at.dtype(data)
        if rank == 1:
            data = at.call("expand_dims", data, axis=2)
        weight, scale, zero = _weight(at, layer)
        window = layer.window
        padding = [int(one) for one in window["padding"]]
        more: dict[str, object] = {name: window[name] for name in ("dilation", "groups")}
        more["strides"] = window["stride"]
        if transposed:
            more |= {"padding": padding, "output_padding": window["output_padding"], "kernel_layout": "IOHW"}
        elif any(padding):
            pairs = ((0, 0), (0, 0), *((one, one) for one in padding))
            data = at.call("nn.pad", data, pairs, at.const(source.zero, dtype))
        shape = layer.weight.shape
        made = at.call(
            "qnn.conv2d_transpose" if transposed else "qnn.conv2d", data, weight, at.const(source.zero, "int32"), zero,
            at.const(source.scale, "float32"), scale, kernel_size=list(shape[2:]),
            channels=shape[1] * int(window["groups"]) if transposed else shape[0], out_dtype="int32", **more,
        )  # fmt: skip
        made = _requantized(at, made, layer, source, relu, dtype)
        if rank == 1:
            made = _with(at, at.call("squeeze", made, axis=[2]), *_stated(at, 2))
        return made

    return convert


def _dense(at: Conversion, data: Expr, layer: Packed, zero: Expr, scale: Expr) -> Expr:
    """Return the products of rows, all axes but the last being rows."""
    rows = data if at.rank(data) == 2 else at.call("reshape", data, [-1, layer.weight.shape[1]])
    weight, own_scale, own_zero = _weight(at, layer)
    return at.call("qnn.dense", rows, weight, zero, own_zero, scale, own_scale, units=layer.weight.shape[0])


def _rows_back(at: Conversion, made: Expr, data: Expr, layer: Packed) -> Expr:
    if at.rank(data) == 2:
        return made
    return at.call("reshape", made, [*at.shape(data)[:-1], layer.weight.shape[0]])


def _linear(relu: bool = False) -> Convert:
    """``quantized::linear(data, layer, scale, zero point)``."""

    def convert(at: Conversion) -> Value:
        (data, source), layer = _of(at, 0), _layer(at)
        scale, zero = _pair(at, source)
        made = _requantized(at, _dense(at, data, layer, zero, scale), layer, source, relu, at.dtype(data))
        return _with(at, _rows_back(at, made, data, layer), *_stated(at, 2))

    return convert


def _linear_dynamic(relu: bool = False) -> Convert:
    """``quantized::linear_dynamic(data, layer, whether to keep one bit free)``: the data give the
    scale, and the result is floats.
    """

    def convert(at: Conversion) -> Value:
        data, layer = at.tensor(0), _layer(at)
        most = 127.0 if at.number(2, False) else 255.0
        nothing = at.const(0.0, "float32")
        low = at.call("minimum", at.call("min", data), nothing)
        high = at.call("maximum", at.call("max", data), nothing)
        scale = at.call("divide", at.call("subtract", high, low), at.const(most, "float32"))
        scale = at.call("where", at.call("equal", scale, nothing), at.const(0.1, "float32"), scale)
        zero = at.call("clip", at.call("negative", at.call("divide", low, scale)), a_min=0.0, a_max=most)
        zero = at.cast(at.call("round", zero), "int32")
        numbers = at.call("qnn.quantize", data, scale, zero, out_dtype="uint8")
        made = _dense(at, numbers, layer, zero, scale)
        both = at.call("multiply", scale, at.const(layer.scale, "float32"))
        made = at.call("qnn.dequantize", made, both, at.const(0, "int32"), axis=1)
        bias = layer.bias_variable(None)
        made = _rows_back(at, made if bias is None else at.call("add", made, bias), data, layer)
        return at.call("nn.relu", made) if relu else made

    return convert


def _binary(name: str, relu: bool = False) -> Convert:
    """``quantized::add(one, other, scale, zero point)``."""

    def convert(at: Conversion) -> Value:
        (one, first), (other, second), how = _of(at, 0), _of(at, 1), _stated(at, 2)
        made = at.call(name, one, other, *_pair(at, first), *_pair(at, second), *_pair(at, how))
        if relu:
            made = at.call("clip", made, a_min=float(how.zero), a_max=float(integer_range(at.dtype(one))[1]))
        return _with(at, made, how.scale, how.zero)

    return convert


def _cat(at: Conversion) -> Value:
    """``quantized::cat(tensors, axis, scale, zero point)``."""
    tensors, how = at.tensors(0), _stated(at, 2)
    pairs = [_pair(at, _of(at.with_args([one]), 0)[1]) for one in tensors]
    scales, zeros = at.tuple([one for one, _ in pairs]), at.tuple([one for _, one in pairs])
    made = at.call("qnn.concatenate", at.tuple(tensors), scales, zeros, *_pair(at, how), axis=at.integer(1))
    return _with(at, made, how.scale, how.zero)


def _add_scalar(at: Conversion) -> Value:
    """The zero point moves; where it would leave the range, the scale grows."""
    data, how = _of(at, 0)
    low, high = integer_range(at.dtype(data))
    steps = round(float(at.number(1)) / how.scale)
    moved = how.zero - steps
    if low <= moved <= high:
        return _with(at, _same(at, data), how.scale, moved)
    grown = (high - moved if moved < low else moved - low) / (high - low) * how.scale
    floats = at.call("add", _dequantize(at, data, how), at.const(steps * how.scale, "float32"))
    return _quantize(at, floats, Quantised(grown, low if moved < low else high), at.dtype(data), 1)


def _mul_scalar(at: Conversion) -> Value:
    """The scale is multiplied; a negative number turns the range round."""
    data, how = _of(at, 0)
    factor, (low, high) = float(at.number(1)), integer_range(at.dtype(data))
    if factor > 0:
        return _with(at, _same(at, data), how.scale * factor, how.zero)
    if factor == 0:
        return _with(at, at.call("zeros_like", data), 1.0, 0)
    turned = at.call("subtract", at.const(low + high, "int32"), at.cast(data, "int32"))
    return _with(at, at.cast(turned, at.dtype(data)), -how.scale * factor, low + high - how.zero)


def _same(at: Conversion, data: Expr) -> Expr:
    """Return the same numbers as an expression of its own, which has another scale."""
    return at.call("reshape", data, list(at.shape(data)))


def _limited(at: Conversion, low: float | None, high: float | None) -> Value:
    """The numbers of limits limit numbers."""
    data, how = _of(at, 0)
    ends = integer_range(at.dtype(data))
    found = [
        end if one is None else min(max(round(one / how.scale) + how.zero, ends[0]), ends[1])
        for one, end in zip((low, high), ends, strict=True)
    ]
    return _with(at, at.call("clip", data, a_min=float(found[0]), a_max=float(found[1])), *how)


def _relu(at: Conversion) -> Value:
    data, how = _of(at, 0)
    return _with(at, at.call("maximum", data, at.const(how.zero, at.dtype(data))), *how)


def _clamp(at: Conversion) -> Value:
    return _limited(at, *(None if at.value(place) is None else float(at.number(place)) for place in (1, 2)))


def _rounded(name: str) -> Convert:
    """An operator of QNN from one scale to another."""

    def convert(at: Conversion) -> Value:
        (data, source), how = _of(at, 0), _stated(at, 1)
        return _with(at, at.call(name, data, *_pair(at, source), *_pair(at, how)), *how)

    return convert


def _leaky_relu(at: Conversion) -> Value:
    """``quantized::leaky_relu(data, slope, inplace, scale, zero point)``."""
    (data, source), how = _of(at, 0), _stated(at, 3)
    made = at.call("qnn.leaky_relu", data, float(at.number(1)), *_pair(at, source), *_pair(at, how))
    return _with(at, made, *how)


def _sigmoid(at: Conversion) -> Value:
    data, source = _of(at, 0)
    how = Quantised(1 / 256, integer_range(at.dtype(data))[0])
    return _with(at, at.call("qnn.sigmoid", data, *_pair(at, source), *_pair(at, how)), *how)


def _in_floats(convert: Convert) -> Convert:
    """What PyTorch computes in floats, and quantises as it was."""

    def converted(at: Conversion) -> Value:
        data, how = _of(at, 0)
        made = convert(at.with_args([_dequantize(at, data, how), *at.args[1:]]))
        return _quantize(at, cast(Expr, made), how, at.dtype(data), 1)

    return converted


def _averaged(convert: Convert) -> Convert:
    """Averages of integers, rounded as PyTorch does, where TVM's importer cuts them off."""

    def converted(at: Conversion) -> Value:
        data, how = _of(at, 0)
        made = convert(at.with_args([at.cast(data, "float32"), *at.args[1:]]))
        return _with(at, at.cast(half_to_even(at, cast(Expr, made)), at.dtype(data)), *how)

    return converted


RECORDS = records({
    "quantize_per_tensor": _quantize_per_tensor, "dequantize": _dequantized, "quantized::conv1d": _convolution(1),
    "quantized::conv2d": _convolution(2), "quantized::conv1d_relu": _convolution(1, relu=True),
    "quantized::conv2d_relu": _convolution(2, relu=True),
    "quantized::conv_transpose2d": _convolution(2, transposed=True),
    "quantized::linear": _linear(), "quantized::linear_relu": _linear(relu=True),
    "quantized::linear_dynamic": _linear_dynamic(), "quantized::linear_relu_dynamic": _linear_dynamic(relu=True),
    "quantized::add": _binary("qnn.add"), "quantized::add_relu": _binary("qnn.add", relu=True),
    "quantized::mul": _binary("qnn.mul"), "quantized::mul_relu": _binary("qnn.mul", relu=True),
    "quantized::cat": _cat, "quantized::add_scalar": _add_scalar, "quantized::mul_scalar": _mul_scalar,
    "quantized::relu6": lambda at: _limited(at, 0.0, 6.0), "quantized::leaky_relu": _leaky_relu,
    "quantized::hardswish": _rounded("qnn.hardswish"), "quantized::sigmoid": _rounded("qnn.sigmoid"),
})  # fmt: skip
# Operators that are others over quantised tensors.
_OVER: Mapping[str, Convert] = {
    "aten::relu": _relu, "aten::clamp": _clamp, "aten::hardtanh": _clamp, "aten::sigmoid": _sigmoid,
}  # fmt: skip
_WRAPPED: Mapping[str, Callable[[Convert], Convert]] = {
    "aten::mean": _in_floats, "aten::hardsigmoid": _in_floats, "aten::upsample_nearest2d": _in_floats,
    "aten::upsample_bilinear2d": _in_floats, "aten::adaptive_avg_pool2d": _averaged, "aten::avg_pool2d": _averaged,
}  # fmt: skip
# Operators that choose and move numbers, whatever these stand for.
_MOVES = frozenset({
    "aten::max_pool2d", "aten::max_pool1d", "aten::clone", "aten::cat", "aten::stack", "aten::flip",
    "aten::pixel_shuffle", "aten::channel_shuffle", "aten::dropout", "aten::repeat",
})  # fmt: skip
# What is asked of a tensor, and not of its numbers.
_ASKS = frozenset({"aten::size", "aten::dim", "aten::len", "aten::numel", "prim::dtype", "prim::device"})


def over_quantised(at: Conversion, record: AtenOperator | None) -> Value:
    """Return what a node over quantised tensors gives; refuse what is no such operator."""
    if record is None:
        at.refuse("it is over quantised tensors")
    kind, convert = record.name, record.convert
    if kind in _OVER:
        return _OVER[kind](at)
    if kind in _WRAPPED:
        return _WRAPPED[kind](convert)(at)
    if kind.startswith("quantized::") or kind in _ASKS or kind == "aten::dequantize":
        return convert(at)
    given = {at.types.quantised.get(one) for one in at.exprs()}
    if not (record.view or kind in _MOVES) or len(given) != 1:
        at.refuse("it is over quantised tensors, or over several that are quantised otherwise")
    made = convert(at)
    (how,) = given
    if how is None:
        at.refuse("some of what it is given is not quantised")
    if isinstance(made, RelayExpr) and isinstance(at.types.of(made), TupleType):
        made = list(at.fields(made))
    for one in made if isinstance(made, (list, tuple)) else [made]:
        if isinstance(one, RelayExpr):
            at.types.quantised.setdefault(one, how)
    return made
