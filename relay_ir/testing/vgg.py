"""VGG: stages of 3×3 convolutions, then three fully connected layers."""

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

_UNITS = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
_CHANNELS = (64, 128, 256, 512, 512)


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
    num_layers: int = 11,
    batch_norm: bool = False,
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape).

    Output: (batch, num_classes).

    Raises Relay2RelaxError for a number of layers other than 11, 13, 16 and 19.
    """
    if num_layers not in _UNITS:
        raise Relay2RelaxError(
            f"vgg has {', '.join(map(str, _UNITS))} layers, not {num_layers}", kind=translating.CHOICE
        )
    body: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for stage, (count, channels) in enumerate(zip(_UNITS[num_layers], _CHANNELS, strict=True), 1):
        for unit in range(1, count + 1):
            body = layers.conv2d_bias(body, f"conv{stage}_{unit}", channels, 3, 1, 1)
            if batch_norm:
                body = layers.batch_norm(body, f"bn{stage}_{unit}")
            body = op.nn.relu(body)
        body = layers.max_pool2d(body, 2, 2)
    body = op.nn.batch_flatten(body)
    for name in ("fc6", "fc7"):
        body = op.nn.dropout(op.nn.relu(layers.dense(body, name, 4096)), rate=0.5)
    return create_workload(op.nn.softmax(layers.dense(body, "fc8", num_classes)))
