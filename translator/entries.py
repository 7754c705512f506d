"""Which function of a module a program begins with, where that is not ``main``."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from relay2relax import relax_ir, relay_ir
from relay2relax.core.errors import Diagnostic, Relay2RelaxError, UnsupportedError
from relay2relax.core.errors.table.running import NO_FUNCTION
from relay2relax.core.walk import post_order
from relay2relax.relax_ir.ir.visit import callees
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.transform import RemoveUnusedFunctions

_Module = TypeVar("_Module", relay_ir.IRModule, relax_ir.IRModule)


def beginning_at(mod: _Module, name: str) -> _Module:
    """Return ``mod`` whose ``main`` is its function ``name``, with the functions that this calls;
    inferred types of Relay are forgotten.

    ``beginning_at(relay_ir.parse(text), "encoder")`` is what commands read with
    ``--entry encoder``. Raises Relay2RelaxError where the module has no such function, and
    UnsupportedError where that function calls what is called ``main`` already.
    """
    if name == "main":
        return mod
    return _relax_from(mod, name) if isinstance(mod, relax_ir.IRModule) else _relay_from(mod, name)


def _relay_from(mod: relay_ir.IRModule, name: str) -> relay_ir.IRModule:
    var = mod.get_global_var(name)
    kept = RemoveUnusedFunctions((name,))(mod)
    _require_free("main" in kept, name)
    function, main = kept[var], relay_ir.GlobalVar("main")
    if any(isinstance(node, relay_ir.GlobalVar) and node.name == name for node in nodes(*kept.functions.values())):
        # It stays as it is, for those who call it.
        params = tuple(replace(param) for param in function.params)
        call = relay_ir.Call(var, params, type_args=function.type_params)
        return kept.with_function(main, relay_ir.Function(params, call, function.ret_type, function.type_params))
    return kept.without_functions([name]).with_function(main, function)


def _relax_from(mod: relax_ir.IRModule, name: str) -> relax_ir.IRModule:
    var = mod.get_global_var(name)
    function = mod.functions[var]
    if not isinstance(function, relax_ir.Function):
        raise Relay2RelaxError(f"{name} is a PrimFunc, which no program begins with", kind=NO_FUNCTION)
    reached = set(post_order([var], lambda one: callees(mod, mod.functions[one])))
    _require_free(any(one.name == "main" for one in reached), name)
    called = {callee for one in reached for callee in callees(mod, mod.functions[one])}
    kept = {one: func for one, func in mod.functions.items() if one in called}
    return replace(mod, functions={**kept, relax_ir.GlobalVar("main"): replace(function, private=False)})


def _require_free(taken: bool, name: str) -> None:
    if taken:
        title = f"@{name} calls @main, so a program that begins with it has two functions of that name"
        raise UnsupportedError(Diagnostic(title, help="give @main another name in the model"))
