"""Images: changes of size, grids, regions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from relay2relax.relay_ir.frontend.onnx.conversion import Conversion, Convert
from relay2relax.relay_ir.frontend.onnx.operators.interpolation import COORDINATES, axis_matrix
from relay2relax.relay_ir.ir.expr import Expr

_METHODS = {"nearest": "nearest_neighbor", "linear": "linear", "cubic": "cubic", "bilinear": "linear"}


def _resize(at: Conversion) -> Expr:
    x = at.arg(0)
    shape, rank = at.shape(x), at.rank(x)
    scales = at.known(1, "scales") if at.opset < 11 else at.known(2) if at.has(2) else None
    sizes = at.known(3) if at.opset >= 11 and at.has(3) else None
    if scales is not None and not scales.size:
        scales = None
    if scales is None and (sizes is None or not sizes.size):
        at.refuse("its sizes are computed")
    axes = [one % rank for one in at.attr("axes", range(rank))]
    factors, wanted = dict.fromkeys(range(rank), 1.0), list(shape)
    if scales is not None:
        for axis, scale in zip(axes, scales, strict=True):
            factors[axis], wanted[axis] = float(scale), int(np.floor(shape[axis] * float(scale)))
    elif sizes is None:
        at.refuse("neither its sizes nor its scales are known")
    else:
        for axis, size, factor in _sized(at, shape, axes, [int(one) for one in sizes]):
            factors[axis], wanted[axis] = factor, size
    how = at.attr("coordinate_transformation_mode", "half_pixel" if at.opset >= 11 else "asymmetric")
    mode = at.attr("mode", "nearest")
    rounding = at.attr("nearest_mode", "round_prefer_floor" if at.opset >= 11 else "floor") if mode == "nearest" else ""
    exact = all(wanted[axis] == shape[axis] * factor for axis, factor in factors.items())
    plain = wanted[:2] == list(shape[:2]) and rank in (3, 4, 5) and how in ("half_pixel", "align_corners", "asymmetric")
    if plain and exact and not at.attr("antialias", 0) and all(one > 0 for one in wanted):
        return resized(at, x, wanted[2:], mode, how, rounding)
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
        rounding_method=rounding, cubic_alpha=float(at.attr("cubic_coeff_a", -0.75)),
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
    if how == "half_pixel":
        rois = at.call("subtract", rois, at.like(0.5 / scale, rois))
        ends = [at.slice(rois, 1, 0, 2), at.slice(rois, 1, 2, 4)]
        rois = at.call("concatenate", at.tuple(ends), axis=1)
    size = (at.attr("output_height", 1), at.attr("output_width", 1))
    given = {"layout": "NCHW", "mode": at.attr("mode", "avg")}
    if how == "half_pixel" or given["mode"] == "max":
        at.refuse(f"its coordinates are {how}, its mode is {given['mode']}")
    ratio = at.attr("sampling_ratio", 0)
    regions = _regions(at, rois, at.arg(2))
    return at.call("vision.roi_align", x, regions, size, scale, sample_ratio=ratio or -1, **given)


def _roi_pool(at: Conversion) -> Expr:
    size, scale = tuple(at.wanted("pooled_shape")), float(at.attr("spatial_scale", 1.0))
    return at.call("vision.roi_pool", at.arg(0), at.arg(1), size, scale)


OPERATORS: dict[str, Convert | Mapping[int, Convert]] = {
    "Resize": _resize,
    "Upsample": _upsample,
    "GridSample": _grid_sample,
    "RoiAlign": _roi_align,
    "MaxRoiPool": _roi_pool,
}
