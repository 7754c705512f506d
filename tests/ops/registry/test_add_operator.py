"""docs/howto/add-operator.md is followed: its changes are made to a copy of the sources, and what
they add is run.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "howto" / "add-operator.md"
# Beside the packages: what the tests of the page need.
BESIDE = ("tests", "tools", "relay2relax")
SWEEPS = "tests/ops/registry/test_every_operator.py"


def differences() -> Iterator[tuple[str, list[str]]]:
    """Yield the files that the page changes, and the lines of their hunks."""
    for block in re.findall(r"^```diff\n(.*?)^```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL):
        lines = block.splitlines()
        head = next(number for number, line in enumerate(lines) if line.startswith("+++ b/"))
        yield lines[head].removeprefix("+++ b/"), lines[head + 1 :]


def apply(folder: Path, name: str, lines: list[str]) -> None:
    """Make one change of the page: each hunk's old lines stand in the file once."""
    path = folder / name
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    starts = [number for number, line in enumerate(lines) if line.startswith("@@")]
    for start, end in zip(starts, [*starts[1:], len(lines)], strict=True):
        hunk = lines[start + 1 : end]
        old = "".join(f"{line[1:]}\n" for line in hunk if not line.startswith("+"))
        new = "".join(f"{line[1:]}\n" for line in hunk if not line.startswith("-"))
        assert not old or text.count(old) == 1, f"{PAGE.name} does not fit {name} any more:\n{old}"
        text = text.replace(old, new) if old else new
    path.write_text(text, encoding="utf-8")


@pytest.fixture(scope="module")
def changed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with the page's changes."""
    folder = tmp_path_factory.mktemp("checkout")
    packages = [path.parent.name for path in ROOT.glob("*/__init__.py")]
    for name in {*packages, *BESIDE}:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "cases"))
    shutil.copy(ROOT / "pyproject.toml", folder)
    for name, lines in differences():
        apply(folder, name, lines)
    return folder


def run(folder: Path, *arguments: str) -> str:
    done = subprocess.run(
        [sys.executable, *arguments], cwd=folder, text=True, timeout=600, check=False,
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    assert done.returncode == 0, done.stdout
    return done.stdout


def test_one_source_file_and_its_test_change() -> None:
    names = [name for name, _ in differences()]
    assert [name for name in names if not name.startswith("tests/")] == ["ops/nn/activation.py"]
    assert len(names) == 2


@pytest.mark.sweep(every=2)
def test_what_the_page_adds_works(changed: Path) -> None:
    (test,) = [name for name, _ in differences() if name.startswith("tests/ops/")]
    printed = run(
        changed, "-m", "pytest", "-q", "-p", "no:cacheprovider", test, f"{SWEEPS}::test_types_and_values[nn.mish]"
    )
    assert "passed" in printed
    assert str(ROOT / "ops") not in printed


def test_the_operator_has_its_entry(changed: Path) -> None:
    run(changed, "tools/operator_pages.py")
    pages = changed / "docs" / "reference" / "operators"
    entry = (pages / "nn.md").read_text(encoding="utf-8").partition("### `nn.mish`")[2].partition("###")[0]
    assert "x * tanh(log(1 + exp(x)))" in entry
    assert "Relax: expanded into Relax operators" in entry
    assert "Runs on: numpy, c, tvm" in entry
    assert "`nn.mish`" in (pages / "index.md").read_text(encoding="utf-8")
