"""Normalisation and dropout, as inference uses them.

Statistics are those that a layer was trained to (``nn.batch_norm``) or those of the data itself
(``nn.layer_norm``). Relax's ``R.nn.batch_norm`` and ``R.nn.layer_norm`` have attributes of their
own, hence records of their own; the Relay operators become calls of them and share their
arithmetic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import ONLY_FLOAT32_AND_16, of_dtype
from relay2relax.ops.common.shapes import floating, normal_axes, normal_axis, tensor
from relay2relax.ops.registry.attributes import Bool, Double, Int, IntegerArray
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, as_prim, equal, is_any, product
from relay2relax.tir.ir.expr import PrimExpr, cast, const
from relay2relax.tir.ir.intrinsics import call


@dataclass(frozen=True, slots=True)
class BatchNormAttrs:
    """``center`` and ``scale`` say whether beta and gamma take part."""

    axis: Int = 1
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class RelaxBatchNormAttrs:
    """``training`` uses the data's own statistics and moves the running ones towards them by
    ``momentum``.
    """

    axis: Int
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True
    momentum: Double = 0.1
    training: Bool = True


@dataclass(frozen=True, slots=True)
class LayerNormAttrs:
    """``center`` and ``scale`` say whether beta and gamma take part."""

    axis: Int = -1
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class RelaxLayerNormAttrs:
    """TVM multiplies by gamma and adds beta whatever ``center`` and ``scale`` say, and so do we."""

    axes: IntegerArray
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class DropoutAttrs:
    """The share of elements that training drops."""

    rate: Double = 0.5


def relay_epsilon(epsilon: float, dtype: str) -> float:
    """Return the epsilon that TVM 0.18 computes with: it holds it in float32, which float64 data
    shows.
    """
    return float(np.float32(epsilon)) if dtype == "float64" else epsilon


def _epsilon(attrs: BatchNormAttrs | RelaxBatchNormAttrs, dtype: str) -> float:
    return relay_epsilon(attrs.epsilon, dtype) if isinstance(attrs, BatchNormAttrs) else attrs.epsilon


def _vector(type_: Type, name: str, extents: Sequence[Extent], dtype: str, argument: int) -> TensorType:
    """Return ``type_`` where it has ``extents`` and ``dtype``; raises OpError, which calls it
    ``name``, where not.
    """
    found = tensor(type_, argument)
    fits = found.rank == len(extents) and all(
        equal(a, b) is not False for a, b in zip(found.shape, extents, strict=True)
    )
    if not fits:
        raise OpError(mistake(operators.SHAPE, what=name, shape=list(found.shape), expected=list(extents)), argument)
    if found.dtype != dtype:
        raise OpError(mistake(operators.DTYPE, what=name, dtype=found.dtype, expected=dtype), argument)
    return found


def _along(vector: Array, axes: Sequence[int], rank: int) -> Numbers:
    """Return ``vector``, whose dimensions are ``axes``, with extents of 1 for all others."""
    return np.expand_dims(vector, tuple(d for d in range(rank) if d not in axes))


# Batch normalisation.

_VECTORS = ("gamma", "beta", "moving_mean", "moving_var")


def batch_norm_type(attrs: BatchNormAttrs | RelaxBatchNormAttrs, data: Type, *vectors: Type) -> TupleType:
    """Return the data's type and, twice, that of the statistics."""
    x = tensor(data)
    extent = x.shape[normal_axis(attrs.axis, x.rank)]
    for argument, (name, vector) in enumerate(zip(_VECTORS, vectors, strict=True), 1):
        _vector(vector, name, [extent], x.dtype, argument)
    statistic = TensorType((extent,), x.dtype)
    return TupleType((x, statistic, statistic))


def relax_batch_norm_type(attrs: RelaxBatchNormAttrs, data: Type, *vectors: Type) -> TupleType:
    """Return the data's type and, twice, that of the statistics, whose extent the vectors may
    tell.
    """
    x, *_ = batch_norm_type(attrs, data, *vectors).fields
    extents = (*(tensor(one).shape[0] for one in vectors), tensor(x).shape[normal_axis(attrs.axis, tensor(x).rank)])
    statistic = TensorType((next((one for one in extents if not is_any(one)), ANY),), tensor(x).dtype)
    return TupleType((x, statistic, statistic))


def batch_norm_relay_type(attrs: BatchNormAttrs, data: Type, *vectors: Type) -> TupleType:
    """Return the type; of negative axes Relay takes the last one only."""
    if attrs.axis < -1:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="axis", value=attrs.axis, expected="-1, or counted from the front"), 0
        )
    return batch_norm_type(attrs, data, *vectors)


def batch_norm_operands(attrs: BatchNormAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce unknown vectors from the data."""
    data = types[0]
    if not isinstance(data, TensorType):
        return types
    statistic = TensorType((data.shape[normal_axis(attrs.axis, data.rank)],), data.dtype)
    return (data, *(statistic if one is None else one for one in types[1:]))


def batch_norm_numpy(
    attrs: BatchNormAttrs | RelaxBatchNormAttrs,
    data: Numbers,
    gamma: Numbers,
    beta: Numbers,
    mean: Numbers,
    var: Numbers,
) -> tuple[Array, Array, Array]:
    """Return ``(data - mean) * gamma / sqrt(var + epsilon) + beta`` and the statistics to keep."""
    axis = attrs.axis % data.ndim
    kept_mean, kept_var = mean, var
    if isinstance(attrs, RelaxBatchNormAttrs) and attrs.training:
        others = tuple(d for d in range(data.ndim) if d != axis)
        old, new = data.dtype.type(1 - attrs.momentum), data.dtype.type(attrs.momentum)
        batch_mean, batch_var = np.mean(data, axis=others), np.var(data, axis=others)
        kept_mean, kept_var = mean * old + batch_mean * new, var * old + batch_var * new
        mean, var = batch_mean, batch_var
    factor = 1 / np.sqrt(var + data.dtype.type(_epsilon(attrs, of_array(data))))
    if attrs.scale:
        factor = gamma * factor
    result = (data - _along(mean, [axis], data.ndim)) * _along(factor, [axis], data.ndim)
    if attrs.center:
        result = result + _along(beta, [axis], data.ndim)
    return np.asarray(result, data.dtype), np.asarray(kept_mean, data.dtype), np.asarray(kept_var, data.dtype)


def batch_norm_compute(
    attrs: BatchNormAttrs | RelaxBatchNormAttrs,
    out: TupleType,
    data: te.Tensor,
    gamma: te.Tensor,
    beta: te.Tensor,
    mean: te.Tensor,
    var: te.Tensor,
) -> tuple[te.Tensor, ...]:
    """Return the normalised data and the statistics to keep.

    Each channel's factor is computed once.
    """
    axis, dtype = attrs.axis % data.rank, data.dtype
    if isinstance(attrs, RelaxBatchNormAttrs) and attrs.training:
        others = [d for d in range(data.rank) if d != axis]
        batch_mean = _mean(data, others, lambda value, at: value, "batch_mean")
        centre = batch_mean
        batch_var = _mean(data, others, lambda v, at: (v - centre[at]) * (v - centre[at]), "batch_var")
        old, new = const(1 - attrs.momentum, dtype), const(attrs.momentum, dtype)
        kept_mean = te.compute(mean.shape, lambda c, a=mean, b=batch_mean: a[c] * old + b[c] * new, "new_mean")
        kept_var = te.compute(var.shape, lambda c, a=var, b=batch_var: a[c] * old + b[c] * new, "new_var")
        mean, var = batch_mean, batch_var
    else:
        kept_mean = te.compute(mean.shape, lambda c, a=mean: a[c], "mean")
        kept_var = te.compute(var.shape, lambda c, a=var: a[c], "var")

    def factor(c: PrimExpr) -> PrimExpr:
        root = call("sqrt", var[c] + const(_epsilon(attrs, dtype), dtype))
        return (gamma[c] if attrs.scale else const(1, dtype)) / root

    factors = te.compute(var.shape, factor, "factor")

    def element(*at: PrimExpr) -> PrimExpr:
        value: PrimExpr = (data[at] - mean[at[axis]]) * factors[at[axis]]
        return value + beta[at[axis]] if attrs.center else value

    return te.compute(data.shape, element, "batch_norm"), kept_mean, kept_var


def _mean(data: te.Tensor, axes: Sequence[int], body: Callable[..., PrimExpr], name: str) -> te.Tensor:
    """Return the mean over ``axes`` of ``body(element, place)``, where ``place`` indexes the axes
    that stay.
    """
    kept = [d for d in range(data.rank) if d not in axes]
    count = as_prim(product(data.shape[d] for d in axes))

    def total(*at: PrimExpr) -> PrimExpr:
        loops = {d: te.reduce_axis(data.shape[d], f"k{d}") for d in axes}
        place = iter(at)
        index = tuple(loops[d].var if d in loops else next(place) for d in range(data.rank))
        return te.sum(body(data[index], at), list(loops.values()))

    sums = te.compute([data.shape[d] for d in kept], total, f"{name}_sum")
    return te.compute([data.shape[d] for d in kept], lambda *at: sums[at] / cast(data.dtype, count), name)


def batch_norm_relax(e: Emit[V], attrs: BatchNormAttrs, *args: V) -> V:
    """R.nn.batch_norm trains unless it is told not to."""
    x = tensor(e.type_of(args[0]))
    return e.call(
        "nn.batch_norm",
        *args,
        axis=normal_axis(attrs.axis, x.rank),
        epsilon=relay_epsilon(attrs.epsilon, x.dtype),
        center=attrs.center,
        scale=attrs.scale,
        training=False,
    )


# Layer normalisation.


def _layer_type(axes: Sequence[int], data: Type, gamma: Type, beta: Type) -> TensorType:
    x = tensor(data)
    extents = [x.shape[axis] for axis in normal_axes(axes, x.rank)]
    _vector(gamma, "gamma", extents, x.dtype, 1)
    _vector(beta, "beta", extents, x.dtype, 2)
    return x


def _layer_numpy(axes: Sequence[int], epsilon: float, data: Numbers, gamma: Array | None, beta: Array | None) -> Array:
    found = normal_axes(axes, data.ndim)
    wide = np.dtype(np.float32) if data.dtype.itemsize < 4 else data.dtype
    centred = data - np.mean(data, axis=found, keepdims=True, dtype=wide)
    var = np.mean(np.square(centred), axis=found, keepdims=True)
    result = centred / np.sqrt(var + wide.type(epsilon))
    if gamma is not None:
        result = result * _along(gamma, found, data.ndim)
    if beta is not None:
        result = result + _along(beta, found, data.ndim)
    return np.asarray(result, data.dtype)


def _layer_compute(
    axes: Sequence[int],
    epsilon: float,
    data: te.Tensor,
    gamma: te.Tensor | None,
    beta: te.Tensor | None,
) -> te.Tensor:
    found, dtype = normal_axes(axes, data.rank), data.dtype
    mean = _mean(data, found, lambda value, at: value, "layer_mean")
    var = _mean(data, found, lambda value, at: (value - mean[at]) * (value - mean[at]), "layer_var")

    def element(*at: PrimExpr) -> PrimExpr:
        kept = tuple(index for d, index in enumerate(at) if d not in found)
        gone = tuple(at[d] for d in found)
        value = (data[at] - mean[kept]) / call("sqrt", var[kept] + const(epsilon, dtype))
        value = value * gamma[gone] if gamma is not None else value
        return value + beta[gone] if beta is not None else value

    return te.compute(data.shape, element, "layer_norm")


def layer_norm_type(attrs: LayerNormAttrs, data: Type, gamma: Type, beta: Type) -> TensorType:
    """Return the data's type; gamma and beta have the extent of ``axis``."""
    return _layer_type([attrs.axis], data, gamma, beta)


def layer_norm_operands(attrs: LayerNormAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown gamma and beta from the data."""
    data = types[0]
    if not isinstance(data, TensorType):
        return types
    vector = TensorType((data.shape[normal_axis(attrs.axis, data.rank)],), data.dtype)
    return (data, *(vector if one is None else one for one in types[1:]))


def layer_norm_numpy(attrs: LayerNormAttrs, data: Array, gamma: Array, beta: Array) -> Array:
    """Return ``(data - mean) / sqrt(var + epsilon) * gamma + beta`` with the statistics along one
    axis.
    """
    epsilon = relay_epsilon(attrs.epsilon, of_array(data))
    return _layer_numpy([attrs.axis], epsilon, data, gamma if attrs.scale else None, beta if attrs.center else None)


def layer_norm_compute(
    attrs: LayerNormAttrs, out: TensorType, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor
) -> te.Tensor:
    """Return the normalised data."""
    epsilon = relay_epsilon(attrs.epsilon, data.dtype)
    return _layer_compute([attrs.axis], epsilon, data, gamma if attrs.scale else None, beta if attrs.center else None)


def layer_norm_relax(e: Emit[V], attrs: LayerNormAttrs, data: V, gamma: V, beta: V) -> V:
    """Relax ignores ``center`` and ``scale``: where they are off it gets zeros and ones."""
    gamma = gamma if attrs.scale else e.call("ones_like", gamma)
    beta = beta if attrs.center else e.call("zeros_like", beta)
    epsilon = relay_epsilon(attrs.epsilon, tensor(e.type_of(data)).dtype)
    return e.call("nn.layer_norm", data, gamma, beta, axes=(attrs.axis,), epsilon=epsilon)


def relax_layer_norm_type(attrs: RelaxLayerNormAttrs, data: Type, gamma: Type, beta: Type) -> TensorType:
    """Return the data's type; gamma and beta have the extents of ``axes``."""
    return _layer_type(attrs.axes, data, gamma, beta)


def relax_layer_norm_numpy(attrs: RelaxLayerNormAttrs, data: Array, gamma: Array, beta: Array) -> Array:
    """Return ``(data - mean) / sqrt(var + epsilon) * gamma + beta`` with the statistics over
    ``axes``.
    """
    return _layer_numpy(attrs.axes, attrs.epsilon, data, gamma, beta)


def relax_layer_norm_compute(
    attrs: RelaxLayerNormAttrs, out: TensorType, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor
) -> te.Tensor:
    """Return the normalised data."""
    return _layer_compute(attrs.axes, attrs.epsilon, data, gamma, beta)


# Dropout.


def dropout_type(attrs: DropoutAttrs, data: Type) -> TupleType:
    """Return the data's type twice."""
    x = tensor(data)
    return TupleType((x, x))


def dropout_numpy(attrs: DropoutAttrs, data: Array) -> tuple[Array, Array]:
    """Return the data and a mask of ones."""
    return data, np.ones_like(data)


def dropout_compute(attrs: DropoutAttrs, out: TupleType, data: te.Tensor) -> tuple[te.Tensor, te.Tensor]:
    """Return the data and a mask of ones."""
    kept = te.compute(data.shape, lambda *at: data[at], "dropout")
    return kept, te.compute(data.shape, lambda *at: const(1, data.dtype), "mask")


def dropout_relax(e: Emit[V], attrs: DropoutAttrs, data: V) -> V:
    """Inference drops nothing; TVM 0.25 cannot lower R.nn.dropout."""
    return e.tuple([data, e.call("ones_like", data)])


_SAYS_ANOTHER_DTYPE = of_dtype(
    "apache-tvm computes it in float32, and returns that instead of the dtype that it says", "float16", "bfloat16"
)

OPS: tuple[OpDef, ...] = (
    OpDef(
        relay="nn.batch_norm",
        doc="Normalise each channel by trained statistics, which are returned as they are.",
        source="Relay's BatchNorm relation and SimplifyInference of TVM 0.18",
        inputs=("data", *_VECTORS),
        attrs=BatchNormAttrs,
        infer=batch_norm_type,
        relay_type=batch_norm_relay_type,
        operands=batch_norm_operands,
        numpy=batch_norm_numpy,
        compute=batch_norm_compute,
        relax=Expanded(batch_norm_relax),
        layout=layout_rules.batch_norm,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.FOLLOW,
    ),
    OpDef(
        script=Script(
            "nn.batch_norm",
            "data, gamma, beta, moving_mean, moving_var, axis, epsilon=1e-05, center=True, scale=True, "
            "momentum=0.1, training=True",
            limits=(_SAYS_ANOTHER_DTYPE,),
        ),
        doc="Normalise each channel by its own statistics (training) or by trained ones.",
        source="R.nn.batch_norm of TVM 0.25-0.27 and its lowering",
        inputs=("data", *_VECTORS),
        attrs=RelaxBatchNormAttrs,
        infer=floating("batch_norm", relax_batch_norm_type),
        numpy=batch_norm_numpy,
        compute=batch_norm_compute,
    ),
    OpDef(
        relay="nn.layer_norm",
        doc="Normalise along one axis by the data's own mean and variance.",
        source="Relay's LayerNorm relation and SimplifyInference of TVM 0.18",
        inputs=("data", "gamma", "beta"),
        attrs=LayerNormAttrs,
        infer=layer_norm_type,
        operands=layer_norm_operands,
        numpy=layer_norm_numpy,
        compute=layer_norm_compute,
        relax=Expanded(layer_norm_relax),
        layout=layout_rules.normalisation,
        precision=Precision.NEVER,
    ),
    OpDef(
        script=Script(
            "nn.layer_norm",
            "data, gamma, beta, axes, epsilon=1e-05, center=True, scale=True",
            limits=(ONLY_FLOAT32_AND_16,),
        ),
        doc="Normalise over several axes by the data's own mean and variance.",
        source="R.nn.layer_norm of TVM 0.25-0.27 and its lowering",
        inputs=("data", "gamma", "beta"),
        attrs=RelaxLayerNormAttrs,
        infer=floating("layer_norm", relax_layer_norm_type),
        numpy=relax_layer_norm_numpy,
        compute=relax_layer_norm_compute,
    ),
    OpDef(
        relay="nn.dropout",
        doc="The data as it is, and a mask of ones: inference drops nothing.",
        source="Relay's Dropout relation and SimplifyInference of TVM 0.18",
        inputs=("data",),
        attrs=DropoutAttrs,
        infer=dropout_type,
        numpy=dropout_numpy,
        compute=dropout_compute,
        relax=Expanded(dropout_relax),
        layout=layout_rules.elementwise,
        precision=Precision.FOLLOW,
    ),
    OpDef(
        script=Script("nn.dropout", "data, rate=0.5"),
        doc="The data as it is, and a mask of ones: inference drops nothing.",
        source="R.nn.dropout of TVM 0.26-0.27 and its lowering",
        inputs=("data",),
        attrs=DropoutAttrs,
        infer=dropout_type,
        numpy=dropout_numpy,
        compute=dropout_compute,
    ),
)
