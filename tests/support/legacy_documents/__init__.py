"""The code of TVM's documents, cut out of their pages, and run on the facade as it stands there.

Documents are read when the tests run, and are not part of the checkout.
"""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

FOLDER = Path(os.environ.get("RELAY2RELAX_DOCUMENTS", Path(__file__).parents[4] / "shared" / "seeds"))
# What pages take from packages that are not needed otherwise: data sets, networks, figures.
STAND_INS = Path(__file__).parent / "stand_ins"
_BETWEEN = "\x1e"
_FUTURE = "from __future__ import annotations\n"
_SHOW = "import sys as _sys; _sys.displayhook = lambda value: value is None or print(value)\n"


@dataclass(frozen=True)
class Block:
    """A block of code of a page, and the text that follows it."""

    code: str
    after: str


def page(first_words: str) -> str:
    """Return the document that begins so; skips the test where it is absent."""
    for one in sorted(FOLDER.glob("*.txt")):
        text = one.read_text(encoding="utf-8")
        if text.lstrip().startswith(first_words):
            return text
    pytest.skip("the document is not there")


def notebook(text: str) -> Iterator[Block]:
    """Yield the cells of a notebook: after ``In [n]:`` the paragraphs that are still Python."""
    for cell in re.split(r"^In \[\d+\]:\n", text, flags=re.MULTILINE)[1:]:
        paragraphs = re.split(r"(\n\n+)", cell)
        end = 1
        while end + 2 <= len(paragraphs) and is_python("".join(paragraphs[: end + 2])):
            end += 2
        yield Block("".join(paragraphs[:end]), "".join(paragraphs[end:]).lstrip("\n"))


def chapter(text: str) -> Iterator[Block]:
    """Yield the cells of a chapter in reStructuredText, and what the page shows below each.

    Cells stand four spaces in below ``code:: python``; fragments, which only talk of them, three.
    """
    for part in text.split(".. code:: python\n\n")[1:]:
        code, after = _indented(part.split("\n"))
        shown = re.search(r":class: output\n\n|\.\. raw:: html\n\n", "\n".join(after))
        if part.startswith("    "):
            rest = "\n".join(after)[shown.end() :].split("\n") if shown else []
            yield Block(code, _indented(rest)[0])


def _indented(lines: Sequence[str]) -> tuple[str, Sequence[str]]:
    """Return the lines that are indented, without that, and what follows them."""
    end = next((at for at, line in enumerate(lines) if line.strip() and not line.startswith("   ")), len(lines))
    return textwrap.dedent("\n".join(lines[:end])).strip("\n"), lines[end:]


def outdented(text: str, first: str, depths: str) -> str:
    """Return the block of a page that begins with the line ``first``, of which the page has lost
    the indentation; ``depths`` has a digit for each line, how deep it stands.
    """
    lines = text.split("\n")
    start = lines.index(first)
    return "\n".join("    " * int(depth) + line for depth, line in zip(depths, lines[start:], strict=False)) + "\n"


def is_python(text: str) -> bool:
    """Whether a text is Python, but for lines that a notebook hands to the shell."""
    try:
        ast.parse(without_shell(text))
    except SyntaxError:
        return False
    return True


def without_shell(code: str) -> str:
    """Return code in which lines for the shell do nothing."""
    return re.sub(r"^(\s*)!.*$", r"\1pass", code, flags=re.MULTILINE)


def run(blocks: Sequence[str], folder: Path, version: str) -> list[str]:
    """Run blocks in one process on the facade, as that version of TVM; return what each prints.

    As in a notebook, an expression that ends a block is shown.
    """
    parts: list[str] = []
    for block in blocks:
        code = without_shell(block)
        last = ast.parse(code).body[-1]
        if isinstance(last, ast.Expr):
            rows = code.split("\n")
            rows[last.lineno - 1] = "_sys.displayhook(" + rows[last.lineno - 1]
            assert last.end_lineno is not None
            rows[last.end_lineno - 1] += ")"
            code = "\n".join(rows)
        parts += [code, f"print({_BETWEEN!r})"]
    # What comes from the future has to stand first, as it does on the page.
    before, future, after = "\n".join(parts).rpartition(_FUTURE)
    (folder / "document.py").write_text(before + future + _SHOW + after, encoding="utf-8")
    command = [sys.executable, "-m", "relay2relax.compat", "--tvm", version, "document.py"]
    environment = {**os.environ, "PYTHONPATH": str(STAND_INS)}
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-4000:]
    return [one.strip("\n") for one in done.stdout.split(_BETWEEN + "\n")[:-1]]
