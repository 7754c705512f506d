"""How one axis after the other is resized: places in the source, the elements around them, and
their weights.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from relay2relax.core.dtype import Array, Numbers, numpy_dtype, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import Layout, parse_layout
from relay2relax.ops.registry.record import OpError
from relay2relax.ops.registry.types import TensorType
from relay2relax.tir import te
from relay2relax.tir.extent import as_prim, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, Select, binary, cast, const, logical_and, maximum, minimum
from relay2relax.tir.ir.intrinsics import call, min_value

METHODS = ("nearest_neighbor", "linear", "cubic")
TRANSFORMATIONS = (
    "half_pixel",
    "align_corners",
    "asymmetric",
    "pytorch_half_pixel",
    "tf_half_pixel_for_nn",
    "tf_crop_and_resize",
)
ROUNDINGS = ("", "round", "round_prefer_floor", "round_prefer_ceil", "floor", "ceil")
# What a sum of rounding errors may put below an integer.
_EPSILON = 1e-5

# Names of the spatial axes by their number.
SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


class Resizing(Protocol):
    """What the attributes of every resizing operator say."""

    @property
    def layout(self) -> str: ...
    @property
    def method(self) -> str: ...
    @property
    def coordinate_transformation_mode(self) -> str: ...
    @property
    def rounding_method(self) -> str: ...
    @property
    def cubic_alpha(self) -> float: ...
    @property
    def cubic_exclude(self) -> int: ...
    @property
    def extrapolation_value(self) -> float: ...
    @property
    def out_dtype(self) -> str: ...


# What coordinates are computed of: arrays, or elements of tensor programs.
N = TypeVar("N", Numbers, PrimExpr)


def spatial_axes(attrs: Resizing, data: TensorType, rank: int) -> tuple[int, ...]:
    """Return the positions of the axes that are resized."""
    layout: Layout = parse_layout(attrs.layout, "NC" + SPATIAL[rank])
    if any(axis.factor and axis.letter in SPATIAL[rank] for axis in layout.axes):
        raise OpError(f'an axis that is resized cannot be split; layout is "{attrs.layout}"', kind=operators.LAYOUT)
    if data.rank != layout.rank:
        raise OpError(
            mistake(operators.LAYOUT, what="the data", rank=data.rank, layout=attrs.layout, needed=layout.rank), 0
        )
    return tuple(layout.position(letter) for letter in SPATIAL[rank])


def _check(attrs: Resizing, rank: int) -> None:
    """Raise OpError for a method or mode that does not exist."""
    for value, known, what in (
        (attrs.method, METHODS, "method"),
        (attrs.coordinate_transformation_mode, TRANSFORMATIONS, "coordinate_transformation_mode"),
        (attrs.rounding_method, ROUNDINGS, "rounding_method"),
    ):
        if value not in known:
            raise OpError(
                mistake(
                    operators.ATTRIBUTE, name=what, value=repr(value), expected=f"one of {', '.join(map(repr, known))}"
                )
            )


# Places. The same formulas serve numpy and tensor expressions: ``x`` is float32, ``n`` and ``m`` as
# well.


def coordinate(mode: str, x: N, n: N, m: N, start: N, end: N, rounded: Callable[[N], N]) -> N:
    """Return the place of element ``x`` of ``m`` in a source of extent ``n``.

    ``rounded`` keeps a product as it is in float32, apart from the sum that it is part of.
    """
    match mode:
        case "align_corners":
            return rounded((n - 1.0) / (m - 1.0) * x)
        case "asymmetric":
            return rounded(n / m * x)
        case "tf_half_pixel_for_nn":
            return rounded((x + 0.5) * (n / m))
        case "tf_crop_and_resize":
            return rounded(start * (n - 1.0)) + rounded(x * (end - start) * (n - 1.0) / (m - 1.0))
    return rounded((x + 0.5) * (n / m)) - 0.5


def _cubic(distance: N, alpha: N, choose: Callable[[N, N, N], N]) -> N:
    """Return the weight of an element at a distance of at most 2."""
    square = distance * distance
    cube = square * distance
    near = (alpha + 2.0) * cube - (alpha + 3.0) * square + 1.0
    far = alpha * cube - (5.0 * alpha) * square + (8.0 * alpha) * distance - 4.0 * alpha
    return choose(distance <= 1.0, near, far)


def _check_extent(attrs: Resizing, n: int | None, m: int | None) -> None:
    if n == 0 and m != 0:
        raise OpError("an axis without elements has nothing to resize", 0, kind=operators.AXIS)
    if m == 1 and attrs.coordinate_transformation_mode in ("align_corners", "tf_crop_and_resize"):
        raise OpError(
            f"{attrs.coordinate_transformation_mode} gives an extent of 1 no place: it divides by 0",
            kind=operators.SHAPE,
        )


def _upscale(attrs: Resizing, n: int | None, m: int | None) -> int:
    """Return by how much an axis grows where its nearest elements are found by an integer division,
    else 0.
    """
    floors = attrs.coordinate_transformation_mode == "asymmetric" and attrs.rounding_method in ("", "floor")
    return m // n if floors and n and m and m % n == 0 else 0


# Values


def _numpy_places(attrs: Resizing, n: int, m: int, start: float, end: float) -> Numbers:
    _check_extent(attrs, n, m)
    mode, x = attrs.coordinate_transformation_mode, np.arange(m, dtype=np.float32)
    if mode == "pytorch_half_pixel" and m == 1:
        return np.zeros(m, np.float32)
    # Arrays: older versions of numpy take a float32 scalar and a Python number to float64.
    wide, narrow, first, last = (np.array([one], np.float32) for one in (n, m, start, end))
    return np.asarray(coordinate(mode, x, wide, narrow, first, last, lambda product: product))


def _numpy_nearest(attrs: Resizing, n: int, m: int, places: Numbers) -> Numbers:
    """Return the index of the nearest element for each place."""
    growth = _upscale(attrs, n, m)
    if growth:
        return np.arange(m) // growth
    low, half = np.floor(places), np.float32(0.5)
    match attrs.rounding_method:
        case "round" | "":
            nearest = np.rint(places) if halves_to_even(attrs) else low + (places - low >= half)
            found = nearest if rounds(attrs) else np.floor(places + np.float32(_EPSILON))
        case "round_prefer_floor":
            found = np.ceil(places - half)
        case "round_prefer_ceil":
            found = np.floor(places + half)
        case "floor":
            found = np.floor(places + np.float32(_EPSILON))
        case _:
            found = np.ceil(places - np.float32(_EPSILON))
    return np.clip(found.astype(np.int64), 0, n - 1)


def halves_to_even(attrs: Resizing) -> bool:
    """Whether places half way between two elements go to the even one, as R.image.resize2d has
    it.
    """
    return bool(getattr(attrs, "even", False))


def rounds(attrs: Resizing) -> bool:
    """Whether nearest places are rounded where nothing else is said."""
    return bool(attrs.rounding_method == "round" or attrs.coordinate_transformation_mode == "align_corners")


def _numpy_axis(attrs: Resizing, x: Numbers, axis: int, places: Numbers) -> Numbers:
    """Return ``x`` (float32) interpolated at ``places`` of ``axis``."""
    n = x.shape[axis]
    low = np.floor(places)
    part = (places - low).astype(np.float32)
    first = low.astype(np.int64)
    along = (-1,) + (1,) * (x.ndim - axis - 1)

    def element(offset: int) -> Numbers:
        return np.take(x, np.clip(first + offset, 0, n - 1), axis=axis)

    if attrs.method == "linear":
        share = part.reshape(along)
        return np.asarray(element(0) * (np.float32(1) - share) + element(1) * share)
    alpha = np.array([attrs.cubic_alpha], np.float32)
    weights = [_cubic(abs(part - np.float32(k)), alpha, np.where) for k in range(-1, 3)]
    if attrs.cubic_exclude:
        weights = [
            np.where((first + k >= 0) & (first + k < n), w, np.float32(0))
            for k, w in zip(range(-1, 3), weights, strict=True)
        ]
        whole = weights[0] + weights[1] + weights[2] + weights[3]
        weights = [w / whole for w in weights]
    terms = [element(k) * w.reshape(along) for k, w in zip(range(-1, 3), weights, strict=True)]
    return np.asarray(terms[0] + terms[1] + terms[2] + terms[3])


def resize_numpy(attrs: Resizing, data: Array, size: Sequence[int], roi: Sequence[tuple[float, float]]) -> Array:
    """Return the resized image."""
    _check(attrs, len(size))
    axes = spatial_axes(attrs, TensorType(data.shape, of_array(data)), len(size))
    extents = [data.shape[axis] for axis in axes]
    with np.errstate(all="ignore"):
        places = [_numpy_places(attrs, n, m, *ends) for n, m, ends in zip(extents, size, roi, strict=True)]
        value: Numbers = data
        if attrs.method == "nearest_neighbor":
            for axis, n, m, place in zip(axes, extents, size, places, strict=True):
                value = np.take(value, _numpy_nearest(attrs, n, m, place), axis=axis)
        value = value.astype(np.float32)
        if attrs.method != "nearest_neighbor":
            for axis, place in reversed(list(zip(axes, places, strict=True))):
                value = _numpy_axis(attrs, value, axis, place)
        if attrs.coordinate_transformation_mode == "tf_crop_and_resize":
            for axis, n, place in zip(axes, extents, places, strict=True):
                outside = ((place < 0) | (place > n - 1)).reshape((-1,) + (1,) * (data.ndim - axis - 1))
                value = np.where(outside, np.float32(attrs.extrapolation_value), value)
    return np.asarray(value, numpy_dtype(attrs.out_dtype or of_array(data)))


# Definitions


@dataclass(frozen=True, slots=True)
class _Line:
    """One axis: its position, both extents, and the places of its elements as a tensor of
    float32.
    """

    axis: int
    n: PrimExpr
    m: PrimExpr
    places: te.Tensor


def _rounded(product: PrimExpr) -> PrimExpr:
    """Return ``product``; a compiler that joins products and sums has to round it first, as numpy
    does.
    """
    return maximum(product, min_value("float32"))


def _line(attrs: Resizing, axis: int, n: PrimExpr, m: PrimExpr, start: PrimExpr, end: PrimExpr) -> _Line:
    _check_extent(attrs, static(n), static(m))
    mode = attrs.coordinate_transformation_mode

    def place(i: PrimExpr) -> PrimExpr:
        x, wide, narrow = cast("float32", i), cast("float32", n), cast("float32", m)
        found: PrimExpr = coordinate(mode, x, wide, narrow, start, end, _rounded)
        if mode != "pytorch_half_pixel" or (static(m) or 0) > 1:
            return found
        return Select(m > 1, found, const(0, "float32"))

    return _Line(axis, n, m, te.compute((m,), place, "place"))


def _nearest(attrs: Resizing, line: _Line) -> Callable[[PrimExpr], PrimExpr]:
    """Return the function from an index of the result to that of the source."""
    growth = _upscale(attrs, static(line.n), static(line.m))
    if growth:
        return lambda i: i // growth

    def index(i: PrimExpr) -> PrimExpr:
        c = line.places[i]
        down = call("floor", c + _EPSILON)
        match attrs.rounding_method:
            case "round" | "":
                low = call("floor", c)
                up = call("nearbyint", c) if halves_to_even(attrs) else Select(c - low >= 0.5, low + 1.0, low)
                found: PrimExpr = up if rounds(attrs) else down
            case "round_prefer_floor":
                found = call("ceil", c - 0.5)
            case "round_prefer_ceil":
                found = call("floor", c + 0.5)
            case "floor":
                found = down
            case _:
                found = call("ceil", c - _EPSILON)
        return _inside(cast("int64", found), line.n)

    table = te.compute((line.m,), index, "nearest")
    return lambda i: table[i]


def _inside(index: PrimExpr, extent: PrimExpr) -> PrimExpr:
    return maximum(minimum(index, extent - 1), IntImm(0, "int64"))


def _interpolated(attrs: Resizing, x: te.Tensor, line: _Line) -> te.Tensor:
    """Return ``x`` with one axis interpolated; in float32."""
    places, axis = line.places, line.axis
    first = te.compute((line.m,), lambda i: cast("int64", call("floor", places[i])), "first")
    part = te.compute((line.m,), lambda i: places[i] - cast("float32", first[i]), "part")
    shape = (*x.shape[:axis], line.m, *x.shape[axis + 1 :])

    def element(at: Sequence[PrimExpr], offset: int) -> PrimExpr:
        place = _inside(first[at[axis]] + offset, line.n)
        return cast("float32", x(*at[:axis], place, *at[axis + 1 :]))

    if attrs.method == "linear":

        def linear(*at: PrimExpr) -> PrimExpr:
            share = part[at[axis]]
            return element(at, 0) * (1.0 - share) + element(at, 1) * share

        return te.compute(shape, linear, "resized")

    def weight(i: PrimExpr, tap: PrimExpr) -> PrimExpr:
        distance = call("fabs", part[i] - cast("float32", tap - 1))
        found: PrimExpr = _cubic(distance, const(attrs.cubic_alpha, "float32"), Select)
        if not attrs.cubic_exclude:
            return found
        place = first[i] + tap - 1
        return Select(logical_and(place >= 0, place < line.n), found, const(0, "float32"))

    weights = te.compute((line.m, 4), weight, "weight")
    if attrs.cubic_exclude:
        raw = weights
        weights = te.compute(
            (line.m, 4), lambda i, k: raw[i, k] / (raw[i, 0] + raw[i, 1] + raw[i, 2] + raw[i, 3]), "share"
        )

    def cubic(*at: PrimExpr) -> PrimExpr:
        terms = [element(at, k - 1) * weights[at[axis], k] for k in range(4)]
        return terms[0] + terms[1] + terms[2] + terms[3]

    return te.compute(shape, cubic, "resized")


def resize_compute(
    attrs: Resizing, out: TensorType, data: te.Tensor, roi: Sequence[tuple[PrimExpr, PrimExpr]]
) -> te.Tensor:
    """Return tables of places for each axis, and the image interpolated axis by axis, the last one
    first.
    """
    rank = len(roi)
    _check(attrs, rank)
    axes = spatial_axes(attrs, TensorType(data.shape, data.dtype), rank)
    lines = [
        _line(attrs, axis, data.shape[axis], as_prim(out.shape[axis]), *ends)
        for axis, ends in zip(axes, roi, strict=True)
    ]
    if attrs.method == "nearest_neighbor":
        indices = {line.axis: _nearest(attrs, line) for line in lines}

        def value(*at: PrimExpr) -> PrimExpr:
            chosen = data(*(indices[axis](i) if axis in indices else i for axis, i in enumerate(at)))
            return cast("float32", chosen) if not _passes(data.dtype, out.dtype) else chosen

    else:
        x = data
        for line in reversed(lines):
            x = _interpolated(attrs, x, line)

        def value(*at: PrimExpr) -> PrimExpr:
            return x[at]

    outside = attrs.coordinate_transformation_mode == "tf_crop_and_resize"
    if not outside and attrs.method != "nearest_neighbor" and out.dtype == "float32":
        return x

    def element(*at: PrimExpr) -> PrimExpr:
        found = value(*at)
        for line in lines if outside else ():
            c = line.places[at[line.axis]]
            beyond = binary("or", c < 0.0, c > cast("float32", line.n - 1))
            found = Select(beyond, const(attrs.extrapolation_value, found.dtype), found)
        return cast(out.dtype, found)

    return te.compute(out.shape, element, "resized")


def _passes(source: str, target: str) -> bool:
    """Whether values go through float32 unchanged on their way to a dtype."""
    exact = ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "bool")
    return source == target and source in exact


def constants(roi: Sequence[tuple[float, float]]) -> list[tuple[PrimExpr, PrimExpr]]:
    """Return starts and ends as expressions."""
    return [(const(start, "float32"), const(end, "float32")) for start, end in roi]
