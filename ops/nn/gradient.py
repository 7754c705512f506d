"""Gradients of pooling and convolution, as Relay's automatic differentiation calls them.

The gradients of two-dimensional pooling take the gradient of the result first, then the data; that
of a convolution's weight uses the attributes of a convolution in another sense: ``data_layout`` is
that of the gradient, ``kernel_layout`` that of the data, ``out_layout`` that of the weight.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import product as cartesian
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.shapes import check_groups, tensor
from relay2relax.ops.common.windows import Window, integers, pad_array, padded, windows_of
from relay2relax.ops.nn.convolution_rules import Conv2DAttrs, extents_in, read_call
from relay2relax.ops.nn.pooling import (
    AvgPool2DAttrs,
    MaxPool2DAttrs,
    lowest,
    pool_arguments,
    pool_layout,
    pool_type,
    quotient,
    windows_in,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Definition, Emit, Expanded, Kernel, OpDef, OpError, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, Shape, equal, floordiv
from relay2relax.tir.ir.expr import PrimExpr, Select, binary, cast, const, if_then_else, logical_and, maximum, minimum
from relay2relax.tir.ir.intrinsics import min_value

PoolAttrs = MaxPool2DAttrs | AvgPool2DAttrs


def _pool(attrs: AvgPool2DAttrs | Conv2DAttrs | MaxPool2DAttrs) -> Any:
    """Return the attributes with a dilation of 1 where none is given: TVM leaves it empty."""
    return attrs if attrs.dilation else replace(attrs, dilation=(1, 1))


def pool_grad_type(attrs: PoolAttrs, out_grad: Type, data: Type) -> TensorType:
    """Return the type of the data."""
    tensor(out_grad)
    return tensor(data, 1)


def _check_grad(attrs: PoolAttrs, grad: Shape, data: Shape, dtype: str) -> None:
    """Raise OpError where the gradient does not have the shape of the pooled data."""
    expected = pool_type(_pool(attrs), TensorType(data, dtype)).shape
    if len(grad) != len(expected) or any(equal(a, b) is False for a, b in zip(grad, expected, strict=True)):
        raise OpError(mistake(operators.SHAPE, what="out_grad", shape=show(grad), expected=show(expected)), 0)


def _image(attrs: PoolAttrs, data: Array) -> tuple[list[int], tuple[Window, ...], Any]:
    """Return the positions of H and W, the windows, and the data with H and W last."""
    layout = pool_layout(attrs)
    axes = [layout.position(letter) for letter in "HW"]
    return axes, windows_in(_pool(attrs)), np.moveaxis(data, axes, (-2, -1))


def _scatter(shape: Sequence[int], windows: Sequence[Window], shares: Any, dtype: Any) -> Any:
    """Return the sum of ``shares(tap)`` at what each tap of the windows lies on, cut to the
    data.
    """
    reach = [max(0, w.reach(n, e)) for w, n, e in zip(windows, shares((0, 0)).shape[-2:], shape[-2:], strict=True)]
    wide = [w.before + e + max(w.after, r) for w, e, r in zip(windows, shape[-2:], reach, strict=True)]
    total: Any = np.zeros((*shape[:-2], *wide), dtype)
    for tap in cartesian(*(range(w.kernel) for w in windows)):
        part = shares(tap)
        rows, columns = (w.places(k, n) for w, k, n in zip(windows, tap, part.shape[-2:], strict=True))
        total[..., rows, columns] += part
    rows, columns = (slice(w.before, w.before + e) for w, e in zip(windows, shape[-2:], strict=True))
    return total[..., rows, columns]


def max_pool_grad_numpy(attrs: MaxPool2DAttrs, out_grad: Array, data: Array) -> Array:
    """Return the gradient at the first largest element of each window."""
    _check_grad(attrs, out_grad.shape, data.shape, of_array(data))
    axes, windows, x = _image(attrs, data)
    grad: Numbers = np.moveaxis(out_grad, axes, (-2, -1))
    after = [max(w.after, w.reach(n, e)) for w, n, e in zip(windows, grad.shape[-2:], x.shape[-2:], strict=True)]
    wide = np.ascontiguousarray(pad_array(x, [w.before for w in windows], after, lowest(of_array(data))))
    under = windows_of(wide, windows, grad.shape[-2:])
    first = np.argmax(under.reshape((*under.shape[:-2], math.prod(under.shape[-2:]))), axis=-1)
    zero = grad.dtype.type(0)

    def share(tap: tuple[int, ...]) -> Numbers:
        return np.where(first == tap[0] * windows[1].kernel + tap[1], grad, zero)

    return np.asarray(np.moveaxis(_scatter(x.shape, windows, share, data.dtype), (-2, -1), axes), data.dtype)


def _counts(attrs: AvgPool2DAttrs, windows: Sequence[Window], sizes: Sequence[int], extents: Sequence[int]) -> Numbers:
    """Return how many elements count under each window."""
    found = []
    for window, out, extent in zip(windows, sizes, extents, strict=True):
        low, high = (-window.before, extent + window.after) if attrs.count_include_pad else (0, extent)
        at = np.arange(out)[:, None] * window.stride - window.before + np.arange(window.kernel) * window.dilation
        found.append(np.count_nonzero((at >= low) & (at < high), axis=1))
    return np.asarray(np.maximum(found[0][:, None] * found[1], 1))


def avg_pool_grad_numpy(attrs: AvgPool2DAttrs, out_grad: Array, data: Array) -> Array:
    """Return, for each element, the gradients of its windows divided by what counts under them."""
    _check_grad(attrs, out_grad.shape, data.shape, of_array(data))
    axes, windows, x = _image(attrs, data)
    grad: Numbers = np.moveaxis(out_grad, axes, (-2, -1))
    share = grad / _counts(attrs, windows, grad.shape[-2:], x.shape[-2:]).astype(grad.dtype)
    result = _scatter(x.shape, windows, lambda tap: share, data.dtype)
    return np.asarray(np.moveaxis(result, (-2, -1), axes), data.dtype)


class _Covering:
    """The windows that an element lies under, as expressions.

    At most ``span / stride`` of them along each axis.
    """

    def __init__(self, attrs: PoolAttrs, grad: te.Tensor) -> None:
        layout = pool_layout(attrs)
        self.windows = windows_in(_pool(attrs))
        self.axes = [layout.position(letter) for letter in "HW"]
        self.loops = [te.reduce_axis(-(-w.span // w.stride), f"w{d}") for d, w in enumerate(self.windows)]
        self.grad = grad

    def sum(self, at: Sequence[PrimExpr], value: Callable[..., PrimExpr]) -> PrimExpr:
        """Return the sum of ``value(window's index, taps that the element lies under)`` over the
        windows.
        """
        index, taps, inside = list(at), [], []
        for axis, window, loop in zip(self.axes, self.windows, self.loops, strict=True):
            place = at[axis] + window.before
            window_at = place // window.stride - loop.var
            offset = place - window_at * window.stride
            tap = offset // window.dilation
            inside += [window_at >= 0, window_at < self.grad.shape[axis], tap < window.kernel]
            if window.dilation > 1:
                inside.append((offset % window.dilation).equal(0))
            index[axis] = window_at
            taps.append(tap)
        found = if_then_else(logical_and(*inside), value(tuple(index), taps), const(0, self.grad.dtype))
        return te.sum(found, self.loops)


def max_pool_grad_compute(attrs: MaxPool2DAttrs, out: TensorType, out_grad: te.Tensor, data: te.Tensor) -> te.Tensor:
    """Return the tap of the first largest element of each window, then the gradients of the windows
    won.
    """
    _check_grad(attrs, out_grad.shape, data.shape, data.dtype)
    covering = _Covering(attrs, out_grad)
    windows, axes = covering.windows, covering.axes
    before, after = [0] * data.rank, [0] * data.rank
    for axis, w in zip(axes, windows, strict=True):
        before[axis], after[axis] = w.before, w.after + (w.stride - 1 if attrs.ceil_mode else 0)
    x = padded(data, before, after, min_value(data.dtype))
    taps = [te.reduce_axis(w.kernel, f"r{d}") for d, w in enumerate(windows)]

    def combine(a: Sequence[PrimExpr], b: Sequence[PrimExpr]) -> tuple[PrimExpr, PrimExpr]:
        better = binary("or", b[1] > a[1], logical_and(b[1].equal(a[1]), b[0] < a[0]))
        return Select(better, b[0], a[0]), Select(better, b[1], a[1])

    def winner(*at: PrimExpr) -> te.Reduce:
        index = list(at)
        for axis, w, tap in zip(axes, windows, taps, strict=True):
            index[axis] = at[axis] * w.stride + tap.var * w.dilation
        number = taps[0].var * windows[1].kernel + taps[1].var
        # An element that is the least of all wins as well.
        least = const(float("-inf"), data.dtype) if is_float(data.dtype) else min_value(data.dtype)
        identity = (const(windows[0].kernel * windows[1].kernel, "int64"), least)
        return te.Reduce(combine, identity, (number, x[tuple(index)]), tuple(taps))

    winners, _ = te.compute_several(out_grad.shape, winner, "max_pool2d_winner")

    def element(*at: PrimExpr) -> PrimExpr:
        def won(index: tuple[PrimExpr, ...], tap: Sequence[PrimExpr]) -> PrimExpr:
            own = winners[index].equal(tap[0] * windows[1].kernel + tap[1])
            return Select(own, out_grad[index], const(0, out_grad.dtype))

        return covering.sum(at, won)

    return te.compute(data.shape, element, "max_pool2d_grad")


def avg_pool_grad_compute(attrs: AvgPool2DAttrs, out: TensorType, out_grad: te.Tensor, data: te.Tensor) -> te.Tensor:
    """Return the sum of the windows' gradients, each divided by the number of elements that count
    under it.
    """
    _check_grad(attrs, out_grad.shape, data.shape, data.dtype)
    covering = _Covering(attrs, out_grad)

    def element(*at: PrimExpr) -> PrimExpr:
        def share(index: tuple[PrimExpr, ...], tap: Sequence[PrimExpr]) -> PrimExpr:
            count: PrimExpr = const(1, "int64")
            for axis, w in zip(covering.axes, covering.windows, strict=True):
                start = index[axis] * w.stride - (0 if attrs.count_include_pad else w.before)
                end = data.shape[axis] + (w.before + w.after if attrs.count_include_pad else 0)
                high = minimum((end - start + (w.dilation - 1)) // w.dilation, w.kernel)
                count = count * (high - maximum((w.dilation - 1 - start) // w.dilation, 0))
            return quotient(out_grad[index], maximum(count, 1))

        return covering.sum(at, share)

    return te.compute(data.shape, element, "avg_pool2d_grad")


def _pool_grad(name: str, attrs_class: type[PoolAttrs], numpy: Kernel, compute: Definition, doc: str) -> OpDef:
    """Return the record of the gradient of ``name``; Relax's ignores dilation, and counts windows
    in another way.
    """
    relay = f"nn.{name}_grad"

    def relax(e: Emit[V], attrs: Any, out_grad: V, data: V) -> V:
        given = _pool(attrs)
        if pool_layout(given).is_split or given.ceil_mode or any(w.dilation > 1 for w in windows_in(given)):
            return e.as_tir(
                record,
                attrs,
                (out_grad, data),
                "Relax's gradient ignores dilation and rounding up, and takes no split layouts",
            )
        counted = {"count_include_pad": given.count_include_pad} if isinstance(given, AvgPool2DAttrs) else {}
        return e.call(f"grad.{name}_backward", out_grad, data, **pool_arguments(given), **counted)

    record = OpDef(
        relay=relay,
        doc=doc,
        source=f"Relay's {attrs_class.__name__.removesuffix('Attrs')}Grad relation and TOPI's pool_grad of TVM 0.18",
        inputs=("out_grad", "data"),
        attrs=attrs_class,
        infer=pool_grad_type,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax),
        script=Script(
            f"grad.{name}_backward",
            "output_grad, data, pool_size=(1, 1), strides=(1, 1), padding=(0, 0, 0, 0), dilation=(1, 1), "
            "ceil_mode=False, count_include_pad=False, layout='NCHW', out_layout=None",
        ),
        # Relay declares the attributes of the maximum for both.
        declares_attrs=attrs_class is MaxPool2DAttrs,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    )
    return record


# The gradient of a convolution's weight.


def _weight_layouts(attrs: Conv2DAttrs) -> Conv2DAttrs:
    """Return the attributes of the convolution whose weight this is the gradient of.

    ``out_layout`` there is the layout of the gradient given here.
    """
    if attrs.kernel_size is None:
        raise OpError("the gradient of a weight needs kernel_size")
    data = "NCHW" if attrs.kernel_layout == "OIHW" else attrs.kernel_layout
    return replace(attrs, data_layout=data, kernel_layout=attrs.out_layout or "OIHW", out_layout=attrs.data_layout)


def backward_weight_type(attrs: Conv2DAttrs, grad: Type, data: Type) -> TensorType:
    """Return the type of the weight."""
    conv = read_call(_weight_layouts(attrs))
    batch, outputs, *places = extents_in(grad, conv.out, conv.data_order, "the gradient", 0)
    again, channels, *spatial = extents_in(data, conv.data, conv.data_order, "the data", 1)
    kernel = integers(attrs.kernel_size or (), "kernel_size")
    expected = [w.positions(e) for w, e in zip(conv.windows(kernel), spatial, strict=True)]
    if any(equal(a, b) is False for a, b in zip((batch, *places), (again, *expected), strict=True)):
        raise OpError(
            mistake(
                operators.SHAPE, what="the gradient", shape=show((batch, *places)), expected=show((again, *expected))
            ),
            0,
        )
    for extent in (outputs, channels):
        check_groups(extent, conv.groups)
    shape = conv.kernel.shape((outputs, floordiv(channels, conv.groups), *kernel), conv.kernel_order)
    return TensorType(shape, attrs.out_dtype or tensor(grad).dtype)


def backward_weight_numpy(attrs: Conv2DAttrs, grad: Array, data: Array) -> Array:
    """Return, tap by tap, the products of the gradient and what the tap lies on."""
    conv = read_call(_weight_layouts(attrs))
    dtype = numpy_dtype(attrs.out_dtype) if attrs.out_dtype else grad.dtype
    g: Numbers = conv.out.to_order(grad, conv.data_order).astype(dtype, copy=False)
    x: Numbers = conv.data.to_order(data, conv.data_order).astype(dtype, copy=False)
    kernel = integers(attrs.kernel_size or (), "kernel_size")
    windows, groups = conv.windows(kernel), conv.groups
    (n, outputs, *places), channels = g.shape, x.shape[1]
    x = pad_array(x, conv.before, conv.after, 0)
    g = g.reshape((n, groups, outputs // groups, math.prod(places)))
    result = np.zeros((groups, outputs // groups, channels // groups, *kernel), dtype)
    for tap in cartesian(*map(range, kernel)):
        rows, columns = (w.places(k, size) for w, k, size in zip(windows, tap, places, strict=True))
        under = x[..., rows, columns].reshape((n, groups, channels // groups, math.prod(places)))
        result[..., tap[0], tap[1]] = np.matmul(g, under.swapaxes(-1, -2)).sum(axis=0, dtype=dtype)
    return conv.kernel.from_order(result.reshape((outputs, channels // groups, *kernel)), conv.kernel_order)


def backward_weight_compute(attrs: Conv2DAttrs, out: TensorType, grad: te.Tensor, data: te.Tensor) -> te.Tensor:
    """Return the sum over the batch and all places of the products of the gradient and the padded
    data.
    """
    conv = read_call(_weight_layouts(attrs))
    batch, outputs, *places = conv.out.extents(grad.shape, conv.data_order)
    channels = conv.data.extents(data.shape, conv.data_order)[1]
    before, after = [0] * data.rank, [0] * data.rank
    for letter, b, a in zip(conv.spatial, conv.before, conv.after, strict=True):
        before[conv.data.position(letter)], after[conv.data.position(letter)] = b, a
    x = padded(data, before, after, const(0, data.dtype))
    axis_n = te.reduce_axis(batch, "n")
    axes = [te.reduce_axis(extent, f"o{letter.lower()}") for letter, extent in zip(conv.spatial, places, strict=True)]
    share, inputs = floordiv(outputs, conv.groups), floordiv(channels, conv.groups)

    def element(*indices: PrimExpr) -> PrimExpr:
        at = conv.kernel.coordinates(indices)
        group = at["O"] // share if conv.groups > 1 else const(0, "int64")
        here = {"N": axis_n.var, "C": at["O"]}
        under = {"N": axis_n.var, "C": group * inputs + at["I"]}
        for d, (letter, axis) in enumerate(zip(conv.spatial, axes, strict=True)):
            here[letter] = axis.var
            under[letter] = axis.var * conv.strides[d] + at[letter] * conv.dilation[d]
        left = cast(out.dtype, grad[conv.out.indices(here)])
        return te.sum(left * cast(out.dtype, x[conv.data.indices(under)]), [axis_n, *axes])

    return te.compute(out.shape, element, "conv2d_backward_weight")


def backward_weight_relax(e: Emit[V], attrs: Conv2DAttrs, grad: V, data: V) -> V:
    """A convolution of the data, batch for channels, by the gradient.

    Strides and dilation change places.
    """
    conv = read_call(_weight_layouts(attrs))
    kernel = integers(attrs.kernel_size or (), "kernel_size")
    if conv.groups > 1 or conv.data.is_split or conv.out.is_split or conv.kernel.is_split:
        return e.as_tir(conv2d_backward_weight, attrs, (grad, data), "Relax has no form for groups and split layouts")
    turned = parse_layout("CNHW", "NCHW")
    x = e.call("permute_dims", data, axes=tuple(conv.data.axes.index(axis) for axis in turned.axes))
    g = e.call("permute_dims", grad, axes=tuple(conv.out.axes.index(axis) for axis in turned.axes))
    result = e.call(
        "nn.conv2d", x, g, strides=conv.dilation, padding=(*conv.before, *conv.after), dilation=conv.strides,
        out_dtype=attrs.out_dtype,
    )  # fmt: skip
    # (I, O, height, width); places that no window reached lie past the kernel.
    extents: list[Extent] = list(tensor(e.type_of(result)).shape[2:])
    if extents != list(kernel):
        result = e.call("strided_slice", result, axes=(2, 3), begin=(0, 0), end=kernel, strides=(1, 1))
    return e.call("permute_dims", result, axes=tuple("IOHW".index(axis.letter) for axis in conv.kernel.axes))


conv2d_backward_weight = OpDef(
    relay="nn.conv2d_backward_weight",
    doc="The gradient of a convolution's weight.",
    source="Relay's Conv2DBackwardWeight relation and TOPI's conv2d_backward_weight of TVM 0.18",
    inputs=("grad", "data"),
    attrs=Conv2DAttrs,
    infer=backward_weight_type,
    numpy=backward_weight_numpy,
    compute=backward_weight_compute,
    relax=Expanded(backward_weight_relax),
    fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
)

OPS: tuple[OpDef, ...] = (
    _pool_grad(
        "max_pool2d", MaxPool2DAttrs, max_pool_grad_numpy, max_pool_grad_compute,
        "The gradient of max_pool2d: it goes to the first largest element of each window.",
    ),
    _pool_grad(
        "avg_pool2d", AvgPool2DAttrs, avg_pool_grad_numpy, avg_pool_grad_compute,
        "The gradient of avg_pool2d: it is shared among the elements that count under each window.",
    ),
    conv2d_backward_weight,
)  # fmt: skip
