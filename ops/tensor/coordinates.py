"""Operators on coordinates of elements, sparse tensors as lists of them included.

A sparse tensor is a matrix of coordinates, one row for each element (``sparse_indices``), and a
vector of values. Source of the semantics: TVM 0.18, ``src/relay/op/tensor/transform.cc``,
``python/tvm/topi/sparse_reshape.py``, ``sparse_fill_empty_rows.py`` and
``include/tvm/topi/transform.h``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from relay2relax.core import arithmetic
from relay2relax.core.dtype import Array, Numbers, is_int
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.places import are_inside
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, local, loop, seq, store, when
from relay2relax.ops.registry.attributes import IntegerArray, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.precision import Precision
from relay2relax.ops.registry.record import Emit, Expanded, OpDef, OpError, V
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.ops.tensor import dynamic_kernels as kernels
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Shape, equal, static
from relay2relax.tir.ir.expr import Buffer, IntImm, PrimExpr, Var, binary, cast, const, if_then_else, logical_and
from relay2relax.tir.ir.stmt import BufferStore, For, If, Let, Seq, Stmt

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"


@dataclass(frozen=True, slots=True)
class SparseToDenseAttrs:
    """The shape of the result."""

    output_shape: IntegerArray


def integers(value: Type, argument: int) -> TensorType:
    """Return the type of a tensor of integers; raises OpError for other element types."""
    found = tensor(value, argument)
    if not is_int(found.dtype):
        raise OpError(mistake(operators.DTYPE, what="the tensor", dtype=found.dtype, expected="integers"), argument)
    return found


# argwhere


def argwhere_type(attrs: NoAttrs, condition: Type) -> Type:
    """Return a row of coordinates, in int32, for an unknown number of elements."""
    return TensorType((ANY, tensor(condition).rank), "int32")


def argwhere_numpy(attrs: NoAttrs, condition: Array) -> Array:
    """Return the coordinates of the elements that are not 0, in row-major order."""
    return np.argwhere(condition).astype(np.int32)


# unravel_index


def unravel_index_type(attrs: NoAttrs, data: Type, shape: Type) -> Type:
    """Return a row for each dimension of the shape, a column for each place."""
    places, extents = integers(data, 0), integers(shape, 1)
    if extents.rank != 1 or places.rank > 1:
        raise OpError(
            f"places and a shape are vectors, these have ranks {places.rank} and {extents.rank}", 1, kind=operators.RANK
        )
    return TensorType((*extents.shape, *places.shape), places.dtype)


def unravel_index_numpy(attrs: NoAttrs, data: Array, shape: Array) -> Array:
    """Return the coordinates of places in a row-major tensor of ``shape``."""
    rest = data
    rows = []
    with np.errstate(all="ignore"):
        for extent in shape[::-1].astype(data.dtype):
            rows.append(np.fmod(rest, extent))
            rest = arithmetic.truncated_divide(rest, extent)
    return np.asarray(rows[::-1], data.dtype).reshape(len(shape), *data.shape)


def unravel_index_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor, shape: te.Tensor) -> te.Tensor:
    """Return the remainder of the place that is left for the dimension."""
    count = static(out.shape[0])
    if count is None:
        raise UnsupportedError(
            mistake(
                operators.NOT_RUN,
                name="unravel_index",
                reason="the rank of the shape is unknown, and TensorIR needs it beforehand",
            )
        )

    def element(*i: PrimExpr) -> PrimExpr:
        rest: PrimExpr = data[i[1:]]
        value: PrimExpr = const(0, out.dtype)
        for d in range(count - 1, -1, -1):
            extent = cast(out.dtype, shape[d])
            value = if_then_else(i[0].equal(d), binary("truncmod", rest, extent), value)
            rest = binary("truncdiv", rest, extent)
        return value

    return te.compute(out.shape, element, name="T_unravel_index")


# invert_permutation


def invert_permutation_type(attrs: NoAttrs, data: Type) -> Type:
    """Return the type of ``data``."""
    found = integers(data, 0)
    if found.rank != 1:
        raise OpError(mistake(operators.RANK, what="the permutation", rank=found.rank, expected="1"), 0)
    return found


def invert_permutation_numpy(attrs: NoAttrs, data: Numbers) -> Array:
    """Return where each number stands."""
    result: Array = np.zeros_like(data)
    inside = (data >= 0) & (data < data.size)
    result[data[inside].astype(np.int64)] = np.flatnonzero(inside)
    return result


def invert_permutation_compute(attrs: NoAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the vector to which each place is stored at its number."""

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        clear, step, place = Var("c"), Var("i"), Var("place")
        extent = targets[0].shape[0]
        store = BufferStore(targets[0], (place,), cast(out.dtype, step))
        inside = logical_and(place >= 0, place < extent)
        body = Let(place, cast("int64", sources[0][step]), If(inside, store))
        zeros = For(clear, extent, BufferStore(targets[0], (clear,), const(0, out.dtype)))
        return Seq((zeros, For(step, extent, body)))

    return te.extern([out.shape], [out.dtype], [data], build, name="T_invert_permutation")[0]


def invert_permutation_relax(e: Emit[V], attrs: NoAttrs, data: V) -> V:
    """The places scattered to their numbers."""
    found = tensor(e.type_of(data))
    extent = static(found.shape[0])
    if extent is None or found.dtype not in ("int32", "int64"):
        return e.as_tir(
            invert_permutation, attrs, (data,), "the extent is not known beforehand, or the places are small integers"
        )
    places = e.call("arange", start=0, end=extent, step=1, dtype=found.dtype)
    return e.call("scatter_elements", e.call("zeros_like", data), data, places, axis=0, reduction="update")


# sparse_to_dense


def check_sparse(indices: Type, values: Type, default: Type, rank: int) -> TensorType:
    """Return the type of the values.

    Raises OpError where a sparse tensor does not fit a result of ``rank``.
    """
    places, found, fill = integers(indices, 0), tensor(values, 1), tensor(default, 2)
    if places.rank > 2:
        raise OpError(
            mistake(operators.RANK, what="the tensor of coordinates", rank=places.rank, expected="0, 1 or 2"), 0
        )
    count = places.shape[1] if places.rank == 2 else 1
    if equal(count, rank) is False:
        raise OpError(
            f"coordinates of shape {show(places.shape)} do not fit a result of rank {rank}", 0, kind=operators.SHAPE
        )
    if found.rank > 1 or (found.rank and places.rank and equal(found.shape[0], places.shape[0]) is False):
        raise OpError(
            f"values of shape {show(found.shape)} do not fit coordinates of {show(places.shape)}",
            1,
            kind=operators.SHAPE,
        )
    # TVM's default of the default is an int32, whatever the values are.
    if fill.rank or not (fill.dtype == found.dtype or is_int(fill.dtype)):
        raise OpError(f"the default is a number of {found.dtype}, or an integer", 2)
    return found


def sparse_to_dense_type(attrs: SparseToDenseAttrs, indices: Type, values: Type, default: Type) -> Type:
    """Return the shape of the attributes with the dtype of the values."""
    found = check_sparse(indices, values, default, len(attrs.output_shape))
    return TensorType(tuple(attrs.output_shape), found.dtype)


def dense_values(shape: Sequence[int], indices: Array, values: Array, default: Array) -> Array:
    """Return ``values`` at their coordinates, ``default`` elsewhere.

    The last of several values of a place stays.
    """
    result = np.full(tuple(shape), default, values.dtype)
    rows = indices.astype(np.int64).reshape(-1, len(shape))
    inside = np.all((rows >= 0) & (rows < np.asarray(shape)), axis=1)
    result[tuple(rows[inside].T)] = np.broadcast_to(values, rows.shape[:1])[inside]
    return result


def sparse_to_dense_numpy(attrs: SparseToDenseAttrs, indices: Array, values: Array, default: Array) -> Array:
    """Return the values at their coordinates, the default elsewhere."""
    return dense_values(attrs.output_shape, indices, values, default)


def sparse_to_dense_compute(
    attrs: SparseToDenseAttrs, out: TensorType, indices: te.Tensor, values: te.Tensor, default: te.Tensor
) -> te.Tensor:
    """Return the default everywhere, then the values, one after the other.

    Those outside are left out.
    """

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        places, given, fill = sources
        target = targets[0]
        step = Var("i")
        loops = [Var(f"c{d}") for d in range(out.rank)]
        clear: Stmt = BufferStore(target, tuple(loops), cast(target.dtype, fill[()]))
        for counter, extent in zip(reversed(loops), reversed(target.shape), strict=True):
            clear = For(counter, extent, clear)
        names = [Var(f"place{d}") for d in range(out.rank)]
        value = given[step] if given.shape else given[()]
        inside = logical_and(*(c for d, v in enumerate(names) for c in (v >= 0, v < target.shape[d])))
        body: Stmt = If(inside, BufferStore(target, tuple(names), value))
        for d, name in reversed(list(enumerate(names))):
            place = (step, IntImm(d))[: len(places.shape)]
            body = Let(name, cast("int64", places[place]), body)
        count = places.shape[0] if places.shape else IntImm(1)
        return Seq((clear, For(step, count, body)))

    return te.extern([out.shape], [out.dtype], [indices, values, default], build, name="T_sparse_to_dense")[0]


# sparse_reshape


def sparse_reshape_type(attrs: NoAttrs, indices: Type, prev_shape: Type, new_shape: Type) -> Type:
    """Return the coordinates in the new shape, and that shape."""
    places, before, after = (integers(one, d) for d, one in enumerate((indices, prev_shape, new_shape)))
    if places.rank != 2 or before.rank != 1 or after.rank != 1:
        raise OpError("a matrix of coordinates and two vectors of extents are expected", 0, kind=operators.RANK)
    return TupleType((TensorType((places.shape[0], after.shape[0]), places.dtype), after))


def sparse_reshape_numpy(attrs: NoAttrs, indices: Array, prev_shape: Array, new_shape: Array) -> tuple[Array, Array]:
    """Return the coordinates of the same elements in a tensor of ``new_shape``, in which a -1 takes
    what is left.

    The same shape leaves all coordinates alone, also those beyond it.
    """
    before, after = prev_shape.astype(np.int64), new_shape.astype(np.int64)
    known, whole = np.prod(after[after != -1]), np.prod(before[before != -1])
    after = np.where(after == -1, arithmetic.truncated_divide(whole, known), after)
    after = after.astype(new_shape.dtype).astype(np.int64)
    if np.array_equal(before, after):
        return indices, after.astype(new_shape.dtype)
    rest = np.zeros(len(indices), np.int64)
    for extent, places in zip(before, indices.astype(np.int64).T, strict=True):
        rest = rest * extent + places
    found = np.zeros((len(indices), len(after)), np.int64)
    for d in range(len(after) - 1, -1, -1):
        found[:, d] = arithmetic.truncated_modulo(rest, after[d])
        rest = arithmetic.truncated_divide(rest, after[d])
    return found.astype(indices.dtype), after.astype(new_shape.dtype)


def sparse_reshape_compute(
    attrs: NoAttrs, out: TupleType, indices: te.Tensor, prev_shape: te.Tensor, new_shape: te.Tensor
) -> tuple[te.Tensor, ...]:
    """Return the coordinates of each element's place in the new shape, and that shape."""

    def build(sources: Sequence[Buffer], targets: Sequence[Buffer]) -> Stmt:
        places, before, after = sources
        found, shape = targets
        ranks = before.shape[0], after.shape[0]

        def at(extents: Buffer, d: PrimExpr) -> PrimExpr:
            return cast("int64", extents[d])

        def product(total: Cell, extents: Buffer) -> Stmt:
            def factor(d: PrimExpr) -> Stmt:
                return when(binary("!=", at(extents, d), IntImm(-1)), total.set(total.value * at(extents, d)))

            return loop(extents.shape[0], factor)

        def resolve(all_: Cell, known: Cell) -> Stmt:
            left = binary("truncdiv", all_.value, known.value)

            def extent(d: PrimExpr) -> Stmt:
                return store(shape, (d,), cast(shape.dtype, if_then_else(at(after, d).equal(-1), left, at(after, d))))

            return seq(product(all_, before), product(known, after), loop(ranks[1], extent))

        def compare(same: Cell) -> Stmt:
            # The same shape leaves all coordinates alone, also those beyond it.
            differs = loop(ranks[1], lambda d: when(binary("!=", at(before, d), at(shape, d)), same.set(0)))
            return seq(when(ranks[0].equal(ranks[1]), differs, same.set(0)), loop(places.shape[0], line(same)))

        def line(same: Cell) -> Callable[[PrimExpr], Stmt]:
            def kept(row: PrimExpr) -> Stmt:
                # Said once more for the guards, which do not follow ``same``.
                copied = loop(ranks[1], lambda d: store(found, (row, d), places[row, d]))
                return when(ranks[0].equal(ranks[1]), copied)

            def moved(row: PrimExpr, rest: Cell) -> Stmt:
                def add(d: PrimExpr) -> Stmt:
                    return rest.set(rest.value * at(before, d) + cast("int64", places[row, d]))

                def take(i: PrimExpr) -> Stmt:
                    d = ranks[1] - 1 - i
                    index = cast(found.dtype, binary("truncmod", rest.value, at(shape, d)))
                    return seq(store(found, (row, d), index), rest.set(binary("truncdiv", rest.value, at(shape, d))))

                return seq(loop(ranks[0], add), loop(ranks[1], take))

            return lambda row: when(
                same.value.equal(1), kept(row), local("int64", 0, lambda rest: moved(row, rest), "rest")
            )

        shapes = local("int64", 1, lambda all_: local("int64", 1, lambda known: resolve(all_, known), "known"), "total")
        return seq(shapes, local("int64", 1, compare, "same"))

    results = [tensor(one) for one in out.fields]
    extents, dtypes = [one.shape for one in results], [one.dtype for one in results]
    return te.extern(extents, dtypes, [indices, prev_shape, new_shape], build, name="T_sparse_reshape")


# sparse_fill_empty_rows


def sparse_fill_empty_rows_type(attrs: NoAttrs, indices: Type, values: Type, dense_shape: Type, default: Type) -> Type:
    """Return coordinates and values of an unknown number of elements, and a flag for each row, all
    in int64.
    """
    places = integers(indices, 0)
    if places.rank != 2 or tensor(values, 1).rank != 1 or tensor(dense_shape, 2).rank != 1:
        raise OpError(
            "a matrix of coordinates, a vector of values and a vector of extents are expected", 0, kind=operators.RANK
        )
    shapes: tuple[Shape, ...] = ((ANY, places.shape[1]), (ANY,), (ANY,))
    return TupleType(tuple(TensorType(shape, "int64") for shape in shapes))


def sparse_fill_empty_rows_numpy(
    attrs: NoAttrs, indices: Array, values: Array, dense_shape: Array, default: Array
) -> tuple[Array, Array, Array]:
    """Return the elements with a default one, at column 0, in each row that has none.

    And which rows these are.
    """
    empty = np.ones(int(dense_shape[0]), np.bool_)
    kept = are_inside(indices[:, 0], len(empty))
    indices, values = indices[kept], values[kept]
    empty[indices[:, 0].astype(np.int64)] = False
    rows = np.flatnonzero(empty)
    added = np.zeros((rows.size, indices.shape[1]), np.int64)
    added[:, 0] = rows
    places = np.concatenate([indices.astype(np.int64), added])
    found = np.concatenate([values, np.full(rows.size, default.reshape(-1)[0], values.dtype)]).astype(np.int64)
    order = np.argsort(places[:, 0], kind="stable")
    return places[order], found[order], empty.astype(np.int64)


# Records

argwhere = OpDef(
    relay="argwhere",
    doc="The coordinates of the elements that are not 0, in row-major order, as int32.",
    source=f"{SOURCE}, argwhere",
    inputs=("condition",),
    infer=argwhere_type,
    numpy=argwhere_numpy,
    compute=kernels.argwhere_compute,
    extents=kernels.counted_extents,
    fusion=Fusion(reads_shape=True),
    precision=Precision.FOLLOW,
)

unravel_index = OpDef(
    relay="unravel_index",
    doc="The coordinates, one row for each dimension, of places in a row-major tensor of a shape.",
    source=f"{SOURCE}, unravel_index",
    inputs=("data", "shape"),
    infer=unravel_index_type,
    on_bad_values="A place outside wraps around the first dimension; an extent of 0 gives 0.",
    numpy=unravel_index_numpy,
    compute=unravel_index_compute,
    fusion=Fusion(OpPattern.INJECTIVE),
)

invert_permutation = OpDef(
    relay="invert_permutation",
    doc="``out[data[i]] = i``.",
    source=f"{SOURCE}, invert_permutation",
    inputs=("data",),
    infer=invert_permutation_type,
    on_bad_values="A number outside is left out; 0 stays where none names a place.",
    numpy=invert_permutation_numpy,
    compute=invert_permutation_compute,
    relax=Expanded(invert_permutation_relax),
    fusion=Fusion(OpPattern.INJECTIVE),
)

sparse_to_dense = OpDef(
    relay="sparse_to_dense",
    doc="Values at their coordinates, a default elsewhere.",
    source=f"{SOURCE}, sparse_to_dense",
    inputs=("sparse_indices", "sparse_values", "default_value"),
    attrs=SparseToDenseAttrs,
    infer=sparse_to_dense_type,
    on_bad_values="An element whose place lies outside is left out.",
    numpy=sparse_to_dense_numpy,
    compute=sparse_to_dense_compute,
)

sparse_reshape = OpDef(
    relay="sparse_reshape",
    doc="The coordinates of a sparse tensor's elements in another shape, and that shape with its -1 worked out.",
    source="TVM 0.18 python/tvm/topi/sparse_reshape.py",
    inputs=("sparse_indices", "prev_shape", "new_shape"),
    infer=sparse_reshape_type,
    on_bad_values="Numbers wrap around; an extent of 0 gives 0.",
    numpy=sparse_reshape_numpy,
    compute=sparse_reshape_compute,
    fusion=Fusion(OpPattern.INJECTIVE, reads_shape=True),
)

sparse_fill_empty_rows = OpDef(
    relay="sparse_fill_empty_rows",
    doc="A sparse matrix with a default element, at column 0, in each row that has none; and which rows these are.",
    source="TVM 0.18 python/tvm/topi/sparse_fill_empty_rows.py",
    inputs=("sparse_indices", "sparse_values", "dense_shape", "default_value"),
    infer=sparse_fill_empty_rows_type,
    on_bad_values="An element of a row that is not there is left out; a negative number of rows is refused.",
    numpy=sparse_fill_empty_rows_numpy,
    compute=kernels.fill_rows_compute,
    extents=kernels.fill_rows_extents,
    fusion=Fusion(reads_shape=True),
)

OPS = (argwhere, unravel_index, invert_permutation, sparse_to_dense, sparse_reshape, sparse_fill_empty_rows)
