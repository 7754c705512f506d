"""The introduction runs and prints what the founding document shows, in our terms."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "introduction_to_relax.py"


def test_introduction_prints_every_stage(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLE), run_name="__main__")
    printed = capsys.readouterr().out
    shown_in_order = [
        # Relay, typed, with the unknown batch and ten calls
        "def @main(%data: Tensor[(?, 1, 28, 28), float32] /* ty=Tensor[(?, 1, 28, 28), float32] */, %fc1_weight:",
        "-> Tensor[(?, 10), float32] {",
        "%0 = nn.batch_flatten(%data) /* ty=Tensor[(?, 784), float32] */;",
        "%8 = nn.bias_add(%7, %fc3_bias, axis=-1)",
        # Relax: the batch is one symbolic dimension
        'def main(data: R.Tensor(("d", 1, 28, 28), dtype="float32")',
        "with R.dataflow():",
        'lv = R.call_tir(cls.batch_flatten, (data,), R.Tensor((d, 784), dtype="float32"))',
        "return gv",
        # TensorIR of one operator
        "def batch_flatten(",
        "d = T.int64()",
        'd is in R.Tensor(("d", 10), dtype="float32")',
        # the executable
        "Relax VM executable statistics:",
        "  Constant pool (# ",
        "  Globals (#",
        "@main:",
        "  call  vm.builtin.check_tensor_info in: %0, i4, c[",
        "  call  dense            in: ",
        "  ret   %",
        "@dense packed_func;",
    ]
    position = 0
    for line in shown_in_order:
        found = printed.find(line, position)
        assert found >= 0, line
        position = found
    assert printed.count("nn.") >= 10
