"""What docs/guide/run-and-export.md does in apache-tvm holds for every way to convert a model."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here
from doc_pages import ROOT, blocks

from relay2relax import relay_ir

PAGE = ROOT / "docs" / "guide" / "run-and-export.md"
MODEL = """#[version = "0.0.5"]
def @main(%weight: Tensor[(3, 4), float32], %data: Tensor[(2, 4), float32], %bias: Tensor[(3), float32]) {
  %0 = nn.dense(%data, %weight, units=3);
  nn.relu(nn.bias_add(%0, %bias))
}
"""
# Rows of the weight sum to 6, 22 and 38; the bias adds 1, -100 and 0.
WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4)
BIAS = np.array([1, -100, 0], np.float32)
EXPECTED = np.array([[7, 0, 38]] * 2, np.float32)


def in_tvm(language: str) -> list[str]:
    found = [block for block in blocks(PAGE.read_text()) if block.marks.get("needs") == "tvm"]
    return [block.text for block in found if block.language == language]


@pytest.mark.tvm
@pytest.mark.parametrize("options", [("--schedule", "cpu"), ("--schedule", "cpu", "--via", "tir"), ()], ids=" ".join)
def test_the_page(tmp_path: Path, options: tuple[str, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "linear.relay").write_text(MODEL)
    (tmp_path / "linear.params").write_bytes(relay_ir.save_params({"weight": WEIGHT, "bias": BIAS}))
    (command,) = (
        line[2:].split() for block in in_tvm("console") for line in block.splitlines() if line.startswith("$ ")
    )
    assert command[0] == "relay2relax"
    assert command[-4:-2] == ["--schedule", "cpu"]
    monkeypatch.chdir(tmp_path)
    run_here([*command[1:-4], *options, *command[-2:]]).check_returncode()
    monkeypatch.syspath_prepend(tmp_path)
    for name in [name for name in sys.modules if name.startswith("converted")]:
        monkeypatch.delitem(sys.modules, name)
    names: dict[str, Any] = {}
    run, other_weights, from_python = in_tvm("python")
    exec(run, names)  # noqa: S102
    np.testing.assert_array_equal(names["result"], EXPECTED)
    if options:
        exec(other_weights, names)  # noqa: S102
        np.testing.assert_array_equal(names["other"], [[0, 1, 2]] * 2)
        exec(from_python, names)  # noqa: S102
        np.testing.assert_array_equal(
            names["machine"]["main"](np.ones((2, 4), "float32"), *names["packed"].values()), EXPECTED
        )
