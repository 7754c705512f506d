"""Pooling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.operators.convolution import windows
from relay2relax.relay_ir.frontend.windows import window_places
from relay2relax.relay_ir.ir.expr import Expr


def pooled(at: Conversion, data: Expr, kind: str) -> Expr:
    """Return windows of ``data`` pooled as the node's attributes say."""
    kernel = tuple(at.wanted("kernel_shape"))
    if len(kernel) not in (1, 2, 3):
        at.refuse(f"its windows have {len(kernel)} axes")
    given = windows(at, data, kernel)
    ceil = bool(at.attr("ceil_mode", 0))
    if ceil:
        given["padding"], ceil = _without_ceil(at, data, kernel, given)
    given |= {"pool_size": kernel, "ceil_mode": ceil}
    if kind == "avg":
        given["count_include_pad"] = bool(at.attr("count_include_pad", 0))
    made = at.call(f"nn.{kind}_pool{len(kernel)}d", data, **given)
    if not ceil or at.static(data) is None:
        return made
    # Relay counts windows that begin in the padding behind.
    for place, count in enumerate(_counts(at.shape(data)[2:], kernel, given), 2):
        if count < at.shape(made)[place]:
            made = at.slice(made, place, 0, count)
    return made


def _counts(extents: Sequence[int], kernel: Sequence[int], given: Mapping[str, Any], ceil: bool = True) -> list[int]:
    """Return how many windows ONNX counts along each axis: none that begins in the padding behind,
    and with ``ceil`` one that ends behind all.
    """
    found = []
    for place, (extent, size) in enumerate(zip(extents, kernel, strict=True)):
        stride, before = given["strides"][place], given["padding"][place]
        reach = (size - 1) * given["dilation"][place] + 1
        room = extent + before + given["padding"][len(kernel) + place] - reach
        count = (-(-room // stride) if ceil else room // stride) + 1
        found.append(count - (ceil and (count - 1) * stride >= extent + before))
    return found


def _without_ceil(
    at: Conversion, data: Expr, kernel: tuple[int, ...], given: dict[str, tuple[int, ...]]
) -> tuple[tuple[int, ...], bool]:
    """Return the padding with which as many windows fit as ONNX counts."""
    shape = at.static(data)
    if shape is None or at.attr("count_include_pad", 0):
        return given["padding"], True
    rank, padding = len(kernel), list(given["padding"])
    for place, count in enumerate(_counts(shape[2:], kernel, given)):
        reach = (kernel[place] - 1) * given["dilation"][place] + 1
        padding[rank + place] = (count - 1) * given["strides"][place] + reach - shape[2 + place] - padding[place]
    return tuple(padding), False


def _max_pool(at: Conversion) -> tuple[Expr, ...]:
    data = at.arg()
    dtype = at.dtype(data)
    wide = data if at.floating(data) else at.cast(data, "float32")
    if len(at.node.outputs) > 1 and at.node.outputs[1]:
        values, places = _with_places(at, wide)
        return at.cast(values, dtype), places
    return (at.cast(pooled(at, wide, "max"), dtype),)


def _with_places(at: Conversion, data: Expr) -> tuple[Expr, Expr]:
    """Return the greatest of each window, and where in the whole of ``data`` each stands."""
    kernel, shape = tuple(at.wanted("kernel_shape")), at.shape(data)
    given = windows(at, data, kernel)
    extents = shape[2:]
    counts = _counts(extents, kernel, given, bool(at.attr("ceil_mode", 0)))
    clipped, within = window_places(extents, kernel, given["strides"], given["padding"], given["dilation"], counts)
    channels, size = shape[0] * shape[1], math.prod(extents)
    rows = at.reshape(data, [channels, size])
    found = at.call("take", rows, at.const(np.ravel_multi_index(clipped, extents), "int64"), axis=1)
    found = at.call("where", at.const(within, "bool"), found, at.like(-np.inf, data))
    best = at.call("argmax", found, axis=[2], keepdims=True)
    # Places may be counted column by column.
    turned = bool(at.attr("storage_order", 0))
    counted = np.ravel_multi_index(clipped[::-1], extents[::-1]) if turned else np.ravel_multi_index(clipped, extents)
    flat = counted + size * np.arange(channels)[:, None, None]
    whole = [*shape[:2], *counts]
    results = [at.call("gather", one, 2, best) for one in (found, at.const(flat, "int64"))]
    return at.reshape(results[0], whole), at.reshape(results[1], whole)


def _global(kind: str) -> Convert:
    def convert(at: Conversion) -> Expr:
        data = at.arg()
        rank = at.rank(data)
        if rank == 4:
            return at.call(f"nn.global_{kind}_pool2d", data)
        if rank in (3, 5):
            return at.call(f"nn.adaptive_{kind}_pool{rank - 2}d", data, (1,) * (rank - 2))
        return at.call("mean" if kind == "avg" else "max", data, axis=list(range(2, rank)), keepdims=True)

    return convert


def _lp_pool(at: Conversion) -> Expr:
    """``sum(|x|**p)**(1/p)`` of each window, by way of the average with all of the padding."""
    data, power = at.arg(), float(at.attr("p", 2))
    kernel = tuple(at.wanted("kernel_shape"))
    count = 1
    for size in kernel:
        count *= size
    powered = at.call("power", at.call("abs", data), at.like(power, data))
    given = {**windows(at, data, kernel), "pool_size": kernel, "ceil_mode": bool(at.attr("ceil_mode", 0))}
    mean = at.call(f"nn.avg_pool{len(kernel)}d", powered, count_include_pad=True, **given)
    return at.call("power", at.call("multiply", mean, at.like(count, data)), at.like(1 / power, data))


def _global_lp_pool(at: Conversion) -> Expr:
    data, power = at.arg(), float(at.attr("p", 2))
    powered = at.call("power", at.call("abs", data), at.like(power, data))
    total = at.call("sum", powered, axis=list(range(2, at.rank(data))), keepdims=True)
    return at.call("power", total, at.like(1 / power, data))


def _unpool(at: Conversion) -> Expr:
    """Each value goes to its place, counted over the whole result; all else is 0."""
    data, places = at.arg(0), at.arg(1)
    kernel = at.wanted("kernel_shape")
    strides, pads = at.attr("strides", [1] * len(kernel)), at.attr("pads", [0] * 2 * len(kernel))
    shape = at.shape(data)
    inferred = [
        (extent - 1) * stride + size - pads[i] - pads[len(kernel) + i]
        for i, (extent, stride, size) in enumerate(zip(shape[2:], strides, kernel, strict=True))
    ]
    own = [*shape[:2], *inferred]
    flat = at.call("zeros", (_product(own),), at.dtype(data))
    filled = at.call("scatter_elements", flat, at.reshape(places, [-1]), at.reshape(data, [-1]), 0, "update")
    made = at.reshape(filled, own)
    if at.has(2) and at.known(2) is None:
        grown = at.call("subtract", at.cast(at.arg(2), "int64"), at.const(own, "int64"))
        computed = at.call("stack", at.tuple([at.const([0] * len(own), "int64"), grown]), axis=1)
        return at.dynamic("nn.pad", made, computed, at.like(0, made))
    wanted = at.ints(2) or own
    widths = tuple((0, more - had) for more, had in zip(wanted, own, strict=True))
    return at.call("nn.pad", made, widths, at.like(0, made)) if any(b for _, b in widths) else made


def _product(extents: list[int]) -> int:
    found = 1
    for one in extents:
        found *= one
    return found


OPERATORS: dict[str, Convert] = {
    "MaxPool": _max_pool,
    "AveragePool": lambda at: pooled(at, at.arg(), "avg"),
    "LpPool": _lp_pool,
    "GlobalAveragePool": _global("avg"),
    "GlobalMaxPool": _global("max"),
    "GlobalLpPool": _global_lp_pool,
    "MaxUnpool": _unpool,
}
