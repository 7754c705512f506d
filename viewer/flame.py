"""What kernels took, as a flame chart, and as a trace that Chrome and Perfetto open."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Protocol

from relay2relax.core.source import visible
from relay2relax.viewer.page import assembled

_WIDE, _ROW = 1200, 26


class Kernel(Protocol):
    """A stage as it was measured: seconds, operations and bytes over all runs."""

    @property
    def function(self) -> str:
        """The function that it belongs to."""

    @property
    def label(self) -> str:
        """What it computes."""

    @property
    def seconds(self) -> float:
        """How long it took in all."""

    @property
    def operations(self) -> int:
        """Floating-point operations in all."""

    @property
    def bytes(self) -> int:
        """Bytes of memory in all."""


@dataclass(frozen=True, slots=True)
class Slice:
    """A stretch of a run: depth 0 is the run, 1 a function, 2 a kernel; in microseconds."""

    depth: int
    name: str
    begin: float
    length: float
    operations: int = 0
    bytes: int = 0


def slices(kernels: Sequence[Kernel], runs: int) -> list[Slice]:
    """Return one run, the mean of ``runs``: kernels one after the other, in the program's order."""
    inner: list[Slice] = []
    functions: list[Slice] = []
    now = 0.0
    for one in kernels:
        length = 1e6 * one.seconds / runs
        inner.append(Slice(2, one.label, now, length, one.operations // runs, one.bytes // runs))
        if functions and functions[-1].name == one.function:
            last = functions.pop()
            functions.append(Slice(1, last.name, last.begin, last.length + length))
        else:
            functions.append(Slice(1, one.function, now, length))
        now += length
    return [Slice(0, f"one run of {runs}", 0.0, now), *functions, *inner]


def chrome_trace(kernels: Sequence[Kernel], runs: int) -> str:
    """Return the run as Chrome's trace events (``chrome://tracing``, Perfetto), in microseconds."""
    events = [
        {
            "name": one.name,
            "cat": ("run", "function", "kernel")[one.depth],
            "ph": "X",
            "ts": one.begin,
            "dur": one.length,
            "pid": 1,
            "tid": 1,
            "args": {"operations": one.operations, "bytes": one.bytes} if one.depth == 2 else {},
        }
        for one in slices(kernels, runs)
    ]
    return json.dumps({"traceEvents": events, "displayTimeUnit": "ns"}, indent=1)


def flame_page(kernels: Sequence[Kernel], runs: int, title: str) -> bytes:
    """Return the page of a flame chart, with the kernels as a table below it, the slowest first."""
    found = slices(kernels, runs)
    total = found[0].length or 1.0
    chart = "".join(_bars(found, total))
    rows = sorted((one for one in found if one.depth == 2), key=lambda one: -one.length)
    table = "".join(
        f"<tr><td>{escape(visible(one.name))}</td><td>{one.length:,.1f}</td><td>{one.length / total:.1%}</td>"
        f"<td>{one.operations:,}</td><td>{one.bytes:,}</td></tr>"
        for one in rows
    )
    head = "".join(f'<th scope="col">{one}</th>' for one in ("kernel", "µs", "share", "operations", "bytes"))
    body = (
        f"<header><h1>{escape(visible(title))}</h1><p>{total:,.1f} µs, the mean of {runs} runs</p></header><main>"
        f'<figure class="flame"><svg viewBox="0 0 {_WIDE} {3 * _ROW}" role="img" aria-label="flame chart; the table '
        f'below has the same">{chart}</svg><figcaption>from left to right in time: the run, its functions, their '
        f"kernels; names where there is room, all by pointing</figcaption></figure>"
        f"<table><thead><tr>{head}</tr></thead><tbody>{table}</tbody></table></main>"
    )
    return assembled(title, body, (), ("common.css", "report.css"), {})


def _bars(found: Sequence[Slice], total: float) -> Iterator[str]:
    most = max((one.length for one in found if one.depth == 2), default=1.0) or 1.0
    for one in found:
        x, wide, y = _WIDE * one.begin / total, _WIDE * one.length / total, one.depth * _ROW
        room = int((wide - 6) / 7.2)
        heat = min(4, int(5 * one.length / most)) if one.depth == 2 else one.depth
        name = escape(visible(one.name))
        shown = escape(visible(one.name)[:room]) if room >= 4 else ""
        tip = f"<title>{name}: {one.length:,.1f} µs, {one.length / total:.1%}</title>"
        text = f'<text x="{x + 4:.1f}" y="{y + 17}">{shown}</text>' if shown else ""
        kind = "kernel" if one.depth == 2 else "outer"
        yield (
            f'<g class="{kind} heat{heat}">{tip}<rect x="{x:.2f}" y="{y}" width="{max(wide, 0.3):.2f}" '
            f'height="{_ROW - 2}"/>{text}</g>'
        )
