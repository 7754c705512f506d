"""Inlining of global functions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.effects import has_effects
from relay2relax.relay_ir.transform.inline import body_of, fresh_copy


@dataclass(frozen=True, slots=True)
class Inline(Pass[IRModule]):
    """Put global functions that are marked ``Inline`` in the place of their calls, and remove them.

    A call becomes the function's body; where the function is for an external compiler
    (``Compiler``), polymorphic, or used as a value, it becomes a function literal. Recursive
    functions stay, and so do functions that nothing calls.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with marked functions inlined."""
        names = {var.name: var for var in mod.functions}
        mentioned = {
            name: [
                names[node.name]
                for node in nodes(mod.functions[var])
                if isinstance(node, GlobalVar) and node.name in names
            ]
            for name, var in names.items()
        }
        recursive = _recursive(mentioned)
        marked = {name for name, var in names.items() if _is_marked(mod.functions[var]) and name not in recursive}
        used = {var.name for callees in mentioned.values() for var in callees}
        if not marked & used:
            return mod
        ordered = has_effects(mod)
        functions = {name: mod.functions[var] for name, var in names.items()}
        # Callees come before their callers.
        for name in post_order(names, lambda one: [var.name for var in mentioned[one]]):
            functions[name] = _inline(functions[name], functions, marked, ordered)
        kept = {var: functions[name] for name, var in names.items() if name not in marked or name not in used}
        return replace(mod, functions=kept, types={})


def _is_marked(function: Function) -> bool:
    mark = function.attrs.get("Inline", 0)
    return bool(getattr(mark, "value", mark))


def _recursive(mentioned: dict[str, list[GlobalVar]]) -> set[str]:
    """Return the functions that reach themselves."""
    import networkx as nx

    graph = nx.DiGraph((name, var.name) for name, callees in mentioned.items() for var in callees)
    found = {name for name in graph if graph.has_edge(name, name)}
    for component in nx.strongly_connected_components(graph):
        if len(component) > 1:
            found |= component
    return found


def _inline(root: Function, functions: dict[str, Function], marked: set[str], ordered: bool) -> Function:
    if not any(isinstance(node, GlobalVar) and node.name in marked for node in nodes(root)):
        return root
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        made = with_children(node, [done[child] for child in children(node)])
        if isinstance(node, GlobalVar) and node.name in marked:
            made = fresh_copy(functions[node.name], {})
        elif isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op.name in marked:
            function = functions[node.op.name]
            if not function.type_params and "Compiler" not in function.attrs:
                made = body_of(function, [done[arg] for arg in node.args], ordered)
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result
