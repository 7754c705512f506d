"""A program without the choices of a run: the branches that were taken, one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Constant, Expr, Function, If, Match, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute
from relay2relax.relay_ir.subgraphs.names import flowing


def straightened(mod: IRModule, value_of: Callable[[Expr], Any]) -> IRModule | None:
    """Return ``mod`` with the branch that was taken in place of each choice of ``main``, None where
    there is none.

    ``value_of`` gives what nodes were when it ran, and raises KeyError for others. Choices within
    branches are left, and those within functions and matches.
    """
    main, flow = mod["main"], flowing(mod)
    taken: dict[Expr, Expr] = {}
    for node in post_order((main.body,), _outside):
        if isinstance(node, If):
            condition = flow.seen(node.condition)
            try:
                value = condition.data if isinstance(condition, Constant) else value_of(condition)
            except KeyError:
                continue
            taken[node] = node.true_branch if bool(np.all(value)) else node.false_branch
    if not taken:
        return None
    body = substitute(main.body, taken)
    made = Function(main.params, body, None, main.type_params, main.attrs)
    return infer_type(mod.with_function(mod.get_global_var("main"), made))


def _outside(node: Expr) -> tuple[Expr, ...]:
    """Return the parts of a node that run when it does."""
    match node:
        case If(condition):
            return (condition,)
        case Function() | Match():
            return ()
    return tuple(children(node))
