"""Which graph each expression belongs to.

Relay in graph form shares nodes also across function literals, branches and clauses. A node is
evaluated in the innermost of them that contains all its uses; one that uses a node of an outer one
captures it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from relay2relax.relay_ir.ir.expr import Expr, Function, If, Let, Match, Op, Var, children
from relay2relax.relay_ir.ir.rewrite import pattern_vars


@dataclass(eq=False)
class Scope:
    """A function, a branch or a clause: part ``arm`` of ``construct``.

    ``members`` are the expressions evaluated in it, operands first; ``captured`` is what it takes
    from around itself.
    """

    construct: Expr
    arm: int
    params: tuple[Var, ...]
    body: Expr
    parent: Scope | None = None
    members: list[Expr] = field(default_factory=list)
    captured: dict[Expr, None] = field(default_factory=dict)
    depth: int = 0


def scopes_of(root: Function, order: Sequence[Expr]) -> list[Scope]:
    """Return the scope of ``root`` and those inside it, outer ones first.

    ``order`` holds every node of ``root``, operands first.
    """
    outermost = Scope(root, 0, root.params, root.body)
    arms: dict[Expr, tuple[Scope, ...]] = {root: (outermost,)}
    home: dict[Expr, Scope] = dict.fromkeys(root.params, outermost)
    # Users come before operands, so a node's scope is settled when its own operands are looked at.
    for node in reversed(order):
        here = outermost if node is root else home[node]
        if node is not root and isinstance(node, (Function, If, Match)):
            arms[node] = _open(node, here)
            home.update((param, arm) for arm in arms[node] for param in arm.params)
        elif isinstance(node, Let):
            home[node.var] = here
        inside = [(child, here) for child in evaluated(node)]
        inside += [(arm.body, arm) for arm in arms.get(node, ())]
        for child, scope in inside:
            if isinstance(child, Op):
                home[child] = outermost
            elif isinstance(child, Var):
                home.setdefault(child, outermost)
            else:
                home[child] = _common(home[child], scope) if child in home else scope
    scopes = [scope for every in arms.values() for scope in every]
    for node in order:
        if node is root or isinstance(node, (Op, Var)):
            continue
        home[node].members.append(node)
        for child in evaluated(node):
            _capture(child, home[node], home)
    for scope in scopes:
        _capture(scope.body, scope, home)
    return sorted(scopes, key=lambda scope: scope.depth)


def evaluated(node: Expr) -> Sequence[Expr]:
    """Return the sub-expressions that are evaluated where ``node`` is: no bodies, branches and
    clauses.
    """
    match node:
        case Function():
            return ()
        case If(condition):
            return (condition,)
        case Match(data):
            return (data,)
    return children(node)


def _open(node: Function | If | Match, parent: Scope) -> tuple[Scope, ...]:
    """Return the scopes that ``node`` opens."""
    parts: list[tuple[tuple[Var, ...], Expr]]
    match node:
        case Function(params, body):
            parts = [(params, body)]
        case If(_, then, otherwise):
            parts = [((), then), ((), otherwise)]
        case Match(_, clauses):
            parts = [(tuple(pattern_vars(clause.lhs)), clause.rhs) for clause in clauses]
    return tuple(
        Scope(node, arm, params, body, parent, depth=parent.depth + 1) for arm, (params, body) in enumerate(parts)
    )


def _common(one: Scope, other: Scope) -> Scope:
    while one is not other:
        if one.depth >= other.depth:
            assert one.parent is not None
            one = one.parent
        else:
            assert other.parent is not None
            other = other.parent
    return one


def _capture(node: Expr, user: Scope, home: Mapping[Expr, Scope]) -> None:
    """Note that every scope from ``user`` outwards to the home of ``node`` takes it in."""
    if isinstance(node, Op):
        return
    scope = user
    while scope is not home[node] and node not in scope.captured:
        scope.captured[node] = None
        assert scope.parent is not None
        scope = scope.parent
