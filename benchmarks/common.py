"""What the sections share: model cases, medians, tables."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Case:
    """A recorded model: its text, and arguments for every parameter of ``main`` with their names and roles."""

    name: str
    text: str
    names: list[str]
    arguments: list[np.ndarray]
    weights: list[bool]


def golden_root() -> Path | None:
    """Return the folder of recorded cases, or None where it is absent."""
    given = os.environ.get("RELAY2RELAX_GOLDEN")
    root = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "golden"
    return root if root.is_dir() else None


def model_cases() -> Iterator[Case]:
    """Yield the recorded models; prints a line and yields nothing where they are absent."""
    root = golden_root()
    if root is None:
        print("recorded model cases are absent (RELAY2RELAX_GOLDEN): section skipped")
        return
    spec = importlib.util.spec_from_file_location("seeded", root / "seeded.py")
    assert spec is not None
    assert spec.loader is not None
    seeded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(seeded)
    for folder in sorted((root / "models").iterdir()):
        inputs = json.loads((folder / "case.json").read_text())["inputs"]
        text = (folder / "model.relay").read_text()
        weights = [i.get("role") == "param" for i in inputs]
        # Where a recording calls every parameter a weight, the first one is the input.
        weights[0] = weights[0] and not all(weights)
        yield Case(folder.name, text, [i["name"] for i in inputs], [seeded.tensor(i) for i in inputs], weights)


def median_seconds(call: Callable[[], Any], budget: float = 1.0, least: int = 5, most: int = 2000) -> float:
    """Return the median time of ``call`` after one warm-up, over as many runs as ``budget`` seconds allow."""
    call()
    times: list[float] = []
    end = time.perf_counter() + budget
    while len(times) < least or (time.perf_counter() < end and len(times) < most):
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return the seconds of one call, and its result."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with aligned columns."""
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}\n")
    for line in [head, ["-" * w for w in widths], *rows]:
        first, *rest = line
        print("  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]))
