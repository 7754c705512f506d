"""Deformable convolution and correlation, against PyTorch's convolution and loops written here."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from typed import present, relay_record

from relay2relax.ops import OpError, TensorType

RANDOM = np.random.default_rng(13)
BFLOAT16 = ml_dtypes.bfloat16


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def bilinear(image: np.ndarray, y: float, x: float) -> np.ndarray:
    """The channels of ``image`` at (y, x).

    0 outside, where elements past the end count as 0 too.
    """
    if not (0 <= y < image.shape[1] and 0 <= x < image.shape[2]):
        return np.zeros(len(image))
    wide = np.pad(image.astype(np.float64), ((0, 0), (0, 1), (0, 1)))
    row, column = int(y), int(x)
    low, high = y - row, x - column
    upper = wide[:, row, column] * (1 - high) + wide[:, row, column + 1] * high
    lower = wide[:, row + 1, column] * (1 - high) + wide[:, row + 1, column + 1] * high
    return upper * (1 - low) + lower * low


def test_whole_offsets_shift_a_convolution(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType
) -> None:
    x, w = normal(2, 4, 7, 6), normal(6, 2, 3, 3)
    offset = np.zeros((2, 18, 7, 6), np.float32)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), padding=1, groups=2).numpy()
    attrs = {"padding": (1, 1), "groups": 2}
    agrees(run_op("nn.deformable_conv2d", attrs, x, offset, w, reduction=18), expected, 18)
    # All places one row further down: the data moves up.
    offset[:, ::2] = 1
    moved = np.concatenate((x[:, :, 1:], np.zeros_like(x[:, :, :1])), axis=2)
    expected = torch.nn.functional.conv2d(torch.tensor(moved), torch.tensor(w), padding=1, groups=2).numpy()
    actual = run_op("nn.deformable_conv2d", attrs, x, offset, w, reduction=18)
    agrees(actual[:, :, 1:], expected[:, :, 1:], 18)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_deformable_convolution(run_op: Callable[..., Any], agrees: Callable[..., None], layout: str) -> None:
    x, w, offset = normal(2, 4, 6, 5), normal(3, 4, 2, 3), normal(2, 24, 3, 4) * 2
    expected = np.zeros((2, 3, 3, 4))
    for n, y, z, row, column in itertools.product(*map(range, (2, 3, 4, 2, 3))):
        for part in range(2):
            pair = 2 * (part * 6 + row * 3 + column)
            dy, dx = offset[n, pair : pair + 2, y, z]
            channels = slice(2 * part, 2 * part + 2)
            sample = bilinear(x[n, channels], float(y * 2 - 1 + row * 2 + dy), float(z - 1 + column + dx))
            expected[n, :, y, z] += w[:, channels, row, column] @ sample
    attrs = {"strides": (2, 1), "padding": (1, 1, 1, 0), "dilation": (2, 1), "deformable_groups": 2}
    axes = ["NCHW".index(letter) for letter in layout]
    if layout == "NHWC":
        attrs |= {"data_layout": "NHWC", "kernel_layout": "HWIO"}
        w = w.transpose(2, 3, 1, 0)
    actual = run_op("nn.deformable_conv2d", attrs, x.transpose(axes), offset.transpose(axes), w, reduction=24)
    agrees(actual, expected.transpose(axes).astype(np.float32), 64)


def test_offset_and_weight_are_deduced() -> None:
    op = relay_record("nn.deformable_conv2d")
    attrs = op.attrs(channels=4, kernel_size=(3, 3), padding=(1, 1), groups=2)
    found = present(op.operands)(attrs, (TensorType((1, 4, 8, 9)), None, None))
    assert found == (TensorType((1, 4, 8, 9)), TensorType((1, 18, 8, 9)), TensorType((4, 2, 3, 3)))
    with pytest.raises(OpError, match="offset"):
        op.infer(attrs, found[0], TensorType((1, 9, 8, 9)), found[2])


@pytest.mark.parametrize("multiply", [True, False])
@pytest.mark.parametrize(("kernel", "reach", "stride1", "stride2"), [(1, 2, 1, 1), (3, 2, 2, 2), (3, 1, 2, 1)])
def test_correlation(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    multiply: bool,
    kernel: int,
    reach: int,
    stride1: int,
    stride2: int,
) -> None:
    x, y = normal(2, 3, 8, 7), normal(2, 3, 8, 7)
    attrs = {
        "kernel_size": kernel, "max_displacement": reach, "stride1": stride1, "stride2": stride2, "padding": (2, 3),
        "is_multiply": multiply,
    }  # fmt: skip
    first, second = (np.pad(one, ((0, 0), (0, 0), (2, 2), (3, 3))).astype(np.float64) for one in (x, y))
    border, radius = reach + kernel // 2, reach // stride2
    rows, columns = (-(-(extent - 2 * border) // stride1) for extent in first.shape[2:])
    moves = list(itertools.product(range(-radius, radius + 1), repeat=2))
    expected = np.zeros((2, len(moves), rows, columns))
    for (q, (down, right)), row, column in itertools.product(enumerate(moves), range(rows), range(columns)):
        top, left = row * stride1 + reach, column * stride1 + reach
        one = first[:, :, top : top + kernel, left : left + kernel]
        top, left = top + down * stride2, left + right * stride2
        other = second[:, :, top : top + kernel, left : left + kernel]
        expected[:, q, row, column] = (one * other if multiply else abs(one - other)).mean(axis=(1, 2, 3))
    agrees(run_op("nn.correlation", attrs, x, y, reduction=27), expected.astype(np.float32), 27)


def test_correlation_of_narrow_floats(run_op: Callable[..., Any]) -> None:
    """Distances of bfloat16 are not rounded to integers."""
    attrs = {"kernel_size": 3, "stride1": 2, "stride2": 2, "padding": (2, 2), "is_multiply": False}
    images = [RANDOM.uniform(0, 1, (1, 2, 6, 4)).astype(BFLOAT16) for _ in range(2)]
    narrow, wide = (
        run_op("nn.correlation", attrs, *(one.astype(dtype) for one in images)) for dtype in (BFLOAT16, "float32")
    )
    np.testing.assert_allclose(narrow.astype("float32"), wide, rtol=0.05)
