"""DenseNet: within a block every layer sees the results of all layers before it."""

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

# Channels of the first convolution, channels that a layer adds, layers of each block.
_SIZES = {
    121: (64, 32, (6, 12, 24, 16)),
    161: (96, 48, (6, 12, 36, 24)),
    169: (64, 32, (6, 12, 32, 32)),
    201: (64, 32, (6, 12, 48, 32)),
}
# The 1×1 convolution of a layer makes so many times the channels that the layer adds.
_WIDENED = 4


def get_workload(
    densenet_size: int = 121,
    classes: int = 1000,
    batch_size: Extent = 4,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape); output: (batch, classes).

    Raises Relay2RelaxError for a size other than 121, 161, 169 and 201.
    """
    if densenet_size not in _SIZES:
        raise Relay2RelaxError(
            f"densenet has the sizes {', '.join(map(str, _SIZES))}, not {densenet_size}", kind=translating.CHOICE
        )
    channels, growth, blocks = _SIZES[densenet_size]
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _activated(layers.conv2d(data, "conv1", channels, 7, 2, 3), "batch1")
    body = layers.max_pool2d(body, 3, 2, 1)
    for block, count in enumerate(blocks):
        for layer in range(count):
            body = layers.concatenate([body, _layer(body, growth, f"{block}_{layer}")])
        channels += count * growth
        if block < len(blocks) - 1:
            channels //= 2
            narrow = layers.conv2d(_activated(body, f"batch_t{block}"), f"conv_t{block}", channels, 1)
            body = layers.avg_pool2d(narrow, 2, 2)
    return create_workload(layers.classifier(_activated(body, "batch5"), "dense", classes))


def _layer(data: Expr, growth: int, index: str) -> Expr:
    wide = layers.conv2d(_activated(data, f"batch_1_{index}"), f"conv2d_1_{index}", _WIDENED * growth, 1)
    return layers.conv2d(_activated(wide, f"batch_2_{index}"), f"conv2d_2_{index}", growth, 3, 1, 1)


def _activated(data: Expr, name: str) -> Expr:
    result: Expr = op.nn.relu(layers.batch_norm(data, name))
    return result
