"""Sorting, the first of a sorted axis, positions in sorted sequences, and distinct elements.

All sorts are stable: among equal keys the lower index comes first, also where the order descends. NaN counts as larger
than any number. The definition in TensorIR is a merge sort from the bottom up, row by row.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_float, numpy_dtype, of_array
from relay2relax.ops.attributes import Bool, DType, InlineString, Int, OptionalInteger
from relay2relax.ops.imperative import Cell, let, local, loop, repeat_while, rows, seq, store, when
from relay2relax.ops.record import Emit, Expanded, OpDef, OpError, SameOp, Script, V
from relay2relax.ops.shapes import normal_axis, show, tensor
from relay2relax.ops.types import TensorType, TupleType, Type
from relay2relax.tir import te
from relay2relax.tir.expr import Buffer, IntImm, Not, PrimExpr, Select, binary, cast, const, logical_and, minimum
from relay2relax.tir.extent import ANY, ceildiv, equal, mul, static
from relay2relax.tir.intrinsics import call
from relay2relax.tir.stmt import Stmt

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
class SearchSortedAttrs:
    """``right`` gives the place after equal elements."""

    right: Bool = False
    dtype: DType = "int32"


@dataclass(frozen=True, slots=True)
class UniqueAttrs:
    """``sorted`` false keeps the order of first occurrence."""

    sorted: Bool = True
    return_counts: Bool = False


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


@dataclass(frozen=True, slots=True)
class BucketizeAttrs:
    """``out_int32`` gives int32 in place of int64."""

    out_int32: Bool = False
    right: Bool = False


# The order of an axis


def order_numpy(data: Array, axis: int, ascending: bool) -> Any:
    """Return the indices (int64) that sort ``data`` along ``axis``."""
    keys = data.astype(np.float32) if of_array(data) == "bfloat16" else data
    if ascending:
        return np.argsort(keys, axis=axis, kind="stable")
    # Backwards over the reversed axis equal keys keep their order.
    backwards = np.argsort(np.flip(keys, axis), axis=axis, kind="stable")
    return data.shape[axis] - 1 - np.flip(backwards, axis)


def before(a: PrimExpr, b: PrimExpr, ascending: bool) -> PrimExpr:
    """Return whether key ``a`` comes before key ``b``, both ways false where they are equal."""
    if not ascending:
        return before(b, a, True)
    if a.dtype == "bool":
        a, b = cast("int32", a), cast("int32", b)
    if a.dtype == "bfloat16":
        a, b = cast("float32", a), cast("float32", b)
    if not is_float(a.dtype):
        return a < b
    number = Not(call("isnan", a, dtype="bool"))
    return binary("or", a < b, logical_and(number, call("isnan", b, dtype="bool")))


def merge_sort(order: Buffer, scratch: Buffer, place: Any, extent: PrimExpr, precedes: Any) -> Stmt:
    """Return the statements that fill ``order`` with the indices [0, extent) of a row, sorted.

    ``place(i)`` is where entry ``i`` of the row lies in both buffers; ``precedes(a, b)`` says whether index ``a`` has
    to come before index ``b``.
    """
    last = extent - 1

    def merge(width: PrimExpr, pair: PrimExpr) -> Stmt:
        low = pair * width * 2
        middle, high = minimum(low + width, extent), minimum(low + width * 2, extent)

        def step(left: Cell, right: Cell, k: PrimExpr) -> Stmt:
            # A run that is used up is not looked at again; the clipped place only keeps the load inside.
            first, second = order[place(minimum(left.value, last))], order[place(minimum(right.value, last))]
            wins = logical_and(right.value < high, precedes(second, first))

            def put(take: PrimExpr) -> Stmt:
                return seq(
                    store(scratch, place(low + k), Select(take, second, first)),
                    when(take, right.add(1), left.add(1)),
                )

            return let(binary("or", left.value >= middle, wins), put, "from_right")

        return local(
            "int64",
            low,
            lambda left: local(
                "int64", middle, lambda right: loop(high - low, lambda k: step(left, right, k), "k"), "right"
            ),
            "left",
        )

    def passes(width: Cell) -> Stmt:
        return repeat_while(
            width.value < extent,
            seq(
                loop(ceildiv(extent, mul(width.value, 2)), lambda pair: merge(width.value, pair), "pair"),
                loop(extent, lambda i: store(order, place(i), scratch[place(i)])),
                width.set(width.value * 2),
            ),
        )

    return seq(loop(extent, lambda i: store(order, place(i), i)), local("int64", 1, passes, "width"))


def order_compute(data: te.Tensor, axis: int, ascending: bool) -> te.Tensor:
    """Return the indices (int64) that sort ``data`` along ``axis``, in its shape."""
    outer = (*data.shape[:axis], *data.shape[axis + 1 :])

    def build(inputs: Any, outputs: Any) -> Stmt:
        (x,), (order, scratch) = inputs, outputs

        def row(*at: PrimExpr) -> Stmt:
            def place(i: PrimExpr) -> tuple[PrimExpr, ...]:
                return (*at[:axis], i, *at[axis:])

            def precedes(a: PrimExpr, b: PrimExpr) -> PrimExpr:
                return before(x[place(a)], x[place(b)], ascending)

            return merge_sort(order, scratch, place, data.shape[axis], precedes)

        return rows(outer, inputs, outputs, row, "sort_row")

    return te.extern([data.shape, data.shape], ["int64", "int64"], [data], build, "order")[0]


def sorted_compute(data: te.Tensor, order: te.Tensor, axis: int, shape: Any) -> te.Tensor:
    """Return the elements of ``data`` in ``order``, as many as ``shape`` has."""
    result: te.Tensor = te.compute(shape, lambda *i: data(*i[:axis], order[i], *i[axis + 1 :]), "sorted")
    return result


def indices_compute(order: te.Tensor, shape: Any, dtype: str) -> te.Tensor:
    """Return the indices themselves in ``dtype``."""
    result: te.Tensor = te.compute(shape, lambda *i: cast(dtype, order[i]), "indices")
    return result


# sort, argsort


def _ascending(attrs: Any) -> bool:
    if hasattr(attrs, "is_ascend"):
        return bool(attrs.is_ascend)
    return not attrs.descending if hasattr(attrs, "descending") else not attrs.largest


def sort_type(attrs: Any, data: Type) -> Type:
    """Return the type of the data."""
    found = tensor(data)
    normal_axis(attrs.axis, found.rank)
    return found


def sort_numpy(attrs: Any, data: Array) -> Array:
    """Return the elements in order."""
    order = order_numpy(data, attrs.axis, _ascending(attrs))
    return np.take_along_axis(data, order, attrs.axis)


def sort_compute(attrs: Any, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the elements in the order of :func:`order_compute`."""
    axis = normal_axis(attrs.axis, data.rank)
    return sorted_compute(data, order_compute(data, axis, _ascending(attrs)), axis, out.shape)


def argsort_type(attrs: Any, data: Type) -> Type:
    """Return the shape of the data with indices of ``dtype``."""
    found = tensor(data)
    normal_axis(attrs.axis, found.rank)
    return TensorType(found.shape, _index_dtype(attrs))


def _index_dtype(attrs: Any) -> str:
    if not attrs.dtype:
        raise OpError("dtype is not given: the indices have no type")
    return str(attrs.dtype)


def argsort_numpy(attrs: Any, data: Array) -> Array:
    """Return the indices in order."""
    return np.asarray(order_numpy(data, attrs.axis, _ascending(attrs)), numpy_dtype(attrs.dtype))


def argsort_compute(attrs: Any, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the order itself."""
    axis = normal_axis(attrs.axis, data.rank)
    return indices_compute(order_compute(data, axis, _ascending(attrs)), out.shape, out.dtype)


# What the sort of TVM's runtime takes.
_SORTED_BY_TVM = ("float32", "float64", "int32", "int64")
_INDEXED_BY_TVM = ("float32", "float64", "int32", "int64")


def sort_relax(e: Emit[V], attrs: ArgsortAttrs, data: V) -> V:
    """R.sort says ``descending``; its kernel has no small dtypes."""
    if tensor(e.type_of(data)).dtype not in _SORTED_BY_TVM:
        return e.as_tir(sort, attrs, (data,))
    return e.call("sort", data, axis=attrs.axis, descending=not attrs.is_ascend)


def argsort_relax(e: Emit[V], attrs: ArgsortAttrs, data: V) -> V:
    """R.argsort says ``descending``; its kernel has no small dtypes."""
    if tensor(e.type_of(data)).dtype not in _SORTED_BY_TVM or attrs.dtype not in _INDEXED_BY_TVM:
        return e.as_tir(argsort, attrs, (data,))
    return e.call("argsort", data, axis=attrs.axis, descending=not attrs.is_ascend, dtype=attrs.dtype)


# topk


def topk_type(attrs: Any, data: Type, *k: Type) -> Type:
    """Return values, indices or both, ``k`` along the axis; ``?`` where ``k`` is an input."""
    found = tensor(data)
    axis = normal_axis(attrs.axis, found.rank)
    for one in k:
        given = tensor(one, 1)
        if given.rank > 1 or (given.rank == 1 and equal(given.shape[0], 1) is False):
            raise OpError(f"k is a number, but has shape {show(given.shape)}", 1)
    count = ANY if k or attrs.k is None else attrs.k if attrs.k >= 1 else found.shape[axis]
    shape = (*found.shape[:axis], count, *found.shape[axis + 1 :])
    values, indices = TensorType(shape, found.dtype), TensorType(shape, attrs.dtype)
    if attrs.ret_type == "values":
        return values
    if attrs.ret_type not in ("both", "indices"):
        raise OpError(f"ret_type is {attrs.ret_type!r}; it may be 'both', 'values' or 'indices'")
    _index_dtype(attrs)
    return indices if attrs.ret_type == "indices" else TupleType((values, indices))


def topk_numpy(attrs: Any, data: Array, *given: Array) -> Any:
    """Return the first ``k`` of the sorted axis. Raises OpError where the axis is shorter."""
    k = int(given[0].reshape(())) if given else attrs.k
    extent = data.shape[attrs.axis]
    if k > extent:
        raise OpError(f"the first {k} of {extent} elements do not exist", 0)
    order = order_numpy(data, attrs.axis, _ascending(attrs))
    order = np.take(order, np.arange(k if k >= 1 else extent), attrs.axis)
    values = np.take_along_axis(data, order, attrs.axis)
    if attrs.ret_type == "values":
        return values
    indices = order.astype(numpy_dtype(attrs.dtype))
    return indices if attrs.ret_type == "indices" else (values, indices)


def topk_compute(attrs: Any, out: Type, data: te.Tensor, *k: te.Tensor) -> Any:
    """Return the first of the sorted axis, as many as ``out`` has."""
    axis = normal_axis(attrs.axis, data.rank)
    first = tensor(out.fields[0] if isinstance(out, TupleType) else out)
    count, extent = static(first.shape[axis]), static(data.shape[axis])
    if count is not None and extent is not None and count > extent:
        raise OpError(f"the first {count} of {extent} elements do not exist", 0)
    order = order_compute(data, axis, _ascending(attrs))
    if attrs.ret_type == "indices":
        return indices_compute(order, first.shape, attrs.dtype)
    values = sorted_compute(data, order, axis, first.shape)
    return values if attrs.ret_type == "values" else (values, indices_compute(order, first.shape, attrs.dtype))


def topk_relax(e: Emit[V], attrs: TopkAttrs, data: V) -> V:
    """R.topk says ``largest``; its kernel has no small dtypes, and cannot take more than there is."""
    found = tensor(e.type_of(data))
    indexed = attrs.ret_type == "values" or attrs.dtype in _INDEXED_BY_TVM
    if found.dtype not in _SORTED_BY_TVM or not indexed or not attrs.k or attrs.k < 1:
        return e.as_tir(topk, attrs, (data,))
    return e.call(
        "topk",
        data,
        k=attrs.k,
        axis=attrs.axis,
        ret_type=attrs.ret_type,
        largest=not attrs.is_ascend,
        dtype=attrs.dtype or "int32",
    )


# searchsorted


def searchsorted_type(attrs: SearchSortedAttrs, sorted_sequence: Type, values: Type) -> Type:
    """Return the shape of the values; the sequence has one dimension, or the values' leading ones."""
    sequence, found = tensor(sorted_sequence), tensor(values, 1)
    if sequence.rank == 0:
        raise OpError("a sequence is expected, this is a number", 0)
    if sequence.rank > 1:
        leading = zip(sequence.shape[:-1], found.shape[:-1], strict=False)
        if sequence.rank != found.rank or any(equal(a, b) is False for a, b in leading):
            raise OpError(f"sequences of shape {show(sequence.shape)} do not belong to values {show(found.shape)}", 1)
    return TensorType(found.shape, attrs.dtype)


def searchsorted_numpy(attrs: SearchSortedAttrs, sorted_sequence: Array, values: Array) -> Array:
    """Return the places by a binary search of all values at once."""
    extent = sorted_sequence.shape[-1]
    low: Any = np.zeros(values.shape, np.int64)
    high: Any = np.full(values.shape, extent, np.int64)
    for _ in range(extent.bit_length()):
        middle = (low + high) // 2
        inside = np.minimum(middle, max(extent - 1, 0))
        if sorted_sequence.ndim == 1:
            found = sorted_sequence[inside]
        else:
            found = np.take_along_axis(sorted_sequence, inside, -1)
        further = (found <= values if attrs.right else found < values) & (low < high)
        low, high = np.where(further, middle + 1, low), np.where(further, high, middle)
    return np.asarray(low, numpy_dtype(attrs.dtype))


def searchsorted_compute(attrs: Any, out: TensorType, sequence: te.Tensor, values: te.Tensor) -> te.Tensor:
    """Return the places by a binary search for each value."""
    extent = sequence.shape[-1]

    def build(inputs: Any, outputs: Any) -> Stmt:
        (ordered, wanted), (found,) = inputs, outputs

        def row(*at: PrimExpr) -> Stmt:
            lead = at[: sequence.rank - 1]

            def halve(low: Cell, high: Cell) -> Stmt:
                def decide(middle: PrimExpr) -> Stmt:
                    place = (*lead, middle)
                    here, value = ordered[place], wanted[at]
                    if here.dtype != value.dtype:
                        here, value = cast("float64", here), cast("float64", value)
                    further = here <= value if attrs.right else here < value
                    return when(further, low.set(middle + 1), high.set(middle))

                return seq(
                    repeat_while(low.value < high.value, let((low.value + high.value) // 2, decide, "middle")),
                    store(found, at, cast(out.dtype, low.value)),
                )

            return local("int64", 0, lambda low: local("int64", extent, lambda high: halve(low, high), "high"), "low")

        return rows(values.shape, inputs, outputs, row, "search")

    return te.extern([out.shape], [out.dtype], [sequence, values], build, "searchsorted")[0]


def searchsorted_relax(e: Emit[V], attrs: SearchSortedAttrs, sorted_sequence: V, values: V) -> V:
    """R.bucketize takes one sequence, and gives int32 or int64."""
    one = tensor(e.type_of(sorted_sequence)).rank == 1
    if not one or attrs.dtype not in ("int32", "int64"):
        return e.as_tir(searchsorted, attrs, (sorted_sequence, values))
    return e.call("bucketize", values, sorted_sequence, out_int32=attrs.dtype == "int32", right=attrs.right)


def _search(attrs: BucketizeAttrs) -> SearchSortedAttrs:
    return SearchSortedAttrs(attrs.right, "int32" if attrs.out_int32 else "int64")


# unique


def unique_type(attrs: UniqueAttrs, data: Type) -> Type:
    """Return (elements, first places, inverse, number, counts); all but the number as long as the data."""
    found = tensor(data)
    if found.rank != 1:
        raise OpError(f"a tensor of one dimension is expected, this has shape {show(found.shape)}", 0)
    places = TensorType(found.shape, "int32")
    counts = (places,) if attrs.return_counts else ()
    return TupleType((found, places, places, TensorType((1,), "int32"), *counts))


def unique_numpy(attrs: UniqueAttrs, data: Array) -> tuple[Array, ...]:
    """Return the distinct elements, filled up with zeros as TVM leaves undefined memory."""
    order = order_numpy(data, 0, True)
    ordered = data[order]
    starts = np.ones(data.shape, np.bool_)
    starts[1:] = ordered[1:] != ordered[:-1]
    group = np.cumsum(starts) - 1
    first = order[starts]
    names = np.arange(len(first))
    if not attrs.sorted:
        by_place = np.argsort(first, kind="stable")
        names[by_place] = np.arange(len(first))
        first = first[by_place]
    inverse = np.empty(data.shape, np.int32)
    inverse[order] = names[group]
    places, counts = np.zeros(data.shape, np.int32), np.zeros(data.shape, np.int32)
    places[: len(first)] = first
    counts[: len(first)] = np.bincount(inverse, minlength=len(first))
    elements = np.zeros_like(data)
    elements[: len(first)] = data[first]
    result = (elements, places, inverse, np.array([len(first)], np.int32))
    return (*result, counts) if attrs.return_counts else result


def unique_compute(attrs: UniqueAttrs, out: TupleType, data: te.Tensor) -> tuple[te.Tensor, ...]:
    """Return the groups of equal neighbours in sorted order, named as they come or by their first places."""
    extent = data.shape[0]
    order = order_compute(data, 0, True)
    fields = [tensor(one) for one in out.fields]

    def build(inputs: Any, outputs: Any) -> Stmt:
        x, ordered = inputs
        elements, places, inverse, number, *rest = outputs
        leader = rest.pop() if not attrs.sorted else None

        def named(place: PrimExpr, name: PrimExpr, new: PrimExpr) -> Stmt:
            """The element at ``place`` belongs to group ``name``, whose first element it is where ``new``."""
            started = [store(elements, (name,), x[place]), store(places, (name,), cast("int32", place))]
            counted = [store(counts, (name,), counts[name] + 1) for counts in rest]
            return seq(when(new, seq(*started)), store(inverse, (place,), cast("int32", name)), *counted)

        def is_new(k: PrimExpr) -> PrimExpr:
            previous = ordered[Select(k > 0, k - 1, IntImm(0))]
            return binary("or", k.equal(0), binary("!=", x[ordered[k]], x[previous]))

        def in_order(count: Cell) -> Stmt:
            def step(k: PrimExpr) -> Stmt:
                return let(
                    is_new(k),
                    lambda new: seq(when(new, count.add(1)), named(ordered[k], count.value - 1, new)),
                    "new",
                )

            return seq(loop(extent, step, "k"), store(number, (0,), cast("int32", count.value)))

        def by_place(count: Cell) -> Stmt:
            assert leader is not None

            def mark(first: Cell) -> Stmt:
                def step(k: PrimExpr) -> Stmt:
                    return seq(when(is_new(k), first.set(ordered[k])), store(leader, (ordered[k],), first.value))

                return loop(extent, step, "k")

            def step(i: PrimExpr) -> Stmt:
                # A leader comes before all other elements of its group.
                def give(new: PrimExpr) -> Stmt:
                    name = Select(new, count.value, cast("int64", inverse[leader[i]]))
                    return let(name, lambda n: seq(named(i, n, new), when(new, count.add(1))), "name")

                return let(leader[i].equal(i), give, "new")

            return seq(
                local("int64", 0, mark, "first"),
                loop(extent, step),
                store(number, (0,), cast("int32", count.value)),
            )

        def clear(i: PrimExpr) -> Stmt:
            zero = const(0, data.dtype)
            cleared = [store(elements, (i,), zero), store(places, (i,), 0), store(inverse, (i,), 0)]
            return seq(*cleared, *(store(counts, (i,), 0) for counts in rest))

        return seq(loop(extent, clear), local("int64", 0, in_order if attrs.sorted else by_place, "count"))

    shapes: list[Any] = [one.shape for one in fields]
    dtypes = [one.dtype for one in fields]
    if not attrs.sorted:
        shapes, dtypes = [*shapes, data.shape], [*dtypes, "int64"]
    return te.extern(shapes, dtypes, [data, order], build, "unique")[: len(fields)]


# Records

sort = OpDef(
    relay="sort",
    doc="The elements along an axis in order.",
    source=f"{SOURCE}, sort",
    inputs=("data",),
    attrs=ArgsortAttrs,
    attrs_key="relay.attrs.ArgsortAttrs",
    infer=sort_type,
    numpy=sort_numpy,
    compute=sort_compute,
    relax=Expanded(sort_relax),
)

relax_sort = OpDef(
    doc="The elements along an axis in order.",
    source=RELAX_SOURCE,
    inputs=("x",),
    attrs=RelaxSortAttrs,
    infer=sort_type,
    numpy=sort_numpy,
    compute=sort_compute,
    relax=SameOp(),
    script=Script("sort"),
)

argsort = OpDef(
    relay="argsort",
    doc="The indices that put an axis in order; equal keys keep theirs.",
    source=f"{SOURCE}, argsort",
    inputs=("data",),
    attrs=ArgsortAttrs,
    attrs_key="relay.attrs.ArgsortAttrs",
    infer=argsort_type,
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
    script=Script("argsort"),
)

topk = OpDef(
    relay="topk",
    doc="The first k along an axis in descending (or ascending) order, their indices, or both.",
    source=f"{SOURCE}, topk",
    inputs=("data",),
    attrs=TopkAttrs,
    attrs_key="relay.attrs.TopkAttrs",
    infer=topk_type,
    numpy=topk_numpy,
    compute=topk_compute,
    relax=Expanded(topk_relax),
)

dyn_topk = OpDef(
    relay="dyn.topk",
    doc="The first k along an axis, where k is an input.",
    source=f"{SOURCE}, dyn.topk",
    inputs=("data", "k"),
    attrs=TopkAttrs,
    attrs_key="relay.attrs.TopkAttrs",
    infer=topk_type,
    numpy=topk_numpy,
    compute=topk_compute,
)

relax_topk = OpDef(
    doc="The first k along an axis, their indices, or both.",
    source=RELAX_SOURCE,
    inputs=("data",),
    attrs=RelaxTopkAttrs,
    infer=topk_type,
    numpy=topk_numpy,
    compute=topk_compute,
    relax=SameOp(),
    script=Script("topk"),
)

searchsorted = OpDef(
    relay="searchsorted",
    doc="Where values would have to be inserted to keep an ascending sequence ascending.",
    source=f"{SOURCE}, searchsorted",
    inputs=("sorted_sequence", "values"),
    attrs=SearchSortedAttrs,
    attrs_key="relay.attrs.SearchSortedAttrs",
    infer=searchsorted_type,
    numpy=searchsorted_numpy,
    compute=searchsorted_compute,
    relax=Expanded(searchsorted_relax),
)

bucketize = OpDef(
    doc="The bucket between ascending boundaries that each value falls into.",
    source="TVM 0.27 src/relax/op/tensor/search.cc",
    inputs=("input_tensor", "boundaries"),
    attrs=BucketizeAttrs,
    infer=lambda attrs, values, boundaries: searchsorted_type(_search(attrs), boundaries, values),
    numpy=lambda attrs, values, boundaries: searchsorted_numpy(_search(attrs), boundaries, values),
    compute=lambda attrs, out, values, boundaries: searchsorted_compute(_search(attrs), out, boundaries, values),
    relax=SameOp(),
    script=Script("bucketize"),
)

unique = OpDef(
    relay="unique",
    doc="The distinct elements of a tensor of one dimension, where they first stand, and which one each element is.",
    source="TVM 0.18 python/tvm/topi/unique.py",
    inputs=("data",),
    attrs=UniqueAttrs,
    attrs_key="relay.attrs.UniqueAttrs",
    declares_attrs=False,
    infer=unique_type,
    numpy=unique_numpy,
    compute=unique_compute,
)

OPS = (
    sort,
    relax_sort,
    argsort,
    relax_argsort,
    topk,
    dyn_topk,
    relax_topk,
    searchsorted,
    bucketize,
    unique,
)
