"""Removal of what a program computes and never uses."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.analysis.scopes import Scopes
from relay2relax.relay_ir.ir.expr import Expr, Function, GlobalVar, Let, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, without_lets
from relay2relax.relay_ir.transform.effects import Effects, makes_a_cell, makes_memory
from relay2relax.relay_ir.transform.graph_normal_form import recursive_lets
from relay2relax.relay_ir.transform.infrastructure import declared, map_functions


@dataclass(frozen=True, slots=True)
class DeadCodeElimination(Pass[IRModule]):
    """Remove each ``let`` whose variable nothing uses, unless its value may have an effect.

    Making a cell has none; taking memory may happen later, but does happen.

    ``inline_once``  the value of a variable that is used once takes the variable's place, unless
        that is within a function (which may run more often) or the value may have an effect.
    ``ignore_impurity``  treat every value as free of effects.
    """

    inline_once: bool = False
    ignore_impurity: bool = False
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without dead lets.

        Types are inferred where parameters do not declare theirs.
        """
        mod = declared(mod)
        effects = None if self.ignore_impurity else Effects(mod)
        return map_functions(mod, lambda function: _eliminate(function, effects, self.inline_once))


def _eliminate(root: Function, effects: Effects | None, inline_once: bool) -> Function:
    kept = effects.nodes(root, makes_a_cell) if effects is not None else set()
    gone = _dead_lets(root, kept)
    inlined: dict[Expr, Expr] = {}
    if inline_once:
        placed = effects.nodes(root, makes_memory) if effects is not None else set()
        inlined = _used_once(root, placed, gone)
    removed = {node for node in nodes(root) if isinstance(node, Let) and (node in gone or node.var in inlined)}
    if not removed:
        return root
    return without_lets(root, inlined, removed)


def _dead_lets(root: Function, kept: set[Expr]) -> set[Let]:
    """Return the lets that are not needed: only what the result needs counts as a use."""
    values: dict[Var, list[Let]] = {}
    for node in nodes(root):
        if isinstance(node, Let):
            values.setdefault(node.var, []).append(node)
    needed: set[Expr] = set()
    stack: list[Expr] = [root]
    while stack:
        node = stack.pop()
        if node in needed:
            continue
        needed.add(node)
        if isinstance(node, Let):
            stack.append(node.body)
            if node.value in kept:
                stack.append(node.value)
            continue
        if isinstance(node, Var):
            stack += [let.value for let in values.get(node, ())]
        stack += children(node)
    return {let for lets in values.values() for let in lets if let.var not in needed and let.value not in kept}


def _used_once(root: Function, kept: set[Expr], dead: set[Let]) -> dict[Expr, Expr]:
    """Return the values that may take the places of their variables."""
    uses: Counter[Expr] = Counter()

    def below(node: Expr) -> tuple[Expr, ...]:
        return (node.body,) if isinstance(node, Let) and node in dead else tuple(children(node))

    roots: tuple[Expr, ...] = (root,)
    order = list(post_order(roots, below))
    for node in order:
        uses.update(child for child in below(node) if isinstance(child, Var))
    scopes, recursive = Scopes(root), recursive_lets(root)
    found: dict[Expr, Expr] = {}
    for node in order:
        if isinstance(node, Let) and uses[node.var] == 1 and node not in dead and node.var not in recursive:
            here = scopes.home[node].function
            if node.value not in kept and all(one.function is here for one in scopes.uses[node.var]):
                found[node.var] = node.value
    return found


@dataclass(frozen=True, slots=True)
class RemoveUnusedFunctions(Pass[IRModule]):
    """Remove the functions that the entry functions neither call nor mention, directly or through
    others.
    """

    entry_functions: tuple[str, ...] = ("main",)
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with the functions that are reached.

        Raises Relay2RelaxError for an unknown entry.
        """
        by_name = {var.name: function for var, function in mod.functions.items()}
        stack = [mod.get_global_var(name).name for name in self.entry_functions]
        reached: set[str] = set()
        while stack:
            name = stack.pop()
            if name in reached or name not in by_name:
                continue
            reached.add(name)
            stack += [node.name for node in nodes(by_name[name]) if isinstance(node, GlobalVar)]
        if len(reached) == len(mod.functions):
            return mod
        return mod.without_functions(name for name in by_name if name not in reached)
