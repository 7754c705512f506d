"""Whether the types that a program declares mean anything: names in reach, data types fully applied."""

from __future__ import annotations

from collections.abc import Iterator, Set
from dataclasses import replace

from relay2relax.core.errors import Diagnostic
from relay2relax.relay_ir import infer_errors as errors
from relay2relax.relay_ir.module import IRModule
from relay2relax.relay_ir.types import FuncType, GlobalTypeVar, Type, TypeCall, TypeVar
from relay2relax.relay_ir.unify import type_parts


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
    """Yield what is wrong with a type that was written down: names that mean nothing, wrong applications."""
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
