"""Write docs/reference/errors.md, the page of all errors, from their table.

python tools/error_pages.py
"""

from __future__ import annotations

from pathlib import Path

from relay2relax.core.errors import all_kinds

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "errors.md"
HEAD = """# Errors

Every error has a code, which stays the same from release to release: `error[R2R-0203]: …`.
`relay2relax explain R2R-0203` shows the part of this page that belongs to it. The page is made by
`python tools/error_pages.py` from the table in `core/errors/table/`; a test runs every example.
"""


def page() -> str:
    """Return the text of the page."""
    kinds = all_kinds().values()
    index = [f"| [{one.code}](#{one.code.lower()}) | {one.title} |" for one in kinds]
    table = "\n".join(["| code | mistake |", "|---|---|", *index])
    return "\n".join([HEAD, table, "", *(_entry(one.page(), one.code, one.title) for one in kinds)]).rstrip("\n") + "\n"


def _entry(text: str, code: str, title: str) -> str:
    """Return a page as a section, whose anchor is the code."""
    return text.replace(f"# {code}: {title}", f"## {code}\n\n**{title[0].upper()}{title[1:]}**", 1)


if __name__ == "__main__":
    PAGE.parent.mkdir(parents=True, exist_ok=True)
    PAGE.write_text(page(), encoding="utf-8")
