"""Where the recorded cases lie, for tests and benchmarks."""

from __future__ import annotations

import os
from pathlib import Path

# The root of the checkout.
ROOT = Path(__file__).resolve().parents[2]


def golden_root() -> Path | None:
    """Return the folder of recorded cases, or None where it is absent."""
    given = os.environ.get("RELAY2RELAX_GOLDEN")
    root = Path(given) if given else ROOT.parent / "shared" / "golden"
    return root if root.is_dir() else None
