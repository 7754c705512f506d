"""Where the recorded cases lie, and files of Python that belong to no package, for tests and
benchmarks.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

# The root of the checkout.
ROOT = Path(__file__).resolve().parents[2]


def golden_root() -> Path | None:
    """Return the folder of recorded cases, or None where it is absent."""
    given = os.environ.get("RELAY2RELAX_GOLDEN")
    root = Path(given) if given else ROOT.parent / "shared" / "golden"
    return root if root.is_dir() else None


def load_module(name: str, path: Path) -> ModuleType:
    """Return the module in a file, under a name by which what it defines finds it."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def seeded(root: Path) -> ModuleType:
    """Return what draws the tensors of recorded models; ``root`` is the folder of the cases."""
    return load_module("seeded", root / "seeded.py")


def weights_among(inputs: Sequence[Mapping[str, Any]]) -> list[bool]:
    """Return which arguments of a recorded model are weights; ``inputs`` is what ``case.json`` says
    of each.
    """
    found = [one.get("role") == "param" for one in inputs]
    # Where a recording calls every parameter a weight, the first one is the input.
    found[0] = found[0] and not all(found)
    return found
