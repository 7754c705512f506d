"""Where the nodes of a function belong: the innermost scope that contains all uses of a node.

A scope is a function's body, a branch of an ``if``, an arm of a ``match``, or a ``let``, its value
included. A variable is used where it is bound, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Expr, Function, If, Let, Match, children


@dataclass(frozen=True, slots=True, eq=False)
class Scope:
    """A scope.

    ``jump`` leads to a distant ancestor, so that common ancestors are found in logarithmic time.
    """

    parent: Scope | None
    jump: Scope | None
    depth: int
    function: Function

    @staticmethod
    def within(parent: Scope, function: Function) -> Scope:
        """Return a new scope inside ``parent``."""
        jump = parent.jump
        far = parent
        if jump is not None and jump.jump is not None and parent.depth - jump.depth == jump.depth - jump.jump.depth:
            far = jump.jump
        return Scope(parent, far, parent.depth + 1, function)


class Scopes:
    """The scopes of one function.

    ``home``  the scope that each node belongs to.
    ``inner``  the scopes that a construct opens: that of a ``let``, the branches of an ``if``,
        the arms of a ``match``, the body of a function.
    ``lifted``  the nodes that are used in a scope inside their own.
    ``uses``  the scopes that each node is used in.
    """

    def __init__(self, root: Function) -> None:
        outside = Scope(None, None, 0, root)
        self.home: dict[Expr, Scope] = {root: outside}
        self.inner: dict[Expr, list[Scope]] = {}
        self.lifted: set[Expr] = set()
        self.uses: dict[Expr, list[Scope]] = {}
        roots: tuple[Expr, ...] = (root,)
        # Users come before what they use, so that a node's home is final when its own parts are
        # looked at.
        for node in reversed(list(post_order(roots, children))):
            scope = self.home[node]
            for part, where in self._uses(node, scope):
                self.uses.setdefault(part, []).append(where)
                known = self.home.get(part)
                if known is None or known is where:
                    self.home[part] = where
                else:
                    self.home[part] = common(known, where)
                    self.lifted.add(part)

    def ambiguous(self) -> list[Expr]:
        """Return the nodes that are only used in scopes inside their own, so that none of these is
        where they stand.
        """
        return [node for node in self.lifted if self.home[node] not in self.uses[node]]

    def _uses(self, node: Expr, scope: Scope) -> list[tuple[Expr, Scope]]:
        """Return the parts of ``node`` with the scope each stands in."""
        function = scope.function
        match node:
            case Let(var, value, body):
                return self._opened(node, Scope.within(scope, function), (var, value, body))
            case Function(params, body):
                return self._opened(node, Scope.within(scope, node), (*params, body))
            case If(condition, then, otherwise):
                head, arms = [condition], [then, otherwise]
            case Match(data, clauses):
                head, arms = [data], [clause.rhs for clause in clauses]
            case _:
                return [(child, scope) for child in children(node)]
        opened = [Scope.within(scope, function) for _ in arms]
        self.inner[node] = opened
        return [*((one, scope) for one in head), *zip(arms, opened, strict=True)]

    def _opened(self, node: Expr, inside: Scope, parts: tuple[Expr, ...]) -> list[tuple[Expr, Scope]]:
        """Return the parts of a construct that opens one scope, its variables among them."""
        self.inner[node] = [inside]
        return [(part, inside) for part in parts]


def common(a: Scope, b: Scope) -> Scope:
    """Return the innermost scope that contains both."""
    while a is not b:
        if a.depth < b.depth:
            a, b = b, a
        # ``a`` is at least as deep as ``b`` and has to go up.
        if a.depth > b.depth:
            assert a.parent is not None
            assert a.jump is not None
            a = a.jump if a.jump.depth >= b.depth else a.parent
        elif a.jump is b.jump:
            assert a.parent is not None
            assert b.parent is not None
            a, b = a.parent, b.parent
        else:
            assert a.jump is not None
            assert b.jump is not None
            a, b = a.jump, b.jump
    return a
