"""The data of a graph's page: what it needs at once, and what it reads when that is asked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from relay2relax.core.source import visible
from relay2relax.viewer.drawing import Box
from relay2relax.viewer.grouping import Grouping
from relay2relax.viewer.layering import Layers
from relay2relax.viewer.model import Subject, Text
from relay2relax.viewer.page import GRAPH_SCRIPTS, assembled, file_text, packed
from relay2relax.viewer.pairing import pairs_of
from relay2relax.viewer.values import histogram

# A page has at most this many bytes, and more for each node.
_BASE, _PER_NODE = 1_000_000, 200
# Compressed and in base64, a page's own parts and the graph stay below this share of that.
_TEXTS_SHARE = 0.7


def page_of(subjects: Sequence[Subject], title: str = "", notes: Sequence[str] = ()) -> bytes:
    """Return the page of one program, or of two side by side.

    It has at most 1 MB and 200 bytes for each node: where texts or weights would be more, the
    longest are left out, and the page says so.
    """
    name = title or " and ".join(one.title for one in subjects)
    pairs = pairs_of(*subjects) if len(subjects) == 2 else []
    sides = [_side(one) for one in subjects]
    graph = {"title": name, "notes": list(notes), "sides": sides, "pairs": pairs}
    details = [[_details(subject, number) for number in range(len(subject.drawing.boxes))] for subject in subjects]
    allowed = _BASE + _PER_NODE * sum(len(one.drawing.boxes) for one in subjects)
    left = allowed - 200_000 - len(packed(graph)) - len(packed(details))
    texts = [_within(subject.texts, int(left * _TEXTS_SHARE) // len(subjects)) for subject in subjects]
    left -= len(packed(texts))
    weights = [_weights(subject, left // len(subjects)) for subject in subjects]
    data = {"graph": graph, "details": details, "texts": texts, "weights": weights}
    return assembled(name, file_text("graph.html"), GRAPH_SCRIPTS, ("common.css", "graph.css"), data)


def _side(subject: Subject) -> dict[str, Any]:
    boxes = subject.drawing.boxes
    ops, types = _Table(), _Table()
    return {
        "title": subject.title,
        "names": [visible(box.node.name) for box in boxes],
        "layers": [visible(box.layer) for box in boxes],
        "op": [ops.number(visible(box.node.optype)) for box in boxes],
        "type": [types.number(box.type) for box in boxes],
        "kind": [_kind(box) for box in boxes],
        "ops": ops.words,
        "types": types.words,
        "edges": [part for edge in subject.drawing.edges for part in (edge.source, edge.target)],
        "fields": {str(n): edge.field for n, edge in enumerate(subject.drawing.edges) if edge.field},
        "inside": _inside(subject),
        "groupings": [_grouping(grouping, layers) for grouping, layers in subject.groupings],
        "overlays": [
            {
                "key": one.key,
                "title": one.title,
                "unit": one.unit,
                "logarithmic": one.logarithmic,
                "note": one.note,
                "summed": one.summed,
                "values": [_number(value) for value in one.values],
            }
            for one in subject.overlays
        ],
        "findings": [{"title": one.title, "text": one.text, "boxes": one.boxes[:50]} for one in subject.findings],
    }


class _Table:
    """Words, each once, and their numbers."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._numbers: dict[str, int] = {}

    def number(self, word: str) -> int:
        if word not in self._numbers:
            self._numbers[word] = len(self.words)
            self.words.append(word)
        return self._numbers[word]


def _kind(box: Box) -> int:
    """Return 0 for operators, 1 for inputs, 2 for constants, 3 for control flow and calls, 4 for
    the rest.
    """
    match box.node.kind.value:
        case "input":
            return 1
        case "constant":
            return 2
        case "if" | "match" | "call" | "function" | "global" | "let" | "bind" | "fused":
            return 3
        case "tuple" | "get_item":
            return 4
    return 0


def _inside(subject: Subject) -> dict[str, list[str]]:
    """Return the names that belong to boxes without being drawn, for the search."""
    found: dict[str, list[str]] = {}
    for name, box in subject.drawing.of.items():
        if subject.drawing.boxes[box].node.name != name:
            found.setdefault(str(box), []).append(visible(name))
    return found


def _number(value: float | str | None) -> float | str | None:
    """Return a value of an overlay in few digits; JSON has no numbers that are not finite."""
    if value is None or isinstance(value, str):
        return value
    return float(f"{value:.4g}") if np.isfinite(value) else str(value)


def _grouping(grouping: Grouping, layers: Sequence[Layers]) -> dict[str, Any]:
    return {
        "key": grouping.key,
        "title": grouping.title,
        "groups": [
            {
                "title": visible(group.title),
                "parent": group.parent,
                "items": [part for item in found.items for part in item],
                "layers": found.layers,
                "chains": [
                    [chain.source, chain.target, chain.values, -1 if chain.far else chain.bends]
                    for chain in found.chains
                ],
            }
            for group, found in zip(grouping.groups, layers, strict=True)
        ],
    }


def _details(subject: Subject, number: int) -> dict[str, Any]:
    box = subject.drawing.boxes[number]
    span = box.node.span
    found: dict[str, Any] = {
        "attrs": {visible(key): visible(value) for key, value in box.attributes.items()},
        "lent": [[visible(one.role), visible(one.name), one.tensor, visible(one.value)] for one in box.lent],
        "span": "" if span is None else visible(str(span)),
        "scope": [visible(one) for one in (*box.rooms, *box.node.scope)],
        "changes": [visible(one) for one in subject.changes.get(number, ())],
        "receipt": [visible(one) for one in subject.receipt.get(number, ())],
        "alias": [visible(one.alias) for one in box.node.outputs if one.alias],
    }
    return {key: value for key, value in found.items() if value}


def _within(texts: Sequence[Text], allowed: int) -> list[dict[str, Any]]:
    """Return texts with their lines; the last ones are empty where all would be too long."""
    made = []
    for text in texts:
        one: dict[str, Any] = {
            "key": text.key,
            "title": text.title,
            "text": visible(text.text, lines=True),
            "lines": [part for line in text.lines for part in line],
        }
        size = len(packed(one))
        if size > allowed:
            one |= {"text": f"Left out: {len(text.text):,} characters are more than the page may have.", "lines": []}
        else:
            allowed -= size
        made.append(one)
    return made


def _weights(subject: Subject, allowed: int) -> dict[str, Any]:
    """Return what there is to show of weights, of as many as there is room for."""
    found: dict[str, Any] = {}
    for name, shown in _histograms(subject):
        allowed -= 400
        if allowed < 0:
            break
        found[visible(name)] = shown
    return found


def _histograms(subject: Subject) -> Iterator[tuple[str, dict[str, object]]]:
    for name, array in subject.weights.items():
        if name in subject.drawing.of and array.dtype.kind in "fiubV" and array.size:
            yield name, histogram(array)
