"""What ``x``, ``x // d`` and ``x % d`` have to do with each other, in sums.

Of the three terms of ``x == x // d * d + x % d`` any two become the third one. With ``x // d`` for
``x`` the same rules join the digits of a number, and take one of them apart from the others. Each
step leaves fewer or smaller terms.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from relay2relax.tir.arith.overflow import Wraps
from relay2relax.tir.arith.sums import Sum, Term, add, atom_sum, constant_sum, is_constant, product, term_key, without
from relay2relax.tir.ir.expr import Binary, IntImm

if TYPE_CHECKING:
    from relay2relax.tir.arith.algebra import Algebra

_DIVIDED = ("//", "%")


def joined(algebra: Algebra, terms: Sum) -> Sum:
    """Return ``terms`` with quotients and remainders put together as far as they belong
    together.
    """
    while len(terms) > 1 and _has_divided(terms):
        # Which pair is put together first must not depend on the order of adding.
        terms = dict(sorted(terms.items(), key=lambda one: term_key(one[0])))
        changed = _step(algebra, terms)
        if changed is None:
            return terms
        terms = changed
    return terms


def _has_divided(terms: Sum) -> bool:
    for term in terms:
        for atom in term:
            if isinstance(atom, Binary) and atom.op in _DIVIDED:
                return True
    return False


def without_remainders(algebra: Algebra, terms: Sum, dtype: str) -> Sum:
    """Return ``terms`` with each factor ``x % d`` written as ``x - x // d * d``, ``terms`` itself
    where a ``d`` is no number of its dtype.
    """
    try:
        return _expanded(algebra, terms)
    except Wraps:
        return terms


def _expanded(algebra: Algebra, terms: Sum) -> Sum:
    expanded: Sum = {}
    for term, count in terms.items():
        parts: Sum = {(): count}
        for atom in term:
            factor = atom_sum(atom)
            if isinstance(atom, Binary) and atom.op == "%" and algebra.divides(algebra.sum(atom.b)):
                over, under = algebra.sum(atom.a), algebra.sum(atom.b)
                whole = algebra.multiplied(algebra.divided(over, under, atom.dtype), under, atom.dtype)
                factor = add(over, whole, -1)
            # Not ``multiplied``, which would put the remainder together again.
            parts = times(parts, factor)
        expanded = add(expanded, parts)
    return expanded


def times(a: Sum, b: Sum) -> Sum:
    """Return ``a * b`` with nothing put together."""
    result: Sum = {}
    for term, count in a.items():
        result = add(result, {product(term, other): factor for other, factor in b.items()}, count)
    return result


def _step(algebra: Algebra, terms: Sum) -> Sum | None:
    """Return ``terms`` with one pair put together, None where there is none."""
    for term, count in terms.items():
        for place, atom in enumerate(term):
            if not isinstance(atom, Binary) or atom.op not in _DIVIDED:
                continue
            under = algebra.sum(atom.b)
            if len(under) != 1 or not algebra.divides(under) or not algebra.spend(len(terms)):
                continue
            others = term[:place] + term[place + 1 :]
            rule = _quotient if atom.op == "//" else _remainder
            changed = rule(algebra, terms, term, count, others, atom)
            if changed is None:
                changed = _balanced(algebra, terms, others, atom)
            if changed is not None:
                return changed
    return None


def _remainder(algebra: Algebra, terms: Sum, term: Term, count: int, others: Term, atom: Binary) -> Sum | None:
    """Put ``x % d`` together with ``x // d * d`` or with ``-x``."""
    over, under = algebra.sum(atom.a), algebra.sum(atom.b)
    rest = _taken({t: c for t, c in terms.items() if t != term}, over, others, -count)
    quotient = algebra.divided(over, under, atom.dtype)
    multiple = times(quotient, under)
    if rest is not None:
        return add(rest, times({others: -count}, multiple))
    lifted = times({others: count}, multiple)
    if lifted and all(terms.get(t) == c for t, c in lifted.items()):
        rest = {t: c for t, c in terms.items() if t != term and t not in lifted}
        return add(rest, times({others: count}, over))
    if not isinstance(atom.b, IntImm):
        return None
    # x % d + x // d % k * d is x % (d * k).
    for other, digit in _beside(terms, others, term):
        if digit.op != "%" or not isinstance(digit.b, IntImm) or terms[other] != count * atom.b.value:
            continue
        if algebra.modulo(quotient, constant_sum(digit.b.value), atom.dtype) == atom_sum(digit):
            rest = {t: c for t, c in terms.items() if t not in (term, other)}
            whole = algebra.modulo(over, constant_sum(atom.b.value * digit.b.value), atom.dtype)
            return add(rest, times({others: count}, whole))
    return _digit(algebra, terms, term, count, others, atom)


def _quotient(algebra: Algebra, terms: Sum, term: Term, count: int, others: Term, atom: Binary) -> Sum | None:
    """Put ``-(x // d * d)`` together with ``x``."""
    over, under = algebra.sum(atom.a), algebra.sum(atom.b)
    ((by, factor),) = under.items()
    beside = without(others, by)
    if beside is not None and count % factor == 0:
        rest = _taken({t: c for t, c in terms.items() if t != term}, over, beside, -count // factor)
        if rest is not None:
            return add(rest, times({beside: -count // factor}, algebra.modulo(over, under, atom.dtype)))
    return _digit(algebra, terms, term, count, others, atom)


def _balanced(algebra: Algebra, terms: Sum, others: Term, atom: Binary) -> Sum | None:
    """Return ``terms`` with the least multiples of ``x``, ``x // d`` and ``x % d`` that say the
    same; None if they do.

    So ``3 * (x // 2) + x % 2`` and ``x + x // 2``, which are equal, are one sum, in whatever order
    it was put together.
    """
    over = algebra.sum(atom.a)
    if len(over) != 1 or set(over.values()) != {1}:
        return None
    (x,) = over
    ((by, divisor),) = algebra.sum(atom.b).items()
    quotient, remainder = Binary("//", atom.a, atom.b), Binary("%", atom.a, atom.b)
    if algebra.sum(quotient) != atom_sum(quotient) or algebra.sum(remainder) != atom_sum(remainder):
        return None
    beside = others if atom.op == "%" else without(others, by)
    if beside is None:
        return None
    parts = [product(beside, one) for one in (x, product(by, (quotient,)), (remainder,))]
    a, b, c = (terms.get(part, 0) for part in parts)
    shifts = {0, a, -c, -b // divisor, -(b // divisor)}
    choices = [(a - shift, b + divisor * shift, c + shift) for shift in shifts]
    best = min(choices, key=lambda one: (3 - one.count(0), sum(map(abs, one)), abs(one[2]), one))
    if best == (a, b, c):
        return None
    rest = {term: count for term, count in terms.items() if term not in parts}
    return rest | {part: count for part, count in zip(parts, best, strict=True) if count}


def _taken(terms: Sum, part: Sum, others: Term, factor: int) -> Sum | None:
    """Return ``terms - part * others * factor`` where ``terms`` has all terms of that but the
    constant's.
    """
    wanted = {product(others, t): c * factor for t, c in part.items() if t}
    if not wanted or any(terms.get(t) != c for t, c in wanted.items()):
        return None
    return add({t: c for t, c in terms.items() if t not in wanted}, {others: part.get((), 0)}, -factor)


def _beside(terms: Sum, others: Term, term: Term) -> Iterator[tuple[Term, Binary]]:
    """Yield the other terms that are ``others`` times a quotient or remainder, with that."""
    for one in terms:
        if one == term or len(one) != len(others) + 1:
            continue
        left = without(one, others)
        if left is not None and isinstance(left[0], Binary) and isinstance(left[0].b, IntImm):
            yield one, left[0]


def _digit(algebra: Algebra, terms: Sum, term: Term, count: int, others: Term, atom: Binary) -> Sum | None:
    """Put ``-(y // m * m)`` together with ``y``, where ``y`` is itself a quotient or remainder."""
    if not isinstance(atom.b, IntImm):
        return None
    for other, whole in _beside(terms, others, term):
        factor = terms[other]
        step = -count // factor
        if whole.op != atom.op or count != -step * factor or step < 2 or not isinstance(whole.b, IntImm):
            continue
        shift = 0
        if atom.op == "//":
            gap = add(algebra.sum(atom.a), algebra.sum(whole.a), -1)
            if atom.b.value != whole.b.value * step or not is_constant(gap) or gap.get((), 0) % whole.b.value:
                continue
            shift = gap.get((), 0) // whole.b.value
        elif algebra.divided(atom_sum(whole), constant_sum(step), atom.dtype) != atom_sum(atom):
            continue
        rest = {t: c for t, c in terms.items() if t not in (term, other)}
        low = algebra.modulo(add(atom_sum(whole), constant_sum(shift)), constant_sum(step), atom.dtype)
        return add(rest, times({others: factor}, add(low, constant_sum(-shift))))
    return None
