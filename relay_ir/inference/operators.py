"""What an operator says of one combination of attributes and argument types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TypeAlias

from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.tir.extent import ANY, is_any, static

Signature: TypeAlias = tuple[OpDef, object, tuple[Type, ...]]


@dataclass(frozen=True, slots=True)
class Inferred:
    """The answer of an operator.

    ``same_as_input``: the result is the type of the only input itself; what is learnt of one is
    learnt of both. ``operands``: what the operator demands of arguments, where that differs from
    their types.
    """

    result: Type
    same_as_input: bool
    operands: tuple[tuple[int, Type], ...]


def infer_operator(op: OpDef, attrs: object, types: tuple[Type, ...]) -> Inferred:
    """Return what ``op`` says of arguments of known ``types``; raises what its record raises.

    Raises OpError where an extent of the result does not fit 64 bits, which is what files and
    programs hold.
    """
    result = (op.relay_type or op.infer)(attrs, *types)
    for ty in result.fields if isinstance(result, TupleType) else (result,):
        if isinstance(ty, TensorType) and any((static(one) or 0) >> 63 not in (0, -1) for one in ty.shape):
            raise OpError("an extent of the result does not fit 64 bits")
    same = len(types) == 1 and result is types[0]
    return Inferred(result, same, tuple(_widened_operands(op, attrs, types)))


def _widened_operands(op: OpDef, attrs: object, types: tuple[Type, ...]) -> Iterator[tuple[int, Type]]:
    """Yield the arguments whose extents the operator ties to unknown ones, with these extents
    unknown.

    TVM's relations assign a weight the type that follows from the data; where that has a ``?``, the
    weight gets it.
    """
    if op.operands is None or not any(isinstance(ty, TensorType) and any(map(is_any, ty.shape)) for ty in types):
        return
    for index, ty in enumerate(types):
        demanded = op.operands(attrs, (*types[:index], None, *types[index + 1 :]))[index]
        if isinstance(ty, TensorType) and isinstance(demanded, TensorType) and demanded.rank == ty.rank:
            pairs = zip(ty.shape, demanded.shape, strict=True)
            widened = replace(ty, shape=tuple(ANY if is_any(wanted) else known for known, wanted in pairs))
            if widened != ty:
                yield index, widened
