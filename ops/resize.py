"""Resizing images: ``image.resize1d``, ``resize2d``, ``resize3d`` and ``dyn.image.resize2d``.

Every axis is resized on its own. Element ``x`` of the result lies at a place ``c`` of the source that the coordinate
transformation says; its value is that of the nearest element, or interpolated between the 2 (linear) or 4 (cubic)
around it. Places beyond the border count as the border. All of it is done in float32, as TVM does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype, of_array
from relay2relax.ops.attributes import Double, DType, FloatImmArray, InlineString, Int, OptionalIndexExprArray
from relay2relax.ops.layout import Layout, parse_layout
from relay2relax.ops.record import Emit, Expanded, OpDef, OpError, SameOp, Script, V
from relay2relax.ops.shapes import tensor
from relay2relax.ops.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.expr import FloatImm, IntImm, PrimExpr, Select, binary, cast, const, logical_and, maximum, minimum
from relay2relax.tir.extent import ANY, Extent, as_prim, is_any, static
from relay2relax.tir.intrinsics import call, min_value

SOURCE = "TVM 0.18 python/tvm/topi/image/resize.py"
RELAX_SOURCE = "TVM 0.27 src/relax/op/image/resize.cc"
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


@dataclass(frozen=True, slots=True)
class Resize1DAttrs:
    """``roi`` (start, end) is the part of the source that ``tf_crop_and_resize`` takes, in units of its extent."""

    size: OptionalIndexExprArray = None
    roi: FloatImmArray = None
    layout: InlineString = "NCW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    cubic_alpha: Double = -0.5
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Resize2DAttrs:
    """As of one dimension; ``roi`` is (start of H, of W, end of H, of W)."""

    size: OptionalIndexExprArray = None
    roi: FloatImmArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    cubic_alpha: Double = -0.5
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class Resize3DAttrs:
    """As of one dimension; ``roi`` is (start of W, of H, of D, end of W, of H, of D)."""

    size: OptionalIndexExprArray = None
    roi: FloatImmArray = None
    layout: InlineString = "NCDHW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    cubic_alpha: Double = -0.5
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class RelaxResize2DAttrs:
    """Relax's fields of ``image.resize2d``; the size is an argument."""

    roi: FloatImmArray = None
    layout: InlineString = "NCHW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = "round"
    cubic_alpha: Double = -0.75
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


@dataclass(frozen=True, slots=True)
class RelaxResize3DAttrs:
    """Relax's fields of ``image.resize3d``; the size is an argument."""

    roi: FloatImmArray = None
    layout: InlineString = "NCDHW"
    method: InlineString = "linear"
    coordinate_transformation_mode: InlineString = "half_pixel"
    rounding_method: InlineString = ""
    cubic_alpha: Double = -0.75
    cubic_exclude: Int = 0
    extrapolation_value: Double = 0.0
    out_dtype: DType = ""


# Names of the spatial axes by their number.
_SPATIAL = {1: "W", 2: "HW", 3: "DHW"}


def _spatial_axes(attrs: Any, data: TensorType, rank: int) -> tuple[int, ...]:
    """Return the positions of the axes that are resized."""
    layout: Layout = parse_layout(attrs.layout, "NC" + _SPATIAL[rank])
    if any(axis.factor and axis.letter in _SPATIAL[rank] for axis in layout.axes):
        raise OpError(f'an axis that is resized cannot be split; layout is "{attrs.layout}"')
    if data.rank != layout.rank:
        raise OpError(f"the data has {data.rank} dimensions, layout {attrs.layout} needs {layout.rank}", 0)
    return tuple(layout.position(letter) for letter in _SPATIAL[rank])


def _check(attrs: Any, rank: int) -> None:
    """Raise OpError for a method or mode that does not exist."""
    for value, known, what in (
        (attrs.method, METHODS, "method"),
        (attrs.coordinate_transformation_mode, TRANSFORMATIONS, "coordinate_transformation_mode"),
        (attrs.rounding_method, ROUNDINGS, "rounding_method"),
    ):
        if value not in known:
            raise OpError(f"{what} is {value!r}; it may be {', '.join(map(repr, known))}")


def resize_type(attrs: Any, data: Type, size: Sequence[Extent]) -> TensorType:
    """Return the data's type with the spatial extents ``size``."""
    x = tensor(data)
    axes = _spatial_axes(attrs, x, len(size))
    shape = list(x.shape)
    for axis, extent in zip(axes, size, strict=True):
        shape[axis] = extent
    return TensorType(tuple(shape), attrs.out_dtype or x.dtype)


def given_size(attrs: Any, rank: int) -> tuple[Extent, ...]:
    """Return the size among the attributes; raises OpError where it is missing or has another length."""
    if attrs.size is None or len(attrs.size) != rank:
        found = "null" if attrs.size is None else f"of length {len(attrs.size)}"
        raise OpError(f"size needs {rank} values, but is {found}")
    return tuple(attrs.size)


def region(attrs: Any, rank: int) -> list[tuple[float, float]]:
    """Return start and end of each spatial axis, 0 where none are given; raises OpError for another number of them."""
    if attrs.roi is None:
        return [(0.0, 0.0)] * rank
    if len(attrs.roi) != 2 * rank:
        raise OpError(f"roi needs {2 * rank} values, but has {len(attrs.roi)}")
    values = [float(one.value) for one in attrs.roi]
    # Three dimensions are listed from the last to the first.
    order = range(rank) if rank < 3 else reversed(range(rank))
    return [(values[axis], values[rank + axis]) for axis in order]


# Places. The same formulas serve numpy and tensor expressions: ``x`` is float32, ``n`` and ``m`` as well.


def coordinate(mode: str, x: Any, n: Any, m: Any, start: Any, end: Any, rounded: Callable[[Any], Any]) -> Any:
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


def _cubic(distance: Any, alpha: Any, choose: Callable[[Any, Any, Any], Any]) -> Any:
    """Return the weight of an element at a distance of at most 2."""
    square = distance * distance
    cube = square * distance
    near = (alpha + 2.0) * cube - (alpha + 3.0) * square + 1.0
    far = alpha * cube - (5.0 * alpha) * square + (8.0 * alpha) * distance - 4.0 * alpha
    return choose(distance <= 1.0, near, far)


def _check_extent(attrs: Any, n: int | None, m: int | None) -> None:
    if n == 0 and m != 0:
        raise OpError("an axis without elements has nothing to resize", 0)
    if m == 1 and attrs.coordinate_transformation_mode in ("align_corners", "tf_crop_and_resize"):
        raise OpError(f"{attrs.coordinate_transformation_mode} gives an extent of 1 no place: it divides by 0")


def _upscale(attrs: Any, n: int | None, m: int | None) -> int:
    """Return by how much an axis grows where its nearest elements are found by an integer division, else 0."""
    floors = attrs.coordinate_transformation_mode == "asymmetric" and attrs.rounding_method in ("", "floor")
    return m // n if floors and n and m and m % n == 0 else 0


# Values


def _numpy_places(attrs: Any, n: int, m: int, start: float, end: float) -> Any:
    _check_extent(attrs, n, m)
    mode, x = attrs.coordinate_transformation_mode, np.arange(m, dtype=np.float32)
    if mode == "pytorch_half_pixel" and m == 1:
        return np.zeros(m, np.float32)
    # Arrays: older versions of numpy take a float32 scalar and a Python number to float64.
    wide, narrow, first, last = (np.array([one], np.float32) for one in (n, m, start, end))
    return coordinate(mode, x, wide, narrow, first, last, lambda product: product)


def _numpy_nearest(attrs: Any, n: int, m: int, places: Any) -> Any:
    """Return the index of the nearest element for each place."""
    growth = _upscale(attrs, n, m)
    if growth:
        return np.arange(m) // growth
    low, half = np.floor(places), np.float32(0.5)
    match attrs.rounding_method:
        case "round" | "":
            found = low + (places - low >= half) if _rounds(attrs) else np.floor(places + np.float32(_EPSILON))
        case "round_prefer_floor":
            found = np.ceil(places - half)
        case "round_prefer_ceil":
            found = np.floor(places + half)
        case "floor":
            found = np.floor(places + np.float32(_EPSILON))
        case _:
            found = np.ceil(places - np.float32(_EPSILON))
    return np.clip(found.astype(np.int64), 0, n - 1)


def _rounds(attrs: Any) -> bool:
    """Whether nearest places are rounded where nothing else is said."""
    return bool(attrs.rounding_method == "round" or attrs.coordinate_transformation_mode == "align_corners")


def _numpy_axis(attrs: Any, x: Any, axis: int, places: Any) -> Any:
    """Return ``x`` (float32) interpolated at ``places`` of ``axis``."""
    n = x.shape[axis]
    low = np.floor(places)
    part = (places - low).astype(np.float32)
    first = low.astype(np.int64)
    along = (-1,) + (1,) * (x.ndim - axis - 1)

    def element(offset: int) -> Any:
        return np.take(x, np.clip(first + offset, 0, n - 1), axis=axis)

    if attrs.method == "linear":
        share = part.reshape(along)
        return element(0) * (np.float32(1) - share) + element(1) * share
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
    return terms[0] + terms[1] + terms[2] + terms[3]


def resize_numpy(attrs: Any, data: Array, size: Sequence[int], roi: Sequence[tuple[float, float]]) -> Array:
    """Return the resized image."""
    _check(attrs, len(size))
    axes = _spatial_axes(attrs, TensorType(data.shape, of_array(data)), len(size))
    extents = [data.shape[axis] for axis in axes]
    with np.errstate(all="ignore"):
        places = [_numpy_places(attrs, n, m, *ends) for n, m, ends in zip(extents, size, roi, strict=True)]
        value: Any = data
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
    """One axis: its position, both extents, and the places of its elements as a tensor of float32."""

    axis: int
    n: PrimExpr
    m: PrimExpr
    places: te.Tensor


def _rounded(product: PrimExpr) -> PrimExpr:
    """Return ``product``; a compiler that joins products and sums has to round it first, as numpy does."""
    return maximum(product, min_value("float32"))


def _line(attrs: Any, axis: int, n: PrimExpr, m: PrimExpr, start: PrimExpr, end: PrimExpr) -> _Line:
    _check_extent(attrs, static(n), static(m))
    mode = attrs.coordinate_transformation_mode

    def place(i: PrimExpr) -> PrimExpr:
        x, wide, narrow = cast("float32", i), cast("float32", n), cast("float32", m)
        found: PrimExpr = coordinate(mode, x, wide, narrow, start, end, _rounded)
        if mode != "pytorch_half_pixel" or (static(m) or 0) > 1:
            return found
        return Select(m > 1, found, const(0, "float32"))

    return _Line(axis, n, m, te.compute((m,), place, "place"))


def _nearest(attrs: Any, line: _Line) -> Callable[[PrimExpr], PrimExpr]:
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
                up = Select(c - low >= 0.5, low + 1.0, low)
                found: PrimExpr = up if _rounds(attrs) else down
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


def _interpolated(attrs: Any, x: te.Tensor, line: _Line) -> te.Tensor:
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
            found: PrimExpr = element(at, 0) * (1.0 - share) + element(at, 1) * share
            return found

        return _tensor(te.compute(shape, linear, "resized"))

    def weight(i: PrimExpr, tap: PrimExpr) -> PrimExpr:
        distance = call("abs", part[i] - cast("float32", tap - 1))
        found: PrimExpr = _cubic(distance, const(attrs.cubic_alpha, "float32"), Select)
        if not attrs.cubic_exclude:
            return found
        place = first[i] + tap - 1
        return Select(logical_and(place >= 0, place < line.n), found, const(0, "float32"))

    weights = _tensor(te.compute((line.m, 4), weight, "weight"))
    if attrs.cubic_exclude:
        raw = weights
        weights = _tensor(
            te.compute((line.m, 4), lambda i, k: raw[i, k] / (raw[i, 0] + raw[i, 1] + raw[i, 2] + raw[i, 3]), "share")
        )

    def cubic(*at: PrimExpr) -> PrimExpr:
        terms = [element(at, k - 1) * weights[at[axis], k] for k in range(4)]
        return terms[0] + terms[1] + terms[2] + terms[3]

    return _tensor(te.compute(shape, cubic, "resized"))


def _tensor(value: Any) -> te.Tensor:
    result: te.Tensor = value
    return result


def resize_compute(attrs: Any, out: TensorType, data: te.Tensor, roi: Sequence[tuple[PrimExpr, PrimExpr]]) -> te.Tensor:
    """Return tables of places for each axis, and the image interpolated axis by axis, the last one first."""
    rank = len(roi)
    _check(attrs, rank)
    axes = _spatial_axes(attrs, TensorType(data.shape, data.dtype), rank)
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

    return _tensor(te.compute(out.shape, element, "resized"))


def _passes(source: str, target: str) -> bool:
    """Whether values go through float32 unchanged on their way to a dtype."""
    exact = ("float32", "float16", "bfloat16", "int8", "uint8", "int16", "uint16", "bool")
    return source == target and source in exact


def _constants(roi: Sequence[tuple[float, float]]) -> list[tuple[PrimExpr, PrimExpr]]:
    return [(const(start, "float32"), const(end, "float32")) for start, end in roi]


# Relax


def _rounding(attrs: Any) -> str:
    """Return Relax's word for Relay's rounding: its "round" takes halves to the even neighbour."""
    if attrs.rounding_method in ("", "round"):
        return "round_prefer_ceil" if _rounds(attrs) else "floor"
    return str(attrs.rounding_method)


def _resize_relax(e: Emit[V], record: OpDef, name: str, attrs: Any, data: V, rank: int) -> V:
    """R.image has the size as an argument, and neither split layouts nor extents of 1 without a place."""
    layout = parse_layout(attrs.layout, "NC" + _SPATIAL[rank])
    if layout.is_split or tensor(e.type_of(data)).dtype != "float32":
        return e.as_tir(record, attrs, (data,))
    resized = e.call(
        name,
        data,
        e.shape(given_size(attrs, rank)),
        roi=attrs.roi,
        layout=attrs.layout,
        method=attrs.method,
        coordinate_transformation_mode=attrs.coordinate_transformation_mode,
        rounding_method=_rounding(attrs),
        cubic_alpha=attrs.cubic_alpha,
        cubic_exclude=attrs.cubic_exclude,
        extrapolation_value=attrs.extrapolation_value,
    )
    # TVM's own lowering forgets the dtype of the result.
    return e.call("astype", resized, dtype=attrs.out_dtype) if attrs.out_dtype not in ("", "float32") else resized


# Records


def _record(rank: int, attrs_class: type, relax_name: str | None) -> OpDef:
    """Return the record of ``image.resize<rank>d``."""

    def infer(attrs: Any, data: Type) -> TensorType:
        return resize_type(attrs, data, given_size(attrs, rank))

    def numpy(attrs: Any, data: Array) -> Array:
        size = [static(one) or 0 for one in given_size(attrs, rank)]
        return resize_numpy(attrs, data, size, region(attrs, rank))

    def compute(attrs: Any, out: TensorType, data: te.Tensor) -> te.Tensor:
        return resize_compute(attrs, out, data, _constants(region(attrs, rank)))

    def relax(e: Emit[V], attrs: Any, data: V) -> V:
        assert relax_name is not None
        return _resize_relax(e, record, relax_name, attrs, data, rank)

    record = OpDef(
        relay=f"image.resize{rank}d",
        doc=f"Resize the {rank} spatial {'axis' if rank == 1 else 'axes'} of an image.",
        source=SOURCE,
        inputs=("data",),
        attrs=attrs_class,
        attrs_key=f"relay.attrs.Resize{rank}DAttrs",
        infer=infer,
        numpy=numpy,
        compute=compute,
        relax=Expanded(relax) if relax_name else None,
    )
    return record


def _relax_record(rank: int, attrs_class: type) -> OpDef:
    """Return the record of ``R.image.resize<rank>d``."""
    return OpDef(
        doc=f"Resize the {rank} spatial axes of an image.",
        source=RELAX_SOURCE,
        inputs=("data", "size"),
        attrs=attrs_class,
        infer=resize_type,
        numpy=lambda attrs, data, size: resize_numpy(attrs, data, size, region(attrs, rank)),
        compute=lambda attrs, out, data, size: resize_compute(attrs, out, data, _constants(region(attrs, rank))),
        relax=SameOp(),
        script=Script(f"image.resize{rank}d"),
    )


def dyn_resize_type(attrs: Resize2DAttrs, data: Type, size: Type, roi: Type) -> TensorType:
    """Return the data's type with unknown height and width."""
    if tensor(size, 1).rank != 1:
        raise OpError("size is a tensor of two numbers", 1)
    return resize_type(attrs, data, (ANY, ANY))


def dyn_resize_numpy(attrs: Resize2DAttrs, data: Array, size: Array, roi: Array) -> Array:
    """Return the image in the size that the second input says, of the region that the third says."""
    ends = [(float(roi[axis]), float(roi[2 + axis])) if roi.size else (0.0, 0.0) for axis in range(2)]
    return resize_numpy(attrs, data, [int(one) for one in size], ends)


def dyn_resize_compute(attrs: Any, out: TensorType, data: te.Tensor, size: te.Tensor, roi: te.Tensor) -> te.Tensor:
    """Return the image in the size of ``out``."""
    if any(is_any(extent) for extent in out.shape):
        raise OpError("the size of the result is not known", 1)
    if attrs.coordinate_transformation_mode != "tf_crop_and_resize":
        return resize_compute(attrs, out, data, _constants([(0.0, 0.0)] * 2))
    ends = [(cast("float32", roi[axis]), cast("float32", roi[2 + axis])) for axis in range(2)]
    return resize_compute(attrs, out, data, ends)


resize1d = _record(1, Resize1DAttrs, None)
resize2d = _record(2, Resize2DAttrs, "image.resize2d")
resize3d = _record(3, Resize3DAttrs, "image.resize3d")


def dyn_resize_relax(e: Emit[V], attrs: Resize2DAttrs, data: V, size: V, roi: V) -> V:
    """A size that is a constant is like one among the attributes."""
    extents, region_ = e.constant_of(size), e.constant_of(roi)
    if extents is None or (region_ is None and attrs.coordinate_transformation_mode == "tf_crop_and_resize"):
        return e.as_tir(dyn_resize2d, attrs, (data, size, roi))
    values = () if region_ is None or region_.size != 4 else tuple(FloatImm(float(one), "float32") for one in region_)
    given = replace(attrs, size=tuple(int(one) for one in extents), roi=values or None)
    return _resize_relax(e, resize2d, "image.resize2d", given, data, 2)


dyn_resize2d = OpDef(
    relay="dyn.image.resize2d",
    doc="Resize height and width of an image to a size that is an input.",
    source=SOURCE,
    inputs=("data", "size", "roi"),
    attrs=Resize2DAttrs,
    attrs_key="relay.attrs.Resize2DAttrs",
    infer=dyn_resize_type,
    numpy=dyn_resize_numpy,
    compute=dyn_resize_compute,
    relax=Expanded(dyn_resize_relax),
)

OPS = (
    resize1d,
    resize2d,
    resize3d,
    dyn_resize2d,
    _relax_record(2, RelaxResize2DAttrs),
    _relax_record(3, RelaxResize3DAttrs),
)
