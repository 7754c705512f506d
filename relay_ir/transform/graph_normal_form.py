"""Graph normal form: ``let`` gives way to sharing in the graph."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass, note_rewritten
from relay2relax.relay_ir.ir.expr import Expr, Function, Let, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.effects import Effects
from relay2relax.relay_ir.transform.infrastructure import map_functions


def recursive_lets(root: Function) -> set[Var]:
    """Return the let-bound variables of ``root`` that occur in their own values."""
    found: set[Var] = set()
    used: set[Var] = set()
    values: dict[Expr, list[Var]] = {}
    for node in nodes(root):
        if isinstance(node, Let):
            values.setdefault(node.value, []).append(node.var)
    # A value comes behind everything it uses, so a variable that was met before its value is
    # complete is recursive.
    for node in nodes(root):
        if isinstance(node, Var):
            used.add(node)
        found.update(var for var in values.get(node, ()) if var in used)
    return found


@dataclass(frozen=True, slots=True)
class ToGraphNormalForm(Pass[IRModule]):
    """Put the value of every ``let`` in the place of its variable.

    A value used twice becomes a shared node.

    A ``let`` stays where its value may have an effect, since effects happen in the order of the
    lets, and where it binds a recursive function. Function literals stay literals.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` in graph normal form."""
        if not any(isinstance(node, Let) for node in nodes(*mod.functions.values())):
            return mod
        effects = Effects(mod)
        return map_functions(mod, lambda function: _normalise(function, effects.nodes(function)))


def _normalise(root: Function, effects: set[Expr]) -> Function:
    recursive = recursive_lets(root)
    values: dict[Expr, Expr] = {}
    for node in nodes(root):
        if isinstance(node, Let) and node.var not in recursive and node.value not in effects:
            values[node.var] = node.value
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        if node in values and values[node] in done:
            done[node] = done[values[node]]
        elif isinstance(node, Let) and node.var in values:
            done[node] = done[node.body]
        else:
            done[node] = with_children(node, [done[child] for child in children(node)])
    note_rewritten(done)
    result = done[root]
    assert isinstance(result, Function)
    return result
