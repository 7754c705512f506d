"""What both translators do first: bind params, bring ``main`` into graph form, and name its unknown
extents.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from relay2relax.core.dtype import Array
from relay2relax.ops.registry.symbolic import Dims, Symbols, name_extents, widened
from relay2relax.ops.registry.types import Type
from relay2relax.relay_ir import Function, GlobalVar, IRModule, bind_params, infer_type
from relay2relax.relay_ir.transform import InlineLocalFunctions, ToGraphNormalForm


@dataclass(frozen=True, slots=True)
class Prepared:
    """``main`` without lets and local calls, and its parameters' types with symbolic extents.

    ``symbols`` says which int64 variable stands in those types for a variable of the program.
    """

    module: IRModule
    main: Function
    param_types: tuple[Type, ...]
    symbols: Symbols


def as_module(program: IRModule | Function) -> IRModule:
    """Return ``program``; a function alone becomes ``main`` of a module."""
    return IRModule({GlobalVar("main"): program}) if isinstance(program, Function) else program


def entry_of(mod: IRModule) -> str:
    """Return the name of the function to translate: ``main``, or the only one."""
    names = [var.name for var in mod.functions]
    return names[0] if len(names) == 1 else "main"


def prepare(
    program: IRModule | Function, params: Mapping[str, Array] | None = None, dims: Dims | None = None
) -> Prepared:
    """Return ``main`` of ``program`` ready for translation.

    Raises what inference, binding and ``dims`` raise.
    """
    mod = as_module(program)
    mod.refuse_opaque("only Relay is translated; use the program from before it was lowered")
    if params:
        mod = bind_params(mod, params)
    mod = InlineLocalFunctions(marked=True)(ToGraphNormalForm()(mod))
    if not mod.types:
        mod = infer_type(mod, declare_results=True)
    main = mod["main"]
    typed = [(param.name, mod.types[param]) for param in main.params]
    types, symbols = widened(name_extents(typed, dims))
    return Prepared(mod, main, tuple(types), symbols)
