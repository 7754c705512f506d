"""Records as tables: a frame of pandas, or a table for a notebook."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from relay2relax.core.errors import UnsupportedError, mistake
from relay2relax.core.errors.table import running
from relay2relax.core.source import visible


def data_frame(records: Sequence[Mapping[str, Any]]) -> Any:
    """Return records as a frame of pandas; raises UnsupportedError where that is not installed."""
    try:
        import pandas
    except ImportError as error:
        raise UnsupportedError(mistake(running.LIBRARY, what="pandas", problem=error)) from error
    return pandas.DataFrame(list(records))


def html_table(columns: Sequence[str], records: Sequence[Mapping[str, Any]], caption: str) -> str:
    """Return records as a table for a notebook; what is in them is text, never markup."""

    def cell(value: object) -> str:
        said = "" if value is None else f"{value:.3g}" if isinstance(value, float) else str(value)
        return f"<td>{escape(visible(said))}</td>"

    head = "".join(f'<th scope="col">{escape(one)}</th>' for one in columns)
    body = "".join(f"<tr>{''.join(cell(record.get(one)) for one in columns)}</tr>" for record in records)
    text = escape(visible(caption))
    return f"<table><caption>{text}</caption><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
