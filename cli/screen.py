"""What a command shows: tables and progress for a person at a terminal, plain text in a pipe, JSON
for a machine.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relay2relax.core.source import visible

if TYPE_CHECKING:
    from relay2relax.translator.report import Report


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show a spinner with ``what`` while the block runs.

    Nothing where standard error is not a terminal.
    """
    if not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(what):
        yield


def report_table(report: Report) -> str:
    """Return the comparison as a table of plain text, one row per output and program.

    Errors are given as they are, as a share of the largest value (``of scale``), and in units of
    the last place; ``allowed`` is the tolerance, ``x`` in it what was expected. Behind the table
    stands what a verdict means that is not plain.
    """
    head = ("program", "backend", "output", "max abs", "of scale", "ULPs", "verdict", "allowed")
    rows = [
        (
            row.program,
            row.backend,
            str(row.output),
            f"{row.difference.max_abs:.3g}",
            f"{row.difference.of_scale:.3g}",
            f"{row.difference.max_ulp:.3g}",
            row.difference.verdict,
            row.difference.allowed if row.difference.agrees else row.difference.reason,
        )
        for row in report.rows
    ]
    shown = table(head, rows)
    if any(row.difference.verdict == "agrees of scale" for row in report.rows):
        shown += "\nof scale: values near 0 are off by more than their own share; beside the largest value it is little"
    return shown


def table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: range = range(0)) -> str:
    """Return a table of plain text; the columns ``numbers`` stand to the right."""
    shown = [[visible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[column]) for line in shown) for column in range(len(head))]
    aligned = [f"{'>' if column in numbers else '<'}{width}" for column, width in enumerate(widths)]
    lines = ["  ".join(f"{cell:{how}}" for cell, how in zip(line, aligned, strict=True)) for line in shown]
    lines.insert(1, "  ".join("-" * width for width in widths))
    return "\n".join(line.rstrip() for line in lines)
