"""Which values a ``match`` leaves uncovered.

A case is a pattern whose variables are wildcards. Starting from the case "anything", each case is
held against the clauses in order: a clause covers it, or excludes it, or is more special than it;
then the case is split, a wildcard into one case per constructor or into a tuple of wildcards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from itertools import islice, product
from typing import Literal, TypeAlias

from relay2relax.relay_ir.ir.expr import (
    Match,
    Pattern,
    PatternConstructor,
    PatternTuple,
    PatternVar,
    PatternWildcard,
)
from relay2relax.relay_ir.ir.module import TypeData
from relay2relax.relay_ir.ir.types import GlobalTypeVar

_Outcome: TypeAlias = Literal["covered", "excluded", "unclear"]
# Cases are shown to a reader; a match over wide types is not enumerated to the end.
_MOST = 64
# A case is split into at most so many, and so many comparisons are made: patterns of n fields have
# 2^n cases. What is not looked at counts as covered; a value that no clause fits fails at run time.
_MOST_PARTS = 1024
_MOST_COMPARISONS = 200_000


def unmatched_cases(match: Match, definitions: Mapping[GlobalTypeVar, TypeData]) -> list[Pattern]:
    """Return patterns of values that no clause of ``match`` covers.

    Empty where every value is covered.
    """
    missing: list[Pattern] = []
    candidates: list[Pattern] = [PatternWildcard()]
    left = _MOST_COMPARISONS
    while candidates and len(missing) < _MOST and left > 0:
        case = candidates.pop()
        for clause in match.clauses:
            left -= 1 + len(getattr(clause.lhs, "patterns", ()))
            outcome = _compare(clause.lhs, case)
            if outcome == "covered":
                break
            if outcome == "unclear":
                candidates.extend(reversed(_split(clause.lhs, case, definitions)))
                break
        else:
            missing.append(case)
    return missing


def pattern_text(pattern: Pattern) -> str:
    """Return a pattern in Relay's syntax."""
    match pattern:
        case PatternConstructor(constructor, patterns):
            fields = f"({', '.join(map(pattern_text, patterns))})" if patterns else ""
            return constructor.name + fields
        case PatternTuple(patterns):
            return f"({', '.join(map(pattern_text, patterns))})"
        case PatternVar(var):
            return f"%{var.name}"
    return "_"


def _compare(clause: Pattern, case: Pattern) -> _Outcome:
    match clause, case:
        case (PatternWildcard() | PatternVar(), _):
            return "covered"
        case (_, PatternWildcard()):
            return "unclear"
        case PatternConstructor(constructor, patterns), PatternConstructor(other, others):
            if not constructor.same_as(other):
                return "excluded"
            return _compare_all(patterns, others)
        case PatternTuple(patterns), PatternTuple(others):
            return _compare_all(patterns, others)
    return "excluded"


def _compare_all(clauses: tuple[Pattern, ...], cases: tuple[Pattern, ...]) -> _Outcome:
    outcomes = [_compare(one, other) for one, other in zip(clauses, cases, strict=False)]
    if "excluded" in outcomes:
        return "excluded"
    return "unclear" if "unclear" in outcomes else "covered"


def _split(clause: Pattern, case: Pattern, definitions: Mapping[GlobalTypeVar, TypeData]) -> list[Pattern]:
    """Return the cases that make up ``case``, finer where ``clause`` is more special."""
    match clause, case:
        case PatternConstructor(constructor), PatternWildcard():
            return [
                PatternConstructor(one, tuple(PatternWildcard() for _ in one.inputs))
                for one in definitions[constructor.belong_to].constructors
            ]
        case PatternTuple(patterns), PatternWildcard():
            return [PatternTuple(tuple(PatternWildcard() for _ in patterns))]
        case (PatternConstructor(_, patterns), PatternConstructor(_, others) as whole) | (
            PatternTuple(patterns),
            PatternTuple(others) as whole,
        ):
            choices = [_split(one, other, definitions) for one, other in zip(patterns, others, strict=True)]
            return [replace(whole, patterns=chosen) for chosen in islice(product(*choices), _MOST_PARTS)]
    return [case]
