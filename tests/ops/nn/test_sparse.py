"""Sparse matrices, against the dense matrices that they were made from."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops import OpError, TensorType

RANDOM = np.random.default_rng(16)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def by_rows(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rows, columns = np.nonzero(matrix)
    starts = np.concatenate(([0], np.cumsum((matrix != 0).sum(axis=1))))
    return matrix[rows, columns], columns.astype(np.int32), starts.astype(np.int32)


def by_blocks(matrix: np.ndarray, high: int, wide: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    grid = matrix.reshape(len(matrix) // high, high, -1, wide).swapaxes(1, 2)
    rows, columns = np.nonzero((grid != 0).any(axis=(2, 3)))
    starts = np.searchsorted(rows, np.arange(len(grid) + 1))
    return np.ascontiguousarray(grid[rows, columns]), columns.astype(np.int32), starts.astype(np.int32)


def thin(rows: int, columns: int) -> np.ndarray:
    matrix = normal(rows, columns) * (RANDOM.random((rows, columns)) < 0.3)
    matrix[1] = 0
    return matrix.astype(np.float32)


@pytest.mark.parametrize("left", [False, True])
@pytest.mark.parametrize("name", ["nn.sparse_dense", "nn.internal.sparse_dense_padded"])
def test_sparse_dense(run_op: Callable[..., Any], agrees: Callable[..., None], left: bool, name: str) -> None:
    x, w = normal(5, 8), thin(6, 8)
    expected = w @ x.T if left else x @ w.T
    agrees(run_op(name, {"sparse_lhs": left}, x, *by_rows(w), reduction=8, batch=5), expected, 8)
    for block in ((2, 1), (3, 4), (1, 2)):
        agrees(run_op(name, {"sparse_lhs": left}, x, *by_blocks(w, *block), reduction=8), expected, 8)


@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
def test_sparse_conv2d(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, layout: str) -> None:
    x, w = normal(2, 8, 3, 4), thin(6, 8)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w)[:, :, None, None]).numpy()
    axes = ["NCHW".index(letter) for letter in layout]
    data = x.transpose(axes)
    blocks = by_blocks(w, 3, 2)
    agrees(run_op("nn.sparse_conv2d", {"layout": layout}, data, *blocks, reduction=8), expected.transpose(axes), 8)
    columns = by_blocks(w, 3, 1)
    narrow = (columns[0][:, :, 0], *columns[1:])
    agrees(run_op("nn.sparse_conv2d", {"layout": layout}, data, *narrow, reduction=8), expected.transpose(axes), 8)


def test_a_wide_window_is_refused_by_name() -> None:
    op = relay_record("nn.sparse_conv2d")
    data, indices, starts = by_blocks(thin(6, 8), 3, 2)
    with pytest.raises(UnsupportedError, match=r"nn\.sparse_conv2d"):
        op.numpy(op.attrs(kernel_size=(3, 3)), normal(1, 4, 4, 8), data, indices, starts)


def test_sparse_add(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    x, w = normal(6, 7), thin(6, 7)
    agrees(run_op("nn.sparse_add", {}, x, *by_rows(w)), x + w)
    with pytest.raises(OpError, match="dtypes"):
        relay_record("nn.sparse_add").infer(
            relay_record("nn.sparse_add").attrs(), TensorType((6, 7)), TensorType((3,), "float64"),
            TensorType((3,), "int32"), TensorType((7,), "int32"),
        )  # fmt: skip


def test_sparse_transpose(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    w = thin(7, 7)
    agrees(run_op("nn.sparse_transpose", {}, *by_rows(w)), by_rows(np.ascontiguousarray(w.T)))
