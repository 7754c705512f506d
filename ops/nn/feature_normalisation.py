"""Normalisations over parts of a tensor: instances, groups of channels, vectors, and neighbouring
channels.

``R.nn.instance_norm`` and ``R.nn.group_norm`` name the axes of their statistics, and always use
gamma and beta: where Relay turns these off they get ones or zeros.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import ONLY_FLOAT32_AND_16
from relay2relax.ops.common.narrow_floats import in_single
from relay2relax.ops.common.shapes import (
    any_type,
    check_float,
    check_groups,
    floating,
    normal_axes,
    normal_axis,
    tensor,
)
from relay2relax.ops.common.windows import padded
from relay2relax.ops.nn.normalisation import relay_epsilon
from relay2relax.ops.registry.attributes import Bool, Double, Int, IntegerArray
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expand, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.extent import as_prim, equal, floordiv, product, static
from relay2relax.tir.ir.expr import PrimExpr, cast, const, maximum
from relay2relax.tir.ir.intrinsics import call


@dataclass(frozen=True, slots=True)
class InstanceNormAttrs:
    """``axis`` holds the channels.

    ``center`` and ``scale`` say whether beta and gamma take part.
    """

    axis: Int = 1
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class RelaxInstanceNormAttrs:
    """``axes`` are those of the statistics; gamma and beta always take part."""

    channel_axis: Int
    axes: IntegerArray
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class GroupNormAttrs:
    """The channels on ``axis`` are split into ``num_groups``."""

    num_groups: Int = 0
    axis: Int = 1
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class RelaxGroupNormAttrs:
    """``axes`` are those of the statistics besides the channels of a group.

    Gamma and beta always take part.
    """

    num_groups: Int
    channel_axis: Int
    axes: IntegerArray
    epsilon: Double = 1e-5
    center: Bool = True
    scale: Bool = True


@dataclass(frozen=True, slots=True)
class L2NormalizeAttrs:
    """Vectors lie along ``axis``, all axes where it is empty.

    A length below the root of ``eps`` counts as that.
    """

    eps: Double
    axis: IntegerArray


@dataclass(frozen=True, slots=True)
class RMSNormAttrs:
    """The last axes, over which the mean square is taken."""

    axes: IntegerArray = (-1,)
    epsilon: Double = 1e-5


@dataclass(frozen=True, slots=True)
class LRNAttrs:
    """``size`` neighbours along ``axis`` are added up."""

    size: Int = 5
    axis: Int = 1
    bias: Double = 2.0
    alpha: Double = 0.0001
    beta: Double = 0.75


@dataclass(frozen=True, slots=True)
class _Statistics:
    """What is normalised: ``groups`` of channels on ``channel``, with all elements of ``axes``."""

    channel: int
    axes: tuple[int, ...]
    groups: int | None
    epsilon: float


NormAttrs = InstanceNormAttrs | RelaxInstanceNormAttrs | GroupNormAttrs | RelaxGroupNormAttrs


def _statistics(attrs: NormAttrs, rank: int, dtype: str = "float32") -> _Statistics:
    """Return what a call normalises; TVM takes the axes behind the channels for a group norm."""
    epsilon = attrs.epsilon
    if isinstance(attrs, (InstanceNormAttrs, GroupNormAttrs)):
        epsilon = relay_epsilon(epsilon, dtype)
    match attrs:
        case InstanceNormAttrs():
            channel = normal_axis(attrs.axis, rank)
            axes, groups = tuple(d for d in range(1, rank) if d != channel), None
        case GroupNormAttrs():
            channel = normal_axis(attrs.axis, rank)
            axes, groups = tuple(range(channel + 1, rank)), attrs.num_groups
        case RelaxInstanceNormAttrs():
            channel, axes, groups = normal_axis(attrs.channel_axis, rank), normal_axes(attrs.axes, rank), None
        case RelaxGroupNormAttrs():
            channel, groups = normal_axis(attrs.channel_axis, rank), attrs.num_groups
            axes = normal_axes(attrs.axes, rank)
            if channel in axes:
                raise OpError(f"channel_axis {channel} is one of the axes {list(axes)}", 0, kind=operators.AXIS)
    return _Statistics(channel, axes, groups, epsilon)


def _takes(attrs: NormAttrs, flag: bool) -> bool:
    """Whether a vector takes part: Relax, as TVM lowers it, takes gamma and beta whatever the flags
    say.
    """
    return flag or isinstance(attrs, (RelaxInstanceNormAttrs, RelaxGroupNormAttrs))


def feature_norm_type(attrs: NormAttrs, data: Type, gamma: Type, beta: Type) -> TensorType:
    """Return the type of the data; gamma and beta have one element for each channel."""
    x = tensor(data)
    found = _statistics(attrs, x.rank)
    extent = x.shape[found.channel]
    for argument, (name, vector) in enumerate((("gamma", tensor(gamma, 1)), ("beta", tensor(beta, 2))), 1):
        if vector.rank != 1 or equal(vector.shape[0], extent) is False:
            raise OpError(
                mistake(operators.SHAPE, what=name, shape=show(vector.shape), expected=show((extent,))), argument
            )
        if vector.dtype != x.dtype:
            raise OpError(mistake(operators.DTYPE, what=name, dtype=vector.dtype, expected=x.dtype), argument)
    if found.groups is not None:
        check_groups(extent, found.groups)
    return x


def feature_norm_operands(attrs: NormAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce unknown gamma and beta from the data."""
    data = types[0]
    if not isinstance(data, TensorType):
        return types
    vector = TensorType((data.shape[_statistics(attrs, data.rank).channel],), data.dtype)
    return (data, *(vector if one is None else one for one in types[1:]))


def feature_norm_numpy(attrs: NormAttrs, data: Numbers, gamma: Array, beta: Array) -> Array:
    """Return ``(data - mean) / sqrt(var + epsilon) * gamma + beta``."""
    found = _statistics(attrs, data.ndim, of_array(data))
    channel, axes, x = found.channel, found.axes, data
    if found.groups is not None:
        # (…, groups, channels of one group, …)
        split = (found.groups, data.shape[channel] // found.groups)
        x = data.reshape((*data.shape[:channel], *split, *data.shape[channel + 1 :]))
        axes = (channel + 1, *(axis + 1 if axis > channel else axis for axis in axes))
    wide = np.dtype(np.float32) if data.dtype.itemsize < 4 else data.dtype
    centred = x - np.mean(x, axis=axes, keepdims=True, dtype=wide)
    var = np.mean(np.square(centred), axis=axes, keepdims=True)
    result = (centred / np.sqrt(var + wide.type(found.epsilon))).reshape(data.shape)
    along = [-1 if d == channel else 1 for d in range(data.ndim)]
    if _takes(attrs, attrs.scale):
        result = result * gamma.reshape(along)
    if _takes(attrs, attrs.center):
        result = result + beta.reshape(along)
    return np.asarray(result, data.dtype)


def feature_norm_compute(
    attrs: NormAttrs, out: TensorType, data: te.Tensor, gamma: te.Tensor, beta: te.Tensor
) -> te.Tensor:
    """Return mean, variance and the normalised data, one stage each."""
    found, dtype = _statistics(attrs, data.rank, data.dtype), data.dtype
    channel, axes, groups = found.channel, found.axes, found.groups
    # Statistics are indexed by the axes that stay; a group stands at the place of its channels.
    kept = [d for d in range(data.rank) if d not in axes]
    size = floordiv(data.shape[channel], groups) if groups is not None else 1
    shape = [groups if d == channel and groups is not None else data.shape[d] for d in kept]
    count = product((size, *(data.shape[d] for d in axes)))

    def mean_of(body: Callable[..., PrimExpr], name: str) -> te.Tensor:
        def total(*at: PrimExpr) -> PrimExpr:
            loops = {d: te.reduce_axis(data.shape[d], f"k{d}") for d in axes}
            index = {**dict(zip(kept, at, strict=True)), **{d: loop.var for d, loop in loops.items()}}
            reduced = list(loops.values())
            if groups is not None:
                inner = te.reduce_axis(size, "kc")
                index[channel] = index[channel] * as_prim(size) + inner.var
                reduced.insert(0, inner)
            return te.sum(body(data[tuple(index[d] for d in range(data.rank))], at), reduced)

        sums = te.compute(shape, total, f"{name}_sum")
        return te.compute(shape, lambda *at: sums[at] / cast(dtype, as_prim(count)), name)

    mean = mean_of(lambda value, at: value, "norm_mean")
    var = mean_of(lambda value, at: (value - mean[at]) * (value - mean[at]), "norm_var")

    def element(*at: PrimExpr) -> PrimExpr:
        place = tuple(at[d] // as_prim(size) if d == channel and groups is not None else at[d] for d in kept)
        value = (data[at] - mean[place]) / call("sqrt", var[place] + const(found.epsilon, dtype))
        value = value * gamma[at[channel]] if _takes(attrs, attrs.scale) else value
        return value + beta[at[channel]] if _takes(attrs, attrs.center) else value

    return te.compute(data.shape, element, "group_norm" if groups is not None else "instance_norm")


def instance_norm_relax(e: Emit[V], attrs: InstanceNormAttrs, data: V, gamma: V, beta: V) -> V:
    """Relax takes gamma and beta whatever ``center`` and ``scale`` say."""
    x = tensor(e.type_of(data))
    found = _statistics(attrs, x.rank, x.dtype)
    vectors = _vectors(e, attrs, gamma, beta)
    return e.call(
        "nn.instance_norm", data, *vectors, channel_axis=found.channel, axes=found.axes, epsilon=found.epsilon
    )


def group_norm_relax(e: Emit[V], attrs: GroupNormAttrs, data: V, gamma: V, beta: V) -> V:
    """As instance norm.

    With channels last there are no axes to name, which Relax does not lower.
    """
    x = tensor(e.type_of(data))
    found = _statistics(attrs, x.rank, x.dtype)
    if not found.axes:
        return e.as_tir(
            group_norm, attrs, (data, gamma, beta), "R.nn.group_norm lowers no call without axes beside the channels"
        )
    return e.call(
        "nn.group_norm", data, *_vectors(e, attrs, gamma, beta), num_groups=attrs.num_groups,
        channel_axis=found.channel, axes=found.axes, epsilon=found.epsilon,
    )  # fmt: skip


def _vectors(e: Emit[V], attrs: InstanceNormAttrs | GroupNormAttrs, gamma: V, beta: V) -> tuple[V, V]:
    return (
        gamma if attrs.scale else e.call("ones_like", gamma),
        beta if attrs.center else e.call("zeros_like", beta),
    )


# Vectors of length 1.


def _vector_axes(attrs: L2NormalizeAttrs, rank: int) -> tuple[int, ...]:
    return normal_axes(attrs.axis, rank) or tuple(range(rank))


def l2_normalize_type(attrs: L2NormalizeAttrs, data: Type) -> TensorType:
    """Return the type of the data."""
    x = tensor(data)
    _vector_axes(attrs, x.rank)
    return x


def l2_normalize_numpy(attrs: L2NormalizeAttrs, data: Numbers) -> Array:
    """Return ``data / sqrt(max(sum of squares, eps))``."""
    check_float("l2_normalize", of_array(data))
    squares = np.sum(np.square(data), axis=_vector_axes(attrs, data.ndim), keepdims=True, dtype=data.dtype)
    return np.asarray(data / np.sqrt(np.maximum(squares, data.dtype.type(attrs.eps))))


def l2_normalize_compute(attrs: L2NormalizeAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the sum of squares, then the quotient."""
    check_float("l2_normalize", data.dtype)
    axes = _vector_axes(attrs, data.rank)
    kept = [d for d in range(data.rank) if d not in axes]

    def squares(*at: PrimExpr) -> PrimExpr:
        loops = {d: te.reduce_axis(data.shape[d], f"k{d}") for d in axes}
        place = {**dict(zip(kept, at, strict=True)), **{d: loop.var for d, loop in loops.items()}}
        value = data[tuple(place[d] for d in range(data.rank))]
        return te.sum(value * value, list(loops.values()))

    total = te.compute([data.shape[d] for d in kept], squares, "l2_normalize_sum")
    least = const(attrs.eps, data.dtype)
    return te.compute(
        out.shape,
        lambda *at: data[at] / call("sqrt", maximum(total[tuple(at[d] for d in kept)], least)),
        "l2_normalize",
    )


def l2_normalize_relax(e: Emit[V], attrs: L2NormalizeAttrs, data: V) -> V:
    """The definition, operator by operator."""
    x = tensor(e.type_of(data))
    squares = e.call("sum", e.call("multiply", data, data), axis=_vector_axes(attrs, x.rank), keepdims=True)
    return e.call("divide", data, e.call("sqrt", e.call("maximum", squares, e.const(attrs.eps, x.dtype))))


# Division by the root of the mean square.


def _square_axes(attrs: RMSNormAttrs, rank: int) -> tuple[int, ...]:
    axes = normal_axes(attrs.axes, rank)
    if axes != tuple(range(rank - len(axes), rank)):
        raise OpError(f"the last axes are normalised, these are {list(attrs.axes)}", kind=operators.AXIS)
    return axes


def rms_norm_type(attrs: RMSNormAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of the data; the weight has the shape of the axes."""
    x, factors = tensor(data), tensor(weight, 1)
    want = tuple(x.shape[axis] for axis in _square_axes(attrs, x.rank))
    if factors.rank != len(want) or any(equal(a, b) is False for a, b in zip(factors.shape, want, strict=True)):
        raise OpError(mistake(operators.SHAPE, what="the weight", shape=show(factors.shape), expected=show(want)), 1)
    return x


def rms_norm_numpy(attrs: RMSNormAttrs, data: Numbers, weight: Numbers) -> Array:
    """Return ``data / sqrt(mean of squares + epsilon) * weight``; half precision is computed in
    float32.
    """
    x, factors = (one.astype(np.float32) if one.dtype.itemsize < 4 else one for one in (data, weight))
    mean = np.mean(np.square(x), axis=_square_axes(attrs, x.ndim), keepdims=True, dtype=x.dtype)
    return np.asarray(x * (x.dtype.type(1) / np.sqrt(mean + x.dtype.type(attrs.epsilon))) * factors).astype(data.dtype)


def rms_norm_compute(attrs: RMSNormAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the sum of squares, then the product."""
    axes = _square_axes(attrs, data.rank)
    first, wide = data.rank - len(axes), data.dtype if data.dtype == "float64" else "float32"

    def squares(*at: PrimExpr) -> PrimExpr:
        loops = [te.reduce_axis(data.shape[axis], f"k{axis}") for axis in axes]
        value = cast(wide, data(*at, *(loop.var for loop in loops)))
        return te.sum(value * value, loops)

    total = te.compute(data.shape[:first], squares, "rms_norm_sum")
    count = cast(wide, as_prim(product(data.shape[axis] for axis in axes)))

    def element(*at: PrimExpr) -> PrimExpr:
        scale = call("rsqrt", total[at[:first]] / count + const(attrs.epsilon, wide))
        return cast(out.dtype, scale * cast(wide, data[at]) * cast(wide, weight[at[first:]]))

    return te.compute(out.shape, element, "rms_norm")


# Local response normalisation.


def lrn_type(attrs: LRNAttrs, data: Type) -> TensorType:
    """Return the type of the data."""
    x = tensor(data)
    normal_axis(attrs.axis, x.rank)
    if attrs.size < 1:
        raise OpError(mistake(operators.ATTRIBUTE, name="size", value=attrs.size, expected="at least 1"))
    return x


def lrn_numpy(attrs: LRNAttrs, data: Numbers) -> Array:
    """Return ``data / (bias + alpha / size * sum of neighbouring squares) ** beta``."""
    axis, half, dtype = attrs.axis % data.ndim, attrs.size // 2, data.dtype
    squares = np.moveaxis(np.square(data), axis, -1)
    extent = squares.shape[-1]
    total = np.zeros_like(squares)
    for tap in range(-half, attrs.size - half):
        low, high = max(0, -tap), min(extent, extent - tap)
        if low < high:
            total[..., low:high] += squares[..., low + tap : high + tap]
    scale = dtype.type(attrs.bias) + dtype.type(attrs.alpha) * np.moveaxis(total, -1, axis) / dtype.type(attrs.size)
    return np.asarray(data / np.power(scale, dtype.type(attrs.beta)), dtype)


def lrn_compute(attrs: LRNAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the sum of squares over the neighbours in the padded data, then the quotient."""
    axis, half, dtype = normal_axis(attrs.axis, data.rank), attrs.size // 2, data.dtype
    before = [half if d == axis else 0 for d in range(data.rank)]
    after = [attrs.size - 1 - half if d == axis else 0 for d in range(data.rank)]
    x = padded(data, before, after, const(0, dtype))
    tap = te.reduce_axis(attrs.size, "k")

    def squares(*at: PrimExpr) -> PrimExpr:
        index = (*at[:axis], at[axis] + tap.var, *at[axis + 1 :])
        value = x[index]
        return te.sum(value * value, tap)

    total = te.compute(out.shape, squares, "lrn_sum")

    def element(*at: PrimExpr) -> PrimExpr:
        scale = const(attrs.bias, dtype) + const(attrs.alpha, dtype) * total[at] / const(attrs.size, dtype)
        return data[at] / in_single("pow", "bfloat16")(scale, const(attrs.beta, dtype))

    return te.compute(out.shape, element, "lrn")


def lrn_relax(e: Emit[V], attrs: LRNAttrs, data: V) -> V:
    """The definition, one slice of the padded squares for each neighbour."""
    x = tensor(e.type_of(data))
    axis, half = normal_axis(attrs.axis, x.rank), attrs.size // 2
    extent = static(x.shape[axis])
    if extent is None:
        return e.as_tir(lrn, attrs, (data,), "the number of channels is not known beforehand")
    width = [0] * (2 * x.rank)
    width[2 * axis : 2 * axis + 2] = [half, attrs.size - 1 - half]
    squares = e.call("nn.pad", e.call("multiply", data, data), pad_width=tuple(width))
    parts = [
        e.call("strided_slice", squares, axes=(axis,), begin=(tap,), end=(tap + extent,), strides=(1,))
        for tap in range(attrs.size)
    ]
    total = parts[0]
    for part in parts[1:]:
        total = e.call("add", total, part)

    def number(value: float) -> V:
        return e.const(value, x.dtype)

    share = e.call("divide", e.call("multiply", total, number(attrs.alpha)), number(attrs.size))
    return e.call("divide", data, e.call("power", e.call("add", share, number(attrs.bias)), number(attrs.beta)))


_NAMES = ("data", "gamma", "beta")


def _relax_record(script: Script, attrs: type, doc: str) -> OpDef:
    return OpDef(
        script=script,
        doc=doc,
        source=f"R.{script.name} of TVM 0.25-0.27 and its lowering",
        inputs=_NAMES,
        attrs=attrs,
        infer=floating(script.name.removeprefix("nn."), feature_norm_type),
        numpy=feature_norm_numpy,
        compute=feature_norm_compute,
    )


def _relay_record(name: str, attrs: type, relax: Expand, doc: str, relation: str) -> OpDef:
    return OpDef(
        relay=f"nn.{name}",
        doc=doc,
        source=f"Relay's {relation} relation and SimplifyInference of TVM 0.18",
        inputs=_NAMES,
        attrs=attrs,
        infer=feature_norm_type,
        operands=feature_norm_operands,
        numpy=feature_norm_numpy,
        compute=feature_norm_compute,
        relax=Expanded(relax),
        layout=layout_rules.normalisation if name == "instance_norm" else None,
    )


instance_norm = _relay_record(
    "instance_norm", InstanceNormAttrs, instance_norm_relax,
    "Normalise each channel of each instance by its own mean and variance.", "InstanceNorm",
)  # fmt: skip

group_norm = _relay_record(
    "group_norm", GroupNormAttrs, group_norm_relax,
    "Normalise each group of channels of each instance, with the axes behind them, by its own mean and variance.",
    "GroupNorm",
)  # fmt: skip

lrn = OpDef(
    relay="nn.lrn",
    doc="Divide by a power of the neighbours' squares: local response normalisation.",
    source="TOPI's lrn of TVM 0.18",
    inputs=("data",),
    attrs=LRNAttrs,
    infer=lrn_type,
    relay_type=any_type,
    numpy=lrn_numpy,
    compute=lrn_compute,
    relax=Expanded(lrn_relax),
)

_INSTANCE_NORM = Script(
    "nn.instance_norm",
    "data, gamma, beta, channel_axis, axes, epsilon=1e-05, center=True, scale=True",
    since="0.21",
    limits=(ONLY_FLOAT32_AND_16,),
)
_GROUP_NORM = Script(
    "nn.group_norm",
    "data, gamma, beta, num_groups, channel_axis, axes, epsilon=1e-05, center=True, scale=True",
    limits=(ONLY_FLOAT32_AND_16,),
)

OPS: tuple[OpDef, ...] = (
    instance_norm,
    group_norm,
    lrn,
    OpDef(
        relay="nn.l2_normalize",
        doc="Divide vectors by their length.",
        source="TOPI's l2_normalize of TVM 0.18",
        inputs=("data",),
        attrs=L2NormalizeAttrs,
        infer=l2_normalize_type,
        relay_type=any_type,
        numpy=l2_normalize_numpy,
        compute=l2_normalize_compute,
        relax=Expanded(l2_normalize_relax),
        layout=layout_rules.l2_normalize,
        precision=Precision.NEVER,
    ),
    OpDef(
        script=Script("nn.rms_norm", "data, weight, axes=-1, epsilon=1e-05", limits=(ONLY_FLOAT32_AND_16,)),
        doc="Divide by the root of the mean square over the last axes, and multiply by a weight.",
        source="R.nn.rms_norm of TVM 0.25-0.27 and its lowering",
        inputs=("data", "weight"),
        attrs=RMSNormAttrs,
        infer=rms_norm_type,
        numpy=rms_norm_numpy,
        compute=rms_norm_compute,
    ),
    _relax_record(_INSTANCE_NORM, RelaxInstanceNormAttrs, "Normalise each channel over the named axes."),
    _relax_record(_GROUP_NORM, RelaxGroupNormAttrs, "Normalise each group of channels over the named axes."),
)
