"""Lambda lifting: function literals become global functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar

from relay2relax.core.passes import Pass
from relay2relax.core.walk import post_order
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, Let, Var, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, substitute, with_children
from relay2relax.relay_ir.ir.types import FuncType, Type, TypeVar
from relay2relax.relay_ir.transform.graph_normal_form import recursive_lets
from relay2relax.relay_ir.transform.infrastructure import with_types


@dataclass(frozen=True, slots=True)
class LambdaLift(Pass[IRModule]):
    """Move every function literal into a global function ``@lifted_name…``.

    A literal that captures variables becomes the result of a global function marked ``Closure``,
    whose parameters are the captured variables; where the literal stood that function is called. A
    literal that a recursive ``let`` binds calls the global function instead of its variable.
    Functions marked ``Primitive`` stay.
    """

    opt_level: ClassVar[int] = 1

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with its function literals lifted; infers types where ``mod`` has none."""
        lifting = _Lifting(typed_module(mod))
        functions = {var: lifting.lift(function) for var, function in mod.functions.items()}
        if not lifting.lifted:
            return mod
        return replace(mod, functions={**functions, **lifting.lifted}, types={})


class _Lifting:
    def __init__(self, mod: IRModule) -> None:
        self.types: Mapping[Expr, Type] = mod.types
        self.lifted: dict[GlobalVar, Function] = {}
        self._taken = {var.name for var in (*mod.functions, *mod.opaque_functions)}

    def lift(self, root: Function) -> Function:
        """Return a global function with its literals lifted."""
        if _is_closure(root) or "Primitive" in root.attrs:
            return root
        recursive = recursive_lets(root)
        # The variables by which recursive literals call themselves.
        own: dict[Expr, Var] = {
            node.value: node.var
            for node in nodes(root)
            if isinstance(node, Let) and node.var in recursive and isinstance(node.value, Function)
        }
        names: dict[Expr, GlobalVar] = {
            node: self._name() for node in nodes(root) if isinstance(node, Function) and node is not root
        }
        done: dict[Expr, Expr] = {}

        def below(node: Expr) -> tuple[Expr, ...]:
            primitive = isinstance(node, Function) and "Primitive" in node.attrs
            return () if primitive else tuple(children(node))

        roots: tuple[Expr, ...] = (root,)
        for node in post_order(roots, below):
            parts = below(node)
            made = with_children(node, [done[child] for child in parts]) if parts else node
            if isinstance(made, Function) and node is not root and "Primitive" not in made.attrs:
                made = self._lifted(made, node, names[node], own.get(node))
            done[node] = made
        result = done[root]
        assert isinstance(result, Function)
        return result

    def _lifted(self, made: Function, original: Expr, name: GlobalVar, own: Var | None) -> Expr:
        """Make ``made`` global; return what stands for it."""
        captured = [var for var in free_vars(made) if var is not own]
        ty = self.types.get(original)
        if made.ret_type is None and isinstance(ty, FuncType):
            made = replace(made, ret_type=ty.ret_type)
        made = with_types(made, self.types)
        type_params = _free_type_vars([made, *(self.types.get(var) for var in captured)])
        value: Expr = Call(name, tuple(captured)) if captured else name
        if own is not None:
            changed = substitute(made, {own: value})
            assert isinstance(changed, Function)
            made = changed
        if captured:
            # The captured variables are parameters of the new function, and keep their own place in
            # the old one.
            params = [Var(var.name, self.types.get(var, var.type_annotation)) for var in captured]
            body = substitute(made, dict(zip(captured, params, strict=True)))
            self.lifted[name] = Function(tuple(params), body, ty, type_params, {"Closure": 1})
        else:
            self.lifted[name] = replace(made, type_params=(*type_params, *made.type_params))
        return value

    def _name(self) -> GlobalVar:
        number = 0
        while (name := f"lifted_name{number}") in self._taken:
            number += 1
        self._taken.add(name)
        return GlobalVar(name)


def _is_closure(function: Function) -> bool:
    mark = function.attrs.get("Closure", 0)
    return bool(getattr(mark, "value", mark))


def _free_type_vars(of: list[Function | Type | None]) -> tuple[TypeVar, ...]:
    """Return the type variables that functions and types mention and do not bind, in order."""
    found: dict[TypeVar, None] = {}
    bound: set[TypeVar] = set()
    stack: list[object] = []
    for start in reversed(of):
        if not isinstance(start, Function):
            stack.append(start)
            continue
        for node in nodes(start):
            if isinstance(node, Function):
                bound.update(node.type_params)
                stack += [node.ret_type, *(param.type_annotation for param in node.params)]
            elif isinstance(node, Let):
                stack.append(node.var.type_annotation)
            elif isinstance(node, Call):
                stack.append(node.type_args)
    while stack:
        one = stack.pop()
        if isinstance(one, TypeVar):
            found[one] = None
        elif isinstance(one, tuple):
            stack += reversed(one)
        elif isinstance(one, Type):
            parts: Any = one
            stack += [getattr(parts, part.name) for part in fields(parts)]
    return tuple(var for var in found if var not in bound)
