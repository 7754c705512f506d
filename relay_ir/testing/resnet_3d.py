"""Residual networks over video: three-dimensional convolutions in the units of ``resnet``."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.testing import layers, resnet
from relay2relax.relay_ir.testing.workload import create_workload
from relay2relax.tir.extent import Extent

_EPSILON = 2e-5


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 16, 112, 112),
    layout: str = "NCDHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, channels, frames, height, width).

    Output: (batch, num_classes).

    ``layout`` is NCDHW or NDHWC, and that of ``image_shape``. Raises Relay2RelaxError for another
    one, and for a number of layers that the network does not have.
    """
    layers.channel_axis(layout, "NCDHW", "NDHWC")
    height = image_shape[layout.index("H") - 1]
    units, filters, bottleneck = resnet.plan(num_layers, height)
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    # Along axis 1 in both layouts, as in TVM.
    body = layers.batch_norm(data, "bn_data", epsilon=_EPSILON, scale=False)
    if height <= 32:
        body = _conv(body, "conv0", filters[0], (3, 3, 3), (1, 1, 1), (1, 1, 1), layout)
    else:
        body = _conv(body, "conv0", filters[0], (3, 7, 7), (1, 2, 2), (1, 3, 3), layout)
        body = _activated(body, "bn0")
    for stage, (count, channels) in enumerate(zip(units, filters[1:], strict=True), 1):
        for unit in range(1, count + 1):
            stride = 2 if stage > 1 and unit == 1 else 1
            body = _unit(body, f"stage{stage}_unit{unit}", channels, stride, unit > 1, bottleneck, layout)
    pooled = op.nn.global_avg_pool3d(_activated(body, "bn1"), layout=layout)
    return create_workload(op.nn.softmax(layers.dense(op.nn.batch_flatten(pooled), "fc1", num_classes)))


def _unit(data: Expr, name: str, channels: int, stride: int, same: bool, bottleneck: bool, layout: str) -> Expr:
    # Window, stride and channels of each convolution.
    steps = [(3, stride, channels), (3, 1, channels)]
    if bottleneck:
        steps = [(1, stride, channels // 4), (3, 1, channels // 4), (1, 1, channels)]
    body, first = data, data
    for number, (window, step, width) in enumerate(steps, 1):
        body = _activated(body, f"{name}_bn{number}")
        first = body if number == 1 else first
        body = _conv(body, f"{name}_conv{number}", width, (window,) * 3, (step,) * 3, (window // 2,) * 3, layout)
    short = data if same else _conv(first, f"{name}_sc", channels, (1, 1, 1), (stride,) * 3, (0, 0, 0), layout)
    return body + short


def _activated(data: Expr, name: str) -> Expr:
    result: Expr = op.nn.relu(layers.batch_norm(data, name, epsilon=_EPSILON))
    return result


def _conv(
    data: Expr,
    name: str,
    channels: int,
    kernel: Sequence[int],
    strides: Sequence[int],
    padding: Sequence[int],
    layout: str,
) -> Expr:
    result: Expr = op.nn.conv3d(
        data,
        var(f"{name}_weight"),
        channels=channels,
        kernel_size=tuple(kernel),
        strides=tuple(strides),
        padding=(*padding, *padding),
        data_layout=layout,
        kernel_layout=layers.KERNELS[layout],
    )
    return result
