"""What happens at each node when a model runs: its values, its time, its error in Relax."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from relay2relax import backends, relay_ir, translator
from relay2relax.core.amounts import counted
from relay2relax.core.dtype import Array
from relay2relax.core.passes import rewrites_noted
from relay2relax.translator.bisection import node_differences
from relay2relax.viewer.model import Finding, Overlay, Subject

# Times are the smallest of so many runs.
_RUNS = 3


def add_values(subject: Subject, mod: relay_ir.IRModule, arguments: Sequence[translator.Argument]) -> None:
    """Run ``mod`` on numpy, and say of each box the range of its values, and where values that are
    not finite begin.
    """
    count = len(subject.drawing.boxes)
    bad: list[int | None] = [None] * count
    size: list[float | None] = [None] * count

    def observe(expr: relay_ir.Expr, value: Any) -> None:
        box = subject.of.get(expr)
        if box is None:
            return
        for array in translator.flatten(value):
            if not isinstance(array, np.ndarray) or array.dtype.kind not in "fV" or not array.size:
                continue
            numbers = array.astype(np.float32, copy=False)
            finite = np.isfinite(numbers)
            bad[box] = (bad[box] or 0) + int(numbers.size - np.count_nonzero(finite))
            largest = float(np.max(np.abs(numbers), where=finite, initial=0.0))
            size[box] = max(size[box] or 0.0, largest)

    backends.create_executor("debug", mod).evaluate(observe=observe)(*arguments)
    subject.overlays.append(Overlay("nonfinite", "NaN and infinity", "values", bad, summed=True))
    subject.overlays.append(Overlay("magnitude", "Largest magnitude", "", size, logarithmic=True))
    made = [box for box in range(count) if bad[box]]
    sources = {edge.target for edge in subject.drawing.edges if bad[edge.source]}
    first = tuple(box for box in made if box not in sources)
    said = f"{counted(len(made), 'node')} with NaN or infinity; it begins at"
    subject.findings.insert(0, Finding("NaN and infinity", said if made else "none: all values are finite", first))


class _Clock:
    """The time from each value to the next."""

    def __init__(self, of: Mapping[relay_ir.Expr, int]) -> None:
        self.of = of
        self.start()

    def start(self) -> None:
        self.spent: dict[int, float] = {}
        self.last = time.perf_counter()

    def observe(self, expr: relay_ir.Expr, _: object) -> None:
        now, box = time.perf_counter(), self.of.get(expr)
        if box is not None:
            self.spent[box] = self.spent.get(box, 0.0) + now - self.last
        self.last = time.perf_counter()


def add_times(subject: Subject, mod: relay_ir.IRModule, arguments: Sequence[translator.Argument]) -> None:
    """Run ``mod`` operator by operator in C, and say how long each takes alone."""
    best: dict[int, float] = {}
    clock = _Clock(subject.of)
    evaluate = backends.create_executor("debug", mod, backend="c").evaluate(observe=clock.observe)
    for _ in range(_RUNS + 1):
        clock.start()
        evaluate(*arguments)
        for box, seconds in clock.spent.items():
            best[box] = min(seconds, best.get(box, seconds))
    values = [1e6 * best[box] if box in best else None for box in range(len(subject.drawing.boxes))]
    note = "each operator alone, in C; a program that is built fuses them"
    subject.overlays.append(Overlay("time", "Time", "µs", values, note=note, summed=True))
    slowest = sorted(best, key=lambda box: -best[box])[:5]
    total = sum(best.values())
    share = sum(best[box] for box in slowest) / total if total else 0.0
    subject.findings.append(
        Finding("Time", f"{1e3 * total:.3g} ms operator by operator; {share:.0%} of it in these", tuple(slowest))
    )


def add_errors(
    subject: Subject, mod: relay_ir.IRModule, arguments: Sequence[translator.Argument], backend: str
) -> None:
    """Compare every value of the translation on a backend with Relay on numpy."""
    count = len(subject.drawing.boxes)
    errors: list[float | None] = [None] * count
    wrong: list[int] = []
    with rewrites_noted() as rewrites:
        found = list(node_differences(mod, arguments, translator.via_graph, backend))
    for one in found:
        box = next((subject.of[old] for old in rewrites.origins(one.call) if old in subject.of), None)  # type: ignore[index]
        if box is None:
            continue
        errors[box] = max(errors[box] or 0.0, one.difference.of_scale)
        if not one.difference.agrees:
            wrong.append(box)
    title = f"Error in Relax on {backend}"
    note = "the largest error of a node's value, as a share of its largest magnitude, against Relay on numpy"
    subject.overlays.append(Overlay("error", title, "of scale", errors, logarithmic=True, note=note))
    said = (
        f"{counted(len(set(wrong)), 'node')} with other values than in Relay; the first is"
        if wrong
        else "every value agrees"
    )
    subject.findings.insert(0, Finding(title, said if wrong else "every value agrees", tuple(wrong[:1])))


def histogram(array: Array, bins: int = 24) -> dict[str, object]:
    """Return what there is to show of a weight: counts over its range, and its first values."""
    numbers = np.asarray(array).reshape(-1)
    shown = [_plain(one) for one in numbers[:16].astype(np.float64)] if numbers.size else []
    made: dict[str, object] = {"count": int(numbers.size), "values": shown}
    sample = numbers[:: max(1, numbers.size // 100_000)].astype(np.float64)
    finite = sample[np.isfinite(sample)]
    if finite.size:
        counts, edges = np.histogram(finite, bins=bins)
        made |= {
            "bins": counts.tolist(),
            "low": float(edges[0]),
            "high": float(edges[-1]),
            "mean": float(finite.mean()),
            "deviation": float(finite.std()),
        }
    if sample.size - finite.size:
        made["nonfinite"] = int(sample.size - finite.size)
    return made


def _plain(value: float) -> float | str:
    return float(f"{value:.5g}") if np.isfinite(value) else str(value)
