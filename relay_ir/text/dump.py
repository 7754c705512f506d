"""What stands around Relay in logs, terminals and pages, blanked out.

Every character stays where it was, so that places in messages are those of the file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

# Colours, as terminals are told about them.
_COLOUR = re.compile(r"\x1b\[[0-9;]*[mK]")
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n]*", re.MULTILINE)
_COMMENT = r"/\*(?:[^*]|\*(?!/))*(?:\*/)?|//[^\n]*"
# What a text begins with that is not inside of something else.
_START = r"(?:#\[|v\d[\d.]*\s|def\s+@|fn\s*[(\[]|free_var\s+%|type\s+\w|extern\s+type|%\d+\s*=|let\s+%)"
_BEGINS = re.compile(rf"\s*(?:(?://[^\n]*\n|/\*(?:[^*]|\*(?!/))*\*/)\s*)*{_START}").match
_MESSAGE = r"(?:#\[\s*version|v0\.0\.\d\s|def\s+@|fn\s*\(|free_var\s+%)"
# What comes before the message of a line of a log: `INFO:root:`, `[12:01] net.py: `, or a time.
_HEAD = r"[^\n]{0,200}?(?:[:\]>|)\-] ?|[ \t])"
_MARKED = re.compile(r"\s*|.*(?:\d.*\s|[:\]>|)\-] ?)", re.DOTALL).fullmatch
_FIRST = re.compile(rf"^(?:[ \t]*|{_HEAD})(?={_MESSAGE})", re.MULTILINE)
# What follows a definition where Relay goes on.
_TYPE = r"type\s+\w+\s*(?:\[[^\]\n]*\]\s*)?\{"
_NEXT = re.compile(rf"^(?:[ \t]*|{_HEAD})(?={_MESSAGE}|{_TYPE}|extern\s+type\s|#\[metadata\])", re.MULTILINE)
# The parts of a definition that tell where it ends.
_PART = re.compile(rf'"(?:[^"\\\n]|\\.)*"?|{_COMMENT}|[(){{}}\[\]]|\n(?=\s*\n)')
# The line `#[metadata]` that breaks off.
_CUT_HEADING = re.compile(r"\s*#(?:\[[a-z]*)?\s*").fullmatch
# What no line of a function begins with: a heading or a sentence behind one that breaks off.
_PROSE = re.compile(r"\s*\n(?=[#A-Z>=<*])")
_VERSION = re.compile(r"#\[\s*version|v0\.0\.\d")
_ONE_LINE = re.compile(r"#\[\s*version[^\n]*|v0\.0\.\d[^\n]*|extern\s+type[^\n]*")
_REST = re.compile(rf"(?:[ \t]*(?:{_COMMENT}))*[ \t]*")
# Where the beginning of a line's head may end.
_CUT = re.compile(r"[:\]>|)\-] *|[ \t]+")


@dataclass(frozen=True, slots=True)
class Bare:
    """A text without what stands around Relay, and which ``lines`` behind the first definition
    were left out: the first and last of each gap.
    """

    text: str
    lines: tuple[tuple[int, int], ...] = ()

    @property
    def said(self) -> str:
        """What was left out as a sentence, "" where nothing was."""
        if not self.lines:
            return ""
        gaps = [str(first) if first == last else f"{first} to {last}" for first, last in self.lines]
        shown = ", ".join(gaps[:4]) + (", …" if gaps[4:] else "")
        one = self.lines[0][0] == self.lines[-1][1]
        return (
            f"line {shown} is not Relay, and is left out" if one else f"lines {shown} are not Relay, and are left out"
        )


def without_surroundings(text: str, everywhere: bool = False) -> Bare:
    """Return ``text`` with colours, Markdown fences and what a log says around Relay blanked out.

    A text that begins with Relay is left alone behind that, unless ``everywhere`` is given: what is
    no Relay may be a mistake there.
    """
    if text.startswith("\ufeff"):
        text = " " + text[1:]
    if "\x1b[" in text:
        text = _COLOUR.sub(_blank, text)
    begins = _BEGINS(text) is not None
    if begins and not everywhere:
        return Bare(text)
    text = _FENCE.sub(_blank, text)
    found = _next(_FIRST, text, 0)
    if found is None:
        return Bare(text)
    text = _without_heads(text, found)
    whole = text if begins else _blank_text(text[: found.end()]) + text[found.end() :]
    return _without_gaps(whole, found.end(), everywhere)


def _without_heads(text: str, found: re.Match[str]) -> str:
    """Return ``text`` without what every line of a log begins with, where the line behind that of
    the first message begins so, too.
    """
    following = re.compile(r"[^\n]*\n\s*?^(?=[^\n]*\S)([^\n]*)", re.MULTILINE).match(text, found.end())
    ends = [cut.end() for cut in _CUT.finditer(found[0])] if following is not None else []
    for end in reversed(ends):
        head = _pattern(found[0][:end])
        if head is not None and following is not None and re.match(head, following[1]):
            return re.compile(rf"^{head}", re.MULTILINE).sub(_blank, text)
    return text


def _pattern(head: str) -> str | None:
    """Return a pattern for the ``head`` of lines: numbers in it are others elsewhere."""
    said = head.rstrip()
    if not said:
        return None
    return re.sub(r"\d+", r"\\d+", re.escape(said)) + f"[ \\t]{{0,{len(head) - len(said)}}}"


def _without_gaps(text: str, at: int, breaks: bool) -> Bare:
    """Return ``text``, in which a definition begins at ``at``, without what stands between
    definitions and is no Relay.

    Where definitions may break off (``breaks``), nothing is kept behind one that does.
    """
    kept: list[str] = [text[:at]]
    lines: list[tuple[int, int]] = []
    line = text.count("\n", 0, at) + 1
    while at < len(text):
        end, whole = _end(text, at, breaks)
        is_version = _VERSION.match(text, at) is not None
        # A version may be said once.
        kept.append(_blank_text(text[at:end]) if is_version and line > 1 and len(kept) > 1 else text[at:end])
        line += text.count("\n", at, end)
        found = _next(_NEXT, text, end) if whole else None
        at = found.end() if found is not None else len(text)
        gap = text[end:at]
        bare = re.sub(_COMMENT, _blank, gap)
        if bare.strip() and _CUT_HEADING(bare) is None:
            first = line + gap[: len(bare) - len(bare.lstrip())].count("\n")
            head = bare.rstrip() if found is None else bare[: len(bare) - len(found[0])].rstrip()
            if head.strip():
                lines.append((first, line + head.count("\n")))
            gap = _blank_text(gap)
        kept.append(gap)
        line += gap.count("\n")
    return Bare("".join(kept), tuple(lines))


def _next(begins: re.Pattern[str], text: str, at: int) -> re.Match[str] | None:
    """Return the first line from ``at`` on that ``begins`` so: bare, behind a mark, or a time."""
    return next((found for found in begins.finditer(text, at) if _MARKED(found[0])), None)


def _end(text: str, start: int, breaks: bool) -> tuple[int, bool]:
    """Return where the definition that begins at ``start`` ends, and whether it is whole."""
    one_line = _ONE_LINE.match(text, start)
    if one_line is not None:
        return one_line.end(), True
    # An expression ends with an empty line.
    expression = text.startswith("free_var", start)
    depth, inside = 0, False
    for found in _PART.finditer(text, start):
        part = found[0]
        if part in ("(", "[", "{"):
            inside = inside or (part == "{" and depth == 0)
            depth += 1
        elif part == "\n":
            if expression and depth <= 0:
                return found.start(), True
            if breaks and _PROSE.match(text, found.start()) is not None:
                return found.start(), False
        elif part in (")", "]", "}"):
            depth -= 1
            if depth <= 0 and inside and not expression:
                rest = _REST.match(text, found.end())
                return (rest.end() if rest is not None else found.end()), True
    return len(text), False


def _blank(found: re.Match[str]) -> str:
    return _blank_text(found[0])


def _blank_text(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
