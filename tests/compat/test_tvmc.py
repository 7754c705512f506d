"""``tvmc``: its verbs, with the flags that TVM 0.18 gave them."""

from __future__ import annotations

import subprocess
import sys
import tarfile
from pathlib import Path

import numpy as np
import pytest

from relay2relax import relax_ir, relay_ir
from relay2relax.cli import tvmc

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 2, 4, 4), float32], %w: Tensor[(3, 2, 1, 1), float32]) {
  nn.relu(nn.conv2d(%x, %w, kernel_size=[1, 1], channels=3))
}
"""
X, W = np.arange(-16, 16, dtype="float32").reshape(1, 2, 4, 4), np.arange(-3, 3, dtype="float32").reshape(3, 2, 1, 1)
# A convolution of 1x1 is a product of matrices for each place.
EXPECTED = np.maximum(np.einsum("nchw,ockl->nohw", X, W), 0)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "net.relay").write_text(NET)
    np.savez(tmp_path / "in.npz", x=X, w=W)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def verb(*arguments: str) -> int:
    """Run a verb in this process; return its exit code."""
    try:
        return tvmc.main(arguments)
    except SystemExit as end:
        return int(str(end.code))


@pytest.mark.compiler
def test_a_package_is_what_tvms_graph_executor_takes(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--target-llvm-mcpu", "x86-64-v2", "--executor-graph-link-params=1", "--tuning-records", "records")
    assert verb("compile", "net.relay", "--desired-layout", "NHWC:HWIO", *flags, "-o", "net.tar") == 0
    said = capsys.readouterr().err
    assert said.splitlines() == [
        "--executor-graph-link-params changes nothing here",
        "--tuning-records changes nothing here",
    ]
    with tarfile.open("net.tar") as archive:
        assert archive.getnames() == ["mod.so", "mod.json", "mod.params"]
    assert verb("run", "net.tar", "-i", "in.npz", "-o", "out.npz", "--print-time", "--print-top", "1") == 0
    assert capsys.readouterr().out.startswith("mean ")
    with np.load("out.npz") as found:
        np.testing.assert_array_equal(found["output_0"], EXPECTED)


def test_a_command_of_its_own(folder: Path) -> None:
    command = [sys.executable, "-m", "relay2relax.compat", "-m", "tvm.driver.tvmc", "tune", "net.relay"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, "compile without records of tuning" in done.stderr) == (2, True)


def test_models_are_converted(folder: Path) -> None:
    assert verb("convert", "net.relay", "--desired-layout", "NHWC", "-f", "relay", "-o", "nhwc.relay") == 0
    assert 'data_layout="NHWC"' in (folder / "nhwc.relay").read_text()
    found = relay_ir.load("nhwc.relay")
    assert found["main"].params[0].name == "x"
    assert verb("convert", "net.relay", "--mixed-precision", "-o", "net.py") == 0
    script = relax_ir.parse((folder / "net.py").read_text())
    assert 'dtype="float16"' in script.script()
    assert verb("convert", "net.relay", "-f", "json", "-o", "net.json") == 0
    assert relay_ir.structural_equal(relay_ir.load("net.json"), relay_ir.parse(NET))
    # Neither the model nor what somebody has there is written over.
    before = (folder / "net.relay").read_bytes()
    assert verb("convert", "net.relay", "-f", "relay", "-o", "net.relay", "--force") != 0
    assert verb("convert", "net.relay", "-f", "relay", "-o", "nhwc.relay") != 0
    assert verb("convert", "net.relay", "-f", "relay", "-o", "nhwc.relay", "--force") == 0
    assert (folder / "net.relay").read_bytes() == before


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("compile", "net.relay", "--target", "cuda"), 2, "cuda"),
        (("compile", "net.relay", "-f", "mlf"), 4, "mlf"),
        (("compile", "net.relay", "--nothing"), 2, "unrecognized arguments: --nothing"),
        (("compile", "net.relay", "--dump-code", "asm"), 4, "asm"),
        (("compile", "none.relay"), 3, "none.relay"),
        (("compile", "net.h5", "--model-format", "keras"), 4, "ONNX"),
        (("compile", "net.relay", "--desired-layout", "NHWC", "NCHW"), 4, "expected 1 or 3 layouts but got 2"),
        (("compile", "net.relay", "--input-shapes", "x"), 2, "input_name:"),
        (("run", "net.relay"), 3, "no package"),
        (("run", "none.tar"), 3, "there is no package"),
        (("micro", "build"), 2, "no microTVM"),
    ],
)
def test_what_is_refused_is_said(
    arguments: tuple[str, ...], code: int, words: str, folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = verb(*arguments)
    said = capsys.readouterr().err
    assert (found, words in said, "Traceback" in said) == (code, True, False), said


def test_shapes_are_read_as_tvmc_reads_them() -> None:
    shapes = tvmc._shapes("a/x:[1, 3,224] y.z:[-1,2]")
    assert shapes == {"a/x": [1, 3, 224], "y.z": [-1, 2]}
