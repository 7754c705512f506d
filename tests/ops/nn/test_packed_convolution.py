"""Packed weights: the result is that of the plain operator, whose value PyTorch gives."""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.ops import OpError, TensorType

RANDOM = np.random.default_rng(14)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


def test_blocks_of_channels(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
    x, w = normal(2, 8, 6, 5), normal(6, 8, 3, 3)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), padding=1).numpy()
    data = x.reshape(2, 2, 4, 6, 5).transpose(0, 1, 3, 4, 2)
    weight = w.reshape(2, 3, 2, 4, 3, 3).transpose(0, 2, 4, 5, 3, 1)
    attrs = {
        "padding": (1, 1), "channels": 6, "kernel_size": (3, 3), "data_layout": "NCHW4c", "out_layout": "NCHW3c",
        "kernel_layout": "OIHW4i3o",
    }  # fmt: skip
    actual = run_op("nn.contrib_conv2d_NCHWc", attrs, data, weight, reduction=72)
    agrees(actual, expected.reshape(2, 2, 3, 6, 5).transpose(0, 1, 3, 4, 2), 72)
    # Four products at a time: (O / o, I / i, height, width, i / 4, o, 4).
    attrs["kernel_layout"] = "OIHW4i3o4i"
    fours = w.reshape(2, 3, 1, 2, 4, 3, 3).transpose(0, 2, 5, 6, 3, 1, 4)
    agrees(run_op("nn.contrib_conv2d_NCHWc", attrs, data, fours, reduction=72), actual, 72)


def test_depthwise_blocks(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType) -> None:
    x, w = normal(2, 8, 6, 5), normal(8, 1, 3, 3)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), stride=2, groups=8).numpy()
    data = x.reshape(2, 2, 4, 6, 5).transpose(0, 1, 3, 4, 2)
    weight = w.reshape(2, 4, 1, 3, 3).transpose(0, 2, 3, 4, 1)[:, :, :, :, None]
    attrs = {
        "strides": (2, 2), "groups": 8, "channels": 8, "kernel_size": (3, 3), "data_layout": "NCHW4c",
        "kernel_layout": "OIHW1i4o",
    }  # fmt: skip
    actual = run_op("nn.contrib_depthwise_conv2d_NCHWc", attrs, data, weight, reduction=9)
    agrees(actual, expected.reshape(2, 2, 4, 2, 2).transpose(0, 1, 3, 4, 2), 9)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_tiles(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, dtype: str) -> None:
    x = RANDOM.integers(-9, 9, (2, 3, 6, 5)).astype(dtype)
    w = RANDOM.integers(-9, 9, (5, 3, 3, 2)).astype(dtype)
    convolved = torch.nn.functional.conv2d(torch.tensor(x, dtype=torch.float64), torch.tensor(w, dtype=torch.float64))
    packed = run_op("nn.contrib_conv2d_gemm_weight_transform", {"tile_N": 4, "tile_K": 2}, w.transpose(2, 3, 1, 0))
    # 18 rows are rounded up to 24, 5 columns to 8.
    assert packed.shape == ((2, 12, 4, 2) if dtype == "int8" else (2, 12, 2, 4))
    assert packed[1, 0].reshape(-1)[0] == w[4, 0, 0, 0]
    attrs = {
        "channels": 5, "kernel_size": (3, 2), "data_layout": "NHWC", "kernel_layout": "HWIO",
        "out_dtype": "int32" if dtype == "int8" else "",
    }  # fmt: skip
    actual = run_op("nn.contrib_conv2d_gemm_without_weight_transform", attrs, x.transpose(0, 2, 3, 1), packed)
    agrees(actual, convolved.numpy().transpose(0, 2, 3, 1).astype(actual.dtype), 18)


@pytest.mark.parametrize("layout", ["NC", "NC4n", "NC4n2c"])
def test_dense_pack(run_op: Callable[..., Any], agrees: Callable[..., None], layout: str) -> None:
    x, w = normal(3, 6), normal(8, 6)
    packed = {
        "NC": w,
        "NC4n": w.reshape(2, 4, 6).transpose(0, 2, 1),
        "NC4n2c": w.reshape(2, 4, 3, 2).transpose(0, 2, 1, 3),
    }[layout]
    attrs = {"units": 8, "weight_layout": layout}
    agrees(run_op("nn.contrib_dense_pack", attrs, x, packed, reduction=6, batch=3), x @ w.T, 6)


def test_what_is_missing_is_refused() -> None:
    op = relay_record("nn.contrib_conv2d_NCHWc")
    with pytest.raises(OpError, match="needs channels"):
        op.infer(op.attrs(data_layout="NCHW4c"), TensorType((1, 2, 4, 4, 4)), TensorType((1, 2, 3, 3, 4, 4)))
