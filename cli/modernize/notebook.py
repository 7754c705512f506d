"""Notebooks: their cells of code as one script, and back."""

from __future__ import annotations

import json
import re
from bisect import bisect
from dataclasses import replace
from typing import Any

from relay2relax.cli.modernize.remarks import PACKAGE
from relay2relax.cli.modernize.rewriting import Rewritten, rewrite_script
from relay2relax.core.errors import ParseError

_CELL = "# relay2relax: cell {}"
# What a notebook hands to the shell, to itself or to the help is not Python; a line that goes on
# with ``% values`` or ``!= value`` is.
_MAGIC = re.compile(r"^([ \t]*)(?:%%?[A-Za-z]|![^=]|\?).*(?:(?<=\\)\n.*)*$", re.MULTILINE)
# A cell in another language: lines below ``%%time`` and its kin are Python.
_FOREIGN = re.compile(r"%%(?!(?:time|timeit|capture|prun)\b)")
_HIDDEN = re.compile(r"^[ \t]*pass  # relay2relax: (.*)$", re.MULTILINE)


def rewrite(text: str, name: str, to: str = PACKAGE) -> Rewritten:
    """Return a script or a notebook, which is one by its name, in names of this package.

    Raises ParseError where it is neither, UnsupportedError where libcst is not installed.
    """
    return _rewrite_notebook(text, name, to) if name.endswith(".ipynb") else rewrite_script(text, name, to)


def _rewrite_notebook(text: str, name: str, to: str) -> Rewritten:
    try:
        document: dict[str, Any] = json.loads(text)
        cells = [one for one in document["cells"] if one["cell_type"] == "code"]
        sources = ["".join(one["source"]) for one in cells]
    except (ValueError, KeyError, TypeError) as error:
        raise ParseError(f"{name} is not a notebook") from error
    script = "\n".join(f"{_CELL.format(number)}\n{_hidden(source)}\n" for number, source in enumerate(sources))
    found = rewrite_script(script, name, to)
    starts = [at for at, line in enumerate(script.split("\n"), 1) if line.startswith(_CELL.format(""))]
    cells_of = [bisect(starts, one.line) for one in found.remarks]
    remarks = [
        replace(one, line=one.line - starts[cell - 1], cell=cell)
        for one, cell in zip(found.remarks, cells_of, strict=True)
    ]
    parts = re.split(rf"^{_CELL.format('[0-9]+')}\n", found.after, flags=re.MULTILINE)
    first, *rest = parts
    for number, (cell, source) in enumerate(zip(cells, rest, strict=True)):
        whole = (first if number == 0 else "") + source
        lines = _HIDDEN.sub(r"\1", whole.rstrip("\n")).splitlines(keepends=True)
        if "".join(lines) != sources[number]:
            cell["source"] = lines
    after = json.dumps(document, indent=1, ensure_ascii=False) + "\n" if found.remarks else text
    return replace(found, before=text, after=after, remarks=remarks)


def _hidden(source: str) -> str:
    """Return the code of a cell with ``pass`` in place of what is not Python."""
    if _FOREIGN.match(source):
        return _passed(source)
    return _MAGIC.sub(lambda found: _passed(found[0], found[1]), source)


def _passed(lines: str, indent: str = "") -> str:
    return "\n".join(f"{indent}pass  # relay2relax: {line}" for line in lines.split("\n"))
