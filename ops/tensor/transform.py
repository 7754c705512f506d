"""Operators that give elements other places: reshape, transpose, squeeze, broadcast_to, tile and
their kin.

Results have the dtype of the data. ``numpy`` returns views where it can. Source of the semantics:
TVM 0.18, ``src/relay/op/tensor/transform.cc`` and ``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import OPEN
from relay2relax.ops.common.reshape_rules import new_shape, reshaped_index
from relay2relax.ops.common.shapes import (
    ask_equal,
    broadcast,
    check_squeezed,
    does_not_broadcast,
    no_new_axis,
    normal_axes,
    normal_axis,
    operand_indices,
    tensor,
)
from relay2relax.ops.registry.attributes import (
    Bool,
    IndexExprArray,
    Int,
    Integer,
    IntegerArray,
    NoAttrs,
    OptionalInteger,
    OptionalIntegerArray,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Script, Spread
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.tensor.create import InitOpAttrs, given_shape, static_shape
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Shape, as_prim, equal, is_symbolic, mul, product, static, sub
from relay2relax.tir.ir.expr import IntImm, PrimExpr

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"
RELAX_SOURCE = "TVM 0.27 src/relax/op/tensor/manipulate.cc"


# Attribute classes


@dataclass(frozen=True, slots=True)
class ReshapeAttrs:
    """The new shape with its codes (see ``reshaping.new_shape``)."""

    newshape: IndexExprArray
    allowzero: Bool = False


@dataclass(frozen=True, slots=True)
class ReshapeLikeAttrs:
    """The dimensions of the first input that are replaced by those of the second.

    None ends at the rank.
    """

    lhs_begin: Int = 0
    lhs_end: OptionalInteger = None
    rhs_begin: Int = 0
    rhs_end: OptionalInteger = None


@dataclass(frozen=True, slots=True)
class TransposeAttrs:
    """Where each dimension of the result comes from; None reverses them."""

    axes: OptionalIntegerArray


@dataclass(frozen=True, slots=True)
class SqueezeAttrs:
    """The axes that go; None: all of extent 1."""

    axis: OptionalIntegerArray = None


@dataclass(frozen=True, slots=True)
class ExpandDimsAttrs:
    """Where the new axes begin, and how many there are."""

    axis: Int
    num_newaxis: Int = 1


@dataclass(frozen=True, slots=True)
class RelaxExpandDimsAttrs:
    """The places of the new axes in the result."""

    axis: IntegerArray


@dataclass(frozen=True, slots=True)
class TileAttrs:
    """How often the tensor is repeated along each axis, aligned on the right."""

    reps: IntegerArray


@dataclass(frozen=True, slots=True)
class RepeatAttrs:
    """How often each element is repeated; along which axis (None: of the flattened tensor)."""

    repeats: Integer
    axis: OptionalInteger = None


@dataclass(frozen=True, slots=True)
class ReverseAttrs:
    """The axis that is reversed."""

    axis: OptionalInteger = None


def moved(out: TensorType, data: te.Tensor, place: Callable[..., Iterable[PrimExpr]], name: str) -> te.Tensor:
    """Return the tensor whose element at ``i`` is that of ``data`` at ``place(*i)``."""
    return te.compute(out.shape, lambda *i: data[tuple(place(*i))], name=f"T_{name}")


# reshape


def reshape_type(attrs: ReshapeAttrs, data: Type) -> Type:
    """Return the shape that ``newshape`` gives the data."""
    found = tensor(data)
    return TensorType(new_shape(found.shape, attrs.newshape, attrs.allowzero), found.dtype)


def reshape_numpy(attrs: ReshapeAttrs, data: Array) -> Array:
    """Return the same elements in another shape."""
    return data.reshape(static_shape(new_shape(data.shape, attrs.newshape, attrs.allowzero)))


def reshape_compute(attrs: object, out: TensorType, data: te.Tensor, *unused: object) -> te.Tensor:
    """Return each element from its place in row-major order."""
    return moved(out, data, lambda *i: reshaped_index(data.shape, out.shape, i), "reshape")


def reshape_relax(e: Emit[V], attrs: Any, data: V, *like: V) -> V:
    """R.reshape takes the shape itself."""
    types = [e.type_of(one) for one in (data, *like)]
    infer = reshape_like_type if like else reshape_type
    return e.call("reshape", data, e.shape(tensor(infer(attrs, *types)).shape))


def relax_reshape_type(attrs: NoAttrs, data: Type, shape: Shape) -> Type:
    """Return the given shape, in which one -1 takes what is left."""
    found = tensor(data)
    return TensorType(new_shape(found.shape, shape, allowzero=True), found.dtype)


def relax_reshape_numpy(attrs: NoAttrs, data: Array, shape: Sequence[int]) -> Array:
    """Return the same elements in another shape."""
    return data.reshape(static_shape(new_shape(data.shape, tuple(shape), allowzero=True)))


def _like_range(begin: int, end: int | None, rank: int, argument: int) -> tuple[int, int]:
    first = begin + rank if begin < 0 else begin
    last = rank if end is None else end + rank if end < 0 else end
    if not 0 <= first <= last <= rank:
        raise OpError(
            f"the range {begin} to {end} is outside of a tensor of rank {rank}", argument, kind=operators.AXIS
        )
    return first, last


def reshape_like_type(attrs: ReshapeLikeAttrs, data: Type, shape_like: Type) -> Type:
    """Return the shape of ``data`` with a range of dimensions replaced by a range of the
    other's.
    """
    found, like = tensor(data), tensor(shape_like, 1)
    first, last = _like_range(attrs.lhs_begin, attrs.lhs_end, found.rank, 0)
    begin, end = _like_range(attrs.rhs_begin, attrs.rhs_end, like.rank, 1)
    shape = (*found.shape[:first], *like.shape[begin:end], *found.shape[last:])
    # TVM counts elements only where all extents are numbers.
    before, after = static(product(found.shape)), static(product(shape))
    if before is not None and after is not None and before != after:
        raise OpError(
            f"shapes {show(found.shape)} and {show(shape)} have different numbers of elements", 1, kind=operators.SHAPE
        )
    ask_equal(product(found.shape), product(shape))
    return TensorType(shape, found.dtype)


def reshape_like_numpy(attrs: ReshapeLikeAttrs, data: Array, shape_like: Array) -> Array:
    """Return the same elements in another shape."""
    first, last = _like_range(attrs.lhs_begin, attrs.lhs_end, data.ndim, 0)
    begin, end = _like_range(attrs.rhs_begin, attrs.rhs_end, shape_like.ndim, 1)
    return data.reshape((*data.shape[:first], *shape_like.shape[begin:end], *data.shape[last:]))


# transpose, squeeze, expand_dims


def _permutation(attrs: TransposeAttrs, rank: int) -> tuple[int, ...]:
    if not attrs.axes:
        return tuple(reversed(range(rank)))
    axes = normal_axes(attrs.axes, rank)
    if len(axes) != rank:
        raise OpError(
            f"axes {list(axes)} do not list all dimensions of a tensor of rank {rank}", 0, kind=operators.RANK
        )
    return axes


def transpose_type(attrs: TransposeAttrs, data: Type) -> Type:
    """Return the permuted shape."""
    found = tensor(data)
    return TensorType(tuple(found.shape[axis] for axis in _permutation(attrs, found.rank)), found.dtype)


def transpose_numpy(attrs: TransposeAttrs, data: Array) -> Array:
    """Return the permuted view."""
    return np.transpose(data, _permutation(attrs, data.ndim))


def transpose_compute(attrs: TransposeAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element from its permuted place."""
    axes = _permutation(attrs, data.rank)
    return moved(out, data, lambda *i: (i[axes.index(axis)] for axis in range(data.rank)), "transpose")


def _squeezed(attrs: SqueezeAttrs, shape: Shape) -> tuple[int, ...]:
    """Return the axes that go."""
    if attrs.axis is None:
        return tuple(axis for axis, extent in enumerate(shape) if static(extent) == 1)
    axes = normal_axes(attrs.axis, len(shape))
    check_squeezed(shape, axes)
    for axis in axes:
        ask_equal(shape[axis], 1)
    return axes


def squeeze_type(attrs: SqueezeAttrs, data: Type) -> Type:
    """Return the shape without the axes."""
    found = tensor(data)
    gone = _squeezed(attrs, found.shape)
    return TensorType(tuple(e for axis, e in enumerate(found.shape) if axis not in gone), found.dtype)


def squeeze_relay_type(attrs: SqueezeAttrs, data: Type) -> Type:
    """Return the type.

    TVM takes an axis twice, and without a list it takes extents that are numbers only.
    """
    found = tensor(data)
    if attrs.axis is not None:
        axes = dict.fromkeys(normal_axis(axis, found.rank) for axis in attrs.axis)
        return squeeze_type(SqueezeAttrs(tuple(axes)), data)
    if any(static(extent) is None for extent in found.shape):
        raise OpError(f"the axes to leave out of {show(found.shape)} have to be listed", 0, kind=operators.AXIS)
    return squeeze_type(attrs, data)


def squeeze_numpy(attrs: SqueezeAttrs, data: Array) -> Array:
    """Return the view without the axes."""
    return np.squeeze(data, axis=_squeezed(attrs, data.shape))


def squeeze_compute(attrs: SqueezeAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element, with 0 at the axes that are gone."""
    gone = _squeezed(attrs, data.shape)

    def place(*i: PrimExpr) -> list[PrimExpr]:
        rest = iter(i)
        return [IntImm(0) if axis in gone else next(rest) for axis in range(data.rank)]

    return moved(out, data, place, "squeeze")


# Arrays of numpy have no more.
_MOST_AXES = 64


def _new_axes(attrs: Any, rank: int) -> tuple[int, ...]:
    """Return the places of the new axes in the result."""
    if isinstance(attrs, RelaxExpandDimsAttrs):
        return normal_axes(attrs.axis, rank + len(attrs.axis))
    if not 0 <= attrs.num_newaxis <= _MOST_AXES:
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="num_newaxis",
                value=attrs.num_newaxis,
                expected=f"at most {_MOST_AXES}: more dimensions no tensor has",
            ),
            0,
        )
    if not -rank - 1 <= attrs.axis <= rank:
        raise no_new_axis(attrs.axis, rank)
    first = attrs.axis if attrs.axis >= 0 else rank + attrs.axis + 1
    return tuple(range(first, first + attrs.num_newaxis))


def expand_dims_type(attrs: ExpandDimsAttrs | RelaxExpandDimsAttrs, data: Type) -> Type:
    """Return the shape with an extent of 1 at each new axis."""
    found = tensor(data)
    new = _new_axes(attrs, found.rank)
    rest = iter(found.shape)
    shape = tuple(1 if axis in new else next(rest) for axis in range(found.rank + len(new)))
    return TensorType(shape, found.dtype)


def expand_dims_numpy(attrs: ExpandDimsAttrs | RelaxExpandDimsAttrs, data: Array) -> Array:
    """Return the view with the new axes."""
    return np.expand_dims(data, _new_axes(attrs, data.ndim))


def expand_dims_compute(attrs: ExpandDimsAttrs | RelaxExpandDimsAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element, whatever the index of the new axes."""
    new = _new_axes(attrs, data.rank)
    return moved(out, data, lambda *i: (v for axis, v in enumerate(i) if axis not in new), "expand_dims")


def expand_dims_relax(e: Emit[V], attrs: ExpandDimsAttrs, data: V) -> V:
    """R.expand_dims lists the new axes."""
    axes = _new_axes(attrs, tensor(e.type_of(data)).rank)
    return e.call("expand_dims", data, axis=axes) if axes else data


# broadcast_to, tile, repeat, reverse


def _broadcast_type(data: Type, shape: Shape) -> Type:
    found = tensor(data)
    target = tuple(shape)
    met = broadcast(found.shape, target)
    if len(met) > len(target) or any(equal(a, b) is False for a, b in zip(met, target, strict=True)):
        raise does_not_broadcast(found.shape, target)
    return TensorType(target, found.dtype)


def broadcast_to_type(attrs: InitOpAttrs, data: Type) -> Type:
    """Return the shape of the attributes."""
    return _broadcast_type(data, given_shape(attrs))


def broadcast_to_numpy(attrs: InitOpAttrs, data: Array) -> Array:
    """Return a view that repeats the data."""
    return np.broadcast_to(data, static_shape(given_shape(attrs)))


def broadcast_compute(attrs: object, out: TensorType, data: te.Tensor, *unused: object) -> te.Tensor:
    """Return each element from its place before the broadcast."""
    return moved(out, data, lambda *i: operand_indices(data.shape, out.shape, i), "broadcast_to")


def tile_type(attrs: TileAttrs, data: Type) -> Type:
    """Return the shape multiplied by the repetitions, both aligned on the right."""
    found = tensor(data)
    if any(count < 1 for count in attrs.reps):
        raise OpError(f"repetitions {list(attrs.reps)} are not all positive", 0, kind=operators.ATTRIBUTE)
    rank = max(found.rank, len(attrs.reps))
    shape = (1,) * (rank - found.rank) + found.shape
    reps = (1,) * (rank - len(attrs.reps)) + tuple(attrs.reps)
    return TensorType(tuple(mul(e, count) for e, count in zip(shape, reps, strict=True)), found.dtype)


def tile_relay_type(attrs: TileAttrs, data: Type) -> Type:
    """Return the type; TVM takes what is computed from a symbolic extent for unknown."""
    result = tensor(tile_type(attrs, data))
    return TensorType(tuple(ANY if is_symbolic(extent) else extent for extent in result.shape), result.dtype)


def tile_numpy(attrs: TileAttrs, data: Array) -> Array:
    """Return the repeated array."""
    return np.tile(data, tuple(attrs.reps))


def tile_compute(attrs: TileAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element from its place within one repetition."""

    def place(*i: PrimExpr) -> list[PrimExpr]:
        return [v % extent for v, extent in zip(i[len(i) - data.rank :], data.shape, strict=True)]

    return moved(out, data, place, "tile")


def repeat_type(attrs: RepeatAttrs, data: Type) -> Type:
    """Return the shape with the axis, or the number of elements, multiplied by the repetitions."""
    found = tensor(data)
    if attrs.repeats < 1:
        raise OpError(f"{attrs.repeats} repetitions are not at least 1", 0, kind=operators.ATTRIBUTE)
    if attrs.axis is None:
        return TensorType((mul(product(found.shape), attrs.repeats),), found.dtype)
    axis = normal_axis(attrs.axis, found.rank)
    shape = (*found.shape[:axis], mul(found.shape[axis], attrs.repeats), *found.shape[axis + 1 :])
    return TensorType(shape, found.dtype)


def repeat_numpy(attrs: RepeatAttrs, data: Array) -> Array:
    """Return the array with each element repeated."""
    return np.repeat(data, attrs.repeats, axis=attrs.axis)


def repeat_compute(attrs: RepeatAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element from the place that it repeats."""
    if attrs.axis is None:
        size = (product(data.shape),)
        return moved(out, data, lambda i: reshaped_index(data.shape, size, (i // attrs.repeats,)), "repeat")
    axis = attrs.axis % data.rank
    return moved(out, data, lambda *i: (*i[:axis], i[axis] // attrs.repeats, *i[axis + 1 :]), "repeat")


def _reversed_axis(attrs: ReverseAttrs, rank: int) -> int:
    if attrs.axis is None:
        raise OpError("reverse needs an axis", 0, kind=operators.AXIS)
    return normal_axis(attrs.axis, rank)


def reverse_type(attrs: ReverseAttrs, data: Type) -> Type:
    """Return the type of the data."""
    found = tensor(data)
    _reversed_axis(attrs, found.rank)
    return found


def reverse_numpy(attrs: ReverseAttrs, data: Array) -> Array:
    """Return the view that runs backwards along the axis."""
    return np.flip(data, _reversed_axis(attrs, data.ndim))


def reverse_compute(attrs: ReverseAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return each element counted from the end of the axis."""
    axis = _reversed_axis(attrs, data.rank)
    last = as_prim(sub(data.shape[axis], 1))
    return moved(out, data, lambda *i: (*i[:axis], last - i[axis], *i[axis + 1 :]), "reverse")


# Records

reshape = OpDef(
    relay="reshape",
    doc="The same elements in another shape; codes 0, -1, -2, -3, -4 copy, infer, copy the rest, merge, split.",
    source=f"{SOURCE}, reshape",
    inputs=("data",),
    attrs=ReshapeAttrs,
    infer=reshape_type,
    numpy=reshape_numpy,
    compute=reshape_compute,
    relax=Expanded(reshape_relax),
    fusion=Fusion(OpPattern.INJECTIVE, reshapes=True),
    precision=Precision.FOLLOW,
)

relax_reshape = OpDef(
    doc="The same elements in the given shape.",
    source=RELAX_SOURCE,
    inputs=("x", "shape"),
    infer=relax_reshape_type,
    numpy=relax_reshape_numpy,
    compute=reshape_compute,
    relax=SameOp(),
    script=Script("reshape", "x, shape", spread=Spread.RESHAPE),
)

reshape_like = OpDef(
    relay="reshape_like",
    doc="The first input in the shape of the second, or with a range of its dimensions replaced.",
    source=f"{SOURCE}, reshape_like",
    inputs=("data", "shape_like"),
    attrs=ReshapeLikeAttrs,
    infer=reshape_like_type,
    numpy=reshape_like_numpy,
    compute=reshape_compute,
    relax=Expanded(reshape_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

transpose = OpDef(
    relay="transpose",
    doc="Permute the dimensions; without axes they are reversed.",
    source=f"{SOURCE}, transpose",
    inputs=("data",),
    attrs=TransposeAttrs,
    infer=transpose_type,
    numpy=transpose_numpy,
    compute=transpose_compute,
    relax=SameOp(),
    script=Script("permute_dims", "x, axes=None", spread=Spread.PERMUTATION),
    layout=layout_rules.transpose,
    fusion=Fusion(OpPattern.INJECTIVE),
    precision=Precision.FOLLOW,
)

squeeze = OpDef(
    relay="squeeze",
    doc="Leave out axes of extent 1; without a list all that are known to be 1.",
    source=f"{SOURCE}, squeeze",
    inputs=("data",),
    attrs=SqueezeAttrs,
    infer=squeeze_type,
    relay_type=squeeze_relay_type,
    numpy=squeeze_numpy,
    compute=squeeze_compute,
    relax=Expanded(lambda e, attrs, data: e.call("squeeze", data, axis=attrs.axis)),
    layout=layout_rules.squeeze,
    fusion=Fusion(OpPattern.INJECTIVE, reshapes=True),
    precision=Precision.FOLLOW,
)

expand_dims = OpDef(
    relay="expand_dims",
    doc="Insert ``num_newaxis`` axes of extent 1 at ``axis``.",
    source=f"{SOURCE}, expand_dims",
    inputs=("data",),
    attrs=ExpandDimsAttrs,
    infer=expand_dims_type,
    numpy=expand_dims_numpy,
    compute=expand_dims_compute,
    relax=Expanded(expand_dims_relax),
    fusion=Fusion(OpPattern.BROADCAST, reshapes=True),
    precision=Precision.FOLLOW,
)

relax_expand_dims = OpDef(
    doc="Insert axes of extent 1 at the listed places of the result.",
    source=RELAX_SOURCE,
    inputs=("x",),
    attrs=RelaxExpandDimsAttrs,
    infer=expand_dims_type,
    numpy=expand_dims_numpy,
    compute=expand_dims_compute,
    relax=SameOp(),
    script=Script("expand_dims", "x, axis"),
)

broadcast_to = OpDef(
    relay="broadcast_to",
    doc="Repeat along axes of extent 1, and along new ones in front, up to a shape.",
    source=f"{SOURCE}, broadcast_to",
    inputs=("data",),
    attrs=InitOpAttrs,
    infer=broadcast_to_type,
    relay_type=lambda attrs, data: TensorType(given_shape(attrs), tensor(data).dtype),
    known_result=lambda attrs, result, data: _broadcast_type(data, broadcast(data.shape, result.shape)),
    numpy=broadcast_to_numpy,
    compute=broadcast_compute,
    relax=Expanded(lambda e, attrs, data: e.call("broadcast_to", data, e.shape(given_shape(attrs)))),
    fusion=Fusion(OpPattern.BROADCAST, reads_shape=True),
)

relax_broadcast_to = OpDef(
    doc="Repeat along axes of extent 1, and along new ones in front, up to the given shape.",
    source=RELAX_SOURCE,
    inputs=("x", "shape"),
    infer=lambda attrs, data, shape: _broadcast_type(data, shape),
    numpy=lambda attrs, data, shape: np.broadcast_to(data, tuple(shape)),
    compute=broadcast_compute,
    relax=SameOp(),
    script=Script("broadcast_to", "x, shape", limits=(OPEN,)),
)

broadcast_to_like = OpDef(
    relay="broadcast_to_like",
    doc="Repeat along axes of extent 1 up to the shape of the second input, whose values are ignored.",
    source=f"{SOURCE}, broadcast_to_like",
    inputs=("data", "broadcast_type"),
    infer=lambda attrs, data, like: _broadcast_type(data, tensor(like, 1).shape),
    numpy=lambda attrs, data, like: np.broadcast_to(data, like.shape),
    compute=broadcast_compute,
    relax=Expanded(
        lambda e, attrs, data, like: e.call("broadcast_to", data, e.shape(tensor(e.type_of(like), 1).shape))
    ),
    fusion=Fusion(OpPattern.BROADCAST),
    precision=Precision.FOLLOW,
)

tile = OpDef(
    relay="tile",
    doc="Repeat the whole tensor along each axis.",
    source=f"{SOURCE}, tile",
    inputs=("data",),
    attrs=TileAttrs,
    infer=tile_type,
    relay_type=tile_relay_type,
    numpy=tile_numpy,
    compute=tile_compute,
    relax=SameOp(),
    script=Script("tile", "data, repeats", rename={"reps": "repeats"}),
    fusion=Fusion(OpPattern.BROADCAST),
    precision=Precision.FOLLOW,
)

repeat = OpDef(
    relay="repeat",
    doc="Repeat each element along an axis, or of the flattened tensor.",
    source=f"{SOURCE}, repeat",
    inputs=("data",),
    attrs=RepeatAttrs,
    infer=repeat_type,
    numpy=repeat_numpy,
    compute=repeat_compute,
    relax=SameOp(),
    script=Script("repeat", "data, repeats, axis=None"),
    fusion=Fusion(OpPattern.BROADCAST),
)

reverse = OpDef(
    relay="reverse",
    doc="Run backwards along an axis.",
    source=f"{SOURCE}, reverse",
    inputs=("data",),
    attrs=ReverseAttrs,
    infer=reverse_type,
    numpy=reverse_numpy,
    compute=reverse_compute,
    relax=SameOp(),
    script=Script("flip", "data, axis"),
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (
    reshape,
    relax_reshape,
    reshape_like,
    transpose,
    squeeze,
    expand_dims,
    relax_expand_dims,
    broadcast_to,
    relax_broadcast_to,
    broadcast_to_like,
    tile,
    repeat,
    reverse,
)
