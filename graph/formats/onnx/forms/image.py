"""Images: changes of size, grids, regions."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

from relay2relax.core.dtype import is_float
from relay2relax.graph.formats.onnx.builder import Form, Site
from relay2relax.graph.formats.onnx.forms.convolution import to_order
from relay2relax.ops.image.grid_sample import GridSampleAttrs

_MODES = {"nearest_neighbor": "nearest", "linear": "linear", "cubic": "cubic"}
_COORDINATES = ("half_pixel", "align_corners", "asymmetric", "pytorch_half_pixel", "tf_half_pixel_for_nn")


def resize(at: Site, attrs: Any, data: str, *rest: str) -> str:
    """Resize the spatial axes; ``size`` is the result's."""
    rank = at.type().rank - 2
    order = "NC" + "DHW"[3 - rank :]
    dtype, how = at.type().dtype, attrs.coordinate_transformation_mode
    if how not in _COORDINATES or how == "tf_half_pixel_for_nn":
        at.refuse(f"of the coordinates {how}")
    if not is_float(dtype) or attrs.method not in _MODES:
        at.refuse(f"of {dtype} by the method {attrs.method}")
    shape = at.result.shape
    extents = at.extents([shape[attrs.layout.index(letter)] for letter in order])
    given: dict[str, Any] = {"mode": _MODES[attrs.method], "coordinate_transformation_mode": how}
    if given["mode"] == "nearest":
        given["nearest_mode"] = _rounding(at, attrs)
    if given["mode"] == "cubic":
        given |= {"cubic_coeff_a": float(attrs.cubic_alpha), "exclude_outside": int(attrs.cubic_exclude)}
    made = at.node("Resize", to_order(at, data, attrs.layout, order), "", "", extents, **given)
    return at.cast(to_order(at, made, order, attrs.layout), dtype, at.result.dtype)


def _rounding(at: Site, attrs: Any) -> str:
    """Return ONNX's word for how places are rounded. Relay's "round" takes halves to the even
    neighbour, which ONNX does not; where that matters, no word will do.
    """
    how, word = attrs.coordinate_transformation_mode, attrs.rounding_method
    word = word or ("round" if how == "align_corners" else "floor")
    if word != "round":
        return str(word)
    letters = [letter for letter in attrs.layout if letter in "DHW"]
    pairs = [
        at.static([one.shape[attrs.layout.index(letter)] for one in (at.type(), at.result)], "an extent")
        for letter in letters
    ]
    below = {int(place) % 2 for old, new in pairs for place in _halves(how, old, new)}
    if len(below) > 1:
        at.refuse("places halfway between two, which go to the even one")
    return "round_prefer_ceil" if 1 in below else "round_prefer_floor"


def _halves(how: str, old: int, new: int) -> list[Fraction]:
    """Return the places of an axis that lie halfway between two elements."""
    if how == "align_corners":
        places = [Fraction(place * (old - 1), new - 1) if new > 1 else Fraction(0) for place in range(new)]
    elif how == "asymmetric":
        places = [Fraction(place * old, new) for place in range(new)]
    else:
        places = [Fraction((2 * place + 1) * old, 2 * new) - Fraction(1, 2) for place in range(new)]
    return [place for place in places if place.denominator == 2 and place > 0]


def _as_first(at: Site, rois: str) -> tuple[str, str]:
    """Return the image that each region lies in, and the regions' corners."""
    first, corners = at.nodes("Split", 2, rois, at.ints([1, 4]), axis=1)
    places = at.cast(at.node("Reshape", first, at.ints([-1])), at.type(1).dtype, "int64")
    return places, corners


def roi_align(at: Site, attrs: Any, data: str, rois: str) -> str:
    places, corners = _as_first(at, rois)
    height, width = (int(one) for one in attrs.pooled_size)
    aligned = "half_pixel" if getattr(attrs, "aligned", False) else "output_half_pixel"
    made = at.node(
        "RoiAlign", to_order(at, data, attrs.layout, "NCHW"), corners, places, output_height=height,
        output_width=width, sampling_ratio=max(int(attrs.sample_ratio), 0), spatial_scale=float(attrs.spatial_scale),
        mode=attrs.mode, coordinate_transformation_mode=aligned,
    )  # fmt: skip
    if attrs.mode != "avg":
        at.refuse("of the largest sample: ONNX weighs before it compares")
    return to_order(at, made, "NCHW", attrs.layout)


def grid_sample(at: Site, attrs: GridSampleAttrs, data: str, grid: str) -> str:
    rank = at.type().rank - 2
    data = to_order(at, data, attrs.layout, "NC" + "DHW"[3 - rank :])
    mode = {"bilinear": "linear", "nearest": "nearest", "bicubic": "cubic"}[attrs.method]
    # Relay's grid has its two or three numbers in the second axis, ONNX's in the last.
    grid = at.node("Transpose", grid, perm=[0, *range(2, rank + 2), 1])
    return at.node(
        "GridSample", data, grid, mode=mode, padding_mode=attrs.padding_mode, align_corners=int(attrs.align_corners)
    )


FORMS: dict[str, Form] = {
    **{f"image.resize{rank}d": resize for rank in (1, 2, 3)},
    **{f"R.image.resize{rank}d": resize for rank in (2, 3)},
    "vision.roi_align": roi_align,
    "R.vision.roi_align": roi_align,
    "image.grid_sample": grid_sample,
    "R.image.grid_sample": grid_sample,
}
