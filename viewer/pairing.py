"""Two programs beside each other: which boxes stand for each other, and what differs."""

from __future__ import annotations

from relay2relax import graph
from relay2relax.core.amounts import counted
from relay2relax.viewer.model import Finding, Overlay, Subject

_KEY, _TITLE = "difference", "Difference"


def pairs_of(one: Subject, other: Subject) -> list[tuple[int, int]]:
    """Return pairs of boxes that stand for each other, and say on both sides what differs.

    Graphs of one language are compared by :func:`relay2relax.graph.diff`. A Relay module and a
    script are paired where the script has the lines that the module is translated to.
    """
    if one.graph.is_relax == other.graph.is_relax:
        return _compared(one, other)
    if one.graph.is_relax:
        return [(b, a) for a, b in _by_lines(other, one)]
    return _by_lines(one, other)


def _compared(one: Subject, other: Subject) -> list[tuple[int, int]]:
    mine: list[str | None] = [None] * len(one.drawing.boxes)
    theirs: list[str | None] = [None] * len(other.drawing.boxes)
    pairs: dict[tuple[int, int], None] = {}
    for part in graph.diff(one.graph, other.graph).parts:
        for before, after in part.pairs.items():
            a, b = _own(one, before), _own(other, after)
            if a is not None and b is not None:
                pairs[a, b] = None
                mine[a] = theirs[b] = "same"
        for change in part.changed:
            said = [f"{found.what}: {found.before or '–'} → {found.after or '–'}" for found in change.changes]
            for subject, values, name in ((one, mine, change.before), (other, theirs, change.after)):
                box = subject.drawing.of.get(name)
                if box is not None:
                    values[box] = "changed"
                    subject.changes.setdefault(box, []).extend(said)
        for subject, values, names, word in (
            (one, mine, part.removed, "removed"),
            (other, theirs, part.added, "added"),
        ):
            for name in names:
                box = subject.drawing.of.get(name)
                if box is not None:
                    values[box] = word if _own(subject, name) == box else values[box] or "changed"
    for subject, values, word in ((one, mine, "removed"), (other, theirs, "added")):
        subject.overlays.append(Overlay(_KEY, _TITLE, "", values))
        changed, lone = ([box for box, value in enumerate(values) if value == kind] for kind in ("changed", word))
        text = f"{counted(len(changed), 'node')} changed, {len(lone)} {word}" if changed or lone else "none"
        subject.findings.insert(0, Finding(_TITLE, text, tuple(sorted([*changed, *lone]))))
    return list(pairs)


def _own(subject: Subject, name: str) -> int | None:
    """Return the box of a node, None where it stands in the box of another one."""
    box = subject.drawing.of.get(name)
    return box if box is not None and subject.drawing.boxes[box].node.name == name else None


def _by_lines(relay: Subject, relax: Subject) -> list[tuple[int, int]]:
    """Return pairs of boxes that have a line of Relax in common."""
    ours, theirs = (next((text for text in side.texts if text.key == "relax"), None) for side in (relay, relax))
    if ours is None or theirs is None:
        return []
    lines = theirs.text.split("\n")
    found = {lines[line].strip(): box for box, line in theirs.lines if "def " not in lines[line]}
    own = ours.text.split("\n")
    pairs = ((box, found.get(own[line].strip())) for box, line in ours.lines)
    return list(dict.fromkeys((a, b) for a, b in pairs if b is not None))
