"""Scripts and what convert wrote join a comparison of many programs, which may have a page."""

from __future__ import annotations

import re
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from commands import run_here

from relay2relax import parity, relay_ir, viewer
from relay2relax.parity import Batch, Program

TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(?, 4), float32], %w: Tensor[(3, 4), float32]) { nn.relu(nn.dense(%x, %w, units=3)) }
"""
X = np.arange(8, dtype=np.float32).reshape(2, 4) / 8 - 0.4
W = np.arange(12, dtype=np.float32).reshape(3, 4) / 12 - 0.5
EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "net.relay").write_text(TEXT)
    np.savez(tmp_path / "w.npz", w=W)
    np.savez(tmp_path / "x.npz", x=X)
    assert run_here(["convert", "net.relay", "--params", "w.npz", "--no-check"]).returncode == 0
    script = (tmp_path / "net_relax" / "net.py").read_text()
    # Another activation: where it is called on a value below zero, results part.
    (tmp_path / "changed.py").write_text(script.replace("R.nn.relu(", "R.nn.silu("))
    return tmp_path


def rows(page: str) -> list[list[str]]:
    """Return the cells of all lines of all tables."""
    lines = re.findall(r"<tr>(.*?)</tr>", page)
    found = [[unescape(one) for one in re.findall(r"<td[^>]*>(.*?)</td>", line)] for line in lines]
    return [line for line in found if line]


def test_scripts_are_programs(folder: Path) -> None:
    values = ("-b", "numpy", "--params", "w.npz", "--batch", "x.npz", "--sweep", "0,3")
    found = run_here(["compare", "net.relay", "changed.py", "-p", "net_relax", *values, "--report", "page.html"])
    assert found.returncode == 1, found.stderr
    page = (folder / "page.html").read_text()
    (overview,) = [line for line in rows(page) if line[:2] == ["changed.py", "numpy"] and len(line) == 5]
    product = X @ W.T
    off = np.abs(product / (1 + np.exp(-product)) - np.maximum(product, 0)).max() / np.maximum(product, 0).max()
    assert overview[2] == f"DIFFERS, {off:.3g}"
    assert overview[3] == "equal"
    assert "net.py" in {line[0] for line in rows(page)}
    assert "changed.py on numpy, output 0: elements by their errors" in page


def test_what_was_converted_is_compared_with_its_model(folder: Path) -> None:
    found = run_here(["compare", "net_relax", "-b", "numpy", "--repeat", "--sweep", "2"])
    assert found.returncode == 0, found.stderr
    assert "net.py" in found.stdout
    # The weights beside the script are its model's: nothing of them is drawn.
    assert "drawn from seed 0: x (?=2, 4)\n" in found.stdout


def test_a_script_of_another_model_is_a_row(folder: Path) -> None:
    (folder / "other.py").write_text(
        (folder / "changed.py").read_text().replace("w: R.Tensor", "w2: R.Tensor((3, 4), 'float32'), w: R.Tensor")
    )
    found = run_here(["compare", "net.relay", "-p", "other.py", "-b", "numpy"])
    assert found.returncode == 3
    assert "other.py has parameters that Relay has no value for: w2" in found.stdout


def test_options_of_one_comparison_are_refused(folder: Path) -> None:
    found = run_here(["compare", "net.relay", "--repeat", "--expected", "x.npz"])
    assert found.returncode == 2
    assert "--expected" in found.stderr


def test_words_of_models_are_text_on_the_page() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(TEXT))
    wrong = Program(EVIL, "python", lambda _: lambda trial: X)
    batches = [Batch(EVIL, {"x": X, "w": W}), Batch("again", {"x": X, "w": W})]
    page = viewer.matrix_page(parity.compare(mod, programs=[wrong], batches=batches), EVIL).decode()
    assert "<img" not in page
    assert page.count("&lt;img") >= 4
    assert "<script" not in page
