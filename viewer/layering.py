"""The graph in layers, laid out group by group, after Sugiyama.

What stands in a group gets a layer, below all that it takes, and a place in that layer, such that
few edges cross. Edges over several layers hold places in all of them. The page only makes
coordinates of this, when groups are folded and unfolded (``page/place.js``).
"""

from __future__ import annotations

from bisect import bisect_right, insort
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TypeAlias, Union

from relay2relax.viewer.drawing import Edge
from relay2relax.viewer.grouping import Group, Grouping

# An edge over more layers is drawn as its two ends: as a line it would be as long as the picture.
FAR = 24
_SWEEPS = 6

# Kinds of items in layers: a box, a group, where a value comes into the group, where one goes out
# of it, and an edge on its way.
BOX, GROUP, INTO, OUT, BEND = range(5)


@dataclass(slots=True, eq=False)
class Chain:
    """An edge between two items of a group: through ``bends``, for the values of the boxes
    ``values``.
    """

    source: int
    target: int
    values: list[int]
    bends: list[int] = field(default_factory=list)
    far: bool = False


@dataclass(slots=True, eq=False)
class Layers:
    """What stands in a group: items (kind, number), their layers from above to below, and the edges
    between them.
    """

    items: list[tuple[int, int]] = field(default_factory=list)
    layers: list[list[int]] = field(default_factory=list)
    chains: list[Chain] = field(default_factory=list)


def layers_of(grouping: Grouping, edges: Sequence[Edge], boxes: int) -> list[Layers]:
    """Return the layers of every group."""
    lifted = _lifted(grouping, edges, boxes)
    return [_layered(group, found) for group, found in zip(grouping.groups, lifted, strict=True)]


# Of one group: the values that go from an item to another; items are boxes, ~groups, or the pair of
# INTO or OUT and the box whose value it is.
_Item: TypeAlias = Union[int, tuple[int, int]]
_Lifted: TypeAlias = dict[tuple[_Item, _Item], list[int]]


def _lifted(grouping: Grouping, edges: Sequence[Edge], boxes: int) -> list[_Lifted]:
    """Return the edges as they stand in each group that they pass."""
    found: list[_Lifted] = [{} for _ in grouping.groups]
    homes = grouping.homes(boxes)
    groups = grouping.groups
    seen: set[tuple[int, _Item, _Item, int]] = set()

    def add(group: int, source: _Item, target: _Item, value: int) -> None:
        if (group, source, target, value) not in seen:
            seen.add((group, source, target, value))
            found[group].setdefault((source, target), []).append(value)

    for edge in edges:
        value = edge.source
        above, below = _way(groups, homes[edge.source]), _way(groups, homes[edge.target])
        while len(above) > 1 and len(below) > 1 and above[-2] == below[-2]:
            above.pop()
            below.pop()
        source: _Item = edge.source
        for group in above[:-1]:
            add(group, source, (OUT, value), value)
            source = ~group
        target: _Item = edge.target
        for group in below[:-1]:
            add(group, (INTO, value), target, value)
            target = ~group
        if source != target:
            add(above[-1], source, target, value)
    return found


def _way(groups: Sequence[Group], group: int) -> list[int]:
    """Return a group and those around it, the whole last."""
    way = [group]
    while groups[way[-1]].parent >= 0:
        way.append(groups[way[-1]].parent)
    return way


def _layered(group: Group, lifted: _Lifted) -> Layers:
    made, at = Layers(), {}

    def number(item: _Item) -> int:
        if item not in at:
            at[item] = len(made.items)
            made.items.append(item if isinstance(item, tuple) else (BOX, item) if item >= 0 else (GROUP, ~item))
        return at[item]

    for item in group.items:
        number(item)
    for (source, target), values in lifted.items():
        made.chains.append(Chain(number(source), number(target), values))
    level = _levels(made)
    made.layers = [[] for _ in range(max(level, default=-1) + 1)]
    for item, layer in enumerate(level):
        made.layers[layer].append(item)
    for chain in made.chains:
        begin, end = level[chain.source] + 1, level[chain.target]
        chain.far = end - begin > FAR
        for layer in () if chain.far else range(begin, end):
            chain.bends.append(len(made.items))
            made.layers[layer].append(len(made.items))
            made.items.append((BEND, chain.values[0]))
    _order(made)
    return made


def _levels(made: Layers) -> list[int]:
    """Return the layer of each item: below what it takes; one that takes nothing stands right above
    the first that takes it, what comes in above all, what goes out below all.
    """
    count = len(made.items)
    above: list[list[int]] = [[] for _ in range(count)]
    below: list[list[int]] = [[] for _ in range(count)]
    for chain in made.chains:
        above[chain.target].append(chain.source)
        below[chain.source].append(chain.target)
    # Boxes and groups come in an order in which operands are first.
    order = sorted(range(count), key=lambda item: {INTO: 0, OUT: 2}.get(made.items[item][0], 1))
    first = int(any(kind == INTO for kind, _ in made.items))
    level = [0] * count
    for item in order:
        if made.items[item][0] != INTO:
            level[item] = max((level[one] + 1 for one in above[item]), default=first)
    for item in reversed(order):
        if not above[item] and below[item] and made.items[item][0] != INTO:
            level[item] = min(level[one] for one in below[item]) - 1
    last = max((level[item] for item in range(count) if made.items[item][0] != OUT), default=0)
    for item in range(count):
        if made.items[item][0] == OUT:
            level[item] = last + 1
    return level


def _order(made: Layers) -> None:
    """Order the items of each layer by the middle of what they are connected with, downwards and
    upwards in turn; the order with the fewest crossings stays.
    """
    if all(len(layer) < 2 for layer in made.layers):
        return
    above: list[list[int]] = [[] for _ in made.items]
    below: list[list[int]] = [[] for _ in made.items]
    for chain in made.chains:
        if not chain.far:
            way = [chain.source, *chain.bends, chain.target]
            for one, other in pairwise(way):
                above[other].append(one)
                below[one].append(other)
    place = [0] * len(made.items)
    for layer in made.layers:
        for at, item in enumerate(layer):
            place[item] = at
    best, fewest = made.layers, _crossings(made.layers, above, place)
    for sweep in range(_SWEEPS):
        if not fewest:
            break
        downwards = sweep % 2 == 0
        layers = [list(layer) for layer in made.layers]
        near = above if downwards else below
        for layer in layers if downwards else reversed(layers):
            wanted = {item: _middle(near[item], place, place[item]) for item in layer}
            layer.sort(key=wanted.__getitem__)
            for at, item in enumerate(layer):
                place[item] = at
        made.layers = layers
        crossings = _crossings(layers, above, place)
        if crossings < fewest:
            best, fewest = layers, crossings
    made.layers = best


def _middle(near: Sequence[int], place: Sequence[int], own: int) -> float:
    return sum(place[one] for one in near) / len(near) if near else own


def _crossings(layers: Sequence[Sequence[int]], above: Sequence[Sequence[int]], place: Sequence[int]) -> int:
    """Return how many edges between neighbouring layers cross."""
    return sum(_inversions(_ends(layer, above, place)) for layer in layers if len(layer) > 1)


def _ends(layer: Sequence[int], above: Sequence[Sequence[int]], place: Sequence[int]) -> Iterator[int]:
    for item in layer:
        yield from sorted(place[one] for one in above[item])


def _inversions(numbers: Iterator[int]) -> int:
    """Return how many pairs of numbers stand in the wrong order."""
    found, before = 0, list[int]()
    for number in numbers:
        found += len(before) - bisect_right(before, number)
        insort(before, number)
    return found
