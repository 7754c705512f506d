"""Calls replaced by users' functions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass, note_rewritten
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.layout.op_attrs import LEGALIZE, registered


@dataclass(frozen=True, slots=True)
class Legalize(Pass[IRModule]):
    """Replace calls by what the functions registered under ``legalize_map_attr_name`` make of them.

    A function is given the attributes, the new arguments, and the types of the old arguments and of
    the result. It returns the call that takes the place, or None where the call stays. What it
    returns is not legalised in turn.
    """

    legalize_map_attr_name: str = LEGALIZE
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` legalised; infers types where ``mod`` has none."""
        mod = typed_module(mod)
        types = mod.types

        def legal(root: Function) -> Function:
            done: dict[Expr, Expr] = {}
            for node in nodes(root):
                made = with_children(node, [done[child] for child in children(node)])
                if isinstance(node, Call) and isinstance(made, Call) and isinstance(node.op, Op):
                    function = registered(node.op.name, self.legalize_map_attr_name)
                    if function is not None:
                        known = [*(types[arg] for arg in node.args), types[node]]
                        made = function.replacement(node.attrs, made.args, known, mod=mod, node=node) or made
                done[node] = made
            note_rewritten(done)
            result = done[root]
            assert isinstance(result, Function)
            return result

        return map_functions(mod, lambda one: one if left_alone(one) else legal(one))
