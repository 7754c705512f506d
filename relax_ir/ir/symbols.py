"""Symbolic extents in struct info: which it defines and uses, replacing, forgetting, comparing."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Set
from dataclasses import replace

from relay2relax.core.dtype import is_float
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ObjectStructInfo,
    PrimStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.tir.extent import ANY, Extent, as_prim, canonical, equal, is_any, static
from relay2relax.tir.ir.expr import AnyExtent, Binary, Cast, PrimExpr, Var, binary, cast, children


def extents(info: StructInfo, scalars: bool = True) -> Iterator[Extent]:
    """Yield every extent of ``info``, in order; those inside function infos are not among them.

    ``scalars`` says whether the values of scalars count as extents, which they may become.
    """
    match info:
        case TensorStructInfo(shape) if shape is not None:
            yield from shape
        case ShapeStructInfo(values) if values is not None:
            yield from values
        case TupleStructInfo(fields):
            for one in fields:
                yield from extents(one, scalars)
        case PrimStructInfo(dtype, value) if scalars and value is not None and not is_float(dtype):
            yield value


def variables(extent: Extent) -> Iterator[Var]:
    """Yield the variables of ``extent``, in order, as often as they occur."""
    if isinstance(extent, Var):
        yield extent
    elif isinstance(extent, PrimExpr):
        for one in children(extent):
            yield from variables(one)


def defined(infos: Iterable[StructInfo]) -> set[Var]:
    """Return the variables that values of ``infos`` determine: those that are an extent by
    themselves.
    """
    return {extent for info in infos for extent in extents(info) if isinstance(extent, Var)}


def used(info: StructInfo) -> set[Var]:
    """Return every variable in the extents of ``info``."""
    return {var for extent in extents(info) for var in variables(extent)}


def substitute_extent(extent: Extent, values: Mapping[Var, Extent]) -> Extent:
    """Return ``extent`` with ``values`` in place of variables, in canonical form."""
    return canonical(_substitute(as_prim(extent), values)) if isinstance(extent, PrimExpr) else extent


def _substitute(expr: PrimExpr, values: Mapping[Var, Extent]) -> PrimExpr:
    match expr:
        case Var():
            return as_prim(values.get(expr, expr))
        case Binary(op, a, b):
            return binary(op, _substitute(a, values), _substitute(b, values))
        case Cast(dtype, value):
            return cast(dtype, _substitute(value, values))
    # Other expressions do not occur in shapes; they are known only where nothing in them changes.
    return ANY if any(var in values for var in variables(expr)) else expr


def _map(info: StructInfo, change: Mapping[Var, Extent] | Set[Var]) -> StructInfo:
    """Replace variables by the extents of a mapping, or forget extents with variables outside of a
    set.
    """

    def one(extent: Extent) -> Extent:
        if isinstance(change, Mapping):
            return substitute_extent(extent, change)
        return extent if all(var in change for var in variables(extent)) else ANY

    def row(shape: tuple[Extent, ...]) -> tuple[Extent, ...] | None:
        new = tuple(one(extent) for extent in shape)
        return None if any(is_any(extent) for extent in new) else new

    match info:
        case TensorStructInfo(shape) if shape is not None:
            return replace(info, shape=row(shape))
        case ShapeStructInfo(values, ndim) if values is not None:
            return ShapeStructInfo(row(values), ndim)
        case TupleStructInfo(fields):
            return TupleStructInfo(tuple(_map(field, change) for field in fields))
        case PrimStructInfo(dtype, value) if value is not None:
            new = one(value)
            return PrimStructInfo(dtype, None if isinstance(new, AnyExtent) else as_prim(new))
        case FuncStructInfo(params, ret, _):
            inner = None if params is None else tuple(_map(param, change) for param in params)
            return replace(info, params=inner, ret=_map(ret, change))
    return info


def substitute(info: StructInfo, values: Mapping[Var, Extent]) -> StructInfo:
    """Return ``info`` with ``values`` in place of variables.

    One unknown extent makes a shape unknown.
    """
    return _map(info, values) if values else info


def erase(info: StructInfo, known: Set[Var]) -> StructInfo:
    """Return what is left of ``info`` where only the variables ``known`` are in scope."""
    if isinstance(info, FuncStructInfo):
        own = known | defined(info.params or ())
        return _map(info, own)
    return info if used(info) <= known else _map(info, known)


def _same_shape(a: tuple[Extent, ...] | None, b: tuple[Extent, ...] | None) -> bool:
    return a is not None and b is not None and len(a) == len(b) and all(map(equal, a, b))


def join(a: StructInfo, b: StructInfo) -> StructInfo:
    """Return the strongest struct info that values of ``a`` and of ``b`` both have."""
    if a == b:
        return a
    match a, b:
        case TensorStructInfo(), TensorStructInfo() if a.sharding == b.sharding:
            shape = a.shape if _same_shape(a.shape, b.shape) else None
            ndim = a.ndim if a.ndim == b.ndim else -1
            vdevice = a.vdevice if a.vdevice == b.vdevice else ""
            return TensorStructInfo(shape, a.dtype if a.dtype == b.dtype else "", ndim, vdevice, a.sharding)
        case ShapeStructInfo(), ShapeStructInfo():
            values = a.values if _same_shape(a.values, b.values) else None
            return ShapeStructInfo(values, a.ndim if a.ndim == b.ndim else -1)
        case TupleStructInfo(first), TupleStructInfo(second) if len(first) == len(second):
            return TupleStructInfo(tuple(map(join, first, second)))
        case PrimStructInfo(dtype), PrimStructInfo(other) if dtype == other:
            return PrimStructInfo(dtype)
        case FuncStructInfo(), FuncStructInfo() if renamed(b, a) == a:
            return a
    return ObjectStructInfo()


def needs_cast(claimed: StructInfo, actual: StructInfo) -> bool:
    """Whether ``claimed`` does not follow from ``actual``, so that only the running program can
    tell.
    """
    claimed, actual = unplaced(claimed), unplaced(actual)
    if isinstance(claimed, FuncStructInfo) or isinstance(actual, ObjectStructInfo):
        return False
    return join(claimed, actual) != claimed


def is_narrower(a: StructInfo, b: StructInfo) -> bool:
    """Whether every value of ``a`` is one of ``b``, but not the other way round."""
    return a != b and not mismatch(a, b) and join(a, b) == b


def renamed(info: FuncStructInfo, like: FuncStructInfo) -> StructInfo:
    """Return ``info`` with the names that ``like`` has for the dimensions which the parameters
    define.
    """
    pairs = zip(info.params or (), like.params or (), strict=False)
    dimensions = (both for one, other in pairs for both in zip(extents(one), extents(other), strict=False))
    return substitute(info, {own: said for own, said in dimensions if isinstance(own, Var) and isinstance(said, Var)})


def mismatch(expected: StructInfo, actual: StructInfo) -> str:
    """Return why no value of ``actual`` is one of ``expected``; "" where some may be."""
    match expected, actual:
        case (ObjectStructInfo(), _) | (_, ObjectStructInfo()):
            return ""
        case TensorStructInfo(), TensorStructInfo():
            if expected.dtype and actual.dtype and expected.dtype != actual.dtype:
                return f"dtype {actual.dtype}, expected {expected.dtype}"
            if (expected.sharding is None) != (actual.sharding is None):
                return f"{kind(actual)}, expected {kind(expected)}"
            if expected.sharding != actual.sharding:
                return "spread over a mesh in another way"
            if expected.vdevice and actual.vdevice and expected.vdevice != actual.vdevice:
                return f"on {actual.vdevice}, expected {expected.vdevice}"
            return _rows(expected.shape, actual.shape, expected.ndim, actual.ndim)
        case ShapeStructInfo(), ShapeStructInfo():
            return _rows(expected.values, actual.values, expected.ndim, actual.ndim)
        case TupleStructInfo(first), TupleStructInfo(second):
            if len(first) != len(second):
                return f"{len(second)} fields, expected {len(first)}"
            for index, (one, other) in enumerate(zip(first, second, strict=True)):
                if reason := mismatch(one, other):
                    return f"field {index}: {reason}"
            return ""
        case PrimStructInfo(dtype), PrimStructInfo(other):
            return "" if dtype == other else f"dtype {other}, expected {dtype}"
        case FuncStructInfo(), FuncStructInfo():
            if expected.params is None or actual.params is None or len(expected.params) == len(actual.params):
                return ""
            return f"{len(actual.params)} parameters, expected {len(expected.params)}"
    return f"{kind(actual)}, expected {kind(expected)}"


def _rows(expected: tuple[Extent, ...] | None, actual: tuple[Extent, ...] | None, ndim: int, actual_ndim: int) -> str:
    if ndim >= 0 and actual_ndim >= 0 and ndim != actual_ndim:
        return f"rank {actual_ndim}, expected {ndim}"
    if expected is None or actual is None:
        return ""
    for axis, (one, other) in enumerate(zip(expected, actual, strict=True)):
        if equal(one, other) is False:
            return f"dimension {axis} is {other}, expected {one}"
    return ""


def unplaced(info: StructInfo) -> StructInfo:
    """Return ``info`` without the devices on which its tensors are."""
    match info:
        case TensorStructInfo(vdevice=vdevice) if vdevice:
            return replace(info, vdevice="")
        case TupleStructInfo(fields):
            return TupleStructInfo(tuple(map(unplaced, fields)))
    return info


def whole(info: StructInfo) -> StructInfo:
    """Return ``info`` of a tensor that is spread over a mesh as that of the whole tensor."""
    return replace(info, sharding=None) if isinstance(info, TensorStructInfo) and info.sharding is not None else info


def is_opaque(info: StructInfo) -> bool:
    """Whether nothing is known of values of ``info``, as of what a packed function returns."""
    return isinstance(info, ObjectStructInfo)


def static_extent(extent: Extent) -> Extent:
    """Return a static extent as a plain int, as struct info has it; others as they are."""
    value = static(extent)
    return extent if value is None else value


def kind(info: StructInfo) -> str:
    """Return what ``info`` describes: a tensor, a shape, …"""
    if isinstance(info, TensorStructInfo) and info.sharding is not None:
        return "a tensor over a mesh of devices"
    return _KINDS[type(info)]


_KINDS: dict[type[StructInfo], str] = {
    TensorStructInfo: "a tensor",
    ShapeStructInfo: "a shape",
    TupleStructInfo: "a tuple",
    PrimStructInfo: "a scalar",
    ObjectStructInfo: "an object",
    FuncStructInfo: "a function",
}
