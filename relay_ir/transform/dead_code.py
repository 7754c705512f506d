"""Removal of what a program computes and never uses."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.expr import Expr, Function, Let, Var, children
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import effectful_nodes, has_references, map_functions


@dataclass(frozen=True, slots=True)
class DeadCodeElimination:
    """Remove each ``let`` whose variable nothing uses, unless its value may have an effect."""

    def __call__(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without dead lets."""
        careful = has_references(mod)
        return map_functions(mod, lambda function: _eliminate(function, careful))


def _eliminate(root: Function, careful: bool) -> Function:
    kept = effectful_nodes(root) if careful else set()
    dead = _dead_lets(root, kept)
    if not dead:
        return root
    done: dict[Expr, Expr] = {}

    def below(node: Expr) -> tuple[Expr, ...]:
        return (node.body,) if isinstance(node, Let) and node in dead else tuple(children(node))

    roots: tuple[Expr, ...] = (root,)
    for node in post_order(roots, below):
        if isinstance(node, Let) and node in dead:
            done[node] = done[node.body]
        else:
            done[node] = with_children(node, [done[child] for child in children(node)])
    result = done[root]
    assert isinstance(result, Function)
    return result


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
