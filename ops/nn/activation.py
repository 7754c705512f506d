"""Activations: functions of each element, and softmax, which shares 1 among the elements of an
axis.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.formula import ARRAYS, ELEMENTS, Kit, X, definition, kernel, number
from relay2relax.ops.common.limits import NO_BFLOAT16, NO_BOOL, shapes_of, unless_float
from relay2relax.ops.common.shapes import any_type, check_float, floating, normal_axis, tensor
from relay2relax.ops.registry.attributes import Double, Int, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script, Spread
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import equal, static
from relay2relax.tir.ir.expr import PrimExpr, const, maximum
from relay2relax.tir.ir.intrinsics import call


@dataclass(frozen=True, slots=True)
class SoftmaxAttrs:
    """The axis along which the results sum to 1."""

    axis: Int = -1


@dataclass(frozen=True, slots=True)
class LeakyReluAttrs:
    """The slope for negative elements."""

    alpha: Double = 0.25


@dataclass(frozen=True, slots=True)
class PReluAttrs:
    """The axis along which the slopes for negative elements lie."""

    axis: Int = 1


def same_type(attrs: object, data: Type) -> TensorType:
    """Return the type of the data."""
    return tensor(data)


# Softmax.


def softmax_type(attrs: SoftmaxAttrs, data: Type) -> TensorType:
    """Return the type of the data."""
    x = tensor(data)
    normal_axis(attrs.axis, x.rank)
    return x


def softmax_numpy(attrs: SoftmaxAttrs, data: Numbers) -> Array:
    """Return ``exp(data - max) / sum``."""
    check_float("softmax", of_array(data))
    powers = np.exp(data - _top(attrs, data))
    return np.asarray(powers / np.sum(powers, axis=attrs.axis, keepdims=True))


def log_softmax_numpy(attrs: SoftmaxAttrs, data: Numbers) -> Array:
    """Return ``data - max - log(sum(exp(data - max)))``."""
    check_float("log_softmax", of_array(data))
    shifted = data - _top(attrs, data)
    return np.asarray(shifted - np.log(np.sum(np.exp(shifted), axis=attrs.axis, keepdims=True)))


def _top(attrs: SoftmaxAttrs, data: Numbers) -> Numbers:
    # An empty axis has no largest element; nothing is made of it.
    return np.asarray(np.max(data, axis=attrs.axis, keepdims=True, initial=data.dtype.type(-np.inf)))


def _reduced(
    data: te.Tensor,
    axis: int,
    body: Callable[[Sequence[PrimExpr], Sequence[PrimExpr]], PrimExpr],
    combine: Callable[[PrimExpr, te.ReduceAxis], te.Reduce],
    name: str,
) -> te.Tensor:
    """Return ``combine`` along ``axis`` of ``body(index, place)``, where ``place`` is the index
    without ``axis``.
    """
    loop = te.reduce_axis(data.shape[axis], "k")
    shape = [extent for d, extent in enumerate(data.shape) if d != axis]

    def element(*at: PrimExpr) -> PrimExpr:
        return combine(body((*at[:axis], loop.var, *at[axis:]), at), loop)

    return te.compute(shape, element, name)


def _without(at: Sequence[PrimExpr], axis: int) -> tuple[PrimExpr, ...]:
    return (*at[:axis], *at[axis + 1 :])


def softmax_compute(attrs: SoftmaxAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return maximum, powers, their sum and the quotient, one stage each."""
    check_float("softmax", data.dtype)
    axis = normal_axis(attrs.axis, data.rank)
    top = _reduced(data, axis, lambda index, at: data(*index), te.max, "softmax_max")
    powers = te.compute(out.shape, lambda *at: call("exp", data[at] - top[_without(at, axis)]), "softmax_exp")
    total = _reduced(data, axis, lambda index, at: powers(*index), te.sum, "softmax_sum")
    return te.compute(out.shape, lambda *at: powers[at] / total[_without(at, axis)], "softmax")


def log_softmax_compute(attrs: SoftmaxAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return maximum, logarithm of the sum of powers and the difference, one stage each."""
    check_float("log_softmax", data.dtype)
    axis = normal_axis(attrs.axis, data.rank)
    top = _reduced(data, axis, lambda index, at: data(*index), te.max, "softmax_max")
    total = _reduced(data, axis, lambda index, at: call("exp", data(*index) - top(*at)), te.sum, "softmax_sum")
    logs = te.compute(total.shape, lambda *at: call("log", total[at]), "softmax_log")
    return te.compute(
        out.shape, lambda *at: data[at] - top[_without(at, axis)] - logs[_without(at, axis)], "log_softmax"
    )


# Activations.


def relu_numpy(attrs: NoAttrs, data: Array) -> Array:
    """Return the larger of each element and 0; NaN gives 0, as ``x > 0 ? x : 0`` does."""
    return np.asarray(np.fmax(data, data.dtype.type(0)))


def relu_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the larger of each element and 0."""
    return te.compute(out.shape, lambda *at: maximum(data[at], const(0, data.dtype)), "relu")


def _leaky(k: Kit[X], x: X, slope: X) -> X:
    """Return positive elements, and others times their slope."""
    return k.where(k.binary("greater", x, number(k, 0, x)), x, k.binary("multiply", x, slope))


def leaky_relu(k: Kit[X], attrs: LeakyReluAttrs, x: X) -> X:
    """Return positive elements, and others times ``alpha``."""
    return _leaky(k, x, number(k, attrs.alpha, x))


def prelu_relay_type(attrs: PReluAttrs, data: Type, alpha: Type) -> TensorType:
    """Return the type of the data; there is one slope for each place of the axis."""
    return prelu_type(attrs, data, alpha, several=True)


def prelu_type(attrs: PReluAttrs, data: Type, alpha: Type, several: bool = False) -> TensorType:
    """Return the type of the data.

    There is one slope for each place of the axis, in Relax also one for all places.

    ``several`` asks for as many as there are places, as Relay does.
    """
    x, slopes = tensor(data), tensor(alpha, 1)
    extent = x.shape[normal_axis(attrs.axis, x.rank)]
    one = not several and slopes.shape == (1,)
    if slopes.rank != 1 or (equal(slopes.shape[0], extent) is False and not one):
        raise OpError(mistake(operators.SHAPE, what="alpha", shape=list(slopes.shape), expected=[extent]), 1)
    if slopes.dtype != x.dtype:
        raise OpError(mistake(operators.DTYPE, what="alpha", dtype=slopes.dtype, expected=x.dtype), 1)
    return x


def prelu_operands(attrs: PReluAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce unknown slopes from the data."""
    data, alpha = types
    if alpha is not None or not isinstance(data, TensorType):
        return types
    return data, TensorType((data.shape[normal_axis(attrs.axis, data.rank)],), data.dtype)


def prelu_numpy(attrs: PReluAttrs, data: Array, alpha: Array) -> Array:
    """Return positive elements, and others times their slope."""
    slopes = alpha.reshape([-1 if d == attrs.axis % data.ndim else 1 for d in range(data.ndim)])
    return _leaky(ARRAYS, data, slopes)


def prelu_compute(attrs: PReluAttrs, out: TensorType, data: te.Tensor, alpha: te.Tensor) -> te.Tensor:
    """Return positive elements, and others times their slope."""
    axis, one = normal_axis(attrs.axis, data.rank), static(alpha.shape[0]) == 1

    def element(*at: PrimExpr) -> PrimExpr:
        return _leaky(ELEMENTS, data[at], alpha[0 if one else at[axis]])

    return te.compute(out.shape, element, "prelu")


def fast_softmax_relax(e: Emit[V], attrs: SoftmaxAttrs, data: V) -> V:
    """Relax has the exact operator only."""
    return e.call("nn.softmax", data, axis=attrs.axis)


_ONLY_FLOATS = unless_float("apache-tvm takes it of floating-point numbers only")
_OPEN_CHANNELS = Limit(
    "apache-tvm's lowering wants a known number of channels",
    lambda attrs, types: any(static(shape[attrs.axis]) is None for shape in shapes_of(types)[:1]),
)

OPS: tuple[OpDef, ...] = (
    OpDef(
        relay="nn.softmax",
        doc="Powers that sum to 1 along an axis: `exp(x - max) / sum`.",
        source="TOPI's softmax of TVM 0.18",
        inputs=("data",),
        attrs=SoftmaxAttrs,
        infer=softmax_type,
        relax_type=floating("softmax", softmax_type),
        numpy=softmax_numpy,
        compute=softmax_compute,
        relax=SameOp(),
        script=Script("nn.softmax", "data, axis=-1", spread=Spread.ALONG_OTHERS),
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.NEVER,
    ),
    OpDef(
        relay="nn.log_softmax",
        doc="The logarithm of softmax.",
        source="TOPI's log_softmax of TVM 0.18",
        inputs=("data",),
        attrs=SoftmaxAttrs,
        infer=softmax_type,
        relax_type=floating("log_softmax", softmax_type),
        numpy=log_softmax_numpy,
        compute=log_softmax_compute,
        relax=SameOp(),
        script=Script("nn.log_softmax", "data, axis=-1"),
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        relay="nn.relu",
        doc="The larger of each element and 0.",
        source="TOPI's relu of TVM 0.18",
        inputs=("data",),
        infer=same_type,
        relay_type=any_type,
        numpy=relu_numpy,
        compute=relu_compute,
        relax=SameOp(),
        script=Script("nn.relu", "data", limits=(NO_BOOL,), spread=Spread.ELEMENTS),
        layout=layout_rules.elementwise,
        fusion=Fusion(OpPattern.ELEMWISE),
        precision=Precision.FOLLOW,
    ),
    OpDef(
        relay="nn.leaky_relu",
        doc="Positive elements, and others times `alpha`.",
        source="TOPI's leaky_relu of TVM 0.18",
        inputs=("data",),
        attrs=LeakyReluAttrs,
        infer=same_type,
        relay_type=any_type,
        relax_type=floating("leakyrelu", same_type),
        numpy=kernel(leaky_relu),
        compute=definition(leaky_relu, "leaky_relu"),
        relax=SameOp(),
        script=Script("nn.leakyrelu", "data, alpha=0.01", limits=(_ONLY_FLOATS,)),
        layout=layout_rules.elementwise,
        fusion=Fusion(OpPattern.ELEMWISE),
        precision=Precision.FOLLOW,
    ),
    OpDef(
        relay="nn.fast_softmax",
        doc="Softmax by an approximate exponential; computed exactly here.",
        source="TOPI's fast_softmax of TVM 0.18",
        inputs=("data",),
        attrs=SoftmaxAttrs,
        infer=softmax_type,
        numpy=softmax_numpy,
        compute=softmax_compute,
        relax=Expanded(fast_softmax_relax),
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        relay="nn.prelu",
        doc="Positive elements, and others times the slope of their place on an axis.",
        source="Relay's PRelu relation and TOPI's prelu of TVM 0.18",
        inputs=("data", "alpha"),
        attrs=PReluAttrs,
        infer=prelu_type,
        relay_type=prelu_relay_type,
        relax_type=floating("prelu", prelu_type),
        operands=prelu_operands,
        numpy=prelu_numpy,
        compute=prelu_compute,
        relax=SameOp(),
        script=Script(
            "nn.prelu",
            "data, alpha, axis=1",
            since="0.21",
            limits=(
                NO_BFLOAT16,
                _ONLY_FLOATS,
                _OPEN_CHANNELS,
            ),
        ),
        layout=layout_rules.prelu,
        fusion=Fusion(OpPattern.BROADCAST),
        precision=Precision.FOLLOW,
    ),
)
