"""Unknown extents that somebody says: parameters become as large as that, and types follow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from relay2relax.ops.registry.symbolic import Dims, name_extents
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir.inference.infer import infer_type, typed_module
from relay2relax.relay_ir.ir.expr import Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import substitute
from relay2relax.tir.extent import is_any


def fix_extents(mod: IRModule, dims: Dims | None, entry: str = "main") -> IRModule:
    """Return ``mod`` with types, where parameters of ``entry`` have the extents that ``dims`` gives
    as numbers.

    Names in ``dims`` are checked and change nothing. What the function returns is inferred anew.
    Raises Relay2RelaxError where ``dims`` does not fit the parameters, and TypeInferenceError
    where the program allows no such extent.
    """
    mod = typed_module(mod)
    if not dims:
        return mod
    var = mod.get_global_var(entry)
    function = mod.functions[var]
    wanted = name_extents([(param.name, mod.types[param]) for param in function.params], dims)
    changed: dict[Expr, Expr] = {}
    params = []
    for param, type_ in zip(function.params, wanted, strict=True):
        known = mod.types[param]
        fixed = _with_numbers(known, type_)
        new = param if fixed is known else replace(param, type_annotation=fixed)
        params.append(new)
        if new is not param:
            changed[param] = new
    if not changed:
        return mod
    body = substitute(function.body, changed)
    return infer_type(
        mod.with_function(var, replace(function, params=tuple(params), body=body, ret_type=None)), declare_results=True
    )


def dims_of(mod: IRModule, dims: Dims | None, entry: str | None = "main") -> Dims | None:
    """Return ``dims``, and for what it does not name the names that the module's frontend found.

    What is not open any more, or no parameter, has none.
    """
    if not mod.dims or entry is None:
        return dims
    known = typed_module(mod)
    found: dict[str, Sequence[str | int | None]] = {}
    for param in known[entry].params:
        names, type_ = mod.dims.get(param.name), known.types[param]
        if names is not None and isinstance(type_, TensorType) and len(names) == len(type_.shape):
            pairs = zip(names, type_.shape, strict=True)
            found[param.name] = [name if is_any(extent) else None for name, extent in pairs]
    return {**found, **(dims or {})}


def _with_numbers(known: Type, wanted: Type) -> Type:
    """Return ``known`` with the numbers of ``wanted`` for its unknown extents; itself where there
    are none.
    """
    match known, wanted:
        case TensorType(shape, dtype), TensorType(others, _):
            fixed = tuple(o if is_any(e) and isinstance(o, int) else e for e, o in zip(shape, others, strict=True))
            return known if all(a is b for a, b in zip(fixed, shape, strict=True)) else TensorType(fixed, dtype)
        case TupleType(fields), TupleType(others):
            found = tuple(_with_numbers(a, b) for a, b in zip(fields, others, strict=True))
            return known if all(a is b for a, b in zip(found, fields, strict=True)) else TupleType(found)
    return known
