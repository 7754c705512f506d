"""Relax operators whose shapes data decide, or that give shapes: shape_of, nonzero, unique,
dynamic_strided_slice.

Source of the semantics: TVM 0.27, ``src/relax/op`` and the functions ``relax.run.*`` of
``python/tvm/relax/op/set.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_int
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, local, loop, seq, store, when
from relay2relax.ops.registry.attributes import Expr, NoAttrs
from relay2relax.ops.registry.record import OpDef, OpError, SameOp, Tensors
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.tensor import dynamic_kernels as kernels
from relay2relax.ops.tensor.indexing import StridedSliceAttrs
from relay2relax.ops.tensor.searching import UniqueAttrs, unique_compute, unique_numpy, unique_type
from relay2relax.tir import te
from relay2relax.tir.extent import ANY, Shape, equal, is_any, product, static
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, binary, cast
from relay2relax.tir.ir.stmt import Stmt

SOURCE = "TVM 0.27 src/relax/op"


@dataclass(frozen=True, slots=True)
class RelaxUniqueAttrs:
    """Whether elements ascend (else they come as they are met), and what is returned besides
    them.
    """

    sorted: Expr = True
    return_index: Expr = False
    return_inverse: Expr = False
    return_counts: Expr = False
    axis: Expr = None


# Shapes


def _no_program(*unused: Any) -> Any:
    raise UnsupportedError(mistake(operators.NOT_RUN, name="R.shape_of", reason="no tensor program gives a shape"))


# nonzero


def nonzero_type(attrs: NoAttrs, x: Type) -> TensorType:
    """Return a row for each dimension, an unknown number of columns."""
    return TensorType((tensor(x).rank, ANY), "int64")


def nonzero_compute(attrs: NoAttrs, out: TensorType, x: te.Tensor) -> te.Tensor:
    """Return the coordinates of the elements that are not 0, one row for each dimension."""
    rows = kernels.argwhere_compute(attrs, TensorType((out.shape[1], x.rank), "int64"), x)
    return te.compute(out.shape, lambda d, i: rows[i, d], "T_nonzero")


# unique


def _flag(value: Any) -> bool:
    return bool(value.value) if isinstance(value, IntImm) else bool(value)


def _inner(attrs: RelaxUniqueAttrs) -> UniqueAttrs:
    return UniqueAttrs(sorted=_flag(attrs.sorted), return_counts=True)


def _axis(attrs: RelaxUniqueAttrs, rank: int) -> int | None:
    """Return the axis whose slices are compared, None for the elements.

    Raises OpError for one that is not there.
    """
    if attrs.axis is None:
        return None
    axis = attrs.axis.value if isinstance(attrs.axis, IntImm) else attrs.axis
    if not isinstance(axis, int) or not -rank <= axis < rank:
        raise OpError(mistake(operators.AXIS, name="axis", axis=repr(axis), rank=rank), 0)
    return axis % rank


def relax_unique_type(attrs: RelaxUniqueAttrs, x: Type) -> Type:
    """Return an unknown number of elements, their first places, which one each element is, and how
    often they occur.
    """
    found = tensor(x)
    axis = _axis(attrs, found.rank)
    if axis is None:
        elements, whole = TensorType((ANY if found.rank else 1,), found.dtype), product(found.shape)
    else:
        whole = found.shape[axis]
        elements = TensorType((*found.shape[:axis], ANY, *found.shape[axis + 1 :]), found.dtype)
    some, all_ = TensorType((ANY if found.rank else 1,), "int64"), TensorType((whole,), "int64")
    fields = (
        elements,
        *((some,) if _flag(attrs.return_index) else ()),
        *((all_,) if _flag(attrs.return_inverse) else ()),
        *((some,) if _flag(attrs.return_counts) else ()),
    )
    return TupleType(fields) if len(fields) > 1 else elements


def relax_unique_numpy(attrs: RelaxUniqueAttrs, x: Array) -> Any:
    """Return the distinct elements or slices, and what is asked for besides them."""
    axis = _axis(attrs, x.ndim)
    keys = x.reshape(-1) if axis is None else _slice_ranks(np.moveaxis(x, axis, 0))
    elements, places, inverse, count, counts = unique_numpy(_inner(attrs), keys)
    n = int(count[0])
    first = places[:n].astype(np.int64)
    distinct = elements[:n] if axis is None else np.take(x, first, axis)
    found = _chosen(attrs, distinct, first, inverse, counts[:n])
    values = (found[0], *(one.astype(np.int64) for one in found[1:]))
    return values if len(values) > 1 else values[0]


def _slice_ranks(slices: Array) -> Array:
    """Return numbers that compare as the slices of the first axis do: by their first elements that
    differ.
    """
    table = slices.reshape(len(slices), int(np.prod(slices.shape[1:], dtype=np.int64)))
    order = np.lexsort(table.T[::-1]) if table.size else np.arange(len(table))
    ordered = table[order]
    ranks = np.zeros(len(table), np.int64)
    ranks[order[1:]] = np.cumsum((ordered[1:] != ordered[:-1]).any(axis=1))
    return ranks


def _chosen(attrs: RelaxUniqueAttrs, elements: Any, places: Any, inverse: Any, counts: Any) -> list[Any]:
    flags = (True, *map(_flag, (attrs.return_index, attrs.return_inverse, attrs.return_counts)))
    return [one for one, asked in zip((elements, places, inverse, counts), flags, strict=True) if asked]


def _unique_parts(attrs: RelaxUniqueAttrs, x: te.Tensor) -> tuple[te.Tensor, ...]:
    axis, inner = _axis(attrs, x.rank), _inner(attrs)
    if axis is None:
        keys = te.compute((product(x.shape),), lambda i: x[_coordinates(i, x.shape)], "elements")
    else:
        keys = _slice_ranks_compute(x, axis)
    out = unique_type(inner, TensorType(keys.shape, keys.dtype))
    assert isinstance(out, TupleType)
    return unique_compute(inner, out, keys)


def _coordinates(index: PrimExpr, shape: Shape) -> tuple[PrimExpr, ...]:
    at: list[PrimExpr] = []
    for extent in reversed(shape):
        at.append(index % extent)
        index = index // extent
    return tuple(reversed(at))


def _slice_ranks_compute(x: te.Tensor, axis: int) -> te.Tensor:
    """Return how many slices along ``axis`` come before each of them; every two are compared."""
    others = (*x.shape[:axis], *x.shape[axis + 1 :])

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (data,), (ranks,) = inputs, outputs

        def element(place: PrimExpr, number: PrimExpr) -> PrimExpr:
            at = _coordinates(number, others)
            return BufferLoad(data, (*at[:axis], place, *at[axis:]))

        def compare(i: PrimExpr, j: PrimExpr, found: Cell) -> Stmt:
            """-1 where slice j comes first, 1 where slice i does."""

            def step(number: PrimExpr) -> Stmt:
                other, own = element(j, number), element(i, number)
                decided = when(binary("<", other, own), found.set(-1), when(binary("<", own, other), found.set(1)))
                return when(found.value.equal(0), decided)

            return loop(product(others), step, "e")

        def count(i: PrimExpr, j: PrimExpr, before: Cell) -> Stmt:
            def counted(found: Cell) -> Stmt:
                return seq(compare(i, j, found), when(binary("<", found.value, IntImm(0)), before.add(1)))

            return local("int64", 0, counted, "found")

        def rank(i: PrimExpr) -> Stmt:
            def ranked(before: Cell) -> Stmt:
                return seq(loop(x.shape[axis], lambda j: count(i, j, before), "j"), store(ranks, (i,), before.value))

            return local("int64", 0, ranked, "before")

        return loop(x.shape[axis], rank)

    return te.extern([(x.shape[axis],)], ["int64"], [x], build, "ranks")[0]


def unique_extents(attrs: RelaxUniqueAttrs, out: Type, x: te.Tensor) -> te.Tensor:
    """Return the number of distinct elements, as often as it is an extent."""
    count = _unique_parts(attrs, x)[3]
    fields = out.fields if isinstance(out, TupleType) else (out,)
    unknown = sum(is_any(extent) for field in fields for extent in tensor(field).shape)
    return te.compute((unknown,), lambda i: cast("int64", count[0]), "T_count")


def relax_unique_compute(attrs: RelaxUniqueAttrs, out: Type, x: te.Tensor) -> Tensors:
    """Return the distinct elements or slices, and what is asked for besides them."""
    elements, places, inverse, _, counts = _unique_parts(attrs, x)
    fields = [tensor(one) for one in (out.fields if isinstance(out, TupleType) else (out,))]
    axis = _axis(attrs, x.rank)

    def part(field: TensorType, source: te.Tensor) -> te.Tensor:
        return te.compute(field.shape, lambda i: cast(field.dtype, source[i]), "T_unique")

    def picked(*at: PrimExpr) -> PrimExpr:
        assert axis is not None
        place = (*at[:axis], cast("int64", places[at[axis]]), *at[axis + 1 :])
        return x[place]

    found = _chosen(attrs, elements, places, inverse, counts)
    first = part(fields[0], elements) if axis is None else te.compute(fields[0].shape, picked, "T_unique")
    results = (first, *(part(field, source) for field, source in zip(fields[1:], found[1:], strict=True)))
    return results if len(results) > 1 else results[0]


# dynamic_strided_slice: begin, end and stride of every axis, as in Relay's ``end`` mode.

_SLICE = StridedSliceAttrs(begin=None, end=None, strides=None, axes=None, slice_mode="end")


def dynamic_slice_type(attrs: NoAttrs, x: Type, *places: Type) -> TensorType:
    """Return the rank of the data with unknown extents."""
    found = tensor(x)
    for index, one in enumerate(places, 1):
        given = tensor(one, index)
        if given.rank != 1 or not is_int(given.dtype) or equal(given.shape[0], found.rank) is False:
            raise OpError(
                f"{found.rank} integers are expected, this is {given.dtype}{show(given.shape)}",
                index,
                kind=operators.DTYPE,
            )
    return TensorType((ANY,) * found.rank, found.dtype)


def dynamic_slice_numpy(attrs: NoAttrs, x: Array, begin: Array, end: Array, strides: Array) -> Array:
    """Return the slices."""
    index = []
    places = zip(*(one.astype(np.int64).tolist() for one in (begin, end, strides)), strict=True)
    for extent, (first, last, step) in zip(x.shape, places, strict=True):
        start, stop, by = slice(first, last, step).indices(extent)
        empty = not len(range(start, stop, by))
        index.append(slice(0, 0) if empty else slice(start, None if stop < 0 else stop, by))
    return x[tuple(index)]


def shape_of_type(attrs: NoAttrs, data: Type) -> Shape:
    """Return the extents."""
    return tuple(extent if static(extent) is None else static(extent) or 0 for extent in tensor(data).shape)


OPS = (
    OpDef(
        doc="The extents as a shape.",
        source=SOURCE,
        inputs=("expr",),
        infer=shape_of_type,
        numpy=lambda attrs, data: data.shape,
        compute=_no_program,
        relax=SameOp(),
        script=Script("shape_of", "expr"),
        builtin="vm.builtin.shape_of",
    ),
    OpDef(
        doc="The coordinates of the elements that are not 0, one row for each dimension.",
        source=SOURCE,
        inputs=("x",),
        infer=nonzero_type,
        numpy=lambda attrs, x: np.array(np.nonzero(x), np.int64),
        compute=nonzero_compute,
        extents=lambda attrs, out, x: kernels.counted_extents(attrs, out, x),
        relax=SameOp(),
        script=Script("nonzero", "x"),
    ),
    OpDef(
        doc="The distinct elements (or slices), where they first stand, which one each is, and how often they occur.",
        source="TVM 0.27 python/tvm/relax/op/set.py",
        inputs=("x",),
        attrs=RelaxUniqueAttrs,
        infer=relax_unique_type,
        numpy=relax_unique_numpy,
        compute=relax_unique_compute,
        extents=unique_extents,
        relax=SameOp(),
        script=Script(
            "unique",
            "x, sorted=True, return_index=False, return_inverse=False, return_counts=False, axis=None",
            positional=("sorted", "return_index", "return_inverse", "return_counts", "axis"),
        ),
    ),
    OpDef(
        doc="As strided_slice of every axis; the places are inputs.",
        source=SOURCE,
        inputs=("x", "begin", "end", "strides"),
        infer=dynamic_slice_type,
        on_bad_values="A slice is moved into the data; one that runs backwards is empty. A stride of 0 is refused.",
        numpy=dynamic_slice_numpy,
        compute=lambda attrs, out, *inputs: kernels.strided_slice_compute(_SLICE, out, *inputs),
        extents=lambda attrs, out, *inputs: kernels.strided_slice_extents(_SLICE, out, *inputs),
        relax=SameOp(),
        script=Script("dynamic_strided_slice", "x, begin, end, strides"),
    ),
)
