"""Programs in A-normal form as blocks: a chain of lets, and the value behind it."""

from __future__ import annotations

from collections.abc import Sequence

from relay2relax.relay_ir.ir.expr import Expr, If, Let, Match


def lets(body: Expr) -> list[Let]:
    """Return the lets that a block begins with."""
    found = []
    while isinstance(body, Let):
        found.append(body)
        body = body.body
    return found


def blocks(expr: Expr) -> Sequence[Expr]:
    """Return the blocks inside of an expression in A-normal form."""
    match expr:
        case If(_, then, otherwise):
            return (then, otherwise)
        case Match(_, clauses):
            return [clause.rhs for clause in clauses]
    return ()
