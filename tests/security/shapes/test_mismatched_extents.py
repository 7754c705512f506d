"""Operators whose types leave extents open, called with extents that do not fit.

C and numpy agree: both refuse a call, or both compute the same. The Relay executors and the virtual
machine run in a process whose C is watched by sanitizers.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from sanitizers import findings
from sweep import FULL, LEVEL

ACTIONS = Path(__file__).with_name("mismatched_calls.py")
PARTS = 48 if LEVEL == "sample" else 8

pytestmark = pytest.mark.compiler


@pytest.mark.sweep(every=2 * PARTS)
@pytest.mark.parametrize("part", range(0, PARTS, 1 if FULL else 2))
@pytest.mark.parametrize("machine", ["executor", "virtual_machine"])
def test_c_agrees_with_numpy(machine: str, part: int, tmp_path: Path) -> None:
    found = findings(ACTIONS, "actions", [machine, str(part), str(PARTS), "6"], tmp_path)
    assert not found, "\n".join(map(str, found))
