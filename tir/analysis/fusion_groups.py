"""Which operators of a program are computed together, decided as TVM's FuseOps does for both IRs.

A node is fused with the node that every path from it to the outside leads through, its
post-dominator, where the kinds of all nodes between allow it: what goes into a group never has to
leave it but through the group's last node.

Three rounds: what follows a product or convolution elementwise joins it, and elementwise chains
join what they lead to; then injective nodes join the injective ones behind them; then injective
nodes join tuples that were fused already.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from relay2relax.tir.analysis.fusion_arguments import Arguments, Given
from relay2relax.tir.analysis.pattern import OpPattern

_ELEMWISE, _BROADCAST, _INJECTIVE = OpPattern.ELEMWISE, OpPattern.BROADCAST, OpPattern.INJECTIVE
_REDUCE, _ANCHOR, _TUPLE, _OPAQUE = (
    OpPattern.COMM_REDUCE,
    OpPattern.OUT_ELEMWISE_FUSABLE,
    OpPattern.TUPLE,
    OpPattern.OPAQUE,
)


@dataclass(slots=True)
class Node:
    """A value of the block: its kind, who uses it and how, whether it is seen outside of the block,
    and what it is given.
    """

    pattern: OpPattern
    users: list[tuple[int, OpPattern]] = field(default_factory=list)
    shown: bool = False
    given: Given = Given()


@dataclass(slots=True)
class _Group:
    """A set of nodes under construction; ``parent`` is the group that it has become part of."""

    pattern: OpPattern
    parent: _Group | None = None
    size: int = 1
    arguments: int = 0
    anchored: bool = False


@dataclass(slots=True)
class _Dominator:
    """The node that everything made of a node passes through, and the hardest use on the way
    there.
    """

    parent: int | None
    depth: int
    pattern: OpPattern


def groups_of(nodes: Sequence[Node], most: int, most_arguments: int = 0) -> list[int]:
    """Return for every node the number of its group: that of its last node.

    ``nodes`` are in order, every user behind what it uses; a group has at most ``most`` nodes, and
    its kernel ``most_arguments`` arguments (0: any number).
    """
    partition = _Partition(nodes, most, most_arguments)
    for phase in range(3):
        partition.round(phase)
    last = {id(partition.root(index)): index for index in range(len(nodes))}
    return [last[id(partition.root(index))] for index in range(len(nodes))]


class _Partition:
    def __init__(self, nodes: Sequence[Node], most: int, most_arguments: int) -> None:
        self.nodes = nodes
        self.most = most
        self.groups = [
            _Group(node.pattern, arguments=node.given.own, anchored=node.pattern is _ANCHOR) for node in nodes
        ]
        self.dominators = _dominators(nodes)
        self.arguments = self._arguments(most_arguments) if most_arguments else None

    def _arguments(self, most: int) -> Arguments:
        def users(index: int) -> list[int]:
            return [user for user, _ in self.nodes[index].users]

        return Arguments([node.given for node in self.nodes], most, users, self.groups.__getitem__, self.root)

    def root(self, index: int) -> _Group:
        group = self.groups[index]
        while group.parent is not None:
            if group.parent.parent is not None:
                group.parent = group.parent.parent
            group = group.parent
        return group

    def round(self, phase: int) -> None:
        for index, dominator in enumerate(self.dominators):
            group, sink = self.groups[index], dominator.parent
            if self.arguments is not None:
                self._waited(self.arguments.begin(index))
            if group.pattern is _OPAQUE or sink is None:
                continue
            if self.arguments is not None and not self.arguments.allow(index):
                continue
            target = self.groups[sink]
            if phase == 2:
                joined = target.pattern is _TUPLE and self.root(sink).pattern <= _INJECTIVE
                if group.pattern <= _INJECTIVE and joined:
                    self.fuse(index, sink, _up_to_injective)
                continue
            if self.root(index) is self.root(sink) or target.pattern is _TUPLE:
                continue
            if group.pattern is _ANCHOR:
                if phase == 0 and dominator.pattern is _ELEMWISE:
                    self.fuse(index, sink, lambda kind, end: kind <= _BROADCAST)
            elif group.pattern <= _BROADCAST:
                if dominator.pattern <= _INJECTIVE or dominator.pattern is _REDUCE:
                    self.fuse(index, sink, lambda kind, end: kind <= (_ANCHOR if end else _INJECTIVE))
            elif group.pattern in (_INJECTIVE, _TUPLE) and phase == 1:
                self.fuse(index, sink, _up_to_injective)

    def _waited(self, sources: Sequence[int]) -> None:
        for source in sources:
            sink = self.dominators[source].parent
            if sink is not None and not self.groups[sink].anchored:
                self.fuse(source, sink, lambda kind, end: True)

    def fuse(self, source: int, sink: int, allowed: Callable[[OpPattern, bool], bool]) -> None:
        """Let all nodes on the paths from ``source`` to ``sink`` be one group, if their kinds and
        number allow it.
        """
        between: set[int] = set()
        stack = [user for user, _ in self.nodes[source].users]
        while stack:
            index = stack.pop()
            if index in between:
                continue
            between.add(index)
            if not allowed(self.root(index).pattern, index == sink):
                return
            if index != sink:
                stack += [user for user, _ in self.nodes[index].users]
        joining = {id(group): group for group in (self.root(index) for index in (*between, source))}
        if sum(group.size for group in joining.values()) > self.most:
            return
        if self.arguments is not None and self.arguments.waits(source):
            return
        target = self.root(sink)
        for group in joining.values():
            if group is not target:
                group.parent = target
                target.size += group.size
                target.arguments += group.arguments
                target.anchored |= group.anchored
                if group.pattern is _ANCHOR:
                    target.pattern = max(group.pattern, target.pattern)


def _up_to_injective(kind: OpPattern, end: bool) -> bool:
    return kind <= _INJECTIVE


def _dominators(nodes: Sequence[Node]) -> list[_Dominator]:
    found: dict[int, _Dominator] = {}
    for index in range(len(nodes) - 1, -1, -1):
        node = nodes[index]
        parent: int | None = None
        pattern = _OPAQUE
        if not node.shown and node.users:
            parent, pattern = node.users[0]
            for user, kind in node.users[1:]:
                pattern = max(pattern, kind)
                while parent is not None and parent != user:
                    # The one that lies deeper goes up, both where they lie equally deep.
                    first, second = found[parent], found[user]
                    if first.depth >= second.depth:
                        parent, pattern = first.parent, max(pattern, first.pattern)
                    if second.depth >= first.depth:
                        pattern = max(pattern, second.pattern)
                        if second.parent is None:
                            parent = None
                            break
                        user = second.parent
        depth = found[parent].depth + 1 if parent is not None else 1
        found[index] = _Dominator(parent, depth, pattern)
    return [found[index] for index in range(len(nodes))]
