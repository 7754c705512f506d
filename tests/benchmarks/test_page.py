"""What was measured becomes tables and plots of a page; everything else on it stays."""

from __future__ import annotations

from pathlib import Path

import pytest

RESULTS = {
    "speed": {
        "models": {"tiny": {"c": {"run": 0.001}, "onnxruntime": {"run": 0.002}}, "other": {"c": {"failed": "x"}}}
    },
    "chain": {"parse": {"1000": 3.0, "10000": 3.5, "100000": 3.3, "growth": 1.1}},
}


def test_a_page_gets_tables_verdicts_and_plots(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from common import Table
    from marks import Verdict
    from page import BEGIN, END, write

    page = tmp_path / "benchmarks.md"
    page.write_text(f"# Head\n\n{BEGIN}\nold\n{END}\n\nFoot\n")
    tables = [Table("Runs\nof models", ["model", "c"], [["tiny", "1.5"]])]
    written = write(page, RESULTS, tables, [Verdict("as fast", "0.5 (tiny)", True), Verdict("small", "", None)])
    text = page.read_text()
    assert text.startswith(f"# Head\n\n{BEGIN}\n")
    assert text.endswith(f"{END}\n\nFoot\n")
    assert "\nold\n" not in text
    assert "### Runs of models\n\n| model | c |\n|---|---:|\n| tiny | 1.5 |" in text
    assert "| as fast | 0.5 (tiny) | holds |\n| small |  | open |" in text
    names = ["benchmarks.md", "benchmarks-runs.svg", "benchmarks-best.svg", "benchmarks-chain.svg"]
    assert [one.name for one in written] == names
    for one in written[1:]:
        assert f"images/{one.name}" in text
        assert one.read_text().lstrip().startswith("<?xml")
    drawn = written[1].read_bytes()
    write(page, RESULTS, tables, [])
    assert written[1].read_bytes() == drawn
    assert page.read_text().count(BEGIN) == 1


def test_a_page_without_marks_is_left_alone(tmp_path: Path) -> None:
    from page import write

    page = tmp_path / "benchmarks.md"
    page.write_text("# Head\n")
    with pytest.raises(ValueError, match="results of `make bench`"):
        write(page, {}, [], [])
    assert page.read_text() == "# Head\n"


def test_larger_models_have_a_place_and_a_roofline(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from common import Table
    from page import BEGIN, BEGIN_LARGE, END, END_LARGE, write

    page = tmp_path / "benchmarks.md"
    page.write_text(f"{BEGIN}\nsmall\n{END}\n{BEGIN_LARGE}\nold\n{END_LARGE}\n")
    ours = {"operations": 2e9, "bytes": 1e6, "run": 0.1, "share": 0.25}
    machine = {"operations": 8e10, "bytes": {65536: 2e11, 1 << 20: 5e10}}
    rows = {"far": {"c": ours}, "near": {"c": {**ours, "run": 0.05, "share": 0.5}, "openvino": {"run": 0.1}}}
    written = write(page, {"large": {"models": rows, "machine": machine}}, [Table("Runs", ["m"], [["far"]])], [])
    text = page.read_text()
    assert f"{BEGIN}\nsmall\n{END}" in text
    assert "\nold\n" not in text
    assert [one.name for one in written[1:]] == [f"benchmarks-large-{one}.svg" for one in ("runs", "best", "roofline")]
    drawn = written[-1].read_text()
    for words in (
        "far  25%",
        "near  50%",
        "80 GFLOP/s, 50 GB/s of 1 MB",
        "80 GFLOP/s, 200 GB/s of 64 KB",
        "less than 40%",
    ):
        assert f">{words}<" in drawn
