"""Pages of comparisons and profiles: what figures count, and that names stay text."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from html import unescape
from pathlib import Path

import numpy as np
import pytest
from browser.programs import HOSTILE
from commands import run_here
from linear_model import write_linear

from relay2relax import relay_ir, translator, viewer

NET = """#[version = "0.0.5"]
def @main(%x: Tensor[(1, 4), float32]) { nn.relu(%x) }
"""


@dataclass(frozen=True)
class Measured:
    """A kernel as it was measured."""

    function: str
    label: str
    seconds: float
    operations: int = 0
    bytes: int = 0


def test_histograms_count_every_element() -> None:
    expected = np.array([10, 1, 2, 3, 4, np.nan, np.nan, 5], np.float32)
    actual = expected + np.array([0, 1e-6, 1e-3, 0.5, 20, 0, 0, 0], np.float32)
    actual[6] = 0
    figures = viewer.Figures()
    figures.add("via_graph", "c", 0, actual, expected)
    said = re.search(r'aria-label="Errors of via_graph on c, output 0\. ([^"]*)"', figures.made["via_graph", "c", 0])
    assert said is not None
    counts = {label: int(count) for label, count in (one.split(": ") for one in said[1].split(", "))}
    # By hand: shares of 10 are 1e-7 (and what rounding adds), 1e-4, 0.05 and 2.
    gap = np.abs(actual.astype(np.float64) - expected) / 10
    assert counts["0"] == 3  # with NaN on both sides
    assert counts["NaN"] == 1
    assert counts["more"] == np.count_nonzero(gap > 1)
    assert counts["1e-1"] == np.count_nonzero((gap > 1e-2) & (gap <= 1e-1))
    assert sum(counts.values()) == 8


def test_outputs_are_looked_at_while_they_are_compared() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(NET))
    seen = []
    with translator.outputs_shown(lambda *one: seen.append(one[:3])):
        report = translator.compare(mod, backends=("numpy",))
    assert seen == [(row.program, row.backend, row.output) for row in report.rows]
    translator.compare(mod, backends=("numpy",))
    assert len(seen) == len(report.rows)


def test_report_has_no_script_and_no_markup_of_names() -> None:
    mod = relay_ir.infer_type(relay_ir.parse(NET))
    figures = viewer.Figures()
    with translator.outputs_shown(figures.add):
        report = translator.compare(mod, backends=("numpy",))
    page = viewer.report_page(report, figures, HOSTILE).decode()
    assert "<script" not in page
    assert "script-src &#x27;none&#x27;" in page
    assert "<img" not in page
    assert "All outputs agree." in page
    assert page.count("<figure>") == 2 * len(report.rows)


def test_flames_lie_one_after_the_other() -> None:
    kernels = [Measured("f", "a", 2e-3, 100, 40), Measured("f", HOSTILE, 4e-3), Measured("g", "c", 6e-3)]
    events = json.loads(viewer.chrome_trace(kernels, runs=2))["traceEvents"]
    spans = {one["name"]: (one["ts"], one["ts"] + one["dur"]) for one in events}
    assert spans["a"] == (0, pytest.approx(1000))
    assert spans["c"] == (pytest.approx(3000), pytest.approx(6000))
    assert spans["f"] == (0, pytest.approx(3000))
    assert next(one for one in events if one["name"] == "a")["args"] == {"operations": 50, "bytes": 20}
    assert {one["ph"] for one in events} == {"X"}
    page = viewer.flame_page(kernels, 2, "net").decode()
    assert "<img" not in page
    assert "<script" not in page
    rows = [unescape(row) for row in re.findall(r"<tr><td>(.*?)</td>", page)]
    assert rows[0] == "c"
    assert rows[2] == "a"


@pytest.mark.compiler
@pytest.mark.sweep(every=2)
def test_commands_write_them(tmp_path: Path) -> None:
    write_linear(tmp_path)
    done = run_here(("compare", "linear.relay", "--backend", "numpy", "--report", "report.html"), tmp_path)
    assert done.stdout.endswith("wrote report.html\n")
    assert "Errors of via_graph on numpy, output 0" in (tmp_path / "report.html").read_text()
    run = ("run", "linear.relay", "--backend", "c", "--via", "graph", "--profile-out")
    run_here((*run, "trace.json"), tmp_path)
    events = json.loads((tmp_path / "trace.json").read_text())["traceEvents"]
    assert {one["cat"] for one in events} == {"run", "function", "kernel"}
    run_here((*run, "flame.html"), tmp_path)
    assert "<svg" in (tmp_path / "flame.html").read_text()
    refused = run_here((*run, "flame.txt"), tmp_path)
    assert refused.returncode == 2
    assert "--profile-out is a page" in refused.stderr
    # What is not ours is not written over.
    (tmp_path / "notes.html").write_text("notes")
    assert run_here(("view", "linear.relay", "--out", "notes.html"), tmp_path).returncode == 2
    assert (tmp_path / "notes.html").read_text() == "notes"
