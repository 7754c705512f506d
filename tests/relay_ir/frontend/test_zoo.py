"""A sample of the models of others that docs/reference/pytorch-models.md has, against PyTorch."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytest.importorskip("transformers")
pytest.importorskip("onnxscript")

ROOT = Path(__file__).parents[3]


@pytest.mark.compiler
@pytest.mark.sweep(every=3)
def test_a_model_of_transformers_computes_what_pytorch_computes() -> None:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "tools"), "HF_HUB_OFFLINE": "1"}
    # An encoder with a decoder: the page's other rows are made by `make zoo`.
    line = [sys.executable, "-W", "ignore", "-m", "zoo.trial", "transformers", "BART"]
    done = subprocess.run(line, env=environment, capture_output=True, text=True, check=True)
    rows = [json.loads(row) for row in done.stdout.splitlines() if row.startswith("{")]
    assert [row["road"] for row in rows] == ["export", "onnx"]
    for row in rows:
        # Shares of the largest value, of sums of at most some hundred numbers.
        assert max(row["via_graph"], row["lower_to_tir"]) < 1e-5, row
