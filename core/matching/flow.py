"""Where values of a program go: who uses a node, and where all its uses come together."""

from __future__ import annotations

from collections.abc import Hashable

from relay2relax.core.matching.view import View


class Flow:
    """The uses of the nodes of a program.

    A node's parent is the nearest node that all values made of it flow through; None where there is
    none. Parents form a tree, whose root is the program. Each node also knows a farther ancestor,
    so that a common one of two nodes is found in steps that are few even in a long chain.
    """

    def __init__(self, program: View) -> None:
        self.order = program.order()
        self.index = {node: index for index, node in enumerate(self.order)}
        self.users: dict[Hashable, list[Hashable]] = {node: [] for node in self.order}
        for node, user in program.flows():
            self.users[node].append(user)
        self._parent: dict[Hashable, Hashable | None] | None = None
        self._depth: dict[Hashable, int] = {}
        self._farther: dict[Hashable, Hashable] = {}

    def dominates(self, node: Hashable, other: Hashable) -> bool:
        """Whether all values made of ``other`` flow through ``node``, another node."""
        self._find_parents()
        if node not in self._depth or other not in self._depth:
            return False
        return node is not other and self._climb(other, self._depth[node]) == node

    def _find_parents(self) -> None:
        if self._parent is not None:
            return
        self._parent = {}
        for node in reversed(self.order):
            users = self.users[node]
            parent: Hashable | None = users[0] if users else None
            for user in users[1:]:
                if parent is None:
                    break
                parent = self._common(parent, user)
            self._add(node, parent)

    def _add(self, node: Hashable, parent: Hashable | None) -> None:
        assert self._parent is not None
        self._parent[node] = parent
        if parent is None:
            self._depth[node], self._farther[node] = 0, node
            return
        depth, farther = self._depth, self._farther
        depth[node] = depth[parent] + 1
        # Two equal jumps in a row are joined to one that is as long as both, and one step more.
        first = farther[parent]
        second = farther[first]
        equal = depth[parent] - depth[first] == depth[first] - depth[second]
        farther[node] = second if equal else parent

    def _climb(self, node: Hashable, depth: int) -> Hashable:
        """Return the ancestor of ``node`` at ``depth``, ``node`` itself where it is not deeper."""
        assert self._parent is not None
        while self._depth[node] > depth:
            far = self._farther[node]
            if self._depth[far] >= depth:
                node = far
            else:
                above = self._parent[node]
                assert above is not None
                node = above
        return node

    def _common(self, one: Hashable, other: Hashable) -> Hashable | None:
        """Return the nearest node that is an ancestor of both, or one of them."""
        assert self._parent is not None
        depth = min(self._depth[one], self._depth[other])
        one, other = self._climb(one, depth), self._climb(other, depth)
        while one != other:
            if self._farther[one] != self._farther[other]:
                one, other = self._farther[one], self._farther[other]
                continue
            above, beside = self._parent[one], self._parent[other]
            if above is None or beside is None:
                return None
            one, other = above, beside
        return one
