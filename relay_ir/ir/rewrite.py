"""Rebuilding expressions: the one walk that passes over Relay share. It keeps a stack of its own.

Sharing survives: a node is rebuilt once, however many parents it has, and a node whose children did
not change is returned as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import lru_cache
from typing import Any

from typing_extensions import assert_never

from relay2relax.core.passes import note_rewritten
from relay2relax.core.walk import post_order
from relay2relax.ops.registry.attributes import attr_fields
from relay2relax.relay_ir.ir.expr import (
    Call,
    Clause,
    Constant,
    Constructor,
    Expr,
    Function,
    GlobalVar,
    If,
    Let,
    Match,
    Op,
    OpaqueAttrs,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    RefCreate,
    RefRead,
    RefWrite,
    Tuple,
    TupleGetItem,
    Var,
    children,
)


def nodes(*roots: Expr) -> Iterator[Expr]:
    """Yield every node reachable from ``roots`` once, each behind its sub-expressions."""
    return post_order(roots, children)


def expr_fields(cls: type) -> tuple[str, ...]:
    """Return the attributes that hold expressions (``arange`` holds its inputs once more)."""
    return _expr_fields(cls)


@lru_cache(maxsize=None)
def _expr_fields(cls: type) -> tuple[str, ...]:
    return () if cls is OpaqueAttrs else tuple(field.name for field in attr_fields(cls) if field.kind == "Expr")


def attr_operands(call: Call) -> dict[str, int]:
    """Return which attributes of ``call`` are its own arguments: the place of the argument by
    attribute.
    """
    found: dict[str, int] = {}
    cls: type = type(call.attrs)
    for name in expr_fields(cls):
        value = getattr(call.attrs, name)
        places = [place for place, arg in enumerate(call.args) if arg is value]
        if places:
            found[name] = places[0]
    return found


def with_attr_operands(attrs: Any, places: Mapping[str, int], args: Sequence[Expr]) -> Any:
    """Return ``attrs`` with the attributes ``places`` set to the arguments they are."""
    return replace(attrs, **{name: args[place] for name, place in places.items()}) if places else attrs


def with_children(expr: Expr, given: Sequence[Expr]) -> Expr:
    """Return ``expr`` with ``given`` in place of its ``children``; ``expr`` itself where none
    differs.
    """
    # Nodes are equal to themselves only; operators by name.
    if all(new == old for new, old in zip(given, children(expr), strict=True)):
        return expr
    match expr:
        case Call():
            args = tuple(given[1:])
            return replace(
                expr, op=given[0], args=args, attrs=with_attr_operands(expr.attrs, attr_operands(expr), args)
            )
        case Tuple():
            return replace(expr, fields=tuple(given))
        case TupleGetItem():
            return replace(expr, tuple_value=given[0])
        case Let():
            return replace(expr, value=given[0], body=given[1])
        case If():
            return replace(expr, condition=given[0], true_branch=given[1], false_branch=given[2])
        case Function():
            return replace(expr, body=given[0])
        case RefCreate():
            return replace(expr, value=given[0])
        case RefRead():
            return replace(expr, ref=given[0])
        case RefWrite():
            return replace(expr, ref=given[0], value=given[1])
        case Match():
            clauses = tuple(Clause(old.lhs, new) for old, new in zip(expr.clauses, given[1:], strict=True))
            return replace(expr, data=given[0], clauses=clauses)
        case Constant() | Var() | GlobalVar() | Op() | Constructor():
            return expr
    assert_never(expr)


def rewrite(root: Expr, visit: Callable[[Expr], Expr], start: Mapping[Expr, Expr] | None = None) -> Expr:
    """Return ``root`` rebuilt bottom-up: each node, its children already rebuilt, is replaced by
    ``visit(node)``.

    ``start`` says what some nodes become without being looked into.
    """
    done: dict[Expr, Expr] = dict(start or {})
    for node in post_order((root,), lambda one: () if one in done else children(one)):
        if node not in done:
            done[node] = visit(with_children(node, [done[child] for child in children(node)]))
    note_rewritten(done)
    return done[root]


def substitute(root: Expr, values: Mapping[Expr, Expr]) -> Expr:
    """Return ``root`` with variables (or any nodes) replaced; binders are left alone."""
    return rewrite(root, lambda node: node, values)


def without_lets(root: Function, values: Mapping[Expr, Expr], removed: Set[Let]) -> Function:
    """Return ``root`` with the bodies of the lets ``removed`` in their places, and with ``values``,
    rebuilt like all else, in place of nodes.
    """
    done: dict[Expr, Expr] = {}

    def below(node: Expr) -> tuple[Expr, ...]:
        if node in values:
            return (values[node],)
        return (node.body,) if isinstance(node, Let) and node in removed else tuple(children(node))

    roots: tuple[Expr, ...] = (root,)
    for node in post_order(roots, below):
        if node in values:
            done[node] = done[values[node]]
        elif isinstance(node, Let) and node in removed:
            done[node] = done[node.body]
        else:
            done[node] = with_children(node, [done[child] for child in children(node)])
    result = done[root]
    assert isinstance(result, Function)
    return result


def pattern_vars(pattern: Pattern) -> list[Var]:
    """Return the variables that a match pattern binds, from left to right."""
    found: list[Var] = []
    stack = [pattern]
    while stack:
        match stack.pop():
            case PatternVar(var):
                found.append(var)
            case PatternConstructor(_, patterns) | PatternTuple(patterns):
                stack += reversed(patterns)
    return found


def asked_constructors(expr: Expr) -> list[Constructor]:
    """Return the constructors that the patterns of a match ask for, from left to right."""
    found: list[Constructor] = []
    stack: list[Pattern] = [clause.lhs for clause in expr.clauses][::-1] if isinstance(expr, Match) else []
    while stack:
        match stack.pop():
            case PatternConstructor(constructor, patterns):
                found.append(constructor)
                stack += reversed(patterns)
            case PatternTuple(patterns):
                stack += reversed(patterns)
    return found


def binders(expr: Expr) -> Iterable[Var]:
    """Return the variables that ``expr`` itself binds."""
    match expr:
        case Let(var):
            return (var,)
        case Function(params):
            return params
        case Match(_, clauses):
            return [var for clause in clauses for var in pattern_vars(clause.lhs)]
    return ()


def free_vars(root: Expr) -> tuple[Var, ...]:
    """Return the variables of ``root`` that nothing in it binds, in order of their first use."""
    used: list[Var] = []
    bound: set[Var] = set()
    for node in nodes(root):
        bound.update(binders(node))
        if isinstance(node, Var):
            used.append(node)
    return tuple(var for var in used if var not in bound)
