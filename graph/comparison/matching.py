"""Which nodes of two graphs are the same.

Nodes are the same where all that they are computed of is (from above), or all that is computed of
them (from below), or where they stand beside nodes that are the same. Names only decide between
nodes that nothing else tells apart. Every step takes time in proportion to the size of the graphs.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Hashable, Iterable, Sequence
from difflib import SequenceMatcher

from relay2relax.graph.comparison.labels import Label, is_leaf, operator
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import MSCGraph

# What is left in two graphs is aligned in the order of nodes, if it is no more than this: that
# takes the square of their number.
_MOST_ALIGNED = 1000

# Where more nodes take one value, which of them replaces another is not asked.
_MOST_BESIDE = 32


def matched(a: MSCGraph, b: MSCGraph, labels: Sequence[Label], values: bool = False) -> dict[str, str]:
    """Return the nodes of ``b`` that those of ``a`` are, by name, in the order of ``a``.

    ``labels`` say what has to be alike, the strictest first; with ``values`` that one knows the
    values of weights, by which constants are found.
    """
    found = _Matching(a, b)
    found.inputs()
    for step, label in enumerate((*labels, operator)):
        mine, theirs = _by_name(a, label), _by_name(b, label)
        found.from_above(mine, theirs)
        found.anchors(mine, theirs, constants=values and step == 0)
        found.spread(mine, theirs)
        found.from_below(mine, theirs)
        found.spread(mine, theirs)
    mine, theirs = _by_name(a, operator), _by_name(b, operator)
    found.aligned(mine, theirs)
    found.spread(mine, theirs)
    found.replaced()
    return {node.name: found.pairs[node.name] for node in a.nodes if node.name in found.pairs}


def _by_name(graph: MSCGraph, label: Label) -> dict[str, Hashable]:
    return {node.name: label(graph, node) for node in graph.nodes}


class _Matching:
    """The pairs so far, both ways."""

    def __init__(self, a: MSCGraph, b: MSCGraph) -> None:
        self.a, self.b = a, b
        self.uses = {a: _uses(a), b: _uses(b)}
        self.pairs: dict[str, str] = {}
        self.back: dict[str, str] = {}
        self.waiting: deque[tuple[str, str]] = deque()

    def pair(self, one: str, two: str) -> None:
        self.pairs[one], self.back[two] = two, one
        self.waiting.append((one, two))

    def pair_all(self, ones: Iterable[str], twos: Iterable[str]) -> None:
        """Pair nodes that nothing tells apart: those of one name, then the others in order."""
        mine, theirs = list(ones), list(twos)
        both = set(mine) & set(theirs)
        for name in mine:
            if name in both:
                self.pair(name, name)
        for one, two in zip((x for x in mine if x not in both), (x for x in theirs if x not in both), strict=False):
            self.pair(one, two)

    def fits(self, one: str, two: str) -> bool:
        """Whether no operand of a node is paired with another one than the other node has there."""
        operands = zip(self.a.find_node(one).operands, self.b.find_node(two).operands, strict=False)
        return all(self.pairs.get(p, q) == q and self.back.get(q, p) == p for p, q in operands)

    def inputs(self) -> None:
        """Pair inputs of one name, then parameters and captured inputs by their places."""
        for mine, theirs in ((self.a.params, self.b.params), (self.a.captured, self.b.captured)):
            both = set(mine) & set(theirs)
            for name in (one for one in mine if one in both):
                self.pair(name, name)
            rest = [one for one in mine if one not in both], [one for one in theirs if one not in both]
            if len(rest[0]) == len(rest[1]):
                self.pair_all(*rest)

    def anchors(self, mine: dict[str, Hashable], theirs: dict[str, Hashable], constants: bool) -> None:
        """Pair nodes whose labels stand once in each graph."""
        ones, twos = self.left(self.a, self.pairs, constants), self.left(self.b, self.back, constants)
        counts = Counter(mine[one] for one in ones), Counter(theirs[two] for two in twos)
        places = {theirs[two]: two for two in twos}
        for one in ones:
            if counts[0][mine[one]] == counts[1][mine[one]] == 1:
                self.pair(one, places[mine[one]])

    def left(self, graph: MSCGraph, taken: dict[str, str], constants: bool = False) -> list[str]:
        free = (node for node in graph.nodes if node.name not in taken)
        return [node.name for node in free if not is_leaf(node) or (constants and node.kind is NodeKind.CONSTANT)]

    def from_above(self, mine: dict[str, Hashable], theirs: dict[str, Hashable]) -> None:
        """Pair nodes that are computed alike, of what is paired."""
        numbers: dict[Hashable, int] = {}
        keys = [
            _above(graph, labels, taken, numbers)
            for graph, labels, taken in ((self.a, mine, {one: one for one in self.pairs}), (self.b, theirs, self.back))
        ]
        self.buckets(*keys)

    def from_below(self, mine: dict[str, Hashable], theirs: dict[str, Hashable]) -> None:
        """Pair nodes of which the same is computed, up to what is paired."""
        numbers: dict[Hashable, int] = {}
        keys = [
            _below(graph, self.uses[graph], labels, taken, numbers)
            for graph, labels, taken in ((self.a, mine, {one: one for one in self.pairs}), (self.b, theirs, self.back))
        ]
        self.buckets(*keys)

    def buckets(self, mine: dict[str, int], theirs: dict[str, int]) -> None:
        """Pair nodes with equal keys that are left."""
        known: dict[int, list[str]] = {}
        for two in self.left(self.b, self.back):
            known.setdefault(theirs[two], []).append(two)
        wanted: dict[int, list[str]] = {}
        for one in self.left(self.a, self.pairs):
            if mine[one] in known:
                wanted.setdefault(mine[one], []).append(one)
        for key, ones in wanted.items():
            self.pair_all(ones, known[key])

    def spread(self, mine: dict[str, Hashable], theirs: dict[str, Hashable]) -> None:
        """Pair what stands at the same place beside pairs, operands first."""
        self.waiting = deque(self.pairs.items())
        while self.waiting:
            one, two = self.waiting.popleft()
            x, y = self.a.find_node(one), self.b.find_node(two)
            for p, q in zip(x.operands, y.operands, strict=False):
                if self.is_open(p, q) and mine[p] == theirs[q]:
                    self.pair(p, q)
            users = self.users(self.a, one, self.pairs, mine), self.users(self.b, two, self.back, theirs)
            for key, ones in users[0].items():
                mates = [name for name in dict.fromkeys(users[1].get(key, ())) if name not in self.back]
                left = [name for name in dict.fromkeys(ones) if name not in self.pairs]
                if len(left) == len(mates) and all(map(self.fits, left, mates)):
                    self.pair_all(left, mates)

    def users(
        self, graph: MSCGraph, name: str, taken: dict[str, str], labels: dict[str, Hashable]
    ) -> dict[Hashable, list[str]]:
        """Return the users of a node that are left, by their labels and where they take it."""
        found: dict[Hashable, list[str]] = {}
        for child, place in self.uses[graph].get(name, ()):
            if child not in taken and not is_leaf(graph.find_node(child)):
                found.setdefault((labels[child], place), []).append(child)
        return found

    def is_open(self, one: str, two: str) -> bool:
        """Whether two nodes may still be paired; operands may be weights, which are no nodes."""
        known = self.a.has_node(one) and self.b.has_node(two)
        return known and one not in self.pairs and two not in self.back

    def aligned(self, mine: dict[str, Hashable], theirs: dict[str, Hashable]) -> None:
        """Pair what is left and alike, in the order of nodes."""
        ones, twos = self.left(self.a, self.pairs), self.left(self.b, self.back)
        if max(len(ones), len(twos)) > _MOST_ALIGNED:
            return
        before, after = [mine[one] for one in ones], [theirs[two] for two in twos]
        for start, other, size in SequenceMatcher(None, before, after, autojunk=False).get_matching_blocks():
            for place in range(size):
                self.pair(ones[start + place], twos[other + place])

    def replaced(self) -> None:
        """Pair nodes of other operators that stand between the same nodes, then constants of other
        types.
        """
        for node in self.a.nodes:
            if node.name in self.pairs or is_leaf(node):
                continue
            parents = [self.pairs.get(one) for one in node.parents]
            beside = self.b.children(parents[0]) if parents and parents[0] is not None else ()
            if len(beside) > _MOST_BESIDE:
                continue
            users = {self.pairs.get(child.name) for child in self.a.children(node.name)}
            for other in beside:
                theirs = {child.name for child in self.b.children(other.name)}
                if other.name not in self.back and list(other.parents) == parents and users == theirs:
                    self.pair(node.name, other.name)
                    break
        for one, two in list(self.pairs.items()):
            x, y = self.a.find_node(one), self.b.find_node(two)
            for p, q in zip(x.operands, y.operands, strict=False):
                if self.is_open(p, q) and is_leaf(self.a.find_node(p)) and is_leaf(self.b.find_node(q)):
                    self.pair(p, q)


def _uses(graph: MSCGraph) -> dict[str, list[tuple[str, int]]]:
    """Return where each node is taken: users, and the places among their operands."""
    found: dict[str, list[tuple[str, int]]] = {}
    for node in graph.nodes:
        for place, operand in enumerate(node.operands):
            found.setdefault(operand, []).append((node.name, place))
    return found


def _above(
    graph: MSCGraph, labels: dict[str, Hashable], taken: dict[str, str], numbers: dict[Hashable, int]
) -> dict[str, int]:
    """Return a number for each node that says how it is computed; ``taken`` nodes have a name in
    both graphs.
    """
    found: dict[str, int] = {}
    for node in graph.nodes:
        key: Hashable = taken.get(node.name)
        if key is None:
            key = labels[node.name], tuple(found.get(one, -1) for one in node.operands)
        found[node.name] = numbers.setdefault(key, len(numbers))
    return found


def _below(
    graph: MSCGraph,
    uses: dict[str, list[tuple[str, int]]],
    labels: dict[str, Hashable],
    taken: dict[str, str],
    numbers: dict[Hashable, int],
) -> dict[str, int]:
    """Return a number for each node that says what is computed of it."""
    found: dict[str, int] = {}
    for node in reversed(graph.nodes):
        key: Hashable = taken.get(node.name)
        if key is None:
            below = sorted((found[child], place) for child, place in uses.get(node.name, ()))
            key = labels[node.name], tuple(below), node.name == graph.result
        found[node.name] = numbers.setdefault(key, len(numbers))
    return found
