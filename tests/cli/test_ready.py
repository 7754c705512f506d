"""``run`` of a model that was run before: the same output, without the model being read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import run_here

from relay2relax import relay_ir
from relay2relax.cli import files

pytestmark = pytest.mark.compiler
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(3, 8), float32], %w: Tensor[(16, 8), float32], %b: Tensor[(16), float32]) {
  nn.relu(nn.bias_add(nn.dense(%x, %w, units=16), %b))
}
"""
RANDOM = np.random.default_rng(5)
X, W = (RANDOM.standard_normal(shape).astype(np.float32) for shape in ((3, 8), (16, 8)))
RUN = ["run", "m.relay", "--params", "m.params", "--backend", "c", "--via", "tir"]


@pytest.fixture
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("RELAY2RELAX_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    Path("m.relay").write_text(TEXT)
    Path("m.params").write_bytes(relay_ir.save_params({"w": W, "b": np.zeros(16, np.float32)}))
    np.savez("x.npz", x=X)
    return tmp_path


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The models that were read."""
    found: list[Path] = []
    read = files.load_model

    def noted(path: Path, *args: Any, **named: Any) -> Any:
        found.append(path)
        return read(path, *args, **named)

    monkeypatch.setattr(files, "load_model", noted)
    return found


def test_the_second_run_reads_no_model_and_says_the_same(folder: Path, reads: list[Path]) -> None:
    first = run_here([*RUN, "--out", "first.npz"])
    assert (first.returncode, len(reads)) == (0, 1), first.stderr
    again = run_here([*RUN, "--out", "first.npz", "--force"])
    assert (again.stdout, again.stderr, len(reads)) == (first.stdout, first.stderr, 1)
    assert run_here([*RUN, "--json"]).stdout == run_here([*RUN, "--json"]).stdout
    assert run_here([*RUN, "--inputs", "x.npz", "--out", "second.npz"]).returncode == 0
    assert len(reads) == 1
    np.testing.assert_allclose(np.load("second.npz")["out0"], np.maximum(X @ W.T, 0), rtol=1e-5, atol=1e-6)
    # What is drawn is what is drawn where the model is read.
    assert run_here([*RUN[:-4], "--via", "graph", "--out", "relay.npz"]).returncode == 0
    drawn, expected = (np.load(name)["out0"] for name in ("first.npz", "relay.npz"))
    np.testing.assert_allclose(drawn, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "options",
    [["--entry", "main"], ["--dims", "x=3,8"], ["--profile"], ["--limit-memory", "4GB"], ["--backend", "numpy"]],
)
def test_options_that_change_what_is_read_read_it(folder: Path, reads: list[Path], options: list[str]) -> None:
    assert run_here(RUN).returncode == 0
    chosen = RUN[:4] + RUN[6:] if "--backend" in options else RUN
    assert run_here([*chosen, *options]).returncode == 0
    assert len(reads) == 2


def test_what_does_not_fit_is_said_as_ever(folder: Path, reads: list[Path]) -> None:
    assert run_here(RUN).returncode == 0
    np.savez("wrong.npz", x=X[:2])
    np.savez("double.npz", x=X.astype(np.float64))
    np.savez("other.npz", y=X)
    told = (("wrong", False, "dimension 0 is 2"), ("double", True, "float64 to float32"), ("other", False, "'y'"))
    for name, right, said in told:
        done = run_here([*RUN, "--inputs", f"{name}.npz"])
        assert (done.returncode == 0) == right
        assert said in done.stderr
    done = run_here([*RUN, "--require-params"])
    assert done.returncode != 0
    assert "no values are given for x" in done.stderr


def test_what_is_said_of_a_model_is_said_each_time(folder: Path) -> None:
    Path("m.params").write_bytes(relay_ir.save_params({"w": W, "b": np.zeros(16, np.float32), "more": W}))
    said = [run_here(RUN).stderr for _ in range(2)]
    assert said[0] == said[1]
    assert "more" in said[0]
