"""Every operator on extents that do not fit, under sanitizers: refused, or within its arrays."""

from __future__ import annotations

from pathlib import Path

import opened_calls
import pytest
from sanitizers import findings
from sweep import FULL, LEVEL

ACTIONS = Path(opened_calls.__file__)
# Every operator, in parts; what is not the full sweep takes one in four, a sample one.
PARTS = 64 if LEVEL == "sample" else 8

pytestmark = pytest.mark.compiler


@pytest.mark.sweep(every=PARTS)
@pytest.mark.parametrize("part", range(0, PARTS, 1 if FULL else 4))
def test_no_call_leaves_its_arrays(part: int, tmp_path: Path) -> None:
    found = findings(ACTIONS, "actions", [str(part), str(PARTS), "1", "8"], tmp_path)
    assert not found, "\n".join(map(str, found))
