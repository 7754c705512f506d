"""Residual networks with normalisation before convolution, for small images and for those of
ImageNet.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.dtype import Array
from relay2relax.core.errors import Relay2RelaxError
from relay2relax.core.errors.table import translating
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.testing import layers
from relay2relax.relay_ir.testing.workload import create_workload
from relay2relax.tir.extent import Extent

_EPSILON = 2e-5
UNITS = {
    18: (2, 2, 2, 2),
    34: (3, 4, 6, 3),
    50: (3, 4, 6, 3),
    101: (3, 4, 23, 3),
    152: (3, 8, 36, 3),
    200: (3, 24, 36, 3),
    269: (3, 30, 48, 8),
}


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 1000,
    num_layers: int = 18,
    image_shape: Sequence[int] = (3, 224, 224),
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape).

    Output: (batch, num_classes).

    Images up to 28 high get three stages (``num_layers`` = 6n + 2, or 9n + 2 from 164 on), up to 32
    high no pooling. ``layout`` is NCHW or NHWC, and that of ``image_shape``. Raises
    Relay2RelaxError for another one, and for a number of layers that the network does not have.
    """
    axis = layers.channel_axis(layout, "NCHW", "NHWC")
    height = image_shape[layout.index("H") - 1]
    units, filters, bottleneck = plan(num_layers, height)
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = layers.batch_norm(data, "bn_data", epsilon=_EPSILON, scale=False, axis=axis)
    if height <= 32:
        body = layers.conv2d(body, "conv0", filters[0], 3, 1, 1, layout=layout)
    else:
        body = layers.conv2d(body, "conv0", filters[0], 7, 2, 3, layout=layout)
        body = _activated(body, "bn0", layout)
        body = layers.max_pool2d(body, 3, 2, 1, layout)
    for stage, (count, channels) in enumerate(zip(units, filters[1:], strict=True), 1):
        for unit in range(1, count + 1):
            stride = 2 if stage > 1 and unit == 1 else 1
            make = _bottleneck if bottleneck else _basic
            body = make(body, f"stage{stage}_unit{unit}", channels, stride, unit > 1, layout)
    return create_workload(layers.classifier(_activated(body, "bn1", layout), "fc1", num_classes, layout=layout))


def plan(num_layers: int, height: int) -> tuple[Sequence[int], Sequence[int], bool]:
    """Return the units of each stage, the channels before and in the stages, and whether units are
    bottlenecks.
    """
    if height <= 28:
        if num_layers >= 164 and (num_layers - 2) % 9 == 0:
            return ((num_layers - 2) // 9,) * 3, (16, 64, 128, 256), True
        if num_layers < 164 and (num_layers - 2) % 6 == 0:
            return ((num_layers - 2) // 6,) * 3, (16, 16, 32, 64), False
        raise Relay2RelaxError(
            f"a residual network for small images has 6n + 2 or 9n + 2 layers, not {num_layers}",
            kind=translating.CHOICE,
        )
    if num_layers not in UNITS:
        raise Relay2RelaxError(
            f"a residual network has {', '.join(map(str, UNITS))} layers, not {num_layers}", kind=translating.CHOICE
        )
    bottleneck = num_layers >= 50
    return UNITS[num_layers], (64, 256, 512, 1024, 2048) if bottleneck else (64, 64, 128, 256, 512), bottleneck


def _activated(data: Expr, name: str, layout: str) -> Expr:
    result: Expr = op.nn.relu(layers.batch_norm(data, name, epsilon=_EPSILON, axis=layout.index("C")))
    return result


def _shortcut(data: Expr, activated: Expr, name: str, channels: int, stride: int, same: bool, layout: str) -> Expr:
    return data if same else layers.conv2d(activated, f"{name}_sc", channels, 1, stride, layout=layout)


def _basic(data: Expr, name: str, channels: int, stride: int, same: bool, layout: str) -> Expr:
    first = _activated(data, f"{name}_bn1", layout)
    body = layers.conv2d(first, f"{name}_conv1", channels, 3, stride, 1, layout=layout)
    body = layers.conv2d(_activated(body, f"{name}_bn2", layout), f"{name}_conv2", channels, 3, 1, 1, layout=layout)
    return body + _shortcut(data, first, name, channels, stride, same, layout)


def _bottleneck(data: Expr, name: str, channels: int, stride: int, same: bool, layout: str) -> Expr:
    first = _activated(data, f"{name}_bn1", layout)
    narrow = channels // 4
    body = layers.conv2d(first, f"{name}_conv1", narrow, 1, stride, layout=layout)
    body = layers.conv2d(_activated(body, f"{name}_bn2", layout), f"{name}_conv2", narrow, 3, 1, 1, layout=layout)
    body = layers.conv2d(_activated(body, f"{name}_bn3", layout), f"{name}_conv3", channels, 1, layout=layout)
    return body + _shortcut(data, first, name, channels, stride, same, layout)
