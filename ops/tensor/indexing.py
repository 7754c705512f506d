"""Operators that pick: take, slices.

Results have the dtype of the data. ``numpy`` returns views where it can. Source of the semantics:
TVM 0.18, ``src/relay/op/tensor/transform.cc`` and ``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_int
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import dtype_of
from relay2relax.ops.common.reshape_rules import reshaped_index
from relay2relax.ops.common.shapes import check_float, normal_axes, normal_axis, tensor
from relay2relax.ops.common.slicing import AxisSlice, axis_slices
from relay2relax.ops.registry.attributes import (
    IndexExprArray,
    Integer,
    IntegerArray,
    OptionalIndexExprArray,
    OptionalInteger,
    OptionalIntegerArray,
    String,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor.create import static_shape
from relay2relax.ops.tensor.transform import moved
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import (
    Extent,
    Shape,
    add,
    as_prim,
    ask,
    is_any,
    mul,
    product,
    static,
    sub,
)
from relay2relax.tir.ir.expr import IntImm, PrimExpr, binary, cast, const, if_then_else, logical_and, maximum, minimum

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"


# Attribute classes


@dataclass(frozen=True, slots=True)
class TakeAttrs:
    """The axis that is indexed (None: the flattened tensor), the leading axes that both inputs
    share, and the mode.
    """

    batch_dims: Integer = 0
    axis: OptionalInteger = None
    mode: String = "clip"


@dataclass(frozen=True, slots=True)
class RelaxTakeAttrs:
    """The axis that is indexed, and the mode."""

    axis: OptionalInteger = None
    mode: String = "fast"


@dataclass(frozen=True, slots=True, kw_only=True)
class StridedSliceAttrs:
    """Places per axis, see ``slicing.axis_slices``."""

    begin: OptionalIndexExprArray
    end: OptionalIndexExprArray
    strides: OptionalIndexExprArray
    slice_mode: String = "end"
    axes: OptionalIntegerArray


@dataclass(frozen=True, slots=True)
class RelaxStridedSliceAttrs:
    """Places per listed axis."""

    axes: IntegerArray
    begin: IndexExprArray
    end: IndexExprArray
    strides: OptionalIndexExprArray = None


@dataclass(frozen=True, slots=True)
class SliceLikeAttrs:
    """The axes that are cut; None or none: the leading ones that both tensors have."""

    axes: OptionalIntegerArray


# take


def _take_axis(attrs: Any, data_rank: int, indices_rank: int) -> tuple[int, int]:
    """Return the axis that is indexed and the number of leading axes that both inputs share."""
    if attrs.mode not in ("clip", "wrap", "fast", "nan"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="mode", value=repr(attrs.mode), expected="'clip', 'wrap' or 'fast'")
        )
    axis = normal_axis(attrs.axis, data_rank)
    batch = getattr(attrs, "batch_dims", 0)
    batch = batch + indices_rank if batch < 0 else batch
    if not 0 <= batch <= min(axis, indices_rank):
        raise OpError(
            f"batch_dims {attrs.batch_dims} does not fit axis {axis} and indices of rank {indices_rank}",
            1,
            kind=operators.RANK,
        )
    return axis, batch


def take_type(attrs: Any, data: Type, indices: Type) -> Type:
    """Return the shape of ``data`` with the indexed axis replaced by the shape of ``indices``."""
    found, places = tensor(data), tensor(indices, 1)
    if attrs.axis is None:
        return TensorType(places.shape, found.dtype)
    axis, batch = _take_axis(attrs, found.rank, places.rank)
    return TensorType((*found.shape[:axis], *places.shape[batch:], *found.shape[axis + 1 :]), found.dtype)


def take_relay_type(attrs: Any, data: Type, indices: Type) -> Type:
    """Return the type.

    TVM also infers one for the axis after the last, where there is nothing to pick from.
    """
    found, places = tensor(data), tensor(indices, 1)
    if not (is_int(places.dtype) or places.dtype == "bool"):
        raise OpError(mistake(operators.DTYPE, what="the tensor of places", dtype=places.dtype, expected="integers"), 1)
    if attrs.axis != found.rank or getattr(attrs, "batch_dims", 0):
        return take_type(attrs, data, indices)
    return TensorType((*found.shape, *places.shape), found.dtype)


def relax_take_type(attrs: RelaxTakeAttrs, data: Type, indices: Type) -> Type:
    """Return the type; the axis may be left out where there is one only."""
    found, places = tensor(data), tensor(indices, 1)
    if not is_int(places.dtype):
        raise OpError(mistake(operators.DTYPE, what="the tensor of places", dtype=places.dtype, expected="integers"), 1)
    if attrs.axis is None and found.rank != 1:
        raise OpError(f"data of rank {found.rank} is indexed along an axis, none is given", 0, kind=operators.RANK)
    if attrs.mode == "nan":
        check_float("mode nan of take", found.dtype)
    return take_type(attrs, data, indices)


def _take_nan(attrs: RelaxTakeAttrs | TakeAttrs, data: Array, indices: Numbers) -> Array:
    axis = normal_axis(attrs.axis or 0, data.ndim)
    extent = data.shape[axis]
    outside = (indices < 0) | (indices >= extent)
    taken = np.take(data, np.where(outside, 0, indices), axis=axis) if extent else np.zeros((), data.dtype)
    mask = outside.reshape((*indices.shape, *(1,) * (data.ndim - axis - 1)))
    return np.asarray(np.where(mask, np.array(np.nan, data.dtype), taken), data.dtype)


def take_numpy(attrs: RelaxTakeAttrs | TakeAttrs, data: Array, indices: Numbers) -> Array:
    """Return the chosen elements.

    ``clip`` and ``fast`` move a place outside to the border, ``wrap`` counts on.
    """
    mode: Literal["wrap", "clip"] = "wrap" if attrs.mode == "wrap" else "clip"
    if attrs.mode == "nan":
        return _take_nan(attrs, data, indices)
    if indices.dtype.kind not in "iu":
        indices = indices.astype(np.int64)
    if attrs.axis is None:
        return np.asarray(np.take(data.reshape(-1), indices, mode=mode))
    axis, batch = _take_axis(attrs, data.ndim, indices.ndim)
    if not batch:
        return np.asarray(np.take(data, indices, axis=axis, mode=mode))
    extent = data.shape[axis]
    places = np.mod(indices, extent) if mode == "wrap" else np.clip(indices, 0, extent - 1)
    count = int(np.prod(data.shape[:batch]))
    rows = data.reshape(count, *data.shape[batch:])
    # The batch and the taken places are indexed together; what lies between them comes after both,
    # and is moved back.
    rows = np.moveaxis(rows, axis - batch + 1, 1)
    taken = rows[np.arange(count)[:, None], places.reshape(count, int(np.prod(indices.shape[batch:])))]
    taken = np.moveaxis(taken, 1, axis - batch + 1)
    return np.asarray(taken.reshape((*data.shape[:axis], *indices.shape[batch:], *data.shape[axis + 1 :])))


def take_compute(attrs: RelaxTakeAttrs | TakeAttrs, out: TensorType, data: te.Tensor, indices: te.Tensor) -> te.Tensor:
    """Return each element from the place that its index names.

    Places outside are moved in, also in mode ``fast``.
    """

    def inside(place: PrimExpr, extent: Extent) -> PrimExpr:
        place = cast("int64", place)
        if attrs.mode == "wrap":
            return place % as_prim(extent)
        return maximum(minimum(place, as_prim(sub(extent, 1))), IntImm(0))

    if attrs.mode == "nan":
        return _take_nan_compute(attrs, out, data, indices)
    if attrs.axis is None:
        size = product(data.shape)

        def flat(*i: PrimExpr) -> tuple[PrimExpr, ...]:
            return reshaped_index(data.shape, (size,), (inside(indices[i], size),))

        return moved(out, data, flat, "take")
    axis, batch = _take_axis(attrs, data.rank, indices.rank)
    count = indices.rank - batch

    def place(*i: PrimExpr) -> tuple[PrimExpr, ...]:
        chosen = (*i[:batch], *i[axis : axis + count])
        return (*i[:axis], inside(indices[chosen], data.shape[axis]), *i[axis + count :])

    return moved(out, data, place, "take")


def _take_nan_compute(
    attrs: RelaxTakeAttrs | TakeAttrs, out: TensorType, data: te.Tensor, indices: te.Tensor
) -> te.Tensor:
    axis = normal_axis(attrs.axis or 0, data.rank)
    end = axis + indices.rank

    def element(*i: PrimExpr) -> PrimExpr:
        place = cast("int64", indices[i[axis:end]])
        known = logical_and(place >= 0, place < as_prim(data.shape[axis]))
        at = (*i[:axis], place, *i[end:])
        return if_then_else(known, data[at], const(float("nan"), data.dtype))

    return te.compute(out.shape, element, name="T_take")


def take_relax(e: Emit[V], attrs: TakeAttrs, data: V, indices: V) -> V:
    """R.take has no batch axes, needs an axis, takes no truth values, and its default mode is
    another.
    """
    found, places = tensor(e.type_of(data)), tensor(e.type_of(indices), 1)
    if places.dtype == "bool":
        indices = e.call("astype", indices, dtype="int32")
    if attrs.axis is None:
        flat = data if found.rank == 1 else e.call("reshape", data, e.shape((product(found.shape),)))
        return e.call("take", flat, indices, axis=0, mode=attrs.mode)
    axis, batch = _take_axis(attrs, found.rank, places.rank)
    if batch:
        return e.as_tir(take, attrs, (data, indices), "R.take has no batch axes")
    return e.call("take", data, indices, axis=axis, mode=attrs.mode)


# Slices


def _slices(attrs: RelaxStridedSliceAttrs | StridedSliceAttrs, shape: Shape) -> tuple[AxisSlice, ...]:
    """Return what is taken of each sliced axis of a tensor of ``shape``."""
    if attrs.begin is None or attrs.end is None:
        raise OpError("begin or end is null; a slice with computed places is dyn.strided_slice", 0)
    mode = getattr(attrs, "slice_mode", "end")
    return axis_slices(shape, attrs.begin, attrs.end, attrs.strides or (), attrs.axes, mode)


def strided_slice_type(attrs: Any, data: Type) -> Type:
    """Return the shape with the length of each slice in the place of its axis."""
    found = tensor(data)
    shape = list(found.shape)
    for one in _slices(attrs, found.shape):
        shape[one.axis] = one.length
    return TensorType(tuple(shape), found.dtype)


def relax_strided_slice_type(attrs: RelaxStridedSliceAttrs, data: Type) -> Type:
    """Return the type.

    Relax wants a begin, an end and, where there are any, a stride for each listed axis.
    """
    for name in ("begin", "end", "strides"):
        given = getattr(attrs, name)
        if given is not None and len(given) != len(attrs.axes):
            raise OpError(f"{name} has {len(given)} entries for {len(attrs.axes)} axes", 0, kind=operators.AXIS)
    return strided_slice_type(attrs, data)


def strided_slice_numpy(attrs: RelaxStridedSliceAttrs | StridedSliceAttrs, data: Array) -> Array:
    """Return a view."""
    places = [slice(None)] * data.ndim
    for one in _slices(attrs, data.shape):
        begin, length = static_shape((one.begin, one.length))
        end = begin + length * one.stride
        # Before the first element, which Python writes as None.
        places[one.axis] = slice(begin, None if end < 0 else end, one.stride) if length else slice(0, 0)
    return data[tuple(places)]


def strided_slice_compute(
    attrs: RelaxStridedSliceAttrs | StridedSliceAttrs, out: TensorType, data: te.Tensor
) -> te.Tensor:
    """Return each element from its place along the slices."""
    slices = {one.axis: one for one in _slices(attrs, data.shape)}

    def place(*i: PrimExpr) -> list[PrimExpr]:
        return [
            v * slices[axis].stride + as_prim(slices[axis].begin) if axis in slices else v for axis, v in enumerate(i)
        ]

    return moved(out, data, place, "strided_slice")


def strided_slice_relax(e: Emit[V], attrs: StridedSliceAttrs, data: V) -> V:
    """R.strided_slice lists axes, begins, ends and strides.

    All places are inside when they are written.
    """
    slices = _slices(attrs, tensor(e.type_of(data)).shape)
    if not slices:
        return data
    if any(one.stride < 0 and static(one.length) is None for one in slices):
        # The end before element 0 would have to be told from the last element when the program
        # runs.
        return e.as_tir(
            strided_slice, attrs, (data,), "R.strided_slice cannot end before element 0 of an axis of unknown length"
        )
    return e.call(
        "strided_slice",
        data,
        axes=tuple(one.axis for one in slices),
        begin=tuple(one.begin for one in slices),
        end=tuple(_end(one) for one in slices),
        strides=tuple(one.stride for one in slices),
    )


def _end(one: AxisSlice) -> Extent:
    """Return the end of a slice as R.strided_slice takes it: one that lies before element 0 is far
    negative.
    """
    end = add(one.begin, mul(one.length, one.stride))
    known = static(end)
    return -(2**31) + 1 if known is not None and known < 0 else end


def _liked_axes(attrs: SliceLikeAttrs, rank: int, like_rank: int) -> tuple[int, ...]:
    if attrs.axes:
        axes = normal_axes(attrs.axes, rank)
        if any(axis >= like_rank for axis in axes):
            raise OpError(
                f"axes {list(attrs.axes)} are not all in a tensor of rank {like_rank}", 1, kind=operators.RANK
            )
        return axes
    return tuple(range(min(rank, like_rank)))


def slice_like_type(attrs: SliceLikeAttrs, data: Type, shape_like: Type) -> Type:
    """Return the shape with the listed axes cut to the extents of the other."""
    found, like = tensor(data), tensor(shape_like, 1)
    shape = list(found.shape)
    for axis in _liked_axes(attrs, found.rank, like.rank):
        before, after = static(shape[axis]), static(like.shape[axis])
        if before is not None and after is not None and after > before:
            raise OpError(f"axis {axis} has extent {before}; it cannot be cut to {after}", 1, kind=operators.AXIS)
        if not is_any(shape[axis]) and not is_any(like.shape[axis]):
            ask(binary("<=", as_prim(like.shape[axis]), as_prim(shape[axis])))
        shape[axis] = like.shape[axis]
    return TensorType(tuple(shape), found.dtype)


def slice_like_numpy(attrs: SliceLikeAttrs, data: Array, shape_like: Array) -> Array:
    """Return a view of the beginning of each listed axis."""
    places = [slice(None)] * data.ndim
    for axis in _liked_axes(attrs, data.ndim, shape_like.ndim):
        places[axis] = slice(0, shape_like.shape[axis])
    return data[tuple(places)]


def slice_like_relax(e: Emit[V], attrs: SliceLikeAttrs, data: V, shape_like: V) -> V:
    """A slice from 0 to the other's extents."""
    found, like = tensor(e.type_of(data)), tensor(e.type_of(shape_like), 1)
    axes = _liked_axes(attrs, found.rank, like.rank)
    if not axes:
        return data
    ends = tuple(like.shape[axis] for axis in axes)
    ones = (1,) * len(axes)
    return e.call("strided_slice", data, axes=axes, begin=(0,) * len(axes), end=ends, strides=ones)


# Records

take = OpDef(
    relay="take",
    doc="Pick along an axis, or from the flattened tensor; a place outside is moved in (clip) or counted on (wrap).",
    source=f"{SOURCE}, take",
    inputs=("data", "indices"),
    attrs=TakeAttrs,
    infer=take_type,
    on_bad_values="A place outside is moved to the border, in mode wrap counted on, in mode nan not a number.",
    relay_type=take_relay_type,
    numpy=take_numpy,
    compute=take_compute,
    relax=Expanded(take_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
    precision=Precision.FOLLOW,
)

_FLAGS_AS_PLACES = Limit("apache-tvm takes places for integers", lambda attrs, types: dtype_of(types[1:]) == "bool")

relax_take = OpDef(
    doc="Pick along an axis.",
    source="TVM 0.27 src/relax/op/tensor/index.cc",
    inputs=("x", "indices"),
    attrs=RelaxTakeAttrs,
    infer=relax_take_type,
    on_bad_values="A place outside is moved to the border, in mode wrap counted on, in mode nan not a number.",
    numpy=take_numpy,
    compute=take_compute,
    relax=SameOp(),
    script=Script("take", "x, indices, axis=None, mode='fast'", limits=(_FLAGS_AS_PLACES,)),
    scalars=("indices",),
)

strided_slice = OpDef(
    relay="strided_slice",
    doc="Every ``stride``-th element from ``begin`` to ``end`` along each axis.",
    source=f"{SOURCE}, strided_slice",
    inputs=("data",),
    attrs=StridedSliceAttrs,
    infer=strided_slice_type,
    numpy=strided_slice_numpy,
    compute=strided_slice_compute,
    relax=Expanded(strided_slice_relax),
    layout=layout_rules.strided_slice,
    fusion=Fusion(OpPattern.INJECTIVE),
    precision=Precision.FOLLOW,
)

relax_strided_slice = OpDef(
    doc="Every ``stride``-th element from ``begin`` to ``end`` along the listed axes.",
    source="TVM 0.27 src/relax/op/tensor/index.cc",
    inputs=("x",),
    attrs=RelaxStridedSliceAttrs,
    infer=relax_strided_slice_type,
    numpy=strided_slice_numpy,
    compute=strided_slice_compute,
    relax=SameOp(),
    script=Script("strided_slice", "x, axes, begin, end, strides=None, assume_inbound=False"),
)

slice_like = OpDef(
    relay="slice_like",
    doc="The beginning of each axis, as long as that of the second input, whose values are ignored.",
    source=f"{SOURCE}, slice_like",
    inputs=("data", "shape_like"),
    attrs=SliceLikeAttrs,
    infer=slice_like_type,
    numpy=slice_like_numpy,
    compute=lambda attrs, out, data, shape_like: moved(out, data, lambda *i: i, "slice_like"),
    relax=Expanded(slice_like_relax),
    layout=layout_rules.slice_like,
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (take, relax_take, strided_slice, relax_strided_slice, slice_like)
