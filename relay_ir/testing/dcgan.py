"""The generator of DCGAN: a fully connected layer and four transposed convolutions make an image of
noise.
"""

from __future__ import annotations

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


def get_workload(
    batch_size: Extent = 1,
    oshape: tuple[int, int, int] = (3, 64, 64),
    ngf: int = 128,
    random_len: int = 100,
    layout: str = "NCHW",
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, random_len); output: (batch, *oshape).

    ``ngf`` is the number of channels before the last layer. ``layout``, of the output, is NCHW or
    NHWC; ``oshape`` begins with the channels in both. Raises Relay2RelaxError for another layout,
    and for images of other than 64×64.
    """
    axis = layers.channel_axis(layout, "NCHW", "NHWC")
    if oshape[1:] != (64, 64):
        raise Relay2RelaxError(f"dcgan makes images of 64×64, not {oshape[1]}×{oshape[2]}", kind=translating.CHOICE)
    data = var("data", shape=(batch_size, random_len), dtype=dtype)
    body: Expr = op.nn.relu(op.nn.dense(data, var("dense_weight"), units=4 * 4 * ngf * 8))
    body = op.reshape(body, newshape=(-1, ngf * 8, 4, 4) if axis == 1 else (-1, 4, 4, ngf * 8))
    for name, channels in (("g2", ngf * 4), ("g3", ngf * 2), ("g4", ngf)):
        wide = _doubled(body, f"{name}_deconv", channels, layout)
        normal = layers.batch_norm(wide, f"{name}_batch_norm", epsilon=1e-5 + 1e-12, scale=False, axis=axis)
        body = op.nn.relu(normal)
    return create_workload(op.tanh(_doubled(body, "g5_deconv", oshape[0], layout)))


def _doubled(data: Expr, name: str, channels: int, layout: str) -> Expr:
    """Return a transposed convolution that doubles height and width."""
    result: Expr = op.nn.conv2d_transpose(
        data,
        var(f"{name}_weight"),
        channels=channels,
        kernel_size=(4, 4),
        strides=(2, 2),
        padding=(1, 1, 1, 1),
        data_layout=layout,
        kernel_layout="IOHW" if layout == "NCHW" else "HWOI",
    )
    return result
