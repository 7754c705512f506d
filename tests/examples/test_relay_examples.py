"""The examples of passes that users write run, and print what they promise."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name: str, capsys: pytest.CaptureFixture[str]) -> str:
    runpy.run_path(str(EXAMPLES / name), run_name="__main__")
    return capsys.readouterr().out


def test_the_constant_evaluator(capsys: pytest.CaptureFixture[str]) -> None:
    printed = run("constant_evaluator.py", capsys)
    before, after = printed.split("def @main")[1:]
    assert before.count("transpose(") == 2
    assert "sqrt(16f" in before
    assert "transpose(" not in after
    assert "multiply(%x, 4f" in after
    assert "ConstantEvaluator: " in after
    # 4 * (0 + 1 + 2) and 4 * (3 + 4 + 5)
    assert "[[12. 48.]\n [12. 48.]]" in after


TO_CPU = "src_virtual_device=VirtualDevice(device_type=2, virtual_device_id=0)"
TO_GPU = "src_virtual_device=VirtualDevice(device_type=1, virtual_device_id=0)"


def test_device_placement(capsys: pytest.CaptureFixture[str]) -> None:
    plain, marked, planned, pinned = run("device_placement.py", capsys).split("def @main")[1:]
    # The first one, two in each of three units, and three shortcuts.
    assert {text.count("nn.conv2d(") for text in (plain, marked, planned, pinned)} == {10}
    assert "on_device(" not in plain
    assert marked.count("on_device(") == 10
    assert "device_copy(" not in marked
    # The last unit's convolution and its shortcut are added on the CPU.
    assert (planned.count(TO_CPU), planned.count(TO_GPU)) == (2, 0)
    assert "%conv0_weight {virtual_device=VirtualDevice(device_type=2" in planned
    assert "%fc1_weight {virtual_device=VirtualDevice(device_type=1" in planned
    # Seven values are convolved, three of them twice; ten results come back.
    assert (pinned.count(TO_CPU), pinned.count(TO_GPU)) == (10, 7)
