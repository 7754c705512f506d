"""Sampling at grids against PyTorch, affine grids, crops and dilation against loops written
here.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import relay_record

from relay2relax.ops import OpError, TensorType
from relay2relax.tir.extent import ANY

RANDOM = np.random.default_rng(6)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
@pytest.mark.parametrize("padding_mode", ["zeros", "border", "reflection"])
@pytest.mark.parametrize("align_corners", [True, False])
@pytest.mark.sweep(every=2)
def test_grid_sample(
    check: Callable[..., None], torch: Any, method: str, padding_mode: str, align_corners: bool
) -> None:
    x = normal(2, 3, 5, 7)
    grid = RANDOM.uniform(-1.9, 1.9, (2, 2, 4, 6)).astype(np.float32)
    expected = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid.transpose(0, 2, 3, 1)), method, padding_mode, align_corners
    ).numpy()
    attrs = {"method": method, "padding_mode": padding_mode, "align_corners": align_corners}
    check("image.grid_sample", [x, grid], expected, reduction=256, **attrs)


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("padding_mode", ["zeros", "reflection"])
def test_grid_sample_of_volumes(check: Callable[..., None], torch: Any, method: str, padding_mode: str) -> None:
    x = normal(1, 2, 3, 4, 5)
    grid = RANDOM.uniform(-1.5, 1.5, (1, 3, 2, 3, 4)).astype(np.float32)
    expected = torch.nn.functional.grid_sample(
        torch.tensor(x), torch.tensor(grid.transpose(0, 2, 3, 4, 1)), method, padding_mode, align_corners=False
    ).numpy()
    attrs = {"method": method, "padding_mode": padding_mode, "align_corners": False, "layout": "NCDHW"}
    check("image.grid_sample", [x, grid], expected, symbols=False, reduction=256, **attrs)


def test_an_axis_of_one_element_reflects_onto_itself(run_op: Callable[..., Any], agrees: Callable[..., None]) -> None:
    grid = np.full((1, 2, 1, 1), 0.75, np.float32)
    x = np.full((1, 1, 1, 1), 3, np.float32)
    agrees(run_op("image.grid_sample", {"padding_mode": "reflection"}, x, grid), x)


def test_grid_sample_refuses() -> None:
    op = relay_record("image.grid_sample")
    with pytest.raises(OpError, match="layout is 'NHWC'"):
        op.infer(op.attrs(layout="NHWC"), TensorType((1, 2, 3, 4)), TensorType((1, 2, 3, 4)))
    with pytest.raises(OpError, match="the grid has 3 dimensions"):
        op.infer(op.attrs(), TensorType((1, 2, 3, 4)), TensorType((1, 2, 3)))
    with pytest.raises(OpError, match="a grid of shape"):
        op.numpy(op.attrs(), normal(1, 2, 3, 4), normal(1, 3, 3, 4))
    with pytest.raises(OpError, match="method is 'bicubic'"):
        op.numpy(op.attrs(method="bicubic", layout="NCDHW"), normal(1, 1, 2, 2, 2), normal(1, 3, 1, 1, 1))
    with pytest.raises(OpError, match="padding_mode is 'wrap'"):
        op.numpy(op.attrs(padding_mode="wrap"), normal(1, 1, 2, 2), normal(1, 2, 1, 1))


def test_affine_grid(check: Callable[..., None], torch: Any) -> None:
    matrices = normal(3, 2, 3)
    points = torch.nn.functional.affine_grid(torch.tensor(matrices), [3, 1, 4, 6], align_corners=True)
    expected = points.numpy().transpose(0, 3, 1, 2)
    check("image.affine_grid", [matrices], expected, symbols=False, target_shape=(4, 6))
    op = relay_record("image.affine_grid")
    assert op.infer(op.attrs((4, 6)), TensorType((ANY, 2, 3))) == TensorType((ANY, 2, 4, 6))
    with pytest.raises(OpError, match="no step"):
        op.numpy(op.attrs((1, 6)), matrices)


def crop(
    x: np.ndarray, boxes: np.ndarray, owners: np.ndarray, size: tuple[int, int], method: str, value: float
) -> np.ndarray:
    """Return the crops of an image (N, H, W, C), point by point."""
    result = np.zeros((len(boxes), *size, x.shape[3]), np.float32)
    for b, i, j in itertools.product(range(len(boxes)), *map(range, size)):
        place = []
        for axis, index in enumerate((i, j)):
            low, high, last = boxes[b][axis], boxes[b][2 + axis], x.shape[1 + axis] - 1
            step = (high - low) * last / (size[axis] - 1) if size[axis] > 1 else 0
            place.append(low * last + index * step if size[axis] > 1 else (low + high) * last / 2)
        if any(p < 0 or p > n - 1 for p, n in zip(place, x.shape[1:3], strict=True)):
            result[b, i, j] = value
            continue
        image = x[owners[b]]
        if method == "nearest_neighbor":
            result[b, i, j] = image[int(np.floor(place[0] + 0.5)), int(np.floor(place[1] + 0.5))]
            continue
        (top, down), (left, right) = ((int(np.floor(p)), p - np.floor(p)) for p in place)
        below, beside = min(top + 1, x.shape[1] - 1), min(left + 1, x.shape[2] - 1)
        upper = image[top, left] * (1 - right) + image[top, beside] * right
        lower = image[below, left] * (1 - right) + image[below, beside] * right
        result[b, i, j] = upper * (1 - down) + lower * down
    return result


@pytest.mark.parametrize("method", ["bilinear", "nearest_neighbor"])
@pytest.mark.parametrize("layout", ["NHWC", "NCHW"])
@pytest.mark.parametrize("size", [(3, 4), (1, 2)])
def test_crop_and_resize(check: Callable[..., None], method: str, layout: str, size: tuple[int, int]) -> None:
    x = normal(2, 6, 7, 3)
    boxes = np.array([[0.11, 0.23, 0.87, 0.71], [0.9, -0.21, 0.13, 1.07]], np.float32)
    owners = np.array([1, 0], np.int32)
    expected = crop(x, boxes, owners, size, method, 9.0)
    axes = ["NHWC".index(letter) for letter in layout]
    args = [x.transpose(axes), boxes, owners]
    attrs = {"crop_size": size, "method": method, "layout": layout, "extrapolation_value": 9.0}
    check("image.crop_and_resize", args, expected.transpose(axes), symbols=False, reduction=16, **attrs)


def test_crop_refuses() -> None:
    op = relay_record("image.crop_and_resize")
    types = TensorType((1, 3, 5, 5)), TensorType((ANY, 4)), TensorType((ANY,), "int32")
    assert op.infer(op.attrs(crop_size=(2, 3)), *types) == TensorType((ANY, 3, 2, 3))
    with pytest.raises(OpError, match="crop_size"):
        op.infer(op.attrs(), *types)
    with pytest.raises(OpError, match="boxes has shape"):
        op.infer(op.attrs(crop_size=(2, 3)), types[0], TensorType((2, 5)), types[2])
    with pytest.raises(OpError, match="method is 'cubic'"):
        op.numpy(op.attrs(crop_size=(2, 3), method="cubic"), normal(1, 1, 2, 2), normal(1, 4), np.zeros(1, np.int32))


@pytest.mark.parametrize("layouts", [("NCHW", "IHW"), ("NHWC", "HWI")])
def test_dilation(check: Callable[..., None], layouts: tuple[str, str]) -> None:
    x, w = normal(2, 3, 6, 7), normal(3, 2, 3)
    padded = np.pad(x, ((0, 0), (0, 0), (1, 0), (2, 1)))
    attrs: dict[str, Any] = {"strides": (2, 1), "dilations": (2, 1), "padding": (1, 2, 0, 1)}
    expected = np.full((2, 3, 3, 8), -np.inf, np.float32)
    for i, j in itertools.product(range(2), range(3)):
        expected = np.maximum(expected, padded[:, :, i * 2 : i * 2 + 5 : 2, j : j + 8] + w[:, i, j, None, None])
    x_axes = ["NCHW".index(letter) for letter in layouts[0]]
    w_axes = ["IHW".index(letter) for letter in layouts[1]]
    args = [x.transpose(x_axes), w.transpose(w_axes)]
    attrs |= {"data_layout": layouts[0], "kernel_layout": layouts[1]}
    check("image.dilation2d", args, expected.transpose(x_axes), symbols=False, **attrs)


def test_dilation_refuses() -> None:
    op = relay_record("image.dilation2d")
    with pytest.raises(OpError, match="channels"):
        op.infer(op.attrs(), TensorType((1, 3, 5, 5)), TensorType((4, 2, 2)))
    with pytest.raises(OpError, match="a window of 7"):
        op.infer(op.attrs(), TensorType((1, 3, 5, 5)), TensorType((3, 7, 2)))
