"""Eta expansion: names of functions become function literals."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Constructor, Expr, Function, GlobalVar, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes, with_children
from relay2relax.relay_ir.ir.types import FuncType, TypeCall
from relay2relax.relay_ir.transform.infrastructure import map_functions


@dataclass(frozen=True, slots=True)
class EtaExpand(Pass[IRModule]):
    """Replace constructors and global functions that are used as values by literals which call
    them.

    ``expand_constructor`` and ``expand_global_var`` say which; their calls stay as they are.
    """

    expand_constructor: bool = False
    expand_global_var: bool = False
    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with literals in the place of names.

        Infers types where ``mod`` has none.
        """
        inferred = typed_module(mod)
        return map_functions(mod, lambda function: self._expand(function, inferred))

    def _expand(self, root: Function, mod: IRModule) -> Function:
        done: dict[Expr, Expr] = {}
        for node in nodes(root):
            parts = list(children(node))
            values = [self._literal(part, mod, done) for part in parts]
            if isinstance(node, Call) and isinstance(node.op, (Constructor, GlobalVar)):
                values[0] = node.op
            done[node] = with_children(node, values)
        result = done[root]
        assert isinstance(result, Function)
        return result

    def _literal(self, node: Expr, mod: IRModule, done: dict[Expr, Expr]) -> Expr:
        """Return what stands for ``node`` where it is a value.

        One literal per constructor or global.
        """
        made = done[node]
        if isinstance(made, Constructor) and self.expand_constructor:
            definition = mod.type_definitions[made.belong_to]
            result = TypeCall(made.belong_to, definition.type_vars)
            made = _calling(made, FuncType(made.inputs, result, definition.type_vars))
        elif isinstance(made, GlobalVar) and self.expand_global_var and not mod.is_opaque(made):
            ty = mod.types.get(made) or mod.types[mod[made.name]]
            assert isinstance(ty, FuncType)
            made = _calling(made, ty)
        done[node] = made
        return made


def _calling(callee: Constructor | GlobalVar, ty: FuncType) -> Function:
    params = tuple(Var("eta_expand_param", arg) for arg in ty.arg_types)
    return Function(params, Call(callee, params), ty.ret_type, ty.type_params, span=callee.span)
