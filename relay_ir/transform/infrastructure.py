"""What passes share: their form, running several, and what is known about effects."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from relay2relax.relay_ir.expr import (
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
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.rewrite import nodes


class Pass(Protocol):
    """A pass: a module in, a module out."""

    def __call__(self, mod: IRModule, /) -> IRModule:
        """Return the changed module; ``mod`` itself where there is nothing to change."""


@dataclass(frozen=True, slots=True)
class Sequential:
    """Passes one after the other."""

    passes: tuple[Pass, ...]

    def __call__(self, mod: IRModule) -> IRModule:
        """Return ``mod`` after every pass."""
        for one in self.passes:
            mod = one(mod)
        return mod


def map_functions(mod: IRModule, change: Callable[[Function], Function]) -> IRModule:
    """Return ``mod`` with every function replaced by ``change(function)``; itself where none differs."""
    functions = {var: change(function) for var, function in mod.functions.items()}
    if all(functions[var] is function for var, function in mod.functions.items()):
        return mod
    return replace(mod, functions=functions, types={})


def has_references(mod: IRModule) -> bool:
    """Whether ``mod`` makes, reads or writes references; Relay code without them is free of effects."""
    return any(isinstance(node, (RefCreate, RefRead, RefWrite)) for node in nodes(*mod.functions.values()))


def effectful_nodes(root: Expr) -> set[Expr]:
    """Return the nodes of ``root`` whose evaluation may have an effect, in a module that has references.

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
