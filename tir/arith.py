"""Canonical form of integer expressions.

An expression becomes a sum of coefficients times products of atoms; an atom is a variable, or a floor
division, modulo, minimum, maximum or other operation over canonical operands. Equal sums are then built
alike.
"""

from __future__ import annotations

from relay2relax.tir.expr import AnyExtent, Binary, Cast, IntImm, PrimExpr, Var, binary

# A product of atoms, sorted; the empty product is the constant term.
_Term = tuple[PrimExpr, ...]
_Sum = dict[_Term, int]


def _key(expr: PrimExpr) -> str:
    return f"{expr!r}@{id(expr)}" if isinstance(expr, Var) else repr(expr)


def _sum(expr: PrimExpr) -> _Sum:
    match expr:
        case IntImm(value):
            return {(): value} if value else {}
        case Binary("+", a, b):
            return _add(_sum(a), _sum(b), 1)
        case Binary("-", a, b):
            return _add(_sum(a), _sum(b), -1)
        case Binary("*", a, b):
            return _mul(_sum(a), _sum(b))
        case Binary(("//" | "%") as op, a, b):
            return _divide(op, _sum(a), _sum(b))
        case Binary(op, a, b):
            left, right = simplify(a), simplify(b)
            if op in ("min", "max") and left == right:
                return _sum(left)
            folded = binary(op, left, right)
            return {(): folded.value} if isinstance(folded, IntImm) else {(folded,): 1}
        case Cast("int64", value):
            return _sum(value)
    return {(expr,): 1}


def _add(a: _Sum, b: _Sum, sign: int) -> _Sum:
    result = dict(a)
    for term, factor in b.items():
        result[term] = result.get(term, 0) + sign * factor
    return {term: factor for term, factor in result.items() if factor}


def _mul(a: _Sum, b: _Sum) -> _Sum:
    result: _Sum = {}
    for s, f in a.items():
        for t, g in b.items():
            term = tuple(sorted(s + t, key=_key))
            result[term] = result.get(term, 0) + f * g
    return {term: factor for term, factor in result.items() if factor}


def _divide(op: str, a: _Sum, b: _Sum) -> _Sum:
    if set(b) == {()}:
        by = b[()]
        whole = {t: f // by for t, f in a.items() if f % by == 0}
        rest = {t: f for t, f in a.items() if f % by}
        if set(rest) <= {()}:
            constant = rest.get((), 0)
            if op == "%":
                return {(): constant % by} if constant % by else {}
            return _add(whole, {(): constant // by} if constant // by else {}, 1)
        atom = Binary("//" if op == "//" else "%", _expr(rest), IntImm(by))
        return _add(whole, {(atom,): 1}, 1) if op == "//" else {(atom,): 1}
    if a and a == b:
        return {(): 1} if op == "//" else {}
    return {(Binary("//" if op == "//" else "%", _expr(a), _expr(b)),): 1}


def _expr(terms: _Sum) -> PrimExpr:
    result: PrimExpr = IntImm(0)
    for term in sorted(terms, key=lambda t: (-len(t), [_key(x) for x in t])):
        factor = terms[term]
        part: PrimExpr = IntImm(abs(factor))
        for atom in term:
            part = (
                atom
                if part == IntImm(1)
                else binary("*", part, atom)
                if part != IntImm(abs(factor))
                else atom * part
            )
        result = binary("+" if factor > 0 else "-", result, part)
    return result


def simplify(expr: PrimExpr) -> PrimExpr:
    """Return ``expr`` in canonical form; expressions that are not integers are returned as they are."""
    if isinstance(expr, (AnyExtent, IntImm, Var)) or expr.dtype not in ("int64", "int32"):
        return expr
    return _expr(_sum(expr))


def prove(condition: PrimExpr) -> bool | None:
    """Return whether an (in)equality always holds, or None where that is not known."""
    match condition:
        case IntImm(value):
            return bool(value)
        case Binary(("==" | "!=" | "<" | "<=" | ">" | ">=") as op, a, b):
            difference = _add(_sum(a), _sum(b), -1)
            if set(difference) <= {()}:
                value = difference.get((), 0)
                return {
                    "==": value == 0, "!=": value != 0, "<": value < 0, "<=": value <= 0, ">": value > 0,
                    ">=": value >= 0,
                }[op]  # fmt: skip
    return None


def constant_difference(a: PrimExpr, b: PrimExpr) -> int | None:
    """Return ``a - b`` where that is a constant, else None."""
    if a == b:
        return 0
    difference = _add(_sum(a), _sum(b), -1)
    return difference.get((), 0) if set(difference) <= {()} else None
