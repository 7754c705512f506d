"""Functions that are nothing but one call of a kernel, which may be called without the machine."""

from __future__ import annotations

from relay2relax.relax_ir.inference.memory import AllocStorage, Kill, PlaceTensor, read_memory_call
from relay2relax.relax_ir.ir import expr as rx
from relay2relax.relax_ir.ir import struct_info as si
from relay2relax.relax_ir.ir.visit import bindings


def only_call(func: rx.Function) -> tuple[rx.GlobalVar, tuple[int, ...] | None] | None:
    """Return which function of the module ``func`` calls on its parameters in order, and which of
    the results its own are (None for the only one).

    ``func`` is lowered: results are allocated and passed behind the arguments. Each must have
    memory of its own. None for a function that does anything else.
    """
    storages: set[rx.Expr] = set()
    results: set[rx.Expr] = set()
    tuples: dict[rx.Expr, tuple[rx.Expr, ...]] = {}
    called: tuple[rx.GlobalVar, tuple[rx.Expr, ...]] | None = None
    for binding in bindings(func.body):
        if isinstance(binding, rx.MatchCast):
            return None
        var, value = binding.var, binding.value
        match value, read_memory_call(value):
            case _, AllocStorage():
                storages.add(var)
            case _, PlaceTensor(storage) if storage in storages:
                storages.discard(storage)
                results.add(var)
            case _, Kill():
                pass
            case rx.Call(rx.GlobalVar() as callee, args), None if called is None:
                called = callee, args
            case rx.Tuple(fields), _:
                tuples[var] = fields
            case _:
                return None
    if called is None or not _are_tensors(func.params):
        return None
    callee, args = called
    count = len(func.params)
    body = func.body.body
    whole = body.fields if isinstance(body, rx.Tuple) else tuples.get(body)
    returned = (body,) if whole is None else whole
    made = args[count:]
    if args[:count] != func.params or len(made) != len(returned) or set(made) != set(returned):
        return None
    if not results.issuperset(made) or len(set(made)) != len(made):
        return None
    return callee, None if whole is None else tuple(made.index(one) for one in returned)


def _are_tensors(params: tuple[rx.Var, ...]) -> bool:
    """Whether there are parameters, and all of them are tensors of known dtype."""
    return bool(params) and all(isinstance(one.info, si.TensorStructInfo) and one.info.dtype for one in params)
