"""Types of Relay under TVM's names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from relay2relax.compat.vocabulary.teaching import Lesson, constructor, renamed
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir.inference.errors import type_text
from relay2relax.relay_ir.ir import types as ty
from relay2relax.relay_ir.ir.equality import structural_equal
from relay2relax.tir.extent import Extent, equal, static


def concrete_shape(self: TensorType) -> tuple[int, ...]:
    """Return the extents as numbers; raises TypeError where one is not known."""
    found = [static(one) for one in self.shape]
    if None in found:
        raise TypeError("the shape is not static")
    return tuple(one for one in found if one is not None)


def apply(self: ty.TypeVar | ty.GlobalTypeVar, *args: Type) -> ty.TypeCall:
    """Return the type applied to its arguments."""
    return ty.TypeCall(self, tuple(args))


def scalar_type(dtype: str) -> TensorType:
    """Return the type of a scalar."""
    return TensorType((), dtype)


def shape_var(name: str) -> ty.TypeVar:
    """Return a variable of kind shape."""
    return ty.TypeVar(name, ty.Kind.SHAPE_VAR)


def _function_types_equal(self: ty.FuncType, other: object) -> bool:
    return isinstance(other, ty.FuncType) and structural_equal(self, other)


def _tensors_equal(self: TensorType, other: object) -> bool:
    """Whether two types are one: extents may be written differently where they are proved equal."""
    if not isinstance(other, TensorType) or self.dtype != other.dtype or len(self.shape) != len(other.shape):
        return False
    return all(one == another or equal(one, another) for one, another in zip(self.shape, other.shape, strict=True))


def _tensor_hash(self: TensorType) -> int:
    return hash((tuple(map(static, self.shape)), self.dtype))


def _function_hash(self: ty.FuncType) -> int:
    return hash((len(self.arg_types), len(self.type_params)))


def _text(self: Type) -> str:
    return type_text(self).strip("`")


_SHORT = {"int": "int32", "uint": "uint32", "float": "float32", "uint1": "bool"}


def _tensor_type() -> Lesson:
    made = constructor(TensorType).value

    def __init__(self: TensorType, shape: Sequence[Extent], dtype: object = "float32", span: object = None) -> None:
        name = dtype if isinstance(dtype, str) else np.dtype(cast(type, dtype)).name
        made(self, tuple(shape), _SHORT.get(name, name))  # type: ignore[operator]

    return Lesson(TensorType, "__init__", __init__)


def lessons() -> Iterator[Lesson]:
    """Yield what types are taught."""
    yield _tensor_type()
    yield constructor(TupleType)
    yield constructor(ty.FuncType)
    yield constructor(ty.TypeVar, name_hint="name")
    yield constructor(ty.GlobalTypeVar, name_hint="name")
    yield constructor(ty.TypeCall)
    yield constructor(ty.TypeRelation, func="name")
    yield Lesson(TensorType, "concrete_shape", property(concrete_shape))
    yield Lesson(ty.TypeVar, "__call__", apply)
    yield Lesson(ty.GlobalTypeVar, "__call__", apply)
    yield Lesson(TensorType, "__eq__", _tensors_equal)
    yield Lesson(TensorType, "__hash__", _tensor_hash)
    yield Lesson(ty.FuncType, "__eq__", _function_types_equal)
    yield Lesson(ty.FuncType, "__hash__", _function_hash)
    yield from renamed(ty.TypeVar, name_hint="name")
    yield from renamed(ty.GlobalTypeVar, name_hint="name")
    yield from renamed(ty.TypeRelation, func="name")
    for one in (TensorType, TupleType, ty.FuncType, ty.RefType, ty.TypeVar, ty.GlobalTypeVar, ty.TypeCall):
        yield Lesson(one, "__str__", _text)
    yield Lesson(Type, "same_as", lambda self, other: self is other)
    for member, theirs in _KINDS.items():
        yield Lesson(ty.Kind, theirs, ty.Kind[member])


_KINDS = {
    "TYPE": "Type", "SHAPE_VAR": "ShapeVar", "BASE_TYPE": "BaseType", "CONSTRAINT": "Constraint",
    "ADT_HANDLE": "AdtHandle", "TYPE_DATA": "TypeData",
}  # fmt: skip
