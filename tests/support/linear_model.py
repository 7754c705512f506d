"""A layer as people hold it: a Relay module of any batch, and its weights."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from relay2relax import relay_ir

MODULE = """#[version = "0.0.5"]
def @main(%w.0: Tensor[(3, 4), float32], %data: Tensor[(?, 4), float32], %b: Tensor[(3), float32]) {
  %0 = nn.dense(%data, %w.0, units=3);
  %1 = nn.bias_add(%0, %b, axis=-1);
  nn.relu(%1)
}
"""
WEIGHTS = {"w.0": np.arange(12, dtype=np.float32).reshape(3, 4), "b": np.array([1, -100, 0], np.float32)}


def write_linear(folder: Path) -> None:
    """Write ``linear.relay`` and ``linear.params``."""
    (folder / "linear.relay").write_text(MODULE)
    (folder / "linear.params").write_bytes(relay_ir.save_params(WEIGHTS))
