"""What the sections share: model cases, options, medians, tables."""

from __future__ import annotations

import json
import math
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from relay2relax import relax_ir, relay_ir, translator

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))
from golden_folder import golden_root, seeded, weights_among


@dataclass(frozen=True)
class Options:
    """What was asked for: models and peers by name (all where empty), seconds to measure one thing
    for, and to wait.
    """

    models: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    seconds: float = 1.0
    limit: float = 150.0

    def wants(self, model: str) -> bool:
        """Whether ``model`` is measured."""
        return not self.models or model in self.models


@dataclass(frozen=True)
class Case:
    """A model: its text, arguments for every parameter of ``main`` with names and roles, and the
    outputs if known.
    """

    name: str
    text: str
    names: list[str]
    arguments: list[np.ndarray]
    weights: list[bool]
    expected: list[np.ndarray] | None = None


def model_names(options: Options) -> list[str]:
    """Return the recorded models that were asked for; prints a line where there are none at all."""
    root = golden_root()
    if root is None:
        print("recorded model cases are absent (RELAY2RELAX_GOLDEN): section skipped")
        return []
    return [folder.name for folder in sorted((root / "models").iterdir()) if options.wants(folder.name)]


def model_case(name: str) -> Case:
    """Return the recorded model ``name``, its arguments made from seeds."""
    root = golden_root()
    assert root is not None
    draws = seeded(root)
    folder = root / "models" / name
    inputs = json.loads((folder / "case.json").read_text())["inputs"]
    weights = weights_among(inputs)
    with np.load(folder / "expected.npz") as stored:
        expected = [stored[f"out{i}"] for i in range(len(stored.files))]
    text = (folder / "model.relay").read_text()
    return Case(name, text, [i["name"] for i in inputs], [draws.tensor(i) for i in inputs], weights, expected)


def model_cases(options: Options = Options()) -> Iterator[Case]:
    """Yield the recorded models that were asked for."""
    for name in model_names(options):
        yield model_case(name)


def warm_up() -> relax_ir.IRModule:
    """Translate a small program both ways, so that imports are not what is measured; return it."""
    text = '#[version = "0.0.5"] def @main(%x: Tensor[(4), float32]) { nn.relu(%x) }'
    typed = relay_ir.infer_type(relay_ir.parse(text))
    translator.lower_to_tir(typed)
    return translator.via_graph(typed)


def median_seconds(call: Callable[[], Any], budget: float = 1.0, least: int = 5, most: int = 50_000) -> float:
    """Return the median time of ``call`` after one warm-up, over as many runs as ``budget`` seconds
    allow.
    """
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


def geometric_mean(values: Sequence[float]) -> float:
    """Return the geometric mean of positive numbers."""
    return math.exp(math.fsum(math.log(value) for value in values) / len(values))


def shown(value: float | None, factor: float = 1.0) -> str:
    """Return a number with three digits for a table, nothing for None."""
    if value is None:
        return ""
    scaled = value * factor
    return f"{scaled:,.0f}" if abs(scaled) >= 1000 else f"{scaled:.3g}"


@dataclass(frozen=True)
class Table:
    """A table as it was printed: the first column names, the others hold numbers."""

    title: str
    head: Sequence[str]
    rows: Sequence[Sequence[str]]


# The tables of this run, in order; the page of results is written from them.
PRINTED: list[Table] = []


def table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table with aligned columns, and remember it."""
    PRINTED.append(Table(title, head, rows))
    widths = [max(len(line[i]) for line in [head, *rows]) for i in range(len(head))]
    print(f"\n{title}\n")
    for line in [head, ["-" * w for w in widths], *rows]:
        first, *rest = line
        print("  ".join([first.ljust(widths[0]), *(c.rjust(w) for c, w in zip(rest, widths[1:], strict=True))]))
