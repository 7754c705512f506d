"""Convolution and pooling. ONNX has them with channels first; other layouts are turned."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from relay2relax.core.dtype import bits, is_float
from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.ops.nn.adaptive_pooling import AdaptivePoolAttrs
from relay2relax.ops.nn.convolution_rules import ConvAttrs
from relay2relax.ops.nn.pooling import AvgPool1DAttrs, AvgPool2DAttrs, AvgPool3DAttrs, GlobalPool2DAttrs, PoolAttrs
from relay2relax.tir.extent import mul, static

_SPATIAL = "DHW"
_BYTES = ("int8", "uint8")


def to_order(at: Site, value: str, layout: str, wanted: str) -> str:
    """Return ``value``, whose axes ``layout`` names, in another order."""
    if layout == wanted:
        return value
    if sorted(layout) != sorted(wanted):
        at.refuse(f"its layout is {layout}")
    return at.node("Transpose", value, perm=[layout.index(letter) for letter in wanted])


def pads(given: Sequence[Any], rank: int) -> list[int]:
    """Return paddings as ONNX has them: before all axes, then behind all."""
    found = [int(one) for one in given]
    if len(found) == 1:
        return found * 2 * rank
    return found * 2 if len(found) == rank else found


def _windows(attrs: Any, rank: int) -> dict[str, Any]:
    numbers = {"strides": attrs.strides, "dilations": attrs.dilation}
    made = {name: [int(one) for one in value] for name, value in numbers.items()}
    return {
        **{name: one * rank if len(one) == 1 else one for name, one in made.items()},
        "pads": pads(attrs.padding, rank),
    }


def convolution(at: Site, attrs: ConvAttrs, data: str, weight: str) -> str:
    rank = at.type().rank - 2
    spatial = _SPATIAL[3 - rank :]
    data = to_order(at, data, attrs.data_layout, f"NC{spatial}")
    weight = to_order(at, weight, attrs.kernel_layout, f"OI{spatial}")
    dtypes, out = (at.type().dtype, at.type(1).dtype), at.result.dtype
    given = {**_windows(attrs, rank), "group": attrs.groups}
    if _multiplies(at, attrs):
        kernel = [at.type(1).shape[attrs.kernel_layout.index(letter)] for letter in f"OI{spatial}"]
        weight = at.node("Reshape", weight, at.extents([mul(kernel[0], kernel[1]), 1, *kernel[2:]]))
    if is_float(dtypes[0]):
        wide = "float32" if out == "float32" else dtypes[0]
        made = at.node("Conv", at.cast(data, dtypes[0], wide), at.cast(weight, dtypes[1], wide), **given)
        made = at.cast(made, wide, out)
    elif dtypes[0] in _BYTES and dtypes[1] in _BYTES and out == "int32":
        made = at.node("ConvInteger", data, weight, **given)
    elif bits(dtypes[0]) <= 32 and bits(dtypes[1]) <= 32:
        # ONNX convolves no wider integers; their products are exact in doubles.
        made = at.node("Conv", *(at.cast(*one, "float64") for one in zip((data, weight), dtypes, strict=True)), **given)
        made = at.cast(made, "float64", out)
    else:
        at.refuse(f"of {dtypes[0]} and {dtypes[1]}")
    return to_order(at, made, f"NC{spatial}", attrs.out_layout or attrs.data_layout)


def _multiplies(at: Site, attrs: ConvAttrs) -> bool:
    """Whether the kernel is (channels, multiplier, …), which Relay takes of as many groups."""
    outputs = static(at.type(1).shape[attrs.kernel_layout.index("O")])
    return outputs is not None and attrs.channels is not None and outputs != static(attrs.channels)


def transposed(at: Site, attrs: Any, data: str, weight: str) -> str:
    rank = at.type().rank - 2
    spatial = _SPATIAL[3 - rank :]
    if at.type().dtype != at.result.dtype or not is_float(at.result.dtype):
        at.refuse(f"of {at.type().dtype} into {at.result.dtype}")
    data = to_order(at, data, attrs.data_layout, f"NC{spatial}")
    # ONNX's first axis is the data's channels, which Relay's layouts call I.
    weight = to_order(at, weight, attrs.kernel_layout, f"IO{spatial}")
    extra = [int(one) for one in attrs.output_padding]
    extra = extra * rank if len(extra) == 1 else extra
    made = at.node("ConvTranspose", data, weight, group=attrs.groups, output_padding=extra, **_windows(attrs, rank))
    return to_order(at, made, f"NC{spatial}", attrs.out_layout or attrs.data_layout)


def pooling(kind: str) -> Form:
    """Return the form of a pooling."""

    def form(at: Site, attrs: PoolAttrs, data: str) -> str:
        rank = at.type().rank - 2
        spatial = _SPATIAL[3 - rank :]
        dtype = at.type().dtype
        wide = dtype if is_float(dtype) or dtype in _BYTES else "float64"
        if not is_float(dtype) and (kind != "MaxPool" or bits(dtype) > 32):
            at.refuse(f"its elements are {dtype}")
        size = at.static(attrs.pool_size, "a window")
        given = {**_windows(attrs, rank), "ceil_mode": int(attrs.ceil_mode)}
        if isinstance(attrs, (AvgPool1DAttrs, AvgPool2DAttrs, AvgPool3DAttrs)):
            given["count_include_pad"] = int(attrs.count_include_pad)
        data = at.cast(to_order(at, data, attrs.layout, f"NC{spatial}"), dtype, wide)
        size = size * rank if len(size) == 1 else size
        if attrs.ceil_mode or any(pad >= extent for pad, extent in zip(given["pads"], size * 2, strict=True)):
            data, given = _padded(at, attrs, data, given, size, kind, wide)
        made = at.node(kind, data, kernel_shape=size, **given)
        return to_order(at, at.cast(made, wide, dtype), f"NC{spatial}", attrs.out_layout or attrs.layout)

    return form


def _padded(
    at: Site, attrs: PoolAttrs, data: str, given: dict[str, Any], size: list[int], kind: str, dtype: str
) -> tuple[str, dict[str, Any]]:
    """Return data with their padding around them, for windows that reach further than ONNX's
    may.
    """
    rank = len(size)
    shape = at.type().shape
    order = attrs.layout
    extents = at.static([shape[order.index(letter)] for letter in f"NC{_SPATIAL[3 - rank :]}"[2:]], "an extent")
    outs = at.static([at.result.shape[(attrs.out_layout or order).index(one)] for one in _SPATIAL[3 - rank :]], "one")
    before, behind = given["pads"][:rank], []
    for place in range(rank):
        reach = (size[place] - 1) * given["dilations"][place] + 1
        covered = (outs[place] - 1) * given["strides"][place] + reach
        behind.append(max(covered - extents[place] - before[place], 0))
    if kind != "MaxPool":
        # A last window that begins in the padding is one in Relay alone.
        strides, reaches = given["strides"], zip(extents, before, outs, strict=True)
        if any((count - 1) * stride >= one + pad for stride, (one, pad, count) in zip(strides, reaches, strict=True)):
            at.refuse("a window lies in the padding alone")
        return data, given
    low = -float("inf") if is_float(dtype) else 0 if dtype == "uint8" else -128
    widths = at.ints([0, 0, *before, 0, 0, *behind])
    padded = at.node("Pad", data, widths, at.const(low, dtype))
    return padded, {**given, "pads": [0] * 2 * rank, "ceil_mode": 0}


def global_pooling(kind: str) -> Form:
    def form(at: Site, attrs: GlobalPool2DAttrs, data: str) -> str:
        made = at.node(kind, to_order(at, data, attrs.layout, "NCHW"))
        return to_order(at, made, "NCHW", attrs.out_layout or attrs.layout)

    return form


def adaptive(kind: str) -> Form:
    """Return the form of an adaptive pooling whose windows are all of one size."""

    def form(at: Site, attrs: AdaptivePoolAttrs, data: str) -> str:
        rank = at.type().rank - 2
        order = f"NC{_SPATIAL[3 - rank :]}"
        out = attrs.out_layout or attrs.layout
        wanted = [at.result.shape[out.index(one)] for one in order[2:]]
        data = to_order(at, data, attrs.layout, order)
        if not is_float(at.type().dtype):
            at.refuse(f"it pools {at.type().dtype}")
        if all(static(one) == 1 for one in wanted):
            made = at.node(f"Global{kind}", data)
        else:
            extents = at.static([at.type().shape[attrs.layout.index(one)] for one in order[2:]], "an extent")
            sizes = at.static(wanted, "an extent")
            if any(extent % size for extent, size in zip(extents, sizes, strict=True)):
                at.refuse("its windows are of several sizes")
            window = [extent // size for extent, size in zip(extents, sizes, strict=True)]
            made = at.node(kind, data, kernel_shape=window, strides=window)
        return to_order(at, made, order, out)

    return form


FORMS: dict[str, Form] = {
    **{f"nn.conv{rank}d": convolution for rank in (1, 2, 3)},
    **{f"nn.conv{rank}d_transpose": transposed for rank in (1, 2, 3)},
    **{f"R.nn.max_pool{rank}d": pooling("MaxPool") for rank in (1, 2, 3)},
    **{f"R.nn.avg_pool{rank}d": pooling("AveragePool") for rank in (1, 2, 3)},
    **{f"nn.max_pool{rank}d": pooling("MaxPool") for rank in (1, 2, 3)},
    **{f"nn.avg_pool{rank}d": pooling("AveragePool") for rank in (1, 2, 3)},
    **{f"nn.adaptive_avg_pool{rank}d": adaptive("AveragePool") for rank in (1, 2, 3)},
    **{f"nn.adaptive_max_pool{rank}d": adaptive("MaxPool") for rank in (1, 2, 3)},
    "nn.global_avg_pool2d": global_pooling("GlobalAveragePool"),
    "nn.global_max_pool2d": global_pooling("GlobalMaxPool"),
}
