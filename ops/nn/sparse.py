"""Products and sums with sparse matrices, held by rows.

A matrix is given by ``data``, ``indices`` and ``indptr``: row ``r`` has the elements ``data[k]`` in
columns ``indices[k]`` for ``k`` from ``indptr[r]`` to ``indptr[r + 1]`` (CSR). Where data has three
dimensions its elements are blocks, and rows and columns count blocks (BSR). Elements that meet are
added.

TVM reads beside its tensors where ``indices`` and ``indptr`` lie. Here a column outside is moved to
the border, and so is where a row begins or ends; a row that ends before it begins is empty.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.layout import parse_layout
from relay2relax.ops.common.places import SPARSE, clipped, inside
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.common.stmt_builders import Cell, let, local, loop, rows, seq, store, when
from relay2relax.ops.common.windows import integers
from relay2relax.ops.registry.attributes import Bool, IndexExprArray, InlineString, NoAttrs
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError, Tensors
from relay2relax.ops.registry.types import TensorType, TupleType, Type, show
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import Extent, as_prim, canonical, equal, mul, sub
from relay2relax.tir.ir.expr import Buffer, BufferLoad, IntImm, PrimExpr, Select, cast, const, maximum
from relay2relax.tir.ir.stmt import Stmt


@dataclass(frozen=True, slots=True)
class SparseDenseAttrs:
    """``sparse_lhs`` puts the sparse matrix on the left, and the rows of the result with it."""

    sparse_lhs: Bool = False


@dataclass(frozen=True, slots=True)
class SparseTransposeAttrs:
    """No fields."""


@dataclass(frozen=True, slots=True)
class SparseConv2DAttrs:
    """TVM lowers a window of one element, and for some targets one of 3 by 3."""

    layout: InlineString = "NHWC"
    kernel_size: IndexExprArray = (1, 1)


_NAMES = ("sparse_data", "sparse_indices", "sparse_indptr")


def _matrix(data: Type, indices: Type, indptr: Type, first: int, ranks: Sequence[int]) -> tuple[Extent, TensorType]:
    """Return the number of rows and the type of the elements.

    ``first`` is the argument that holds them.
    """
    values, columns, starts = tensor(data, first), tensor(indices, first + 1), tensor(indptr, first + 2)
    if values.rank not in ranks:
        raise OpError(
            mistake(operators.RANK, what=_NAMES[0], rank=values.rank, expected=" or ".join(map(str, ranks))), first
        )
    if columns.rank != 1 or starts.rank != 1:
        found = f"{columns.rank} and {starts.rank}"
        raise OpError(
            f"{_NAMES[1]} and {_NAMES[2]} have one dimension, these have {found}", first + 1, kind=operators.RANK
        )
    if equal(values.shape[0], columns.shape[0]) is False:
        raise OpError(f"{values.shape[0]} elements have {columns.shape[0]} columns", first + 1, kind=operators.SHAPE)
    blocks = values.shape[1] if values.rank > 1 else 1
    return mul(sub(starts.shape[0], 1), blocks), values


def _coordinates(values: Any, indices: Array, indptr: Array, columns: int) -> tuple[Numbers, Numbers, Numbers]:
    """Return the row, the column and the value of each number that lies in ``columns`` columns."""
    sizes = (*values.shape[1:], 1, 1)
    blocks = values.reshape((len(values), *sizes[:2]))
    _, high, wide = blocks.shape
    starts = np.clip(indptr.astype(np.int64), 0, len(values))
    begins = starts[:-1]
    counts = np.maximum(starts[1:] - begins, 0)
    owners = np.repeat(np.arange(len(counts)), counts)
    elements = np.repeat(begins - (np.cumsum(counts) - counts), counts) + np.arange(len(owners))
    grid = (len(owners), high, wide)
    owned = np.broadcast_to(owners[:, None, None] * high + np.arange(high)[:, None], grid)
    block = clipped(indices, -(-columns // max(wide, 1)))[elements]
    across = np.broadcast_to(block[:, None, None] * wide + np.arange(wide), grid)
    kept = across < columns
    return owned[kept], across[kept], blocks[elements][kept]


def _row_count(values: Array, indptr: Array) -> int:
    return max(len(indptr) - 1, 0) * (values.shape[1] if values.ndim > 1 else 1)


def _product_values(x: Numbers, data: Any, indices: Array, indptr: Array) -> Numbers:
    """Return ``x @ sparse.T``: products of the elements that there are, and of no others."""
    result = np.zeros((*x.shape[:-1], _row_count(data, indptr)), x.dtype)
    owned, across, values = _coordinates(data, indices, indptr, x.shape[-1])
    values = values.astype(x.dtype, copy=False)
    if np.isfinite(x).all() and np.isfinite(values).all():
        matrix = np.zeros((result.shape[-1], x.shape[-1]), x.dtype)
        np.add.at(matrix, (owned, across), values)
        return np.asarray(x @ matrix.T, x.dtype)
    places: Any = (Ellipsis, owned)
    np.add.at(result, places, x[..., across] * values)
    return result


@dataclass(frozen=True, slots=True)
class _Elements:
    """The buffers of a matrix in a program."""

    values: Buffer
    indices: Buffer
    indptr: Buffer

    @property
    def block(self) -> tuple[PrimExpr | int, PrimExpr | int]:
        """The height and width of a block."""
        shape = self.values.shape
        return (shape[1] if len(shape) > 1 else 1), (shape[2] if len(shape) > 2 else 1)

    def bounds(self, row: PrimExpr) -> tuple[PrimExpr, PrimExpr]:
        """Return where the elements of a row (of blocks) begin, and how many there are."""
        count = self.values.shape[0]
        begin, end = (inside(BufferLoad(self.indptr, (at,)), count + 1) for at in (row, row + 1))
        return begin, end - begin

    def column(self, element: PrimExpr, columns: Extent) -> PrimExpr:
        """Return the column (of blocks) of an element, of so many ``columns``."""
        return inside(BufferLoad(self.indices, (element,)), columns)

    def value(self, element: PrimExpr, row: PrimExpr, column: PrimExpr) -> PrimExpr:
        """Return a value of a block."""
        inner = (row, column)[: len(self.values.shape) - 1]
        return BufferLoad(self.values, (element, *inner))

    def product(self, row: PrimExpr, total: Cell, columns: Extent, dense: Callable[[PrimExpr], PrimExpr]) -> Stmt:
        """Return the loops that add to ``total`` the products of a row and ``dense(column)``."""
        high, wide = self.block
        begin, count = self.bounds(row // high)
        blocks = canonical((as_prim(columns) + (wide - 1)) // wide)
        whole = equal(mul(blocks, wide), columns) is True

        def element(j: PrimExpr) -> Stmt:
            def inner(c: PrimExpr) -> Stmt:
                weight = cast(total.buffer.dtype, self.value(begin + j, row % high, c))
                place = self.column(begin + j, blocks) * wide + c
                add = total.add(weight * cast(total.buffer.dtype, dense(place)))
                # The last block may be wider than what is left of the columns.
                return add if whole else when(place < as_prim(columns), add)

            return loop(wide, inner, "c")

        return loop(count, element, "j")


# Products.


def sparse_dense_type(attrs: SparseDenseAttrs, dense: Type, data: Type, indices: Type, indptr: Type) -> TensorType:
    """Return (rows of the dense matrix, rows of the sparse one), or turned round with
    ``sparse_lhs``.
    """
    x = tensor(dense)
    count, _ = _matrix(data, indices, indptr, 1, (1, 3))
    if x.rank != 2:
        raise OpError(mistake(operators.RANK, what="the dense matrix", rank=x.rank, expected="2"), 0)
    return TensorType((count, x.shape[0]) if attrs.sparse_lhs else (x.shape[0], count), x.dtype)


def sparse_dense_numpy(attrs: SparseDenseAttrs, dense: Numbers, data: Numbers, indices: Array, indptr: Array) -> Array:
    """Return ``dense @ sparse.T``, or ``sparse @ dense.T``."""
    found = _product_values(dense, data, indices, indptr)
    return np.asarray(found.T if attrs.sparse_lhs else found)


def sparse_dense_compute(
    attrs: SparseDenseAttrs, out: TensorType, dense: te.Tensor, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor
) -> te.Tensor:
    """Return, element by element, the sum over the elements of a sparse row."""

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        matrix = _Elements(*inputs[1:])

        def element(i: PrimExpr, j: PrimExpr) -> Stmt:
            m, row = (j, i) if attrs.sparse_lhs else (i, j)

            def body(total: Cell) -> Stmt:
                products = matrix.product(
                    row, total, inputs[0].shape[1], lambda column: BufferLoad(inputs[0], (m, column))
                )
                return seq(products, store(outputs[0], (i, j), total.value))

            return local(out.dtype, 0, body, "total")

        return rows(out.shape, inputs, outputs, element, "sparse_dense")

    return te.extern([out.shape], [out.dtype], [dense, data, indices, indptr], build, "sparse_dense")[0]


def _channels_last(attrs: SparseConv2DAttrs) -> bool:
    """Whether channels are the last dimension.

    Raises OpError for another layout than NHWC and NCHW.
    """
    parse_layout(attrs.layout, "NCHW")
    if attrs.layout not in ("NHWC", "NCHW"):
        raise OpError(
            mistake(operators.ATTRIBUTE, name="layout", value=repr(attrs.layout), expected="'NHWC' or 'NCHW'")
        )
    return attrs.layout == "NHWC"


def _check_window(attrs: SparseConv2DAttrs) -> None:
    if set(integers(attrs.kernel_size, "kernel_size")) != {1}:
        raise UnsupportedError(
            mistake(
                operators.NOT_RUN,
                name="nn.sparse_conv2d",
                reason=f"its window is {list(attrs.kernel_size)}, only 1 by 1 is computed",
            )
        )


def sparse_conv2d_type(attrs: SparseConv2DAttrs, dense: Type, data: Type, indices: Type, indptr: Type) -> TensorType:
    """Return the data's type with a channel for each row of the sparse matrix."""
    x = tensor(dense)
    count, _ = _matrix(data, indices, indptr, 1, (2, 3))
    if x.rank != 4:
        raise OpError(mistake(operators.RANK, what="the tensor of images", rank=x.rank, expected="4"), 0)
    axis = 3 if _channels_last(attrs) else 1
    return TensorType((*x.shape[:axis], count, *x.shape[axis + 1 :]), x.dtype)


def sparse_conv2d_numpy(
    attrs: SparseConv2DAttrs, dense: Numbers, data: Numbers, indices: Array, indptr: Array
) -> Array:
    """Return the product of the matrix and the channels of each place."""
    _check_window(attrs)
    axis = 3 if _channels_last(attrs) else 1
    return np.moveaxis(_product_values(np.moveaxis(dense, axis, -1), data, indices, indptr), -1, axis)


def sparse_conv2d_compute(
    attrs: SparseConv2DAttrs, out: TensorType, dense: te.Tensor, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor
) -> te.Tensor:
    """Return, element by element, the sum over the elements of a sparse row."""
    _check_window(attrs)
    axis = 3 if _channels_last(attrs) else 1

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        matrix = _Elements(*inputs[1:])

        def element(*at: PrimExpr) -> Stmt:
            def under(column: PrimExpr) -> PrimExpr:
                return BufferLoad(inputs[0], (*at[:axis], column, *at[axis + 1 :]))

            def body(total: Cell) -> Stmt:
                return seq(
                    matrix.product(at[axis], total, inputs[0].shape[axis], under), store(outputs[0], at, total.value)
                )

            return local(out.dtype, 0, body, "total")

        return rows(out.shape, inputs, outputs, element, "sparse_conv2d")

    return te.extern([out.shape], [out.dtype], [dense, data, indices, indptr], build, "sparse_conv2d")[0]


# Sums.


def sparse_add_type(attrs: NoAttrs, dense: Type, data: Type, indices: Type, indptr: Type) -> TensorType:
    """Return the type of the dense matrix."""
    x = tensor(dense)
    count, values = _matrix(data, indices, indptr, 1, (1,))
    if x.rank != 2 or equal(count, x.shape[0]) is False:
        raise OpError(
            f"a matrix of shape {show(x.shape)} and one of {count} rows are not added", 0, kind=operators.SHAPE
        )
    if values.dtype != x.dtype:
        raise OpError(f"the matrices have dtypes {x.dtype} and {values.dtype}", 1, kind=operators.DTYPE)
    return x


def sparse_add_numpy(attrs: NoAttrs, dense: Numbers, data: Numbers, indices: Array, indptr: Array) -> Array:
    """Return the sum of both matrices."""
    result = np.array(dense)
    owned, across, values = _coordinates(data, indices, indptr, dense.shape[1])
    places: Any = (owned, across)
    np.add.at(result, places, values)
    return result


def sparse_add_compute(
    attrs: NoAttrs, out: TensorType, dense: te.Tensor, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor
) -> te.Tensor:
    """Return a copy of the dense matrix, to which each row adds its elements."""

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        matrix, result = _Elements(*inputs[1:]), outputs[0]

        def row(i: PrimExpr) -> Stmt:
            begin, count = matrix.bounds(i)

            def add(j: PrimExpr) -> Stmt:
                at = (i, matrix.column(begin + j, out.shape[1]))
                return store(result, at, BufferLoad(result, at) + BufferLoad(matrix.values, (begin + j,)))

            copy = loop(out.shape[1], lambda c: store(result, (i, c), BufferLoad(inputs[0], (i, c))), "c")
            return seq(copy, loop(count, add, "j"))

        return rows(out.shape[:1], inputs, outputs, row, "sparse_add")

    return te.extern([out.shape], [out.dtype], [dense, data, indices, indptr], build, "sparse_add")[0]


# Transposition.


def sparse_transpose_type(attrs: SparseTransposeAttrs, data: Type, indices: Type, indptr: Type) -> TupleType:
    """Return the types of the inputs: the matrix is square."""
    _matrix(data, indices, indptr, 0, (1,))
    return TupleType((tensor(data), tensor(indices, 1), tensor(indptr, 2)))


def sparse_transpose_numpy(
    attrs: SparseTransposeAttrs, data: Array, indices: Array, indptr: Array
) -> tuple[Array, Array, Array]:
    """Return the elements ordered by column, with their rows.

    A row goes on to where the next one begins behind it; the last has all that is left.
    """
    count = len(indptr) - 1
    if count < 1:
        return np.zeros_like(data), np.zeros_like(indices), np.zeros_like(indptr)
    columns = clipped(indices, count)
    order = np.argsort(columns, kind="stable")
    ends = np.maximum.accumulate(indptr[1:].astype(np.int64))
    owners = np.minimum(np.searchsorted(ends, np.arange(len(data)), side="right"), count - 1)
    starts = np.concatenate(([0], np.cumsum(np.bincount(columns, minlength=count))))
    return data[order], owners[order].astype(indices.dtype), starts.astype(indptr.dtype)


def sparse_transpose_compute(
    attrs: SparseTransposeAttrs, out: TupleType, data: te.Tensor, indices: te.Tensor, indptr: te.Tensor
) -> Tensors:
    """Count the elements of each column, add up where columns begin, and put every element in its
    place.
    """

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        matrix = _Elements(*inputs)
        values, owners, starts = outputs
        count, size = starts.shape[0] - 1, matrix.indices.shape[0]

        def start(at: PrimExpr) -> PrimExpr:
            return BufferLoad(starts, (at,))

        def grow(at: PrimExpr) -> Stmt:
            return store(starts, (at,), start(at) + 1)

        def clear(at: PrimExpr) -> Stmt:
            return seq(store(values, (at,), const(0, values.dtype)), store(owners, (at,), 0))

        def place(row: PrimExpr, done: Cell) -> Stmt:
            end = inside(BufferLoad(matrix.indptr, (row + 1,)), size + 1)
            end = Select(row.equal(count - 1), size, end)

            def element() -> Stmt:
                column = matrix.column(done.value, count)
                # As many elements were counted as are placed: this is inside.
                here = (inside(start(column), size),)
                return seq(
                    store(values, here, BufferLoad(matrix.values, (done.value,))),
                    store(owners, here, cast(owners.dtype, row)),
                    grow(column),
                    done.add(1),
                )

            return let(maximum(end - done.value, IntImm(0)), lambda left: loop(left, lambda j: element(), "j"), "left")

        def body() -> Stmt:
            return seq(
                loop(starts.shape[0], lambda i: store(starts, (i,), 0)),
                # Without rows the elements belong to none.
                loop(Select(count.equal(0), size, IntImm(0)), clear, "k"),
                loop(Select(count.equal(0), IntImm(0), size), lambda k: grow(matrix.column(k, count) + 1), "k"),
                loop(count, lambda i: store(starts, (i + 1,), start(i + 1) + start(i))),
                local("int64", 0, lambda done: loop(count, lambda row: place(row, done), "row"), "done"),
                # Every column's start moved to its end, the start of the next.
                loop(count, lambda i: store(starts, (count - i,), start(count - i - 1))),
                store(starts, (0,), 0),
            )

        return rows((), inputs, outputs, body, "sparse_transpose")

    shapes, dtypes = zip(*((one.shape, one.dtype) for one in (data, indices, indptr)), strict=True)
    return te.extern(shapes, dtypes, [data, indices, indptr], build, "sparse_transpose")


def _product(name: str, inputs: tuple[str, ...], doc: str) -> OpDef:
    return OpDef(
        relay=f"nn.{name}",
        doc=doc,
        source="Relay's SparseDense relation and TOPI's sparse_dense of TVM 0.18",
        inputs=inputs,
        attrs=SparseDenseAttrs,
        infer=sparse_dense_type,
        on_bad_values=SPARSE,
        numpy=sparse_dense_numpy,
        compute=sparse_dense_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    )


OPS: tuple[OpDef, ...] = (
    _product("sparse_dense", ("dense_data", *_NAMES), "Multiply a dense matrix and a transposed sparse one."),
    _product(
        "internal.sparse_dense_padded",
        ("data", "weight_data", "weight_indices", "weight_indptr"),
        "The same with rows filled up with zeros for one target's threads.",
    ),
    OpDef(
        relay="nn.sparse_conv2d",
        doc="Convolve images by a sparse matrix: a window of one element.",
        source="Relay's SparseConv2d relation and TOPI's sparse_conv2d of TVM 0.18",
        inputs=("dense_data", *_NAMES),
        attrs=SparseConv2DAttrs,
        infer=sparse_conv2d_type,
        on_bad_values=SPARSE,
        numpy=sparse_conv2d_numpy,
        compute=sparse_conv2d_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
    OpDef(
        relay="nn.sparse_add",
        doc="Add a sparse matrix to a dense one.",
        source="Relay's SparseAdd relation and TOPI's sparse_add of TVM 0.18",
        inputs=("dense_data", *_NAMES),
        infer=sparse_add_type,
        on_bad_values=SPARSE,
        numpy=sparse_add_numpy,
        compute=sparse_add_compute,
    ),
    OpDef(
        relay="nn.sparse_transpose",
        doc="Transpose a square sparse matrix.",
        source="Relay's SparseTranspose relation and TOPI's sparse_transpose of TVM 0.18",
        inputs=_NAMES,
        attrs=SparseTransposeAttrs,
        infer=sparse_transpose_type,
        on_bad_values="A column outside is moved to the border. A row goes on to where the next one begins behind it, "
        "the last to the end.",
        numpy=sparse_transpose_numpy,
        compute=sparse_transpose_compute,
        fusion=Fusion(OpPattern.OUT_ELEMWISE_FUSABLE),
    ),
)
