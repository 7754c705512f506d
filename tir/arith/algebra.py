"""The algebra behind ``simplify.py``: sums under what is known of their variables.

The work on one question is bounded, so that no expression takes long: what has to be known of a
part is found once, and when the budget is spent, limits are taken as unknown and sums are left as
they are, which is sound.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import reduce
from typing import Any, NamedTuple, TypeAlias, Union

from relay2relax.tir.arith import interval, remainders, truncation
from relay2relax.tir.arith.interval import ANYTHING, DECIDE, Interval
from relay2relax.tir.arith.minmax import Extremum
from relay2relax.tir.arith.overflow import Overflow, Usual, Wraps, range_of
from relay2relax.tir.arith.sums import (
    Sum,
    Term,
    accumulate,
    add,
    atom_sum,
    build,
    cancel,
    chain,
    constant_sum,
    flattened,
    in_lowest_terms,
    is_constant,
    means,
    product,
    scale,
    shared,
    sort_key,
    term_key,
    truncated,
    without,
)
from relay2relax.tir.ir.expr import (
    AnyExtent,
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
    binary,
    cast,
    children,
)

# What is known of a variable: the smallest and the largest value, None where there is no limit.
Limit: TypeAlias = Union[int, PrimExpr, None]
Bounds: TypeAlias = Mapping[Var, tuple[Limit, Limit]]

_WIDE = ("int64", "int32")
# A product with more terms than this stays a product.
_LARGEST_PRODUCT = 64
# So many minima and maxima of one sum are told apart by cases.
_DEEPEST_CASES = 3
_WIDEST_EXTREME = 8  # is divided operand by operand
# So many terms are looked at for the limits that one question needs.
_BUDGET = 8192


_QUOTIENTS: Mapping[str, Callable[[Interval, Interval], Interval]] = {
    "//": interval.quotient,
    "%": interval.remainder,
    "truncdiv": interval.truncated_quotient,
    "truncmod": interval.truncated_remainder,
}


class _Cases(NamedTuple):
    """The operands of a minimum or maximum, and for each leaf the places of those that mention
    it.
    """

    sums: list[Sum]
    mentions: dict[Any, list[int]]


def _repeats(a: Sum, b: Sum) -> bool:
    """Whether ``a * b`` would have a product that stayed one in several terms: a chain of such
    would double with each factor.
    """
    return len(b) > 1 and any(isinstance(atom, Binary) and atom.op == "*" for term in a for atom in term)


class Algebra:
    """Sums under one set of bounds; one object answers one question.

    Tables keyed by ``id`` keep the expression as well, lest another one comes to lie in its place.
    """

    def __init__(self, bounds: Bounds | None) -> None:
        self.bounds = bounds if bounds is not None else {}
        self._usual: Algebra | None = None
        self.budget = _BUDGET
        self.overflow = Overflow(self.bounds)
        self.sums: dict[int, tuple[PrimExpr, Sum]] = {}
        self.residues: dict[int, tuple[PrimExpr, Sum]] = {}
        self.limits: dict[tuple[frozenset[tuple[Term, int]], int, int], int | None] = {}
        self.atoms: dict[int, tuple[PrimExpr, Interval]] = {}
        self.operands: dict[int, tuple[PrimExpr, _Cases]] = {}

    def again(self) -> Algebra:
        """Return an algebra for another question, which knows the sums that this one found."""
        other = Algebra(self.bounds)
        other.sums, other.residues = self.sums, self.residues
        return other

    @property
    def usual(self) -> Algebra:
        """The algebra that says whether data can overflow: extents are such that positions do
        not.
        """
        if isinstance(self.bounds, Usual):
            return self
        if self._usual is None:
            self._usual = Algebra(Usual(self.bounds))
        return self._usual

    def fits(self, terms: Sum, dtype: str) -> bool:
        """Whether arithmetic of ``dtype`` finds the integer ``terms``."""
        if not self.overflow.may_wrap(terms):
            return True
        if len(terms) == 1 and all(len(term) == 1 and count == 1 for term, count in terms.items()):
            return True
        return all(self.overflow.within(dtype, side, self.usual.limit(terms, side)) for side in (0, 1))

    def is_exact(self, expr: PrimExpr) -> bool:
        """Whether arithmetic finds the integer that ``expr``, of positions, is; what data have a
        part in is never taken for more than that.
        """
        if expr.dtype not in _WIDE or isinstance(expr, (IntImm, Var)):
            return True
        terms = self.residue(expr)
        return self.overflow.has_data(terms) or self.sum(expr) == terms

    def divides(self, by: Sum) -> bool:
        """Whether ``by`` is known not to be zero; of positions a division says so."""
        if by and not self.overflow.has_data(by):
            return True
        low, high = self.interval(by)
        return (low is not None and low > 0) or (high is not None and high < 0)

    # Sums.

    def sum(self, expr: PrimExpr) -> Sum:
        """Return the integer that ``expr``, of int32 or int64, is (not to be changed)."""
        known = self.sums.get(id(expr))
        if known is not None:
            return known[1]
        found = self.new_sum(expr)
        if not isinstance(expr, (IntImm, Var)) and not self.fits(found, expr.dtype):
            found = atom_sum(self.inside(expr))
        self.sums[id(expr)] = (expr, found)
        return found

    def residue(self, expr: PrimExpr) -> Sum:
        """Return ``expr`` as a sum that is right but for multiples of ``2**bits``: what adds and
        multiplies needs no more.
        """
        if not isinstance(expr, Binary) or expr.op not in ("+", "-", "*"):
            return self.sum(expr)
        known = self.residues.get(id(expr))
        if known is not None:
            return known[1]
        try:
            if expr.op == "*":
                found = self.multiplied(self.residue(expr.a), self.residue(expr.b), expr.dtype)
            else:
                found = self.joined(self.added(expr))
        except Wraps:
            found = atom_sum(self.inside(expr))
        if not _narrow(found) and (self.overflow.every or self.overflow.is_data(expr)):
            found = _wrapped(found, expr.dtype)
        self.residues[id(expr)] = (expr, found)
        return found

    def built(self, terms: Sum, dtype: str) -> PrimExpr:
        """Return the expression of ``terms``, and remember that it is their expression."""
        expr = build(terms, dtype)
        self.residues[id(expr)] = (expr, terms)
        if self.fits(terms, dtype):
            self.sums[id(expr)] = (expr, terms)
        return expr

    def operand(self, terms: Sum, dtype: str) -> PrimExpr:
        """Return the expression whose value is the integer ``terms``.

        Raises Wraps where ``dtype`` may not have it.
        """
        if not self.fits(terms, dtype):
            raise Wraps
        return self.built(terms, dtype)

    def divisor(self, terms: Sum, dtype: str) -> PrimExpr:
        """Return ``operand(terms, dtype)``; raises Wraps as well for a number, the product of
        divisors, that ``dtype`` does not have.
        """
        if is_constant(terms) and not all(self.overflow.within(dtype, side, terms.get((), 0)) for side in (0, 1)):
            raise Wraps
        return self.operand(terms, dtype)

    def new_sum(self, expr: PrimExpr) -> Sum:
        match expr:
            case IntImm(value):
                return constant_sum(value)
            case Var():
                low, high = self.bounds.get(expr, ANYTHING)
                return constant_sum(low) if isinstance(low, int) and low == high else atom_sum(expr)
            case Binary("+" | "-" | "*"):
                return self.residue(expr)
            case Binary(("//" | "%" | "truncdiv" | "truncmod") as op, a, b):
                with suppress(Wraps):
                    return self.quotient(op, self.sum(a), self.sum(b), expr.dtype)
            case Binary(("min" | "max") as op):
                return self.extreme(op, expr)
            case Select(condition, a, b) | Call("if_then_else", (condition, a, b)):
                known = self.prove(condition)
                if known is not None:
                    return self.sum(a if known else b)
        inside = self.inside(expr)
        return constant_sum(inside.value) if isinstance(inside, IntImm) else atom_sum(inside)

    def added(self, expr: PrimExpr) -> Sum:
        """Return nested additions and subtractions as one sum, joined nowhere: in whatever order
        the same is added, the same is found.
        """
        total: Sum = {}
        pending = [(expr, 1)]
        while pending:
            one, factor = pending.pop()
            if isinstance(one, Binary) and one.op in ("+", "-") and id(one) not in self.residues:
                pending += [(one.b, factor if one.op == "+" else -factor), (one.a, factor)]
            else:
                accumulate(total, self.residue(one), factor)
        return total

    def inside(self, expr: PrimExpr) -> PrimExpr:
        """Return an atom with its operands simplified."""
        match expr:
            case Binary("+" | "-" | "*") if id(expr) in self.residues:
                return self.built(self.residues[id(expr)][1], expr.dtype)
            case Binary(op, a, b):
                return binary(op, self.simplify(a), self.simplify(b))
            case Cast(dtype, value):
                return cast(dtype, self.simplify(value))
            case Select(condition, a, b):
                return Select(self.simplify(condition), self.simplify(a), self.simplify(b))
            case Call(name, args, dtype):
                return Call(name, tuple(self.simplify(arg) for arg in args), dtype)
            case FunctionCall(name, args, dtype):
                return FunctionCall(name, tuple(self.simplify(arg) for arg in args), dtype)
            case BufferLoad(buffer, indices):
                return BufferLoad(buffer, tuple(self.simplify(index) for index in indices))
        return expr

    def multiplied(self, a: Sum, b: Sum, dtype: str) -> Sum:
        """Return ``a * b``."""
        if len(a) * len(b) <= _LARGEST_PRODUCT:
            if is_constant(b):
                return self.joined(scale(a, b.get((), 0)))
            if is_constant(a):
                return self.joined(scale(b, a.get((), 0)))
        if len(a) * len(b) > _LARGEST_PRODUCT or _repeats(a, b) or _repeats(b, a):
            first, second = sorted((self.operand(a, dtype), self.operand(b, dtype)), key=sort_key)
            return atom_sum(Binary("*", first, second))
        result: Sum = {}
        for s, f in a.items():
            for t, g in b.items():
                term = product(s, t)
                result[term] = result.get(term, 0) + f * g
        return self.joined({term: count for term, count in result.items() if count})

    def joined(self, terms: Sum) -> Sum:
        """Return ``terms`` with quotients and remainders that belong together put together
        again.
        """
        try:
            return remainders.joined(self, terms)
        except Wraps:
            return terms

    def split(self, a: Sum, by: Sum) -> tuple[Sum, Sum]:
        """Return ``(q, r)`` with ``a == q * by + r``: what can be taken out of a division by
        ``by``.
        """
        if len(by) > 1:
            quotient = self.exact(a, by)
            return ({}, a) if quotient is None else (quotient, {})
        ((part, factor),) = by.items()
        sign = 1 if factor > 0 else -1
        whole: Sum = {}
        rest: Sum = {}
        for term, count in a.items():
            left = without(term, part)
            if left is None:
                rest[term] = count
                continue
            # What the constant leaves lies in [0, divisor); other terms keep their sign.
            taken = truncated(count, abs(factor)) * sign if term else count // factor
            if taken:
                whole = add(whole, {left: taken})
            if count != taken * factor:
                rest[term] = count - taken * factor
        return whole, rest

    def split_joined(self, a: Sum, by: Sum) -> tuple[Sum, Sum]:
        """Return ``(q, r)`` as ``split`` does, both joined.

        What is left may be joined to something of which more can be taken out: ``3 * n - n % 4`` by
        2 leaves ``n - n % 4``, which is ``n // 4 * 4``.
        """
        whole: Sum = {}
        rest = a
        while True:
            more, rest = self.split(rest, by)
            whole, left = add(whole, more), self.joined(rest)
            if left == rest:
                return self.joined(whole), rest
            rest = left

    def exact(self, a: Sum, by: Sum) -> Sum | None:
        """Return ``a / by`` where the division of the polynomials leaves nothing."""
        lead = min(by, key=term_key)
        quotient: Sum = {}
        for _ in range(_LARGEST_PRODUCT):
            if not a:
                return quotient
            top = min(a, key=term_key)
            left = without(top, lead)
            if left is None or a[top] % by[lead]:
                return None
            step = a[top] // by[lead]
            quotient = add(quotient, {left: step})
            for term, count in by.items():
                a = add(a, {product(term, left): count}, -step)
        return None

    def quotient(self, op: BinaryOp, a: Sum, by: Sum, dtype: str) -> Sum:
        """Return the quotient or remainder of ``a`` and ``by``.

        What does not fit ``dtype`` on the way is not split. Raises Wraps where ``a`` itself does
        not, or ``by`` is no number of it.
        """
        if self.divides(by):
            try:
                match op:
                    case "//":
                        return self.new_divided(a, by, dtype)
                    case "%":
                        return self.new_modulo(a, by, dtype)
                return truncation.divided(self, op, a, by, dtype)
            except Wraps:
                pass
        return atom_sum(Binary(op, self.operand(a, dtype), self.divisor(by, dtype)))

    def divided(self, a: Sum, by: Sum, dtype: str) -> Sum:
        """Return ``a // by``."""
        return self.quotient("//", a, by, dtype)

    def new_divided(self, a: Sum, by: Sum, dtype: str) -> Sum:
        if is_constant(by) and by[()] < 0:
            a, by = scale(a, -1), scale(by, -1)
        whole, rest = self.split_joined(a, by)
        if not rest:
            return whole
        factors, count = shared(rest, by)
        if factors or count > 1:
            # With a common factor gone there may be more to take out.
            smaller = self.divided(cancel(rest, factors, count), cancel(by, factors, count), dtype)
            return self.joined(add(whole, smaller))
        if not is_constant(by):
            if self.below(rest, by):
                return whole
            return self.joined(add(whole, atom_sum(Binary("//", self.operand(rest, dtype), self.divisor(by, dtype)))))
        divisor = by[()]
        common = math.gcd(divisor, *(c for term, c in rest.items() if term))
        if common > 1:
            rest = {t: c // common for t, c in rest.items() if c // common}
            return self.joined(add(whole, self.divided(rest, constant_sum(divisor // common), dtype)))
        low, high = self.interval(rest)
        if low is not None and high is not None and low // divisor == high // divisor:
            return self.joined(add(whole, constant_sum(low // divisor)))
        match [term for term in rest if term]:
            case [(Binary("//", x, IntImm(inner)),) as term] if inner > 0 and rest[term] == 1:
                over = add(self.sum(x), constant_sum(rest.get((), 0) * inner))
                return self.joined(add(whole, self.divided(over, constant_sum(inner * divisor), dtype)))
            case [(Binary(("min" | "max"), _, _) as atom,) as term]:
                shares = self.shared_quotient(atom, rest[term], rest.get((), 0), by, dtype)
                if shares is not None:
                    return self.joined(add(whole, shares))
            case [(Binary("%", x, IntImm(inner)),) as term] if rest == {term: 1} and inner % divisor == 0:
                over = self.divided(self.sum(x), by, dtype)
                return self.joined(add(whole, self.modulo(over, constant_sum(inner // divisor), dtype)))
        return self.joined(add(whole, atom_sum(Binary("//", self.operand(rest, dtype), self.divisor(by, dtype)))))

    def shared_quotient(self, extreme: Binary, count: int, shift: int, by: Sum, dtype: str) -> Sum | None:
        """Return ``(count * extreme + shift) // by`` as an extreme of quotients, None where none of
        these is exact.
        """
        op = extreme.op if count > 0 else "min" if extreme.op == "max" else "max"
        over = [add(scale(self.sum(one), count), constant_sum(shift)) for one in flattened(extreme.op, extreme)]
        if len(over) > _WIDEST_EXTREME or all(self.split(one, by)[1] for one in over):
            return None
        return self.extreme(op, chain(op, [self.operand(self.divided(one, by, dtype), dtype) for one in over]))

    def modulo(self, a: Sum, by: Sum, dtype: str) -> Sum:
        """Return ``a % by``."""
        return self.quotient("%", a, by, dtype)

    def new_modulo(self, a: Sum, by: Sum, dtype: str) -> Sum:
        if is_constant(by) and by[()] < 0:
            return scale(self.modulo(scale(a, -1), scale(by, -1), dtype), -1)
        _, rest = self.split_joined(a, by)
        if not rest:
            return {}
        factors, count = shared(rest, by)
        if factors or count > 1:
            smaller = self.modulo(cancel(rest, factors, count), cancel(by, factors, count), dtype)
            return self.multiplied(smaller, {factors: count}, dtype)
        if not is_constant(by):
            if self.below(rest, by):
                return rest
            return atom_sum(Binary("%", self.operand(rest, dtype), self.divisor(by, dtype)))
        divisor = by[()]
        for term, times in rest.items():
            match term:
                case (Binary("%", x, IntImm(inner)),) if inner > 0 and times * inner % divisor == 0:
                    others = {t: c for t, c in rest.items() if t != term}
                    return self.modulo(add(others, self.sum(x), times), by, dtype)
        common = math.gcd(divisor, *(c for term, c in rest.items() if term))
        if common > 1:
            left = rest.get((), 0) % common
            rest = {t: c // common for t, c in rest.items() if c // common}
            smaller = self.modulo(rest, constant_sum(divisor // common), dtype)
            return add(scale(smaller, common), constant_sum(left))
        low, high = self.interval(rest)
        if low is not None and high is not None and low // divisor == high // divisor:
            return add(rest, constant_sum(-(low // divisor) * divisor))
        return atom_sum(Binary("%", self.operand(rest, dtype), self.divisor(by, dtype)))

    def below(self, a: Sum, by: Sum) -> bool:
        """Whether ``0 <= a < by``."""
        low, room = self.interval(a)[0], self.interval(add(by, a, -1))[0]
        return low is not None and low >= 0 and room is not None and room > 0

    def extreme(self, op: BinaryOp, expr: PrimExpr) -> Sum:
        """Return a minimum or maximum: operands flattened, those that cannot win dropped, the rest
        sorted.
        """
        operands = list(flattened(op, expr))
        if all(isinstance(one, Var) and self.bounds.get(one, ANYTHING) in (ANYTHING, (0, None)) for one in operands):
            # Of variables without limits each may win: hundreds meet where tensors of unknown
            # extents are added.
            return atom_sum(chain(op, sorted(dict.fromkeys(operands), key=sort_key)))
        extremum = Extremum(self, op)
        for operand in operands:
            terms = self.sum(operand)
            match [term for term in terms if term]:
                # The simplified operand may be such an extreme itself, or multiples of one and a
                # constant.
                case [(Binary(inner, _, _) as atom,) as term] if inner == op and terms[term] > 0:
                    shift = constant_sum(terms.get((), 0))
                    parts = [add(scale(self.sum(part), terms[term]), shift) for part in flattened(op, atom)]
                    for part in parts if self.fit(parts, expr.dtype) else [terms]:
                        extremum.add(part)
                case _:
                    extremum.add(terms)
        left = extremum.remaining()
        if len(left) == 1:
            return left[0]
        lower, factor, outside = in_lowest_terms(left)
        if not self.fit(lower, expr.dtype):
            lower, factor, outside = left, 1, 0
        lowest = chain(op, sorted((self.operand(one, expr.dtype) for one in lower), key=sort_key))
        return add({(lowest,): factor}, constant_sum(outside))

    def fit(self, several: Iterable[Sum], dtype: str) -> bool:
        """Whether arithmetic of ``dtype`` finds each of these integers."""
        return all(self.fits(one, dtype) for one in several)

    def leaves(self, terms: Sum) -> set[Any]:
        """Return the variables and other leaves in ``terms``, and those in the limits of these."""
        found: set[Any] = set()
        pending = [atom for term in terms for atom in term]
        while pending:
            one = pending.pop()
            parts = children(one)
            if isinstance(one, BufferLoad):
                found.add(one.buffer)
            elif not parts and one not in found and not isinstance(one, (IntImm, FloatImm)):
                found.add(one)
                limits = self.bounds.get(one, ANYTHING) if isinstance(one, Var) else ANYTHING
                pending.extend(limit for limit in limits if isinstance(limit, PrimExpr))
            pending.extend(parts)
        return found

    def cases(self, extreme: Binary) -> _Cases:
        """Return the operands of a minimum or maximum."""
        known = self.operands.get(id(extreme))
        if known is not None:
            return known[1]
        found = _Cases([self.sum(case) for case in flattened(extreme.op, extreme)], {})
        for place, case in enumerate(found.sums):
            for leaf in self.leaves(case):
                found.mentions.setdefault(leaf, []).append(place)
        self.operands[id(extreme)] = (extreme, found)
        return found

    def dominates(self, op: str, a: Sum, b: Sum) -> bool:
        """Whether ``op(a, b)`` is always ``a``."""
        low, high = self.interval(add(a, b, -1))
        return (high is not None and high <= 0) if op == "min" else (low is not None and low >= 0)

    # Intervals.

    def interval(self, terms: Sum) -> Interval:
        """Return the smallest and the largest value that ``terms`` can have, None where that is not
        known.
        """
        if is_constant(terms):
            value = terms.get((), 0)
            return (value, value)
        return (self.limit(terms, 0), self.limit(terms, 1))

    def spend(self, work: int) -> bool:
        """Take ``work`` from the budget; whether there was so much left."""
        self.budget -= work
        return self.budget >= 0

    def limit(self, terms: Sum, side: int, depth: int = 0) -> int | None:
        """Return the lower (side 0) or upper (side 1) limit of ``terms``."""
        key = (frozenset(terms.items()), side, depth)
        if key not in self.limits:
            if not self.spend(len(terms) + 1):
                return None
            self.limits[key] = self.new_limit(terms, side, depth)
        return self.limits[key]

    def new_limit(self, terms: Sum, side: int, depth: int) -> int | None:
        if depth < _DEEPEST_CASES:
            # Where all operands count comes first: each of them may need another one of the rest.
            extremes = sorted(_extremes(terms, side), key=lambda one: one[1])
            if extremes:
                return self.limit_by_cases(terms, side, depth, *extremes[0])
        for _ in range(len(terms) + 8):
            changed = self.symbolic_limit(terms, side)
            if changed is None or not self.spend(len(changed)):
                break
            terms = changed
        total = 0
        for term, count in terms.items():
            part = self.term_interval(term, count)[side]
            if part is None:
                rounded = self.rounded(terms, side)
                return self.factored(terms, side, depth) if rounded is None else self.limit(rounded, side, depth)
            total += part
        return total

    def limit_by_cases(self, terms: Sum, side: int, depth: int, term: Term, any_will_do: bool) -> int | None:
        """Return the limit of ``terms``, in which ``term`` is a minimum or maximum, from those for
        its operands.
        """
        extreme, count = term[0], terms[term]
        assert isinstance(extreme, Binary)
        rest = {t: c for t, c in terms.items() if t != term}
        cases = self.cases(extreme)
        chosen: Sequence[int] = range(len(cases.sums))
        if any_will_do and self.limit(rest, side, depth + 1) is None:
            # Only what the operands have in common with the rest can limit it.
            leaves = self.leaves(rest)
            chosen = sorted({place for leaf in leaves for place in cases.mentions.get(leaf, ())})
        found: list[int] = []
        for place in chosen:
            one = self.limit(add(rest, cases.sums[place], count), side, depth + 1)
            if one is not None:
                found.append(one)
            elif not any_will_do:
                return None
            elif self.budget < 0:
                break
        if any_will_do and len(cases.sums) == 2:
            # An extreme lies beyond every mean of its operands: max(5 * n, 8 - n) beyond (5 * n + 5
            # * (8 - n)) / 6.
            for mean, weight in means(*(add(rest, one, count) for one in cases.sums)):
                if (one := self.limit(mean, side, depth + 1)) is not None:
                    found.append(-(-one // weight) if side == 0 else one // weight)
        pick = max if side == (0 if any_will_do else 1) else min
        return pick(found, default=None)

    def factored(self, terms: Sum, side: int, depth: int) -> int | None:
        """Return the limit of ``terms`` from that of ``factor * (a + b)`` where terms share a
        factor.
        """
        if depth >= _DEEPEST_CASES:
            return None
        shared = Counter(atom for term in terms for atom in dict.fromkeys(term))
        for atom, count in shared.items():
            if count < 2:
                continue
            inner: Sum = {}
            for term, count in terms.items():
                left = without(term, (atom,))
                if left is not None:
                    inner[left] = count
            rest = {t: c for t, c in terms.items() if atom not in t}
            beside = self.interval(rest)[side]
            if beside is None or not self.spend(len(terms)):
                continue
            both = (self.limit(inner, 0, depth + 1), self.limit(inner, 1, depth + 1))
            part = interval.multiply(self.atom_interval(atom), both)[side]
            if part is not None:
                return part + beside
        return None

    def rounded(self, terms: Sum, side: int) -> Sum | None:
        """Return ``terms`` with one ``x // d * d`` replaced by its limit: by ``x``, or by ``x - d +
        1``.
        """
        for term, count in terms.items():
            match term:
                case (Binary("//", x, IntImm(divisor)),) if divisor > 0 and count % divisor == 0:
                    over = self.sum(x)
                    if (count > 0) == (side == 0):
                        over = add(over, constant_sum(1 - divisor))
                    rest = {t: c for t, c in terms.items() if t != term}
                    return add(rest, over, count // divisor)
        return None

    def term_interval(self, term: Term, count: int) -> Interval:
        result: Interval = (count, count)
        for atom in term:
            result = interval.multiply(result, self.atom_interval(atom))
        return result

    def symbolic_limit(self, terms: Sum, side: int) -> Sum | None:
        """Return ``terms`` with one variable replaced by its limit, where that limit is an
        expression.
        """
        for term, count in terms.items():
            for place, atom in enumerate(term):
                if not isinstance(atom, Var) or atom not in self.bounds:
                    continue
                limit = self.bounds[atom][side if count > 0 else 1 - side]
                if not isinstance(limit, PrimExpr) or isinstance(limit, IntImm):
                    continue
                others = term[:place] + term[place + 1 :]
                low = self.term_interval(others, 1)[0]
                if low is not None and low >= 0:
                    rest = {t: c for t, c in terms.items() if t != term}
                    return add(rest, {product(others, t): c for t, c in self.sum(limit).items()}, count)
        return None

    def atom_interval(self, atom: PrimExpr) -> Interval:
        if isinstance(atom, Var):
            low, high = self.bounds.get(atom, ANYTHING)
            return (_plain(low), _plain(high))
        known = self.atoms.get(id(atom))
        if known is not None:
            return known[1]
        found = self.overflow.clipped(atom, self.new_atom_interval(atom))
        self.atoms[id(atom)] = (atom, found)
        return found

    def new_atom_interval(self, atom: PrimExpr) -> Interval:
        match atom:
            case Binary(op, a, b) if op in _QUOTIENTS:
                found = _QUOTIENTS[op](self.expr_interval(a), self.expr_interval(b))
                # By zero both are zero.
                return found if self.divides(self.sum(b)) else interval.union(found, (0, 0))
            case Binary("min"):
                return reduce(interval.least, map(self.expr_interval, flattened("min", atom)))
            case Binary("max"):
                return reduce(interval.greatest, map(self.expr_interval, flattened("max", atom)))
            case Select(_, a, b) | Call("if_then_else", (_, a, b)):
                return interval.union(self.expr_interval(a), self.expr_interval(b))
            case Call("index_within", (_, extent, *_)):
                high = self.expr_interval(extent)[1]
                return (0, None if high is None else max(high - 1, 0))
            case Cast(dtype, value) if dtype in _WIDE and value.dtype in _WIDE:
                return self.expr_interval(value)
            case Cast(dtype, value) if dtype in _WIDE:
                return range_of(value.dtype)
        return ANYTHING

    def expr_interval(self, expr: PrimExpr) -> Interval:
        return self.interval(self.sum(expr))

    # Answers.

    def simplify(self, expr: PrimExpr) -> PrimExpr:
        if isinstance(expr, (IntImm, Var, FloatImm, AnyExtent)):
            return expr
        if expr.dtype in _WIDE:
            return self.built(self.residue(expr), expr.dtype)
        return self.condition(expr) if expr.dtype == "bool" else expr

    def condition(self, expr: PrimExpr) -> PrimExpr:
        """Return a condition as a constant where it is decided, else with its operands
        simplified.
        """
        match expr:
            case Binary(("and" | "or") as op, a, b):
                return binary(op, self.condition(a), self.condition(b))
            case Not(a):
                inner = self.condition(a)
                return IntImm(1 - inner.value, "bool") if isinstance(inner, IntImm) else Not(inner)
            case Binary(op, a, b) if op in DECIDE and a.dtype in _WIDE:
                known = self.prove(expr)
                if known is not None:
                    return IntImm(int(known), "bool")
                return Binary(op, self.simplify(a), self.simplify(b))
        return expr

    def difference(self, a: PrimExpr, b: PrimExpr) -> Sum:
        """Return ``a - b``; where a modulo is in the way of a constant, it is written as a
        division.
        """
        return self.plainest(add(self.sum(a), self.sum(b), -1), a.dtype)

    def distance(self, a: PrimExpr, b: PrimExpr) -> Sum:
        """Return ``a - b`` where both are places in one tensor, which is no larger than their
        dtype.
        """
        return self.plainest(add(self.residue(a), self.residue(b), -1), a.dtype)

    def plainest(self, found: Sum, dtype: str) -> Sum:
        if is_constant(found):
            return found
        expanded = remainders.without_remainders(self, found, dtype)
        return expanded if is_constant(expanded) else found

    def prove(self, condition: PrimExpr) -> bool | None:
        if self.usual is self:
            return None  # There are larger extents.
        match condition:
            case IntImm(value):
                return bool(value)
            case Not(a):
                inner = self.prove(a)
                return None if inner is None else not inner
            case Binary("and", a, b):
                first, second = self.prove(a), self.prove(b)
                if first is False or second is False:
                    return False
                return True if first and second else None
            case Binary("or", a, b):
                first, second = self.prove(a), self.prove(b)
                if first or second:
                    return True
                return False if first is False and second is False else None
            case Call("likely", (inside,)):
                return self.prove(inside)
            case Binary(op, a, b) if op in DECIDE and a.dtype in _WIDE:
                if isinstance(a, AnyExtent) or isinstance(b, AnyExtent):
                    return None
                difference = self.difference(a, b)
                answer = DECIDE[op](self.interval(difference), _never_zero(difference))
                if answer is not None:
                    return answer
                # With remainders written as quotients, more may meet.
                expanded = remainders.without_remainders(self, difference, a.dtype)
                if expanded == difference:
                    return None
                return DECIDE[op](self.interval(expanded), _never_zero(expanded))
        return None


def _extremes(terms: Sum, side: int) -> Iterator[tuple[Term, bool]]:
    """Yield the minima and maxima among ``terms``, and whether any operand limits the sum: else all
    do.

    An upper limit (side 1) of a minimum is that of any operand, of a maximum that of all.
    """
    for term, count in terms.items():
        match term:
            case (Binary(("min" | "max") as op, _, _),):
                yield term, (op == "min") == ((side == 1) == (count > 0))


def _narrow(terms: Sum) -> bool:
    """Whether all numbers in ``terms`` are ones of each dtype that has sums."""
    numbers = terms.values()
    return not numbers or (min(numbers) >= -(1 << 31) and max(numbers) < 1 << 31)


def _wrapped(terms: Sum, dtype: str) -> Sum:
    """Return ``terms`` with numbers of ``dtype``: each is right but for multiples of
    ``2**bits``.
    """
    least, most = range_of(dtype)
    assert least is not None
    assert most is not None
    count = most - least + 1
    near = {term: (factor - least) % count + least for term, factor in terms.items()}
    return {term: factor for term, factor in near.items() if factor}


def _plain(limit: Limit) -> int | None:
    if isinstance(limit, IntImm):
        return limit.value
    return limit if isinstance(limit, int) else None


def _never_zero(difference: Sum) -> bool:
    """Whether the terms share a factor that the constant does not have."""
    common = math.gcd(*(count for term, count in difference.items() if term))
    return common > 1 and difference.get((), 0) % common != 0
