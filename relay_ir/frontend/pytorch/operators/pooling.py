"""Pooling and changes of size over one to three spatial axes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from relay2relax.core.dtype import Numbers, is_float
from relay2relax.relay_ir.frontend.interpolation import axis_matrix
from relay2relax.relay_ir.frontend.pytorch.context import Conversion, Value
from relay2relax.relay_ir.frontend.pytorch.operators.elementwise import lowest
from relay2relax.relay_ir.frontend.pytorch.operators.record import Convert, records
from relay2relax.relay_ir.frontend.windows import window_places
from relay2relax.relay_ir.ir.expr import Expr

LAYOUTS = {1: "NCW", 2: "NCHW", 3: "NCDHW"}
_METHODS = {"linear": 1, "bilinear": 2, "trilinear": 3, "bicubic": 2}


def spread(sizes: Sequence[int], rank: int) -> list[int]:
    """Return a size for each axis: one that is said once holds for all."""
    return list(sizes) * rank if len(sizes) == 1 else list(sizes)


def _batched(at: Conversion, data: Expr, rank: int) -> tuple[Expr, bool]:
    """Return ``data`` with a batch, and whether it had none."""
    single = at.rank(data) == rank + 1
    return (at.call("expand_dims", data, axis=0) if single else data), single


def _windows(at: Conversion, rank: int) -> tuple[list[int], list[int], list[int]]:
    kernel = spread(at.sizes(1), rank)
    return kernel, spread(at.integers(2) or kernel, rank), spread(at.integers(3) or [0], rank)


def _count(extent: int, size: int, stride: int, pad: int, ceil: bool) -> int:
    """Return how many windows PyTorch has along an axis: none begins in the padding behind."""
    room = extent + 2 * pad - size
    count = (-(-room // stride) if ceil else room // stride) + 1
    return count - (ceil and (count - 1) * stride >= extent + pad)


def _max_pool(rank: int, places: bool) -> Convert:
    """``max_pool(data, kernel, stride, padding, dilation, ceil)``, and where the greatest stand."""

    def convert(at: Conversion) -> Value:
        data, single = _batched(at, at.tensor(0), rank)
        kernel, strides, padding = _windows(at, rank)
        dilation, ceil = spread(at.integers(4) or [1], rank), bool(at.number(5, False))
        made = at.call(
            f"nn.max_pool{rank}d", data, pool_size=kernel, strides=strides, padding=padding, dilation=dilation,
            ceil_mode=ceil,
        )  # fmt: skip
        reach = [(size - 1) * step + 1 for size, step in zip(kernel, dilation, strict=True)]
        made = _trimmed(at, made, data, reach, strides, padding, ceil)
        results = [made]
        if places:
            counts = at.shape(made)[2:]
            given = window_places(at.shape(data)[2:], kernel, strides, padding, dilation, counts)
            results.append(_places(at, data, *given, counts))
        results = [at.call("squeeze", one, axis=[0]) for one in results] if single else results
        return tuple(results) if places else results[0]

    return convert


def _places(at: Conversion, data: Expr, points: Sequence[Numbers], within: Numbers, counts: Sequence[int]) -> Expr:
    """Return where in its image the greatest of each window stands."""
    front, extents = at.shape(data)[:2], at.shape(data)[2:]
    flat = np.ravel_multi_index(tuple(points), extents)
    rows = at.call("reshape", data, [front[0] * front[1], math.prod(extents)])
    found = at.call("take", rows, at.const(flat, "int64"), axis=1)
    found = at.call("where", at.const(within, "bool"), found, at.const(lowest(at.dtype(data)), at.dtype(data)))
    best = at.call("argmax", found, axis=[2], keepdims=True)
    numbers = at.call("broadcast_to", at.const(flat, "int64"), at.shape(found))
    return at.call("reshape", at.call("gather", numbers, 2, best), [*front, *counts])


def _trimmed(
    at: Conversion, made: Expr, data: Expr, reach: Sequence[int], strides: Sequence[int], padding: Sequence[int],
    ceil: bool,
) -> Expr:  # fmt: skip
    if not ceil:
        return made
    for place, given in enumerate(zip(at.shape(data)[2:], reach, strides, padding, strict=True), 2):
        count = _count(*given, ceil)
        if count < at.shape(made)[place]:
            made = at.call("strided_slice", made, begin=[0], end=[count], strides=[1], axes=[place])
    return made


def _avg_pool(rank: int) -> Convert:
    """``avg_pool(data, kernel, stride, padding, ceil, count_include_pad, divisor)``."""

    def convert(at: Conversion) -> Value:
        data, single = _batched(at, at.tensor(0), rank)
        kernel, strides, padding = _windows(at, rank)
        ceil, counted = bool(at.number(4, False)), bool(at.number(5, True))
        divisor = at.value(6)
        # Windows of a divisor of their own are summed up with all of the padding.
        every = counted or divisor is not None
        made = at.call(
            f"nn.avg_pool{rank}d", data, pool_size=kernel, strides=strides, padding=padding, ceil_mode=ceil,
            count_include_pad=every,
        )  # fmt: skip
        made = _trimmed(at, made, data, kernel, strides, padding, ceil)
        if divisor is not None:
            if ceil:
                at.refuse("its divisor is given, and its last windows are not whole")
            count = 1
            for size in kernel:
                count *= size
            made = at.call("multiply", made, at.const(count / float(at.number(6)), at.dtype(made)))
        return at.call("squeeze", made, axis=[0]) if single else made

    return convert


def _adaptive(kind: str, rank: int) -> Convert:
    def convert(at: Conversion) -> Value:
        data, single = _batched(at, at.tensor(0), rank)
        sizes = at.value(1)
        if not isinstance(sizes, (list, int)):
            at.refuse("its size is not known beforehand")
        wanted = spread(sizes if isinstance(sizes, list) else [sizes], rank)  # type: ignore[arg-type]
        wanted = [own if one is None else one for one, own in zip(wanted, at.shape(data)[2:], strict=True)]
        made = at.call(f"nn.adaptive_{kind}_pool{rank}d", data, tuple(wanted))
        made = at.call("squeeze", made, axis=[0]) if single else made
        return (made, None) if kind == "max" else made

    return convert


def _resized(method: str, rank: int) -> Convert:
    """``upsample(data, size, [align], scales…)``, ``.vec``: ``(data, size, [align], factors)``."""

    def convert(at: Conversion) -> Value:
        data = at.tensor(0)
        smooth = not method.startswith("nearest")
        align = smooth and bool(at.number(2, False))
        size = at.integers(1)
        factors = [one for one in at.args[2 + smooth :] if isinstance(one, (int, float, list)) and one is not False]
        flat = [part for one in factors for part in (one if isinstance(one, list) else [one])]
        own = at.shape(data)[2:]
        given = [float(one) for one in flat if isinstance(one, (int, float))]
        if size is None:
            size = [int(extent * one) for extent, one in zip(own, given, strict=True)]
        pairs = zip(own, given, size, strict=False)
        plain = len(given) < rank or all(extent * factor == one for extent, factor, one in pairs)
        if not plain and method == "nearest":
            return _nearest_by(at, data, size, given)
        if not plain and not align:
            at.refuse("its factors are not those of its extents")
        how = "align_corners" if align else "half_pixel" if smooth or method == "nearest-exact" else "asymmetric"
        rounding = {"nearest": "floor", "nearest-exact": "round"}.get(method, "")
        name = "nearest_neighbor" if not smooth else "cubic" if method == "bicubic" else "linear"
        if method == "nearest-exact":
            at.refuse("it takes the nearest by its middle")
        return at.call(
            f"image.resize{rank}d", data, size=tuple(size), layout=LAYOUTS[rank], method=name,
            coordinate_transformation_mode=how, rounding_method=rounding, cubic_alpha=-0.75,
        )  # fmt: skip

    return convert


def _antialiased(mode: str) -> Convert:
    """``upsample(data, size, align, scales…)``, ``.vec``: ``(data, size, align, factors)``, by a
    filter that is as wide as the places that become one: each axis is a product with a matrix.
    """

    def convert(at: Conversion) -> Value:
        data, size, align = at.tensor(0), at.integers(1), bool(at.number(2))
        if not is_float(at.dtype(data)):
            at.refuse("PyTorch rounds integers after each axis")
        flat = [part for one in at.args[3:] for part in (one if isinstance(one, list) else [one])]
        factors = [float(one) for one in flat if isinstance(one, (int, float))]
        front, extents = at.shape(data)[:2], at.shape(data)[2:]
        if size is None:
            size = [int(extent * factor) for extent, factor in zip(extents, factors, strict=True)]
        steps = [1 / one for one in factors] or [old / new for old, new in zip(extents, size, strict=True)]
        if align:
            steps = [(old - 1) / (new - 1) if new > 1 else 0.0 for old, new in zip(extents, size, strict=True)]
        made = at.call("reshape", data, [-1, *extents])
        # The last axis is done first, and stands before the other one then.
        for old, new, step in reversed(list(zip(extents, size, steps, strict=True))):
            if old != new:
                places = step * (np.arange(new) + 0.5) - 0.5
                matrix = axis_matrix(old, new, places, mode, "", -0.5, True, 1 / max(step, 1.0))
                rows = at.call("reshape", made, [-1, old])
                rows = at.call("nn.dense", rows, at.const(matrix, at.dtype(data)), units=None)
                made = at.call("reshape", rows, [*at.shape(made)[:2], new])
            made = at.call("transpose", made, axes=[0, 2, 1])
        return at.call("reshape", made, [*front, *size])

    return convert


def _pool_window(at: Conversion) -> dict[str, object]:
    """Return kernel, strides and padding; without strides they are the kernel's extents."""
    kernel = at.sizes(1)
    return {"pool_size": kernel, "strides": at.integers(2) or kernel, "padding": at.sizes(3)}


def _max_pool_of_scripts(at: Conversion) -> Value:
    more = {"dilation": at.sizes(4), "ceil_mode": bool(at.number(5, False))}
    return at.call("nn.max_pool2d", at.tensor(0), **_pool_window(at), **more)


def _avg_pool_of_scripts(at: Conversion) -> Value:
    if at.value(6) is not None:
        at.refuse("its divisor is given")
    more = {"ceil_mode": bool(at.number(4, False)), "count_include_pad": bool(at.number(5, True))}
    return at.call("nn.avg_pool2d", at.tensor(0), **_pool_window(at), **more)


def _nearest_of_scripts(at: Conversion) -> Value:
    data = at.tensor(0)
    size = at.integers(1)
    if size is None:
        factors = at.value(2)
        if not isinstance(factors, list) or not all(isinstance(one, (int, float)) for one in factors):
            at.refuse("neither its extents nor its factors are known beforehand")
        extents = at.shape(data)[2:]
        size = [math.floor(extent * float(one)) for extent, one in zip(extents, factors, strict=True)]  # type: ignore[arg-type]
    given = {"layout": "NCHW", "method": "nearest_neighbor", "coordinate_transformation_mode": "asymmetric"}
    return at.call("image.resize2d", data, size, rounding_method="", cubic_alpha=-0.75, **given)


def _nearest_by(at: Conversion, data: Expr, size: Sequence[int], factors: Sequence[float]) -> Expr:
    """Take the nearest place before each by factors that are not those of the extents."""
    for axis, (count, factor) in enumerate(zip(size, factors, strict=True), 2):
        places = np.floor(np.arange(count, dtype=np.float32) * np.float32(1 / factor))
        places = np.minimum(places, at.extent(data, axis) - 1)
        data = at.call("take", data, at.const(places.astype(np.int64), "int64"), axis=axis)
    return data


def _either(exact: Convert, script: Convert) -> Convert:
    """What PyTorch does, or of scripts what TVM's importer makes."""
    return lambda at: exact(at) if at.exact else script(at)


def _grid_sample(at: Conversion) -> Value:
    """``grid_sampler(data, grid, mode, padding, align_corners)``."""
    data, grid = at.tensor(0), at.tensor(1)
    rank = at.rank(data)
    mode = ("bilinear", "nearest", "bicubic")[at.integer(2)]
    padding = ("zeros", "border", "reflection")[at.integer(3)]
    moved = at.call("transpose", grid, axes=[0, rank - 1, *range(1, rank - 1)])
    return at.call("image.grid_sample", data, moved, mode, LAYOUTS[rank - 2], padding, bool(at.value(4)))


def _pixel_shuffle(at: Conversion) -> Value:
    data, factor = at.tensor(0), at.integer(1)
    *front, channels, height, width = at.shape(data)
    made = at.call("reshape", data, [-1, channels // factor**2, factor, factor, height, width])
    made = at.call("transpose", made, axes=[0, 1, 4, 2, 5, 3])
    return at.call("reshape", made, [*front, channels // factor**2, height * factor, width * factor])


def _pixel_unshuffle(at: Conversion) -> Value:
    data, factor = at.tensor(0), at.integer(1)
    *front, channels, height, width = at.shape(data)
    made = at.call("reshape", data, [-1, channels, height // factor, factor, width // factor, factor])
    made = at.call("transpose", made, axes=[0, 1, 3, 5, 2, 4])
    return at.call("reshape", made, [*front, channels * factor**2, height // factor, width // factor])


RECORDS = records({
    **{f"max_pool{rank}d_with_indices": _max_pool(rank, True) for rank in (2, 3)},
    **{f"max_pool{rank}d": _max_pool(rank, False) for rank in (1, 2, 3)},
    **{f"avg_pool{rank}d": _avg_pool(rank) for rank in (1, 2, 3)},
    "max_pool2d": _either(_max_pool(2, False), _max_pool_of_scripts),
    "avg_pool2d": _either(_avg_pool(2), _avg_pool_of_scripts),
    **{f"adaptive_{kind}_pool{rank}d": _adaptive(kind, rank) for kind in ("avg", "max") for rank in (1, 2, 3)},
    **{f"_adaptive_avg_pool{rank}d": _adaptive("avg", rank) for rank in (2, 3)},
    **{f"upsample_{method}{rank}d": _resized(method, rank) for method, rank in _METHODS.items()},
    **{f"upsample_nearest{rank}d": _resized("nearest", rank) for rank in (1, 2, 3)},
    "_upsample_bilinear2d_aa": _antialiased("linear"), "_upsample_bicubic2d_aa": _antialiased("cubic"),
    "upsample_nearest2d": _either(_resized("nearest", 2), _nearest_of_scripts),
    "grid_sampler_2d": _grid_sample, "grid_sampler_3d": _grid_sample, "grid_sampler": _grid_sample,
    "pixel_shuffle": _pixel_shuffle, "pixel_unshuffle": _pixel_unshuffle,
})  # fmt: skip
