"""A report as one page that needs no other file, and no network."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from html import escape
from urllib.parse import quote

from relay2relax.core.amounts import counted
from relay2relax.core.source import visible
from relay2relax.migrate.report.model import Entry, Report
from relay2relax.migrate.verdict import Verdict

# What a verdict asks of a person.
_ADVICE = {
    Verdict.FINE: "Nothing is left to do.",
    Verdict.TENSORIR: "It runs and agrees. Passes over Relax do not see into the operators that are TensorIR.",
    Verdict.LOSSY: "It agrees. Read in the map what was dropped, and whether anything of yours needs it.",
    Verdict.UNCHECKED: "It is converted. Compare it with recorded inputs: relay2relax compare MODEL FOLDER.",
    Verdict.DIFFERENCE: "Do not use it. Below stands what differs, where, and what to do.",
    Verdict.REFUSED: "relay2relax explain CODE says more of each problem, and what helps.",
    Verdict.UNREADABLE: "Look at the file: relay2relax explain CODE says what was expected.",
    Verdict.STOPPED: "Run it again with a larger --timeout or --limit-memory, or with more room on the disk.",
    Verdict.CRASHED: "Please report it, with the model or its first failing part.",
}
_STYLE = """
:root { color-scheme: light dark; --line: #8885; --good: #1a7f37; --mid: #9a6700; --bad: #cf222e }
@media (prefers-color-scheme: dark) { :root { --good: #3fb950; --mid: #d29922; --bad: #f85149 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 70rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; vertical-align: top; padding: .35rem .6rem; border-bottom: 1px solid var(--line) }
td { overflow-wrap: anywhere }
.model { min-width: 12rem }
.good { color: var(--good) } .mid { color: var(--mid) } .bad { color: var(--bad) }
.verdict { font-weight: 600; white-space: nowrap }
details > summary { cursor: pointer }
ul { margin: .3rem 0; padding-left: 1.2rem }
"""
_MARKS = {"good": "✓", "mid": "!", "bad": "✗"}


def report_to_html(report: Report) -> bytes:
    """Return ``report`` as a page: how many fare how, what changed, and what to do for each model.

    What models say is text, never markup; the page runs nothing.
    """
    return ("\n".join(_page(report)) + "\n").encode()


def _page(report: Report) -> Iterator[str]:
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    yield '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">'
    yield f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    title = f"Migration of {counted(len(report.models), 'model')}"
    yield f"<title>{title}</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n<h1>{title}</h1>"
    yield from _counts(report)
    if report.changed:
        yield from ("<h2>Changed</h2>", *_listed(map(str, report.changed)))
    yield "<h2>Models</h2>\n<table>\n<thead><tr>"
    yield from (f'<th scope="col">{head}</th>' for head in ("Model", "Verdict", "Operators", "Compared", "Why"))
    yield "</tr></thead>\n<tbody>"
    for number, entry in sorted(enumerate(report.models), key=lambda one: (-one[1].rank, one[1].name)):
        yield from _row(number, entry)
    yield "</tbody>\n</table>"
    for number, entry in enumerate(report.models):
        yield from _answered(number, entry)
    yield f"<p>relay2relax {_text(report.version)}</p>\n</body>\n</html>"


def _counts(report: Report) -> Iterator[str]:
    yield "<table>\n<tbody>"
    for verdict, count in report.counts().items():
        yield f"<tr><td>{count}</td><td>{_verdict(verdict)}</td><td>{_text(_ADVICE[verdict])}</td></tr>"
    yield "</tbody>\n</table>"


def _answered(number: int, entry: Entry) -> Iterator[str]:
    """Yield a section on a model whose results differ."""
    answers = entry.answers()
    if answers:
        yield f'<section id="model{number}">\n<h2>{_text(entry.name)}</h2>'
        for question, lines in answers.items():
            yield f"<h3>{_text(question)}</h3>"
            yield from _listed(lines)
        yield "</section>"


def _row(number: int, entry: Entry) -> Iterator[str]:
    verdict = Verdict(entry.verdict)
    off = f", off by at most {entry.off:.2g} of the largest value" if entry.off else ""
    name = _text(entry.name)
    if entry.page:
        name = f'<a href="{escape(quote(f"{entry.folder}/{entry.page}"))}">{name}</a>'
    shown = _verdict(verdict)
    if entry.answers():
        shown = f'<a href="#model{number}">{shown}</a>'
    yield f'<tr><td class="model">{name}</td><td>{shown}</td><td>{entry.calls or ""}</td>'
    yield f"<td>{_text(', '.join(entry.compared) + off)}</td><td>"
    if len(entry.why) == 1:
        yield _text(entry.why[0])
    elif entry.why:
        yield f"<details><summary>{_text(entry.why[0])} and {len(entry.why) - 1} more</summary>"
        yield from (*_listed(entry.why[1:]), "</details>")
    yield from _more(entry)
    yield "</td></tr>"


def _more(entry: Entry) -> Iterator[str]:
    lines = [*entry.warnings]
    if entry.params:
        lines.append(f"weights: {entry.params}")
    if entry.receipt:
        lines.append(f"receipt: {', '.join(f'{count} {fate}' for fate, count in entry.receipt.items())}")
    if entry.files:
        lines.append(f"written: {', '.join(entry.files)}")
    if lines:
        yield from ("<details><summary>details</summary>", *_listed(lines), "</details>")


def _listed(lines: Iterable[str]) -> Iterator[str]:
    yield "<ul>"
    yield from (f"<li>{_text(line)}</li>" for line in lines)
    yield "</ul>"


def _verdict(verdict: Verdict) -> str:
    tone = "good" if verdict.rank <= Verdict.TENSORIR.rank else "mid"
    tone = "bad" if verdict.rank >= Verdict.DIFFERENCE.rank else tone
    return f'<span class="verdict {tone}">{_MARKS[tone]} {verdict.value}</span>'


def _text(text: str) -> str:
    return escape(visible(text))
