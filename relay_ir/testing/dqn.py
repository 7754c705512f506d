"""Deep Q-Network, which learnt to play Atari games: three convolutions and two fully connected
layers.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.testing import layers
from relay2relax.relay_ir.testing.workload import create_workload
from relay2relax.tir.extent import Extent


def get_workload(
    batch_size: Extent = 1,
    num_actions: int = 18,
    image_shape: Sequence[int] = (4, 84, 84),
    dtype: str = "float32",
    layout: str = "NCHW",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape).

    Output: (batch, num_actions). ``layout`` is NCHW or NHWC, and that of ``image_shape``. Raises
    Relay2RelaxError for another one.
    """
    layers.channel_axis(layout, "NCHW", "NHWC")
    body = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    for name, channels, kernel, stride in (("conv1", 32, 8, 4), ("conv2", 64, 4, 2), ("conv3", 64, 3, 1)):
        body = op.nn.relu(layers.conv2d_bias(body, name, channels, kernel, stride, layout=layout))
    hidden = op.nn.relu(layers.dense(op.nn.batch_flatten(body), "dense1", 512))
    return create_workload(layers.dense(hidden, "dense2", num_actions))
