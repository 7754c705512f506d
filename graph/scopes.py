"""Which function each expression of a graph belongs to.

Relay in graph form shares nodes also across function literals. A node is evaluated in the innermost function
that contains all its uses; a function that uses a node of an outer one captures it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relay2relax.relay_ir.expr import Expr, Function, Op, Var, children


@dataclass(eq=False)
class Scope:
    """A function, the expressions evaluated in it (operands first), and what it takes from around itself."""

    function: Function
    parent: Scope | None = None
    members: list[Expr] = field(default_factory=list)
    captured: dict[Expr, None] = field(default_factory=dict)
    depth: int = 0


def scopes_of(root: Function, order: Sequence[Expr]) -> list[Scope]:
    """Return the scope of ``root`` and those of its function literals, outer ones first.

    ``order`` holds every node of ``root``, operands first.
    """
    outermost = Scope(root)
    scopes: dict[Expr, Scope] = {root: outermost}
    home: dict[Expr, Scope] = {}
    # Users come before operands, so a node's scope is settled when its own operands are looked at.
    for node in reversed(order):
        if isinstance(node, Function):
            if node not in scopes:
                parent = home[node]
                scopes[node] = Scope(node, parent, depth=parent.depth + 1)
            home.update((param, scopes[node]) for param in node.params)
            inside = scopes[node]
        else:
            inside = home[node]
        for child in children(node):
            if not isinstance(child, (Op, Var)):
                home[child] = _common(home[child], inside) if child in home else inside
            elif isinstance(child, Op):
                home[child] = outermost
            else:
                home.setdefault(child, outermost)
    for node in order:
        if node is root or isinstance(node, (Op, Var)):
            continue
        home[node].members.append(node)
        for child in operands(node):
            _capture(child, home[node], home)
    for node in order:
        if isinstance(node, Function):
            _capture(node.body, scopes[node], home)
    return sorted(scopes.values(), key=lambda scope: scope.depth)


def operands(node: Expr) -> Sequence[Expr]:
    """Return the operands of ``node`` that are evaluated where it is; a function's body is not among them."""
    return () if isinstance(node, Function) else children(node)


def _common(one: Scope, other: Scope) -> Scope:
    while one is not other:
        if one.depth >= other.depth:
            assert one.parent is not None
            one = one.parent
        else:
            assert other.parent is not None
            other = other.parent
    return one


def _capture(node: Expr, user: Scope, home: dict[Expr, Scope]) -> None:
    """Note that every function from ``user`` outwards to the home of ``node`` takes it in."""
    if isinstance(node, Op):
        return
    scope = user
    while scope is not home[node] and node not in scope.captured:
        scope.captured[node] = None
        assert scope.parent is not None
        scope = scope.parent
