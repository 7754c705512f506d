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
    assert [one.name for one in written] == ["benchmarks.md", "benchmarks-runs.svg", "benchmarks-chain.svg"]
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
