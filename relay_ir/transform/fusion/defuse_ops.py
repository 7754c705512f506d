"""The way back from fused functions to operators."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.effects import has_effects
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.inline import body_of


@dataclass(frozen=True, slots=True)
class DefuseOps(Pass[IRModule]):
    """Put the body of each function literal that is called, ``Primitive`` or not, in the place of
    its call.
    """

    opt_level: ClassVar[int] = 3

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without calls of function literals."""
        ordered = has_effects(mod)
        return map_functions(mod, lambda one: one if left_alone(one) else _defused(one, ordered))


def _defused(root: Function, ordered: bool) -> Function:
    done: dict[Expr, Expr] = {}
    for node in nodes(root):
        made = with_children(node, [done[child] for child in children(node)])
        if isinstance(made, Call) and isinstance(made.op, Function):
            made = body_of(made.op, list(made.args), ordered)
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result
