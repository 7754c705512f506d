"""Operators that join and cut: concatenate, stack, split.

Results have the dtype of the data. ``numpy`` returns views where it can. Source of the semantics:
TVM 0.18, ``src/relay/op/tensor/transform.cc`` and ``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate, pairwise
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.shapes import normal_axis, tensor, tensors
from relay2relax.ops.registry.attributes import (
    Int,
    Integer,
    Sections,
)
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, Tensors, V, Value
from relay2relax.ops.registry.script import Limit, Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.tensor.create import static_shape
from relay2relax.ops.tensor.transform import moved
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import (
    ANY,
    Extent,
    add,
    as_prim,
    equal,
    floordiv,
    floormod,
    is_any,
    is_symbolic,
    maximum,
    minimum,
    mul,
    static,
    sub,
    total,
)
from relay2relax.tir.ir.expr import PrimExpr, binary, if_then_else

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"


# Attribute classes


@dataclass(frozen=True, slots=True)
class ConcatenateAttrs:
    """The axis along which the tensors are joined."""

    axis: Int = 0


@dataclass(frozen=True, slots=True)
class StackAttrs:
    """The place of the new axis."""

    axis: Integer = 0


@dataclass(frozen=True, slots=True)
class SplitAttrs:
    """How many equal parts, or the places to cut at; along which axis."""

    indices_or_sections: Sections
    axis: Int = 0


# concatenate, stack, split


def concatenate_type(attrs: ConcatenateAttrs, data: Type) -> Type:
    """Return the common shape with the sum of the extents along the axis.

    An unknown extent beside known ones becomes known only if the axis itself is unknown, as TVM has
    it.
    """
    found = tensors(data)
    rank = found[0].rank
    for number, one in enumerate(found):
        if one.rank != rank:
            raise OpError(
                f"tensor {number} of the tuple has rank {one.rank}, the first has rank {rank}", 0, kind=operators.RANK
            )
    axis = normal_axis(attrs.axis, rank)
    along = total(one.shape[axis] for one in found) if len(found) > 1 else found[0].shape[axis]
    return TensorType(
        tuple(along if d == axis else _common(found, d, is_any(along)) for d in range(rank)), found[0].dtype
    )


def concatenate_relay_type(attrs: ConcatenateAttrs, data: Type) -> Type:
    """Return the type; TVM writes a sum of symbolic extents as it stands (``n + n``)."""
    result = tensor(concatenate_type(attrs, data))
    axis = normal_axis(attrs.axis, result.rank)
    if not is_symbolic(result.shape[axis]):
        return result
    along = reduce(lambda a, b: binary("+", a, b), (one.shape[axis] for one in tensors(data)))
    return TensorType((*result.shape[:axis], along, *result.shape[axis + 1 :]), result.dtype)


def _common(found: Sequence[TensorType], dimension: int, unknown_axis: bool) -> Extent:
    known = [one.shape[dimension] for one in found if not is_any(one.shape[dimension])]
    for extent in known[1:]:
        if equal(known[0], extent) is False:
            shapes = ", ".join(show(one.shape) for one in found)
            raise OpError(f"tensors of shapes {shapes} differ in dimension {dimension}", 0, kind=operators.SHAPE)
    if len(known) == len(found) or (known and unknown_axis):
        return known[0]
    return ANY


def concatenate_numpy(attrs: ConcatenateAttrs, data: tuple[Array, ...]) -> Array:
    """Return the joined arrays; raises OpError where numpy would count their extents beyond 64
    bits.
    """
    count = sum(one.shape[attrs.axis] for one in data)
    if count > np.iinfo(np.int64).max:
        raise OpError(f"the joined tensor would have the extent {count}", 0)
    return np.concatenate(data, axis=attrs.axis)


def concatenate_compute(attrs: ConcatenateAttrs, out: TensorType, data: tuple[te.Tensor, ...]) -> te.Tensor:
    """Return each element from the tensor that its place along the axis falls into."""
    axis = attrs.axis % data[0].rank
    ends = list(accumulate((one.shape[axis] for one in data), add))
    starts = [0, *ends[:-1]]

    def element(*i: PrimExpr) -> PrimExpr:
        value: PrimExpr | None = None
        for one, start, end in zip(reversed(data), reversed(starts), reversed(ends), strict=True):
            place = (*i[:axis], i[axis] - as_prim(start), *i[axis + 1 :])
            loaded = one[place]
            if value is None:
                value = loaded
            else:
                value = if_then_else(i[axis] < as_prim(end), loaded, value)
        assert value is not None
        return value

    return te.compute(out.shape, element, name="T_concat")


def stack_type(attrs: StackAttrs, data: Type) -> Type:
    """Return the shape of the first tensor with a new axis."""
    return _stack_type(attrs, data, None)


def stack_relay_type(attrs: StackAttrs, data: Type) -> Type:
    """Return the shape of the first tensor with a new axis.

    TVM compares the extents but for those in its place.
    """
    return _stack_type(attrs, data, normal_axis(attrs.axis, tensors(data)[0].rank + 1))


def _stack_type(attrs: StackAttrs, data: Type, without: int | None) -> Type:
    found = tensors(data)
    first = found[0]
    for number, one in enumerate(found[1:], 1):
        same = len(one.shape) == first.rank
        if not same or any(
            equal(a, b) is False
            for place, (a, b) in enumerate(zip(one.shape, first.shape, strict=True))
            if place != without
        ):
            raise OpError(
                f"tensor {number} of the tuple has shape {show(one.shape)}, the first {show(first.shape)}",
                0,
                kind=operators.SHAPE,
            )
    axis = normal_axis(attrs.axis, first.rank + 1)
    return TensorType((*first.shape[:axis], len(found), *first.shape[axis:]), first.dtype)


def stack_numpy(attrs: StackAttrs, data: tuple[Array, ...]) -> Array:
    """Return the arrays along a new axis."""
    return np.stack(data, axis=attrs.axis)


def stack_compute(attrs: StackAttrs, out: TensorType, data: tuple[te.Tensor, ...]) -> te.Tensor:
    """Return each element from the tensor that its place along the new axis names."""
    axis = attrs.axis % out.rank

    def element(*i: PrimExpr) -> PrimExpr:
        place = (*i[:axis], *i[axis + 1 :])
        value: PrimExpr = data[-1][place]
        for number in range(len(data) - 2, -1, -1):
            value = if_then_else(i[axis].equal(number), data[number][place], value)
        return value

    return te.compute(out.shape, element, name="T_stack")


# Each part is a type and a value of its own.
_MOST_PARTS = 1 << 16


def _checked_count(sections: int) -> int:
    """Return the number of parts; raises OpError where there are none, or more than anybody has."""
    if not 1 <= sections <= _MOST_PARTS:
        raise OpError(f"a tensor cannot be split into {sections} parts", 0)
    return int(sections)


def _cuts(attrs: SplitAttrs, extent: Extent) -> list[tuple[Extent, Extent]]:
    """Return the begin and the length of each part; raises OpError where the cuts do not fit."""
    known = static(extent)
    if isinstance(attrs.indices_or_sections, int):
        count = _checked_count(attrs.indices_or_sections)
        if known is not None and known % count:
            # Relax leaves the rest to the last parts.
            size = -(-known // count)
            bounds = [min(number * size, known) for number in range(count + 1)]
            return [(begin, end - begin) for begin, end in pairwise(bounds)]
        length = floordiv(extent, count)
        return [(mul(number, length), length) for number in range(count)]
    places = [0, *(int(one) for one in attrs.indices_or_sections)]
    if known is None and all(before < after for before, after in pairwise(places)):
        ends: list[Extent] = [*places[1:], extent]
        return [(begin, sub(end, begin)) for begin, end in zip(places, ends, strict=True)]
    # Relax cuts at the ends what lies outside, and leaves nothing of a part that ends before it
    # begins.
    inside = [minimum(max(place, 0), extent) for place in places]
    return [(begin, maximum(sub(end, begin), 0)) for begin, end in pairwise([*inside, extent])]


def _growing(sections: Sequence[Any]) -> list[int]:
    """Return 0 and the places to cut at; raises OpError where one is not behind the last."""
    places = [0, *(int(one) for one in sections)]
    if any(after <= before for before, after in pairwise(places)):
        raise OpError(f"the places to cut at must grow: {places[1:]}", 0, kind=operators.ATTRIBUTE)
    return places


def split_type(attrs: SplitAttrs, data: Type) -> Type:
    """Return a tuple with a type for each part."""
    found = tensor(data)
    axis = normal_axis(attrs.axis, found.rank)
    before, after = found.shape[:axis], found.shape[axis + 1 :]
    cuts = _cuts(attrs, found.shape[axis])
    return TupleType(tuple(TensorType((*before, length, *after), found.dtype) for _, length in cuts))


def split_relay_type(attrs: SplitAttrs, data: Type) -> Type:
    """Return the type.

    Relay's parts are equal, and TVM writes a symbolic extent of theirs anew for each.
    """
    found = tensor(data)
    axis = normal_axis(attrs.axis, found.rank)
    extent, sections = found.shape[axis], attrs.indices_or_sections
    known = static(extent)
    if isinstance(sections, int) and sections > 0:
        _checked_count(sections)
        if static(floormod(extent, int(sections))) not in (0, None):
            shown = show((extent,))[1:-1]
            raise OpError(
                f"an extent of {shown} cannot be split into {int(sections)} equal parts", 0, kind=operators.SHAPE
            )
    if not isinstance(sections, int):
        places = _growing(sections)
        if known is not None and places[-1] >= known:
            raise OpError(f"an extent of {known} cannot be cut at {places[-1]}", 0, kind=operators.SHAPE)
    if not (isinstance(sections, int) and isinstance(extent, PrimExpr) and is_symbolic(extent)):
        return split_type(attrs, data)
    shapes = ((*found.shape[:axis], extent // int(sections), *found.shape[axis + 1 :]) for _ in range(int(sections)))
    return TupleType(tuple(TensorType(shape, found.dtype) for shape in shapes))


def split_numpy(attrs: SplitAttrs, data: Array) -> tuple[Array, ...]:
    """Return a view for each part."""
    axis = normal_axis(attrs.axis, data.ndim)
    cuts = [static_shape(cut) for cut in _cuts(attrs, data.shape[axis])]
    places = [(slice(None),) * axis + (slice(begin, begin + length),) for begin, length in cuts]
    return tuple(data[place] for place in places)


def _relax_cuts(attrs: SplitAttrs, extent: Extent) -> list[tuple[Extent, Extent]]:
    """Return the begin and the length of each of Relax's parts.

    The last of a number of parts is shorter than the others, or empty; a place to cut at beyond the
    end is the end.
    """
    sections = attrs.indices_or_sections
    if isinstance(sections, int):
        sections = _checked_count(sections)
        if static(extent) is not None:
            return _cuts(attrs, extent)
        length = floordiv(add(extent, sections - 1), sections)
        begins = [mul(number, length) for number in range(sections)]
        return [(begin, length) for begin in begins[:-1]] + [(begins[-1], sub(extent, begins[-1]))]
    places = _growing(sections)
    begins = [0, *(minimum(place, extent) for place in places[1:])]
    lengths = [maximum(sub(after, before), 0) for before, after in pairwise(begins)]
    return list(zip(begins, [*lengths, maximum(sub(extent, places[-1]), 0)], strict=True))


def relax_split_type(attrs: SplitAttrs, data: Type) -> Type:
    """Return a tuple with a type for each part, or, of one part, that of the data."""
    found = tensor(data)
    axis = normal_axis(attrs.axis, found.rank)
    lengths = [length for _, length in _relax_cuts(attrs, found.shape[axis])]
    parts = tuple(TensorType((*found.shape[:axis], one, *found.shape[axis + 1 :]), found.dtype) for one in lengths)
    return TupleType(parts) if len(parts) > 1 else parts[0]


def relax_split_numpy(attrs: SplitAttrs, data: Array) -> Value:
    """Return a view for each part, or the data where there is one."""
    axis = normal_axis(attrs.axis, data.ndim)
    cuts = [static_shape(cut) for cut in _relax_cuts(attrs, data.shape[axis])]
    places = [(slice(None),) * axis + (slice(begin, begin + length),) for begin, length in cuts]
    parts = tuple(data[place] for place in places)
    return parts if len(parts) > 1 else parts[0]


def relax_split_compute(attrs: SplitAttrs, out: Any, data: te.Tensor) -> Tensors:
    """Return the parts, each from its place on."""
    axis = normal_axis(attrs.axis, data.rank)
    cuts = _relax_cuts(attrs, data.shape[axis])
    parts = _parts(out.fields if len(cuts) > 1 else (out,), data, axis, [begin for begin, _ in cuts])
    return parts if len(parts) > 1 else parts[0]


def split_relax(e: Emit[V], attrs: SplitAttrs, data: V) -> V:
    """Emit ``R.split``; one part is a tuple of the data itself, since TVM gives ``R.split`` into
    one no tuple.
    """
    if attrs.indices_or_sections in (1, ()):
        return e.tuple([data])
    found = tensor(e.type_of(data))
    if static(found.shape[normal_axis(attrs.axis, found.rank)]) is None:
        return e.as_tir(split, attrs, (data,), "R.split does not know where an extent that is no number ends")
    return e.call("split", data, indices_or_sections=attrs.indices_or_sections, axis=attrs.axis)


def split_compute(attrs: SplitAttrs, out: TupleType, data: te.Tensor) -> tuple[te.Tensor, ...]:
    """Return the parts, each from its place on."""
    axis = normal_axis(attrs.axis, data.rank)
    return _parts(out.fields, data, axis, [begin for begin, _ in _cuts(attrs, data.shape[axis])])


def _parts(types: Sequence[Type], data: te.Tensor, axis: int, begins: Sequence[Extent]) -> tuple[te.Tensor, ...]:
    def part(type_: Type, begin: Extent) -> te.Tensor:
        start = as_prim(begin)
        return moved(tensor(type_), data, lambda *i: (*i[:axis], i[axis] + start, *i[axis + 1 :]), "split")

    return tuple(part(type_, begin) for type_, begin in zip(types, begins, strict=True))


# Records

concatenate = OpDef(
    relay="concatenate",
    doc="Join the tensors of a tuple along an axis.",
    source=f"{SOURCE}, concatenate",
    inputs=("data",),
    attrs=ConcatenateAttrs,
    infer=concatenate_type,
    relay_type=concatenate_relay_type,
    numpy=concatenate_numpy,
    compute=concatenate_compute,
    relax=SameOp(),
    script=Script("concat", "tensors, axis=0"),
    layout=layout_rules.concatenate,
    fusion=Fusion(OpPattern.INJECTIVE),
    precision=Precision.FOLLOW,
)

stack = OpDef(
    relay="stack",
    doc="Join the tensors of a tuple along a new axis.",
    source=f"{SOURCE}, stack",
    inputs=("data",),
    attrs=StackAttrs,
    infer=stack_type,
    relay_type=stack_relay_type,
    numpy=stack_numpy,
    compute=stack_compute,
    relax=SameOp(),
    script=Script("stack", "tensors, axis=0", since="0.21"),
    fusion=Fusion(OpPattern.INJECTIVE),
)

split = OpDef(
    relay="split",
    doc="Cut along an axis: into equal parts, or at the listed places.",
    source=f"{SOURCE}, split",
    inputs=("data",),
    attrs=SplitAttrs,
    infer=split_type,
    relay_type=split_relay_type,
    numpy=split_numpy,
    compute=split_compute,
    relax=Expanded(split_relax),
    layout=layout_rules.split,
    fusion=Fusion(OpPattern.INJECTIVE),
    precision=Precision.FOLLOW,
)

_ONE_PART = Limit("apache-tvm makes of one part no tuple", lambda attrs, types: attrs.indices_or_sections in (1, ()))

relax_split = OpDef(
    doc="Cut along an axis: into parts of which the last may be shorter, or at places; one part is no tuple.",
    source="TVM 0.27 src/relax/op/tensor/manipulate.cc, split",
    inputs=("x",),
    attrs=SplitAttrs,
    infer=relax_split_type,
    numpy=relax_split_numpy,
    compute=relax_split_compute,
    relax=SameOp(),
    script=Script("split", "x, indices_or_sections, axis=0", limits=(_ONE_PART,)),
)

OPS = (concatenate, stack, split, relax_split)
