"""Upsampling, against PyTorch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from typed import of_type, relay_record

from relay2relax.ops import OpError, TensorType
from relay2relax.tir.extent import ANY
from relay2relax.tir.ir.expr import Var

RANDOM = np.random.default_rng(12)


def normal(*shape: int) -> np.ndarray:
    return RANDOM.standard_normal(shape, np.float32)


@pytest.mark.parametrize("layout", ["NCHW", "NHWC"])
def test_upsampling_agrees_with_pytorch(
    run_op: Callable[..., Any], agrees: Callable[..., None], torch: Any, layout: str
) -> None:
    x = normal(11, 2, 3, 4)
    axes = ["NCHW".index(letter) for letter in layout]
    interpolate = torch.nn.functional.interpolate
    attrs = {"scale_h": 2.0, "scale_w": 3.0, "layout": layout}
    expected = interpolate(torch.tensor(x), scale_factor=(2, 3), mode="nearest").numpy()
    agrees(run_op("nn.upsampling", attrs, x.transpose(axes), batch=11), expected.transpose(axes))
    expected = interpolate(torch.tensor(x), scale_factor=(2, 3), mode="bilinear", align_corners=True).numpy()
    attrs |= {"method": "bilinear", "align_corners": True}
    agrees(run_op("nn.upsampling", attrs, x.transpose(axes), batch=11, reduction=4), expected.transpose(axes), 16)


def test_upsampling3d_agrees_with_pytorch(run_op: Callable[..., Any], agrees: Callable[..., None], torch: Any) -> None:
    x = normal(11, 2, 3, 4, 2)
    attrs = {"scale_d": 2.0, "scale_h": 2.0, "scale_w": 2.0, "method": "trilinear"}
    expected = torch.nn.functional.interpolate(torch.tensor(x), scale_factor=2, mode="trilinear").numpy()
    agrees(run_op("nn.upsampling3d", attrs, x, batch=11, reduction=8), expected, 16)


def test_sizes_are_rounded() -> None:
    op = relay_record("nn.upsampling")
    n = Var("n", "int64")
    attrs = op.attrs(scale_h=1.5, scale_w=2.0)
    # Halves go to the even neighbour.
    assert op.infer(attrs, TensorType((1, 2, 3, 5))) == TensorType((1, 2, 4, 10))
    assert op.infer(attrs, TensorType((ANY, 2, 5, ANY))) == TensorType((ANY, 2, 8, ANY))
    found = of_type(op.infer(attrs, TensorType((1, 2, n, n))), TensorType).shape
    assert str(found[3]) == str(n * 2)
    with pytest.raises(OpError, match="no simple fraction"):
        op.infer(op.attrs(scale_h=1.0001, scale_w=2.0), TensorType((1, 2, n, 5)))
    with pytest.raises(OpError, match="method"):
        op.infer(op.attrs(scale_h=1.0, scale_w=2.0, method="linear"), TensorType((1, 2, 3, 5)))
