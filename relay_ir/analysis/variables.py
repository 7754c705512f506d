"""The variables of an expression, in the order in which a reader of its text meets them."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.relay_ir.ir.expr import (
    Expr,
    Function,
    Let,
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
    Var,
    children,
)
from relay2relax.relay_ir.ir.rewrite import pattern_vars


def all_vars(expr: Expr) -> list[Var]:
    """Return every variable that ``expr`` uses or binds, once each."""
    return list(dict.fromkeys(var for var, _ in _meetings(expr)))


def bound_vars(expr: Expr | Pattern) -> list[Var]:
    """Return the variables that ``expr`` or a pattern binds, once each."""
    if isinstance(expr, (PatternConstructor, PatternTuple, PatternVar, PatternWildcard)):
        return list(dict.fromkeys(pattern_vars(expr)))
    return list(dict.fromkeys(var for var, binds in _meetings(expr) if binds))


def free_vars(expr: Expr) -> list[Var]:
    """Return the variables that ``expr`` uses and does not bind anywhere, once each."""
    bound = set(bound_vars(expr))
    return [var for var in all_vars(expr) if var not in bound]


def _meetings(root: Expr) -> Iterator[tuple[Var, bool]]:
    """Yield each variable with whether it is bound there; shared nodes are entered once."""
    seen: set[Expr] = set()
    # What is still to be met, the next last: an expression, or the variables bound at that place.
    ahead: list[Expr | list[Var]] = [root]
    while ahead:
        match ahead.pop():
            case list() as binders:
                yield from ((var, True) for var in binders)
            case Var() as var:
                yield var, False
            case node if node not in seen:
                seen.add(node)
                ahead.extend(reversed(_parts(node)))


def _parts(expr: Expr) -> list[Expr | list[Var]]:
    match expr:
        case Function(params, body):
            return [list(params), body]
        case Let(var, value, body):
            return [[var], value, body]
        case Match(data, clauses):
            arms = [part for clause in clauses for part in (list(pattern_vars(clause.lhs)), clause.rhs)]
            return [data, *arms]
    return list(children(expr))
