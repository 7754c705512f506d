"""Quantised functions: dequantize, a function of real numbers, quantize.

And the integer ``qnn.softmax``.

Source of the semantics: TVM 0.18 src/relay/qnn/op and python/tvm/relay/qnn/op/legalizations.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

import numpy as np

from relay2relax.core.arithmetic import truncated_divide
from relay2relax.core.dtype import Array, Numbers
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, Kit, RelaxValues, X
from relay2relax.ops.common.shapes import check_scalar, normal_axis, tensor
from relay2relax.ops.nn.activation import LeakyReluAttrs, SoftmaxAttrs
from relay2relax.ops.quantized.arithmetic import (
    UNKNOWN_SCALES,
    Factor,
    check_dtype,
    constants,
    dequantised,
    factor_at,
    factor_values,
    fixed_point,
    fixed_point_compute,
    quantised,
    ratio_compute,
    ratio_of,
    requantised,
    rounded,
    saturated,
    scaled,
)
from relay2relax.ops.quantized.qnn import BYTES, SOURCE
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.fusion import OPAQUE, Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, V
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.ir.expr import PrimExpr, binary, cast, const, maximum, minimum


def function_type(attrs: object, data: Type, scale: Type, zero: Type, out_scale: Type, out_zero: Type) -> TensorType:
    """Return the type of the data, which has 8 bits."""
    found = check_dtype(data, BYTES, "the data")
    for argument, one in enumerate((scale, zero, out_scale, out_zero), 1):
        check_scalar(one, "float32" if argument % 2 else "int32", argument)
    return found


# Functions of real numbers


class Function(Protocol):
    """A function of float32 in the words of a kit."""

    def __call__(self, k: Kit[X], x: X, /) -> X: ...


def _named(name: str) -> Function:
    return lambda k, x: k.unary(name, x)


def _hardswish(k: Kit[X], x: X) -> X:
    """Return ``x * clip(x + 3, 0, 6) / 6``."""
    moved = k.binary("add", x, k.const(3, "float32"))
    held = k.binary("maximum", k.binary("minimum", moved, k.const(6, "float32")), k.const(0, "float32"))
    return k.binary("divide", k.binary("multiply", x, held), k.const(6, "float32"))


def function_of_reals(k: Kit[X], function: Function, q: X, s: X, z: X, so: X, zo: X, dtype: str) -> X:
    """Return ``function`` of the real numbers that ``q`` stands for, quantised."""
    return quantised(k, function(k, dequantised(k, q, s, z)), so, zo, dtype)


def function_record(name: str, function: Function, doc: str, fusion: Fusion = OPAQUE) -> OpDef:
    """Return the record of the quantised form of ``function``."""

    def numpy(attrs: NoAttrs, data: Array, s: Numbers, z: Numbers, so: Numbers, zo: Numbers) -> Array:
        with np.errstate(all="ignore"):
            return np.asarray(function_of_reals(ARRAYS, function, data, s, z, so, zo, data.dtype.name))

    def compute(
        attrs: NoAttrs, out: TensorType, data: te.Tensor, s: te.Tensor, z: te.Tensor, so: te.Tensor, zo: te.Tensor
    ) -> te.Tensor:
        return te.compute(
            out.shape,
            lambda *i: function_of_reals(ELEMENTS, function, data(*i), s(), z(), so(), zo(), out.dtype),
            f"T_qnn_{name}",
        )

    def expand(e: Emit[V], attrs: NoAttrs, data: V, s: V, z: V, so: V, zo: V) -> V:
        return function_of_reals(RelaxValues(e), function, data, s, z, so, zo, tensor(e.type_of(data)).dtype)

    return OpDef(
        relay=f"qnn.{name}",
        doc=doc,
        source=f"{SOURCE}/unary_elementwise_op.cc",
        inputs=("data", "scale", "zero_point", "output_scale", "output_zero_point"),
        infer=function_type,
        numpy=numpy,
        compute=compute,
        relax=Expanded(expand),
        fusion=fusion,
    )


# leaky_relu


def leaky(
    k: Kit[X], q: X, zero: X, factor: Factor[X], out_zero: X, slopes: tuple[Factor[X], Factor[X]], dtype: str
) -> X:
    """Return the result for ``q``; ``slopes`` are the slope below zero and what it lacks to 1, in
    fixed point.
    """
    moved = requantised(k, q, zero, factor, out_zero)
    below = k.binary("less", k.cast(q, "int32"), zero)
    bent = k.binary("add", scaled(k, moved, slopes[0], "UPWARD"), scaled(k, out_zero, slopes[1], "UPWARD"))
    return saturated(k, k.where(below, bent, moved), dtype)


def slopes_of(k: Kit[X], alpha: float) -> tuple[Factor[X], Factor[X]]:
    """Return the slope below zero, and what it lacks to 1, in fixed point."""
    found = [fixed_point(value) for value in (alpha, 1 - alpha)]
    factors = [Factor(*(k.const(int(part), "int64") for part in (one.scale, one.half, one.total))) for one in found]
    return factors[0], factors[1]


def leaky_relu_numpy(attrs: LeakyReluAttrs, data: Array, s: Numbers, z: Numbers, so: Numbers, zo: Numbers) -> Array:
    """Return the result in the scale of the output."""
    factor = fixed_point(ratio_of(s, so))
    return leaky(ARRAYS, data, z, factor, zo, slopes_of(ARRAYS, attrs.alpha), data.dtype.name)


def leaky_relu_compute(
    attrs: LeakyReluAttrs, out: TensorType, data: te.Tensor, s: te.Tensor, z: te.Tensor, so: te.Tensor, zo: te.Tensor
) -> te.Tensor:
    """Return the result of each element."""
    fixed = fixed_point_compute(ratio_compute(s, so))
    slopes = slopes_of(ELEMENTS, attrs.alpha)
    return te.compute(
        out.shape,
        lambda *i: leaky(ELEMENTS, data(*i), z(), factor_at(fixed), zo(), slopes, out.dtype),
        "T_qnn_leaky_relu",
    )


def leaky_relu_relax(e: Emit[V], attrs: LeakyReluAttrs, data: V, s: V, z: V, so: V, zo: V) -> V:
    """The steps of two fixed-point products and a choice."""
    known = constants(e, s, so)
    if known is None:
        return e.as_tir(leaky_relu, attrs, (data, s, z, so, zo), UNKNOWN_SCALES)
    k = RelaxValues(e)
    factor = factor_values(e, known[0], known[1], 0, -1)
    return leaky(k, data, z, factor, zo, slopes_of(k, attrs.alpha), tensor(e.type_of(data)).dtype)


# softmax


_BITS, _ONE = 8, 1 << 30


def softmax_type(
    attrs: SoftmaxAttrs, data: Type, scale: Type, zero: Type, out_scale: Type, out_zero: Type
) -> TensorType:
    """Return the type of the data, which is int8."""
    found = check_dtype(data, ("int8",), "the data")
    normal_axis(attrs.axis, found.rank)
    return function_type(attrs, data, scale, zero, out_scale, out_zero)


def unit_of(k: Kit[X], scale: X) -> X:
    """Return how many steps of the input are 1."""
    return k.cast(rounded(k, k.binary("divide", k.const(1, "float32"), scale), "float32"), "int32")


def softmax_numpy(attrs: SoftmaxAttrs, data: Array, s: Numbers, z: Numbers, so: Numbers, zo: Numbers) -> Array:
    """Return the result by shifts and sums of int32: ``exp(x)`` is 2 to the power of 1.4375 x, in
    straight pieces.
    """
    unit = np.asarray(unit_of(ARRAYS, s))
    with np.errstate(all="ignore"):
        q = data.astype(np.int32) - z
        x = q - q.max(axis=attrs.axis, keepdims=True)
        power = x + (x >> 1) - (x >> 4)
        steps = np.clip(truncated_divide(power, -unit), 0, 20)
        rest = power + steps * unit
        line = (rest >> 1) + unit
        e = line << (steps.max(axis=attrs.axis, keepdims=True) - steps)
        total = e.sum(axis=attrs.axis, keepdims=True, dtype=np.int32)
        share = truncated_divide(np.int32(_ONE), total) * e >> (31 - _BITS)
    factor = fixed_point(np.float64(2.0 ** (1 - _BITS)) / so.astype(np.float64))
    return saturated(ARRAYS, requantised(ARRAYS, share.astype(np.int32), np.int32(0), factor, zo), "int8")


def softmax_compute(
    attrs: SoftmaxAttrs, out: TensorType, data: te.Tensor, s: te.Tensor, z: te.Tensor, so: te.Tensor, zo: te.Tensor
) -> te.Tensor:
    """Return the steps, one tensor each."""
    axis = attrs.axis % data.rank
    outer = (*data.shape[:axis], *data.shape[axis + 1 :])

    def over(source: Callable[..., PrimExpr], reduce: Callable[..., PrimExpr], name: str) -> te.Tensor:
        k = te.reduce_axis(data.shape[axis], "k")
        return te.compute(outer, lambda *i: reduce(source(*i[:axis], k.var, *i[axis:]), k), name)

    def kept(i: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        return (*i[:axis], *i[axis + 1 :])

    unit: te.Tensor = te.compute((), lambda: unit_of(ELEMENTS, s()), "unit")
    largest = over(lambda *i: cast("int32", data(*i)) - z(), te.max, "largest")

    def power_of(*i: PrimExpr) -> PrimExpr:
        x = cast("int32", data(*i)) - z() - largest(*kept(i))
        return x + binary(">>", x, 1) - binary(">>", x, 4)

    power: te.Tensor = te.compute(data.shape, power_of, "power")
    steps: te.Tensor = te.compute(
        data.shape,
        lambda *i: minimum(maximum(binary("truncdiv", power(*i), const(0, "int32") - unit()), 0), 20),
        "steps",
    )
    most = over(lambda *i: steps(*i), te.max, "most")

    def exponential(*i: PrimExpr) -> PrimExpr:
        line = binary(">>", power(*i) + steps(*i) * unit(), 1) + unit()
        return binary("<<", line, most(*kept(i)) - steps(*i))

    e: te.Tensor = te.compute(data.shape, exponential, "exponentials")
    total = over(lambda *i: e(*i), te.sum, "total")
    out_ratio: te.Tensor = te.compute((), lambda: const(2.0 ** (1 - _BITS), "float64") / cast("float64", so()), "ratio")
    fixed = fixed_point_compute(out_ratio)

    def share(*i: PrimExpr) -> PrimExpr:
        part = binary("truncdiv", const(_ONE, "int32"), total(*kept(i))) * e(*i)
        value = binary(">>", part, 31 - _BITS)
        return saturated(ELEMENTS, requantised(ELEMENTS, value, const(0, "int32"), factor_at(fixed), zo()), "int8")

    return te.compute(out.shape, share, "T_qnn_softmax")


# Records

leaky_relu = OpDef(
    relay="qnn.leaky_relu",
    doc="``x < 0 ? alpha * x : x`` in fixed point, in the scale of the result.",
    source=f"{SOURCE}/leaky_relu.cc",
    inputs=("data", "input_scale", "input_zero_point", "output_scale", "output_zero_point"),
    attrs=LeakyReluAttrs,
    infer=function_type,
    numpy=leaky_relu_numpy,
    compute=leaky_relu_compute,
    relax=Expanded(leaky_relu_relax),
)

softmax = OpDef(
    relay="qnn.softmax",
    doc="Softmax by integers alone, on int8; ``exp`` is a power of two of straight pieces, each ``1 / scale`` steps "
    "long: a scale above 1 leaves little of it.",
    source=f"{SOURCE}/softmax.cc",
    inputs=("data", "scale", "zero_point", "output_scale", "output_zero_point"),
    attrs=SoftmaxAttrs,
    infer=softmax_type,
    numpy=softmax_numpy,
    compute=softmax_compute,
    on_bad_values="A scale of which less than half a step makes 1 divides by 0: the quotient is 0.",
)

# Functions by name, with what they are; tanh is the only one that TVM fuses.
_FUNCTIONS: Mapping[str, tuple[Function, str]] = {
    "tanh": (_named("tanh"), "Hyperbolic tangent."),
    "exp": (_named("exp"), "e to the power of x."),
    "sqrt": (_named("sqrt"), "Square root."),
    "rsqrt": (_named("rsqrt"), "``1 / sqrt(x)``."),
    "erf": (_named("erf"), "Error function."),
    "sigmoid": (_named("sigmoid"), "``1 / (1 + exp(-x))``."),
    "hardswish": (_hardswish, "``x * clip(x + 3, 0, 6) / 6``."),
    "log": (_named("log"), "Natural logarithm."),
    "abs": (_named("abs"), "Absolute value."),
}
FUNCTIONS: Mapping[str, Function] = {f"qnn.{name}": function for name, (function, _) in _FUNCTIONS.items()}

OPS = (
    *(
        function_record(name, function, doc, Fusion(OpPattern.ELEMWISE) if name == "tanh" else OPAQUE)
        for name, (function, doc) in _FUNCTIONS.items()
    ),
    leaky_relu,
    softmax,
)
