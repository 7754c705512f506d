"""Sorting, topk, searchsorted and unique, against numpy and PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pytest
from typed import of_type, relay_record

from relay2relax.ops import OpError, TensorType, TupleType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

RANDOM = np.random.default_rng(4)
N = Var("n")


def few(*shape: int, dtype: str = "float32") -> np.ndarray:
    """Return numbers of which many are equal."""
    return RANDOM.integers(0, 4, shape).astype(dtype)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("is_ascend", [True, False])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool"])
@pytest.mark.sweep(every=4)
def test_sort_and_argsort(check: Callable[..., Any], torch: Any, axis: int, is_ascend: bool, dtype: str) -> None:
    x = few(3, 5, 2, dtype=dtype)
    expected = torch.sort(torch.tensor(x), dim=axis, descending=not is_ascend, stable=True)
    check("sort", [x], expected.values.numpy(), axis=axis, is_ascend=is_ascend)
    indices = expected.indices.numpy().astype(np.int32)
    check("argsort", [x], indices, axis=axis, is_ascend=is_ascend, dtype="int32")


@pytest.mark.parametrize("extent", [0, 1, 2, 7])
def test_sort_of_any_extent(check: Callable[..., Any], extent: int) -> None:
    x = RANDOM.standard_normal(extent).astype(np.float32)
    check("sort", [x], np.sort(x), symbols=extent > 0)


def test_nan_is_the_largest(check: Callable[..., Any]) -> None:
    x = np.array([np.nan, 1, -np.inf, np.nan, np.inf, -1], np.float32)
    check("argsort", [x], np.array([2, 5, 1, 4, 0, 3], np.int64), dtype="int64")
    check("argsort", [x], np.array([0, 3, 4, 1, 5, 2], np.int64), dtype="int64", is_ascend=False)


@pytest.mark.parametrize("is_ascend", [True, False])
def test_topk(check: Callable[..., Any], torch: Any, is_ascend: bool) -> None:
    x = RANDOM.permutation(30).reshape(2, 5, 3).astype(np.float32)
    values, indices = (one.numpy() for one in torch.topk(torch.tensor(x), 3, dim=1, largest=not is_ascend))
    attrs = {"k": 3, "axis": 1, "is_ascend": is_ascend, "dtype": "int64"}
    check("topk", [x], (values, indices), symbols=False, **attrs)
    check("topk", [x], values, symbols=False, **attrs, ret_type="values")
    check("topk", [x], indices, symbols=False, **attrs, ret_type="indices")


@pytest.mark.parametrize("is_ascend", [True, False])
@pytest.mark.parametrize("k", [1, 4, 40])
@pytest.mark.sweep(every=2)
def test_first_of_many_with_ties(check: Callable[..., Any], is_ascend: bool, k: int) -> None:
    x = few(2, 90)
    x[0, 3] = np.nan
    order = np.argsort(x if is_ascend else np.where(np.isnan(x), -np.inf, -x), axis=1, kind="stable")[:, :k]
    expected = np.take_along_axis(x, order, 1), order.astype(np.int32)
    check("topk", [x], expected, symbols=False, k=k, is_ascend=is_ascend, dtype="int32")


def test_topk_of_the_whole_axis(check: Callable[..., Any]) -> None:
    x = np.array([[3, 1, 3, 2]], np.int32)
    expected = (np.array([[3, 3, 2, 1]], np.int32), np.array([[0, 2, 3, 1]], np.float32))
    check("topk", [x], expected, k=0, dtype="float32")


def test_topk_of_more_than_there_is() -> None:
    x = np.zeros((2, 3), np.float32)
    topk = relay_record("topk")
    with pytest.raises(OpError, match="first 4 of 3"):
        topk.numpy(topk.attrs(k=4, dtype="int32"), x)


def test_dynamic_topk(agrees: Callable[..., Any]) -> None:
    x = np.array([5, 9, 7], np.float32)
    topk = relay_record("dyn.topk")
    attrs = topk.attrs(k=None, dtype="int64")
    for k in (np.array(2), np.array([2])):
        values, indices = of_type(topk.numpy(attrs, x, k), tuple)
        agrees((values, indices), (np.array([9, 7], np.float32), np.array([1, 2])))
    found = topk.infer(attrs, TensorType((2, 3)), TensorType((1,), "int64"))
    assert found == TupleType((TensorType((2, ANY)), TensorType((2, ANY), "int64")))
    with pytest.raises(OpError, match="k has shape"):
        topk.infer(attrs, TensorType((2, 3)), TensorType((2,), "int64"))


@pytest.mark.parametrize("right", [False, True])
def test_searchsorted(check: Callable[..., Any], torch: Any, right: bool) -> None:
    sequence, values = np.sort(few(7)), few(3, 4)
    side: Literal["left", "right"] = "right" if right else "left"
    check("searchsorted", [sequence, values], np.searchsorted(sequence, values, side).astype(np.int32), right=right)
    sequences, rows = np.sort(few(2, 3, 5), axis=-1), few(2, 3, 4)
    expected = torch.searchsorted(torch.tensor(sequences), torch.tensor(rows), right=right).numpy()
    check("searchsorted", [sequences, rows], expected, right=right, dtype="int64")


def test_searchsorted_of_other_numbers(check: Callable[..., Any]) -> None:
    sequence, values = np.array([1, 3, 5]), np.array([0.5, 3, 3.5, 9], np.float32)
    check("searchsorted", [sequence, values], np.array([0, 1, 2, 3], np.int32))


def padded(values: np.ndarray, dtype: type[np.generic], extent: int, rest: int = 0) -> np.ndarray:
    result = np.full(extent, rest, dtype)
    result[: len(values)] = values
    return result


@pytest.mark.parametrize("return_counts", [False, True])
def test_unique(check: Callable[..., Any], return_counts: bool) -> None:
    x = np.array([4, 1, 4, 2, 1, 4, 7], np.int64)
    elements, first, inverse, counts = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
    always = (padded(elements, np.int64, 7), padded(first, np.int32, 7, 7), inverse.astype(np.int32))
    number, counted = np.array([4], np.int32), padded(counts, np.int32, 7)
    expected = (*always, number, counted) if return_counts else (*always, number)
    check("unique", [x], expected, return_counts=return_counts)


def test_unique_in_order_of_appearance(check: Callable[..., Any]) -> None:
    x = np.array([4, 1, 4, 2, 1, 4, 7], np.float32)
    expected = (
        np.array([4, 1, 2, 7, 0, 0, 0], np.float32),
        np.array([0, 1, 3, 6, 7, 7, 7], np.int32),
        np.array([0, 1, 0, 2, 1, 0, 3], np.int32),
        np.array([4], np.int32),
        np.array([3, 2, 1, 1, 0, 0, 0], np.int32),
    )
    check("unique", [x], expected, sorted=False, return_counts=True)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("in_order", [False, True])
def test_unique_of_nan(check: Callable[..., Any], in_order: bool, dtype: str) -> None:
    """NaN comes last, and differs from everything: what ``equal_nan=False`` means in numpy."""
    x = np.array([2, np.nan, 1, np.nan, 2, np.nan], dtype)
    _, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True, equal_nan=False
    )
    if not in_order:
        names = np.argsort(first)
        first, counts, inverse = first[names], counts[names], np.argsort(names)[inverse]
    expected = (
        np.append(x[first], 0).astype(dtype),
        padded(first, np.int32, 6, 6),
        inverse.astype(np.int32),
        np.array([5], np.int32),
        padded(counts, np.int32, 6),
    )
    check("unique", [x], expected, sorted=in_order, return_counts=True)


def test_types() -> None:
    assert relay_record("sort").infer(relay_record("sort").attrs(), TensorType((ANY, 3), "int8")) == TensorType(
        (ANY, 3), "int8"
    )
    topk = relay_record("topk")
    assert topk.infer(topk.attrs(k=0, dtype="int32", ret_type="values"), TensorType((2, N))) == TensorType((2, N))
    with pytest.raises(OpError, match="axis 2 is outside"):
        topk.infer(topk.attrs(k=1, axis=2, dtype="int32"), TensorType((2, 3)))
    with pytest.raises(OpError, match="ret_type is 'all'"):
        topk.infer(topk.attrs(k=1, ret_type="all", dtype="int32"), TensorType((2, 3)))
    with pytest.raises(OpError, match="dtype is not given"):
        relay_record("argsort").infer(relay_record("argsort").attrs(), TensorType((3,)))
    with pytest.raises(OpError, match="one dimension"):
        relay_record("unique").infer(relay_record("unique").attrs(), TensorType((3, 1)))
    search = relay_record("searchsorted")
    with pytest.raises(OpError, match="do not belong"):
        search.infer(search.attrs(), TensorType((3, 4)), TensorType((2, 4)))
