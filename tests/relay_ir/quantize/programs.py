"""Programs to quantise, with options; ``witness.py`` and the tests read the same."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

HEADER = '#[version = "0.0.5"]\n'
CONV = "padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3]"
IMAGE, KERNEL, BIAS = "Tensor[(1, 4, 6, 6), float32]", "Tensor[(4, 4, 3, 3), float32]", "Tensor[(4, 1, 1), float32]"

PROGRAMS = {
    "conv": f"""def @main(%x: {IMAGE}, %w: {KERNEL}, %b: {BIAS}) {{
  %0 = nn.conv2d(%x, %w, {CONV}); %1 = add(%0, %b); %2 = nn.relu(%1);
  %3 = nn.max_pool2d(%2, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  nn.batch_flatten(%3) }}""",
    "residual": f"""def @main(%x: {IMAGE}, %w1: {KERNEL}, %w2: {KERNEL}, %w3: {KERNEL}, %b: {BIAS}) {{
  %0 = nn.conv2d(%x, %w1, {CONV}); %1 = nn.relu(%0);
  %2 = nn.conv2d(%1, %w2, {CONV}); %3 = add(%2, %b); %4 = add(%1, %3); %5 = nn.relu(%4);
  %6 = nn.conv2d(%5, %w3, {CONV}); %7 = add(%5, %6); %8 = clip(%7, a_min=0f, a_max=6f);
  nn.global_avg_pool2d(%8) }}""",
    "branches": f"""def @main(%x: {IMAGE}, %w1: {KERNEL}, %w2: {KERNEL}, %y: {IMAGE}) {{
  %0 = nn.conv2d(%x, %w1, {CONV}); %1 = nn.conv2d(%x, %w2, {CONV}); %2 = add(%0, %y);
  %3 = (%0, %1); %4 = concatenate(%3, axis=1); %5 = (%2, %1, %y); %6 = concatenate(%5, axis=1); (%4, %6) }}""",
    "products": f"""def @main(%x: {IMAGE}, %w: {KERNEL}, %s: {BIAS}, %y: {IMAGE}) {{
  %0 = nn.conv2d(%x, %w, {CONV}); %1 = multiply(%0, %s); %2 = sigmoid(%y); %3 = multiply(%2, %1);
  %4 = nn.avg_pool2d(%3, pool_size=[2, 2], strides=[2, 2], padding=[0, 0, 0, 0]);
  %5 = reshape(%4, newshape=[4, 9]); transpose(%5, axes=[1, 0]) }}""",
    "dense": """def @main(%x: Tensor[(2, 6), float32], %w1: Tensor[(5, 6), float32], %w2: Tensor[(3, 5), float32],
    %b: Tensor[(3), float32]) {
  %0 = nn.dense(%x, %w1, units=5); %1 = nn.relu(%0); %2 = nn.dense(%1, %w2, units=3); nn.bias_add(%2, %b) }""",
    "line": """def @main(%x: Tensor[(1, 3, 8), float32], %w: Tensor[(4, 3, 3), float32]) {
  %0 = nn.conv1d(%x, %w, padding=[1, 1], channels=4, kernel_size=[3]);
  %1 = nn.max_pool1d(%0, pool_size=[2], strides=[2], padding=[0, 0]);
  strided_slice(%1, begin=[0, 0, 0], end=[1, 4, 2], strides=[1, 1, 1], axes=None) }""",
    "matmul": f"""def @main(%x: {IMAGE}, %w: {KERNEL}, %y: Tensor[(4, 5, 36), float32]) {{
  %0 = nn.conv2d(%x, %w, {CONV}); %1 = reshape(%0, newshape=[4, 1, 36]); %2 = sigmoid(%y);
  nn.batch_matmul(%1, %2, transpose_b=True) }}""",
    "network": f"""def @main(%x: {IMAGE}, %w1: {KERNEL}, %g: Tensor[(4), float32], %be: Tensor[(4), float32],
    %m: Tensor[(4), float32], %v: Tensor[(4), float32], %w2: {KERNEL}, %bi: Tensor[(4), float32]) {{
  %0 = nn.conv2d(%x, %w1, {CONV}); %1 = nn.batch_norm(%0, %g, %be, %m, %v); %2 = %1.0; %3 = nn.relu(%2);
  %4 = nn.conv2d(%3, %w2, {CONV}); %5 = nn.bias_add(%4, %bi); nn.softmax(%5, axis=1) }}""",
}

ALL: dict[str, Any] = {"skip_conv_layers": []}
# Name of the case, program, options, level of the context.
CASES: list[tuple[str, str, dict[str, Any], int]] = [
    *((name, name, ALL, 3) for name in PROGRAMS),
    ("conv_skipped", "conv", {}, 3),
    ("residual_skipped", "residual", {"skip_conv_layers": [1]}, 3),
    ("residual_simulated", "residual", {**ALL, "do_simulation": True}, 3),
    ("residual_max", "residual", {**ALL, "weight_scale": "max", "global_scale": 5.0}, 3),
    ("residual_nearest", "residual", {**ALL, "weight_scale": "max", "rounding": "TONEAREST"}, 3),
    ("residual_no_round", "residual", {**ALL, "round_for_shift": False}, 3),
    ("branches_max", "branches", {**ALL, "weight_scale": "max"}, 3),
    ("products_max", "products", {**ALL, "weight_scale": "max"}, 3),
    ("dense_quantised", "dense", {**ALL, "skip_dense_layer": False}, 3),
    ("network_level_2", "network", ALL, 2),
    ("residual_bits", "residual", {**ALL, "nbit_input": 6, "nbit_weight": 4, "dtype_input": "int16"}, 3),
    ("line_only_conv", "line", {**ALL, "debug_enabled_ops": ["nn.conv1d"]}, 3),
    ("conv_parted", "conv", {**ALL, "partition_conversions": "enabled"}, 3),
    ("network_parted", "network", {**ALL, "partition_conversions": "enabled"}, 3),
    ("dense_percentile", "dense", {**ALL, "skip_dense_layer": False, "calibrate_mode": "percentile"}, 3),
    ("conv_percentile", "conv", {**ALL, "calibrate_mode": "percentile", "calibrate_chunk_by": 1}, 3),
    ("conv_kl", "conv", {**ALL, "calibrate_mode": "kl_divergence"}, 3),
]


def _parameters(program: str) -> Iterator[tuple[str, tuple[int, ...]]]:
    for name, shape in re.findall(r"%(\w+): Tensor\[\(([\d, ]+)\)", program):
        yield name, tuple(int(one) for one in shape.split(","))


def values(program: str, inputs: bool, seed: int = 0) -> dict[str, NDArray[np.float32]]:
    """Return the parameters ``x`` and ``y`` of a program, or all others: multiples of 1/64."""
    drawn = np.random.RandomState(seed)
    found = {
        name: (drawn.randint(1 if name == "v" else -128, 128, shape) / 64).astype(np.float32)
        for name, shape in _parameters(program)
    }
    return {name: value for name, value in found.items() if (name in ("x", "y")) == inputs}


def dataset(program: str) -> list[dict[str, NDArray[np.float32]]]:
    """Return inputs of three runs."""
    return [values(program, True, seed) for seed in (1, 2, 3)]
