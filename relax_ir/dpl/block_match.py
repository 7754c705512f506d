"""A variable of a block for each pattern of a context, so that every constraint holds.

It follows TVM's ``MatchGraph``: patterns that nothing is used by come first, in the order in which
constraints name them; each tries the variables that are used, in the order of their use; what uses
a variable is matched with what uses its pattern, one by one. No variable stands for two patterns.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from typing import Any, TypeAlias

from relay2relax.core.matching.constraints import PatternContext, Use
from relay2relax.core.matching.matcher import Matcher
from relay2relax.core.matching.patterns import DFPattern
from relay2relax.core.matching.view import matched_block
from relay2relax.core.walk import answer
from relay2relax.relax_ir.dpl.view import RelaxView
from relay2relax.relax_ir.ir.expr import Binding, BindingBlock, Expr, MatchCast, Var
from relay2relax.relax_ir.ir.struct_info import ShapeStructInfo, TensorStructInfo
from relay2relax.relax_ir.ir.visit import variables
from relay2relax.tir.extent import Extent, equal

Chosen: TypeAlias = Mapping[DFPattern, Var]
# A search that may start others, and is told what they found.
Search: TypeAlias = "Generator[Search, Chosen | None, Chosen | None]"


def match_bindings(
    context: PatternContext, bindings: Sequence[Binding | MatchCast], values: Mapping[Var, Expr]
) -> Chosen | None:
    """Return a variable for each pattern of the context, None where there is no such choice.

    ``values`` are those of the variables that the bindings bind.
    """
    users: list[DFPattern] = list(context.uses)  # type: ignore[arg-type]
    used_by_others = {user for of in context.uses.values() for user in of}
    roots = [pattern for pattern in users if pattern not in used_by_others]
    if not roots:
        return None
    return answer(_Blocks(context, bindings, values).trees(roots, 0, {}))


class _Blocks:
    """The uses between the variables of some bindings."""

    def __init__(
        self, context: PatternContext, bindings: Sequence[Binding | MatchCast], values: Mapping[Var, Expr]
    ) -> None:
        self.context = context
        self.matcher = Matcher(RelaxView(values))
        # For each variable, in the order of first use, those whose values use it.
        self.users: dict[Var, list[Var]] = {}
        self.used: dict[Var, list[Var]] = {}
        for binding in bindings:
            if isinstance(binding, Binding):
                self.used[binding.var] = list(variables(binding.value))
                for var in dict.fromkeys(self.used[binding.var]):
                    self.users.setdefault(var, []).append(binding.var)

    def trees(self, roots: Sequence[DFPattern], place: int, chosen: Chosen) -> Search:
        """Find variables for the roots from ``place`` on, and for all that uses them."""
        while place < len(roots) and roots[place] in chosen:
            place += 1
        if place == len(roots):
            return chosen
        for var in self.users:
            if var in chosen.values():
                continue
            found = yield self.tree(roots[place], var, chosen)
            if found is None:
                continue
            merged = {**chosen, **found}
            if self.shapes_hold(merged):
                rest = yield self.trees(roots, place + 1, merged)
                if rest is not None:
                    return rest
        return None

    def tree(self, pattern: DFPattern, var: Var, chosen: Chosen) -> Search:
        """Find variables for a pattern, which ``var`` shall be, and for all that uses it."""
        if self.matcher.match(pattern, var) is None:
            return None
        found: dict[DFPattern, Var] = {pattern: var}
        users: Mapping[Any, tuple[Use, ...]] = self.context.uses.get(pattern, {})
        for user, uses in users.items():
            for candidate in self.users.get(var, ()):
                if user in found:
                    break
                taken = candidate in found.values() or chosen.get(user, candidate) is not candidate
                if taken or not all(self.holds(use, var, candidate) for use in uses):
                    continue
                inner = yield self.tree(user, candidate, chosen)
                if inner is not None:
                    found = {**found, **inner}
            if user not in found:
                return None
        return found

    def holds(self, use: Use, var: Var, user: Var) -> bool:
        """Whether ``user`` uses ``var`` so."""
        if use.only and len(self.users[var]) != 1:
            return False
        used = self.used[user]
        return use.index == -1 or (use.index < len(used) and used[use.index] is var)

    def shapes_hold(self, chosen: Chosen) -> bool:
        """Whether those that are chosen already have equal shapes where they shall."""
        for patterns in self.context.same_shapes:
            shapes = [_shape(chosen[one]) for one in patterns if one in chosen]  # type: ignore[index]
            if shapes and not all(_same(shapes[0], other) for other in shapes):
                return False
        return True


def _shape(var: Var) -> tuple[Extent, ...] | None:
    match var.info:
        case TensorStructInfo(shape) | ShapeStructInfo(shape):
            return shape
    return None


def _same(one: tuple[Extent, ...] | None, other: tuple[Extent, ...] | None) -> bool:
    return one is not None and other is not None and len(one) == len(other) and all(map(equal, one, other))


@matched_block.register(BindingBlock)
def _(block: BindingBlock, context: PatternContext) -> Chosen | None:
    return match_bindings(context, block.bindings, {one.var: one.value for one in block.bindings})
