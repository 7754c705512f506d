"""``InferType`` as TVM runs it: the types that it finds are written into the program."""

from __future__ import annotations

from dataclasses import dataclass, replace

from relay2relax.core.walk import post_order
from relay2relax.relay_ir import transform
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Expr, Function, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import binders, nodes, with_children
from relay2relax.relay_ir.transform.inline import rebind


@dataclass(frozen=True, slots=True)
class InferType(transform.InferType):
    """Find the type of every expression; variables and functions declare theirs."""

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its types, itself where it declares them all."""
        typed = infer_type(mod)
        functions = {var: _declared(function, typed) for var, function in typed.functions.items()}
        if all(functions[var] is function for var, function in typed.functions.items()):
            return typed
        return infer_type(replace(typed, functions=functions, types={}))


def _declared(root: Function, mod: IRModule) -> Function:
    """Return ``root`` with the types of its variables, and of what its functions return."""
    renamed: dict[Var, Var] = {}
    missing = False
    for node in nodes(root):
        for var in binders(node):
            new = var.type_annotation is None and var in mod.types
            renamed[var] = replace(var, type_annotation=mod.types[var]) if new else var
            missing |= new
        missing |= isinstance(node, Function) and node.ret_type is None and node.body in mod.types
    if not missing:
        return root
    done: dict[Expr, Expr] = dict(renamed.items())
    roots: tuple[Expr, ...] = (root,)
    for node in post_order(roots, lambda one: () if one in done else children(one)):
        if node in done:
            continue
        made = rebind(with_children(node, [done[child] for child in children(node)]), renamed)
        if isinstance(made, Function) and isinstance(node, Function) and node.ret_type is None:
            made = replace(made, ret_type=mod.types.get(node.body))
        done[node] = made
    result = done[root]
    assert isinstance(result, Function)
    return result
