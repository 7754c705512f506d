"""Searching: places in sorted sequences, and the distinct elements of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core.dtype import Array, Numbers, is_float, numpy_dtype
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.narrow_floats import floating_test
from relay2relax.ops.common.order import order_compute, order_numpy
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, let, local, loop, repeat_while, rows, seq, store, when
from relay2relax.ops.registry.attributes import Bool, DType
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, SameOp, V
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.tensor.sorting import SOURCE
from relay2relax.tir import te
from relay2relax.tir.extent import Shape, equal
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Select, binary, cast, const
from relay2relax.tir.ir.stmt import Stmt


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
class BucketizeAttrs:
    """``out_int32`` gives int32 in place of int64."""

    out_int32: Bool = False
    right: Bool = False


# searchsorted


def searchsorted_type(attrs: SearchSortedAttrs, sorted_sequence: Type, values: Type) -> Type:
    """Return the shape of the values.

    The sequence has one dimension, or the values' leading ones.
    """
    sequence, found = tensor(sorted_sequence), tensor(values, 1)
    if sequence.rank == 0:
        raise OpError("a sequence is expected, this is a number", 0, kind=operators.DTYPE)
    if sequence.rank > 1:
        leading = zip(sequence.shape[:-1], found.shape[:-1], strict=False)
        if sequence.rank != found.rank or any(equal(a, b) is False for a, b in leading):
            raise OpError(
                f"sequences of shape {show(sequence.shape)} do not belong to values {show(found.shape)}",
                1,
                kind=operators.SHAPE,
            )
    return TensorType(found.shape, attrs.dtype)


def searchsorted_numpy(attrs: SearchSortedAttrs, sorted_sequence: Array, values: Array) -> Array:
    """Return the places by a binary search of all values at once."""
    extent = sorted_sequence.shape[-1]
    low: Numbers = np.zeros(values.shape, np.int64)
    high: Numbers = np.full(values.shape, extent, np.int64)
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


def searchsorted_compute(
    attrs: BucketizeAttrs | SearchSortedAttrs, out: TensorType, sequence: te.Tensor, values: te.Tensor
) -> te.Tensor:
    """Return the places by a binary search for each value."""
    extent = sequence.shape[-1]

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (ordered, wanted), (found,) = inputs, outputs

        def row(*at: PrimExpr) -> Stmt:
            lead = at[: sequence.rank - 1]

            def halve(low: Cell, high: Cell) -> Stmt:
                def decide(middle: PrimExpr) -> Stmt:
                    place = (*lead, middle)
                    here: PrimExpr = ordered[place]
                    value: PrimExpr = wanted[at]
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
        return e.as_tir(
            searchsorted, attrs, (sorted_sequence, values), "R.bucketize takes one sequence, and gives int32 or int64"
        )
    return e.call("bucketize", values, sorted_sequence, out_int32=attrs.dtype == "int32", right=attrs.right)


def _search(attrs: BucketizeAttrs) -> SearchSortedAttrs:
    return SearchSortedAttrs(attrs.right, "int32" if attrs.out_int32 else "int64")


# unique


def unique_type(attrs: UniqueAttrs, data: Type) -> Type:
    """Return (elements, first places, inverse, number, counts).

    All but the number as long as the data.
    """
    found = tensor(data)
    if found.rank != 1:
        raise OpError(mistake(operators.SHAPE, what="the tensor", shape=show(found.shape), expected="one dimension"), 0)
    places = TensorType(found.shape, "int32")
    counts = (places,) if attrs.return_counts else ()
    return TupleType((found, places, places, TensorType((1,), "int32"), *counts))


def unique_numpy(attrs: UniqueAttrs, data: Array) -> tuple[Array, ...]:
    """Return the distinct elements, then zeros (TVM leaves memory as it is there), their places,
    then past the end.
    """
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
    places, counts = np.full(data.shape, data.size, np.int32), np.zeros(data.shape, np.int32)
    places[: len(first)] = first
    counts[: len(first)] = np.bincount(inverse, minlength=len(first))
    elements = np.zeros_like(data)
    elements[: len(first)] = data[first]
    result = (elements, places, inverse, np.array([len(first)], np.int32))
    return (*result, counts) if attrs.return_counts else result


@dataclass(frozen=True, slots=True)
class _Groups:
    """The statements that gather equal elements of ``x``, whose indices ``order`` holds sorted.

    ``leader`` holds the first place of each element's group where groups are named as they come.
    """

    x: Buffer
    order: Buffer
    elements: Buffer
    places: Buffer
    inverse: Buffer
    number: Buffer
    counts: Buffer | None
    leader: Buffer | None
    extent: PrimExpr

    def named(self, place: PrimExpr, name: PrimExpr, new: PrimExpr) -> Stmt:
        """The element at ``place`` belongs to group ``name``, whose first element it is where
        ``new``.
        """
        started = [
            store(self.elements, (name,), self.x[place]),
            store(self.places, (name,), cast("int32", place)),
        ]
        counted = [] if self.counts is None else [store(self.counts, (name,), self.counts[name] + 1)]
        return seq(when(new, seq(*started)), store(self.inverse, (place,), cast("int32", name)), *counted)

    def is_new(self, k: PrimExpr) -> PrimExpr:
        """Whether a group begins at place ``k`` of the order."""
        one, previous = self.x[self.order[k]], self.x[self.order[Select(k > 0, k - 1, IntImm(0))]]
        begins = binary("or", k.equal(0), binary("!=", one, previous))
        # TVM compares ordered: a NaN would be no other than the number before it.
        return binary("or", begins, floating_test("isnan")(one)) if is_float(one.dtype) else begins

    def in_order(self, count: Cell) -> Stmt:
        """Name the groups as they come in sorted order."""

        def step(k: PrimExpr) -> Stmt:
            return let(
                self.is_new(k),
                lambda new: seq(when(new, count.add(1)), self.named(self.order[k], count.value - 1, new)),
                "new",
            )

        return seq(loop(self.extent, step, "k"), store(self.number, (0,), cast("int32", count.value)))

    def by_place(self, count: Cell) -> Stmt:
        """Name the groups by their first places."""
        leader = self.leader
        assert leader is not None

        def mark(first: Cell) -> Stmt:
            def step(k: PrimExpr) -> Stmt:
                begin = when(self.is_new(k), first.set(self.order[k]))
                return seq(begin, store(leader, (self.order[k],), first.value))

            return loop(self.extent, step, "k")

        def step(i: PrimExpr) -> Stmt:
            # A leader comes before all other elements of its group.
            def give(new: PrimExpr) -> Stmt:
                name = Select(new, count.value, cast("int64", self.inverse[leader[i]]))
                return let(name, lambda n: seq(self.named(i, n, new), when(new, count.add(1))), "name")

            return let(leader[i].equal(i), give, "new")

        return seq(
            local("int64", 0, mark, "first"),
            loop(self.extent, step),
            store(self.number, (0,), cast("int32", count.value)),
        )

    def clear(self, i: PrimExpr) -> Stmt:
        """Fill place ``i`` of the results with what stands behind the last group."""
        past = cast("int32", self.extent)
        cleared = [
            store(self.elements, (i,), const(0, self.x.dtype)),
            store(self.places, (i,), past),
            store(self.inverse, (i,), 0),
        ]
        return seq(*cleared, *([] if self.counts is None else [store(self.counts, (i,), 0)]))


def unique_compute(attrs: UniqueAttrs, out: TupleType, data: te.Tensor) -> tuple[te.Tensor, ...]:
    """Return the groups of equal neighbours in sorted order, named as they come or by their first
    places.
    """
    order = order_compute(data, 0, True)
    fields = [tensor(one) for one in out.fields]

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (x, ordered), (elements, places, inverse, number, *rest) = inputs, outputs
        leader = None if attrs.sorted else rest.pop()
        counts = rest[0] if rest else None
        groups = _Groups(x, ordered, elements, places, inverse, number, counts, leader, data.shape[0])
        name = groups.in_order if attrs.sorted else groups.by_place
        return seq(loop(groups.extent, groups.clear), local("int64", 0, name, "count"))

    shapes: list[Shape] = [one.shape for one in fields]
    dtypes = [one.dtype for one in fields]
    if not attrs.sorted:
        shapes, dtypes = [*shapes, data.shape], [*dtypes, "int64"]
    return te.extern(shapes, dtypes, [data, order], build, "unique")[: len(fields)]


# Records

searchsorted = OpDef(
    relay="searchsorted",
    doc="Where values would have to be inserted to keep an ascending sequence ascending.",
    source=f"{SOURCE}, searchsorted",
    inputs=("sorted_sequence", "values"),
    attrs=SearchSortedAttrs,
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
    script=Script("bucketize", "input_tensor, boundaries, out_int32=False, right=False", since="0.21"),
)

# R.unique returns as many elements as there are, Relay's result is padded.
unique = OpDef(
    relay="unique",
    doc="The distinct elements of a tensor of one dimension, where they first stand, and which one each element is; "
    "NaN differs from everything, itself too.",
    source="TVM 0.18 python/tvm/topi/unique.py",
    inputs=("data",),
    attrs=UniqueAttrs,
    declares_attrs=False,
    infer=unique_type,
    numpy=unique_numpy,
    compute=unique_compute,
    fusion=Fusion(reads_shape=True),
)

OPS = (searchsorted, bucketize, unique)
