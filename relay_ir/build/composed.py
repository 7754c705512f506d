"""Functions of ``tvm.relay`` that make several calls, or take their arguments in another form."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import cast

import numpy as np

from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, RelayExpr, Tuple, TupleGetItem, as_expr, const

Axes = int | Sequence[int] | None


class TupleWrapper(Tuple):
    """A tuple of so many fields of a value, which can be indexed and unpacked."""

    def __new__(cls, tuple_value: Expr, size: int) -> Tuple:  # type: ignore[misc]
        """Return the tuple of the fields."""
        return Tuple(tuple(TupleGetItem(tuple_value, place) for place in range(size)))


def concatenate(data: object, axis: int) -> Expr:
    """Return the call of ``concatenate`` of a tuple, or of a list of its fields.

    Raises ValueError for no fields, and for an axis that is not a number.
    """
    return _joined("concatenate", data, axis)


def stack(data: object, axis: int) -> Expr:
    """Return the call of ``stack`` of a tuple, or of a list of its fields; see concatenate."""
    return _joined("stack", data, axis)


def _joined(name: str, data: object, axis: int) -> Expr:
    if not isinstance(axis, int):
        raise ValueError("For now, we only support integer axis")
    if not isinstance(data, (Call, Tuple)) and isinstance(data, (list, tuple)) and not data:
        raise ValueError(f"relay.{name} requires data to be non-empty.")
    return cast(Expr, getattr(op, name)(as_expr(data), axis=axis))


def variance(
    data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False,
    with_mean: Expr | None = None,
) -> Expr:  # fmt: skip
    """Return the variance along axes."""
    mean = op.mean(data, axis, True, exclude) if with_mean is None else with_mean
    return cast(Expr, op.variance(data, mean, axis, keepdims, exclude, unbiased))


def std(data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False) -> Expr:
    """Return the standard deviation along axes."""
    return cast(Expr, op.sqrt(variance(data, axis, keepdims, exclude, unbiased)))


def mean_variance(
    data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False, unbiased: bool = False
) -> Tuple:
    """Return mean and variance along axes."""
    mean = op.mean(data, axis, True, exclude)
    spread = variance(data, axis, keepdims, exclude, unbiased, mean)
    return Tuple((mean if keepdims else op.squeeze(mean, axis), spread))


def mean_std(data: Expr, axis: Axes = None, keepdims: bool = False, exclude: bool = False) -> Tuple:
    """Return mean and standard deviation along axes."""
    mean = op.mean(data, axis, True, exclude)
    spread = op.sqrt(variance(data, axis, keepdims, exclude, False, mean))
    return Tuple((mean if keepdims else op.squeeze(mean), spread))


def logsumexp(data: Expr, axis: Axes = None, keepdims: bool = False) -> Expr:
    """Return the logarithm of the sum of exponentials along axes."""
    greatest = op.max(data, axis, True)
    found = op.log(op.sum(op.exp(data - greatest), axis, True)) + greatest
    return cast(Expr, found if keepdims else op.squeeze(found, axis))


def strided_set(data: Expr, v: Expr, begin: object, end: object, strides: object = None) -> Expr:
    """Return ``data`` with ``v`` in the place of a slice."""
    places = [one if isinstance(one, RelayExpr) else const(list(cast("list[int]", one)))
              for one in (begin, end, strides or const([1], "int32"))]  # fmt: skip
    return cast(Expr, op.strided_set(data, v, *places))


def matrix_set_diag(data: Expr, diagonal: Expr, k: int | Sequence[int] = 0, align: str = "RIGHT_LEFT") -> Expr:
    """Return matrices with other diagonals, from the first to the last of ``k``."""
    places = [k] if isinstance(k, int) else list(k)
    return cast(
        Expr,
        op.matrix_set_diag(data, diagonal, places[0], places[-1], align.startswith("RIGHT"), align.endswith("RIGHT")),
    )


def stft(
    data: Expr, n_fft: int, hop_length: int | None = None, win_length: int | None = None, window: Expr | None = None,
    normalized: bool = False, onesided: bool = True,
) -> Expr:  # fmt: skip
    """Return the short-time Fourier transform."""
    given = op.ones([n_fft], "int32") if window is None else window
    return cast(Expr, op.stft(data, n_fft, hop_length or n_fft // 4, win_length or n_fft, given, normalized, onesided))


def adv_index(inputs: object) -> Expr:
    """Return the elements of a tensor at places that broadcast."""
    return cast(Expr, op.adv_index(as_expr(inputs)))


def einsum(data: object, equation: str) -> Expr:
    """Return a sum of products by its equation."""
    return cast(Expr, op.einsum(as_expr(data), equation=equation))


def meshgrid(data: object, indexing: str = "ij") -> Expr:
    """Return the grids of vectors."""
    return cast(Expr, op.meshgrid(as_expr(data), indexing=indexing))


def reverse_reshape(data: Expr, newshape: object) -> Expr:
    """Return ``data`` in a shape whose words count from the right."""
    return cast(Expr, op.contrib_reverse_reshape(data, newshape))


def unique(data: Expr, is_sorted: bool = True, return_counts: bool = False) -> Expr:
    """Return the different elements, and where they are."""
    return cast(Expr, op.unique(data, is_sorted, return_counts))


def sparse_dense(dense_mat: Expr, sparse_mat: object, sparse_lhs: bool = False) -> Expr:
    """Return the product with a sparse matrix, which is given by its three parts."""
    names = ("data", "indices", "indptr")
    parts = [getattr(sparse_mat, one) for one in names] if hasattr(sparse_mat, "indices") else list(sparse_mat)  # type: ignore[call-overload]
    given = [one if isinstance(one, RelayExpr) else const(np.asarray(one)) for one in parts]
    return cast(Expr, op.nn.sparse_dense(dense_mat, *given, sparse_lhs=sparse_lhs))


def sparse_transpose(x: object) -> Expr:
    """Return the transpose of a sparse matrix, which is given by its three parts."""
    names = ("data", "indices", "indptr")
    parts = [getattr(x, one) for one in names] if hasattr(x, "indices") else list(x)  # type: ignore[call-overload]
    return cast(Expr, op.nn.sparse_transpose(*parts))


def sparse_add(dense_mat: Expr, sparse_mat: object) -> Expr:
    """Return the sum with a sparse matrix, which is given by its three parts."""
    names = ("data", "indices", "indptr")
    parts = [getattr(sparse_mat, one) for one in names] if hasattr(sparse_mat, "indices") else list(sparse_mat)  # type: ignore[call-overload]
    return cast(Expr, op.nn.sparse_add(dense_mat, *parts))


def dropout_raw(data: Expr, rate: float = 0.5) -> Expr:
    """Return the call of dropout, which gives the value and its mask."""
    wrapped = op.nn.dropout(data, rate=rate)
    return cast(Expr, wrapped.tuple_value)


def threefry_key(seed: int) -> Constant:
    """Return the state of a generator of random numbers."""
    words = np.frombuffer(seed.to_bytes(32, sys.byteorder), "uint64")
    return Constant(np.concatenate((words, np.array([0, 0, 0, 0, 1 << 63, 0], "uint64"))))


def qnn_concatenate(data: object, input_scales: object, input_zero_points: object, output_scale: Expr,
                    output_zero_point: Expr, axis: int) -> Expr:  # fmt: skip
    """Return the quantised concatenation of the fields of a tuple."""
    return cast(
        Expr,
        op.qnn.concatenate(as_expr(data), as_expr(input_scales), as_expr(input_zero_points), output_scale,
                           output_zero_point, axis=axis),
    )  # fmt: skip


def sparse_fill_empty_rows(sparse_indices: Expr, sparse_values: Expr, dense_shape: Expr, default_value: Expr) -> Tuple:
    """Return a sparse tensor that has a value in each row, and which rows had none."""
    made = op.sparse_fill_empty_rows(sparse_indices, sparse_values, dense_shape, default_value)
    indices, values, empty = (TupleGetItem(made, place) for place in range(3))
    return Tuple((op.cast_like(indices, sparse_indices), op.cast_like(values, sparse_values), op.cast(empty, "bool")))


def segment_sum(data: Expr, segment_ids: Expr, num_segments: object = None) -> Expr:
    """Return the sums of the rows that have the same number in ``segment_ids``."""
    one = op.cast_like(const([1]), segment_ids)
    if isinstance(num_segments, int):
        num_segments = const([num_segments])
    count = op.reshape(op.max(segment_ids, [0], False, False), -1) + one if num_segments is None else num_segments
    rows = op.cast_like(count, segment_ids)
    rest = op.cast_like(op.strided_slice(op.shape_of(data, "int32"), [1], [-1], slice_mode="size"), rows)
    repeated = op.tile(segment_ids, op.concatenate(Tuple((op.reverse(rest, 0), one)), axis=0))
    shape = op.concatenate(Tuple((rows, rest)), axis=0)
    empty = op.cast_like(op.zeros(shape, "float64"), data)
    return cast(Expr, op.scatter_elements(empty, op.transpose(repeated), data, 0, "add"))
