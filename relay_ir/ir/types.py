"""Relay's types.

    type ::= TensorType(extent*, dtype) | TupleType(type*)
           | FuncType(type*, type, TypeVar*) | RefType(type)
           | TypeVar | GlobalTypeVar | TypeCall(GlobalTypeVar, type*)
           | IncompleteType

Types are values, but for variables: a ``TypeVar``, a ``GlobalTypeVar`` and an ``IncompleteType``
are equal to themselves only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum

from relay2relax.core.dtype import is_float
from relay2relax.ops.registry.types import TensorType, TupleType, Type

__all__ = [
    "FuncType",
    "GlobalTypeVar",
    "IncompleteType",
    "Kind",
    "RefType",
    "TensorType",
    "TupleType",
    "Type",
    "TypeCall",
    "TypeRelation",
    "TypeVar",
    "floats_as",
]


class Kind(IntEnum):
    """Kinds of types, with the codes that JSON stores."""

    TYPE = 0
    SHAPE_VAR = 1
    BASE_TYPE = 2
    CONSTRAINT = 4
    ADT_HANDLE = 5
    TYPE_DATA = 6


@dataclass(frozen=True, slots=True, eq=False)
class TypeVar(Type):
    """A parameter of a function, a function type or an ADT."""

    name: str
    kind: Kind = Kind.TYPE


@dataclass(frozen=True, slots=True, eq=False)
class GlobalTypeVar(Type):
    """The name of an ADT."""

    name: str
    kind: Kind = Kind.ADT_HANDLE


@dataclass(frozen=True, slots=True, eq=False)
class IncompleteType(Type):
    """A type that is not known yet."""

    kind: Kind = Kind.TYPE


@dataclass(frozen=True, slots=True)
class TypeRelation(Type):
    """A constraint of a polymorphic function type, by the name of its relation."""

    name: str
    args: tuple[Type, ...]
    num_inputs: int
    attrs: object = None


@dataclass(frozen=True, slots=True)
class FuncType(Type):
    """A function from ``arg_types`` to ``ret_type``."""

    arg_types: tuple[Type, ...]
    ret_type: Type
    type_params: tuple[TypeVar, ...] = ()
    type_constraints: tuple[TypeRelation, ...] = ()


@dataclass(frozen=True, slots=True)
class RefType(Type):
    """A mutable cell."""

    value: Type


@dataclass(frozen=True, slots=True)
class TypeCall(Type):
    """An ADT applied to its parameters."""

    func: Type
    args: tuple[Type, ...] = ()


def floats_as(ty: Type | None, dtype: str) -> Type | None:
    """Return ``ty`` with ``dtype`` for every float dtype in tensors, tuples and functions."""
    match ty:
        case TensorType(dtype=given) if is_float(given):
            return replace(ty, dtype=dtype)
        case TupleType(fields):
            return TupleType(tuple(floats_as(one, dtype) or one for one in fields))
        case FuncType(params, result):
            params = tuple(floats_as(one, dtype) or one for one in params)
            return replace(ty, arg_types=params, ret_type=floats_as(result, dtype) or result)
    return ty
