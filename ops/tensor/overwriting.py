"""Copies of a tensor with some of its elements replaced: R.index_put and R.slice_scatter.

Source of the semantics: TVM 0.27, ``python/tvm/topi/index_put.py`` and ``slice_scatter.py``. Like
PyTorch's operators of these names they count negative places from the end, and values of fewer
elements are repeated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.places import LEFT_OUT, are_inside, is_inside
from relay2relax.ops.common.shapes import broadcast, normal_axis, operand_indices, tensor
from relay2relax.ops.common.stmt_builders import let, loop, seq, store, when
from relay2relax.ops.registry.attributes import Bool, Expr, Int
from relay2relax.ops.registry.record import OpDef, OpError, SameOp
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.tensor.gather import integer_places, tuple_of_places
from relay2relax.tir import te
from relay2relax.tir.extent import Extent, as_prim, canonical, equal, static
from relay2relax.tir.ir.expr import Buffer, PrimExpr, Select, binary, cast, if_then_else, logical_and, maximum, minimum
from relay2relax.tir.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class IndexPutAttrs:
    """Whether values are added to what is there, once for every time that a place is named."""

    accumulate: Bool = False


@dataclass(frozen=True, slots=True)
class SliceScatterAttrs:
    """The slice ``start:end:step`` of one axis."""

    start: Expr
    end: Expr
    step: Expr
    axis: Int = 0


# index_put


def _named(data: TensorType, indices: Type) -> tuple[TensorType, ...]:
    places = tuple(tensor(one, 1) for one in tuple_of_places(indices))
    if len(places) != data.rank:
        raise OpError(
            f"each of the {data.rank} dimensions needs its places; {len(places)} are given", 1, kind=operators.RANK
        )
    return tuple(integer_places(one, 1) for one in places)


def index_put_type(attrs: IndexPutAttrs, data: Type, indices: Type, values: Type) -> TensorType:
    """Return the type of the data."""
    found, given = tensor(data), tensor(values, 2)
    places = _named(found, indices)
    if given.dtype != found.dtype:
        raise OpError(
            mistake(
                operators.DTYPE,
                what="the tensor of values",
                dtype=given.dtype,
                expected=f"{found.dtype}, as the data has",
            ),
            2,
        )
    shape = broadcast(*(one.shape for one in places))
    if given.rank > len(shape):
        raise OpError(
            mistake(
                operators.SHAPE,
                what="the tensor of values",
                shape=show(given.shape),
                expected=f"{show(shape)}, as the places have",
            ),
            2,
        )
    broadcast(shape, given.shape)
    return found


def index_put_numpy(attrs: IndexPutAttrs, data: Array, indices: tuple[Array, ...], values: Array) -> Array:
    """Return the data with ``values`` at the places.

    The last of several values for one place stays. A place below 0 counts from the end, one outside
    is left out.
    """
    result = np.array(data)
    rows = [one.astype(np.int64) for one in np.broadcast_arrays(*indices)]
    rows = [np.where(one < 0, one + extent, one) for one, extent in zip(rows, data.shape, strict=True)]
    kept = np.all([are_inside(one, extent) for one, extent in zip(rows, data.shape, strict=True)], axis=0)
    where: Any = tuple(one[kept] for one in rows)
    given = np.broadcast_to(values, kept.shape)[kept]
    if attrs.accumulate:
        (np.logical_or if data.dtype == np.bool_ else np.add).at(result, where, given)
    else:
        result[where] = given
    return result


def index_put_compute(
    attrs: IndexPutAttrs, out: TensorType, data: te.Tensor, indices: Sequence[te.Tensor], values: te.Tensor
) -> te.Tensor:
    """Return a copy of the data, then the values one after the other."""

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        (old, *places, new), target = sources, targets[0]
        shape = broadcast(*(one.shape for one in places))

        def put(*at: PrimExpr) -> Stmt:
            index: list[PrimExpr] = []
            for one, extent in zip(places, target.shape, strict=True):
                given = cast("int64", one[operand_indices(one.shape, shape, at)])
                index.append(Select(given < 0, given + extent, given))
            value: PrimExpr = new[operand_indices(new.shape, shape, at)]

            def write(*here: PrimExpr) -> Stmt:
                put = value
                if attrs.accumulate:
                    put = binary("or" if out.dtype == "bool" else "+", target[here], value)
                known = (is_inside(one, extent) for one, extent in zip(here, target.shape, strict=True))
                return when(logical_and(*known), store(target, here, put))

            return _named_places(index, write)

        return seq(_each(target.shape, lambda *at: store(target, at, old[at])), _each(shape, put))

    return te.extern([out.shape], [out.dtype], [data, *indices, values], build, "T_index_put")[0]


def _named_places(values: Sequence[PrimExpr], body: Callable[..., Stmt], named: tuple[PrimExpr, ...] = ()) -> Stmt:
    if not values:
        result: Stmt = body(*named)
        return result
    return let(values[0], lambda v: _named_places(values[1:], body, (*named, v)), "place")


def _each(extents: Sequence[Extent], body: Callable[..., Stmt], at: tuple[PrimExpr, ...] = ()) -> Stmt:
    """Return the loops around ``body(i, j, …)``."""
    if not extents:
        result: Stmt = body(*at)
        return result
    return loop(extents[0], lambda i: _each(extents[1:], body, (*at, i)), f"i{len(at)}")


# slice_scatter


def _bound(value: Any, name: str) -> Extent:
    if isinstance(value, bool) or not isinstance(value, (int, PrimExpr)):
        raise OpError(mistake(operators.ATTRIBUTE, name=name, value=repr(value), expected="an integer"))
    return canonical(value)


def _slice(attrs: SliceScatterAttrs, extent: Extent) -> tuple[Extent, Extent, int]:
    """Return where the slice begins and ends inside of ``extent``, and its step."""
    step = static(_bound(attrs.step, "step"))
    if step is None or step < 1:
        raise OpError(
            mistake(operators.ATTRIBUTE, name="the step", value=repr(attrs.step), expected="a positive number")
        )

    def inside(value: Extent) -> Extent:
        known, size = static(value), static(extent)
        if known is not None and size is not None:
            return min(max(known + size if known < 0 else known, 0), size)
        if known == 0:
            return 0
        if known is not None and known < 0:
            return canonical(maximum(as_prim(extent) + known, 0))
        return canonical(minimum(as_prim(value), as_prim(extent)))

    return inside(_bound(attrs.start, "start")), inside(_bound(attrs.end, "end")), step


def slice_scatter_type(attrs: SliceScatterAttrs, data: Type, source: Type) -> TensorType:
    """Return the type of the data."""
    found, given = tensor(data), tensor(source, 1)
    axis = normal_axis(attrs.axis, found.rank)
    begin, end, step = _slice(attrs, found.shape[axis])
    length = canonical(maximum((as_prim(end) - as_prim(begin) + (step - 1)) // step, 0))
    want = (*found.shape[:axis], length, *found.shape[axis + 1 :])
    if given.dtype != found.dtype or given.rank != found.rank:
        raise OpError(f"a tensor of {found.dtype} and rank {found.rank} is expected", 1, kind=operators.RANK)
    if any(equal(one, other) is False for one, other in zip(given.shape, want, strict=True)):
        raise OpError(
            f"the slice has shape {show(want)}, what is put there {show(given.shape)}", 1, kind=operators.SHAPE
        )
    return found


def slice_scatter_numpy(attrs: SliceScatterAttrs, data: Array, source: Array) -> Array:
    """Return the data with ``source`` in the slice."""
    axis = normal_axis(attrs.axis, data.ndim)
    begin, end, step = _slice(attrs, data.shape[axis])
    result = np.array(data)
    result[(slice(None),) * axis + (slice(static(begin), static(end), step),)] = source
    return result


def slice_scatter_compute(attrs: SliceScatterAttrs, out: TensorType, data: te.Tensor, source: te.Tensor) -> te.Tensor:
    """Return each element, of ``source`` inside of the slice."""
    axis = normal_axis(attrs.axis, data.rank)
    first, last, step = _slice(attrs, data.shape[axis])
    begin, end = as_prim(first), as_prim(last)

    def element(*at: PrimExpr) -> PrimExpr:
        index = at[axis]
        hit = logical_and(index >= begin, index < end)
        place: PrimExpr = index - begin
        if step != 1:
            hit, place = logical_and(hit, (place % step).equal(0)), place // step
        return if_then_else(hit, source(*at[:axis], place, *at[axis + 1 :]), data[at])

    return te.compute(out.shape, element, "T_slice_scatter")


OPS = (
    OpDef(
        doc="A copy of the data with values at places whose coordinates are given by one tensor each.",
        source="TVM 0.27 python/tvm/topi/index_put.py",
        inputs=("data", "indices", "values"),
        attrs=IndexPutAttrs,
        infer=index_put_type,
        on_bad_values=LEFT_OUT,
        numpy=index_put_numpy,
        compute=index_put_compute,
        relax=SameOp(),
        script=Script("index_put", "data, indices, values, accumulate=False", since="0.21"),
    ),
    OpDef(
        doc="A copy of the data with another tensor in a slice of one axis.",
        source="TVM 0.27 python/tvm/topi/slice_scatter.py",
        inputs=("input_tensor", "src"),
        attrs=SliceScatterAttrs,
        infer=slice_scatter_type,
        numpy=slice_scatter_numpy,
        compute=slice_scatter_compute,
        relax=SameOp(),
        script=Script(
            "slice_scatter",
            "input_tensor, src, start, end, step, axis=0",
            positional=("start", "end", "step"),
            since="0.21",
        ),
    ),
)
