"""Where a shared node of a Relay function is computed.

A node is computed once per activation of the innermost function body, branch or match arm that
contains all its uses, before the first construct there that needs it. The continuation of a ``let``
needs no scope of its own: what is used only there is reached after the ``let`` has bound its
variable.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import (
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Match,
    Op,
    Var,
    children,
)


@dataclass(frozen=True, slots=True, eq=False)
class _Scope:
    """A body, branch or arm; ``owner`` is the construct that it belongs to."""

    parent: _Scope | None
    owner: Expr
    depth: int


def hoisted_nodes(function: Function) -> dict[Expr, list[Expr]]:
    """Return, for constructs with inner scopes, the shared nodes to be computed before them, in
    order.

    These are the nodes that an inner scope of the construct uses although they belong to the scope
    that the construct itself stands in.
    """
    order = [node for node in post_order((function.body,), children) if not _is_atom(node)]
    if not any(isinstance(node, (If, Match, Function)) for node in order):
        return {}
    root = _Scope(None, function, 0)
    scopes: dict[Expr, _Scope] = {function.body: root}
    uses: dict[Expr, list[_Scope]] = {}
    # Users come before what they use, so that a node's scope is final when its own uses are looked
    # at.
    for node in reversed(order):
        scope = scopes[node]
        for child, inner in _uses(node, scope):
            if _is_atom(child):
                continue
            known = scopes.get(child)
            scopes[child] = inner if known is None else _common(known, inner)
            if known is not None or inner is not scope:
                uses.setdefault(child, [known] if known is not None else []).append(inner)
    hoisted: dict[Expr, list[Expr]] = {}
    for node in order:
        home = scopes[node]
        constructs: dict[Expr, None] = {}
        for use in uses.get(node, ()):
            below = use
            while below is not home:
                assert below.parent is not None
                if below.parent is home:
                    constructs[below.owner] = None
                below = below.parent
        for construct in constructs:
            hoisted.setdefault(construct, []).append(node)
    return hoisted


def _uses(node: Expr, scope: _Scope) -> list[tuple[Expr, _Scope]]:
    """Return the children of ``node`` with the scope each is used in."""
    match node:
        case If(condition, then, otherwise):
            arms: tuple[Expr, ...] = (then, otherwise)
            head: tuple[Expr, ...] = (condition,)
        case Match(data, clauses):
            arms, head = tuple(clause.rhs for clause in clauses), (data,)
        case Function(_, body):
            arms, head = (body,), ()
        case _:
            return [(child, scope) for child in children(node)]
    return [*((one, scope) for one in head), *((arm, _Scope(scope, node, scope.depth + 1)) for arm in arms)]


def _common(a: _Scope, b: _Scope) -> _Scope:
    while a is not b:
        if a.depth >= b.depth:
            assert a.parent is not None
            a = a.parent
        else:
            assert b.parent is not None
            b = b.parent
    return a


def _is_atom(expr: Expr) -> bool:
    return isinstance(expr, (Constant, Var, GlobalVar, Op, Constructor))
