"""The options ``--limit-…`` of the commands: each command obeys each of them, exits with 1, and
writes nothing.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import pytest

from relay2relax.cli import main

Command: TypeAlias = Callable[[str], tuple[int, str]]
DENSE = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(40000, 4), float32]) {\n  nn.dense(%x, %x, units=40000)\n}\n'
ENDLESS = '#[version = "0.0.5"]\ndef @main(%x: float32) -> float32 { @main(add(%x, 1f)) }\n'
SMALL = '#[version = "0.0.5"]\ndef @main(%x: Tensor[(3), float32]) { exp(%x) }\n'
COMMANDS = ["inspect", "convert", "export", "run", "compare"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in (("dense", DENSE), ("endless", ENDLESS), ("small", SMALL)):
        (tmp_path / f"{name}.relay").write_text(text)
    return tmp_path


@pytest.fixture
def command(folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """Return what runs a line of the command in this process, and gives exit code and errors."""
    monkeypatch.chdir(folder)

    def run(line: str) -> tuple[int, str]:
        monkeypatch.setattr(sys, "argv", ["relay2relax", *line.split()])
        try:
            main()
        except SystemExit as end:
            return int(end.code or 0), capsys.readouterr().err
        return 0, capsys.readouterr().err

    return run


@pytest.mark.parametrize("name", COMMANDS)
def test_extents(folder: Path, command: Command, name: str) -> None:
    before = sorted(folder.rglob("*"))
    code, said = command(f"{name} dense.relay --limit-extents 100000")
    assert code == 6
    assert "error[R2R-0833]" in said
    assert "(dense.relay:" in said
    assert sorted(folder.rglob("*")) == before


@pytest.mark.parametrize("name", COMMANDS)
def test_time(command: Command, name: str) -> None:
    code, said = command(f"{name} endless.relay --limit-time 0.1ms")
    assert code == 6
    assert "error[R2R-0831]: the time is over: the limit is 0.0001 s" in said


@pytest.mark.parametrize("line", ["run", "run --via graph", "compare"])
def test_memory_and_steps(command: Command, line: str) -> None:
    code, said = command(f"{line} dense.relay --limit-memory 1GB")
    assert code == 6
    assert "error[R2R-0830]" in said
    assert "6.4 GB (6400000000 bytes); the limit is 1 GB (1000000000 bytes)" in said
    code, said = command(f"{line} endless.relay --limit-steps 1000")
    assert code == 6
    assert "error[R2R-0832]: the limit of 1000 steps is reached" in said


@pytest.mark.sweep(every=2)
def test_what_stays_within_its_limits(folder: Path) -> None:
    """Tables of the package that are larger are no part of the work, though it loads them."""
    limits = ["--limit-memory", "1GiB", "--limit-time", "1m", "--limit-steps", "1000", "--limit-extents", "3"]
    call = [sys.executable, "-m", "relay2relax", "run", "small.relay", *limits]
    done = subprocess.run(call, capture_output=True, text=True, cwd=folder, env=dict(os.environ), check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize(
    "option",
    ["--limit-memory 0", "--limit-memory much", "--limit-time -1s", "--limit-time 1d", "--limit-steps 0",
     "--limit-extents 1.5"],
)  # fmt: skip
def test_what_is_no_limit(command: Command, option: str) -> None:
    code, said = command(f"run small.relay {option}")
    assert code == 2
    assert f"Invalid value for '{option.split()[0]}'" in said
