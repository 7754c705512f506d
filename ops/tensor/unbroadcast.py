"""Sums that undo broadcasting, and slices that are written to: collapse_sum_like, collapse_sum_to,
strided_set.

Source of the semantics: TVM 0.18, ``src/relay/op/tensor/transform.cc``,
``include/tvm/topi/reduction.h`` and ``python/tvm/topi/transform.py``.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_int, of_array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.places import NO_SUCH_SHAPE, inside
from relay2relax.ops.common.shapes import broadcast, does_not_broadcast, tensor
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type
from relay2relax.ops.tensor.create import InitOpAttrs, static_shape
from relay2relax.ops.tensor.dynamic_kernels import REFUSED, numbers, pick, vector
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Shape, as_prim, equal, is_any, static
from relay2relax.tir.ir.expr import (
    IntImm,
    PrimExpr,
    Select,
    binary,
    cast,
    const,
    if_then_else,
    logical_and,
    maximum,
    minimum,
)

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"


# collapse_sum


def _collapsed(data: Type, target: Shape) -> TensorType:
    found = tensor(data)
    met = broadcast(found.shape, target)
    if len(met) != found.rank or any(equal(a, b) is False for a, b in zip(met, found.shape, strict=True)):
        raise does_not_broadcast(target, found.shape, 1)
    return TensorType(target, found.dtype)


def _proved(data: Type, target: Shape) -> TensorType:
    """Return the type of Relax, whose extents have to be told equal, or 1, beforehand."""
    result = _collapsed(data, target)
    for have, want in zip(reversed(tensor(data).shape), reversed(target), strict=False):
        if static(want) != 1 and not is_any(have) and not is_any(want) and equal(have, want) is not True:
            raise OpError(f"nobody knows whether {want} is {have}, or 1; a match_cast may say it", 1)
    return result


def collapse_sum_like_type(attrs: NoAttrs, data: Type, collapse_type: Type) -> Type:
    """Return the type of the second input."""
    like = tensor(collapse_type, 1)
    _collapsed(data, like.shape)
    return like


def collapse_sum_to_type(attrs: InitOpAttrs, data: Type, shape: Type) -> Type:
    """Return the shape of the attributes, or one of unknown extents."""
    extents = tensor(shape, 1)
    if extents.rank != 1 or not is_int(extents.dtype):
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the shape",
                dtype=f"{extents.dtype} and rank {extents.rank}",
                expected="a vector of integers",
            ),
            1,
        )
    if attrs.shape is not None:
        return _collapsed(data, attrs.shape)
    rank = static(extents.shape[0])
    if rank is None:
        raise OpError("the rank of the shape is unknown", 1, kind=operators.RANK)
    return TensorType((ANY,) * rank, tensor(data).dtype)


def _summed(shape: Shape, target: Shape) -> tuple[int, ...]:
    """Return the axes of ``shape`` that are added up."""
    new = len(shape) - len(target)
    pairs = zip(shape[new:], target, strict=True)
    return (*range(new), *(new + d for d, (have, want) in enumerate(pairs) if static(want) == 1 != static(have)))


def _collapse_numpy(data: Array, shape: tuple[int, ...]) -> Array:
    if data.shape == shape:
        return data
    _collapsed(TensorType(data.shape, of_array(data)), shape)
    return np.asarray(np.sum(data, axis=_summed(data.shape, shape), dtype=data.dtype)).reshape(shape)


def collapse_sum_to_numpy(attrs: InitOpAttrs, data: Array, shape: Array) -> Array:
    """Return the sum in the shape of the attributes, or in the one that is an input."""
    known = tuple(shape.astype(np.int64).tolist()) if attrs.shape is None else static_shape(attrs.shape)
    return _collapse_numpy(data, known)


def collapse_sum_compute(attrs: object, out: TensorType, data: te.Tensor, like: Any) -> te.Tensor:
    """Return the sum over the axes along which the result was broadcast."""
    axes = _summed(data.shape, out.shape)
    new = data.rank - out.rank
    # An extent that only the program knows is 1 where its axis is summed over, else the data's.
    open_axes = [
        d for d in range(new, data.rank) if d not in axes and static(out.shape[d - new]) is None
        and not equal(out.shape[d - new], data.shape[d])
    ]  # fmt: skip

    def element(*i: PrimExpr) -> PrimExpr:
        loops = {axis: te.reduce_axis(data.shape[axis], f"k{axis}") for axis in axes}
        for d in open_axes:
            summed = as_prim(out.shape[d - new]).equal(1)
            loops[d] = te.reduce_axis(Select(summed, data.shape[d], IntImm(1)), f"k{d}")
        place = tuple(
            loops[d].var + i[d - new] if d in open_axes else loops[d].var if d in loops else i[d - new]
            for d in range(data.rank)
        )
        return te.sum(data[place], list(loops.values())) if loops else data[place]

    return te.compute(out.shape, element, name="T_collapse_sum")


def collapse_sum_extents(attrs: object, out: TensorType, data: te.Tensor, shape: te.Tensor) -> te.Tensor:
    """Return the numbers of ``shape``, where the data may have been broadcast from these."""
    found = numbers(shape)
    new = data.rank - len(found)
    known = (data.shape[new + d] if new + d >= 0 else IntImm(-1) for d in range(len(found)))
    fits = [binary("or", one.equal(1), one.equal(extent)) for one, extent in zip(found, known, strict=True)]
    return vector(
        [pick(fit if new >= 0 else const(0, "bool"), one, REFUSED) for fit, one in zip(fits, found, strict=True)]
    )


def collapse_sum_relax(e: Emit[V], attrs: Any, data: V, like: V) -> V:
    """R.sum over the axes that go; those that stay as 1 come back by reshape."""
    found = tensor(e.type_of(data))
    infer = collapse_sum_to_type if isinstance(attrs, InitOpAttrs) else collapse_sum_like_type
    shape = tensor(infer(attrs, found, e.type_of(like))).shape
    if any(is_any(extent) for extent in shape):
        return e.as_tir(collapse_sum_to, attrs, (data, like), "the shape is not known beforehand")
    axes = _summed(found.shape, shape)
    if not axes:
        return data
    summed = e.call("sum", data, axis=axes, keepdims=False)
    return e.call("reshape", summed, e.shape(shape)) if len(shape) != found.rank - len(axes) else summed


# strided_set


def strided_set_type(attrs: NoAttrs, data: Type, v: Type, begin: Type, end: Type, strides: Type) -> Type:
    """Return the type of ``data``."""
    found, values = tensor(data), tensor(v, 1)
    if values.dtype != found.dtype:
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the tensor of values",
                dtype=values.dtype,
                expected=f"{found.dtype}, as the data has",
            ),
            1,
        )
    if values.rank != found.rank:
        raise OpError(
            mistake(
                operators.RANK, what="the tensor of values", rank=values.rank, expected=f"{found.rank}, as the data has"
            ),
            1,
        )
    for argument, one in enumerate((begin, end, strides), 2):
        places = tensor(one, argument)
        if places.rank != 1 or not is_int(places.dtype):
            raise OpError(
                mistake(
                    operators.DTYPE,
                    what="the tensor of places",
                    dtype=f"{places.dtype} and rank {places.rank}",
                    expected="a vector of integers",
                ),
                argument,
            )
    return found


def strided_set_numpy(attrs: NoAttrs, data: Array, v: Array, begin: Array, end: Array, strides: Array) -> Array:
    """Return the data with a slice replaced by ``v``; missing entries take the whole axis."""
    result = np.array(data)

    def entry(places: Numbers, axis: int) -> int | None:
        return int(places[axis].astype(np.int64)) if axis < len(places) else None

    if not v.size or any(entry(strides, axis) == 0 for axis in range(data.ndim)):
        return result
    slices = tuple(slice(entry(begin, axis), entry(end, axis), entry(strides, axis)) for axis in range(data.ndim))
    lengths = (len(range(*one.indices(extent))) for one, extent in zip(slices, data.shape, strict=True))
    sources = [np.minimum(np.arange(n), extent - 1) for n, extent in zip(lengths, v.shape, strict=True)]
    result[slices] = v[np.ix_(*sources)] if sources else v
    return result


def strided_set_compute(
    attrs: NoAttrs, out: TensorType, data: te.Tensor, v: te.Tensor, begin: te.Tensor, end: te.Tensor, strides: te.Tensor
) -> te.Tensor:
    """Return the element of ``v`` whose place the slice names, that of the data elsewhere."""

    def element(*i: PrimExpr) -> PrimExpr:
        hits: list[PrimExpr] = []
        source: list[PrimExpr] = []
        for axis, index in enumerate(i):
            stride = _entry(strides, axis, IntImm(1))
            forward = stride > 0
            first, last = _borders(begin, end, axis, data.shape[axis], forward)
            distance = Select(forward, index - first, first - index)
            size = Select(forward, stride, IntImm(0) - stride)
            within = Select(forward, index < last, index > last)
            given = [stride.not_equal(0), as_prim(v.shape[axis]) > 0]
            hits += [distance >= 0, within, (distance % size).equal(0), *given]
            source.append(inside(distance // size, v.shape[axis]))
        return if_then_else(logical_and(*hits), v[tuple(source)], data[i])

    return te.compute(out.shape, element, name="T_strided_set")


def _entry(places: te.Tensor, axis: int, missing: PrimExpr) -> PrimExpr:
    """Return the entry for ``axis``, or ``missing`` where there is none."""
    count = static(places.shape[0])
    if count is not None:
        return cast("int64", places[axis]) if axis < count else missing
    return if_then_else(places.shape[0] > axis, cast("int64", places[axis]), missing)


def _borders(
    begin: te.Tensor, end: te.Tensor, axis: int, extent: PrimExpr, forward: PrimExpr
) -> tuple[PrimExpr, PrimExpr]:
    """Return the first place of the slice and the one past its last, moved inside (one before 0
    when backwards).
    """
    low, high = Select(forward, IntImm(0), IntImm(-1)), Select(forward, extent, extent - 1)
    first = _entry(begin, axis, Select(forward, IntImm(0), extent))
    last = _entry(end, axis, Select(forward, extent, IntImm(-1) - extent))
    found = (Select(place < 0, place + extent, place) for place in (first, last))
    first, last = (maximum(minimum(place, high), low) for place in found)
    return first, last


# Records

collapse_sum_like = OpDef(
    relay="collapse_sum_like",
    doc="The sum over the axes along which the second input would be broadcast to the first.",
    source=f"{SOURCE}, collapse_sum_like",
    inputs=("data", "collapse_type"),
    infer=collapse_sum_like_type,
    relax_type=lambda attrs, data, like: _proved(data, tensor(like, 1).shape),
    numpy=lambda attrs, data, like: _collapse_numpy(data, like.shape),
    compute=collapse_sum_compute,
    relax=Expanded(collapse_sum_relax),
    script=Script("collapse_sum_like", "data, collapse_target"),
    fusion=Fusion(OpPattern.COMM_REDUCE),
)

collapse_sum_to = OpDef(
    relay="collapse_sum_to",
    doc="The sum over the axes along which a tensor of the given shape would be broadcast to the data.",
    source=f"{SOURCE}, collapse_sum_to",
    inputs=("data", "shape"),
    attrs=InitOpAttrs,
    infer=collapse_sum_to_type,
    on_bad_values=NO_SUCH_SHAPE,
    numpy=collapse_sum_to_numpy,
    compute=collapse_sum_compute,
    extents=collapse_sum_extents,
    relax=Expanded(collapse_sum_relax),
    declares_attrs=False,
    fusion=Fusion(OpPattern.COMM_REDUCE),
)

relax_collapse_sum_to = OpDef(
    doc="The sum over the axes along which a tensor of the given shape would be broadcast to the data.",
    source="TVM 0.27 src/relax/op/tensor/manipulate.cc, collapse_sum_to",
    inputs=("data", "shape"),
    infer=lambda attrs, data, shape: _proved(data, shape),
    numpy=lambda attrs, data, shape: _collapse_numpy(data, shape),
    compute=collapse_sum_compute,
    script=Script("collapse_sum_to", "data, shape"),
)

strided_set = OpDef(
    relay="strided_set",
    doc="The data with a slice, whose places are inputs, replaced.",
    source="TVM 0.18 python/tvm/topi/transform.py, strided_set",
    inputs=("data", "v", "begin", "end", "strides"),
    infer=strided_set_type,
    on_bad_values=(
        "A slice is moved into the data; where it is longer than the values, the last of these is repeated. "
        "A stride of 0 sets nothing."
    ),
    numpy=strided_set_numpy,
    compute=strided_set_compute,
    fusion=Fusion(OpPattern.INJECTIVE),
)

OPS = (collapse_sum_like, collapse_sum_to, relax_collapse_sum_to, strided_set)
