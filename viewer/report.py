"""The page of a comparison: its table, and of every output how far it is off, as figures."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np

from relay2relax import parity
from relay2relax.core.dtype import Array
from relay2relax.core.source import visible
from relay2relax.translator import Report
from relay2relax.viewer.figures import bars, number, scatter
from relay2relax.viewer.page import assembled


@dataclass(slots=True)
class Figures:
    """Looks on while outputs are compared, and keeps a figure of each instead of its values.

    >>> figures = Figures()
    >>> with translator.outputs_shown(figures.add):
    ...     report = translator.compare(mod)
    >>> page = viewer.report_page(report, figures, "net.relay")
    """

    made: dict[tuple[str, str, int], str] = field(default_factory=dict)

    def add(self, program: str, backend: str, output: int, actual: Array, expected: Array) -> None:
        """Make the figures of an output."""
        title = f"{program} on {backend}, output {output}"
        measures = parity.measures_of(actual, expected)
        if measures is None:
            return
        a, e = (one.astype(np.float64).reshape(-1) for one in (actual, expected))
        size = float(np.max(np.abs(e), initial=0.0, where=np.isfinite(e))) or 1.0
        with np.errstate(invalid="ignore"):
            bad = np.abs(a - e) / size > 1e-3
        errors = bars(
            parity.DECADES, measures.counts, f"Errors of {title}", "error up to so much of the output's largest value"
        )
        self.made[program, backend, output] = errors + scatter(e, a, bad, f"Values of {title}")


def report_page(report: Report, figures: Figures, title: str) -> bytes:
    """Return the page of a comparison."""
    verdict = {True: "All outputs agree.", False: "Outputs differ.", None: "Nothing was compared."}[report.agrees]
    parts = [f"<header><h1>{escape(visible(title))}</h1><p>{verdict}</p></header><main>"]
    head = ("program", "backend", "output", "max abs", "of scale", "verdict", "allowed")
    parts.append("<table><thead><tr>" + "".join(f'<th scope="col">{one}</th>' for one in head) + "</tr></thead><tbody>")
    for row in report.rows:
        found = row.difference
        values = (
            row.program, row.backend, str(row.output), number(found.max_abs), number(found.of_scale), row.verdict,
            found.reason or found.allowed,
        )  # fmt: skip
        cells = "".join(f"<td>{escape(visible(one))}</td>" for one in values)
        parts.append(f'<tr class="{"" if found.agrees else "bad"}">{cells}</tr>')
    parts.append("</tbody></table>")
    parts += [f"<p>{escape(visible(line))}</p>" for line in (*map(str, report.left_out), *report.notes)]
    for (program, backend, output), figure in figures.made.items():
        name = escape(visible(f"{program} on {backend}, output {output}"))
        parts.append(f"<section><h2>{name}</h2>{figure}</section>")
    return assembled(title, "".join(parts) + "</main>", (), ("common.css", "report.css"), {})
