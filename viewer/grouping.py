"""Groups that fold: by scope, by span, by the patterns of MSC, and sections of what is long.

A group is a run of boxes in an order in which operands come first, so what lies between two of its
boxes lies in it, and groups among themselves have no circles. Where a name comes back later, that
is another group of the name.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax.core.dtype import Array
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph
from relay2relax.viewer.drawing import Box, Drawing

# A group with more boxes and groups than these is cut into sections, of which there are no more.
MOST = 80
_SECTIONS = 40


@dataclass(slots=True, eq=False)
class Group:
    """Boxes (their numbers) and other groups (``~`` their numbers) in order."""

    title: str
    parent: int
    items: list[int] = field(default_factory=list)


@dataclass(frozen=True, slots=True, eq=False)
class Grouping:
    """A way to fold: groups, of which the first is the whole."""

    key: str
    title: str
    groups: list[Group]

    def homes(self, boxes: int) -> list[int]:
        """Return the group that each box is in."""
        found = [0] * boxes
        for number, group in enumerate(self.groups):
            for item in group.items:
                if item >= 0:
                    found[item] = number
        return found


def groupings_of(drawing: Drawing, graph: MSCGraph, weights: Mapping[str, Array]) -> list[Grouping]:
    """Return the groupings that say something of a graph; sections always do."""
    order = _near_users(drawing)
    plain = [box.rooms for box in drawing.boxes]
    found = [_grouping("sections", "Sections", drawing, order, plain)]
    for key, title, names in (
        ("scope", "Scopes", [box.node.scope for box in drawing.boxes]),
        ("span", "Spans", [_span_path(box) for box in drawing.boxes]),
        ("layer", "Layers", _layer_paths(drawing)),
    ):
        if len(set(names)) > 2:
            paths = [(*rooms, *more) for rooms, more in zip(plain, names, strict=True)]
            grouping = _grouping(key, title, drawing, order, paths)
            if len(grouping.groups) > 1:
                found.append(grouping)
    fused = _pattern_order(drawing, order, graph, weights)
    if fused is not None:
        patterns, inside = fused
        found.append(_grouping("pattern", "Patterns", drawing, patterns, inside))
    return found


def _span_path(box: Box) -> tuple[str, ...]:
    """Return the parts of the name that a framework wrote into the span of a node."""
    span = box.node.span
    if span is None or not span.source_name or "\n" in span.source_name:
        return ()
    return _parts(span.source_name)[:8]


def _parts(name: str) -> tuple[str, ...]:
    """Return the parts of a path: ``/layer/conv.0/Conv`` or ``layer.0.conv``."""
    return tuple(part for part in name.split("/" if "/" in name else ".") if part)


def _layer_paths(drawing: Drawing) -> list[tuple[str, ...]]:
    """Return which layer of the framework each box is in, as far as names of weights tell, which
    are paths to PyTorch: ``layer1.0.conv1.weight``. Boxes without weights are where those before
    and behind them both are.
    """
    own: list[tuple[str, ...] | None] = []
    for box in drawing.boxes:
        paths = [_parts(one.name)[:-1] for one in box.lent if one.role != "constant"]
        own.append(_common(paths) if paths else None)
    before: list[tuple[str, ...]] = []
    for path in own:
        before.append(path if path is not None else before[-1] if before else ())
    behind: list[tuple[str, ...]] = []
    for path in reversed(own):
        behind.append(path if path is not None else behind[-1] if behind else ())
    return [_common([one, other]) for one, other in zip(before, reversed(behind), strict=True)]


def _common(paths: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    shortest = min(map(len, paths))
    same = next((at for at in range(shortest) if len({path[at] for path in paths}) > 1), shortest)
    return paths[0][:same]


def _near_users(drawing: Drawing) -> list[int]:
    """Return the boxes in an order in which operands come first, but what takes nothing, weights
    above all, right before the first that takes it.
    """
    sources: list[list[int]] = [[] for _ in drawing.boxes]
    for edge in drawing.edges:
        sources[edge.target].append(edge.source)
    used = {edge.source for edge in drawing.edges}
    order: dict[int, None] = {}
    for box, found in enumerate(sources):
        if not found and box in used:
            continue
        order.update(dict.fromkeys(one for one in found if not sources[one]))
        order[box] = None
    return list(order)


def _pattern_order(
    drawing: Drawing, base: Sequence[int], graph: MSCGraph, weights: Mapping[str, Array]
) -> tuple[list[int], list[tuple[str, ...]]] | None:
    """Return the boxes in the order of a graph that MSC's patterns have fused, and in which pattern
    each is; None where none matches.
    """
    from relay2relax.graph.fusing.fuse import fuse
    from relay2relax.graph.patterns.msc import msc_patterns

    if graph.is_relax or any(node.kind is NodeKind.FUSED for node in graph.nodes):
        return None
    fused = fuse(graph, weights, msc_patterns())
    paths = [box.rooms for box in drawing.boxes]
    parts: dict[int, list[int]] = {}
    for node in fused.nodes:
        for body in node.bodies if node.kind is NodeKind.FUSED else ():
            inside = sorted({drawing.of[part.name] for part in body.nodes if part.name in drawing.of} - _outer(
                drawing, body))  # fmt: skip
            if len(inside) > 1:
                parts[inside[-1]] = inside
                for one in inside:
                    paths[one] = (*paths[one], node.name)
    if not parts:
        return None
    early = {one for inside in parts.values() for one in inside[:-1]}
    order = [part for one in base if one not in early for part in parts.get(one, [one])]
    return order, paths


def _outer(drawing: Drawing, body: MSCGraph) -> set[int]:
    """Return the boxes that stand for parameters of a fused node's body."""
    return {drawing.of[name] for name in body.params if name in drawing.of}


def _grouping(
    key: str, title: str, drawing: Drawing, order: Sequence[int], paths: Sequence[tuple[str, ...]]
) -> Grouping:
    """Return the groups of runs of boxes with equal beginnings of their paths."""
    groups = [Group("", -1)]
    stack: list[tuple[str, int]] = []
    for box in order:
        path = paths[box]
        kept = 0
        while kept < min(len(stack), len(path)) and stack[kept][0] == path[kept]:
            kept += 1
        del stack[kept:]
        for name in path[kept:]:
            parent = stack[-1][1] if stack else 0
            groups[parent].items.append(~len(groups))
            stack.append((name, len(groups)))
            groups.append(Group(name, parent))
        groups[stack[-1][1] if stack else 0].items.append(box)
    groups = _of_several(groups)
    _cut(groups, drawing)
    return Grouping(key, title, groups)


def _of_several(groups: list[Group]) -> list[Group]:
    """Return the groups that hold several things; one that holds a single thing gives way to it."""
    instead: dict[int, int] = {}
    # Groups come before those in them.
    for number in range(len(groups) - 1, 0, -1):
        items = groups[number].items = [instead.get(item, item) for item in groups[number].items]
        if len(items) == 1:
            instead[~number] = items[0]
    groups[0].items = [instead.get(item, item) for item in groups[0].items]
    kept = [number for number in range(len(groups)) if ~number not in instead]
    new = {~old: ~at for at, old in enumerate(kept)}
    made = [Group(groups[old].title, -1, [new.get(item, item) for item in groups[old].items]) for old in kept]
    for number, group in enumerate(made):
        for item in group.items:
            if item < 0:
                made[~item].parent = number
    return made


def _cut(groups: list[Group], drawing: Drawing) -> None:
    """Cut groups of many items into sections, where few edges cross."""
    waiting = [number for number, group in enumerate(groups) if len(group.items) > MOST]
    if not waiting:
        return
    for number in waiting:
        pieces = [number]
        while pieces:
            one = pieces.pop()
            if len(groups[one].items) <= MOST:
                continue
            ends = list(_ends(groups, one, drawing))
            items, groups[one].items = groups[one].items, []
            for begin, end in zip([0, *ends], [*ends, len(items)], strict=True):
                new = len(groups)
                part = Group("", one, items[begin:end])
                groups.append(part)
                groups[one].items.append(~new)
                for item in part.items:
                    if item < 0:
                        groups[~item].parent = new
                part.title = _what(groups, part, drawing.boxes)
                pieces.append(new)


def _ends(groups: list[Group], number: int, drawing: Drawing) -> Iterator[int]:
    """Yield where to cut the items of a group: near places that are evenly spread, where few values
    are alive.
    """
    items = groups[number].items
    place = {box: at for at, item in enumerate(items) for box in _boxes(groups, item)}
    change = [0] * (len(items) + 1)
    for edge in drawing.edges:
        source, target = place.get(edge.source), place.get(edge.target)
        if source is not None and target is not None and source != target:
            change[source + 1] += 1
            change[target + 1] -= 1
    crossing, total = [], 0
    for one in change:
        total += one
        crossing.append(total)
    sections = min(_SECTIONS, -(-len(items) // (MOST // 2)))
    width, last = len(items) / sections, 0
    for section in range(1, sections):
        middle = round(section * width)
        reach = max(1, round(width / 3))
        near = range(max(last + 1, middle - reach), min(len(items), middle + reach + 1))
        last = min(near, key=lambda at: (crossing[at], abs(at - middle)))
        yield last


def _boxes(groups: list[Group], item: int) -> Iterator[int]:
    stack = [item]
    while stack:
        one = stack.pop()
        if one >= 0:
            yield one
        else:
            stack += reversed(groups[~one].items)


def _what(groups: list[Group], part: Group, boxes: Sequence[Box]) -> str:
    """Return from where to where a section goes."""
    inside = [boxes[box] for item in part.items for box in _boxes(groups, item)]
    first, last = (box.layer or box.node.name for box in (inside[0], inside[-1]))
    return f"{first} … {last}"
