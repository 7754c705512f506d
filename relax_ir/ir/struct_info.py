"""Struct info: what is known of a Relax value when the program is written.

    info ::= Tensor(shape?, dtype, ndim, device?, sharding?) | Shape(extent*?, ndim) | Tuple(info*)
           | Prim(dtype, value?) | Object | Func(info*, info, purity)

Struct info are values; symbolic extents are ``tir.Var`` and expressions over them. An unknown shape
is ``None``, an unknown rank is ``ndim == -1``, an unknown dtype is "", and so is the device of a
tensor that is placed nowhere.
"""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.core.dtype import check_dtype
from relay2relax.core.errors import UnsupportedError
from relay2relax.core.words import check_device
from relay2relax.ops.registry.types import AnyRankType, ScalarType, TensorType, TupleType, Type
from relay2relax.relax_ir.ir.mesh import Sharding
from relay2relax.tir.extent import ANY, Extent, Shape, is_any, require_allowed
from relay2relax.tir.ir.expr import PrimExpr


class StructInfo:
    """Base of all struct info."""

    __slots__ = ()


@dataclass(frozen=True, slots=True)
class TensorStructInfo(StructInfo):
    """A tensor; ``ndim`` follows from ``shape`` where that is known.

    ``vdevice`` names a device of the module, as ``devices.full_name`` writes it: ``cuda:0:global``.
    Operators do not look at it. ``sharding`` says how the tensor is spread over a mesh of devices,
    None where it is not; the rest is said of the whole tensor.
    """

    shape: tuple[Extent, ...] | None = None
    dtype: str = ""
    ndim: int = -1
    vdevice: str = ""
    sharding: Sharding | None = None

    def __post_init__(self) -> None:
        if self.shape is not None:
            object.__setattr__(self, "ndim", len(self.shape))
            require_allowed(self.shape)
        check_dtype(self.dtype)
        if self.vdevice:
            check_device(self.vdevice)


@dataclass(frozen=True, slots=True)
class ShapeStructInfo(StructInfo):
    """A shape value."""

    values: tuple[Extent, ...] | None = None
    ndim: int = -1

    def __post_init__(self) -> None:
        if self.values is not None:
            object.__setattr__(self, "ndim", len(self.values))


@dataclass(frozen=True, slots=True)
class TupleStructInfo(StructInfo):
    """A tuple."""

    fields: tuple[StructInfo, ...] = ()


@dataclass(frozen=True, slots=True)
class PrimStructInfo(StructInfo):
    """A scalar."""

    dtype: str
    value: PrimExpr | None = None

    def __post_init__(self) -> None:
        check_dtype(self.dtype)


@dataclass(frozen=True, slots=True)
class ObjectStructInfo(StructInfo):
    """Anything."""


@dataclass(frozen=True, slots=True)
class FuncStructInfo(StructInfo):
    """A function; ``params`` is None where nothing is known of them."""

    params: tuple[StructInfo, ...] | None
    ret: StructInfo
    purity: bool = True


def to_type(info: StructInfo) -> Type:
    """Return ``info`` as the type that operators' rules take.

    An unknown shape of known rank has ``ANY`` extents.

    Raises TypeError for what operators cannot take (unknown rank, objects, functions).
    """
    match info:
        case TensorStructInfo(shape, dtype, ndim) if ndim >= 0:
            return TensorType(shape if shape is not None else (ANY,) * ndim, dtype)
        case TupleStructInfo(fields):
            return TupleType(tuple(to_type(one) for one in fields))
    raise TypeError(f"operators cannot take {info!r}")


def from_type(type_: Type | Shape) -> StructInfo:
    """Return the struct info of an operator's result.

    A shape with an ``ANY`` extent is unknown but for its rank.

    A tuple of extents is a shape value.

    Raises UnsupportedError for types that Relax does not have.
    """
    match type_:
        case tuple():
            return ShapeStructInfo(None if any(map(is_any, type_)) else type_, len(type_))
        case TensorType(shape, dtype):
            if any(is_any(extent) for extent in shape):
                return TensorStructInfo(None, dtype, len(shape))
            return TensorStructInfo(shape, dtype)
        case TupleType(fields):
            return TupleStructInfo(tuple(from_type(one) for one in fields))
        case ScalarType(dtype):
            return PrimStructInfo(dtype)
        case AnyRankType(dtype):
            return TensorStructInfo(dtype=dtype)
    raise UnsupportedError(f"Relax has no struct info for the type {type_!r}")
