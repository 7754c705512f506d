"""Sums of products: the canonical form's data, and the arithmetic on it.

A sum maps products of atoms to integer coefficients; a product is a sorted tuple of atoms, the
empty one stands for the constant. The order depends on names and on the age of variables, never on
where objects lie in memory.
"""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

from relay2relax.tir.ir.expr import (
    Binary,
    BinaryOp,
    BufferLoad,
    Call,
    Cast,
    FloatImm,
    FunctionCall,
    IntImm,
    Not,
    PrimExpr,
    Select,
    Var,
    children,
)

Term: TypeAlias = tuple[PrimExpr, ...]
Sum: TypeAlias = dict[Term, int]

# An expression with more operands than this is built as a tree.
_LONGEST_CHAIN = 32
# A sum of more variables and numbers is not read at a glance.
_MOST_LEAVES = 1024


def sort_key(expr: PrimExpr) -> tuple[Any, ...]:
    """Return the sort key of an atom."""
    match expr:
        case Var(name):
            return (0, name, expr.serial)
        case IntImm(value):
            return (1, value)
        case FloatImm(float_value):
            return (2, repr(float_value))
        case Binary(op, a, b):
            return (3, op, sort_key(a), sort_key(b))
        case Call(name, args) | FunctionCall(name, args):
            return (4, name, tuple(sort_key(arg) for arg in args))
        case BufferLoad(buffer, indices):
            return (5, buffer.name, tuple(sort_key(index) for index in indices))
        case Cast() | Not() | Select():
            return (6, type(expr).__name__, tuple(sort_key(part) for part in children(expr)))
    return (7, repr(expr))


def term_key(term: Term) -> tuple[Any, ...]:
    """Return the sort key of a product: longer ones first."""
    return (-len(term), tuple(sort_key(atom) for atom in term))


def add(a: Sum, b: Sum, factor: int = 1) -> Sum:
    """Return ``a + factor * b``."""
    result = dict(a)
    accumulate(result, b, factor)
    return result


def accumulate(total: Sum, b: Sum, factor: int) -> None:
    """Add ``factor * b`` to ``total`` itself."""
    for term, count in b.items():
        new = total.get(term, 0) + factor * count
        if new:
            total[term] = new
        else:
            total.pop(term, None)


def affine(expr: PrimExpr) -> Sum | None:
    """Return the sum of the variables and numbers that are added and subtracted in ``expr``, times
    numbers; None where there is something else, or much.

    A variable whose value data decide is something else.
    """
    total: Sum = {}
    leaves = 0
    term: Term
    pending = [(expr, 1)]
    while pending:
        one, factor = pending.pop()
        match one:
            case IntImm(value):
                term, count = (), value * factor
            case Var() if type(one) is Var:
                term, count = (one,), factor
            case Binary("+", a, b):
                pending += [(a, factor), (b, factor)]
                continue
            case Binary("-", a, b):
                pending += [(a, factor), (b, -factor)]
                continue
            case Binary("*", a, IntImm(value)) | Binary("*", IntImm(value), a):
                pending.append((a, factor * value))
                continue
            case _:
                return None
        leaves += 1
        if leaves > _MOST_LEAVES:
            return None
        accumulate(total, {term: count}, 1)
    return total


def scale(a: Sum, factor: int) -> Sum:
    """Return ``factor * a``."""
    return {term: count * factor for term, count in a.items()} if factor else {}


def constant_sum(value: int) -> Sum:
    """Return the sum that is ``value``."""
    return {(): value} if value else {}


def atom_sum(expr: PrimExpr) -> Sum:
    """Return the sum that is one atom."""
    return {(expr,): 1}


def monomial(expr: PrimExpr) -> Sum | None:
    """Return the product of the variables and numbers that are multiplied in ``expr``, None where
    there is something else.

    A variable whose value data decide is something else.
    """
    count = 1
    variables: list[Var] = []
    for one in flattened("*", expr):
        if isinstance(one, IntImm):
            count *= one.value
        elif type(one) is Var:
            variables.append(one)
        else:
            return None
    return {tuple(sorted(variables, key=sort_key)): count} if count else {}


def product(a: Term, b: Term) -> Term:
    """Return the product of two products."""
    if not a or not b:
        return a or b
    if len(b) == 1:
        place = bisect_right(a, sort_key(b[0]), key=sort_key)
        return (*a[:place], *b, *a[place:])
    if len(a) == 1:
        place = bisect_left(b, sort_key(a[0]), key=sort_key)
        return (*b[:place], *a, *b[place:])
    return tuple(sorted(a + b, key=sort_key))


def without(term: Term, part: Term) -> Term | None:
    """Return ``term`` divided by ``part``, None where it is not a factor."""
    if not part:
        return term
    rest = list(term)
    for atom in part:
        if atom not in rest:
            return None
        rest.remove(atom)
    return tuple(rest)


def means(a: Sum, b: Sum) -> Iterator[tuple[Sum, int]]:
    """Yield ``(u * a + v * b, u + v)`` with positive weights by which a term of both is gone."""
    for term, count in a.items():
        other = b.get(term, 0)
        if term and count * other < 0:
            yield add(scale(a, abs(other)), b, abs(count)), abs(count) + abs(other)


def is_constant(a: Sum) -> bool:
    """Whether ``a`` has no atoms."""
    return not a or (len(a) == 1 and () in a)


def truncated(value: int, by: int) -> int:
    """Return the quotient of ``value`` by ``by`` rounded towards zero."""
    return value // by if value >= 0 else -(-value // by)


def flattened(op: BinaryOp, expr: PrimExpr) -> list[PrimExpr]:
    """Return the operands of nested ``op``, from left to right."""
    found: list[PrimExpr] = []
    stack = [expr]
    while stack:
        one = stack.pop()
        if isinstance(one, Binary) and one.op == op:
            stack += (one.b, one.a)
        else:
            found.append(one)
    return found


def chain(op: BinaryOp, operands: Sequence[PrimExpr]) -> PrimExpr:
    """Return ``operands`` joined by ``op``, from left to right.

    Many of them as a balanced tree, so none lies deep.
    """
    if len(operands) > _LONGEST_CHAIN:
        middle = len(operands) // 2
        return Binary(op, chain(op, operands[:middle]), chain(op, operands[middle:]))
    result, *others = operands
    for one in others:
        result = Binary(op, result, one)
    return result


def shared(a: Sum, by: Sum) -> tuple[Term, int]:
    """Return the factors that all terms of both sums share.

    Without atoms, no common number is looked for.
    """
    terms = [*a, *by]
    common: Term = ()
    for atom in dict.fromkeys(terms[0]):
        common += (atom,) * min(term.count(atom) for term in terms)
    return (common, 1) if is_constant(by) else (common, math.gcd(*a.values(), *by.values()))


def cancel(a: Sum, common: Term, count: int) -> Sum:
    """Return ``a`` divided by a factor that all its terms have."""
    result: Sum = {}
    for term, factor in a.items():
        left = without(term, common)
        assert left is not None
        result[left] = factor // count
    return result


def in_lowest_terms(operands: list[Sum]) -> tuple[list[Sum], int, int]:
    """Return ``operands`` of an extreme without the factor and the constant that can stand outside
    of it.
    """
    shift = 0 if any(map(is_constant, operands)) else min(one.get((), 0) for one in operands)
    shifted = [add(one, constant_sum(shift), -1) for one in operands]
    factor = math.gcd(*(count for one in shifted for count in one.values()))
    return [{term: count // factor for term, count in one.items()} for one in shifted], factor, shift


def build(terms: Sum, dtype: str) -> PrimExpr:
    """Return the expression of a sum: positive terms before negative ones, the constant last.

    Many terms become a balanced tree, so none lies deep.
    """
    constant = terms.get((), 0)
    order = sorted((t for t in terms if t), key=lambda t: (terms[t] < 0, term_key(t)))
    if not order:
        return IntImm(constant, dtype)
    if len(order) > _LONGEST_CHAIN:
        middle = len(order) // 2
        first, second = ({t: terms[t] for t in part} for part in (order[:middle], order[middle:]))
        return Binary("+", build(first, dtype), build({**second, (): constant} if constant else second, dtype))
    result: PrimExpr | None = None
    if constant > 0 and terms[order[0]] < 0:
        result, constant = IntImm(constant, dtype), 0
    for term in order:
        count = terms[term]
        part = chain("*", term)
        size = count if result is None else abs(count)
        if size != 1:
            part = Binary("*", part, IntImm(size, dtype))
        result = part if result is None else Binary("+" if count > 0 else "-", result, part)
    assert result is not None
    if constant:
        result = Binary("+" if constant > 0 else "-", result, IntImm(abs(constant), dtype))
    return result
