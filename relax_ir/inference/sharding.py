"""How the results of operators are spread over a mesh, from how their arguments are.

Each axis of a result comes from axes of the arguments; a result is cut where an argument is cut
along such an axis. Which axes those are is the ``spread`` of an operator's record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from relay2relax.core.errors import UnsupportedError
from relay2relax.ops.registry.record import OpDef
from relay2relax.ops.registry.script import Spread
from relay2relax.relax_ir.ir.expr import Constant, Function, IRModule, MatchCast
from relay2relax.relax_ir.ir.mesh import REPLICA, DeviceMesh, MeshError, Sharding, no_axis, read_placement
from relay2relax.relax_ir.ir.struct_info import (
    FuncStructInfo,
    ShapeStructInfo,
    StructInfo,
    TensorStructInfo,
    TupleStructInfo,
)
from relay2relax.relax_ir.ir.visit import all_sequences, bindings, operands
from relay2relax.tir.arith.simplify import prove
from relay2relax.tir.extent import Extent, as_prim, equal, floordiv, floormod, mul
from relay2relax.tir.ir import expr as tir

# The axis of an argument, and that of the result which it becomes.
_Pair = tuple[int, int]


def spread_result(op: OpDef, attrs: Any, args: Sequence[StructInfo], result: StructInfo) -> StructInfo:
    """Return ``result`` of the operator ``op`` with the sharding that follows from that of
    ``args``.

    Raises MeshError where arguments lie on different meshes, and for operators that TVM does not
    spread.
    """
    tensors = [info for info in args if isinstance(info, TensorStructInfo)]
    meshes = {info.sharding.mesh: None for info in tensors if info.sharding is not None}
    if len(meshes) > 1:
        raise MeshError("the arguments are spread over different meshes")
    (mesh,) = meshes
    if not isinstance(result, TensorStructInfo):
        raise MeshError("several results cannot be spread over a mesh of devices")
    spread = op.script.spread if op.script is not None else None
    placement = [REPLICA] * len(mesh.shape)
    targets = sorted(
        (axis, dimension)
        for info, pairs in zip(tensors, _axes(spread, attrs, tensors, args, result), strict=True)
        if info.sharding is not None
        for dimension, source in enumerate(info.sharding.placement)
        for own, axis in pairs
        if source == own
    )
    for axis, dimension in targets:
        placement[dimension] = axis
    return replace(result, sharding=Sharding(mesh, tuple(placement)))


def _axes(
    spread: Spread | None,
    attrs: Any,
    tensors: Sequence[TensorStructInfo],
    args: Sequence[StructInfo],
    result: TensorStructInfo,
) -> list[list[_Pair]]:
    """Return for each of ``tensors`` which of its axes become axes of the result."""
    first = tensors[0]
    match spread:
        case Spread.ELEMENTS | Spread.BROADCAST:
            return [list(_broadcast(info.shape, result.shape)) for info in tensors]
        case Spread.MATMUL:
            return _matmul(tensors, result)
        case Spread.PERMUTATION:
            order = range(first.ndim)[::-1] if attrs.axes is None else [int(axis) % first.ndim for axis in attrs.axes]
            return [[(own, axis) for axis, own in enumerate(order)]]
        case Spread.RESHAPE:
            shape = next(info for info in args if isinstance(info, ShapeStructInfo))
            return [list(_reshape(first.shape, shape.values))]
        case Spread.ALONG_OTHERS:
            return [[(axis, axis) for axis in range(first.ndim) if axis != int(attrs.axis) % first.ndim]]
        case Spread.REDUCTION:
            axes = range(first.ndim) if attrs.axis is None else _normal(attrs.axis, first.ndim)
            stay = [axis for axis in range(first.ndim) if axis not in axes]
            return [[(axis, axis if attrs.keepdims else place) for place, axis in enumerate(stay)]]
    raise MeshError("nothing is known of how its result is spread over a mesh of devices")


def _normal(axes: Any, ndim: int) -> set[int]:
    return {int(axis) % ndim for axis in (axes if isinstance(axes, (tuple, list)) else (axes,))}


def _known(shape: tuple[Extent, ...] | None) -> tuple[Extent, ...]:
    if shape is None:
        raise MeshError("a tensor that is spread over a mesh of devices needs a known shape")
    return shape


def _broadcast(shape: tuple[Extent, ...] | None, result: tuple[Extent, ...] | None) -> Iterator[_Pair]:
    """Yield the axes of ``shape`` that are not stretched to become those of ``result``."""
    own, whole = _known(shape), _known(result)
    for place in range(1, len(own) + 1):
        axis, target = len(own) - place, len(whole) - place
        if equal(own[axis], whole[target]) is not False:
            yield axis, target


def _matmul(tensors: Sequence[TensorStructInfo], result: TensorStructInfo) -> list[list[_Pair]]:
    left, right = tensors
    rows, columns = left.ndim > 1, right.ndim > 1
    batches = _known(result.shape)[: result.ndim - rows - columns]
    prefixes = [_known(info.shape)[: -2 if matrix else -1] for info, matrix in ((left, rows), (right, columns))]
    # TVM looks at the batches that both operands have only.
    common = min(map(len, prefixes))
    found = [[pair for pair in _broadcast(one, batches) if pair[0] >= len(one) - common] for one in prefixes]
    if rows:
        found[0].append((left.ndim - 2, result.ndim - 1 - columns))
    if columns:
        found[1].append((right.ndim - 1, result.ndim - 1))
    return found


def _reshape(shape: tuple[Extent, ...] | None, result: tuple[Extent, ...] | None) -> Iterator[_Pair]:
    """Yield the axes at which as many elements lie behind in both shapes: cutting there cuts both
    alike.
    """
    own, other = _known(shape), _known(result)
    before, after = len(own), len(other)
    size: Extent = 1
    new_size: Extent = 1
    while before > 0 and after > 0:
        if prove(tir.binary(">", as_prim(new_size), as_prim(size))):
            before -= 1
            size = mul(size, own[before])
        elif prove(tir.binary("<", as_prim(new_size), as_prim(size))):
            after -= 1
            new_size = mul(new_size, other[after])
        else:
            if before < len(own):
                yield before, after
            before, after = before - 1, after - 1
            size = mul(size, own[before])
            new_size = mul(new_size, other[after])


def redistributed(name: str, info: StructInfo, arguments: tuple[Any, ...]) -> StructInfo | None:
    """Return what the operator ``R.<name>``, which only speaks of a mesh, makes of a tensor of
    ``info``.

    ``arguments`` are those of the call in TVM's order. None is returned for other operators. Raises
    MeshError where the tensor cannot be spread so.
    """
    match name, info, arguments:
        case "dist.annotate_sharding", _, _:
            return info
        case "dist.redistribute", TensorStructInfo(ndim=ndim), (_, DeviceMesh() as mesh, str(placement)):
            sharding = Sharding(mesh, read_placement(placement))
            sharding.check(ndim)
            return replace(info, sharding=sharding)
        case "dist.redistribute_replica_to_shard", TensorStructInfo(shape), (_, int(workers), int(axis)):
            return _cut(info, _known(shape), workers, axis)
    return None


def _cut(info: TensorStructInfo, shape: tuple[Extent, ...], workers: int, axis: int) -> StructInfo:
    """Return the part of a tensor that each worker has.

    Of a tensor over a mesh, the tensor that is cut.
    """
    if not 0 <= axis < len(shape):
        raise no_axis(len(shape), axis)
    if equal(floormod(shape[axis], workers), 0) is False:
        raise MeshError(f"axis {axis} has {shape[axis]} elements, which {workers} workers cannot share alike")
    if info.sharding is not None:
        if info.sharding.placement != (REPLICA,):
            raise MeshError("expected a replica on every device of a mesh of one dimension")
        return replace(info, sharding=Sharding(info.sharding.mesh, (axis,)))
    return replace(info, shape=(*shape[:axis], floordiv(shape[axis], workers), *shape[axis + 1 :]))


def is_spread(info: StructInfo) -> bool:
    """Whether values of ``info`` hold tensors that are spread over a mesh."""
    match info:
        case TensorStructInfo(sharding=sharding):
            return sharding is not None
        case TupleStructInfo(fields):
            return any(map(is_spread, fields))
        case FuncStructInfo(params, ret):
            return any(map(is_spread, (*(params or ()), ret)))
    return False


def require_one_device(mod: IRModule) -> None:
    """Raise UnsupportedError where a function of ``mod`` has to do with tensors over a mesh of
    devices.
    """
    if any(map(is_spread, _infos(mod))):
        raise UnsupportedError("tensors over a mesh of devices (R.DTensor) do not run here: a program has one device")


def _infos(mod: IRModule) -> Iterable[StructInfo]:
    functions = [func for func in mod.functions.values() if isinstance(func, Function)]
    for func in functions:
        yield from (param.info for param in func.params)
        yield func.ret
    for sequence in all_sequences(func.body for func in functions):
        for binding in bindings(sequence):
            yield binding.var.info
            if isinstance(binding, MatchCast):
                yield binding.info
            yield from (one.info for one in operands(binding.value) if isinstance(one, Constant))
