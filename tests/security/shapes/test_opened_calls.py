"""Every operator on extents that do not fit, under sanitizers: refused, or within its arrays."""

from __future__ import annotations

from pathlib import Path

import pytest
from sanitizers import findings

ACTIONS = Path(__file__).with_name("opened_calls.py")
PARTS = 8

pytestmark = pytest.mark.compiler


@pytest.mark.sweep(every=PARTS)
@pytest.mark.parametrize("part", range(PARTS))
def test_no_call_leaves_its_arrays(part: int, tmp_path: Path) -> None:
    found = findings(ACTIONS, "actions", [str(part), str(PARTS), "1", "12"], tmp_path)
    assert not found, "\n".join(map(str, found))
