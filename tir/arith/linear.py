"""What linear facts about integers contradict each other: the proofs that need more than one look
at a sum.

A condition is proved where its opposite is contradictory. Conditions become sums that are not
negative; what is known of their atoms joins them: the limits of variables, ``0 <= x - x // d * d <
d``, ``min(a, b) <= a``, products of limits. Fourier-Motzkin elimination, rounded to integers after
every step, looks for a contradiction. Where there is none, one of the minima, choices and
disjunctions left is taken apart into its cases, each of which has to be contradictory.

Every step is sound; nothing is concluded where the budget of a question is spent.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

from relay2relax.core import dtype as dt
from relay2relax.tir.arith.interval import ANYTHING, Interval, known
from relay2relax.tir.arith.overflow import Wraps
from relay2relax.tir.arith.remainders import times
from relay2relax.tir.arith.sums import Sum, Term, add, atom_sum, constant_sum, flattened, scale, without
from relay2relax.tir.ir.expr import AnyExtent, Binary, BinaryOp, Call, Cast, IntImm, Not, PrimExpr, Select, Var, binary

if TYPE_CHECKING:
    from relay2relax.tir.arith.algebra import Algebra

# Pairs of facts that one question may combine, and cases that it may look at.
_COMBINATIONS = 4096
_CASES = 96
# Minima of more operands, and sums of more terms, stay as they are.
_WIDEST_EXTREME = 6
_LONGEST_SUM = 24

_WIDE = ("int64", "int32")
_OPPOSITE: dict[str, BinaryOp] = {"<": ">=", ">=": "<", ">": "<=", "<=": ">", "==": "!=", "!=": "=="}
_COMPARISONS = frozenset(_OPPOSITE)

# A condition and whether it holds.
Claim: TypeAlias = tuple[PrimExpr, bool]


@dataclass(slots=True)
class _Case:
    """What one of several cases adds: sums that are not negative, conditions, and the value of an
    atom.
    """

    facts: list[Sum] = field(default_factory=list)
    claims: list[Claim] = field(default_factory=list)
    value: tuple[PrimExpr, Sum] | None = None


@dataclass(slots=True)
class _State:
    """What is assumed so far; ``splits`` are the disjunctions that no case was chosen of yet."""

    facts: list[Sum] = field(default_factory=list)
    known: set[PrimExpr] = field(default_factory=set)
    values: dict[PrimExpr, Sum] = field(default_factory=dict)
    literals: dict[PrimExpr, bool] = field(default_factory=dict)
    splits: list[list[_Case]] = field(default_factory=list)

    def copy(self) -> _State:
        return _State(self.facts[:], set(self.known), dict(self.values), dict(self.literals), self.splits[:])


def decided(algebra: Algebra, condition: PrimExpr) -> bool | None:
    """Return whether ``condition`` always (True) or never (False) holds, None where neither is
    found.
    """
    if isinstance(condition, Binary) and condition.op in _COMPARISONS and not _promising(algebra, condition):
        return None
    if Search(algebra).contradictory([(condition, False)]):
        return True
    return False if Search(algebra).contradictory([(condition, True)]) else None


def _promising(algebra: Algebra, condition: Binary) -> bool:
    """Whether there is more to be known of a comparison than the intervals of its variables say."""
    if condition.a.dtype not in _WIDE:
        return condition.a == condition.b or isinstance(condition.a, IntImm)
    if isinstance(condition.a, AnyExtent) or isinstance(condition.b, AnyExtent):
        return False
    difference = add(algebra.sum(condition.a), algebra.sum(condition.b), -1)
    if len(difference) > _LONGEST_SUM:
        return False
    for term in difference:
        for atom in term:
            if len(term) > 1 or not isinstance(atom, Var):
                return True
            if any(isinstance(limit, PrimExpr) for limit in algebra.bounds.get(atom, ())):
                return True
    return False


class Search:
    """One search for a contradiction."""

    def __init__(self, algebra: Algebra) -> None:
        self.algebra = algebra
        self.combinations = _COMBINATIONS
        self.cases = _CASES

    def contradictory(self, claims: Sequence[Claim]) -> bool:
        """Whether the claims cannot all be right."""
        return self.refuted(_State(), _Case(claims=list(claims)))

    def refuted(self, state: _State, case: _Case) -> bool:
        """Whether ``case`` contradicts ``state``, which is changed."""
        self.cases -= 1
        if self.cases < 0:
            return False
        if case.value is not None:
            atom, value = case.value
            state.values[atom] = value
            case.facts = [*state.facts, *case.facts]
            state.facts = []
        for fact in case.facts:
            self.assume(state, fact)
        if not self.take(state, case.claims):
            return True
        if self.infeasible(state.facts):
            return True
        if not state.splits:
            return False
        alternatives = state.splits.pop()
        return all(self.refuted(state.copy(), _Case(a.facts[:], a.claims, a.value)) for a in alternatives)

    # Conditions.

    def take(self, state: _State, claims: Iterable[Claim]) -> bool:
        """Add conditions to ``state``; whether they may hold."""
        pending = list(claims)
        while pending:
            condition, holds = pending.pop()
            match condition:
                case IntImm(value):
                    if bool(value) != holds:
                        return False
                case Not(inner):
                    pending.append((inner, not holds))
                case Call("likely", (inner,)):
                    pending.append((inner, holds))
                case Binary(("and" | "or") as op, a, b):
                    if (op == "and") == holds:
                        pending += [(a, holds), (b, holds)]
                    else:
                        state.splits.append([_Case(claims=[(a, holds)]), _Case(claims=[(b, holds)])])
                case Cast("bool", inner):
                    truth = inner if inner.dtype == "bool" else binary("!=", inner, IntImm(0, inner.dtype))
                    pending.append((truth, holds))
                case _:
                    literal, right = _literal(condition, holds)
                    if isinstance(literal, IntImm):
                        pending.append((literal, right))
                    elif state.literals.setdefault(literal, right) != right:
                        return False
                    elif isinstance(literal, Binary) and literal.op in _COMPARISONS and literal.a.dtype in _WIDE:
                        self.compare(state, literal.op if right else _OPPOSITE[literal.op], literal.a, literal.b)
        return True

    def compare(self, state: _State, op: BinaryOp, a: PrimExpr, b: PrimExpr) -> None:
        if isinstance(a, AnyExtent) or isinstance(b, AnyExtent):
            return
        difference = add(self.algebra.sum(a), self.algebra.sum(b), -1)
        less, more = add(scale(difference, -1), {(): 1}, -1), add(difference, {(): 1}, -1)
        match op:
            case "<":
                self.assume(state, less)
            case ">":
                self.assume(state, more)
            case "<=":
                self.assume(state, scale(difference, -1))
            case ">=":
                self.assume(state, difference)
            case "==":
                self.assume(state, difference)
                self.assume(state, scale(difference, -1))
            case "!=":
                # Looked at last: another case may decide it.
                state.splits.insert(0, [_Case([less]), _Case([more])])

    # Facts.

    def assume(self, state: _State, fact: Sum) -> None:
        """Add ``fact``, a sum that is not negative, and what is known of its atoms."""
        pending = [fact]
        while pending:
            one = self.plain(state, pending.pop())
            state.facts.append(one)
            if len(one) > _LONGEST_SUM:
                continue
            for term in one:
                for atom in term:
                    if atom not in state.known:
                        state.known.add(atom)
                        pending += self.definition(state, atom)

    def plain(self, state: _State, fact: Sum) -> Sum:
        """Return ``fact`` with remainders, conversions and atoms of known value written as sums."""
        for _ in range(_LONGEST_SUM):
            found = next((a for term in fact for a in term if self.value(state, a) is not None), None)
            if found is None or len(fact) > _LONGEST_SUM:
                break
            value = self.value(state, found)
            assert value is not None
            result: Sum = {}
            for term, count in fact.items():
                left = without(term, (found,))
                result = add(result, {term: count} if left is None else times({left: count}, value))
            fact = result
        return fact

    def value(self, state: _State, atom: PrimExpr) -> Sum | None:
        """Return the sum that ``atom`` stands for, None where it stands for itself."""
        if atom in state.values:
            return state.values[atom]
        algebra = self.algebra
        match atom:
            case Binary("%", a, b):
                over, under = algebra.sum(a), algebra.sum(b)
                low = algebra.interval(under)[0]
                if low is not None and low >= 0 and algebra.divides(under) and under:
                    with suppress(Wraps):
                        return add(over, times(algebra.divided(over, under, atom.dtype), under), -1)
            case Binary("truncmod", a, IntImm(divisor) as b) if divisor > 0:
                return add(algebra.sum(a), algebra.sum(Binary("truncdiv", a, b)), -divisor)
            case Cast(dtype, value) if dtype in _WIDE and value.dtype in _WIDE and self.fits(dtype, value):
                return algebra.sum(value)
        return None

    def fits(self, dtype: str, value: PrimExpr) -> bool:
        """Whether a conversion to ``dtype`` changes nothing."""
        if dtype == "int64" or value.dtype == "int32":
            return True
        low, high = self.algebra.expr_interval(value)
        return low is not None and high is not None and low >= -(2**31) and high < 2**31

    def definition(self, state: _State, atom: PrimExpr) -> list[Sum]:
        """Return what is known of ``atom`` as sums that are not negative.

        Its cases become a split.
        """
        algebra, self_sum = self.algebra, atom_sum(atom)
        match atom:
            case Var():
                found: list[Sum] = []
                low, high = algebra.bounds.get(atom, (None, None))
                if low is not None:
                    found.append(add(self_sum, _limit(algebra, low), -1))
                if high is not None:
                    found.append(add(_limit(algebra, high), self_sum, -1))
                return found
            case Binary("//", a, b):
                over, under = algebra.sum(a), algebra.sum(b)
                least = algebra.interval(under)[0]
                if least is None or least < 0 or not algebra.divides(under):
                    return self.ends(atom)
                rest = add(over, times(self_sum, under), -1)
                room = add(add(under, rest, -1), {(): 1}, -1)
                return [rest, room, *self.ends(atom)]
            case Binary("truncdiv", a, IntImm(divisor)) if divisor > 0:
                over = algebra.sum(a)
                rest = add(over, self_sum, -divisor)
                state.splits.append([
                    _Case([over, rest, add({(): divisor - 1}, rest, -1)]),
                    _Case([scale(over, -1), scale(rest, -1), add({(): divisor - 1}, rest)]),
                ])  # fmt: skip
                return []
            case Binary(("min" | "max") as op, _, _):
                cases = [algebra.sum(one) for one in flattened(op, atom)]
                if len(cases) > _WIDEST_EXTREME:
                    return self.ends(atom)
                split: list[_Case] = []
                sign = 1 if op == "min" else -1
                # The first of equal minima is the least, the last of equal maxima the greatest: so
                # min(a, b) and max(a, b) are never both ``a`` by two cases.
                for place in range(len(cases)):
                    beaten = cases[:place] if op == "min" else cases[place + 1 :]
                    gaps = [add(scale(add(one, cases[place], -1), sign), {(): 1}, -1) for one in beaten]
                    split.append(_Case(gaps, value=(atom, cases[place])))
                state.splits.append(split)
                return [scale(add(one, self_sum, -1), sign) for one in cases]
            case Select(condition, a, b) | Call("if_then_else", (condition, a, b)):
                state.splits.append([
                    _Case(claims=[(condition, True)], value=(atom, algebra.sum(a))),
                    _Case(claims=[(condition, False)], value=(atom, algebra.sum(b))),
                ])  # fmt: skip
                return []
        return self.ends(atom)

    def ends(self, atom: PrimExpr) -> list[Sum]:
        """Return what the interval of ``atom`` says."""
        return _within(atom_sum(atom), self.algebra.atom_interval(atom))

    def products(self, facts: Sequence[Sum]) -> list[Sum]:
        """Return what the limits of two factors say of their product: ``(x - low) * (y - low) >=
        0`` and so on.
        """
        terms = dict.fromkeys(term for fact in facts for term in fact if len(term) > 1)
        if not terms:
            return []
        limits: dict[Term, Interval] = {}
        for fact in facts:
            match [term for term in fact if term]:
                case [(_,) as one] if abs(fact[one]) == 1:
                    low, high = limits.get(one, ANYTHING)
                    end = -fact.get((), 0) * fact[one]
                    limits[one] = (known(low, end, max), high) if fact[one] > 0 else (low, known(high, end, min))
        found: list[Sum] = []
        for term in terms:
            if len(term) == 2 and term[0] == term[1]:
                found.append({term: 1})
            for atom in dict.fromkeys(term):
                rest = without(term, (atom,))
                assert rest is not None
                low, high = limits.get((atom,), ANYTHING)
                if low is not None and low == high:
                    same = add({term: 1}, {rest: low}, -1)
                    found += [same, scale(same, -1)]
                above = _within({(atom,): 1}, (low, high))
                interval = self.algebra.term_interval(rest, 1) if len(rest) > 1 else limits.get(rest, ANYTHING)
                found += [times(one, other) for one in above for other in _within({rest: 1}, interval)]
        return found

    # Elimination.

    def infeasible(self, facts: Sequence[Sum]) -> bool:
        """Whether no integers make all ``facts`` not negative, as far as elimination sees it."""
        rows: dict[frozenset[tuple[Term, int]], int] = {}
        for fact in (*facts, *self.products(facts)):
            if _contradicts(rows, fact):
                return True
        # A long sum is seen against its opposite alone: a join of many tensors asks no more.
        rows = {row: c for row, c in rows.items() if len(row) <= _LONGEST_SUM}
        while rows:
            chosen = _next(rows)
            upper = [(dict(row), c) for row, c in rows.items() if dict(row).get(chosen, 0) < 0]
            lower = [(dict(row), c) for row, c in rows.items() if dict(row).get(chosen, 0) > 0]
            self.combinations -= len(upper) * len(lower)
            if self.combinations < 0:
                return False
            rows = {row: c for row, c in rows.items() if all(term != chosen for term, _ in row)}
            for one, first in lower:
                for other, second in upper:
                    a, b = one[chosen], -other[chosen]
                    joined = add(scale(one, b), other, a)
                    joined[()] = first * b + second * a
                    if _contradicts(rows, joined):
                        return True
        return False


def _next(rows: Iterable[frozenset[tuple[Term, int]]]) -> Term:
    """Return what to eliminate next: first what leaves no integers out, then what leaves the fewest
    rows.

    Where the factor of each lower, or of each upper, limit is one, the rows left say all about the
    other terms.
    """
    numbers: dict[Term, list[int]] = {}
    largest: dict[Term, list[int]] = {}
    for row in rows:
        for term, count in row:
            side = count > 0
            numbers.setdefault(term, [0, 0])[side] += 1
            factors = largest.setdefault(term, [0, 0])
            factors[side] = max(factors[side], abs(count))

    def cost(term: Term) -> tuple[bool, int]:
        below, above = numbers[term]
        return min(largest[term]) > 1, below * above - below - above

    return min(numbers, key=cost)


def _contradicts(rows: dict[frozenset[tuple[Term, int]], int], fact: Sum) -> bool:
    """Add ``fact`` in lowest terms to ``rows``; whether it cannot hold beside what is there."""
    constant = fact.get((), 0)
    linear = {term: count for term, count in fact.items() if term}
    if not linear:
        return constant < 0
    common = math.gcd(*linear.values())
    constant //= common
    key = frozenset((term, count // common) for term, count in linear.items())
    if rows.get(key, constant) >= constant:
        rows[key] = constant
    opposite = rows.get(frozenset((term, -count) for term, count in key))
    return opposite is not None and opposite + rows[key] < 0


def _within(terms: Sum, ends: tuple[int | None, int | None]) -> list[Sum]:
    """Return ``terms - low`` and ``high - terms``, as far as the ends are known."""
    low, high = ends
    found = [] if low is None else [add(terms, constant_sum(low), -1)]
    return found if high is None else [*found, add(constant_sum(high), terms, -1)]


def _limit(algebra: Algebra, limit: int | PrimExpr) -> Sum:
    return constant_sum(limit) if isinstance(limit, int) else algebra.sum(limit)


def _literal(condition: PrimExpr, holds: bool) -> Claim:
    """Return a condition of which nothing is known but itself, in one form with its opposite."""
    if isinstance(condition, Binary) and condition.op in _COMPARISONS and not dt.is_float(condition.a.dtype):
        a, b = condition.a, condition.b
        if a == b:
            return IntImm(int(condition.op in ("==", "<=", ">=")), "bool"), holds
        folded = binary(condition.op, a, b)
        if isinstance(folded, IntImm):
            return folded, holds
        match condition.op:
            case ">":
                return Binary("<", b, a), holds
            case ">=":
                return Binary("<", a, b), not holds
            case "<=":
                return Binary("<", b, a), not holds
            case "!=":
                return Binary("==", a, b), not holds
    return condition, holds
