"""Types with parts replaced."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace

from relay2relax.relay_ir.ir.types import FuncType, RefType, TupleType, Type, TypeCall, TypeVar


def map_type(ty: Type, change: Callable[[Type], Type]) -> Type:
    """Return ``ty`` rebuilt from its parts up: ``change`` is given each with its parts changed."""
    match ty:
        case TupleType(fields):
            ty = TupleType(tuple(map_type(one, change) for one in fields))
        case FuncType(args, result):
            ty = replace(ty, arg_types=tuple(map_type(one, change) for one in args), ret_type=map_type(result, change))
        case RefType(value):
            ty = RefType(map_type(value, change))
        case TypeCall(func, args):
            ty = TypeCall(func, tuple(map_type(one, change) for one in args))
    return change(ty)


def substitute_types(ty: Type, values: Mapping[TypeVar, Type]) -> Type:
    """Return ``ty`` with type variables replaced."""
    return map_type(ty, lambda one: values.get(one, one) if isinstance(one, TypeVar) else one)
