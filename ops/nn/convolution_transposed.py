"""Transposed convolutions over one, two and three spatial axes.

Shapes are thought of as :mod:`relay2relax.ops.nn.convolution_rules` says; here ``O`` of a kernel
counts the output channels of one group, ``I`` the input channels of all groups.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import product as cartesian

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.shapes import check_groups, tensor
from relay2relax.ops.common.windows import Window, pad_array, per_axis
from relay2relax.ops.nn.convolution_rules import (
    Conv1DTransposeAttrs,
    Conv2DTransposeAttrs,
    Conv3DTransposeAttrs,
    ConvCall,
    ConvTransposeAttrs,
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
from relay2relax.ops.registry.script import OLDEST, Limit, Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, add, as_prim, equal, floordiv, is_any, mul, sub
from relay2relax.tir.ir.expr import PrimExpr, cast, const, if_then_else, logical_and


def _transposed_extent(extent: Extent, window: Window, output_padding: int) -> Extent:
    if is_any(extent):
        return extent
    steps = mul(sub(extent, 1), window.stride)
    return add(steps, window.span - window.before - window.after + output_padding)


def _output_padding(attrs: ConvTransposeAttrs, call: ConvCall) -> tuple[int, ...]:
    rank = len(call.spatial)
    # TVM reads the first values; writers of one-dimensional calls give more.
    found = per_axis(attrs.output_padding[:rank], rank, "output_padding", least=0)
    if any(p >= s for p, s in zip(found, call.strides, strict=True)):
        raise OpError(
            f"output_padding {list(found)} must be smaller than strides {list(call.strides)}", kind=operators.ATTRIBUTE
        )
    return found


def conv_transpose_type(attrs: ConvTransposeAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of a transposed convolution."""
    call = read_call(attrs)
    _output_padding(attrs, call)
    return _conv_transpose_type(attrs, data, weight, call)


def conv_transpose_relay_type(attrs: ConvTransposeAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of a transposed convolution, which TVM infers for any strides, dilations and
    output_padding.
    """
    return _conv_transpose_type(attrs, data, weight, read_call(attrs, least=None))


def _conv_transpose_type(attrs: ConvTransposeAttrs, data: Type, weight: Type, call: ConvCall) -> TensorType:
    batch, channels, *spatial = extents_in(data, call.data, call.data_order, "the data", 0)
    kernel = extents_in(weight, call.kernel, call.kernel_order, "the weight", 1)
    check_kernel(attrs, kernel[2:])
    if equal(channels, kernel[1]) is False:
        raise OpError(f"the data has {channels} channels, the weight takes {kernel[1]}", 1, kind=operators.SHAPE)
    check_groups(channels, call.groups)
    outputs = mul(kernel[0], call.groups)
    check_channels(attrs.channels, outputs)
    rank = len(call.spatial)
    extra = per_axis(attrs.output_padding[:rank], rank, "output_padding", least=None)
    reach = known_kernel(attrs, kernel[2:])
    windows = call.windows(counted_extents(reach))
    columns = zip(reach, spatial, windows, extra, strict=True)
    positions = tuple(
        ANY if is_any(k) else add(_transposed_extent(e, w, more), beyond_counted(k, w.dilation))
        for k, e, w, more in columns
    )
    shape = call.out.shape((batch, outputs, *positions), call.data_order)
    return TensorType(shape, attrs.out_dtype or tensor(data).dtype)


def conv_transpose_operands(attrs: ConvTransposeAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown weight from the data where ``channels`` and ``kernel_size`` are given."""
    data, weight = types
    if weight is not None or data is None or attrs.channels is None or attrs.kernel_size is None:
        return types
    call = read_call(attrs, least=None)
    channels = extents_in(data, call.data, call.data_order, "the data", 0)[1]
    kernel = (floordiv(attrs.channels, call.groups), channels, *attrs.kernel_size)
    return data, TensorType(call.kernel.shape(kernel, call.kernel_order), tensor(data).dtype)


def conv_transpose_numpy(attrs: ConvTransposeAttrs, data: Array, weight: Array) -> Array:
    """Return the transposed convolution: every input element adds its multiple of the kernel to the
    result.
    """
    call = read_call(attrs)
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    x: Numbers = call.data.to_order(data, call.data_order).astype(dtype, copy=False)
    w: Numbers = call.kernel.to_order(weight, call.kernel_order).astype(dtype, copy=False)
    (n, c, *spatial), (outputs, _, *kernel), groups = x.shape, w.shape, call.groups
    windows = call.windows(kernel)
    extra = _output_padding(attrs, call)
    # products[n, g, o, *kernel, *spatial] = sum over the group's channels.
    rows = w.reshape((outputs, groups, c // groups, math.prod(kernel))).transpose(1, 0, 3, 2)
    rows = rows.reshape((groups, outputs * int(np.prod(kernel)), c // groups))
    products = np.matmul(rows, x.reshape((n, groups, c // groups, math.prod(spatial))))
    products = products.reshape((n, groups * outputs, *kernel, *spatial))
    full = [max(0, (e - 1) * w.stride + w.span) + p for e, w, p in zip(spatial, windows, extra, strict=True)]
    result = np.zeros((n, groups * outputs, *full), dtype)
    for tap in cartesian(*(range(k) for k in kernel)):
        result[places_under(tap, windows, spatial)] += products[tap_of(tap)]
    # Padding of a transposed convolution takes away; a negative one would add.
    before = [-w.before for w in windows]
    after = [-w.after for w in windows]
    return call.out.from_order(pad_array(result, before, after, 0), call.data_order)


def _tap(
    call: ConvCall,
    weight: te.Tensor,
    windows: Sequence[Window],
    channels: tuple[PrimExpr, PrimExpr],
    spread: Sequence[PrimExpr],
    dtype: str,
) -> PrimExpr:
    """Return the kernel's element between two ``channels`` at the places ``spread`` of the spread
    kernel, 0 between its taps and beyond them.
    """
    at = {"O": channels[0], "I": channels[1]}
    inside: list[PrimExpr] = []
    for letter, t, w in zip(call.spatial, spread, windows, strict=True):
        at[letter] = t // w.dilation
        if w.dilation > 1:
            inside.append((t % w.dilation).equal(0))
        if w.span % w.stride:
            inside.append(t < w.span)
    load = cast(dtype, weight[call.kernel.indices(at)])
    return if_then_else(logical_and(*inside), load, const(0, dtype)) if inside else load


def conv_transpose_compute(attrs: ConvTransposeAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> te.Tensor:
    """Return the transposed convolution as an ordinary one that computes ``stride`` results per
    place at once.

    With ``y + before = q * stride + phase`` and tap ``t = phase + stride * j``, result ``y`` is the
    sum over ``j`` of ``data[q - j] * kernel[t]``: no product with a zero that a dilated input would
    hold. A dilated kernel is spread first, so that the general case has taps of value zero.
    """
    call = read_call(attrs)
    kernel = call.kernel.extents(weight.shape, call.kernel_order)
    windows = call.windows(kernel_extents(kernel[2:]))
    spatial = call.data.extents(data.shape, call.data_order)[2:]
    sizes = call.out.extents(out.shape, call.data_order)
    reach = [-(-w.span // w.stride) for w in windows]
    first = [w.before // w.stride for w in windows]
    count = [
        add(sub(floordiv(add(size, w.before - 1), w.stride), q), 1)
        for size, w, q in zip(sizes[2:], windows, first, strict=True)
    ]
    # Element q' - j + (reach - 1) of the shifted data is element q - j of the data.
    shift = [r - 1 - q for r, q in zip(reach, first, strict=True)]
    rest = [sub(add(n, r - 1 - b), e) for n, r, b, e in zip(count, reach, shift, spatial, strict=True)]
    x = pad_spatial(data, call, shift, rest)
    inputs = floordiv(kernel[1], call.groups)
    axis_c = te.reduce_axis(inputs, "rc")
    axes_j = [te.reduce_axis(r, f"r{letter.lower()}") for letter, r in zip(call.spatial, reach, strict=True)]
    rank = len(windows)

    def phases(*indices: PrimExpr) -> PrimExpr:
        n, channel, *places = indices
        group = channel // as_prim(kernel[0]) if call.groups > 1 else const(0, "int64")
        c = group * as_prim(inputs) + axis_c.var
        under = {"N": n, "C": c}
        spread: list[PrimExpr] = []
        for d, letter in enumerate(call.spatial):
            under[letter] = places[d] + (reach[d] - 1) - axes_j[d].var
            spread.append(places[rank + d] + axes_j[d].var * windows[d].stride)
        o = channel % as_prim(kernel[0]) if call.groups > 1 else channel
        left = cast(out.dtype, x[call.data.indices(under)])
        return te.sum(left * _tap(call, weight, windows, (o, c), spread, out.dtype), [axis_c, *axes_j])

    shape = (*sizes[:2], *count, *(w.stride for w in windows))
    results = te.compute(shape, phases, f"conv{rank}d_transpose_phases")

    def element(*indices: PrimExpr) -> PrimExpr:
        at = call.out.coordinates(indices)
        places = [at[letter] + w.before for letter, w in zip(call.spatial, windows, strict=True)]
        whole = [p // w.stride - q for p, w, q in zip(places, windows, first, strict=True)]
        phase = [p % w.stride for p, w in zip(places, windows, strict=True)]
        index = (at["N"], at["C"], *whole, *phase)
        return results[index]

    return te.compute(out.shape, element, f"conv{rank}d_transpose")


def conv_transpose_relax(e: Emit[V], record: OpDef, attrs: ConvTransposeAttrs, data: V, weight: V) -> V:
    """Relax lowers a transposed convolution of ``NCHW`` data by an ``IOHW`` kernel only: others are
    transposed.
    """
    call = read_call(attrs)
    if call.data.is_split or call.kernel.is_split or call.out.is_split:
        return e.as_tir(record, attrs, (data, weight), "Relax convolves no split layouts")
    plain = parse_layout(call.data_order, call.data_order)
    kernel = parse_layout("IO" + call.spatial, call.kernel_order)
    given = attributes(
        attrs,
        "channels",
        "kernel_size",
        data_layout=plain.name,
        kernel_layout=kernel.name,
        out_layout="",
        output_padding=_output_padding(attrs, call),
    )
    data, weight = to_layout(e, data, call.data, plain), to_layout(e, weight, call.kernel, kernel)
    return to_layout(e, e.call(record.name, data, weight, **given), plain, call.out)


_CHANNELS_FIRST = Limit(
    "apache-tvm lowers it with channels first only",
    lambda attrs, types: not (attrs.data_layout[:2] == "NC" and attrs.kernel_layout[:2] == "IO"),
)


def transposed(attrs_class: type[ConvTransposeAttrs], doc: str) -> OpDef:
    """Return the record of the transposed convolution over the spatial axes of ``attrs_class``."""
    rank = len(attrs_class.spatial)
    ones, zeros = (1, 0) if rank == 1 else ((1,) * rank, (0,) * rank)
    layouts = f"data_layout='NC{attrs_class.spatial}', kernel_layout='IO{attrs_class.spatial}'"

    def relax(e: Emit[V], attrs: ConvTransposeAttrs, data: V, weight: V) -> V:
        return conv_transpose_relax(e, record, attrs, data, weight)

    record = OpDef(
        relay=f"nn.conv{rank}d_transpose",
        doc=doc,
        source=f"Relay's Conv{rank}DTranspose relation and TOPI's conv{rank}d_transpose of TVM 0.18",
        inputs=("data", "weight"),
        attrs=attrs_class,
        infer=conv_transpose_type,
        relax_type=one_dtype(conv_transpose_type),
        relay_type=conv_transpose_relay_type,
        operands=conv_transpose_operands,
        numpy=conv_transpose_numpy,
        compute=conv_transpose_compute,
        relax=Expanded(relax),
        script=Script(
            f"nn.conv{rank}d_transpose",
            f"data, weight, strides={ones}, padding={zeros}, output_padding={zeros}, dilation={ones}, groups=1, "
            f"{layouts}, out_layout=None, out_dtype=None",
            omit=("channels", "kernel_size"),
            since="0.24" if rank == 3 else OLDEST,
            limits=(_CHANNELS_FIRST,),
        ),
        layout=layout_rules.convolution if rank > 1 else None,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
        precision=Precision.ALWAYS,
    )
    return record


OPS: tuple[OpDef, ...] = (
    transposed(Conv1DTransposeAttrs, "The transposed (fractionally strided) convolution, which lengthens sequences."),
    transposed(Conv2DTransposeAttrs, "The transposed (fractionally strided) convolution, which enlarges images."),
    transposed(Conv3DTransposeAttrs, "The transposed (fractionally strided) convolution, which enlarges volumes."),
)
