"""MobileNet: convolutions separated into a depthwise and a pointwise one."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.testing import layers
from relay2relax.relay_ir.testing.workload import create_workload
from relay2relax.tir.extent import Extent

# Output channels and stride of each separable convolution, for alpha = 1.
_FIRST = ((64, 1), (128, 2), (128, 1), (256, 2), (256, 1), (512, 2))
_DEEP = ((512, 1),) * 5 + ((1024, 2), (1024, 1))
_SHALLOW = ((1024, 2), (1024, 1))


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    layout: str = "NCHW",
    alpha: float = 1.0,
    is_shallow: bool = False,
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape).

    Output: (batch, num_classes).

    ``alpha`` scales the number of channels; ``is_shallow`` leaves out five of the thirteen
    separable convolutions. ``layout`` is NCHW or NHWC, and that of ``image_shape``. Raises
    Relay2RelaxError for another one.
    """
    layers.channel_axis(layout, "NCHW", "NHWC")
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    channels = int(32 * alpha)
    first = layers.conv2d(data, "conv_block_1_conv", channels, 3, 2, 1, layout=layout)
    # Along axis 1 in both layouts, as in TVM.
    body: Expr = op.nn.relu(layers.batch_norm(first, "conv_block_1_bn"))
    for number, (after, stride) in enumerate(_FIRST + (_SHALLOW if is_shallow else _DEEP), 1):
        body = _separable(body, f"separable_conv_block_{number}", channels, int(after * alpha), stride, layout)
        channels = int(after * alpha)
    return create_workload(layers.classifier(body, "fc", num_classes, 1, layout))


def _separable(data: Expr, name: str, channels: int, after: int, stride: int, layout: str) -> Expr:
    axis = layout.index("C")
    depthwise = layers.conv2d(data, name, channels, 3, stride, 1, groups=channels, layout=layout)
    body = op.nn.relu(layers.batch_norm(depthwise, f"{name}_bn1", axis=axis))
    pointwise = layers.conv2d(body, f"{name}_conv2", after, 1, layout=layout)
    result: Expr = op.nn.relu(layers.batch_norm(pointwise, f"{name}_bn2", axis=axis))
    return result
