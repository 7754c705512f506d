"""What a comparison of programs found, as data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from relay2relax.core.dtype import Array
from relay2relax.core.errors import ExitCode
from relay2relax.parity.float64 import Judgement
from relay2relax.parity.matrix.measures import Measures
from relay2relax.parity.matrix.nodes import NodeReport
from relay2relax.parity.matrix.repeats import Repeat
from relay2relax.parity.tables import data_frame, html_table
from relay2relax.translator.report import LeftOut, Report, Row

_COLUMNS = ("batch", "program", "backend", "output", "max_abs", "max_rel", "max_ulp", "of_scale", "cosine", "snr_db",
    "verdict", "reason")  # fmt: skip


@dataclass(frozen=True, slots=True)
class BatchResult:
    """What all programs gave for one batch.

    ``report``  a row for each output of each program. ``measures``  of the outputs, by program,
    backend and number. ``judgements``  which results are nearest to float64. ``nodes``  what was
    found inside. ``repeats``  whether bits were the same. ``inputs``  what was run that is no
    weight, and ``outputs``  what was expected.
    """

    name: str
    report: Report
    measures: Mapping[tuple[str, str, int], Measures] = field(default_factory=dict)
    judgements: tuple[Judgement, ...] = ()
    nodes: tuple[NodeReport, ...] = ()
    repeats: tuple[Repeat, ...] = ()
    inputs: Mapping[str, Array] = field(default_factory=dict, repr=False)
    outputs: Sequence[Array] = field(default=(), repr=False)

    def measures_of(self, row: Row) -> Measures | None:
        """Return the measures of a row, None where it has none."""
        return self.measures.get((row.program, row.backend, row.output))

    def notes(self) -> Iterator[str]:
        """Yield in words what the rows do not say."""
        yield from map(str, self.report.left_out)
        yield from self.report.notes
        yield from map(str, (*self.judgements, *self.nodes, *self.repeats))

    def to_json(self) -> dict[str, object]:
        """Return the batch as plain values."""
        found = self.report.to_json()
        rows = [
            {**one.to_json(), **(measures.to_json() if (measures := self.measures_of(one)) else {})}
            for one in self.report.rows
        ]
        return {
            "batch": self.name,
            **found,
            "rows": rows,
            "float64": [one.to_json() for one in self.judgements],
            "nodes": [one.to_json() for one in self.nodes],
            "repeats": [one.to_json() for one in self.repeats],
        }


@dataclass(frozen=True, slots=True)
class Matrix:
    """What programs on backends gave for all batches; ``str`` is its verdict in a sentence."""

    batches: tuple[BatchResult, ...]

    @property
    def rows(self) -> tuple[tuple[BatchResult, Row], ...]:
        """All rows, each with its batch."""
        return tuple((batch, row) for batch in self.batches for row in batch.report.rows)

    @property
    def left_out(self) -> tuple[LeftOut, ...]:
        """What was not compared, each once."""
        return tuple(dict.fromkeys(one for batch in self.batches for one in batch.report.left_out))

    @property
    def agrees(self) -> bool | None:
        """Whether every output of every program agrees and is repeated; None where nothing was
        compared.
        """
        if not self.rows:
            return None
        same = all(one.same for batch in self.batches for one in batch.repeats)
        return same and all(row.difference.agrees for _, row in self.rows)

    @property
    def exit(self) -> ExitCode:
        """What a command ends with that found this."""
        codes = [batch.report.exit for batch in self.batches if batch.report.rows]
        if not codes:
            return ExitCode.UNSUPPORTED
        if ExitCode.DIFFERS in codes:
            return ExitCode.DIFFERS
        failed = max(codes)
        return ExitCode.DIFFERS if failed is ExitCode.FINE and not self.agrees else failed

    def __str__(self) -> str:
        wrong = [(batch, row) for batch, row in self.rows if not row.difference.agrees]
        if not self.rows:
            return "nothing could be compared"
        if not wrong:
            return "all outputs agree" if self.agrees else "all outputs agree, and not all are the same bits again"
        batch, row = wrong[0]
        where = f"{row.program} on {row.backend}, output {row.output}" + (f", {batch.name}" if batch.name else "")
        return f"{len(wrong)} of {len(self.rows)} outputs differ, the first of {where}: {row.difference.reason}"

    def to_json(self) -> dict[str, object]:
        """Return everything as plain values."""
        return {"agrees": self.agrees, "batches": [one.to_json() for one in self.batches]}

    def records(self) -> list[dict[str, Any]]:
        """Return a flat record for every row."""
        found = []
        for batch, row in self.rows:
            measures, gap = batch.measures_of(row), row.difference
            values = (
                batch.name, row.program, row.backend, row.output, gap.max_abs, gap.max_rel, gap.max_ulp, gap.of_scale,
                measures and measures.cosine, measures and measures.noise, row.verdict, gap.reason,
            )  # fmt: skip
            found.append(dict(zip(_COLUMNS, values, strict=True)))
        return found

    def to_dataframe(self) -> Any:
        """Return the rows as a frame of pandas; raises UnsupportedError where that is not
        installed.
        """
        return data_frame(self.records())

    def _repr_html_(self) -> str:
        return html_table(_COLUMNS, self.records(), str(self))
