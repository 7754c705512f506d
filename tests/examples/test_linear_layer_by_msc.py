"""The program of MSC's announcement."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "linear_layer_by_msc.py"


def test_every_stage_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("torch")
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    lines = capsys.readouterr().out.splitlines()
    assert "  nn.bias_add(%7, %aten::linear_0.bias, axis=-1) /* span=aten::linear_0:0:0 */" in lines
    assert "ID_1 msc.linear_bias <PARENTS: input0| CHILDERN: >" in lines
    assert lines[-1] == "2 nodes, 12 taken apart; the numbers are PyTorch's"
    assert lines[-2] in (
        "structurally equal to what TVM imports of the module",
        "apache-tvm is not installed",
    )
