"""Convolutions.

Inside this file data is in the order ``NC`` + spatial axes and a kernel in ``OI`` + spatial axes (``O`` output
channels, ``I`` input channels of one group); the layouts of a call say how its tensors get there. A result is
accumulated in the output's dtype, to which inputs are converted before they are multiplied.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product as cartesian
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.ops.attributes import (
    DType,
    IndexExprArray,
    InlineString,
    Int,
    OptionalIndexExpr,
    OptionalIndexExprArray,
    String,
    attr_fields,
)
from relay2relax.ops.layout import Layout, parse_layout
from relay2relax.ops.record import Emit, Expanded, OpDef, OpError, Script, V
from relay2relax.ops.shapes import tensor
from relay2relax.ops.types import TensorType, Type
from relay2relax.ops.windows import (
    Window,
    both_sides,
    check_positions,
    pad_array,
    padded,
    per_axis,
    windows_of,
)
from relay2relax.tir import te
from relay2relax.tir.expr import PrimExpr, cast, const, if_then_else, logical_and
from relay2relax.tir.extent import (
    Extent,
    Shape,
    add,
    as_prim,
    equal,
    floordiv,
    is_any,
    mul,
    static,
    sub,
)


@dataclass(frozen=True, slots=True)
class Conv2DAttrs:
    """``channels`` and ``kernel_size`` may repeat what the weight says, or tell the type of an unknown weight."""

    strides: IndexExprArray = (1, 1)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1, 1)
    groups: Int = 1
    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    data_layout: String = "NCHW"
    kernel_layout: String = "OIHW"
    out_layout: String = ""
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Conv2DTransposeAttrs:
    """``output_padding`` makes the result larger at the end, to say which of several sizes is meant."""

    channels: OptionalIndexExpr = None
    kernel_size: OptionalIndexExprArray = None
    strides: IndexExprArray = (1, 1)
    output_padding: IndexExprArray = (0, 0)
    padding: IndexExprArray = (0, 0)
    dilation: IndexExprArray = (1, 1)
    groups: Int = 1
    data_layout: InlineString = "NCHW"
    kernel_layout: InlineString = "IOHW"
    out_layout: InlineString = ""
    out_dtype: DType = ""


ConvAttrs = Conv2DAttrs | Conv2DTransposeAttrs


@dataclass(frozen=True, slots=True)
class _Call:
    """What a convolution's attributes say once they are read."""

    spatial: str
    data: Layout
    kernel: Layout
    out: Layout
    strides: tuple[int, ...]
    dilation: tuple[int, ...]
    before: tuple[int, ...]
    after: tuple[int, ...]
    groups: int

    @property
    def data_order(self) -> str:
        return "NC" + self.spatial

    @property
    def kernel_order(self) -> str:
        return "OI" + self.spatial

    def windows(self, kernel: Sequence[int]) -> tuple[Window, ...]:
        """Return the windows of a kernel with spatial extents ``kernel``."""
        columns = zip(kernel, self.strides, self.dilation, self.before, self.after, strict=True)
        return tuple(Window(*column) for column in columns)


def _read(attrs: ConvAttrs) -> _Call:
    spatial = "HW"
    rank = len(spatial)
    if attrs.groups < 1:
        raise OpError(f"groups must be at least 1, but is {attrs.groups}")
    before, after = both_sides(attrs.padding, rank)
    return _Call(
        spatial,
        parse_layout(attrs.data_layout, "NC" + spatial),
        parse_layout(attrs.kernel_layout, "OI" + spatial),
        parse_layout(attrs.out_layout or attrs.data_layout, "NC" + spatial),
        per_axis(attrs.strides, rank, "strides"),
        per_axis(attrs.dilation, rank, "dilation"),
        before,
        after,
        attrs.groups,
    )


def _extents(type_: Type, layout: Layout, order: str, what: str, argument: int) -> Shape:
    """Return the extents of a tensor in ``order``; raises OpError where it is no tensor of the layout's rank."""
    found = tensor(type_, argument)
    if found.rank != layout.rank:
        raise OpError(f"{what} has {found.rank} dimensions, layout {layout.name} needs {layout.rank}", argument)
    return layout.extents(found.shape, order)


def _multiplies(call: _Call, channels: Extent, kernel: Shape) -> bool:
    """Whether a depthwise kernel is written as (channels, multiplier): its O counts the input channels.

    Output channel ``c * multiplier + m`` then is ``kernel[c, m]`` over input channel ``c``.
    """
    groups = call.groups
    return groups > 1 and static(channels) == groups and static(kernel[0]) == groups and static(kernel[1]) != 1


def _check_kernel(attrs: ConvAttrs, kernel: Shape) -> None:
    """Raise OpError where the kernel's spatial extents are not those that the attributes give."""
    if attrs.kernel_size is None:
        return
    expected = tuple(attrs.kernel_size)
    if len(expected) != len(kernel) or any(equal(a, b) is False for a, b in zip(expected, kernel, strict=True)):
        raise OpError(f"the weight's windows have extents {list(kernel)}, kernel_size is {list(expected)}", 1)


def _kernel_extents(kernel: Shape) -> tuple[int, ...]:
    found = tuple(static(extent) for extent in kernel)
    if any(extent is None for extent in found):
        raise OpError(f"the spatial extents of the weight must be numbers, but are {list(kernel)}", 1)
    return tuple(extent for extent in found if extent is not None)


# Convolution.


def conv_type(attrs: Conv2DAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of a convolution."""
    call = _read(attrs)
    batch, channels, *spatial = _extents(data, call.data, call.data_order, "the data", 0)
    kernel = _extents(weight, call.kernel, call.kernel_order, "the weight", 1)
    _check_kernel(attrs, kernel[2:])
    outputs: Extent
    if attrs.channels is not None and _multiplies(call, channels, kernel):
        outputs = attrs.channels
        if equal(outputs, mul(kernel[0], kernel[1])) is False:
            raise OpError(
                f"a depthwise weight of {kernel[0]} channels times {kernel[1]} cannot give {outputs} channels", 1
            )
    else:
        outputs = kernel[0]
        if equal(channels, mul(kernel[1], call.groups)) is False:
            raise OpError(
                f"the data has {channels} channels, the weight takes {kernel[1]} in each of {call.groups} group(s)", 1
            )
        if attrs.channels is not None and equal(attrs.channels, outputs) is False:
            raise OpError(f"the weight has {outputs} output channels, channels is {attrs.channels}", 1)
        known = static(outputs)
        if known is not None and known % call.groups:
            raise OpError(f"{known} output channels cannot be shared among {call.groups} groups", 1)
    if any(is_any(extent) for extent in kernel[2:]):
        positions: tuple[Extent, ...] = tuple(kernel[2:])
    else:
        windows = call.windows(_kernel_extents(kernel[2:]))
        positions = tuple(w.positions(e) for w, e in zip(windows, spatial, strict=True))
        check_positions(positions, spatial, windows)
    shape = call.out.shape((batch, outputs, *positions), call.data_order)
    return TensorType(shape, attrs.out_dtype or tensor(data).dtype)


def conv_operands(attrs: Conv2DAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown weight from the data where ``channels`` and ``kernel_size`` are given."""
    data, weight = types
    if weight is not None or data is None or attrs.channels is None or attrs.kernel_size is None:
        return types
    call = _read(attrs)
    channels = _extents(data, call.data, call.data_order, "the data", 0)[1]
    kernel = (attrs.channels, floordiv(channels, call.groups), *attrs.kernel_size)
    return data, TensorType(call.kernel.shape(kernel, call.kernel_order), tensor(data).dtype)


def conv_numpy(attrs: Conv2DAttrs, data: Array, weight: Array) -> Array:
    """Return the convolution: a matrix product over the windows, or, depthwise, a sum over the taps."""
    call = _read(attrs)
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    x: Any = call.data.to_order(data, call.data_order).astype(dtype, copy=False)
    w: Any = call.kernel.to_order(weight, call.kernel_order).astype(dtype, copy=False)
    if attrs.channels is not None and _multiplies(call, x.shape[1], w.shape):
        w = w.reshape((-1, 1, *w.shape[2:]))
    windows = call.windows(w.shape[2:])
    out = tuple(int(static(window.positions(e)) or 0) for window, e in zip(windows, x.shape[2:], strict=True))
    x = pad_array(x, call.before, call.after, 0)
    convolve = _depthwise if call.groups == x.shape[1] > 1 else _by_matrix
    return call.out.from_order(convolve(x, w, windows, out, call.groups), call.data_order)


def _depthwise(x: Any, w: Any, windows: Sequence[Window], out: tuple[int, ...], groups: int) -> Array:
    """Each of ``groups`` input channels gives ``multiplier`` output channels: products summed tap by tap."""
    n, multiplier = x.shape[0], w.shape[0] // groups
    result = np.zeros((n, groups, multiplier, *out), x.dtype)
    product = np.empty_like(result)
    factors = w.reshape((groups, multiplier, *w.shape[2:]))
    for tap in cartesian(*(range(window.kernel) for window in windows)):
        under = x[_places(tap, windows, out)][:, :, None]
        factor = factors[_tap(tap)].reshape((groups, multiplier, *(1 for _ in tap)))
        np.add(result, np.multiply(under, factor, out=product), out=result)
    return result.reshape((n, groups * multiplier, *out))


def _places(tap: Sequence[int], windows: Sequence[Window], count: Sequence[int]) -> Any:
    """Return the index, into an array with two leading axes, of the elements under one tap of all windows."""
    return (slice(None), slice(None), *(w.places(k, n) for k, w, n in zip(tap, windows, count, strict=True)))


def _tap(tap: Sequence[int]) -> Any:
    """Return the index of one tap of a kernel with two leading axes."""
    return (slice(None), slice(None), *tap)


def _by_matrix(x: Any, w: Any, windows: Sequence[Window], out: tuple[int, ...], groups: int) -> Array:
    """A matrix product: rows are output channels, columns the windows' contents."""
    n, rank = x.shape[0], len(windows)
    outputs = w.shape[0] // groups
    depth, places = int(np.prod(w.shape[1:])), int(np.prod(out))
    under = windows_of(x, windows, out)
    # (N, C, *out, *kernel) -> (N, C, *kernel, *out), then rows of one window's content.
    axes = (0, 1, *range(2 + rank, 2 + 2 * rank), *range(2, 2 + rank))
    columns = under.transpose(axes).reshape((n, groups, depth, places))
    rows = w.reshape((groups, outputs, depth))
    return np.asarray(np.matmul(rows, columns)).reshape((n, groups * outputs, *out))


def conv_compute(attrs: Conv2DAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> Any:
    """Return the convolution as a sum over input channels and taps of the padded data."""
    call = _read(attrs)
    channels = call.data.extents(data.shape, call.data_order)[1]
    kernel = call.kernel.extents(weight.shape, call.kernel_order)
    windows = call.windows(_kernel_extents(kernel[2:]))
    multiplied = attrs.channels is not None and _multiplies(call, channels, kernel)
    # Output channels and input channels of one group.
    outputs = kernel[1] if multiplied else floordiv(kernel[0], call.groups)
    inputs: Extent = 1 if multiplied else kernel[1]
    x = _pad_spatial(data, call, call.before, call.after)
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

    return te.compute(out.shape, element, "conv2d")


def _pad_spatial(data: te.Tensor, call: _Call, before: Sequence[int], after: Sequence[Extent]) -> te.Tensor:
    """Return ``data``, in its own layout, padded by zeros on the spatial axes."""
    first = [0] * data.rank
    last: list[Extent] = [0] * data.rank
    for letter, b, a in zip(call.spatial, before, after, strict=True):
        first[call.data.position(letter)] = b
        last[call.data.position(letter)] = a
    return padded(data, first, last, const(0, data.dtype))


def _fields(attrs: Any, *omit: str, **changes: Any) -> dict[str, Any]:
    """Return the attributes by name, some left out and some changed."""
    return {f.name: getattr(attrs, f.name) for f in attr_fields(attrs.__class__) if f.name not in omit} | changes


def conv_relax(e: Emit[V], attrs: Conv2DAttrs, data: V, weight: V) -> V:
    """Relax's convolution takes no (channels, multiplier) kernels, and gives its result in the data's layout."""
    call = _read(attrs)
    if call.data.is_split or call.kernel.is_split or call.out.is_split:
        return e.as_tir(conv2d, attrs, (data, weight))
    channels = _extents(e.type_of(data), call.data, call.data_order, "the data", 0)[1]
    kernel = _extents(e.type_of(weight), call.kernel, call.kernel_order, "the weight", 1)
    layout = call.kernel.name
    if attrs.channels is not None and _multiplies(call, channels, kernel):
        axes = tuple(call.kernel.position(letter) for letter in call.kernel_order)
        if axes != tuple(range(len(axes))):
            weight = e.call("permute_dims", weight, axes=axes)
        weight = e.call("reshape", weight, e.shape((mul(kernel[0], kernel[1]), 1, *kernel[2:])))
        layout = call.kernel_order
    given = _fields(attrs, "channels", "kernel_size", kernel_layout=layout, out_layout="")
    result = e.call("nn.conv2d", data, weight, **given)
    return _to_layout(e, result, call.data, call.out)


def _to_layout(e: Emit[V], value: V, source: Layout, target: Layout) -> V:
    """Emit the transposition from one layout to another, where there is one."""
    axes = tuple(source.axes.index(axis) for axis in target.axes)
    return value if axes == tuple(range(len(axes))) else e.call("permute_dims", value, axes=axes)


# Transposed convolution.


def _transposed_extent(extent: Extent, window: Window, output_padding: int) -> Extent:
    if is_any(extent):
        return extent
    steps = mul(sub(extent, 1), window.stride)
    return add(steps, window.span - window.before - window.after + output_padding)


def _output_padding(attrs: Conv2DTransposeAttrs, call: _Call) -> tuple[int, ...]:
    found = per_axis(attrs.output_padding, len(call.spatial), "output_padding", least=0)
    if any(p >= s for p, s in zip(found, call.strides, strict=True)):
        raise OpError(f"output_padding {list(found)} must be smaller than strides {list(call.strides)}")
    return found


def conv_transpose_type(attrs: Conv2DTransposeAttrs, data: Type, weight: Type) -> TensorType:
    """Return the type of a transposed convolution."""
    call = _read(attrs)
    batch, channels, *spatial = _extents(data, call.data, call.data_order, "the data", 0)
    # Here O counts the output channels of one group, I the input channels of all groups.
    kernel = _extents(weight, call.kernel, call.kernel_order, "the weight", 1)
    _check_kernel(attrs, kernel[2:])
    if equal(channels, kernel[1]) is False:
        raise OpError(f"the data has {channels} channels, the weight takes {kernel[1]}", 1)
    known = static(channels)
    if known is not None and known % call.groups:
        raise OpError(f"{known} channels cannot be shared among {call.groups} groups", 0)
    outputs = mul(kernel[0], call.groups)
    if attrs.channels is not None and equal(attrs.channels, outputs) is False:
        raise OpError(f"the weight has {outputs} output channels, channels is {attrs.channels}", 1)
    extra = _output_padding(attrs, call)
    if any(is_any(extent) for extent in kernel[2:]):
        positions: tuple[Extent, ...] = tuple(kernel[2:])
    else:
        windows = call.windows(_kernel_extents(kernel[2:]))
        positions = tuple(_transposed_extent(*c) for c in zip(spatial, windows, extra, strict=True))
    shape = call.out.shape((batch, outputs, *positions), call.data_order)
    return TensorType(shape, attrs.out_dtype or tensor(data).dtype)


def conv_transpose_operands(attrs: Conv2DTransposeAttrs, types: tuple[Type | None, ...]) -> tuple[Type | None, ...]:
    """Deduce an unknown weight from the data where ``channels`` and ``kernel_size`` are given."""
    data, weight = types
    if weight is not None or data is None or attrs.channels is None or attrs.kernel_size is None:
        return types
    call = _read(attrs)
    channels = _extents(data, call.data, call.data_order, "the data", 0)[1]
    kernel = (floordiv(attrs.channels, call.groups), channels, *attrs.kernel_size)
    return data, TensorType(call.kernel.shape(kernel, call.kernel_order), tensor(data).dtype)


def conv_transpose_numpy(attrs: Conv2DTransposeAttrs, data: Array, weight: Array) -> Array:
    """Return the transposed convolution: every input element adds its multiple of the kernel to the result."""
    call = _read(attrs)
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else data.dtype
    x: Any = call.data.to_order(data, call.data_order).astype(dtype, copy=False)
    w: Any = call.kernel.to_order(weight, call.kernel_order).astype(dtype, copy=False)
    (n, c, *spatial), (outputs, _, *kernel), groups = x.shape, w.shape, call.groups
    windows = call.windows(kernel)
    extra = _output_padding(attrs, call)
    # products[n, g, o, *kernel, *spatial] = sum over the group's channels.
    rows = w.reshape((outputs, groups, c // groups, -1)).transpose(1, 0, 3, 2)
    rows = rows.reshape((groups, outputs * int(np.prod(kernel)), c // groups))
    products = np.matmul(rows, x.reshape((n, groups, c // groups, -1)))
    products = products.reshape((n, groups * outputs, *kernel, *spatial))
    full = [max(0, (e - 1) * w.stride + w.span) + p for e, w, p in zip(spatial, windows, extra, strict=True)]
    result = np.zeros((n, groups * outputs, *full), dtype)
    for tap in cartesian(*(range(k) for k in kernel)):
        result[_places(tap, windows, spatial)] += products[_tap(tap)]
    # Padding of a transposed convolution takes away; a negative one would add.
    before = [-w.before for w in windows]
    after = [-w.after for w in windows]
    return call.out.from_order(pad_array(result, before, after, 0), call.data_order)


def conv_transpose_compute(attrs: Conv2DTransposeAttrs, out: TensorType, data: te.Tensor, weight: te.Tensor) -> Any:
    """Return the transposed convolution as an ordinary one that computes ``stride`` results per place at once.

    With ``y + before = q * stride + phase`` and tap ``t = phase + stride * j``, result ``y`` is the sum over ``j`` of
    ``data[q - j] * kernel[t]``: no product with a zero that a dilated input would hold. A dilated kernel is spread
    first, so that the general case has taps of value zero.
    """
    call = _read(attrs)
    kernel = call.kernel.extents(weight.shape, call.kernel_order)
    windows = call.windows(_kernel_extents(kernel[2:]))
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
    x = _pad_spatial(data, call, shift, rest)
    inputs = floordiv(kernel[1], call.groups)
    axis_c = te.reduce_axis(inputs, "rc")
    axes_j = [te.reduce_axis(r, f"r{letter.lower()}") for letter, r in zip(call.spatial, reach, strict=True)]
    rank = len(windows)

    def factor(o: PrimExpr, c: PrimExpr, spread: Sequence[PrimExpr]) -> PrimExpr:
        at = {"O": o, "I": c}
        inside: list[PrimExpr] = []
        for letter, t, w, r in zip(call.spatial, spread, windows, reach, strict=True):
            at[letter] = t // w.dilation
            if w.dilation > 1:
                inside.append((t % w.dilation).equal(0))
            if w.span < r * w.stride:
                inside.append(t < w.span)
        load = cast(out.dtype, weight[call.kernel.indices(at)])
        return if_then_else(logical_and(*inside), load, const(0, out.dtype)) if inside else load

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
        return te.sum(left * factor(o, c, spread), [axis_c, *axes_j])

    shape = (*sizes[:2], *count, *(w.stride for w in windows))
    results = te.compute(shape, phases, "conv2d_transpose_phases")

    def element(*indices: PrimExpr) -> PrimExpr:
        at = call.out.coordinates(indices)
        places = [at[letter] + w.before for letter, w in zip(call.spatial, windows, strict=True)]
        whole = [p // w.stride - q for p, w, q in zip(places, windows, first, strict=True)]
        phase = [p % w.stride for p, w in zip(places, windows, strict=True)]
        index = (at["N"], at["C"], *whole, *phase)
        load: PrimExpr = results[index]
        return load

    return te.compute(out.shape, element, "conv2d_transpose")


def conv_transpose_relax(e: Emit[V], attrs: Conv2DTransposeAttrs, data: V, weight: V) -> V:
    """Relax lowers a transposed convolution of ``NCHW`` data by an ``IOHW`` kernel only: others are transposed."""
    call = _read(attrs)
    if call.data.is_split or call.kernel.is_split or call.out.is_split:
        return e.as_tir(conv2d_transpose, attrs, (data, weight))
    plain = parse_layout(call.data_order, call.data_order)
    kernel = parse_layout("IO" + call.spatial, call.kernel_order)
    given = _fields(attrs, "channels", "kernel_size", data_layout=plain.name, kernel_layout=kernel.name, out_layout="")
    data, weight = _to_layout(e, data, call.data, plain), _to_layout(e, weight, call.kernel, kernel)
    return _to_layout(e, e.call("nn.conv2d_transpose", data, weight, **given), plain, call.out)


conv2d = OpDef(
    relay="nn.conv2d",
    doc="Convolve images with a kernel; `groups` splits the channels, `dilation` spreads the taps.",
    source="Relay's Conv2D relation and TOPI's conv2d of TVM 0.18; R.nn.conv2d of TVM 0.25-0.27",
    inputs=("data", "weight"),
    attrs=Conv2DAttrs,
    attrs_key="relay.attrs.Conv2DAttrs",
    infer=conv_type,
    operands=conv_operands,
    numpy=conv_numpy,
    compute=conv_compute,
    relax=Expanded(conv_relax),
    script=Script("nn.conv2d", omit=("channels", "kernel_size")),
)

conv2d_transpose = OpDef(
    relay="nn.conv2d_transpose",
    doc="The transposed (fractionally strided) convolution, as decoders use it to enlarge images.",
    source="Relay's Conv2DTranspose relation and TOPI's conv2d_transpose of TVM 0.18; R.nn.conv2d_transpose",
    inputs=("data", "weight"),
    attrs=Conv2DTransposeAttrs,
    attrs_key="relay.attrs.Conv2DTransposeAttrs",
    infer=conv_transpose_type,
    operands=conv_transpose_operands,
    numpy=conv_transpose_numpy,
    compute=conv_transpose_compute,
    relax=Expanded(conv_transpose_relax),
    script=Script("nn.conv2d_transpose", omit=("channels", "kernel_size")),
)

OPS: tuple[OpDef, ...] = (conv2d, conv2d_transpose)
