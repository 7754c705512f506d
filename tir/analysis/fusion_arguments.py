"""How many arguments the kernels of fused groups take, for targets that allow few.

Counts as TVM's FuseOps does: a group takes what its nodes are given from outside of the program's
block; where it is given the result of nodes that take nothing themselves, fusion waits until those
have been looked at. Source: TVM 0.18 src/relay/analysis/graph_partitioner.cc.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Protocol


class Group(Protocol):
    """A set of nodes under construction."""

    arguments: int


@dataclass(frozen=True, slots=True)
class Given:
    """What a node is given: ``own`` arguments of a kernel, and results of the nodes ``values``.

    ``results`` are the arguments that its result takes: one, and one for each open extent.
    """

    own: int = 0
    values: tuple[int, ...] = ()
    results: int = 1


@dataclass(slots=True)
class Arguments:
    """The arguments of groups under construction, at most ``most`` each.

    ``group`` and ``root`` return the group that a node began as, and the one it is in by now.
    """

    given: Sequence[Given]
    most: int
    users: Callable[[int], list[int]]
    group: Callable[[int], Group]
    root: Callable[[int], Group]
    # Nodes to be fused when another one has been looked at.
    waiting: dict[int, list[int]] = field(default_factory=dict)
    _behind: int | None = None

    def begin(self, node: int) -> list[int]:
        """Look at ``node``, and return the nodes that waited for it and may be fused now."""
        self._behind = None
        waited = self.waiting.pop(node, [])
        return [one for one in waited if self._count(node) <= self._limit(node)]

    def allow(self, node: int) -> bool:
        """Whether the kernel of ``node`` and its users may be one, which may have to wait."""
        limit = self._limit(node)
        return limit == 0 or max((self._joined(user) for user in self.users(node)), default=0) <= limit

    def waits(self, node: int) -> bool:
        """Whether fusing ``node`` has to wait; notes it."""
        if self._behind is not None:
            self.waiting.setdefault(self._behind, []).append(node)
        return self._behind is not None

    def _limit(self, node: int) -> int:
        # TVM forgets the result of a node that nothing uses.
        writing = self.users(node) or [node]
        return max(0, self.most - sum(self.given[one].results for one in writing))

    def _joined(self, user: int) -> int:
        """Return what ``user`` takes with the groups that it is given; see what has to be looked at
        before.
        """
        total = self.group(user).arguments
        for group, _ in self._groups_given(user):
            if group.arguments == 0:
                self._behind = user
            total += group.arguments
        return total

    def _count(self, node: int) -> int:
        """Return what ``node`` takes with all that leads to it through groups that take nothing."""
        found: dict[int, int] = {}
        stack = [node]
        while stack:
            top = stack[-1]
            parts = self._groups_given(top)
            below = [value for group, value in parts if group.arguments == 0 and value not in found]
            if below:
                stack += below
                continue
            stack.pop()
            found[top] = self.group(top).arguments + sum(one.arguments or found[value] for one, value in parts)
        return found[node]

    def _groups_given(self, node: int) -> list[tuple[Group, int]]:
        """Return the other groups that give to ``node``, each with the first that does."""
        seen, found = {id(self.root(node))}, []
        for value in self.given[node].values:
            group = self.root(value)
            if id(group) not in seen:
                seen.add(id(group))
                found.append((group, value))
        return found
