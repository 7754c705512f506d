"""Winograd's algorithm: the result is that of an ordinary convolution, whose value PyTorch
gives.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops import OpError, TensorType
from relay2relax.ops.nn.winograd import transforms

RANDOM = np.random.default_rng(18)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


@pytest.mark.parametrize(("tile", "kernel"), [(2, 3), (4, 3), (3, 5), (2, 7), (8, 3), (6, 4)])
def test_transforms_filter(tile: int, kernel: int) -> None:
    a, b, g = (one.astype(np.float64) for one in transforms(tile, kernel))
    data, weight = RANDOM.standard_normal(tile + kernel - 1), RANDOM.standard_normal(kernel)
    np.testing.assert_allclose(a.T @ ((g @ weight) * (b.T @ data)), np.correlate(data, weight, "valid"), rtol=1e-6)


@pytest.mark.tvm
def test_transforms_are_those_of_tvm() -> None:
    winograd_util = pytest.importorskip("tvm.topi.nn.winograd_util")
    for tile, kernel in [(2, 3), (3, 3), (4, 3), (2, 6), (4, 5), (8, 3)]:
        points = winograd_util._interpolation_points(tile + kernel - 2)
        expected = winograd_util._cook_toom_convolution(points, tile, kernel)
        for one, wanted in zip(transforms(tile, kernel), expected, strict=True):
            np.testing.assert_allclose(one.astype(np.float64), wanted, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
@pytest.mark.parametrize(("tile", "kernel", "padding"), [(2, 3, 1), (4, 3, 0), (3, 5, 2)])
def test_conv2d(
    run_op: Callable[..., Any],
    agrees: Callable[..., None],
    torch: ModuleType,
    layout: str,
    tile: int,
    kernel: int,
    padding: int,
) -> None:
    x, w = normal(2, 3, 9, 8), normal(4, 3, kernel, kernel)
    expected = torch.nn.functional.conv2d(torch.tensor(x), torch.tensor(w), padding=padding).numpy()
    weight = run_op("nn.contrib_conv2d_winograd_weight_transform", {"tile_size": tile}, w, reduction=4096)
    assert weight.shape == (tile + kernel - 1, tile + kernel - 1, 4, 3)
    axes = ["NCHW".index(letter) for letter in layout]
    attrs = {
        "tile_size": tile, "padding": (padding, padding), "channels": 4, "kernel_size": (kernel, kernel),
        "data_layout": layout,
    }  # fmt: skip
    name = "nn.contrib_conv2d_winograd_without_weight_transform"
    for given in (weight, weight.swapaxes(2, 3)):
        actual = run_op(name, attrs, x.transpose(axes), given, reduction=4096)
        agrees(actual, expected.transpose(axes), 4096)


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_conv3d(run_op: Callable[..., Any], agrees: Callable[..., None], torch: ModuleType, depth: int) -> None:
    x, w = normal(11, 2, 4, 5, 5), normal(4, 2, depth, 3, 3)
    expected = torch.nn.functional.conv3d(torch.tensor(x), torch.tensor(w), padding=(0, 1, 1)).numpy()
    weight = run_op("nn.contrib_conv3d_winograd_weight_transform", {"tile_size": 2}, w, reduction=4096)
    assert weight.shape == ((4, 4, 4, 4, 2) if depth == 3 else (4, 4, depth, 4, 2))
    attrs = {"tile_size": 2, "padding": (0, 1, 1), "channels": 4, "kernel_size": (depth, 3, 3)}
    name = "nn.contrib_conv3d_winograd_without_weight_transform"
    agrees(run_op(name, attrs, x, weight, batch=11, reduction=4096), expected, 4096)


def test_what_has_no_transformation_is_refused() -> None:
    transform = relay_record("nn.contrib_conv2d_winograd_weight_transform")
    with pytest.raises(OpError, match="windows of 3 to 7"):
        transform.numpy(transform.attrs(tile_size=2), normal(4, 3, 2, 2))
    op = relay_record("nn.contrib_conv2d_winograd_without_weight_transform")
    attrs = op.attrs(tile_size=2, channels=4, kernel_size=(3, 3))
    with pytest.raises(OpError, match="the transformed weight has shape"):
        op.numpy(attrs, normal(1, 3, 5, 5), normal(4, 4, 5, 3))


def test_nnpack_is_typed_and_refused_by_name() -> None:
    op = relay_record("nn.contrib_conv2d_winograd_nnpack_weight_transform")
    attrs = op.attrs(convolution_algorithm=1)
    assert op.infer(attrs, TensorType((4, 3, 3, 3))) == TensorType((4, 3, 8, 8))
    with pytest.raises(UnsupportedError, match="nnpack_weight_transform"):
        op.numpy(attrs, normal(4, 3, 3, 3))
