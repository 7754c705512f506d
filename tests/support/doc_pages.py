"""The project's pages, as tests read them: blocks of code with the marks before them, and links.

A comment before a block says what is done with it:

    <!-- file: NAME -->        the block is written to NAME
    <!-- output -->            the block is what the Python blocks before it have printed
    <!-- exit: 1 -->           the last command of the block ends with this code
    <!-- needs: tvm -->        the block runs where that is installed
    <!-- not run: REASON -->   the block is not run
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
_FENCE = re.compile(r"^( *)(`{3,})([^`\n]*)\n(.*?)^\1\2 *$", re.M | re.S)
_MARK = re.compile(r"<!-- ([a-z ]+)(?:: ((?:(?!-->).)*))? -->\s*\Z", re.S)


@dataclass(frozen=True)
class Block:
    """A block of a page: its language, its text, the line it begins in, and the marks before it."""

    language: str
    text: str
    line: int
    marks: dict[str, str] = field(default_factory=dict)


def pages() -> list[Path]:
    """Return every page of the project, as paths from its root."""
    found = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    return sorted(path.relative_to(ROOT) for path in found)


def blocks(text: str) -> list[Block]:
    """Return the blocks of a page, in order."""
    found = []
    for match in _FENCE.finditer(text):
        before = text[: match.start()]
        indent = match[1]
        body = "".join(line.removeprefix(indent) for line in match[4].splitlines(keepends=True))
        line = before.count("\n") + 2
        found.append(Block(match[3].strip(), body, line, _marks(before)))
    return found


def _marks(before: str) -> dict[str, str]:
    found = {}
    while match := _MARK.search(before):
        found[match[1]] = " ".join((match[2] or "").split())
        before = before[: match.start()]
    return found


def prose(text: str) -> str:
    """Return a page without its blocks, lines kept."""
    return _FENCE.sub(lambda match: "\n" * match[0].count("\n"), text)


def matches(expected: str, printed: str) -> bool:
    """Whether a text is what was printed, ``…`` standing for anything."""
    lines = [re.escape(line.rstrip()).replace("…", ".*") for line in expected.strip("\n").split("\n")]
    pattern = "\n".join("(?s:.*)" if line == ".*" else line for line in lines)
    # Dots that stand for whole lines stand for none as well.
    pattern = pattern.replace("\n(?s:.*)\n", "\n(?s:.*\n)?").replace("\n(?s:.*)", "(?s:\n.*)?")
    return re.fullmatch(pattern, "\n".join(line.rstrip() for line in printed.strip("\n").split("\n"))) is not None
