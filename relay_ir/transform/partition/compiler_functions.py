"""Functions for external compilers: as functions of the module, in place, or as external ones."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeGuard, Union

from relay2relax.core.errors import UnsupportedError
from relay2relax.core.passes import Pass
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, GlobalVar, Let, children
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import free_vars, nodes, rewrite, with_children
from relay2relax.relay_ir.transform.effects import has_effects
from relay2relax.relay_ir.transform.infrastructure import left_alone, map_functions
from relay2relax.relay_ir.transform.inline import InlineLocalFunctions, body_of


@dataclass(frozen=True, slots=True)
class OutlineCompilerFunctionsWithExistingGlobalSymbols(Pass[IRModule]):
    """Let function literals with ``Compiler`` that are called be functions of the module.

    They are named as their ``global_symbol`` says; those of one name become one function.
    A call may be by the name that a let gives. ``compiler_filter`` is the compiler whose functions
    are meant, "" any.
    """

    compiler_filter: str = ""
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such functions outside.

        Raises UnsupportedError for one without ``global_symbol``, or that uses variables around it.
        """
        found: dict[str, tuple[GlobalVar, Function]] = {}

        def call(node: Expr) -> Expr:
            if not isinstance(node, Call) or not _is_for(node.op, self.compiler_filter):
                return node
            name = _symbol(node.op)
            if name not in found:
                var = mod.get_global_var(name) if name in mod else GlobalVar(name)
                found[name] = (var, node.op)
            return replace(node, op=found[name][0])

        def outlined(root: Function) -> Function:
            done: dict[Expr, Expr] = {}
            bound: dict[Expr, Expr] = {}
            for node in nodes(root):
                if node in bound:
                    done[node] = done[bound[node]]
                    continue
                made = with_children(node, [done[child] for child in children(node)])
                if isinstance(made, Let) and _is_for(made.value, self.compiler_filter):
                    made = made.body
                done[node] = call(made)
                if _is_for(made, self.compiler_filter):
                    bound.update((one, node) for one in names.get(node, ()))
            result = done[root]
            assert isinstance(result, Function)
            return result

        names: dict[Expr, list[Expr]] = {}
        for node in nodes(*mod.functions.values()):
            if isinstance(node, Let):
                names.setdefault(node.value, []).append(node.var)
        changed = map_functions(mod, lambda one: one if left_alone(one) else outlined(one))
        new = {var: function for name, (var, function) in found.items() if name not in mod}
        return replace(changed, functions={**changed.functions, **new}) if new else changed


@dataclass(frozen=True, slots=True)
class MarkCompilerFunctionsAsExtern(Pass[IRModule]):
    """Let the functions of the module for the compiler ``compiler_filter`` ("" for any) have
    ``Extern`` as their only attribute.
    """

    compiler_filter: str = ""
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such functions marked."""
        return map_functions(
            mod, lambda one: replace(one, attrs={"Extern": 1}) if _is_for(one, self.compiler_filter) else one
        )


@dataclass(frozen=True, slots=True)
class InlineCompilerFunctionsBoundTo(Pass[IRModule]):
    """Put the functions ``global_vars``, variables or names, in the place of their calls.

    Composite functions that they call go as well. It undoes a partition.
    """

    global_vars: Sequence[Union[GlobalVar, str]]
    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` without those functions.

        Raises Relay2RelaxError for one that there is not, UnsupportedError for one without
        ``Compiler``, and for one that is used without being called.
        """
        names = {one.name if isinstance(one, GlobalVar) else one for one in self.global_vars}
        if not names:
            return mod
        given = {mod.get_global_var(name): mod[name] for name in sorted(names)}
        for var, function in given.items():
            if "Compiler" not in function.attrs:
                raise UnsupportedError(f"@{var.name} is not for an external compiler")
        ordered = has_effects(mod)
        plain = InlineLocalFunctions(marked=True)(IRModule(given))

        def change(node: Expr) -> Expr:
            if isinstance(node, Call) and isinstance(node.op, GlobalVar) and node.op.name in names:
                return body_of(plain[node.op.name], list(node.args), ordered)
            return node

        def inlined(function: Function) -> Function:
            made = rewrite(function, change)
            assert isinstance(made, Function)
            for node in nodes(made):
                if isinstance(node, GlobalVar) and node.name in names:
                    raise UnsupportedError(f"@{node.name} is used without being called")
            return made

        kept = mod.without_functions(names)
        return map_functions(kept, lambda one: one if left_alone(one) else inlined(one))


def _is_for(expr: Expr, compiler: str) -> TypeGuard[Function]:
    """Whether ``expr`` is a function for the compiler, "" for any."""
    if not isinstance(expr, Function) or "Compiler" not in expr.attrs:
        return False
    return not compiler or str(expr.attrs["Compiler"]) == compiler


def _symbol(function: Function) -> str:
    name = function.attrs.get("global_symbol")
    if name is None:
        raise UnsupportedError("a function for an external compiler has no global_symbol to be named by")
    used = free_vars(function)
    if used:
        raise UnsupportedError(f"the function {name} for an external compiler uses %{used[0].name} from around it")
    return str(name)
