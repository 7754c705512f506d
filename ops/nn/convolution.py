"""Convolutions over one, two and three spatial axes.

Shapes are thought of as :mod:`relay2relax.ops.nn.convolution_rules` says. A result is accumulated
in the output's dtype, to which inputs are converted before they are multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product as cartesian

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import shapes_of
from relay2relax.ops.common.shapes import check_groups, tensor
from relay2relax.ops.common.windows import Window, check_positions, pad_array, windows_of
from relay2relax.ops.nn.convolution_rules import (
    Conv1DAttrs,
    Conv2DAttrs,
    Conv3DAttrs,
    ConvAttrs,
    ConvCall,
    attributes,
    beyond_counted,
    check_channels,
    check_kernel,
    counted_extents,
    extents_in,
    kernel_extents,
    known_kernel,
    one_dtype,
    pad_spatial,
    places_under,
    read_call,
    tap_of,
    to_layout,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Limit, Script, Types
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, Shape, as_prim, equal, floordiv, is_any, mul, static, sub
from relay2relax.tir.ir.expr import PrimExpr, cast, const


def _multiplies(call: ConvCall, channels: Extent, kernel: Shape) -> bool:
    """Whether a depthwise kernel is written as (channels, multiplier): its O counts the input
    channels.

    Output channel ``c * multiplier + m`` then is ``kernel[c, m]`` over input channel ``c``.
    """
    groups = call.groups
    return groups > 1 and static(channels) == groups and static(kernel[0]) == groups and static(kernel[1]) != 1


def conv_type(attrs: ConvAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of a convolution."""
    return _conv_type(attrs, data, weight)


def conv_relay_type(attrs: ConvAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of a convolution, which TVM infers for all dilations, strides but 0, and
    windows.
    """
    return _conv_type(attrs, data, weight, least=None)


def _conv_type(attrs: ConvAttrs, data: Type, weight: Type, least: int | None = 1) -> TensorType:
    call = read_call(attrs, least)
    batch, channels, *spatial = extents_in(data, call.data, call.data_order, "the data", 0)
    kernel = extents_in(weight, call.kernel, call.kernel_order, "the weight", 1)
    check_kernel(attrs, kernel[2:])
    outputs: Extent
    if attrs.channels is not None and _multiplies(call, channels, kernel):
        outputs = attrs.channels
        if equal(outputs, mul(kernel[0], kernel[1])) is False:
            raise OpError(
                f"a depthwise weight of {kernel[0]} channels times {kernel[1]} cannot give {outputs} channels",
                1,
                kind=operators.SHAPE,
            )
    else:
        outputs = kernel[0]
        if equal(channels, mul(kernel[1], call.groups)) is False:
            raise OpError(
                f"the data has {channels} channels, the weight takes {kernel[1]} in each of {call.groups} group(s)",
                1,
                kind=operators.SHAPE,
            )
        check_channels(attrs.channels, outputs)
        check_groups(outputs, call.groups, 1, "output channels")
    reach = known_kernel(attrs, kernel[2:])
    windows = call.windows(counted_extents(reach))
    columns = zip(reach, windows, spatial, strict=True)
    positions: tuple[Extent, ...] = tuple(
        ANY if is_any(k) else w.positions(sub(e, beyond_counted(k, w.dilation))) for k, w, e in columns
    )
    if least is not None:
        check_positions(positions, spatial, windows)
    shape = call.out.shape((batch, outputs, *positions), call.data_order)
    return TensorType(shape, attrs.out_dtype or tensor(data).dtype)


def conv_operands(attrs: ConvAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown weight from the data where ``channels`` and ``kernel_size`` are given."""
    data, weight = types
    if weight is not None or data is None or attrs.channels is None or attrs.kernel_size is None:
        return types
    call = read_call(attrs, least=None)
    channels = extents_in(data, call.data, call.data_order, "the data", 0)[1]
    kernel = (attrs.channels, floordiv(channels, call.groups), *attrs.kernel_size)
    return data, TensorType(call.kernel.shape(kernel, call.kernel_order), tensor(data).dtype)


def conv_numpy(attrs: ConvAttrs, data: Array, weight: Array) -> Array:
    """Return the convolution: a matrix product over the windows, or, depthwise, a sum over the
    taps.
    """
    call = read_call(attrs)
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    x: Numbers = call.data.to_order(data, call.data_order).astype(dtype, copy=False)
    w: Numbers = call.kernel.to_order(weight, call.kernel_order).astype(dtype, copy=False)
    if attrs.channels is not None and _multiplies(call, x.shape[1], w.shape):
        w = w.reshape((-1, 1, *w.shape[2:]))
    windows = call.windows(w.shape[2:])
    out = tuple(int(static(window.positions(e)) or 0) for window, e in zip(windows, x.shape[2:], strict=True))
    x = pad_array(x, call.before, call.after, 0)
    convolve = _depthwise if call.groups == x.shape[1] > 1 else _by_matrix
    return call.out.from_order(convolve(x, w, windows, out, call.groups), call.data_order)


def _depthwise(x: Numbers, w: Numbers, windows: Sequence[Window], out: tuple[int, ...], groups: int) -> Array:
    """Each of ``groups`` input channels gives ``multiplier`` output channels: products summed tap
    by tap.
    """
    n, multiplier = x.shape[0], w.shape[0] // groups
    result = np.zeros((n, groups, multiplier, *out), x.dtype)
    product = np.empty_like(result)
    factors = w.reshape((groups, multiplier, *w.shape[2:]))
    for tap in cartesian(*(range(window.kernel) for window in windows)):
        under = x[places_under(tap, windows, out)][:, :, None]
        factor = factors[tap_of(tap)].reshape((groups, multiplier, *(1 for _ in tap)))
        np.add(result, np.multiply(under, factor, out=product), out=result)
    return result.reshape((n, groups * multiplier, *out))


def _by_matrix(x: Numbers, w: Numbers, windows: Sequence[Window], out: tuple[int, ...], groups: int) -> Array:
    """A matrix product: rows are output channels, columns the windows' contents."""
    n, rank = x.shape[0], len(windows)
    outputs = w.shape[0] // groups
    depth, places = int(np.prod(w.shape[1:])), int(np.prod(out))
    under = windows_of(x, windows, out)
    # (N, C, *out, *kernel) -> (N, C, *kernel, *out), then rows of one window's content.
    axes = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    columns = under.transpose(axes).reshape((n, groups, depth, places))
    rows = w.reshape((groups, outputs, depth))
    return np.asarray(np.matmul(rows, columns), x.dtype).reshape((n, groups * outputs, *out))


def conv_compute(attrs: ConvAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the convolution as a sum over input channels and taps of the padded data."""
    call = read_call(attrs)
    channels = call.data.extents(data.shape, call.data_order)[1]
    kernel = call.kernel.extents(weight.shape, call.kernel_order)
    windows = call.windows(kernel_extents(kernel[2:]))
    multiplied = attrs.channels is not None and _multiplies(call, channels, kernel)
    # Output channels and input channels of one group.
    outputs = kernel[1] if multiplied else floordiv(kernel[0], call.groups)
    inputs: Extent = 1 if multiplied else kernel[1]
    x = pad_spatial(data, call, call.before, call.after)
    axis_c = te.reduce_axis(inputs, "rc")
    axes_k = [te.reduce_axis(w.kernel, f"r{letter.lower()}") for letter, w in zip(call.spatial, windows, strict=True)]

    def element(*indices: PrimExpr) -> PrimExpr:
        at = call.out.coordinates(indices)
        group = at["C"] // as_prim(outputs) if call.groups > 1 else const(0, "int64")
        c = group * as_prim(inputs) + axis_c.var
        under = {"N": at["N"], "C": c}
        if multiplied:
            tap = {"O": group, "I": at["C"] % as_prim(outputs)}
        else:
            tap = {"O": at["C"], "I": axis_c.var}
        for letter, w, k in zip(call.spatial, windows, axes_k, strict=True):
            under[letter] = at[letter] * w.stride + k.var * w.dilation
            tap[letter] = k.var
        left = cast(out.dtype, x[call.data.indices(under)])
        return te.sum(left * cast(out.dtype, weight[call.kernel.indices(tap)]), [axis_c, *axes_k])

    return te.compute(out.shape, element, f"conv{len(call.spatial)}d")


def conv_relax(e: Emit[V], record: OpDef, attrs: ConvAttrs, data: V, weight: V) -> V:
    """Relax's convolution takes no (channels, multiplier) kernels, and gives its result in the
    data's layout.
    """
    call = read_call(attrs)
    if call.data.is_split or call.kernel.is_split or call.out.is_split:
        return e.as_tir(record, attrs, (data, weight), "Relax convolves no split layouts")
    channels = extents_in(e.type_of(data), call.data, call.data_order, "the data", 0)[1]
    kernel = extents_in(e.type_of(weight), call.kernel, call.kernel_order, "the weight", 1)
    layout = call.kernel.name
    if attrs.channels is not None and _multiplies(call, channels, kernel):
        axes = tuple(call.kernel.position(letter) for letter in call.kernel_order)
        if axes != tuple(range(len(axes))):
            weight = e.call("permute_dims", weight, axes=axes)
        weight = e.call("reshape", weight, e.shape((mul(kernel[0], kernel[1]), 1, *kernel[2:])))
        layout = call.kernel_order
    given = attributes(attrs, "channels", "kernel_size", kernel_layout=layout, out_layout="")
    result = e.call(record.name, data, weight, **given)
    return to_layout(e, result, call.data, call.out)


def _several_in_a_group(attrs: ConvAttrs, types: Types) -> bool:
    """Whether a group has several channels of the result."""
    shape = shapes_of(types)[1]
    return attrs.groups > 1 and shape[attrs.kernel_layout.index("O")] != attrs.groups


_GROUPS = Limit("apache-tvm puts a loop inside of the sum where a group has several channels", _several_in_a_group)


def convolution(attrs_class: type[ConvAttrs], doc: str) -> OpDef:
    """Return the record of the convolution over the spatial axes of ``attrs_class``."""
    rank = len(attrs_class.spatial)
    ones, zeros = (1, 0) if rank == 1 else ((1,) * rank, (0,) * rank)
    layouts = f"data_layout='NC{attrs_class.spatial}', kernel_layout='OI{attrs_class.spatial}'"

    def relax(e: Emit[V], attrs: ConvAttrs, data: V, weight: V) -> V:
        return conv_relax(e, record, attrs, data, weight)

    record = OpDef(
        relay=f"nn.conv{rank}d",
        doc=f"{doc} `groups` splits the channels, `dilation` spreads the taps.",
        source=f"Relay's Conv{rank}D relation and TOPI's conv{rank}d of TVM 0.18; R.nn.conv{rank}d of TVM 0.25-0.27",
        inputs=("data", "weight"),
        attrs=attrs_class,
        infer=conv_type,
        relax_type=one_dtype(conv_type),
        relay_type=conv_relay_type,
        operands=conv_operands,
        numpy=conv_numpy,
        compute=conv_compute,
        relax=Expanded(relax),
        script=Script(
            f"nn.conv{rank}d",
            f"data, weight, strides={ones}, padding={zeros}, dilation={ones}, groups=1, {layouts}, out_layout=None, "
            "out_dtype=None",
            omit=("channels", "kernel_size"),
            gpu_limits=(_GROUPS,),
        ),
        layout=layout_rules.convolution,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.ALWAYS,
    )
    return record


OPS: tuple[OpDef, ...] = (
    convolution(Conv1DAttrs, "Convolve sequences with a kernel."),
    convolution(Conv2DAttrs, "Convolve images with a kernel."),
    convolution(Conv3DAttrs, "Convolve volumes with a kernel."),
)
