"""A small network of everything: fully connected layers, convolutions, softmax, normalisation,
reshapes.
"""

from __future__ import annotations

from relay2relax.core.dtype import Array
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.build.build import var
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.testing import layers
from relay2relax.relay_ir.testing.workload import create_workload


def get_workload(
    input_shape: tuple[int, int, int, int] = (1, 3, 24, 12), dtype: str = "float32"
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, ``input_shape``; output: of the same shape."""
    _, channels, _, width = input_shape
    data = var("data", shape=input_shape, dtype=dtype)

    def dense(of: Expr, name: str) -> Expr:
        rows = op.reshape(of, newshape=(-1, width))
        result: Expr = op.reshape_like(op.nn.relu(op.nn.dense(rows, var(name), units=width)), data)
        return result

    mixed = dense(data, "dense_weight") + op.nn.softmax(layers.conv2d(data, "conv", channels, 3, 1, 1))
    biased = layers.batch_norm(op.nn.bias_add(mixed, var("bias")), "batch_norm")
    return create_workload(dense(biased, "dense2_weight") + layers.conv2d(biased, "conv2", channels, 3, 1, 1))
