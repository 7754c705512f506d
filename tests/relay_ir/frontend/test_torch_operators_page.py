"""A sample of PyTorch's own samples of its operators gives what the page of them says."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from golden_folder import load_module

torch = pytest.importorskip("torch")
pytest.importorskip("expecttest")

ROOT = Path(__file__).parents[3]
# So many rows of the page are left out for one that is run.
EVERY = 100


def rows() -> list[list[str]]:
    """Return the rows of the page that agree: operator, float32, int64."""
    page = (ROOT / "docs/reference/frontends/torch-operators.md").read_text()
    found = [[cell.strip() for cell in line.strip("|").split("|")] for line in page.splitlines() if line[:1] == "|"]
    return [row for row in found if row[1] == "agrees" and row[2] in ("agrees", "")]


@pytest.mark.sweep(every=2)
@pytest.mark.parametrize("part", [0, 1])
def test_operators_agree_where_the_page_says_so(part: int, tmp_path: Path) -> None:
    script = load_module("torch_operators_page", ROOT / "tools/torch_operators_page.py")
    wanted = rows()[part * EVERY // 2 :: EVERY]
    assert len(wanted) > 3
    # In a process of its own: PyTorch's samples import what other tests imported otherwise.
    tool = str(ROOT / "tools/torch_operators_page.py")
    command = [sys.executable, tool, str(tmp_path / "state.jsonl"), *(row[0] for row in wanted)]
    subprocess.run(command, check=True, capture_output=True)
    page = script.page(tmp_path / "state.jsonl")
    assert [f"| {' | '.join(row)} |" for row in wanted] == [line for line in page.splitlines() if "| agrees" in line]
