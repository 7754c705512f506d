"""The code of TVM's own documents, as it stands there, on the facade.

Documents are extracted when the test runs, and are not part of the checkout.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("RELAY2RELAX_DOCUMENTS", Path(__file__).parents[3] / "shared" / "seeds"))


def code_blocks(text: str) -> list[str]:
    """Return the cells of a notebook: after ``In [n]:`` the lines that are still Python."""
    found = []
    for cell in re.split(r"^In \[\d+\]:\n", text, flags=re.MULTILINE)[1:]:
        paragraphs = re.split(r"\n\n+", cell)
        block = ""
        for paragraph in paragraphs:
            longer = f"{block}\n\n{paragraph}" if block else paragraph
            try:
                ast.parse(longer)
            except SyntaxError:
                break
            block = longer
        found.append(block)
    return found


@pytest.mark.compiler
def test_introduction_to_relax_runs_as_it_stands(tmp_path: Path) -> None:
    """The MLP of any batch, translated, built and run; the document compares it with Relay."""
    pages = [
        one for one in FOLDER.glob("*.txt") if one.read_text(encoding="utf-8").startswith("# Introduction To Relax")
    ]
    if not pages:
        pytest.skip("the document is not there")
    blocks = code_blocks(pages[0].read_text(encoding="utf-8"))
    assert len(blocks) == 7
    script = tmp_path / "document.py"
    # `from __future__` has to stand first, as it does in the document.
    script.write_text("\n".join(blocks) + "\nprint('compared', res.shape)\n", encoding="utf-8")
    command = [sys.executable, "-m", "relay2relax.compat", str(script)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
    assert "nn.batch_flatten(%data) /* ty=Tensor[(?, 784), float32] */" in done.stdout
    assert "Relax VM executable statistics:" in done.stdout
    assert done.stdout.endswith("compared (2, 10)\n")
