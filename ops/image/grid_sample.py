"""Sampling of images at points: ``image.grid_sample`` and the grids that ``image.affine_grid``
makes for it.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.interpolation import N
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.windows import integers
from relay2relax.ops.registry.attributes import Bool, InlineString, OptionalBool, OptionalIndexExprArray, String
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, as_prim, equal, static
from relay2relax.tir.ir.expr import PrimExpr, Select, cast, const, if_then_else, logical_and, maximum, minimum
from relay2relax.tir.ir.intrinsics import call

SOURCE = "TVM 0.18 python/tvm/topi/image"
RELAX_SOURCE = "TVM 0.27 src/relax/op/image/resize.cc"


@dataclass(frozen=True, slots=True)
class GridSampleAttrs:
    """``align_corners`` says that -1 and 1 are the centres of the border elements, not their outer
    edges.
    """

    method: String = "bilinear"
    layout: String = "NCHW"
    padding_mode: String = "zeros"
    align_corners: Bool = True


@dataclass(frozen=True, slots=True)
class RelaxGridSampleAttrs:
    """Relax's fields of ``image.grid_sample``, whose default is another."""

    method: InlineString = "bilinear"
    layout: InlineString = "NCHW"
    padding_mode: InlineString = "zeros"
    align_corners: Bool = False


@dataclass(frozen=True, slots=True)
class AffineGridAttrs:
    """``target_shape`` is (height, width)."""

    target_shape: OptionalIndexExprArray


@dataclass(frozen=True, slots=True)
class RelaxAffineGridAttrs:
    """Whether the outer points lie at -1 and 1; TVM 0.25 does not have the word and does so."""

    align_corners: OptionalBool = None


# grid_sample. Points are kept as (batch, spatial axis, *grid), the spatial axes in the order of the
# data's.

_CUBIC_ALPHA = -0.75


def grid_sample_type(attrs: GridSampleAttrs | RelaxGridSampleAttrs, data: Type, grid: Type) -> TensorType:
    """Return batch and channels of the data with the extents of the grid."""
    x, points = tensor(data), tensor(grid, 1)
    if attrs.layout not in ("NCHW", "NCDHW"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="layout", value=repr(attrs.layout), expected="'NCHW' or 'NCDHW'")
        )
    if x.rank != len(attrs.layout):
        raise OpError(
            mistake(operators.LAYOUT, what="the data", rank=x.rank, layout=attrs.layout, needed=len(attrs.layout)), 0
        )
    if points.rank != x.rank:
        raise OpError(
            mistake(operators.RANK, what="the grid", rank=points.rank, expected=f"{x.rank}, as the data has"), 1
        )
    return TensorType((*x.shape[:2], *points.shape[2:]), x.dtype)


def _check_sampling(attrs: GridSampleAttrs | RelaxGridSampleAttrs, rank: int, coordinates: int | None) -> None:
    """Raise OpError where nothing can be sampled, which Relay's types do not tell."""
    if coordinates not in (rank, None):
        raise OpError(
            f"a grid of shape (batch, {rank}, …) is expected, this has {coordinates} coordinates",
            1,
            kind=operators.SHAPE,
        )
    methods = ("bilinear", "nearest", "bicubic") if rank == 2 else ("bilinear", "nearest")
    if attrs.method not in methods:
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="method",
                value=repr(attrs.method),
                expected=f"one of {', '.join(map(repr, methods))} over {rank} axes",
            )
        )
    if attrs.padding_mode not in ("zeros", "border", "reflection"):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="padding_mode",
                value=repr(attrs.padding_mode),
                expected="'zeros', 'border' or 'reflection'",
            )
        )


def _unnormalised(attrs: GridSampleAttrs | RelaxGridSampleAttrs, point: N, extent: N) -> N:
    """Return the place that ``point`` (-1 … 1) means on an axis; for arrays and for expressions."""
    if attrs.align_corners:
        return (point + 1.0) * (extent - 1.0) / 2.0
    return (point + 1.0) * extent / 2.0 - 0.5


def _cubic_weights(part: N) -> list[N]:
    """Return the weights of the 4 elements around a place that lies ``part`` behind the second."""
    a = _CUBIC_ALPHA

    def near(d: N) -> N:
        return ((a + 2.0) * d - (a + 3.0)) * d * d + 1.0

    def far(d: N) -> N:
        return ((a * d - 5.0 * a) * d + 8.0 * a) * d - 4.0 * a

    return [far(part + 1.0), near(part), near(1.0 - part), far(2.0 - part)]


def _numpy_bounded(attrs: GridSampleAttrs | RelaxGridSampleAttrs, place: Numbers, extent: int) -> Numbers:
    """Return ``place`` (floating) moved inside as the padding mode says."""
    if attrs.padding_mode == "zeros":
        return place
    if attrs.padding_mode == "reflection":
        corner, size = (0.0, extent - 1) if attrs.align_corners else (-0.5, extent)
        distance = np.abs(corner - place)
        times = np.trunc(distance).astype(np.int64) // max(size, 1)
        extra = distance - (times * size).astype(place.dtype)
        turned = np.where(times % 2 == 0, extra + corner, size - extra + corner).astype(place.dtype)
        place = np.where((place >= corner) & (place <= size + corner), place, turned)
    lifted = np.where(place > 0, place, place.dtype.type(0))
    return np.where(lifted < extent - 1, lifted, place.dtype.type(extent - 1))


def grid_sample_numpy(attrs: Any, data: Array, grid: Array) -> Array:
    """Return the interpolated elements."""
    rank = data.ndim - 2
    _check_sampling(attrs, rank, grid.shape[1])
    extents = data.shape[2:]
    if 0 in extents:
        # All of it is padding.
        return np.zeros((*data.shape[:2], *grid.shape[2:]), data.dtype)
    batch = np.arange(data.shape[0]).reshape((-1, *[1] * rank))
    x: Any = np.moveaxis(data, 1, -1)

    def element(*indices: Any) -> Any:
        """Return the elements (batch, *grid, channel); zero outside of the data."""
        inside = np.ones(indices[0].shape, np.bool_)
        clipped = []
        for index, extent in zip(indices, extents, strict=True):
            inside &= (index >= 0) & (index < extent)
            clipped.append(np.clip(index, 0, extent - 1))
        place = (batch, *clipped)
        return np.asarray(np.where(inside[..., None], x[place], data.dtype.type(0)))

    with np.errstate(all="ignore"):
        # The grid names the last axis first.
        points: list[Any] = [grid[:, rank - 1 - axis] for axis in range(rank)]
        kind = grid.dtype if grid.dtype.kind == "f" else np.dtype(np.float32)
        wide = [np.array([extent], kind) for extent in extents]
        places = [_unnormalised(attrs, point, extent) for point, extent in zip(points, wide, strict=True)]
        if attrs.method == "bicubic":
            return _numpy_bicubic(attrs, places, extents, element, data)
        places = [_numpy_bounded(attrs, place, extent) for place, extent in zip(places, extents, strict=True)]
        if attrs.method == "nearest":
            value = element(*(np.rint(place).astype(np.int64) for place in places))
        else:
            first = [np.floor(place).astype(np.int64) for place in places]
            part = [place - low for place, low in zip(places, first, strict=True)]
            value = 0
            for corner in itertools.product((0, 1), repeat=rank):
                weight: Any = 1
                for side, share in zip(corner, part, strict=True):
                    weight = weight * (share if side else 1.0 - share)
                indices = [low + side for low, side in zip(first, corner, strict=True)]
                value = value + element(*indices).astype(kind) * weight.astype(kind)[..., None]
    return np.moveaxis(np.asarray(value, data.dtype), -1, 1)


def _numpy_bicubic(attrs: Any, places: list[Any], extents: Sequence[int], element: Any, data: Array) -> Array:
    first = [np.floor(place) for place in places]
    rows, columns = (_cubic_weights(place - low) for place, low in zip(places, first, strict=True))
    value: Any = 0
    for i, row in enumerate(rows):
        line: Any = 0
        y = _numpy_bounded(attrs, first[0] + (i - 1), extents[0]).astype(np.int64)
        for j, column in enumerate(columns):
            x = _numpy_bounded(attrs, first[1] + (j - 1), extents[1]).astype(np.int64)
            line = line + element(y, x).astype(column.dtype) * column[..., None]
        value = value + line * row[..., None]
    return np.moveaxis(np.asarray(value, data.dtype), -1, 1)


def _bounded(attrs: GridSampleAttrs | RelaxGridSampleAttrs, place: PrimExpr, extent: PrimExpr) -> PrimExpr:
    """Return ``place`` (floating) moved inside as the padding mode says."""
    if attrs.padding_mode == "zeros":
        return place
    dtype = place.dtype
    if attrs.padding_mode == "reflection":
        corner = 0.0 if attrs.align_corners else -0.5
        size = extent - 1 if attrs.align_corners else extent
        wide = cast(dtype, size)
        distance = call("fabs", const(corner, dtype) - place)
        times = cast("int64", call("trunc", distance)) // maximum(size, 1)
        extra = distance - cast(dtype, times * size)
        turned = Select((times % 2).equal(0), extra + corner, wide - extra + corner)
        place = Select(logical_and(place >= corner, place <= wide + corner), place, turned)
    return minimum(maximum(place, 0.0), cast(dtype, extent - 1))


def _corner_weight(corner: Sequence[int], part: Sequence[PrimExpr]) -> PrimExpr:
    """Return the weight of a neighbour in linear interpolation; ``corner`` says on which side of
    each axis it lies, ``part`` how far the point is from the lower side.
    """
    shares = [share if side else 1.0 - share for side, share in zip(corner, part, strict=True)]
    weight = shares[0]
    for share in shares[1:]:
        weight = weight * share
    return weight


def grid_sample_compute(
    attrs: GridSampleAttrs | RelaxGridSampleAttrs, out: TensorType, data: te.Tensor, grid: te.Tensor
) -> te.Tensor:
    """Return the places of all points, once for all channels, then the interpolated elements."""
    rank = data.rank - 2
    _check_sampling(attrs, rank, static(grid.shape[1]))
    extents = data.shape[2:]
    if any(static(extent) == 0 for extent in extents):
        # All of it is padding, and there is nothing that a guarded load could name.
        return te.compute(out.shape, lambda *_: const(0, out.dtype), "grid_sample")
    kind = grid.dtype if is_float(grid.dtype) else "float32"
    points = grid.shape[2:]

    def place(batch: PrimExpr, axis: int, at: Sequence[PrimExpr]) -> PrimExpr:
        point = cast(kind, grid(batch, rank - 1 - axis, *at))
        found: PrimExpr = _unnormalised(attrs, point, cast(kind, extents[axis]))
        return found if attrs.method == "bicubic" else _bounded(attrs, found, extents[axis])

    places: list[te.Tensor] = [
        te.compute((grid.shape[0], *points), lambda n, *at, axis=axis: place(n, axis, at), f"place_{axis}")
        for axis in range(rank)
    ]

    def element(n: PrimExpr, c: PrimExpr, indices: Sequence[PrimExpr]) -> PrimExpr:
        inside = [test for index, extent in zip(indices, extents, strict=True) for test in (index >= 0, index < extent)]
        return if_then_else(logical_and(*inside), data(n, c, *indices), const(0, data.dtype))

    def nearest(n: PrimExpr, c: PrimExpr, *at: PrimExpr) -> PrimExpr:
        return element(n, c, [cast("int64", call("nearbyint", one(n, *at))) for one in places])

    def linear(n: PrimExpr, c: PrimExpr, *at: PrimExpr) -> PrimExpr:
        found = [one(n, *at) for one in places]
        low = [call("floor", one) for one in found]
        part = [one - first for one, first in zip(found, low, strict=True)]
        total: PrimExpr | None = None
        for corner in itertools.product((0, 1), repeat=rank):
            term = cast(kind, element(n, c, [cast("int64", one) + side for one, side in zip(low, corner, strict=True)]))
            weighted = term * _corner_weight(corner, part)
            total = weighted if total is None else total + weighted
        assert total is not None
        return cast(out.dtype, total)

    def bicubic(n: PrimExpr, c: PrimExpr, *at: PrimExpr) -> PrimExpr:
        found = [one(n, *at) for one in places]
        low = [call("floor", one) for one in found]
        rows, columns = (_cubic_weights(one - first) for one, first in zip(found, low, strict=True))

        def tap(axis: int, offset: int) -> PrimExpr:
            return cast("int64", _bounded(attrs, low[axis] + float(offset), extents[axis]))

        def line(i: int) -> PrimExpr:
            y = tap(0, i - 1)
            terms: list[PrimExpr] = [cast(kind, element(n, c, (y, tap(1, j - 1)))) * columns[j] for j in range(4)]
            return terms[0] + terms[1] + terms[2] + terms[3]

        lines = [line(i) * rows[i] for i in range(4)]
        return cast(out.dtype, lines[0] + lines[1] + lines[2] + lines[3])

    method = {"nearest": nearest, "bilinear": linear, "bicubic": bicubic}[attrs.method]
    return te.compute(out.shape, method, "grid_sample")


def grid_sample_relax(e: Emit[V], attrs: GridSampleAttrs, data: V, grid: V) -> V:
    """R.image.grid_sample is another operator in TVM 0.25, which wants the coordinates along the
    last axis.
    """
    return e.as_tir(grid_sample, attrs, (data, grid), "TVM 0.25 wants the coordinates of R.image.grid_sample last")


# affine_grid

# The last point lies a little before 1, so that no rounding takes it over the border.
_SPAN = 2.0 - 1e-7


def affine_grid_type(attrs: AffineGridAttrs, data: Type) -> TensorType:
    """Return (batch, 2, height, width)."""
    if attrs.target_shape is None or len(attrs.target_shape) != 2:
        raise OpError("target_shape needs 2 values", kind=operators.ATTRIBUTE)
    return affine_type(tensor(data), attrs.target_shape)


def affine_type(x: TensorType, size: Sequence[Extent]) -> TensorType:
    """Return (batch, coordinate, *size) of a batch of matrices; ``size`` has 2 or 3 extents."""
    rank = len(size)
    if rank not in (2, 3):
        raise OpError(mistake(operators.RANK, what="the grid", rank=rank, expected="2 or 3"), 1)
    if x.rank != 3 or equal(x.shape[1], rank) is False or equal(x.shape[2], rank + 1) is False:
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the tensor of matrices",
                shape=show(x.shape),
                expected=f"(batch, {rank}, {rank + 1})",
            ),
            0,
        )
    return TensorType((x.shape[0], rank, *size), x.dtype)


def _needs_steps(size: Sequence[Extent], corners: bool) -> None:
    if corners and any((static(one) or 2) < 2 for one in size):
        raise OpError(f"a grid of {list(size)} points has no step from -1 to 1")


def affine_grid_numpy(data: Array, size: Sequence[int], corners: bool = True) -> Array:
    """Return the coordinates of every point, x first.

    ``corners``: the outer points lie at -1 and 1.
    """
    _needs_steps(size, corners)
    kind, rank = data.dtype.type, len(size)
    # One matrix for each coordinate of the result, and a column of it for each axis of the grid.
    columns = data.reshape(*data.shape, *(1,) * rank)
    total = columns[:, :, rank]
    for axis, n in enumerate(size):
        step, start = (_SPAN / (n - 1), -1.0) if corners else (2.0 / n, 1.0 / n - 1.0)
        line = (np.arange(n).astype(data.dtype) * kind(step) + kind(start)).reshape(-1, *(1,) * (rank - 1 - axis))
        total = total + columns[:, :, rank - 1 - axis] * line
    return np.asarray(total, data.dtype)


def affine_grid_compute(out: TensorType, data: te.Tensor, corners: bool = True) -> te.Tensor:
    """Return the matrix applied to each point of the regular grid."""
    size = out.shape[2:]
    rank = len(size)
    _needs_steps(size, corners)

    def coordinate(i: PrimExpr, extent: Extent) -> PrimExpr:
        known = static(extent)
        wide = cast("float64", as_prim(extent))
        if corners:
            step = const(_SPAN, "float64") / (wide - 1.0) if known is None else const(_SPAN / (known - 1), data.dtype)
            return cast(data.dtype, i) * cast(data.dtype, step) - 1.0
        if known is not None:
            return cast(data.dtype, i) * const(2.0 / known, data.dtype) + const(1.0 / known - 1.0, data.dtype)
        start = const(1.0, "float64") / wide - 1.0
        return cast(data.dtype, i) * cast(data.dtype, const(2.0, "float64") / wide) + cast(data.dtype, start)

    def element(n: PrimExpr, row: PrimExpr, *at: PrimExpr) -> PrimExpr:
        total: PrimExpr = data[n, row, rank]
        for axis, index in enumerate(at):
            total = total + data[n, row, rank - 1 - axis] * coordinate(index, size[axis])
        return total

    return te.compute(out.shape, element, "affine_grid")


def _target(attrs: AffineGridAttrs) -> tuple[int, ...]:
    return integers(attrs.target_shape or (), "target_shape")


# Records

grid_sample = OpDef(
    relay="image.grid_sample",
    doc="Elements of an image at points between -1 and 1 that a grid lists, interpolated.",
    source=f"{SOURCE}/grid_sample.py",
    inputs=("data", "grid"),
    attrs=GridSampleAttrs,
    infer=grid_sample_type,
    numpy=grid_sample_numpy,
    compute=grid_sample_compute,
    relax=Expanded(grid_sample_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

relax_grid_sample = OpDef(
    doc="Elements of an image at points between -1 and 1 that a grid lists, interpolated.",
    source=RELAX_SOURCE,
    inputs=("data", "grid"),
    attrs=RelaxGridSampleAttrs,
    infer=grid_sample_type,
    numpy=grid_sample_numpy,
    compute=grid_sample_compute,
    relax=SameOp(),
    script=Script(
        "image.grid_sample",
        "data, grid, method='bilinear', layout='NCHW', padding_mode='zeros', align_corners=False",
        since="0.23",
    ),
)

affine_grid = OpDef(
    relay="image.affine_grid",
    doc="The points of a regular grid between -1 and 1, moved by a matrix for each image.",
    source=f"{SOURCE}/grid_sample.py",
    inputs=("data",),
    attrs=AffineGridAttrs,
    infer=affine_grid_type,
    numpy=lambda attrs, data: affine_grid_numpy(data, _target(attrs)),
    compute=lambda attrs, out, data: affine_grid_compute(out, data),
    relax=Expanded(lambda e, attrs, data: e.call("image.affine_grid", data, e.shape(attrs.target_shape))),
    fusion=Fusion(OpPattern.INJECTIVE),
)

relax_affine_grid = OpDef(
    doc="The points of a regular grid between -1 and 1, moved by a matrix for each image.",
    source=RELAX_SOURCE,
    inputs=("data", "size"),
    attrs=RelaxAffineGridAttrs,
    infer=lambda attrs, data, size: affine_type(tensor(data), size),
    numpy=lambda attrs, data, size: affine_grid_numpy(data, size, attrs.align_corners is not False),
    compute=lambda attrs, out, data, size: affine_grid_compute(out, data, attrs.align_corners is not False),
    relax=SameOp(),
    script=Script("image.affine_grid", "data, size, align_corners=None", since="0.24"),
)

OPS = (grid_sample, relax_grid_sample, affine_grid, relax_affine_grid)
