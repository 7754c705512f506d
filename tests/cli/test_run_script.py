"""``run`` of what ``convert`` wrote: the folder, or the script in it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here
from linear_model import WEIGHTS, write_linear

from relay2relax import relay_ir

DATA = np.linspace(-1, 3, 20, dtype=np.float32).reshape(5, 4)
EXPECTED = np.maximum(DATA @ WEIGHTS["w.0"].T + WEIGHTS["b"], 0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    write_linear(tmp_path)
    np.savez(tmp_path / "in.npz", data=DATA)
    return tmp_path


def command(folder: Path, line: str) -> Any:
    return run_here(line.split(), cwd=folder)


def outputs(folder: Path, line: str) -> Any:
    """Run a command that ends well, and return its first output."""
    done = command(folder, f"{line} --out out.npz --force")
    assert done.returncode == 0, done.stderr
    return np.load(folder / "out.npz")["out0"]


@pytest.mark.compiler
@pytest.mark.parametrize("options", ["", "--via tir", "--schedule cpu", "--bind-params"])
@pytest.mark.parametrize("backend", ["numpy", "c"])
def test_a_converted_folder_runs_with_its_weights(folder: Path, options: str, backend: str) -> None:
    assert command(folder, f"convert linear.relay --params linear.params {options} --no-check").returncode == 0
    for name in ("linear_relax", "linear_relax/linear.py"):
        found = outputs(folder, f"run {name} --inputs in.npz --require-params -b {backend}")
        assert np.allclose(found, EXPECTED, rtol=1e-5)
    # Without the model, and from anywhere.
    shutil.move(folder / "linear_relax", folder / "moved")
    (folder / "linear.relay").unlink()
    assert np.allclose(outputs(folder, f"run moved --inputs in.npz -b {backend}"), EXPECTED, rtol=1e-5)


def test_params_by_the_names_of_relay(folder: Path) -> None:
    assert command(folder, "convert linear.relay --no-check").returncode == 0
    found = outputs(folder, "run linear_relax --params linear.params --inputs in.npz --require-params")
    assert np.allclose(found, EXPECTED, rtol=1e-5)


def test_params_that_are_packed(folder: Path) -> None:
    """Other weights than those that were converted, by the names of Relay."""
    line = "convert linear.relay --params linear.params --schedule cpu --no-check"
    assert command(folder, line).returncode == 0
    other = {name: value * 2 for name, value in WEIGHTS.items()}
    (folder / "other.params").write_bytes(relay_ir.save_params(other))
    found = outputs(folder, "run linear_relax --params other.params --inputs in.npz")
    assert np.allclose(found, 2 * EXPECTED, rtol=1e-5)


def test_what_is_drawn_is_what_the_model_draws(folder: Path) -> None:
    assert command(folder, "convert linear.relay --no-check").returncode == 0
    model = outputs(folder, "run linear.relay --seed 3")
    assert model.shape == (3, 3)
    assert np.allclose(outputs(folder, "run linear_relax --seed 3"), model, rtol=1e-5)
    assert not np.allclose(outputs(folder, "run linear_relax --seed 4"), model, rtol=1e-5)
    drawn = json.loads(command(folder, "run linear_relax --seed 3 --json").stdout)["drawn"]
    assert {one["name"]: (one["shape"], one["open"]) for one in drawn["values"]}["data"] == ([3, 4], [0])


def test_a_script_by_itself_from_standard_input(folder: Path) -> None:
    script = """from tvm.script import ir as I, relax as R
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", 2), "float32"), y: R.Tensor(("n",), "int32")):
        return R.sum(x, axis=[0])
"""
    (folder / "sum.txt").write_text(script)
    np.savez(folder / "x.npz", x=np.ones((7, 2), np.float32))
    done = command(folder, "run sum.txt --inputs x.npz --json")
    document = json.loads(done.stdout)
    assert document["outputs"][0]["values"] == [7.0, 7.0]
    # The extent of what is drawn is that of what is given.
    assert document["drawn"]["values"] == [{"name": "y", "shape": [7], "dtype": "int32", "open": [0]}]


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("run linear_relax --via tir", 2, "is translated already"),
        ("run linear_relax --dims data=2,_", 2, "--inputs"),
        ("run linear_relax --require-params", 3, "no values are given for data"),
        ("run linear_relax --inputs linear.params --inputs in.npz", 2, "--inputs"),
        ("run linear_relax --params in.npz", 0, ""),
        ("run linear_relax --params other.npz", 3, "neither by name nor by order"),
        ("run linear_relax --inputs other.npz", 3, "has no parameter 'datta'; it has"),
        ("run linear_relax --inputs some.npz", 0, ""),
        ("run linear_relax --verify", 0, ""),
        ("run changed --verify", 3, "SHA-256"),
        ("run changed", 0, "linear.safetensors was changed since it was written"),
        ("run . ", 3, "no model was converted into it"),
        ("run less", 3, "linear.safetensors"),
    ],
)
def test_what_is_wrong_is_said(folder: Path, line: str, code: int, words: str) -> None:
    assert command(folder, "convert linear.relay --params linear.params --no-check").returncode == 0
    np.savez(folder / "other.npz", datta=DATA)
    np.savez(folder / "some.npz", b=WEIGHTS["b"])
    for name in ("changed", "less"):
        shutil.copytree(folder / "linear_relax", folder / name)
    (folder / "less" / "linear.safetensors").unlink()
    weights = folder / "changed" / "linear.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    done = command(folder, line)
    assert done.returncode == code, done.stderr
    assert words in done.stderr
    assert "Traceback" not in done.stderr


def test_weights_that_are_missing(folder: Path) -> None:
    line = "convert linear.relay --params linear.params --no-check"
    assert command(folder, line).returncode == 0
    (folder / "linear_relax" / "linear.summary.json").unlink()
    np.savez(folder / "some.npz", b=WEIGHTS["b"])
    done = command(folder, "run linear_relax/linear.py --params some.npz")
    assert (done.returncode, "have no values: w.0" in done.stderr or "have no values: w_0" in done.stderr) == (3, True)
    assert command(folder, "run linear_relax/linear.py --params some.npz --allow-missing").returncode == 0
