"""Rules that say what takes the place of values: of one that matches a pattern, of a tuple's worth
of them, of all that a context speaks of.

A rule is asked of bindings in a row that have no effects, and answers with new values by variable.
``rewriting.py`` puts them in place.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias, cast, get_args

from relay2relax.core.errors import mistake
from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.errors.table import patterns as kinds
from relay2relax.core.matching.constraints import PatternContext
from relay2relax.core.matching.matcher import Matcher
from relay2relax.core.matching.patterns import AltPattern, DFPattern
from relay2relax.core.matching.patterns import TuplePattern as AnyTuplePattern
from relay2relax.core.matching.view import PatternError
from relay2relax.relax_ir.dpl.block_match import match_bindings
from relay2relax.relax_ir.dpl.view import RelaxView
from relay2relax.relax_ir.inference.infer import Inference
from relay2relax.relax_ir.ir.expr import Binding, Expr, Function, GlobalVar, MatchCast, Tuple, TupleGetItem, Var
from relay2relax.relax_ir.ir.visit import variables
from relay2relax.tir.ir.stmt import PrimFunc

Bindings: TypeAlias = Sequence["Binding | MatchCast"]
Matches: TypeAlias = "Mapping[Any, Any]"
# What a pattern's match becomes: the expression it is given, or None, for nothing new.
Replace: TypeAlias = Callable[[Expr, Matches], "Expr | None"]
# What a context's match becomes: new values by variable, given all values.
ReplaceAll: TypeAlias = Callable[[Matches, Mapping[Var, Expr]], Mapping[Var, Expr]]

# Tuples of more fields have too many ways to be found in.
MOST_FIELDS = 3


def _asked(replace: Replace, value: Expr, matches: Matches) -> Expr | None:
    """Return what a user's function makes of a value.

    Raises ExtensionError where that is neither an expression nor None.
    """
    made: object = ask(replace, value, matches, what="the rewriter of a pattern")
    if made is not None and not isinstance(made, get_args(Expr)):
        raise returned("the rewriter of a pattern", "an expression or None", made)
    return cast("Expr | None", made)


class Rule:
    """Base of all rules."""

    @abstractmethod
    def values(self, bindings: Bindings, inference: Inference) -> dict[Var, Expr]:
        """Return new values by variable."""

    def functions(self) -> Mapping[GlobalVar, Function | PrimFunc]:
        """Return functions that new values call."""
        return {}


@dataclass(frozen=True, eq=False)
class OneValue(Rule):
    """A value that matches ``pattern``; ``also`` are patterns that have then matched, too."""

    pattern: DFPattern
    replace: Replace
    also: tuple[DFPattern, ...] = ()
    subroutines: Mapping[GlobalVar, Function | PrimFunc] = field(default_factory=dict)

    def functions(self) -> Mapping[GlobalVar, Function | PrimFunc]:
        """Return those given."""
        return self.subroutines

    def values(self, bindings: Bindings, inference: Inference) -> dict[Var, Expr]:
        """Return new values by variable; what was replaced just now is not looked into."""
        view = RelaxView({}, inference)
        matcher = Matcher(view)
        roots = matcher.roots(self.pattern)
        made: dict[Var, Expr] = {}
        for binding in bindings:
            new = self._new_value(binding.value, matcher, view, roots)
            if new is None:
                view.bind(binding.var, binding.value)
            else:
                made[binding.var] = new
        return made

    def _new_value(self, value: Expr, matcher: Matcher, view: RelaxView, roots: frozenset[str] | None) -> Expr | None:
        if roots is not None:
            call = view.call(view.value(value))
            if call is None or view.operator(call[0]) not in roots:
                return None
        found = matcher.match(self.pattern, value)
        if found is None:
            return None
        matches: dict[Any, Any] = {one: nodes[0] for one, nodes in found.items()}
        matches.update((one, view.value(value)) for one in self.also)
        new = _asked(self.replace, value, matches)
        return None if new is value else new


@dataclass(frozen=True, eq=False)
class FirstOf(Rule):
    """One rule, and another for the values that it leaves."""

    first: Rule
    second: Rule

    def functions(self) -> Mapping[GlobalVar, Function | PrimFunc]:
        """Return those of both."""
        return {**self.first.functions(), **self.second.functions()}

    def values(self, bindings: Bindings, inference: Inference) -> dict[Var, Expr]:
        """Return new values by variable."""
        made = self.first.values(bindings, inference)
        rest = [binding for binding in bindings if binding.var not in made]
        return {**made, **self.second.values(rest, inference)}


@dataclass(slots=True)
class _Found:
    """A binding, and what each field's pattern matched in it."""

    binding: Binding | MatchCast
    matches: Sequence[Matches | None]
    users: set[Var] = field(default_factory=set)
    replaced: bool = False


@dataclass(frozen=True, eq=False)
class TupleOfValues(Rule):
    """Values that match the fields of a tuple that is nowhere put together."""

    patterns: tuple[DFPattern, ...]
    replace: Replace
    also: tuple[DFPattern, ...] = ()
    subroutines: Mapping[GlobalVar, Function | PrimFunc] = field(default_factory=dict)

    def functions(self) -> Mapping[GlobalVar, Function | PrimFunc]:
        """Return those given."""
        return self.subroutines

    def values(self, bindings: Bindings, inference: Inference) -> dict[Var, Expr]:
        """Return new values by variable; raises PatternError for too many fields."""
        if len(self.patterns) > MOST_FIELDS:
            found = f"{len(self.patterns)} fields"
            raise PatternError(
                mistake(kinds.PATTERN, what="an implicit tuple", expected=f"of {MOST_FIELDS} at most", found=found)
            )
        view = RelaxView({}, inference)
        matcher = Matcher(view)
        seen: list[_Found] = []
        place_of: dict[Var, int] = {}
        made: dict[Var, Expr] = {}
        for binding in bindings:
            place_of[binding.var] = len(seen)
            matched = [matcher.match(one, binding.value) for one in self.patterns]
            firsts = [None if one is None else {part: nodes[0] for part, nodes in one.items()} for one in matched]
            seen.append(_Found(binding, firsts))
            new = next(filter(None, (self._replaced(seen, places) for places in self._places(seen))), None)
            if new is None:
                view.bind(binding.var, binding.value)
            else:
                made.update(new)
                for var in new:
                    seen[place_of[var]].replaced = True
                    view.values.pop(var, None)
            for var in variables(binding.value):
                if var in place_of:
                    seen[place_of[var]].users.add(binding.var)
        return made

    def _places(self, seen: Sequence[_Found]) -> Iterator[list[int]]:
        """Yield the bindings that may be the fields, the newest at each field in turn, the last
        field first; the others as late as may be, those of later fields changing last.
        """
        newest = len(seen) - 1
        for own in reversed(range(len(self.patterns))):
            if seen[newest].matches[own] is None:
                continue
            others = [place for place in reversed(range(len(self.patterns))) if place != own]
            yield from self._choices(seen, {own: newest}, others)

    def _choices(self, seen: Sequence[_Found], chosen: dict[int, int], others: Sequence[int]) -> Iterator[list[int]]:
        if not others:
            yield [chosen[place] for place in range(len(self.patterns))]
            return
        for candidate in reversed(range(len(seen) - 1)):
            one = seen[candidate]
            if one.replaced or one.matches[others[0]] is None or candidate in chosen.values():
                continue
            yield from self._choices(seen, {**chosen, others[0]: candidate}, others[1:])

    def _replaced(self, seen: Sequence[_Found], places: Sequence[int]) -> dict[Var, Expr] | None:
        merged: dict[Any, Any] = {}
        for field_place, place in enumerate(places):
            for pattern, node in (seen[place].matches[field_place] or {}).items():
                if pattern in merged and not _alike(merged[pattern], node):
                    return None
                merged.setdefault(pattern, node)
        matched_vars = {node for node in merged.values() if isinstance(node, Var)}
        if any(seen[place].users - matched_vars for place in places):
            return None
        whole = Tuple(tuple(seen[place].binding.value for place in places))
        merged.update((one, whole) for one in self.also)
        new = _asked(self.replace, whole, merged)
        if new is None or new is whole:
            return None
        fields = new.fields if isinstance(new, Tuple) else [TupleGetItem(new, i) for i in range(len(places))]
        if len(fields) != len(places):
            found = f"{len(fields)} fields"
            raise PatternError(
                mistake(kinds.PATTERN, what="what replaces a tuple", expected=f"of {len(places)} fields", found=found)
            )
        return {seen[place].binding.var: one for place, one in zip(places, fields, strict=True)}


def _alike(one: Any, other: Any) -> bool:
    if one is other or one == other:
        return True
    view = RelaxView()
    return view.alike(one, other)


@dataclass(frozen=True, eq=False)
class WholeContext(Rule):
    """All that a context speaks of, again and again among what is left."""

    context: PatternContext
    replace: ReplaceAll

    def values(self, bindings: Bindings, inference: Inference) -> dict[Var, Expr]:
        """Return new values by variable."""
        made: dict[Var, Expr] = {}
        rest = list(bindings)
        while True:
            values = {binding.var: binding.value for binding in rest}
            found = match_bindings(self.context, rest, values)
            new = {} if found is None else ask(self.replace, found, values, what="the rewriter of a context")
            if not isinstance(new, Mapping):
                raise returned("the rewriter of a context", "new values by variable", new)
            if not new:
                return made
            made.update(new)
            left = [binding for binding in rest if binding.var not in new]
            if len(left) == len(rest):
                return made
            rest = left


def rule_of(
    pattern: DFPattern,
    replace: Replace,
    subroutines: Mapping[GlobalVar, Function | PrimFunc] | None = None,
    also: tuple[DFPattern, ...] = (),
) -> Rule:
    """Return the rule for a pattern.

    Alternatives are tried one after the other, so that a second one counts where nothing is made of
    the first; a tuple is looked for as one, and then as values of their own.
    """
    rules: list[Rule] = []
    waiting: list[tuple[DFPattern, tuple[DFPattern, ...]]] = [(pattern, also)]
    while waiting:
        one, known = waiting.pop()
        match one:
            case AltPattern(left, right):
                waiting += ((right, (*known, one)), (left, (*known, one)))
            case AnyTuplePattern(fields) if fields is not None:
                rules.append(OneValue(one, replace, known, subroutines or {}))
                rules.append(TupleOfValues(tuple(fields), replace, (*known, one), subroutines or {}))
            case _:
                rules.append(OneValue(one, replace, known, subroutines or {}))
    made = rules.pop()
    while rules:
        made = FirstOf(rules.pop(), made)
    return made
