"""What passes over Relay have in common; the pass manager is ``core/passes.py``."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from relay2relax.core.errors.extensions import ask, returned
from relay2relax.core.passes import Pass, PassContext, PassInfo, note_rewritten, pass_decorator
from relay2relax.relay_ir.inference.infer import typed_module
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Op, Var, children
from relay2relax.relay_ir.ir.module import IRModule, as_module
from relay2relax.relay_ir.ir.rewrite import nodes, substitute, with_children
from relay2relax.relay_ir.ir.types import Type


@dataclass(frozen=True, slots=True)
class FunctionPass(Pass[IRModule]):
    """A pass of the user's own: ``change`` is applied to every function of the module.

    ``change(function, mod)`` returns the new function; ``mod.types`` is filled where the module was
    inferred.
    """

    change: Callable[[Function, IRModule], Function]
    name: str = "function_pass"
    level: int = 0

    @property
    def info(self) -> PassInfo:
        """The name and level given."""
        return PassInfo(self.name, self.level)

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with every function changed."""
        return map_functions(mod, lambda function: self._changed(function, mod))

    def _changed(self, function: Function, mod: IRModule) -> Function:
        what, where = f"the pass {self.name}", mod.locations.get(function)
        made: object = ask(self.change, function, mod, what=what, where=where, source=mod.source)
        if not isinstance(made, Function):
            raise returned(what, "a function", made, where, mod.source)
        return made


def function_pass(*, opt_level: int, name: str = "") -> Callable[[Callable[..., Any]], Any]:
    """Make a pass of ``(function, mod, context) -> function``, or of a class with a method
    ``transform_function``.
    """

    def make(change: Callable[..., Function], label: str, level: int) -> FunctionPass:
        return FunctionPass(lambda function, mod: change(function, mod, PassContext.current()), label, level)

    return pass_decorator(make, "transform_function", opt_level, name)


def map_functions(mod: IRModule, change: Callable[[Function], Function]) -> IRModule:
    """Return ``mod`` with every function replaced by ``change(function)``; itself where none
    differs.
    """
    functions = {var: change(function) for var, function in as_module(mod).functions.items()}
    if all(functions[var] is function for var, function in mod.functions.items()):
        return mod
    return replace(mod, functions=functions, types={})


def declared(mod: IRModule) -> IRModule:
    """Return ``mod`` with the types of its functions' parameters declared, itself where they are.

    A pass that removes code calls this first: what it removes may be what determined the type of a
    parameter.
    """
    functions = as_module(mod).functions.values()
    if all(param.type_annotation is not None for function in functions for param in function.params):
        return mod
    types = typed_module(mod).types
    return map_functions(mod, lambda function: with_types(function, types))


def with_types(function: Function, types: Mapping[Expr, Type]) -> Function:
    """Return ``function`` with the types found for its parameters and its result, where it declares
    none.
    """
    params: dict[Expr, Var] = {
        param: replace(param, type_annotation=types[param])
        for param in function.params
        if param.type_annotation is None and param in types
    }
    if params:
        body = substitute(function.body, dict(params))
        function = replace(function, params=tuple(params.get(one, one) for one in function.params), body=body)
    if function.ret_type is None and function.body in types:
        function = replace(function, ret_type=types[function.body])
    return function


def left_alone(function: Function) -> bool:
    """Whether TVM's passes over functions do not look into a function of the module.

    Such are functions for an external compiler, and those marked ``SkipOptimization``.
    """
    mark = function.attrs.get("SkipOptimization", 0)
    return "Compiler" in function.attrs or bool(getattr(mark, "value", mark))


def rewrite_calls(mod: IRModule, change: Callable[[Call, TypeTable], Expr]) -> IRModule:
    """Return ``mod`` with each call of an operator replaced by what ``change`` makes of it, parts
    before wholes.

    ``change(call, types)`` is given the call with its arguments already changed, and returns an
    expression of the same type: the call itself where it stays. Types are inferred where ``mod``
    has none.
    """
    mod = declared(mod)
    types = TypeTable.inferred(mod)

    def rewritten(function: Function) -> Function:
        done: dict[Expr, Expr] = {}
        for node in nodes(function):
            made = with_children(node, [done[child] for child in children(node)])
            if made is not node:
                types.same(made, node)
            if isinstance(made, Call) and isinstance(made.op, Op):
                changed = change(made, types)
                if changed is not made:
                    types.same(changed, node)
                    made = changed
            done[node] = made
        note_rewritten(done)
        result = done[function]
        assert isinstance(result, Function)
        return result

    return map_functions(mod, lambda function: function if left_alone(function) else rewritten(function))
