"""Sorting: whole axes, their order, and the first of them.

All sorts are stable: among equal keys the lower index comes first, also where the order descends.
NaN counts as larger than any number. The definition in TensorIR is a merge sort from the bottom up,
row by row.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common import layout_rules
from relay2relax.ops.common.limits import unless_dtype
from relay2relax.ops.common.order import before, insertion, order_compute, order_numpy, sort_keys
from relay2relax.ops.common.shapes import normal_axis, tensor
from relay2relax.ops.common.stmt_builders import rows
from relay2relax.ops.registry.attributes import Bool, DType, InlineString, Int, OptionalInteger
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, Settled, Tensors, V, Value
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.tensor.dynamic_kernels import topk_extents
from relay2relax.tir import te
from relay2relax.tir.extent import ANY, Extent, Shape, equal, static
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, cast
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.18 src/relay/op/algorithm and src/runtime/contrib/sort"
RELAX_SOURCE = "TVM 0.27 src/relax/op/tensor/sorting.cc"


@dataclass(frozen=True, slots=True)
class ArgsortAttrs:
    """``dtype`` is that of the indices; ``sort`` carries it without meaning."""

    axis: Int = -1
    is_ascend: Bool = True
    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class TopkAttrs:
    """``k`` below 1 keeps the whole axis; it is null where it is an input."""

    k: OptionalInteger
    axis: Int = -1
    ret_type: InlineString = "both"
    is_ascend: Bool = False
    dtype: DType = ""


@dataclass(frozen=True, slots=True)
class RelaxSortAttrs:
    """Relax's fields of ``sort``."""

    axis: Int = -1
    descending: Bool = False


@dataclass(frozen=True, slots=True)
class RelaxArgsortAttrs:
    """Relax's fields of ``argsort``."""

    axis: Int = -1
    descending: Bool = False
    dtype: DType = "int32"


@dataclass(frozen=True, slots=True)
class RelaxTopkAttrs:
    """Relax's fields of ``topk``."""

    k: Int = 1
    axis: Int = -1
    ret_type: InlineString = "both"
    largest: Bool = True
    dtype: DType = "int32"


# Up to here it is quicker to keep the first few in order than to sort everything.
_FEW = 128


def first_compute(data: te.Tensor, axis: int, ascending: bool, count: int) -> te.Tensor:
    """Return the first ``count`` (at least 1) of the indices that sort ``data`` along ``axis``."""
    data = sort_keys(data)
    outer = (*data.shape[:axis], *data.shape[axis + 1 :])
    shape = (*data.shape[:axis], IntImm(count, "int64"), *data.shape[axis + 1 :])

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (x,), (order,) = inputs, outputs

        def row(*at: PrimExpr) -> Stmt:
            def place(i: PrimExpr) -> tuple[PrimExpr, ...]:
                return (*at[:axis], i, *at[axis:])

            def precedes(a: PrimExpr, b: PrimExpr) -> PrimExpr:
                return before(x[place(a)], x[place(b)], ascending)

            return insertion(order, place, data.shape[axis], count, precedes)

        return rows(outer, inputs, outputs, row, "first_row")

    return te.extern([shape], ["int64"], [data], build, "first")[0]


def sorted_compute(data: te.Tensor, order: te.Tensor, axis: int, shape: Sequence[Extent]) -> te.Tensor:
    """Return the elements of ``data`` in ``order``, as many as ``shape`` has."""
    return te.compute(shape, lambda *i: data(*i[:axis], order[i], *i[axis + 1 :]), "sorted")


def indices_compute(order: te.Tensor, shape: Sequence[Extent], dtype: str) -> te.Tensor:
    """Return the indices themselves in ``dtype``."""
    return te.compute(shape, lambda *i: cast(dtype, order[i]), "indices")


# sort, argsort


def _ascending(attrs: Any) -> bool:
    if hasattr(attrs, "is_ascend"):
        return bool(attrs.is_ascend)
    return not attrs.descending if hasattr(attrs, "descending") else not attrs.largest


def sort_type(attrs: ArgsortAttrs | RelaxSortAttrs, data: Type) -> Type:
    """Return the type of the data."""
    found = tensor(data)
    normal_axis(attrs.axis, found.rank)
    return found


def sort_numpy(attrs: ArgsortAttrs | RelaxSortAttrs, data: Array) -> Array:
    """Return the elements in order."""
    order = order_numpy(data, attrs.axis, _ascending(attrs))
    return np.take_along_axis(data, order, attrs.axis)


def sort_compute(attrs: ArgsortAttrs | RelaxSortAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the elements in the order of :func:`order_compute`."""
    axis = normal_axis(attrs.axis, data.rank)
    return sorted_compute(data, order_compute(data, axis, _ascending(attrs)), axis, out.shape)


def sort_relay_type(attrs: ArgsortAttrs, data: Type) -> Type:
    """Return the type of the data; TVM's inference does not look at the axis."""
    return tensor(data)


def argsort_relay_type(attrs: ArgsortAttrs, data: Type) -> Type:
    """Return the shape of the data with indices of ``dtype``; TVM's inference does not look at the
    axis.
    """
    return TensorType(tensor(data).shape, _index_dtype(attrs))


def argsort_type(attrs: ArgsortAttrs | RelaxArgsortAttrs, data: Type) -> Type:
    """Return the shape of the data with indices of ``dtype``."""
    found = tensor(data)
    normal_axis(attrs.axis, found.rank)
    return TensorType(found.shape, _index_dtype(attrs))


def _index_dtype(attrs: ArgsortAttrs | RelaxArgsortAttrs | RelaxTopkAttrs | TopkAttrs) -> str:
    if not attrs.dtype:
        raise OpError("dtype is not given: the indices have no type", kind=operators.DTYPE)
    return str(attrs.dtype)


def argsort_numpy(attrs: ArgsortAttrs | RelaxArgsortAttrs, data: Array) -> Array:
    """Return the indices in order."""
    return np.asarray(order_numpy(data, attrs.axis, _ascending(attrs)), numpy_dtype(attrs.dtype))


def argsort_compute(attrs: ArgsortAttrs | RelaxArgsortAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the order itself."""
    axis = normal_axis(attrs.axis, data.rank)
    return indices_compute(order_compute(data, axis, _ascending(attrs)), out.shape, out.dtype)


# What the sort of TVM's runtime takes.
_SORTED_BY_TVM = ("float32", "float64", "int32", "int64")
_INDEXED_BY_TVM = ("float32", "float64", "int32", "int64")
_UNSORTED = "TVM's sort has kernels for numbers of 32 and 64 bits only, and gives no more than there is"


def sort_relax(e: Emit[V], attrs: ArgsortAttrs, data: V) -> V:
    """R.sort says ``descending``; its kernel has no small dtypes."""
    if tensor(e.type_of(data)).dtype not in _SORTED_BY_TVM:
        return e.as_tir(sort, attrs, (data,), _UNSORTED)
    return e.call("sort", data, axis=attrs.axis, descending=not attrs.is_ascend)


def argsort_relax(e: Emit[V], attrs: ArgsortAttrs, data: V) -> V:
    """R.argsort says ``descending``; its kernel has no small dtypes."""
    if tensor(e.type_of(data)).dtype not in _SORTED_BY_TVM or attrs.dtype not in _INDEXED_BY_TVM:
        return e.as_tir(argsort, attrs, (data,), _UNSORTED)
    return e.call("argsort", data, axis=attrs.axis, descending=not attrs.is_ascend, dtype=attrs.dtype)


# topk


def relax_topk_type(attrs: RelaxTopkAttrs, data: Type) -> Type:
    """Return values, indices or both, ``k`` along the axis, or all of a number of elements that is
    less.
    """
    extent = static(tensor(data).shape[normal_axis(attrs.axis, tensor(data).rank)])
    return topk_type(attrs if extent is None or attrs.k <= extent else replace(attrs, k=extent), data)


def topk_type(attrs: RelaxTopkAttrs | TopkAttrs, data: Type, *k: Type) -> Type:
    """Return values, indices or both, ``k`` along the axis; ``?`` where ``k`` is an input."""
    found = tensor(data)
    axis = normal_axis(attrs.axis, found.rank)
    for one in k:
        given = tensor(one, 1)
        if given.rank > 1 or (given.rank == 1 and equal(given.shape[0], 1) is False):
            raise OpError(mistake(operators.SHAPE, what="k", shape=show(given.shape), expected="one number"), 1)
    count = ANY if k or attrs.k is None else attrs.k if attrs.k >= 1 else found.shape[axis]
    shape = (*found.shape[:axis], count, *found.shape[axis + 1 :])
    values, indices = TensorType(shape, found.dtype), TensorType(shape, attrs.dtype)
    if attrs.ret_type == "values":
        return values
    if attrs.ret_type not in ("both", "indices"):
        raise OpError(
            mistake(
                operators.ATTRIBUTE,
                name="ret_type",
                value=repr(attrs.ret_type),
                expected="'both', 'values' or 'indices'",
            )
        )
    _index_dtype(attrs)
    return indices if attrs.ret_type == "indices" else TupleType((values, indices))


def _check_first(count: int | None, extent: int | None) -> None:
    if count is not None and extent is not None and count > extent:
        raise OpError(f"the first {count} of {extent} elements do not exist", 0, kind=operators.SHAPE)


def topk_numpy(attrs: Any, data: Array, *given: Array) -> Value:
    """Return the first ``k`` of the sorted axis. Raises OpError where the axis is shorter."""
    k = int(given[0].reshape(())) if given else attrs.k
    extent = data.shape[attrs.axis]
    _check_first(k, extent)
    order = order_numpy(data, attrs.axis, _ascending(attrs))
    order = np.take(order, np.arange(k if k >= 1 else extent), attrs.axis)
    values = np.take_along_axis(data, order, attrs.axis)
    if attrs.ret_type == "values":
        return values
    indices = order.astype(numpy_dtype(attrs.dtype))
    return indices if attrs.ret_type == "indices" else (values, indices)


def dyn_topk_numpy(attrs: TopkAttrs, data: Array, k: Array) -> Value:
    """Return the first ``k`` of the sorted axis, or all where there are fewer."""
    return topk_numpy(replace(attrs, k=min(int(k.reshape(()).astype(np.int64)), data.shape[attrs.axis])), data)


def topk_compute(attrs: RelaxTopkAttrs | TopkAttrs, out: Type, data: te.Tensor, *k: te.Tensor) -> Tensors:
    """Return the first of the sorted axis, as many as ``out`` has."""
    axis = normal_axis(attrs.axis, data.rank)
    first = tensor(out.fields[0] if isinstance(out, TupleType) else out)
    count, extent = static(first.shape[axis]), static(data.shape[axis])
    _check_first(count, extent)
    few = count is not None and 0 < count <= _FEW and (extent is None or 2 * count <= extent)
    if few and count is not None:
        order = first_compute(data, axis, _ascending(attrs), count)
    else:
        order = order_compute(data, axis, _ascending(attrs))
    if attrs.ret_type == "indices":
        return indices_compute(order, first.shape, attrs.dtype)
    values = sorted_compute(data, order, axis, first.shape)
    return values if attrs.ret_type == "values" else (values, indices_compute(order, first.shape, attrs.dtype))


def topk_relax(e: Emit[V], attrs: TopkAttrs, data: V) -> V:
    """R.topk says ``largest``; its kernel has no small dtypes, and cannot take more than there
    is.
    """
    found = tensor(e.type_of(data))
    indexed = attrs.ret_type == "values" or attrs.dtype in _INDEXED_BY_TVM
    if found.dtype not in _SORTED_BY_TVM or not indexed or not attrs.k or attrs.k < 1:
        return e.as_tir(topk, attrs, (data,), _UNSORTED)
    return e.call(
        "topk",
        data,
        k=attrs.k,
        axis=attrs.axis,
        ret_type=attrs.ret_type,
        largest=not attrs.is_ascend,
        dtype=attrs.dtype or "int32",
    )


def dyn_topk_relax(e: Emit[V], attrs: TopkAttrs, data: V, k: V) -> V:
    """A ``k`` that is a constant is like one among the attributes."""
    value = e.constant_of(k)
    if value is None or value.size != 1:
        return e.as_tir(dyn_topk, attrs, (data, k), "k is not known beforehand")
    return topk_relax(e, replace(attrs, k=int(value.reshape(()))), data)


def dyn_topk_settled(attrs: TopkAttrs, numbers: tuple[Shape | None, ...]) -> Settled | None:
    """A ``k`` that is known beforehand is one among the attributes."""
    given = numbers[1]
    k = static(given[0]) if given is not None and len(given) == 1 else None
    return None if k is None else (topk, replace(attrs, k=k), (0,))


# Records

sort = OpDef(
    relay="sort",
    doc="The elements along an axis in order.",
    source=f"{SOURCE}, sort",
    inputs=("data",),
    attrs=ArgsortAttrs,
    infer=sort_type,
    relay_type=sort_relay_type,
    numpy=sort_numpy,
    compute=sort_compute,
    relax=Expanded(sort_relax),
)

_ONLY_WIDE = unless_dtype("apache-tvm sorts numbers of 32 and 64 bits only", "float32", "float64", "int32", "int64")

relax_sort = OpDef(
    doc="The elements along an axis in order.",
    source=RELAX_SOURCE,
    inputs=("x",),
    attrs=RelaxSortAttrs,
    infer=sort_type,
    numpy=sort_numpy,
    compute=sort_compute,
    relax=SameOp(),
    script=Script("sort", "x, axis=-1, descending=False", limits=(_ONLY_WIDE,)),
)

argsort = OpDef(
    relay="argsort",
    doc="The indices that put an axis in order; equal keys keep theirs.",
    source=f"{SOURCE}, argsort",
    inputs=("data",),
    attrs=ArgsortAttrs,
    infer=argsort_type,
    relay_type=argsort_relay_type,
    numpy=argsort_numpy,
    compute=argsort_compute,
    relax=Expanded(argsort_relax),
)

relax_argsort = OpDef(
    doc="The indices that put an axis in order.",
    source=RELAX_SOURCE,
    inputs=("data",),
    attrs=RelaxArgsortAttrs,
    infer=argsort_type,
    numpy=argsort_numpy,
    compute=argsort_compute,
    relax=SameOp(),
    script=Script("argsort", "data, axis=-1, descending=False, dtype='int32'", limits=(_ONLY_WIDE,)),
)

topk = OpDef(
    relay="topk",
    doc="The first k along an axis in descending (or ascending) order, their indices, or both.",
    source=f"{SOURCE}, topk",
    inputs=("data",),
    attrs=TopkAttrs,
    infer=topk_type,
    numpy=topk_numpy,
    compute=topk_compute,
    relax=Expanded(topk_relax),
    layout=layout_rules.topk,
)

dyn_topk = OpDef(
    relay="dyn.topk",
    doc="The first k along an axis, or all where there are fewer; k is an input.",
    source=f"{SOURCE}, dyn.topk",
    inputs=("data", "k"),
    attrs=TopkAttrs,
    infer=topk_type,
    on_bad_values="A k below 1, or above the extent, is the extent.",
    numpy=dyn_topk_numpy,
    compute=topk_compute,
    relax=Expanded(dyn_topk_relax),
    extents=topk_extents,
    settle=dyn_topk_settled,
    fusion=Fusion(reads_shape=True),
)

relax_topk = OpDef(
    doc="The first k along an axis, or all where there are fewer, their indices, or both.",
    source=RELAX_SOURCE,
    inputs=("data",),
    attrs=RelaxTopkAttrs,
    infer=relax_topk_type,
    numpy=topk_numpy,
    compute=topk_compute,
    relax=SameOp(),
    script=Script("topk", "data, k=1, axis=-1, ret_type='both', largest=True, dtype='int32'", limits=(_ONLY_WIDE,)),
)

OPS = (sort, relax_sort, argsort, relax_argsort, topk, dyn_topk, relax_topk)
