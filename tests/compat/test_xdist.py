"""Tests in several processes: those of pytest-xdist have the facade before they import anything."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

TEST = """
import pytest, tvm
from tvm import relay

@pytest.mark.parametrize("i", range(2))
def test_sum(i, target):
    assert tvm.__version__ == "0.8.0"
    assert relay.create_executor("debug", target=target).evaluate(relay.const(i) + relay.const(i)).numpy() == 2 * i
"""


@pytest.mark.parametrize("options", [("-p", "no:xdist"), ("-n", "1")], ids=["alone", "xdist"])
@pytest.mark.sweep(every=2)
def test_tests_have_the_facade(options: tuple[str, str], tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    (tmp_path / "test_old.py").write_text(TEST, encoding="utf-8")
    command = ["-m", "relay2relax.compat", "--tvm", "0.8", "-m", "pytest", "-q", "-p", "no:cacheprovider"]
    done = subprocess.run(
        [sys.executable, *command, *options], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert "2 passed" in done.stdout, done.stdout + done.stderr
