"""Larger models: files in a folder, held against what was computed before anybody is timed."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

Prepare = Callable[..., Path]
_GIVEN = np.array([[-3, 1.25]], np.float32)


@pytest.fixture
def prepare(parts: SimpleNamespace, tmp_path: Path) -> Prepare:
    """Return what writes the files of a model of two operators: x · [[1, 2], [3, 4]], less than 0
    left out, beside the third and the first row of a table.
    """
    onnx = pytest.importorskip("onnx")

    def write(**expected: Any) -> Path:
        folder = tmp_path / "tiny-0123"
        folder.mkdir()
        weights = {
            "w": np.array([[1, 2], [3, 4]], np.float32),
            "table": np.arange(40, dtype=np.float32).reshape(10, 4),
            "rows": np.array([2, 0], np.int64),
        }
        nodes = [
            onnx.helper.make_node("MatMul", ["x", "w"], ["y"]),
            onnx.helper.make_node("Relu", ["y"], ["z"]),
            onnx.helper.make_node("Gather", ["table", "rows"], ["t"]),
        ]
        kind = onnx.TensorProto.FLOAT
        shapes = {"x": [1, 2], "z": [1, 2], "t": [2, 4]}
        told = [onnx.helper.make_tensor_value_info(name, kind, shape) for name, shape in shapes.items()]
        held = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
        made = onnx.helper.make_graph(nodes, "tiny", told[:1], told[1:], held)
        opset = [onnx.helper.make_opsetid("", 18)]
        onnx.save(onnx.helper.make_model(made, opset_imports=opset, ir_version=10), folder / "model.onnx")
        np.savez(folder / "case.npz", in0=_GIVEN, **expected)
        return folder

    return write


_RIGHT = np.array([[0.75, 0.0]], np.float32)
_ROWS = np.array([[8, 9, 10, 11], [0, 1, 2, 3]], np.float32)


@pytest.mark.parametrize("peer", ["numpy", "onnxruntime", "openvino"])
def test_a_folder_is_measured(parts: SimpleNamespace, prepare: Prepare, peer: str) -> None:
    if peer != "numpy":
        pytest.importorskip(peer)
    found = parts.measure.peer(peer, prepare(out0=_RIGHT, out1=_ROWS), 0.01)
    assert found["run"] > 0, found


@pytest.mark.parametrize(
    ("expected", "said"), [(_RIGHT + 1, "another result"), (_RIGHT[:, :1], "shapes")], ids=["value", "shape"]
)
def test_another_result_is_no_measurement(parts: SimpleNamespace, prepare: Prepare, expected: Any, said: str) -> None:
    assert said in parts.measure.peer("numpy", prepare(out0=expected, out1=_ROWS), 0.01)["failed"]


def test_bytes_may_round_but_not_be_as_far_away_as_floats(parts: SimpleNamespace, prepare: Prepare) -> None:
    """What is expected is 0.01 away from what is computed; floats are farther away, or nearer."""
    folder = prepare(out0=_RIGHT + 0.01, out1=_ROWS, float0=_RIGHT + 0.1, float1=_ROWS + 1)
    assert "run" in parts.measure.peer("numpy", folder, 0.01)
    np.savez(folder / "case.npz", in0=_GIVEN, out0=_RIGHT + 0.01, out1=_ROWS, float0=_RIGHT + 0.005, float1=_ROWS + 1)
    assert "floats" in parts.measure.peer("numpy", folder, 0.01)["failed"]


def test_of_a_table_only_rows_are_moved(parts: SimpleNamespace, prepare: Prepare) -> None:
    from large.model import LargeModel

    model = LargeModel(prepare(out0=_RIGHT, out1=_ROWS))
    others = _GIVEN.nbytes + _RIGHT.nbytes + _ROWS.nbytes + 4 * 4 + 2 * 8
    assert model.moved(model.expected) == others + 2 * 4 * 4


def test_verdicts_are_of_both_instruction_sets(parts: SimpleNamespace) -> None:
    rows = {"a": {"c": {"run": 1.0}, "openvino": {"run": 2.0}, "c avx2": {"run": 3.0}, "openvino avx2": {"run": 2.0}}}
    found = [(one.seen, one.holds) for one in parts.marks.verdicts({"large": {"models": rows}})]
    assert found == [("0.5", True), ("0.5 (a)", True), ("1.5", False), ("1.5 (a)", False)]


def test_a_model_whose_library_is_absent_is_named(
    parts: SimpleNamespace, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from large.section import run

    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path))
    answer = SimpleNamespace(returncode=1, stderr="Traceback\nModuleNotFoundError: No module named 'torchvision'\n")
    monkeypatch.setattr(subprocess, "run", lambda *given, **options: answer)
    found = run(parts.common.Options(models=("vgg11",), peers=("c",)))
    assert "No module named 'torchvision'" in found["models"]["vgg11"]["c"]["failed"]
    assert "vgg11, c: no model: ModuleNotFoundError" in capsys.readouterr().out
