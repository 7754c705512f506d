"""Inception V3: modules whose branches of different windows are joined along the channels."""

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

# Channels, window, padding.
_Step = tuple[int, tuple[int, int], tuple[int, int]]


def get_workload(
    batch_size: Extent = 1,
    num_classes: int = 1000,
    image_shape: Sequence[int] = (3, 299, 299),
    dtype: str = "float32",
) -> tuple[IRModule, dict[str, Array]]:
    """Return (module, params). Input: ``data``, (batch, *image_shape).

    Output: (batch, num_classes).
    """
    body: Expr = var("data", shape=(batch_size, *image_shape), dtype=dtype)
    body = _conv(body, "conv", 32, (3, 3), stride=2)
    body = _conv(body, "conv_1", 32, (3, 3))
    body = _conv(body, "conv_2", 64, (3, 3), padding=(1, 1))
    body = layers.max_pool2d(body, 3, 2)
    body = _conv(body, "conv_3", 80, (1, 1))
    body = _conv(body, "conv_4", 192, (3, 3))
    body = layers.max_pool2d(body, 3, 2)
    for name, projected in (("mixed", 32), ("mixed_1", 64), ("mixed_2", 64)):
        body = _module_a(body, name, projected)
    body = _module_b(body, "mixed_3")
    for name, channels in (("mixed_4", 128), ("mixed_5", 160), ("mixed_6", 160), ("mixed_7", 192)):
        body = _module_c(body, name, channels)
    body = _module_d(body, "mixed_8")
    body = _module_e(body, "mixed_9", layers.avg_pool2d(body, 3, 1, 1))
    body = _module_e(body, "mixed_10", layers.max_pool2d(body, 3, 1, 1))
    flat = op.nn.batch_flatten(layers.avg_pool2d(body, 8, 1))
    return create_workload(op.nn.softmax(layers.dense(flat, "fc1", num_classes)))


def _conv(
    data: Expr, name: str, channels: int, kernel: tuple[int, int], stride: int = 1, padding: tuple[int, int] = (0, 0)
) -> Expr:
    made = layers.conv2d_window(data, f"{name}_conv1", channels, kernel, stride, padding)
    result: Expr = op.nn.relu(layers.batch_norm(made, f"{name}_bn", epsilon=2e-5, scale=False))
    return result


def _tower(data: Expr, name: str, steps: Sequence[_Step], stride: int = 1) -> Expr:
    """Return convolutions one after the other; the last one has the stride."""
    for number, (channels, kernel, padding) in enumerate(steps):
        step = stride if number == len(steps) - 1 else 1
        data = _conv(data, f"{name}_conv{f'_{number}' if number else ''}", channels, kernel, step, padding)
    return data


def _module_a(data: Expr, name: str, projected: int) -> Expr:
    return layers.concatenate(
        [
            _conv(data, f"{name}_conv", 64, (1, 1)),
            _tower(data, f"{name}_tower", [(48, (1, 1), (0, 0)), (64, (5, 5), (2, 2))]),
            _tower(data, f"{name}_tower_1", [(64, (1, 1), (0, 0)), (96, (3, 3), (1, 1)), (96, (3, 3), (1, 1))]),
            _conv(layers.avg_pool2d(data, 3, 1, 1), f"{name}_tower_2_conv", projected, (1, 1)),
        ]
    )


def _module_b(data: Expr, name: str) -> Expr:
    return layers.concatenate(
        [
            _conv(data, f"{name}_conv", 384, (3, 3), stride=2),
            _tower(data, f"{name}_tower", [(64, (1, 1), (0, 0)), (96, (3, 3), (1, 1)), (96, (3, 3), (0, 0))], 2),
            layers.max_pool2d(data, 3, 2),
        ]
    )


def _module_c(data: Expr, name: str, channels: int) -> Expr:
    row, column = ((1, 7), (0, 3)), ((7, 1), (3, 0))
    few: _Step = (channels, (1, 1), (0, 0))
    return layers.concatenate(
        [
            _conv(data, f"{name}_conv", 192, (1, 1)),
            _tower(data, f"{name}_tower", [few, (channels, *row), (192, *column)]),
            _tower(
                data,
                f"{name}_tower_1",
                [few, (channels, *column), (channels, *row), (channels, *column), (192, *row)],
            ),
            _conv(layers.avg_pool2d(data, 3, 1, 1), f"{name}_tower_2_conv", 192, (1, 1)),
        ]
    )


def _module_d(data: Expr, name: str) -> Expr:
    longer: Sequence[_Step] = [
        (192, (1, 1), (0, 0)),
        (192, (1, 7), (0, 3)),
        (192, (7, 1), (3, 0)),
        (192, (3, 3), (0, 0)),
    ]
    return layers.concatenate(
        [
            _tower(data, f"{name}_tower", [(192, (1, 1), (0, 0)), (320, (3, 3), (0, 0))], 2),
            _tower(data, f"{name}_tower_1", longer, 2),
            layers.max_pool2d(data, 3, 2),
        ]
    )


def _module_e(data: Expr, name: str, pooled: Expr) -> Expr:
    first = _conv(data, f"{name}_tower_conv", 384, (1, 1))
    second = _tower(data, f"{name}_tower_1", [(448, (1, 1), (0, 0)), (384, (3, 3), (1, 1))])
    return layers.concatenate(
        [
            _conv(data, f"{name}_conv", 320, (1, 1)),
            _conv(first, f"{name}_tower_mixed_conv", 384, (1, 3), padding=(0, 1)),
            _conv(first, f"{name}_tower_mixed_conv_1", 384, (3, 1), padding=(1, 0)),
            _conv(second, f"{name}_tower_1_mixed_conv", 384, (1, 3), padding=(0, 1)),
            _conv(second, f"{name}_tower_1_mixed_conv_1", 384, (3, 1), padding=(1, 0)),
            _conv(pooled, f"{name}_tower_2_conv", 192, (1, 1)),
        ]
    )
