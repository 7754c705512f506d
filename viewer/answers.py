"""What a page answers, as text: what is found of a program, and where a node stands in all of its
texts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from relay2relax.graph.kinds import NodeKind
from relay2relax.viewer.model import Subject, Text

# Of a finding, so many nodes are named.
_MOST = 5
# Of a line, so many characters are shown.
_WIDE = 100


def findings_text(subject: Subject) -> Iterator[str]:
    """Yield the lines of what is found: each sentence, and the nodes that it is about."""
    for finding in subject.findings:
        yield f"{finding.title}: {finding.text}"
        for box in finding.boxes[:_MOST]:
            yield f"  {_label(subject, box)}"
        if len(finding.boxes) > _MOST:
            yield f"  and {len(finding.boxes) - _MOST} more"


def findings_json(subject: Subject) -> list[dict[str, object]]:
    """Return what is found as values of JSON; nodes by their names."""
    boxes = subject.drawing.boxes
    return [
        {"title": one.title, "text": one.text, "nodes": [boxes[box].node.name for box in one.boxes]}
        for one in subject.findings
    ]


def found_text(subject: Subject, name: str) -> Iterator[str]:
    """Yield the lines of every node of that name, operator or layer, or that is bound to that name
    in one of the texts: what it is, and its lines in all of them.
    """
    for box in _found(subject, name):
        yield _label(subject, box)
        for text in subject.texts:
            rows = text.text.splitlines()
            for line in _lines(subject, text, box):
                yield f"  {text.title} {line + 1}: {_short(rows[line].strip())}"


def _found(subject: Subject, name: str) -> list[int]:
    bound = re.compile(rf"\s*(?:let )?%?{re.escape(name.removeprefix('%'))}(?::.*?)? = ")
    found = set()
    for number, box in enumerate(subject.drawing.boxes):
        span = box.node.span.source_name if box.node.span is not None else ""
        if name in (box.node.name, box.node.op, box.layer, span, *(one.name for one in box.lent)):
            found.add(number)
    for text in subject.texts:
        rows = text.text.splitlines()
        found.update(box for box, line in text.lines if bound.match(rows[line]))
    return sorted(found)


def _label(subject: Subject, number: int) -> str:
    """Return what a node is called, where it comes from, and its line of Relay."""
    box = subject.drawing.boxes[number]
    span = f", from {box.node.span.source_name}" if box.node.span is not None and box.node.span.source_name else ""
    first = next((text for text in subject.texts if text.key == "relay"), None)
    lines = _lines(subject, first, number) if first is not None else []
    place = f", line {lines[0] + 1} of Relay" if lines else ""
    return f"{box.node.optype} {box.node.name}{span}{place}"


def _lines(subject: Subject, text: Text, number: int) -> list[int]:
    """Return the lines of a box; those of the parameters that it takes are for inputs alone."""
    boxes = subject.drawing.boxes
    own = boxes[number].node.kind is NodeKind.INPUT
    inputs = {line for box, line in text.lines if boxes[box].node.kind is NodeKind.INPUT}
    return sorted({line for box, line in text.lines if box == number and (own or line not in inputs)})


def _short(text: str) -> str:
    return text if len(text) <= _WIDE else f"{text[: _WIDE - 1]}…"
