"""What types a program declares: whether they mean anything, and which functions declare no
result.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Set
from dataclasses import replace

from relay2relax.core.errors import Diagnostic
from relay2relax.relay_ir.inference import errors
from relay2relax.relay_ir.inference.unify import type_parts
from relay2relax.relay_ir.ir.expr import Function, GlobalVar
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.ir.rewrite import nodes
from relay2relax.relay_ir.ir.types import FuncType, GlobalTypeVar, Type, TypeCall, TypeVar


def definition_problems(mod: IRModule) -> Iterator[Diagnostic]:
    """Yield what is wrong with the types that the constructors of the module's data types take."""
    for data in mod.type_definitions.values():
        for constructor in data.constructors:
            for ty in constructor.inputs:
                for problem in type_problems(mod, ty, set(data.type_vars)):
                    where = mod.locations.get(constructor)
                    note = f"in constructor {constructor.name} of type {data.header.name}"
                    yield replace(problem, where=where, notes=(note,))


def type_problems(mod: IRModule, ty: Type, in_reach: Set[TypeVar]) -> Iterator[Diagnostic]:
    """Yield what is wrong with a type that was written down: names that mean nothing, wrong
    applications.
    """
    stack: list[tuple[Type, Set[TypeVar]]] = [(ty, in_reach)]
    while stack:
        part, reach = stack.pop()
        match part:
            case TypeVar(name) if part not in reach:
                yield errors.unknown_type(name)
            case GlobalTypeVar(name):
                yield errors.unknown_type(name)
            case TypeCall(func, args):
                data = mod.type_definitions.get(func) if isinstance(func, GlobalTypeVar) else None
                if data is None:
                    yield errors.unknown_type(getattr(func, "name", "?"))
                elif len(data.type_vars) != len(args):
                    yield errors.wrong_type_arguments(data.header.name, len(data.type_vars), len(args))
            case FuncType(_, _, type_params):
                reach = reach | set(type_params)
        stack.extend((one, reach) for one in reversed(type_parts(part)))


def callees_first(functions: Mapping[GlobalVar, Function]) -> list[tuple[GlobalVar, Function]]:
    """Return the functions so that what declares no result comes before what calls it, where that
    can be.
    """
    vars_by_name = {var.name: var for var in functions}
    done: dict[GlobalVar, Function] = {}
    entered: set[GlobalVar] = set()
    stack = list(functions)[::-1]
    while stack:
        var = stack[-1]
        if var in entered:
            done.setdefault(stack.pop(), functions[var])
            continue
        entered.add(var)
        for node in nodes(functions[var]):
            called = vars_by_name.get(node.name) if isinstance(node, GlobalVar) else None
            if called is not None and called not in entered and functions[called].ret_type is None:
                stack.append(called)
    return list(done.items())
