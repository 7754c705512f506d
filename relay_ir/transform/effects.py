"""What is known about the effects of expressions."""

from __future__ import annotations

from relay2relax.relay_ir.ir.expr import (
    Call,
    Constructor,
    Expr,
    Function,
    Op,
    RefCreate,
    RefRead,
    RefWrite,
    children,
)
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes


def has_references(mod: IRModule) -> bool:
    """Whether ``mod`` makes, reads or writes references.

    Relay code without them is free of effects.
    """
    return any(isinstance(node, (RefCreate, RefRead, RefWrite)) for node in nodes(*mod.functions.values()))


def effectful_nodes(root: Expr) -> set[Expr]:
    """Return the nodes of ``root`` whose evaluation may have an effect, in a module that has
    references.

    What a function value does is not known where it is called, so every call of one counts.
    """
    found: set[Expr] = set()
    for node in nodes(root):
        acts = isinstance(node, (RefCreate, RefRead, RefWrite)) or (
            isinstance(node, Call) and not isinstance(node.op, (Op, Constructor))
        )
        # Making a closure has no effect, calling it may.
        inner = not isinstance(node, Function) and any(child in found for child in children(node))
        if acts or inner:
            found.add(node)
    return found
