"""``pip install .`` in a checkout: nothing is left in it, and nothing that was left gets in."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = ("pyproject.toml", "setup.py", "README.md", "LICENSE")


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what is installed, with what a build of long ago left behind."""
    copy = tmp_path_factory.mktemp("checkout")
    without = shutil.ignore_patterns("__pycache__", "*.egg-info")
    for folder in ROOT.glob("*/__init__.py"):
        shutil.copytree(folder.parent, copy / folder.parent.name, ignore=without)
    for name in FILES:
        shutil.copy(ROOT / name, copy / name)
    stale = copy / "build" / "lib" / "relay2relax"
    stale.mkdir(parents=True)
    (stale / "left_behind.py").write_text("raise SystemExit\n")
    return copy


def contents(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.mark.skipif(not all(map(find_spec, ("pip", "setuptools"))), reason="no pip, or no setuptools")
@pytest.mark.sweep(every=2)
def test_pip_leaves_nothing_behind_and_takes_nothing_left_behind(checkout: Path, tmp_path: Path) -> None:
    before = contents(checkout)
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--no-compile"]
    subprocess.run([*command, "--target", tmp_path, checkout], check=True, capture_output=True)
    assert contents(checkout) == before
    assert not list(checkout.glob("*.egg-info"))
    installed = {name for name in contents(tmp_path / "relay2relax") if name.endswith(".py")}
    assert "left_behind.py" not in installed
    assert {"__init__.py", "cli/app.py", "backends/c/toolchain.py"} <= installed
    own = {name for name in before if name.endswith(".py") and name.split("/")[0] not in ("build", "setup.py")}
    tests = {name for name in own if name.startswith("tests/")}
    assert installed == {name.removeprefix("relay2relax/") for name in own - tests}
