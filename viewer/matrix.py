"""The page of programs on backends for many inputs: which agree, and how errors are spread."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from html import escape
from typing import TypeAlias

from relay2relax import parity
from relay2relax.core.source import visible
from relay2relax.parity import BatchResult, Matrix
from relay2relax.translator.report import Row
from relay2relax.viewer.figures import bars, number
from relay2relax.viewer.page import assembled

# What stands in a cell of a table, and whether it is bad news.
_Cell: TypeAlias = tuple[str, bool]
_HEAD = ("program", "backend", "output", "max abs", "of scale", "ULPs", "cosine", "SNR dB", "verdict", "allowed")


def matrix_page(matrix: Matrix, title: str) -> bytes:
    """Return the page of a matrix: a table of batches and programs where there are several batches,
    and of each batch its rows, what else was found, and the errors of each output.

    What models and files say is text, never markup; the page runs nothing.
    """
    return assembled(title, "".join(_parts(matrix, title)), (), ("common.css", "report.css"), {})


def _parts(matrix: Matrix, title: str) -> Iterator[str]:
    yield f"<header><h1>{_text(title)}</h1><p>{_text(_sentence(matrix))}</p></header><main>"
    if len(matrix.batches) > 1:
        yield "<section><h2>All batches</h2>"
        yield from _overview(matrix)
        yield "</section>"
    for batch in matrix.batches:
        yield f"<section><h2>{_text(batch.name or 'Results')}</h2>"
        yield from _table(_HEAD, (_cells(batch, row) for row in batch.report.rows))
        yield "<ul>" + "".join(f"<li>{_text(line)}</li>" for line in batch.notes()) + "</ul>"
        yield from _figures(batch)
        yield "</section>"
    yield "</main>"


def _sentence(matrix: Matrix) -> str:
    said = str(matrix)
    return f"{said[:1].upper()}{said[1:]}."


def _overview(matrix: Matrix) -> Iterator[str]:
    """Yield the table that has a row for each program and a column for each batch."""
    programs = dict.fromkeys((row.program, row.backend) for _, row in matrix.rows)
    names = [batch.name or str(number) for number, batch in enumerate(matrix.batches)]
    lines = (
        [(program, False), (backend, False), *(_worst(batch, program, backend) for batch in matrix.batches)]
        for program, backend in programs
    )
    yield from _table(("program", "backend", *names), lines)


def _worst(batch: BatchResult, program: str, backend: str) -> _Cell:
    """Return the verdict of the worst output of a program."""
    rows = [row for row in batch.report.rows if (row.program, row.backend) == (program, backend)]
    if not rows:
        return "not compared", False
    worst = max(rows, key=lambda row: (not row.difference.agrees, row.difference.of_scale))
    off = worst.difference.of_scale
    said = worst.verdict if worst.failure or not off else f"{worst.verdict}, {number(off)}"
    return said, not worst.difference.agrees


def _cells(batch: BatchResult, row: Row) -> Sequence[_Cell]:
    found, measures = row.difference, batch.measures_of(row)
    numbers = ("",) * 3 if row.failure else tuple(map(number, (found.max_abs, found.of_scale, found.max_ulp)))
    like = ("", "") if measures is None else (f"{measures.cosine:.6g}", f"{measures.noise:.4g}")
    texts = (row.program, row.backend, str(row.output), *numbers, *like, row.verdict, found.reason or found.allowed)
    return [(text, not found.agrees) for text in texts]


def _figures(batch: BatchResult) -> Iterator[str]:
    """Yield a histogram of the errors of each output that is not equal; first of those that
    differ.
    """
    off = [row for row in batch.report.rows if row.difference.max_abs and batch.measures_of(row) is not None]
    for row in sorted(off, key=lambda row: row.difference.agrees):
        measures = batch.measures_of(row)
        assert measures is not None
        name = visible(f"{row.program} on {row.backend}, output {row.output}")
        axis = f"{name}: elements by their errors, up to so much of the output's largest value"
        yield bars(parity.DECADES, measures.counts, f"Errors of {name}: {row.verdict}", axis)


def _table(head: Sequence[str], lines: Iterable[Iterable[_Cell]]) -> Iterator[str]:
    yield "<table><thead><tr>" + "".join(f'<th scope="col">{_text(one)}</th>' for one in head) + "</tr></thead><tbody>"
    for line in lines:
        yield "<tr>" + "".join(f'<td class="{"bad" * bad}">{_text(text)}</td>' for text, bad in line) + "</tr>"
    yield "</tbody></table>"


def _text(text: str) -> str:
    return escape(visible(text))
