"""ONNX models behind the same commands as Relay: told by their content, with their own weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here

onnx = pytest.importorskip("onnx")

from onnx import TensorProto, helper, numpy_helper  # noqa: E402

WEIGHT = np.arange(12, dtype=np.float32).reshape(3, 4) / 10


@pytest.fixture
def model(tmp_path: Path) -> Path:
    nodes = [helper.make_node("Gemm", ["x", "w"], ["a"], "fc", transB=1), helper.make_node("Relu", ["a"], ["y"])]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, size]) for name, size in (("x", 4), ("y", 3))]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:], [numpy_helper.from_array(WEIGHT, "w")])
    found: Any = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    path = tmp_path / "net.onnx"
    path.write_bytes(found.SerializeToString())
    return path


def test_convert(model: Path) -> None:
    done = run_here(("convert", model, "--json", "--check"), cwd=model.parent)
    assert done.returncode == 0, done.stderr
    summary = json.loads(done.stdout)
    assert (summary["weights"], summary["inputs"]) == (["w"], ["x"])
    written = [Path(one) for one in summary["files"]]
    (weights,) = [one for one in written if one.suffix == ".safetensors"]
    assert (model.parent / "net_relax" / weights.name).stat().st_size > WEIGHT.nbytes


def test_run_gives_what_the_model_computes(model: Path, tmp_path: Path) -> None:
    x = np.ones((2, 4), np.float32)
    np.savez(tmp_path / "in.npz", x=x)
    done = run_here(("run", model, "--inputs", tmp_path / "in.npz", "-o", tmp_path / "out.npz"), cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    with np.load(tmp_path / "out.npz") as found:
        np.testing.assert_allclose(found[found.files[0]], np.maximum(x @ WEIGHT.T, 0), rtol=1e-5)


def test_inspect_names_its_operators(model: Path) -> None:
    done = run_here(("inspect", model), cwd=model.parent)
    assert done.returncode == 0, done.stderr
    assert "nn.dense" in done.stdout
