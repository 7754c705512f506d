"""Images: changes of size, grids, regions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay2relax.relay_ir.frontend.interpolation import COORDINATES, axis_matrix
from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.resizing.computed import resize_as_computed
from relay2relax.relay_ir.ir.expr import Expr

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic", "bilinear": "linear"}


def _resize(at: Conversion) -> Expr:
    x, rank = at.arg(0), at.rank(at.arg(0))
    how = at.attr("coordinate_transformation_mode", "half_pixel" if at.opset >= 11 else "asymmetric")
    scales = at.known(1, "scales") if at.opset < 11 else at.known(2) if at.has(2) else None
    sizes = at.known(3) if at.opset >= 11 and at.has(3) else None
    if scales is not None and not scales.size:
        scales = None
    given = [at.arg(place) for place in ((1,) if at.opset < 11 else (2, 3)) if at.has(place)]
    region = how != "tf_crop_and_resize" or at.known(1) is not None
    if at.static(x) is None or not region or (scales is None and (sizes is None or not sizes.size)):
        by_size = at.opset >= 11 and at.has(3) and at.static(given[-1]) != (0,)
        if not given:
            at.refuse("neither its sizes nor its scales are known")
        return resize_as_computed(at, how, None if by_size else given[0], given[-1] if by_size else None)
    shape = at.shape(x)
    axes = [one % rank for one in at.attr("axes", range(rank))]
    factors, wanted = dict.fromkeys(range(rank), 1.0), list(shape)
    if scales is not None:
        for axis, scale in zip(axes, scales, strict=True):
            factors[axis], wanted[axis] = float(scale), int(np.floor(shape[axis] * float(scale)))
    else:
        assert sizes is not None
        for axis, size, factor in _sized(at, shape, axes, [int(one) for one in sizes]):
            factors[axis], wanted[axis] = factor, size
    mode = at.attr("mode", "nearest")
    rounding = at.attr("nearest_mode", "round_prefer_floor" if at.opset >= 11 else "floor")
    exact = all(wanted[axis] == shape[axis] * factor for axis, factor in factors.items())
    plain = wanted[:2] == list(shape[:2]) and rank in (3, 4, 5) and how in ("half_pixel", "align_corners", "asymmetric")
    if plain and exact and not at.attr("antialias", 0) and all(one > 0 for one in wanted):
        return resized(at, x, wanted[2:], mode, how, rounding if at.opset >= 11 else "")
    return _by_matrices(at, x, factors, wanted, how, rounding)


def _by_matrices(
    at: Conversion, x: Expr, factors: dict[int, float], wanted: list[int], how: str, rounding: str
) -> Expr:
    """Resize axis by axis; what lies outside of a region of interest is ``extrapolation_value``."""
    shape, mode, dtype = at.shape(x), at.attr("mode", "nearest"), at.dtype(x)
    roi = at.known(1) if at.opset >= 11 and at.has(1) else None
    axes = [one % len(shape) for one in at.attr("axes", range(len(shape)))]
    outside = np.zeros(wanted, bool)
    made = x if at.floating(x) else at.cast(x, "float32")
    wide = at.dtype(made)
    for axis, (old, new) in enumerate(zip(shape, wanted, strict=True)):
        steps, scale = np.arange(new, dtype=np.float64), factors[axis]
        if how == "tf_crop_and_resize":
            if roi is None or axis not in axes:
                if axis in axes:
                    at.refuse("its region is computed")
                continue
            low, high = (float(roi[axes.index(axis) + half * len(axes)]) for half in (0, 1))
            middle = np.full(new, 0.5 * (low + high) * (old - 1))
            places = low * (old - 1) + steps * (high - low) * (old - 1) / (new - 1) if new > 1 else middle
            beyond = (places < 0) | (places > old - 1)
            outside |= beyond.reshape([-1 if one == axis else 1 for one in range(len(shape))])
        elif how in COORDINATES:
            places = COORDINATES[how](steps, old, new, scale)
        else:
            at.refuse(f"its coordinates are {how}")
        if old == new and scale == 1.0 and how != "tf_crop_and_resize":
            continue
        smooth = min(scale, 1.0) if at.attr("antialias", 0) else 1.0
        given = (mode, rounding, float(at.attr("cubic_coeff_a", -0.75)), bool(at.attr("exclude_outside", 0)), smooth)
        matrix = at.const(axis_matrix(old, new, places, *given), wide)
        order = [one for one in range(len(shape)) if one != axis] + [axis]
        turned = at.transpose(made, order)
        rows = at.call("nn.dense", at.reshape(turned, [-1, old]), matrix, units=None)
        back = at.reshape(rows, [*(at.shape(turned)[:-1]), new])
        made = at.transpose(back, [order.index(one) for one in range(len(shape))])
    if outside.any():
        filling = at.const(at.attr("extrapolation_value", 0.0), wide)
        made = at.call("where", at.const(outside, "bool"), filling, made)
    return at.cast(made, dtype)


def _sized(at: Conversion, shape: tuple[int, ...], axes: list[int], sizes: list[int]) -> list[tuple[int, int, float]]:
    """Return axes, extents and scales; those that keep an aspect follow the tightest of them."""
    policy = at.attr("keep_aspect_ratio_policy", "stretch")
    ratios = [size / shape[axis] for size, axis in zip(sizes, axes, strict=True)]
    if policy == "stretch":
        return list(zip(axes, sizes, ratios, strict=True))
    ratio = min(ratios) if policy == "not_larger" else max(ratios)
    return [(axis, int(np.floor(ratio * shape[axis] + 0.5)), ratio) for axis in axes]


def resized(at: Conversion, x: Expr, size: list[int], mode: str, how: str, rounding: str) -> Expr:
    """Return ``x`` with other extents behind the first two."""
    name = f"image.resize{len(size)}d"
    layout = {1: "NCW", 2: "NCHW", 3: "NCDHW"}[len(size)]
    dtype = at.dtype(x)
    wide = x if at.floating(x) else at.cast(x, "float32")
    made = at.call(
        name, wide, size=tuple(size), layout=layout, method=_METHODS[mode], coordinate_transformation_mode=how,
        rounding_method=rounding, cubic_alpha=float(at.attr("cubic_coeff_a", -0.75 if at.opset >= 11 else -0.5)),
        cubic_exclude=int(at.attr("exclude_outside", 0)),
    )  # fmt: skip
    return at.cast(made, dtype)


def _upsample(at: Conversion) -> Expr:
    x = at.arg(0)
    scales = at.known(1, "scales")
    if scales is None:
        at.refuse("its scales are computed")
    size = [int(np.floor(extent * scale)) for extent, scale in zip(at.shape(x), scales, strict=True)]
    mode = at.attr("mode", "nearest")
    return resized(at, x, size[2:], mode, "asymmetric", "floor" if mode == "nearest" else "")


def _grid_sample(at: Conversion) -> Expr:
    x, grid = at.arg(0), at.arg(1)
    rank = at.rank(x)
    layout = {4: "NCHW", 5: "NCDHW"}.get(rank)
    if layout is None:
        at.refuse(f"of {rank - 2} spatial axes")
    mode = {"linear": "bilinear", "cubic": "bicubic"}.get(at.attr("mode", "linear"), at.attr("mode", "linear"))
    moved = at.transpose(grid, [0, rank - 1, *range(1, rank - 1)])
    return at.call(
        "image.grid_sample", x, moved, mode, layout, at.attr("padding_mode", "zeros"),
        bool(at.attr("align_corners", 0)),
    )  # fmt: skip


def _regions(at: Conversion, rois: Expr, batches: Expr) -> Expr:
    """Return regions with the image that each lies in before them."""
    column = at.cast(at.unsqueeze(batches, [1]), at.dtype(rois))
    return at.call("concatenate", at.tuple([column, rois]), axis=1)


def _roi_align(at: Conversion) -> Expr:
    x, rois = at.arg(0), at.arg(1)
    scale = float(at.attr("spatial_scale", 1.0))
    how = at.attr("coordinate_transformation_mode", "half_pixel" if at.opset >= 16 else "output_half_pixel")
    size = (at.attr("output_height", 1), at.attr("output_width", 1))
    mode, ratio = str(at.attr("mode", "avg")), at.attr("sampling_ratio", 0)
    if how == "half_pixel" or mode == "max":
        return _sampled_regions(at, size, ratio, how, mode)
    regions = _regions(at, rois, at.arg(2))
    return at.call("vision.roi_align", x, regions, size, scale, sample_ratio=ratio or -1, layout="NCHW", mode=mode)


def _sampled_regions(at: Conversion, size: tuple[int, int], ratio: int, how: str, mode: str) -> Expr:
    """Return averages or maxima of samples, each of which weighs two rows and two columns."""
    if ratio < 1:
        at.refuse("how many samples it takes depends on its regions")
    x, rois = at.arg(0), at.arg(1)
    image = at.call("take", x, at.arg(2), axis=0)
    weights = []
    for axis, count in enumerate(size):
        ends = [at.slice(rois, 1, place, place + 1) for place in (1 - axis, 3 - axis)]
        weights.append(_sample_weights(at, ends, at.shape(x)[2 + axis], count * ratio, how))
    # Before a maximum the four products stay apart, as the standard's definition has it.
    if mode == "max":
        return _largest_products(at, image, weights, size, ratio)
    rows, columns = (at.call("add", *pair) for pair in weights)
    means = [
        at.call("mean", at.reshape(one, [-1, count, ratio, at.shape(one)[2]]), axis=[2])
        for one, count in zip((rows, columns), size, strict=True)
    ]
    equation = "rph,rchw,rqw->rcpq"
    return at.call("einsum", at.tuple([means[0], image, means[1]]), equation=equation)


def _largest_products(
    at: Conversion, image: Expr, weights: list[tuple[Expr, Expr]], size: tuple[int, int], ratio: int
) -> Expr:
    products = [
        at.call("einsum", at.tuple([row, image, column]), equation="rph,rchw,rqw->rcpq")
        for row in weights[0]
        for column in weights[1]
    ]
    largest = products[0]
    for one in products[1:]:
        largest = at.call("maximum", largest, one)
    channels = at.shape(image)[1]
    apart = at.reshape(largest, [-1, channels, size[0], ratio, size[1], ratio])
    return at.call("max", apart, axis=[3, 5])


def _sample_weights(at: Conversion, ends: list[Expr], extent: int, count: int, how: str) -> tuple[Expr, Expr]:
    """Return what each sample takes of each place of an axis: the place before it, and behind."""
    scale, dtype = float(at.attr("spatial_scale", 1.0)), at.dtype(ends[0])
    begin, end = (at.call("multiply", one, at.const(scale, dtype)) for one in ends)
    if how == "half_pixel":
        begin, end = (at.call("subtract", one, at.const(0.5, dtype)) for one in (begin, end))
    width = at.call("subtract", end, begin)
    if how != "half_pixel":
        width = at.call("maximum", width, at.const(1.0, dtype))
    steps = at.const((np.arange(count) + 0.5) / count, dtype)
    places = at.call("add", begin, at.call("multiply", width, steps))
    limits = [at.const(one, dtype) for one in (-1.0, float(extent))]
    inside = at.call(
        "logical_and", at.call("greater_equal", places, limits[0]), at.call("less_equal", places, limits[1])
    )
    kept = at.call("clip", places, a_min=0.0, a_max=float(extent - 1))
    low = at.call("floor", kept)
    share = at.call("subtract", kept, low)
    high = at.call("minimum", at.call("add", low, at.const(1.0, dtype)), at.const(extent - 1.0, dtype))
    numbers = at.const(np.arange(extent), dtype)
    parts = []
    for place, weight in ((low, at.call("subtract", at.const(1.0, dtype), share)), (high, share)):
        weight = at.call("where", inside, weight, at.const(0.0, dtype))
        here = at.cast(at.call("equal", at.unsqueeze(place, [2]), numbers), dtype)
        parts.append(at.call("multiply", here, at.unsqueeze(weight, [2])))
    return parts[0], parts[1]


def _affine_grid(at: Conversion) -> Expr:
    """Where each place of an image comes from: matrices times the places, which lie in -1 to 1."""
    theta, size = at.arg(0), at.wanted_ints(1)[2:]
    axes = []
    for extent in size:
        if at.attr("align_corners", 0):
            axes.append(np.linspace(-1.0, 1.0, extent))
        else:
            axes.append((2 * np.arange(extent) + 1) / extent - 1)
    grids = [one.reshape(-1) for one in np.meshgrid(*axes, indexing="ij")]
    points = at.like(np.stack([*grids[::-1], np.ones_like(grids[0])], 1), theta)
    count = at.shape(theta)[0]
    rows = at.reshape(theta, [count * len(size), len(size) + 1])
    made = at.call("nn.dense", points, rows, units=None)
    parts = at.transpose(at.reshape(made, [-1, count, len(size)]), [1, 0, 2])
    return at.reshape(parts, [count, *size, len(size)])


def _roi_pool(at: Conversion) -> Expr:
    size, scale = tuple(at.wanted("pooled_shape")), float(at.attr("spatial_scale", 1.0))
    return at.call("vision.roi_pool", at.arg(0), at.arg(1), size, scale)


OPERATORS: dict[str, Convert | Mapping[int, Convert]] = {
    "Resize": _resize,
    "Upsample": _upsample,
    "GridSample": _grid_sample,
    "RoiAlign": _roi_align,
    "AffineGrid": _affine_grid,
    "MaxRoiPool": _roi_pool,
}
