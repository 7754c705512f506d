"""Plans as Markdown, for a pull request."""

from __future__ import annotations

import re
from collections.abc import Sequence

from relay2relax.core.source import visible
from relay2relax.migrate.plan import Plan

# What Markdown, or the HTML in it, would act upon.
_MARKUP = re.compile(r"([\\`*_{}\[\]<>#|~&])")


def plans_as_markdown(plans: Sequence[Plan]) -> str:
    """Return a table of ``plans`` with a row for each; what models say is text, never markup."""
    lines = ["| model | verdict | operators | as TensorIR | why |", "|---|---|---|---|---|"]
    for one in plans:
        tensorir = sum(row.tensorir for row in one.as_tensorir)
        cells = (one.model, one.verdict.value, str(one.calls), str(tensorir), "; ".join(one.why()))
        lines.append(f"| {' | '.join(map(escaped, cells))} |")
    return "\n".join(lines)


def escaped(text: str) -> str:
    """Return ``text`` as Markdown shows it to the letter."""
    return _MARKUP.sub(r"\\\1", visible(text))
