"""What a rule of simplification is, and how rules are applied."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from relay2relax.core.passes import note_rewritten
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import declared, left_alone, map_functions

# Rules that undo each other would never end.
_MOST_ROUNDS = 100


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what ``change`` makes of calls of the operators ``names``, of any one where there are
    none.

    ``change(call, types)`` returns the call itself where the rule does not apply.
    """

    names: tuple[str, ...]
    change: Callable[[Call, TypeTable], Expr]

    def applies_to(self, node: Expr) -> bool:
        """Whether ``node`` is a call that the rule is asked about."""
        return isinstance(node, Call) and isinstance(node.op, Op) and (not self.names or node.op.name in self.names)


def apply_rules(mod: IRModule, rules: Sequence[Rule]) -> IRModule:
    """Return ``mod`` with ``rules`` applied, each to whole functions in turn, until none applies.

    What a rule makes is kept where it has the type of what it stands for. Types are inferred where
    ``mod`` has none.
    """
    mod = declared(mod)
    types = TypeTable.inferred(mod)
    return map_functions(mod, lambda one: one if left_alone(one) else _simplified(one, rules, types))


def _simplified(root: Function, rules: Sequence[Rule], types: TypeTable) -> Function:
    for _ in range(_MOST_ROUNDS):
        before = root
        for rule in rules:
            root = _applied(root, rule, types)
        if root is before:
            break
    return root


def _applied(root: Function, rule: Rule, types: TypeTable) -> Function:
    """Return ``root`` with ``rule`` applied where it applies already, itself where it does not."""
    order = list(nodes(root))
    places = {node for node in order if rule.applies_to(node) and _change(rule, node, types) is not node}
    if not places:
        return root
    done: dict[Expr, Expr] = {}
    for node in order:
        made = with_children(node, [done[child] for child in children(node)])
        types.same(made, node)
        if node in places:
            made = _change(rule, made, types)
        done[node] = made
    note_rewritten(done)
    result = done[root]
    assert isinstance(result, Function)
    return result


def _change(rule: Rule, call: Expr, types: TypeTable) -> Expr:
    assert isinstance(call, Call)
    changed = rule.change(call, types)
    if changed is call:
        return call
    return changed if types.of(changed) == types.of(call) else call
