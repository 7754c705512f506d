"""Elements picked by tensors of places.

A tensor of places is called ``indices``. A place outside of the data is moved to its border; TVM
reads memory there that is not the tensor's. Source of the semantics: TVM 0.18,
``src/relay/op/tensor/transform.cc`` and ``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from relay2relax.core.dtype import Array, is_int, is_unsigned
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.places import FROM_THE_BORDER, clipped, inside
from relay2relax.ops.common.shapes import broadcast, normal_axis, operand_indices, tensor
from relay2relax.ops.registry.attributes import Integer, NoAttrs, OptionalInteger
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import AnyRankType, TensorType, TupleType, Type, show
from relay2relax.ops.tensor.transform import moved
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Shape, equal, static
from relay2relax.tir.ir.expr import (
    IntImm,
    PrimExpr,
)

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"
RELAX_SOURCE = "TVM 0.27 src/relax/op/tensor/manipulate.cc"
Update: TypeAlias = Callable[[PrimExpr, PrimExpr], PrimExpr]


@dataclass(frozen=True, slots=True)
class GatherAttrs:
    """The axis that is indexed."""

    axis: OptionalInteger = None


@dataclass(frozen=True, slots=True)
class RelaxGatherElementsAttrs:
    """The axis that is indexed."""

    axis: Integer = 0


@dataclass(frozen=True, slots=True)
class GatherNDAttrs:
    """The leading axes that both inputs share.

    The number of coordinates, where the type of the indices hides it.
    """

    batch_dims: Integer = 0
    index_rank: OptionalInteger = None


@dataclass(frozen=True, slots=True)
class RelaxGatherNDAttrs:
    """The leading axes that both inputs share."""

    batch_dims: Integer = 0


# Places


def tuple_of_places(indices: Type) -> tuple[Type, ...]:
    """Return the fields of the second argument; raises OpError where it is not a tuple."""
    if not isinstance(indices, TupleType):
        raise OpError("a tuple of tensors of places is expected", 1, kind=operators.SHAPE)
    return indices.fields


def integer_places(indices: Type, argument: int) -> TensorType:
    found = tensor(indices, argument)
    if not is_int(found.dtype):
        raise OpError(
            mistake(operators.DTYPE, what="the tensor of places", dtype=found.dtype, expected="integers"), argument
        )
    return found


def open_grid(shape: Sequence[int], rank: int) -> list[Array]:
    """Return the coordinates of the first axes of ``shape``, each along its axis of a grid of
    ``rank``.
    """
    return [np.arange(n).reshape([n if d == axis else 1 for d in range(rank)]) for axis, n in enumerate(shape)]


# gather


def gather_type(attrs: GatherAttrs | RelaxGatherElementsAttrs, data: Type, indices: Type) -> Type:
    """Return the shape of ``indices`` with the dtype of ``data``."""
    found, places = tensor(data), integer_places(indices, 1)
    if attrs.axis is None:
        raise OpError("gather needs an axis", kind=operators.AXIS)
    axis = normal_axis(attrs.axis, found.rank)
    if places.rank != found.rank:
        raise OpError(f"indices of rank {places.rank} do not fit data of rank {found.rank}", 1, kind=operators.RANK)
    for d, (have, want) in enumerate(zip(found.shape, places.shape, strict=True)):
        if d != axis and equal(have, want) is False:
            raise OpError(
                f"indices of {show(places.shape)} and data of {show(found.shape)} differ in dimension {d}",
                1,
                kind=operators.SHAPE,
            )
    return TensorType(places.shape, found.dtype)


def gather_relay_type(attrs: GatherAttrs, data: Type, indices: Type) -> Type:
    """Return the type; TVM's inference wants signed indices."""
    if is_unsigned(tensor(indices, 1).dtype):
        raise OpError(
            mistake(
                operators.DTYPE, what="the tensor of places", dtype=tensor(indices, 1).dtype, expected="signed integers"
            ),
            1,
        )
    return gather_type(attrs, data, indices)


def gather_numpy(attrs: Any, data: Array, indices: Array) -> Array:
    """Return the element that the index names, in the line of the axis that the index lies in."""
    axis = normal_axis(attrs.axis, data.ndim)
    grid = open_grid(indices.shape, indices.ndim)
    grid[axis] = clipped(indices, data.shape[axis])
    return np.asarray(data[tuple(grid)])


def gather_compute(attrs: Any, out: TensorType, data: te.Tensor, indices: te.Tensor) -> te.Tensor:
    """Return the element that the index names."""
    axis = normal_axis(attrs.axis, data.rank)

    def place(*i: PrimExpr) -> tuple[PrimExpr, ...]:
        return (*i[:axis], inside(indices[i], data.shape[axis]), *i[axis + 1 :])

    return moved(out, data, place, "gather")


def gather_relax(e: Emit[V], attrs: GatherAttrs, data: V, indices: V) -> V:
    """R.gather_elements names the axis from the front and takes signed indices."""
    axis = normal_axis(attrs.axis or 0, tensor(e.type_of(data)).rank)
    return e.call("gather_elements", data, signed_places(e, indices), axis=axis)


def signed_places(e: Emit[V], indices: V) -> V:
    """Return the indices as R's operators take them: int32 and int64 as they are, others as
    int64.
    """
    return (
        indices if tensor(e.type_of(indices)).dtype in ("int32", "int64") else e.call("astype", indices, dtype="int64")
    )


# gather_nd


def check_coordinates(indices: TensorType) -> None:
    """Raise OpError where ``indices`` have no dimension along which coordinates lie."""
    if not indices.rank:
        raise OpError(
            mistake(operators.RANK, what="the tensor of indices", rank=0, expected="at least that of the coordinates"),
            1,
        )


def _coordinates(attrs: GatherNDAttrs, indices: TensorType) -> int:
    """Return how many coordinates one place has."""
    check_coordinates(indices)
    count = static(indices.shape[0])
    if count is None:
        count = attrs.index_rank
    if count is None:
        raise OpError("the number of coordinates is unknown; index_rank may say it", 1, kind=operators.RANK)
    return count


def _gathered(data: TensorType, places: Shape, count: int, batch: int) -> Type:
    if not 0 <= batch <= len(places) or not 0 <= count <= data.rank - batch:
        raise OpError(
            f"{count} coordinates after {batch} batch axes do not fit data of rank {data.rank}", 1, kind=operators.RANK
        )
    for d in range(batch):
        if equal(data.shape[d], places[d]) is False:
            raise OpError(
                f"batch dimension {d} has extents {show(data.shape)} and {show(places)}", 1, kind=operators.RANK
            )
    return TensorType((*places, *data.shape[count + batch :]), data.dtype)


def gather_nd_type(attrs: GatherNDAttrs, data: Type, indices: Type) -> Type:
    """Return the dimensions of ``indices`` after its first, then those of ``data`` that are not
    indexed.
    """
    found, places = tensor(data), tensor(indices, 1)
    return _gathered(found, places.shape[1:], _coordinates(attrs, places), attrs.batch_dims)


def relax_gather_nd_type(attrs: RelaxGatherNDAttrs, data: Type, indices: Type) -> Type:
    """Return the dimensions of ``indices`` before its last, then those of ``data`` that are not
    indexed.
    """
    found, places = tensor(data), tensor(indices, 1)
    count = static(places.shape[-1]) if places.rank else None
    if count is None:
        raise OpError(
            "the number of coordinates, which is the last extent of the indices, is unknown", 1, kind=operators.SHAPE
        )
    return _gathered(found, places.shape[:-1], count, attrs.batch_dims)


def gather_nd_relax_type(attrs: RelaxGatherNDAttrs, data: Type, indices: Type) -> Type:
    """Return the type.

    The rank is unknown where the number of coordinates is. Relax takes int64 alone.
    """
    found, places = tensor(data), tensor(indices, 1)
    if places.dtype != "int64":
        raise OpError(mistake(operators.DTYPE, what="the tensor of places", dtype=places.dtype, expected="int64"), 1)
    if places.rank and static(places.shape[-1]) is None:
        return AnyRankType(found.dtype)
    return relax_gather_nd_type(attrs, data, indices)


def gather_nd_numpy(attrs: GatherNDAttrs | RelaxGatherNDAttrs, data: Array, indices: Array) -> Array:
    """Return the elements, or slices, at the places that the columns of ``indices`` name."""
    rows = indices if isinstance(attrs, GatherNDAttrs) else np.moveaxis(indices, -1, 0)
    batch = attrs.batch_dims
    grid = open_grid(rows.shape[1 : 1 + batch], rows.ndim - 1)
    grid += [clipped(row, data.shape[batch + m]) for m, row in enumerate(rows)]
    if not grid:
        return np.broadcast_to(data, (*rows.shape[1:], *data.shape))
    return np.asarray(data[tuple(grid)])


def gather_nd_compute(
    attrs: GatherNDAttrs | RelaxGatherNDAttrs, out: TensorType, data: te.Tensor, indices: te.Tensor
) -> te.Tensor:
    """Return the element at the place that a column of ``indices`` names."""
    first = isinstance(attrs, GatherNDAttrs)
    lines, batch = indices.rank - 1, attrs.batch_dims
    count = data.rank - batch - (out.rank - lines)

    def place(*i: PrimExpr) -> tuple[PrimExpr, ...]:
        names = [indices[coordinate_place(m, i[:lines], first)] for m in range(count)]
        chosen = [inside(name, data.shape[batch + m]) for m, name in enumerate(names)]
        return (*i[:batch], *chosen, *i[lines:])

    return moved(out, data, place, "gather_nd")


def coordinate_place(number: int, line: Sequence[PrimExpr], first: bool) -> tuple[PrimExpr, ...]:
    """Return where coordinate ``number`` of place ``line`` lies: along the first axis of the
    indices, or the last.
    """
    return (IntImm(number), *line) if first else (*line, IntImm(number))


def columns_last(e: Emit[V], indices: V) -> V:
    """Return the indices as R's operators take them: one place along the last axis, int64."""
    found = tensor(e.type_of(indices), 1)
    if found.rank > 1:
        indices = e.call("permute_dims", indices, axes=(*range(1, found.rank), 0))
    return indices if found.dtype == "int64" else e.call("astype", indices, dtype="int64")


def gather_nd_relax(e: Emit[V], attrs: GatherNDAttrs, data: V, indices: V) -> V:
    """R.gather_nd has the coordinates of a place along the last axis."""
    found = tensor(e.type_of(indices), 1)
    if static(found.shape[0]) is None:
        return e.as_tir(gather_nd, attrs, (data, indices), "the number of coordinates is not known beforehand")
    return e.call("gather_nd", data, columns_last(e, indices), batch_dims=attrs.batch_dims)


# adv_index


def _indexed(data: Type, places: Sequence[Type]) -> Type:
    found = tensor(data)
    if not 1 <= len(places) <= found.rank:
        raise OpError(f"{len(places)} tensors of places do not fit data of rank {found.rank}", 0, kind=operators.RANK)
    rows = [integer_places(one, 0) for one in places]
    for one in rows[1:]:
        if one.dtype != rows[0].dtype:
            raise OpError(
                f"the tensors of places have element types {rows[0].dtype} and {one.dtype}", 0, kind=operators.DTYPE
            )
    return TensorType((*broadcast(*(one.shape for one in rows)), *found.shape[len(rows) :]), found.dtype)


def adv_index_type(attrs: NoAttrs, inputs: Type) -> Type:
    """Return the shape that the places broadcast to, then the dimensions of the data that are not
    indexed.
    """
    if not isinstance(inputs, TupleType) or len(inputs.fields) < 2:
        raise OpError("a tuple of the data and at least one tensor of places is expected", 0, kind=operators.ATTRIBUTE)
    return _indexed(inputs.fields[0], inputs.fields[1:])


def index_tensor_type(attrs: NoAttrs, data: Type, indices: Type) -> Type:
    """Return the shape that the places broadcast to, then the dimensions of the data that are not
    indexed.
    """
    return _indexed(data, tuple_of_places(indices))


def _index(data: Array, places: Sequence[Array]) -> Array:
    return np.asarray(data[tuple(clipped(one, data.shape[d]) for d, one in enumerate(places))])


def _index_compute(out: TensorType, data: te.Tensor, places: Sequence[te.Tensor]) -> te.Tensor:
    lines = out.rank - (data.rank - len(places))

    def place(*i: PrimExpr) -> tuple[PrimExpr, ...]:
        names = [one[operand_indices(one.shape, out.shape[:lines], i[:lines])] for one in places]
        return (*(inside(name, data.shape[d]) for d, name in enumerate(names)), *i[lines:])

    return moved(out, data, place, "adv_index")


def adv_index_relax(e: Emit[V], attrs: NoAttrs, inputs: V) -> V:
    """R.index_tensor takes the data by itself."""
    found = e.type_of(inputs)
    assert isinstance(found, TupleType)
    places = [signed_places(e, e.item(inputs, number)) for number in range(1, len(found.fields))]
    return e.call("index_tensor", e.item(inputs, 0), e.tuple(places))


# Records

gather = OpDef(
    relay="gather",
    doc="The element that the index names along an axis, in the line that the index lies in.",
    source=f"{SOURCE}, gather",
    inputs=("data", "indices"),
    attrs=GatherAttrs,
    infer=gather_type,
    on_bad_values=FROM_THE_BORDER,
    relay_type=gather_relay_type,
    numpy=gather_numpy,
    compute=gather_compute,
    relax=Expanded(gather_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

gather_elements = OpDef(
    doc="The element that the index names along an axis, in the line that the index lies in.",
    source=RELAX_SOURCE,
    inputs=("data", "indices"),
    attrs=RelaxGatherElementsAttrs,
    infer=gather_type,
    on_bad_values=FROM_THE_BORDER,
    numpy=gather_numpy,
    compute=gather_compute,
    relax=SameOp(),
    script=Script("gather_elements", "data, indices, axis=0", since="0.19"),
)

gather_nd = OpDef(
    relay="gather_nd",
    doc="Elements or slices at places whose coordinates lie along the first axis of the indices.",
    source=f"{SOURCE}, gather_nd",
    inputs=("data", "indices"),
    attrs=GatherNDAttrs,
    infer=gather_nd_type,
    on_bad_values=FROM_THE_BORDER,
    numpy=gather_nd_numpy,
    compute=gather_nd_compute,
    relax=Expanded(gather_nd_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

relax_gather_nd = OpDef(
    doc="Elements or slices at places whose coordinates lie along the last axis of the indices.",
    source=RELAX_SOURCE,
    inputs=("data", "indices"),
    attrs=RelaxGatherNDAttrs,
    infer=relax_gather_nd_type,
    on_bad_values=FROM_THE_BORDER,
    relax_type=gather_nd_relax_type,
    numpy=gather_nd_numpy,
    compute=gather_nd_compute,
    relax=SameOp(),
    script=Script("gather_nd", "data, indices, batch_dims=0", since="0.19"),
)

adv_index = OpDef(
    relay="adv_index",
    doc="Elements or slices at places whose coordinates are given by one tensor each, which broadcast.",
    source=f"{SOURCE}, adv_index",
    inputs=("inputs",),
    infer=adv_index_type,
    on_bad_values=FROM_THE_BORDER,
    numpy=lambda attrs, inputs: _index(inputs[0], inputs[1:]),
    compute=lambda attrs, out, inputs: _index_compute(out, inputs[0], inputs[1:]),
    relax=Expanded(adv_index_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

index_tensor = OpDef(
    doc="Elements or slices at places whose coordinates are given by one tensor each, which broadcast.",
    source=RELAX_SOURCE,
    inputs=("data", "indices"),
    infer=index_tensor_type,
    on_bad_values=FROM_THE_BORDER,
    numpy=lambda attrs, data, indices: _index(data, indices),
    compute=lambda attrs, out, data, indices: _index_compute(out, data, indices),
    relax=SameOp(),
    script=Script("index_tensor", "data, indices", since="0.21"),
)

OPS = (gather, gather_elements, gather_nd, relax_gather_nd, adv_index, index_tensor)
