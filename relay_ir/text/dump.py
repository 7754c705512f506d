"""What stands around Relay in logs, terminals and pages, blanked out.

Every character stays where it was, so that places in messages are those of the file.
"""

from __future__ import annotations

import re

# Colours, as terminals are told about them.
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*", re.MULTILINE)
# What a text begins with that is not inside of something else.
_START = r"(?:#\[|v\d[\d.]*\s|def\s+@|fn\s*[(\[]|free_var\s+%|type\s+\w|extern\s+type|%\d+\s*=|let\s+%)"
_BEGINS = re.compile(rf"\s*(?:(?://[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)\s*)*{_START}").match
# A line of a log, whose message begins with Relay: `INFO:root:def @main…`, `[12:01] net.py: fn (…`.
_MESSAGE = r"(?:#\[\s*version|v0\.0\.\d\s|def\s+@|fn\s*\(|free_var\s+%)"
_PREFIX = re.compile(rf"^[^\n]*?[:\]>|)\-] ?(?={_MESSAGE})|^(?={_MESSAGE})", re.MULTILINE)


def without_surroundings(text: str) -> str:
    """Return ``text`` with colours, Markdown fences and what a log says first blanked out."""
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    if "\x1b[" in text:
        text = _COLOUR.sub(_blank, text)
    if _BEGINS(text):
        return text
    text = _FENCE.sub(_blank, text)
    found = _PREFIX.search(text)
    return text if found is None else _blank_text(text[: found.end()]) + text[found.end() :]


def _blank(found: re.Match[str]) -> str:
    return _blank_text(found[0])


def _blank_text(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
