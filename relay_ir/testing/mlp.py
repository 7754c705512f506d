"""The multi-layer perceptron of ``tvm.relay.testing``: 128 and 64 hidden units, softmax at the
end.
"""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.testing.workload import create_workload
from relay2relax.tir.extent import Extent


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 10,
    image_shape: Sequence[int] = (1, 28, 28),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params) of the network for images of ``image_shape``.

    ``batch_size`` may be ``relay_ir.Any()``. Input: ``data``, (batch, *image_shape); output:
    (batch, num_classes).
    """
    data = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    features = 1
    for extent in image_shape:
        features *= extent
    hidden = _layer(op.nn.batch_flatten(data), "fc1", features, 128, dtype)
    hidden = _layer(op.nn.relu(hidden), "fc2", 128, 64, dtype)
    scores = _layer(op.nn.relu(hidden), "fc3", 64, num_classes, dtype)
    return create_workload(op.nn.softmax(scores))


def _layer(data: Expr, name: str, inputs: int, units: int, dtype: str) -> Call:
    """Return a fully connected layer with its own weight and bias."""
    weight = var(f"{name}_weight", shape=(units, inputs), dtype=dtype)
    bias = var(f"{name}_bias", shape=(units,), dtype=dtype)
    result: Call = op.nn.bias_add(op.nn.dense(data, weight, units=units), bias, axis=-1)
    return result
