"""What quantised operators other than products become, and by how many quanta they can be off.

Relay rounds each of its steps, by at most half a quantum; R.quantize rounds once. ``_near`` is what
float32 adds to that where a result lies within its range; beyond it both are held at its ends.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from relay2relax.core.dtype import Numbers
from relay2relax.ops.quantized.qnn import RequantizeAttrs
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.tensor.joining import ConcatenateAttrs
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op, Tuple
from relay2relax.relay_ir.transform.qdq.model import (
    AROUND,
    UNIT,
    Around,
    Stays,
    Sum,
    constant,
    gamma,
    narrow,
    quantise,
    span_of,
)
from relay2relax.tir.extent import static


@dataclass(frozen=True, slots=True, eq=False)
class Made:
    """What an operator became: ``qnn.quantize`` of floats, by how many quanta that can be off."""

    expr: Call
    quanta: float

    @property
    def quantum(self) -> float:
        """The scale of the result."""
        return float(constant(self.expr.args[1], "float32"))


# What makes an operator's form: of the function, the call, its arguments as they became, and the
# sums that they are as floats.
_Form: TypeAlias = Callable[[Around, Call, Sequence[Expr], Sequence["Sum | None"]], Made]


def _near(roundings: int, dtype: str, zero: Numbers) -> float:
    """Return what ``roundings`` of float32 add to a result of ``dtype``, which lies in its
    range.
    """
    return gamma(roundings) * (float(span_of(dtype, zero).max()) + 1)


def _requantize(around: Around, call: Call, args: Sequence[Expr], sums: Sequence[Sum | None]) -> Made:
    attrs = call.attrs
    assert isinstance(attrs, RequantizeAttrs)
    narrow(attrs.out_dtype)
    data = around.tensor(call.args[0])
    if attrs.compute_dtype not in ("None", "int64"):
        raise Stays(f"it is computed in {attrs.compute_dtype} already")
    scale, out = constant(args[1], "float32"), constant(args[3], "float32")
    zero, out_zero = constant(args[2], "int32"), constant(args[4], "int32")
    axis = attrs.axis % data.rank if data.rank else 0
    found = sums[0]
    if found is None:
        if data.dtype == "int64":
            raise Stays("R.dequantize takes no int64")
        real = around.dequantise(args[0], scale, zero, axis)
        return Made(quantise(real, out, out_zero, attrs.out_dtype, call), 1 + _near(4, attrs.out_dtype, out_zero))
    if zero.any():
        raise Stays("the sum that it takes has a zero point")
    if scale.ndim and axis != found.axis:
        raise Stays("its scales lie along another axis than those of the sum")
    real = _in_scale(found, scale, data.rank)
    error = gamma(found.terms + AROUND)
    largest = float((2 * found.size * scale.astype(np.float64) / float(out)).max(initial=0.0))
    near = float(span_of(attrs.out_dtype, out_zero).max()) + 1
    return Made(quantise(real, out, out_zero, attrs.out_dtype, call), 1 + error * (largest + near))


def _in_scale(found: Sum, scale: Numbers, rank: int) -> Expr:
    """Return the sum's real values where its quanta have the ``scale``, which most often is its
    own but for a rounding.
    """
    with np.errstate(all="ignore"):
        ratio = scale.astype(np.float64) / found.scale.astype(np.float64)
    if bool((np.abs(ratio - 1) <= 2 * UNIT).all()):
        return found.real
    factor = ratio.astype(np.float32)
    if not bool((np.isfinite(factor) & (factor > 0)).all()):
        raise Stays("its scale is beyond what float32 holds beside that of the sum")
    along = factor.reshape((-1,) + (1,) * (rank - 1 - found.axis)) if factor.ndim else factor
    made: Expr = found.real * Constant(np.asarray(along, np.float32))
    return made


def _operand(around: Around, call: Call, args: Sequence[Expr], place: int, axis: int) -> tuple[Expr, float]:
    """Return one operand of sums and products dequantised, and its largest magnitude."""
    first = 2 + 2 * place
    scale, zero = constant(args[first], "float32"), constant(args[first + 1], "int32")
    data = around.tensor(call.args[place])
    if data.dtype not in ("int8", "uint8"):
        raise Stays(f"its operands are {data.dtype}")
    rank_axis = axis % data.rank if data.rank > 1 else 0
    largest = float((span_of(data.dtype, zero) * scale.astype(np.float64)).max())
    return around.dequantise(args[place], scale, zero, rank_axis), largest


def _binary(name: str) -> _Form:
    def form(around: Around, call: Call, args: Sequence[Expr], sums: Sequence[Sum | None]) -> Made:
        out, zero = constant(args[6], "float32"), constant(args[7], "int32")
        left, most = _operand(around, call, args, 0, call.attrs.lhs_axis)
        right, more = _operand(around, call, args, 1, call.attrs.rhs_axis)
        real = Call(Op("multiply" if name == "mul" else name), (left, right), span=call.span)
        size = most * more if name == "mul" else most + more
        # Relay rounds a product once, and each operand of a sum.
        steps = 0.5 if name == "mul" else 1.0
        made = quantise(real, out, zero, around.tensor(call.args[0]).dtype, call)
        return Made(made, 0.5 + steps + gamma(6) * size / float(out))

    return form


def _concatenate(around: Around, call: Call, args: Sequence[Expr], sums: Sequence[Sum | None]) -> Made:
    assert isinstance(call.attrs, ConcatenateAttrs)
    parts, scales, zeros = args[:3]
    given = call.args[0]
    if not (isinstance(parts, Tuple) and isinstance(given, Tuple)):
        raise Stays("its parts are a tuple that is made elsewhere")
    if not (isinstance(scales, Tuple) and isinstance(zeros, Tuple)):
        raise Stays("a scale or zero point is known only when the program runs")
    out, zero = constant(args[3], "float32"), constant(args[4], "int32")
    dtype = around.tensor(given.fields[0]).dtype
    narrow(dtype)
    real = tuple(
        around.dequantise(part, constant(scale, "float32"), constant(point, "int32"), -1)
        for part, scale, point in zip(parts.fields, scales.fields, zeros.fields, strict=True)
    )
    joined = Call(Op("concatenate"), (Tuple(real),), call.attrs, span=call.span)
    return Made(quantise(joined, out, zero, dtype, call), 1 + _near(4, dtype, zero))


_Real: TypeAlias = Callable[[Call, Expr], Expr]


def _function(real: _Real, steps: Callable[[Call], float] = lambda call: 0.5) -> _Form:
    """Return the form of a function of real numbers; Relay's own ``steps`` round by so much."""

    def form(around: Around, call: Call, args: Sequence[Expr], sums: Sequence[Sum | None]) -> Made:
        scale, zero, out, out_zero = (
            constant(one, dtype) for one, dtype in zip(args[1:], ("float32", "int32") * 2, strict=True)
        )
        dtype = around.tensor(call.args[0]).dtype
        made = real(call, around.dequantise(args[0], scale, zero, -1))
        # Functions themselves are off by several units of rounding, on each backend by others.
        return Made(quantise(made, out, out_zero, dtype, call), 0.5 + steps(call) + _near(64, dtype, out_zero))

    return form


def _named(name: str) -> _Real:
    return lambda call, x: Call(Op(name), (x,), NoAttrs(), span=call.span)


def _number(value: float) -> Constant:
    return Constant(np.asarray(value, np.float32))


def _hardswish(call: Call, x: Expr) -> Expr:
    moved = op.clip(x + _number(3), a_min=0.0, a_max=6.0)
    made: Expr = x * moved / _number(6)
    return made


def _leaky(call: Call, x: Expr) -> Expr:
    return Call(Op("nn.leaky_relu"), (x,), call.attrs, span=call.span)


def _avg_pool2d(around: Around, call: Call, args: Sequence[Expr], sums: Sequence[Sum | None]) -> Made:
    """Relay averages after it has moved the zero point, so what it pads with is no real 0."""
    attrs = call.attrs
    out_zero = constant(args[4], "int32")
    if attrs.count_include_pad and out_zero.any() and any(static(one) != 0 for one in attrs.padding):
        raise Stays("it counts padding, which is not the real value 0 there")
    sizes = [static(one) for one in attrs.pool_size]
    if any(one is None for one in sizes):
        raise Stays("how many values it averages is known only when the program runs")
    terms = int(np.prod([one or 0 for one in sizes]))
    scale, out = constant(args[1], "float32"), constant(args[3], "float32")
    largest = float(span_of(around.tensor(call.args[0]).dtype, constant(args[2], "int32")).max())
    found = _function(lambda call, x: Call(Op("nn.avg_pool2d"), (x,), attrs, span=call.span))(around, call, args, sums)
    # Half a quantum for requantising, less than one for the truncated average.
    return Made(found.expr, 2 + gamma(terms + AROUND) * largest * float(scale) / float(out))


FORMS: Mapping[str, _Form] = {
    "qnn.add": _binary("add"),
    "qnn.avg_pool2d": _avg_pool2d,
    "qnn.concatenate": _concatenate,
    "qnn.hardswish": _function(_hardswish),
    "qnn.leaky_relu": _function(_leaky, lambda call: 1 + abs(call.attrs.alpha) / 2),
    "qnn.mul": _binary("mul"),
    "qnn.requantize": _requantize,
    "qnn.subtract": _binary("subtract"),
    **{
        f"qnn.{name}": _function(_named(name))
        for name in ("abs", "erf", "exp", "log", "rsqrt", "sigmoid", "sqrt", "tanh")
    },
}


# Operators on int32 sums that have a form for the floats that the sums are.


def _bias(around: Around, found: Sum, value: Expr, original: Expr, rank: int, axis: int) -> Expr:
    """Return what is added to a sum as floats; ``axis`` is the one of the sum where its first one
    lies.
    """
    if around.tensor(original).dtype != "int32":
        raise Stays("what is added to its sum is not int32")
    place = found.axis - axis
    own = around.tensor(original)
    if found.scale.ndim and not (0 <= place < own.rank and static(own.shape[place]) == found.scale.size):
        raise Stays("what is added to its sum does not lie along its channels")
    return around.dequantise(value, found.scale, np.asarray(0, np.int32), place if found.scale.ndim else -1)


def carried(around: Around, call: Call, name: str, args: Sequence[Expr], sums: Sequence[Sum | None]) -> Sum | None:
    """Return the sum that an ordinary operator makes of one: with a bias, or what is positive of
    it. None for any other operator.
    """
    rank = around.tensor(call).rank
    match name, sums:
        case "nn.bias_add", [Sum() as found, None]:
            added = _bias(around, found, args[1], call.args[1], rank, call.attrs.axis % rank)
        case "add" | "subtract", [Sum() as found, None]:
            added = _bias(around, found, args[1], call.args[1], rank, rank - around.tensor(call.args[1]).rank)
        case "nn.relu", [Sum() as found]:
            return replace(found, real=Call(call.op, (found.real,), span=call.span))
        case _:
            return None
    if around.tensor(call.args[0]).rank != rank:
        raise Stays("what is added to its sum has more axes")
    return replace(found, real=Call(call.op, (found.real, added), call.attrs, span=call.span))
