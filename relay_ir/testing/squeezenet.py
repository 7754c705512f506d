"""SqueezeNet 1.0 and 1.1: convolutions that squeeze to few channels and expand again."""

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

# Per version: the first convolution (channels, window, padding), and before which modules there is
# a pooling.
_VERSIONS = {"1.0": ((96, 7, 3), (1, 4, 8)), "1.1": ((64, 3, 1), (1, 3, 5))}
_SQUEEZED = (16, 16, 32, 32, 48, 48, 64, 64)


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 1000,
    version: str = "1.0",
    image_shape: Sequence[int] = (3, 224, 224),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape).

    Output: (batch, num_classes).

    Raises Relay2RelaxError for a version other than 1.0 and 1.1.
    """
    if version not in _VERSIONS:
        raise Relay2RelaxError(
            f"squeezenet has the versions {' and '.join(_VERSIONS)}, not {version!r}", kind=translating.CHOICE
        )
    (channels, kernel, padding), pooled = _VERSIONS[version]
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body: Expr = op.nn.relu(layers.conv2d_bias(data, "conv1", channels, kernel, 2, padding))
    for number, squeezed in enumerate(_SQUEEZED, 1):
        if number in pooled:
            body = layers.max_pool2d(body, 3, 2)
        body = _fire(body, f"fire{number}", squeezed)
    body = op.nn.dropout(body, rate=0.5)
    body = op.nn.relu(layers.conv2d_bias(body, "conv_final", num_classes, 1))
    return create_workload(op.nn.softmax(op.nn.batch_flatten(op.nn.global_avg_pool2d(body))))


def _fire(data: Expr, name: str, squeezed: int) -> Expr:
    """Return a module: 1×1 to few channels, then 1×1 and 3×3 to four times as many each."""
    few = op.nn.relu(layers.conv2d_bias(data, f"{name}_input_conv", squeezed, 1))
    left = layers.conv2d_bias(few, f"{name}_left_conv", 4 * squeezed, 1)
    right = layers.conv2d_bias(few, f"{name}_right_conv", 4 * squeezed, 3, 1, 1)
    return layers.concatenate([op.nn.relu(left), op.nn.relu(right)])
