"""What objects show of themselves in a notebook."""

from __future__ import annotations

from html import escape

from relay2relax.core.source import visible

# A cell of a notebook shows so many lines; the rest is counted.
_MOST_LINES = 60
_STYLE = "font-size: 0.85em; line-height: 1.3; overflow-x: auto; margin: 0.3em 0"


def shown(title: str, text: str) -> str:
    """Return a title and a text as HTML: names in them are text and never markup."""
    lines = text.rstrip("\n").split("\n")
    rest = len(lines) - _MOST_LINES
    body = "\n".join(visible(line) for line in lines[:_MOST_LINES])
    more = f"<div>… {rest} more lines</div>" if rest > 0 else ""
    return f'<div><b>{escape(visible(title))}</b><pre style="{_STYLE}">{escape(body)}</pre>{more}</div>'
