"""What a command shows: tables and progress for a person at a terminal, plain text in a pipe, JSON
for a machine.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from relay2relax.cli.loudness import Loudness, is_quiet, loudness
from relay2relax.cli.streams import styled
from relay2relax.core.source import visible

if TYPE_CHECKING:
    from rich.progress import Progress

    from relay2relax.translator.report import Report, Row


# Progress is drawn from so many seconds on, so often; in a pipe it is a line, and rarer.
_PATIENCE, _REFRESH, _REFRESH_IN_PIPE = 1.0, 0.1, 5.0
# The bar on the terminal, while there is one.
_drawn: list[Progress] = []
_NO_PAINT: Mapping[int, Callable[[str], str]] = {}
# A column with more text is broken into lines, where it is the last and leaves so much room.
_NARROWEST = 16


def tell(text: str) -> None:
    """Print what was done to standard output, unless the command is quiet."""
    if not is_quiet():
        print(visible(text, lines=True))


def detail(text: str) -> None:
    """Print to standard error what only a verbose command says."""
    if loudness.get() is Loudness.VERBOSE:
        print(styled(text, "dim", sys.stderr), file=sys.stderr, flush=True)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Show ``what`` is done, and how far it is, while the block runs.

    On standard error, where that is a terminal, for what takes more than a second. A verbose
    command also says how long it took. Quiet ones say nothing.
    """
    verbose = loudness.get() is Loudness.VERBOSE
    terminal = sys.stderr.isatty() and not is_quiet()
    if not (terminal or verbose):
        yield
        return
    start, over = time.perf_counter(), threading.Event()
    watch = threading.Thread(target=_draw_far if terminal else _tell_far, args=(what, over), daemon=True)
    watch.start()
    try:
        yield
    finally:
        over.set()
        watch.join()
    detail(f"{what}: {time.perf_counter() - start:.2f} s")


def tell_meanwhile(text: str) -> None:
    """Print a line to standard error while progress is shown there, unless the command is quiet."""
    if is_quiet():
        return
    if _drawn:
        _drawn[-1].console.print(visible(text), markup=False, highlight=False, soft_wrap=True)
    else:
        print(visible(text), file=sys.stderr, flush=True)


def _tell_far(what: str, over: threading.Event) -> None:
    """Print now and then how far the work is until it is ``over``."""
    from relay2relax.core.progress import how_far

    start = time.perf_counter()
    while not over.wait(_REFRESH_IN_PIPE):
        found, seconds = how_far(), time.perf_counter() - start
        share = f", {found[0]} {found[1]:.0%}" if found else ""
        print(f"{what}{share}, {seconds:.0f} s", file=sys.stderr, flush=True)


def _draw_far(what: str, over: threading.Event) -> None:
    """Draw on a terminal how far the work is until it is ``over``."""
    from relay2relax.core.progress import how_far

    start = time.perf_counter()
    if over.wait(_PATIENCE):
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), TextColumn("{task.fields[seconds]} s"))
    console = Console(stderr=True, highlight=False)
    with Progress(*columns, console=console, transient=True, auto_refresh=False) as bar:
        _drawn.append(bar)
        task = bar.add_task(visible(what), total=None, seconds=0)
        while not over.wait(_REFRESH):
            found, seconds = how_far(), int(time.perf_counter() - start)
            words = f"{what}, {found[0]} {found[1]:.0%}" if found else what
            total, share = (1.0, found[1]) if found else (None, 0.0)
            bar.update(task, description=visible(words), total=total, completed=share, seconds=seconds, refresh=True)
        _drawn.remove(bar)


def json_that_shows(text: str) -> str:
    """Return a JSON document that says the same, and that standard output can show: characters that
    it cannot are escaped as JSON does it.
    """
    try:
        text.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return json.dumps(json.loads(text), indent=1)
    return text


def verdict(text: str) -> str:
    """Return a verdict on standard output in its colour: green where it agrees, red where not."""
    word = text.strip()
    if not word:
        return text
    return styled(text, "green" if word == "equal" or word.startswith("agrees") else "red", sys.stdout)


def report_table(report: Report) -> str:
    """Return the comparison as a table of plain text, one row per output and program.

    Errors are given as they are, as a share of the largest value (``of scale``), and in units of
    the last place; ``allowed`` is the tolerance, ``x`` in it what was expected. Behind the table
    stands what is not plain in a tolerance or a verdict.
    """
    head = ("program", "backend", "output", "max abs", "of scale", "ULPs", "verdict", "allowed")
    rows = [
        (
            row.program,
            row.backend,
            *(_numbers(row) if row.failure is None else ("", "", "", "")),
            row.verdict,
            row.difference.allowed if row.difference.agrees else row.difference.reason,
        )
        for row in report.rows
    ]
    shown = table(head, rows, painted={head.index("verdict"): verdict})
    if any((limit := row.difference.tolerance) is not None and limit.scaled for row in report.rows):
        shown += "\nallowed: a share of |x|, the expected value, plus the largest expected value of the output"
    if any(row.verdict == "agrees of scale" for row in report.rows):
        shown += "\nof scale: values near 0 are off by more than their own share; beside the largest value it is little"
    return shown


def _numbers(row: Row) -> tuple[str, str, str, str]:
    found = row.difference
    return str(row.output), f"{found.max_abs:.3g}", f"{found.of_scale:.3g}", f"{found.max_ulp:.3g}"


def columns() -> int | None:
    """Return how wide text may be: the terminal's width or ``COLUMNS``; None in a pipe."""
    if not (sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdecimal()):
        return None
    return shutil.get_terminal_size().columns


def fact(name: str, value: str, width: int) -> str:
    """Return ``name`` in a column of ``width``, and ``value`` beside it, in lines that fit."""
    limit = columns()
    lines = textwrap.wrap(value, max(limit - width, _NARROWEST)) if limit else [value]
    return f"{name:<{width}}" + f"\n{' ' * width}".join(lines)


def table(
    head: Sequence[str],
    rows: Sequence[Sequence[str]],
    numbers: range = range(0),
    painted: Mapping[int, Callable[[str], str]] = _NO_PAINT,
) -> str:
    """Return a table of plain text; the columns ``numbers`` stand to the right.

    Cells of the columns ``painted`` get their colours so, but for the head.

    Where it is too wide for the screen, the last column is broken into lines. Where that is not
    enough, every row becomes a paragraph with a line for each of its cells. Nothing is cut off.
    """
    shown = [[visible(cell) for cell in line] for line in (head, *rows)]
    widths = [max(len(line[column]) for line in shown) for column in range(len(head))]
    limit = columns()
    room = limit - sum(widths[:-1]) - 2 * (len(head) - 1) if limit else widths[-1]
    if room < min(_NARROWEST, widths[-1]):
        return _paragraphs(shown, limit or 0, painted)
    widths[-1] = min(room, widths[-1])
    aligned = [f"{'>' if column in numbers else '<'}{width}" for column, width in enumerate(widths)]
    first, *others = (
        [f"{cell:{how}}" for cell, how in zip(part, aligned, strict=True)]
        for line in shown
        for part in _broken(line, widths[-1])
    )
    lines = [first, ["-" * width for width in widths]]
    lines += [[painted.get(column, str)(cell) for column, cell in enumerate(line)] for line in others]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def _broken(line: Sequence[str], width: int) -> Iterator[Sequence[str]]:
    """Yield the lines of a row whose last cell has ``width``."""
    first, *others = textwrap.wrap(line[-1], width) or [""]
    yield [*line[:-1], first]
    yield from ([*([""] * (len(line) - 1)), other] for other in others)


def _paragraphs(shown: Sequence[Sequence[str]], limit: int, painted: Mapping[int, Callable[[str], str]]) -> str:
    """Return rows as paragraphs: a line with the column's name and the value for each cell."""
    head, *rows = shown
    width = max(map(len, head)) + 2

    def filled(cell: str, column: int) -> str:
        if not cell:
            return head[column]
        lines = textwrap.wrap(cell, max(limit - width, 8))
        paint = painted.get(column, str)
        return f"{head[column]:<{width}}" + f"\n{' ' * width}".join(map(paint, lines))

    return "\n\n".join("\n".join(filled(cell, column) for column, cell in enumerate(row)) for row in rows)
