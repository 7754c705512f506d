"""The benchmarks on a model of a few numbers, laid out as the recorded ones are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TEXT = """#[version = "0.0.5"]
def @main(%x: Tensor[(2, 4), float32], %w: Tensor[(3, 4), float32]) {
  %0 = nn.dense(%x, %w, units=3);
  nn.relu(%0)
}
"""
SEEDED = """
import numpy as np
def tensor(spec):
    return np.arange(np.prod(spec["shape"]), dtype=spec["dtype"]).reshape(spec["shape"]) - 5
"""


@pytest.fixture(scope="module", autouse=True)
def recorded_tiny(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder of recorded cases that holds one model, ``tiny``, and a cache.

    The benchmarks can be imported.
    """
    root = tmp_path_factory.mktemp("golden")
    folder = root / "models" / "tiny"
    folder.mkdir(parents=True)
    (root / "seeded.py").write_text(SEEDED)
    (folder / "model.relay").write_text(TEXT)
    inputs = [
        {"name": "x", "shape": [2, 4], "dtype": "float32", "role": "input"},
        {"name": "w", "shape": [3, 4], "dtype": "float32", "role": "param"},
    ]
    (folder / "case.json").write_text(json.dumps({"inputs": inputs}))
    # [-5 -4 -3 -2; -1 0 1 2] times the transpose of [-5 -4 -3 -2; -1 0 1 2; 3 4 5 6], without what
    # is below 0.
    np.savez(folder / "expected.npz", out0=np.array([[54, 0, 0], [0, 6, 14]], np.float32))
    patch = pytest.MonkeyPatch()
    patch.syspath_prepend(str(ROOT / "benchmarks"))
    patch.setenv("RELAY2RELAX_GOLDEN", str(root))
    patch.setenv("RELAY2RELAX_CACHE", str(root / "cache"))
    yield root
    patch.undo()


@pytest.fixture
def parts() -> SimpleNamespace:
    """The modules of the benchmarks, which import each other by their bare names."""
    import common
    import dynamic_batch
    import marks
    import measure
    import micro
    import passes
    import running_memory
    import translate

    return SimpleNamespace(
        common=common,
        dynamic_batch=dynamic_batch,
        marks=marks,
        measure=measure,
        micro=micro,
        passes=passes,
        running_memory=running_memory,
        translate=translate,
    )
