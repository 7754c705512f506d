"""What each C kernel took: ``relay2relax run --profile``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from relay2relax import viewer
from relay2relax.cli import screen
from relay2relax.core.output import marked

if TYPE_CHECKING:
    from relay2relax.backends.c.loaded_module import CompiledModule, KernelTime

# A profile is taken over so many seconds, or one run where that takes longer.
_SECONDS = 1.0


@dataclass(frozen=True, slots=True)
class Row:
    """The kernels of one name: microseconds per run, share of the whole, and rates."""

    kernel: str
    calls: int
    microseconds: float
    share: float
    gflops: float
    gbytes: float


@dataclass(frozen=True, slots=True)
class Profile:
    """What the kernels took in ``runs`` runs; none where nothing was measured."""

    kernels: Sequence[KernelTime] = ()
    runs: int = 0

    @property
    def rows(self) -> list[Row]:
        """One row per kernel, the slowest first. Those of one name are one row."""
        alike: dict[str, list[KernelTime]] = {}
        for one in self.kernels:
            alike.setdefault(one.label, []).append(one)
        rows = [self._row(label, found) for label, found in alike.items() if any(one.seconds for one in found)]
        return sorted(rows, key=lambda row: -row.microseconds)

    def _row(self, label: str, kernels: Sequence[KernelTime]) -> Row:
        seconds = sum(one.seconds for one in kernels)
        return Row(
            label,
            len(kernels),
            1e6 * seconds / self.runs,
            seconds / sum(one.seconds for one in self.kernels),
            sum(one.operations for one in kernels) / seconds / 1e9,
            sum(one.bytes for one in kernels) / seconds / 1e9,
        )

    def chart(self, suffix: str, title: str) -> bytes:
        """Return a page with a flame chart, ``.html``, or Chrome's trace, ``.json``."""
        if suffix == ".json":
            trace = viewer.chrome_trace(self.kernels, self.runs).encode()
            return marked(trace.rstrip(b"}\n ") + b',\n "otherData": {"written_by": "', b'"}\n}\n')
        return marked(viewer.flame_page(self.kernels, self.runs, title) + b"<!-- ", b" -->\n")

    def to_json(self) -> dict[str, object]:
        """Return the profile as plain values."""
        return {"runs": self.runs, "kernels": [asdict(row) for row in self.rows]}

    def __str__(self) -> str:
        head = ("kernel", "calls", "µs", "share", "GFLOP/s", "GB/s")
        rows = [
            (
                row.kernel,
                str(row.calls),
                f"{row.microseconds:.1f}",
                f"{row.share:.1%}",
                f"{row.gflops:.1f}",
                f"{row.gbytes:.1f}",
            )
            for row in ([*self.rows, self._row("all", self.kernels)] if self.kernels else [])
        ]
        title = f"runs: {self.runs}, calls of kernels in each: {len(self.kernels)}; means"
        return title + "\n" + screen.table(head, rows, numbers=range(1, len(head)))


def measured(native: CompiledModule, call: Callable[[], object]) -> Profile:
    """Return what the kernels of ``native`` take in calls of ``call``."""
    runs, end = 0, time.perf_counter() + _SECONDS
    with native.profiled():
        while not runs or time.perf_counter() < end:
            call()
            runs += 1
    return Profile(native.kernel_times(), runs)
