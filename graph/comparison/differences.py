"""Differences of two graphs: nodes added, removed and changed, and the parts that are the same; as
text, in colours, and as plain values.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from relay2relax.core.amounts import counted
from relay2relax.core.source import visible
from relay2relax.graph.comparison.labels import type_text
from relay2relax.graph.model import MSCGraph, MSCJoint

_COLOURS = {"-": "31", "+": "32", "~": "33", "=": "2"}
# So many nodes that only follow others, and parts that are the same, are shown; the document has
# all.
_MOST_SHOWN = 10


@dataclass(frozen=True, slots=True)
class Change:
    """What of a node is another thing now; "" stands for what is not there."""

    what: str
    before: str
    after: str


@dataclass(frozen=True, slots=True)
class NodeChange:
    """A node that is in both graphs, by its names there, and what has changed of it."""

    before: str
    after: str
    changes: tuple[Change, ...]

    @property
    def follows(self) -> bool:
        """Whether only types of results differ, as they do below a node with another shape."""
        return all(one.what.startswith("output") for one in self.changes)


@dataclass(frozen=True, slots=True)
class PartDiff:
    """Two functions, or graphs within nodes, beside each other; None where one graph lacks it.

    ``pairs`` are nodes that are in both, by name, ``same`` those of them of which nothing changed
    but perhaps the name, as isomorphic parts: nodes that hang together, the largest part first.
    """

    before: MSCGraph | None
    after: MSCGraph | None
    pairs: Mapping[str, str] = field(default_factory=dict)
    same: tuple[tuple[str, ...], ...] = ()
    changed: tuple[NodeChange, ...] = ()
    removed: tuple[str, ...] = ()
    added: tuple[str, ...] = ()
    changes: tuple[Change, ...] = ()

    @property
    def is_equal(self) -> bool:
        """Whether nothing but names differs."""
        return not (self.changed or self.removed or self.added or self.changes) and None not in (
            self.before,
            self.after,
        )

    @property
    def renamed(self) -> dict[str, str]:
        """The nodes that have another name."""
        return {one: two for one, two in self.pairs.items() if one != two}


@dataclass(frozen=True, slots=True)
class GraphDiff:
    """The differences of two graphs, function by function, graphs within nodes after these."""

    parts: tuple[PartDiff, ...]

    @property
    def is_equal(self) -> bool:
        """Whether the graphs are isomorphic and nothing but names differs."""
        return all(part.is_equal for part in self.parts)

    def to_json(self) -> dict[str, object]:
        """Return the differences as plain values; names are those of the first graph but for what
        was added.
        """
        return {"equal": self.is_equal, "parts": [_part_document(part) for part in self.parts]}

    def text(self, colour: bool = False) -> str:
        """Return the differences for a person, with ANSI colours where that is asked.

        There is a line for each node that was added (``+``), removed (``-``) or changed (``~``),
        and for each part that is the same (``=``).
        """
        lines = [line for part in self.parts for line in _part_lines(part)]
        return "\n".join(_painted(line) if colour else line for line in map(visible, lines)) + "\n"

    def __str__(self) -> str:
        return self.text()


def _painted(line: str) -> str:
    code = _COLOURS.get(line[:1])
    return f"\x1b[{code}m{line}\x1b[0m" if code else line


def _part_lines(part: PartDiff) -> Iterator[str]:
    for sign, alone in (("-", part.before), ("+", part.after)):
        if alone is not None and None in (part.before, part.after):
            yield f"{sign} function {alone.name} ({counted(len(alone), 'node')})"
    if part.before is None or part.after is None:
        return
    names = part.before.name if part.before.name == part.after.name else f"{part.before.name} -> {part.after.name}"
    count = sum(map(len, part.same))
    yield f"{names}: {counted(len(part.before), 'node')}, now {len(part.after)}; {count} the same"
    for hanging in part.same[:_MOST_SHOWN]:
        yield f"= {counted(len(hanging), 'node')}: {_ends(hanging)}"
    if len(part.same) > _MOST_SHOWN:
        yield f"= {counted(len(part.same) - _MOST_SHOWN, 'part')} more"
    for change in part.changes:
        yield f"~ {change.what}: {change.before} -> {change.after}"
    yield from (f"- {_node(part.before, part.before.find_node(name))}" for name in part.removed)
    yield from (f"+ {_node(part.after, part.after.find_node(name))}" for name in part.added)
    following = [one for one in part.changed if one.follows]
    for changed in part.changed:
        if not changed.follows:
            yield f"~ {part.after.find_node(changed.after).optype} {_both(changed)}"
            yield from (
                f"    {one.what}: {one.before or '(none)'} -> {one.after or '(none)'}" for one in changed.changes
            )
    for changed in following[:_MOST_SHOWN]:
        types = ", ".join(f"{one.before} -> {one.after}" for one in changed.changes)
        yield f"~ {part.after.find_node(changed.after).optype} {_both(changed)}: {types}"
    if len(following) > _MOST_SHOWN:
        yield f"~ {counted(len(following) - _MOST_SHOWN, 'node')} more of other types"


def _ends(names: tuple[str, ...]) -> str:
    return " ".join(names) if len(names) < 4 else f"{names[0]} … {names[-1]}"


def _both(changed: NodeChange) -> str:
    return changed.after if changed.before == changed.after else f"{changed.before} -> {changed.after}"


def _node(graph: MSCGraph, node: MSCJoint) -> str:
    made = ", ".join(map(type_text, node.outputs))
    return f"{node.optype} {node.name}({', '.join(node.operands)}): {made}"


def _part_document(part: PartDiff) -> dict[str, object]:
    return {
        "before": part.before.name if part.before else None,
        "after": part.after.name if part.after else None,
        "same": [list(one) for one in part.same],
        "renamed": part.renamed,
        "removed": [_described(part.before, name) for name in part.removed],
        "added": [_described(part.after, name) for name in part.added],
        "changed": [
            {
                "before": one.before,
                "after": one.after,
                "changes": [{"what": c.what, "before": c.before, "after": c.after} for c in one.changes],
            }
            for one in part.changed
        ],
        "changes": [{"what": c.what, "before": c.before, "after": c.after} for c in part.changes],
    }


def _described(graph: MSCGraph | None, name: str) -> dict[str, object]:
    assert graph is not None
    node = graph.find_node(name)
    return {
        "name": name,
        "operator": node.optype,
        "operands": list(node.operands),
        "outputs": [type_text(one) for one in node.outputs],
    }
