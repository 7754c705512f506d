"""Gathers, scatters and scans: values from PyTorch and numpy, and by hand where TVM has rules of
its own.
"""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from relay2relax.ops import TensorType, TupleType, relay_op
from relay2relax.ops.registry.record import OpError
from relay2relax.tir.extent import ANY

RANDOM = np.random.default_rng(11)
X = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)


def infer(name: str, attrs: dict[str, Any], *types: Any) -> Any:
    op = relay_op(name)
    assert op is not None
    return op.infer(op.attrs(**attrs), *types)


# scans


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_running_sums_and_products(check: Any, axis: int) -> None:
    check("cumsum", [X], np.cumsum(X, axis), axis=axis, reduction=4)
    check("cumprod", [X], np.cumprod(X, axis), axis=axis, reduction=4)


def test_scans_of_the_flattened_tensor(check: Any) -> None:
    check("cumsum", [X], np.cumsum(X), symbols=False, reduction=24)
    check("cumprod", [X[0]], np.cumprod(X[0]), symbols=False, reduction=12)


def test_an_exclusive_scan_starts_with_the_neutral_element(check: Any) -> None:
    data = np.array([[1, 2, 3], [4, 5, 6]], np.int32)
    check("cumsum", [data], np.array([[0, 1, 3], [0, 4, 9]], np.int32), axis=1, exclusive=True)
    check("cumprod", [data], np.array([[1, 1, 1], [1, 2, 3]], np.int32), axis=0, exclusive=True)


def test_scans_convert_before_they_add(check: Any) -> None:
    data = np.array([100, 100, 100], np.int8)
    check("cumsum", [data], np.array([100, -56, 44], np.int8), axis=0)
    check("cumsum", [data], np.array([100, 200, 300], np.int64), axis=0, dtype="int64")
    check("cumsum", [np.array([1.7, 1.7], np.float32)], np.array([1, 2], np.int32), axis=0, dtype="int32")


def test_running_sums_of_bool_wrap(check: Any) -> None:
    flags = np.array([True, True, False, True])
    check("cumsum", [flags], np.array([True, False, False, True]), axis=0)
    check("cumprod", [flags], np.array([True, True, False, False]), axis=0)


# gathers


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_gather_is_that_of_pytorch(check: Any, torch: Any, axis: int) -> None:
    shape = list(X.shape)
    shape[axis] = 5
    indices = RANDOM.integers(0, X.shape[axis], shape)
    expected = torch.gather(torch.from_numpy(X), axis, torch.from_numpy(indices)).numpy()
    check("gather", [X, indices], expected, symbols=False, axis=axis)
    check("gather", [X, indices.astype(np.uint32)], expected, symbols=False, axis=axis)


def test_gather_moves_places_inside(check: Any) -> None:
    data = np.array([10, 20, 30], np.int32)
    check("gather", [data, np.array([-1, 0, 7, 2], np.int64)], np.array([10, 10, 30, 30], np.int32), axis=0)


def test_gather_takes_lines_of_the_data_only() -> None:
    with pytest.raises(OpError, match="differ in dimension 0"):
        infer("gather", {"axis": 1}, TensorType((4, 2)), TensorType((2, 2), "int32"))
    with pytest.raises(OpError, match="expected integers"):
        infer("gather", {"axis": 1}, TensorType((4, 2)), TensorType((4, 2), "float32"))


def test_gather_nd_takes_elements_and_slices(check: Any) -> None:
    places = np.array([[0, 1, 1], [2, 0, 2]], np.int32)
    check("gather_nd", [X, places], X[places[0], places[1]], symbols=False)
    full = np.array([[0, 1], [2, 0], [3, 3]], np.int64)
    check("gather_nd", [X, full], X[tuple(full)], symbols=False)


def test_gather_nd_with_batch_axes(check: Any, torch: Any) -> None:
    places = np.array([[[2, 0], [1, 1]]], np.int64)
    expected = np.stack([X[b][places[0, b]] for b in range(2)])
    check("gather_nd", [X, places], expected, symbols=False, batch_dims=1)


def test_the_number_of_coordinates_may_be_told() -> None:
    found = infer("gather_nd", {"index_rank": 2}, TensorType((2, 3, 4)), TensorType((ANY, 5), "int32"))
    assert found == TensorType((5, 4))
    with pytest.raises(OpError, match="number of coordinates is unknown"):
        infer("gather_nd", {}, TensorType((2, 3, 4)), TensorType((ANY, 5), "int32"))


def test_adv_index_broadcasts_its_places(check: Any) -> None:
    rows, columns = np.array([[0], [1]], np.int64), np.array([0, 2, 1], np.int64)
    check("adv_index", [(X, rows, columns)], X[rows, columns], symbols=False)


# scatters


@pytest.mark.parametrize(
    ("reduction", "word"), [("add", "sum"), ("mul", "prod"), ("min", "amin"), ("max", "amax"), ("update", "")]
)
def test_scatter_elements_is_that_of_pytorch(run_op: Any, agrees: Any, torch: Any, reduction: str, word: str) -> None:
    indices = np.array([[[2, 0, 1, 1]], [[0, 1, 0, 2]]], np.int64)
    updates = RANDOM.standard_normal(indices.shape).astype(np.float32)
    data, places, values = map(torch.from_numpy, (X, indices, updates))
    expected = data.scatter(1, places, values) if not word else data.scatter_reduce(1, places, values, word)
    found = run_op("scatter_elements", {"axis": 1, "reduction": reduction}, X, indices, updates)
    agrees(found, expected.numpy(), 4)


def test_updates_of_one_place_follow_each_other(run_op: Any) -> None:
    data, indices = np.array([8, 8], np.float32), np.array([0, 0, -2], np.int64)
    updates = np.array([4, 2, 1], np.float32)
    for reduction, first in (("update", 1), ("add", 15), ("mul", 64), ("mean", 2.5), ("min", 1), ("max", 8)):
        found = run_op("scatter_elements", {"reduction": reduction}, data, indices, updates)
        assert found.tolist() == [first, 8], reduction


def test_a_mean_of_narrow_floats_is_not_truncated(run_op: Any) -> None:
    arguments = [np.array([7], ml_dtypes.bfloat16), np.array([0], np.int64), np.array([2], ml_dtypes.bfloat16)]
    assert run_op("scatter_elements", {"reduction": "mean"}, *arguments).tolist() == [4.5]


def test_updates_beyond_the_indices_are_not_used(run_op: Any) -> None:
    arguments = [np.zeros(3, np.float32), np.array([2, 0], np.int64), np.array([5, 6, 7], np.float32)]
    assert run_op("scatter_elements", {"reduction": "add"}, *arguments).tolist() == [6, 0, 5]


def test_a_mean_of_integers_is_truncated(run_op: Any) -> None:
    arguments = [np.array([-7], np.int32), np.array([0, 0], np.int32), np.array([0, 4], np.int32)]
    assert run_op("scatter_elements", {"reduction": "mean"}, *arguments).tolist() == [0]


def test_scatters_leave_out_what_lies_outside(check: Any) -> None:
    data, updates = np.array([1, 2, 3], np.float32), np.array([9, 8], np.float32)
    check("scatter_elements", [data, np.array([3, 1], np.int64), updates], np.array([1, 8, 3], np.float32))
    check("scatter_nd", [data, np.array([[-1, 1]], np.int64), updates], np.array([1, 8, 3], np.float32), symbols=False)


def test_scatter_nd_puts_slices(check: Any) -> None:
    places = np.array([[1, 0, 1]], np.int32)
    updates = RANDOM.standard_normal((3, 3, 4)).astype(np.float32)
    expected = X.copy()
    expected[0] += updates[1]
    expected[1] = expected[1] + updates[0] + updates[2]
    check("scatter_nd", [X, places, updates], expected, symbols=False, mode="add")
    expected = X.copy()
    expected[1, 2], expected[0, 0] = updates[0, 0], updates[1, 0]
    column = np.array([[1, 0], [2, 0]], np.int64)
    check("scatter_nd", [X, column, updates[:2, 0]], expected, symbols=False)


def test_scatters_refuse_what_does_not_fit() -> None:
    with pytest.raises(OpError, match="the way to update is 'mean'"):
        infer("scatter_nd", {"mode": "mean"}, TensorType((2, 3)), TensorType((1, 2), "int32"), TensorType((2, 3)))
    with pytest.raises(OpError, match="the indices ask for"):
        infer("scatter_nd", {}, TensorType((2, 3)), TensorType((1, 2), "int32"), TensorType((2, 4)))
    with pytest.raises(OpError, match="ranks 2, 1 and 1"):
        infer("scatter_elements", {}, TensorType((2, 3)), TensorType((2,), "int32"), TensorType((2,)))


def test_scans_and_scatters_infer_through_unknown_extents() -> None:
    assert infer("cumsum", {}, TensorType((ANY, 3))) == TensorType((ANY,))
    data = TensorType((ANY, 3))
    assert infer("scatter_elements", {}, data, TensorType((ANY, 3), "int64"), TensorType((ANY, 3))) == data
    found = infer("adv_index", {}, TupleType((TensorType((ANY, 3)), TensorType((ANY,), "int64"))))
    assert found == TensorType((ANY, 3))
