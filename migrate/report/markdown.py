"""Plans and reports as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from relay2relax.core.amounts import counted
from relay2relax.core.source import visible
from relay2relax.migrate.plan import Plan
from relay2relax.migrate.report.model import Entry, Report

# What Markdown, or the HTML in it, would act upon.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&])")

_PLANNED = (
    "model",
    "verdict",
    "operators",
    "as TensorIR",
    "open inputs",
    "memory",
    "building and a run",
    "taken by",
    "why",
)


def plans_as_markdown(plans: Sequence[Plan]) -> str:
    """Return a table of ``plans`` with a row for each; what models say is text, never markup."""
    rows = (
        (one.model, one.verdict.value, str(one.calls), str(sum(row.tensorir for row in one.as_tensorir)),
         ", ".join(f"{name}: {type_}" for name, type_ in one.open_inputs.items()),
         "" if one.problems else one.memory(), one.times(),
         ", ".join(name for name, why in one.takers.items() if not why), "; ".join(one.why()))
        for one in plans
    )  # fmt: skip
    return _table(_PLANNED, rows)


def report_as_markdown(report: Report) -> str:
    """Return ``report`` as a page: how many fare how, what changed, and a table of all models."""
    counts = ", ".join(f"{count} {verdict.value}" for verdict, count in report.counts().items())
    lines = ["# Migration", "", f"{counted(len(report.models), 'model')}: {counts or 'none'}.", ""]
    if report.changed:
        lines += ["## Changed", "", *(f"- {escaped(str(one))}" for one in report.changed), ""]
    rows = ((one.name, one.verdict, str(one.calls), _compared(one), "; ".join(one.why)) for one in report.models)
    lines += [_table(("model", "verdict", "operators", "compared", "why"), rows), ""]
    for one in report.models:
        answers = one.answers()
        lines += ["", f"## {escaped(one.name)}"] if answers else []
        for question, said in answers.items():
            lines += ["", f"**{question}**", "", *(f"- {escaped(line)}" for line in said)]
        lines += [""] if answers else []
    return "\n".join(lines)


def _compared(entry: Entry) -> str:
    if not entry.compared:
        return ""
    off = f", off by {entry.off:.2g}" if entry.off else ""
    return ", ".join(entry.compared) + off


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head)]
    body = ([escaped(cell) for cell in row] for row in rows)
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (*lines, *body))


def escaped(text: str) -> str:
    """Return ``text`` as Markdown shows it to the letter."""
    return _MARKUP.sub(r"\\\1", visible(text))
