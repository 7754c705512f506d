"""Convolutions, pooling and resizing, over one to three spatial axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.record import records
from relay2relax.relay_ir.ir.expr import Expr

# The letters of spatial axes, by how many there are.
_AXES = {1: "W", 2: "HW", 3: "DHW"}


def _convolution(at: Conversion) -> Value:
    """``_convolution(data, weight, bias, stride, padding, dilation, transposed, output_padding,
    groups)``.
    """
    data, weight, bias = at.tensor(0), at.tensor(1), at.optional(2)
    shape = at.shape(weight)
    transposed, groups, rank = bool(at.number(6)), at.integer(8), len(shape) - 2
    window = {"strides": at.sizes(3), "padding": at.sizes(4), "dilation": at.sizes(5)}
    if rank not in _AXES:
        at.refuse(f"its weight has {rank} spatial axes")
    if transposed:
        return _with_bias(at, _transposed(at, data, weight, window, groups), bias)
    if groups > 1 and shape[1] == 1:
        weight = at.call("reshape", weight, [groups, shape[0] // groups, *shape[2:]])
    if groups > 1 and rank == 1:
        return _grouped_over_one_axis(at, data, weight, bias, window)
    made = _call(at, f"nn.conv{rank}d", data, weight, shape[0], groups, shape[2:], window)
    return _with_bias(at, made, bias)


def _call(
    at: Conversion, name: str, data: Expr, weight: Expr, channels: int, groups: int, kernel: Sequence[int],
    window: dict[str, list[int]], **more: object,
) -> Expr:  # fmt: skip
    axes = _AXES[len(kernel)]
    layouts = {"data_layout": f"NC{axes}", "kernel_layout": f"OI{axes}", **more}
    return at.call(
        name, data, weight, groups=groups, channels=channels, kernel_size=list(kernel), **window, **layouts
    )  # fmt: skip


def _transposed(at: Conversion, data: Expr, weight: Expr, window: dict[str, list[int]], groups: int) -> Expr:
    shape = at.shape(weight)
    rank = len(shape) - 2
    more = {"kernel_layout": f"IO{_AXES[rank]}", "output_padding": at.sizes(7)}
    name = f"nn.conv{rank}d_transpose"
    return _call(at, name, data, weight, shape[1] * groups, groups, shape[2:], window, **more)


def _grouped_over_one_axis(
    at: Conversion, data: Expr, weight: Expr, bias: Expr | None, window: dict[str, list[int]]
) -> Expr:
    """Relay's convolution over one axis has no groups: it is one over two, the first of extent
    1.
    """
    shape = at.shape(at.tensor(1))
    padding = [side for one in window["padding"] for side in (0, one)]
    wide = {"strides": [1, *window["strides"]], "padding": padding, "dilation": [1, *window["dilation"]]}
    data, weight = at.call("expand_dims", data, axis=2), at.call("expand_dims", weight, axis=2)
    made = _call(at, "nn.conv2d", data, weight, shape[0], at.integer(8), [1, shape[2]], wide)
    return at.call("squeeze", _with_bias(at, made, bias), axis=[2])


def _with_bias(at: Conversion, made: Expr, bias: Expr | None) -> Expr:
    return made if bias is None else at.call("nn.bias_add", made, bias)


def _forward(at: Conversion) -> Value:
    """``conv2d(data, weight, bias, stride, padding, dilation, groups)``, as scripts have it."""
    weight = at.shape(at.tensor(1))
    rank = len(weight) - 2
    data, kernel, bias, strides, padding, dilation, groups = at.args
    if isinstance(padding, str):
        padding = _padding(at, padding, weight[2:])
    nothing: list[Value] = [0 for _ in range(rank)]
    return _batched(at, [data, kernel, bias, strides, padding, dilation, False, nothing, groups])


def _backward(at: Conversion) -> Value:
    """``conv_transpose2d(data, weight, bias, stride, padding, padding of the output, groups,
    dilation)``.
    """
    data, kernel, bias, strides, padding, output_padding, groups, dilation = at.args
    return _batched(at, [data, kernel, bias, strides, padding, dilation, True, output_padding, groups])


def _batched(at: Conversion, args: list[Value]) -> Value:
    """A convolution of data that have no batch is one of a batch of one."""
    rank = at.rank(at.tensor(1)) - 2
    args[3:6] = [_each(one, rank) for one in args[3:6]]
    args[7] = _each(args[7], rank)
    if at.rank(at.tensor(0)) > rank + 1:
        return _convolution(at.with_args(args))
    args[0] = at.call("expand_dims", at.tensor(0), axis=0)
    made = _convolution(at.with_args(args))
    return at.call("squeeze", made, axis=[0])


def _each(value: Value, rank: int) -> Value:
    """Return what is said once for all axes, or in a list of one, for each."""
    every: list[Value] = value if isinstance(value, list) else [value]
    return every * rank if len(every) == 1 else value


def _padding(at: Conversion, word: str, kernel: Sequence[int]) -> list[Value]:
    """Return the padding that a word says; of an odd number of places one more is at the end."""
    if word == "valid":
        return [0 for _ in kernel]
    every = cast("list[int]", _each(at.value(5), len(kernel)))
    whole = [dilation * (extent - 1) for dilation, extent in zip(every, kernel, strict=True)]
    before = [one // 2 for one in whole]
    if all(one % 2 == 0 for one in whole):
        return list(before)
    return [*before, *(one - half for one, half in zip(whole, before, strict=True))]


def _deformable(at: Conversion) -> Value:
    """``deform_conv2d(data, weight, offset, mask, bias, …)``: strides, paddings and dilations, each
    for rows and columns, groups, groups of offsets, and whether there is a mask.
    """
    if at.value(13):
        at.refuse("Relay's deformable convolution has no mask")
    data, weight, offset = at.tensor(0), at.tensor(1), at.tensor(2)
    strides, padding, dilation = ([at.integer(place), at.integer(place + 1)] for place in (5, 7, 9))
    channels, _, *kernel = at.shape(weight)
    made = at.call(
        "nn.deformable_conv2d", data, offset, weight, strides=strides, padding=padding, dilation=dilation,
        groups=at.integer(11), deformable_groups=at.integer(12), channels=channels, kernel_size=kernel,
    )  # fmt: skip
    return at.call("nn.bias_add", made, at.tensor(4))


def _roi_align(at: Conversion) -> Value:
    """``roi_align(data, regions, scale, height, width, samples, aligned)``."""
    if at.value(6):
        at.refuse("its regions are aligned to half pixels, and Relay's have at least one")
    size = (at.integer(3), at.integer(4))
    ratio = at.integer(5)
    return at.call(
        "vision.roi_align", at.tensor(0), at.tensor(1), size, float(at.number(2)),
        sample_ratio=ratio if ratio > 0 else -1, layout="NCHW", mode="avg",
    )  # fmt: skip


_RANKS = (1, 2, 3)

RECORDS = [
    *records({
        "_convolution": _convolution, "convolution": _convolution, "torchvision::deform_conv2d": _deformable,
        "torchvision::roi_align": _roi_align, "_convolution_mode": _forward,
        **{f"conv{rank}d": _forward for rank in _RANKS}, **{f"conv_transpose{rank}d": _backward for rank in _RANKS},
    }),
]  # fmt: skip
