"""Layouts that TVM's schedulers chose for weights: the same elements in another order.

Source of the semantics: TVM 0.18 src/relay/op/tensor/transform.cc and include/tvm/topi/transform.h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array
from relay2relax.ops.attributes import IndexMapping, InlineString
from relay2relax.ops.record import OpDef, OpError
from relay2relax.ops.shapes import show, tensor
from relay2relax.ops.types import TensorType, Type
from relay2relax.tir import te
from relay2relax.tir.expr import Binary, Buffer, Cast, IntImm, PrimExpr, Var, const
from relay2relax.tir.extent import Shape, as_prim, static
from relay2relax.tir.intrinsics import call
from relay2relax.tir.stmt import BufferStore, For, Seq, Stmt
from relay2relax.tir.visit import substitute

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"
_LAYOUT = re.compile(r"(\d+)([A-Za-z_]+)")


@dataclass(frozen=True, slots=True)
class AutoSchedulerLayoutTransformAttrs:
    """Layouts as sequences of extent and axis, e.g. ``4n8k2n``; an axis that occurs twice is split in two."""

    src_layout: InlineString
    dst_layout: InlineString


@dataclass(frozen=True, slots=True)
class MetaScheduleLayoutTransformAttrs:
    """From the indices of an element to those of its place in the result."""

    index_map: IndexMapping


@dataclass(frozen=True, slots=True, eq=False)
class IndexMap:
    """``final_indices`` are written with the variables ``initial_indices``, whose names do not matter."""

    initial_indices: tuple[Var, ...]
    final_indices: tuple[PrimExpr, ...]

    @property
    def nameless(self) -> tuple[PrimExpr, ...]:
        """The final indices with each variable replaced by its number: equal for maps that are alike."""
        numbers: dict[Var, PrimExpr] = {
            var: call("index", IntImm(number), dtype=var.dtype) for number, var in enumerate(self.initial_indices)
        }
        return tuple(substitute(expr, numbers) for expr in self.final_indices)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, IndexMap):
            return NotImplemented
        return len(self.initial_indices) == len(other.initial_indices) and self.nameless == other.nameless

    def __hash__(self) -> int:
        return hash(self.nameless)


# auto_scheduler_layout_transform


def _parts(layout: str) -> list[tuple[int, str]]:
    found = [(int(extent), axis) for extent, axis in _LAYOUT.findall(layout)]
    if "".join(f"{extent}{axis}" for extent, axis in found) != layout or any(extent < 1 for extent, _ in found):
        raise OpError(f'layout "{layout}" is no sequence of extents and axes, such as "4n8k"')
    return found


def auto_scheduler_type(attrs: AutoSchedulerLayoutTransformAttrs, data: Type) -> TensorType:
    """Return the extents that the target layout has."""
    found, source = tensor(data), _parts(attrs.src_layout)
    target = _parts(attrs.dst_layout)
    if found.rank != len(source):
        raise OpError(f'the data has {found.rank} dimensions; layout "{attrs.src_layout}" has {len(source)}', 0)
    for axis in {axis for _, axis in source}:
        sizes = [int(np.prod([extent for extent, other in parts if other == axis])) for parts in (source, target)]
        if sizes[0] != sizes[1]:
            raise OpError(f"axis {axis} has {sizes[0]} elements in the source layout, {sizes[1]} in the target's")
    return TensorType(tuple(extent for extent, _ in target), found.dtype)


def _gathered(attrs: AutoSchedulerLayoutTransformAttrs, indices: Sequence[Any], zero: Any) -> list[Any]:
    """Return where the element at ``indices`` of the result lies in the data."""
    source, target = _parts(attrs.src_layout), _parts(attrs.dst_layout)
    flat: dict[str, Any] = {}
    for (extent, axis), index in zip(target, indices, strict=True):
        flat[axis] = flat.get(axis, zero) * extent + index
    places: list[Any] = []
    for number, (extent, axis) in enumerate(source):
        inner = int(np.prod([e for e, other in source[number + 1 :] if other == axis]))
        places.append(flat[axis] // inner % extent)
    return places


def auto_scheduler_numpy(attrs: AutoSchedulerLayoutTransformAttrs, data: Array) -> Array:
    """Return the elements in the target layout."""
    grid = np.ogrid[tuple(slice(0, extent) for extent, _ in _parts(attrs.dst_layout))]
    return np.asarray(data[tuple(_gathered(attrs, grid, 0))])


def auto_scheduler_compute(attrs: AutoSchedulerLayoutTransformAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return the element that belongs at each place."""
    result: te.Tensor = te.compute(
        out.shape, lambda *i: data[tuple(_gathered(attrs, i, const(0, "int64")))], "T_layout_transform"
    )
    return result


# meta_schedule_layout_transform


def _largest(expr: PrimExpr, extents: dict[Var, int]) -> tuple[int, int]:
    """Return the bounds of an index expression."""
    match expr:
        case IntImm(value):
            return value, value
        case Var() if expr in extents:
            return 0, extents[expr] - 1
        case Cast(_, value):
            return _largest(value, extents)
        case Binary(("+" | "-" | "*" | "//" | "%" | "truncdiv" | "truncmod") as op, a, b):
            (low, high), (least, most) = _largest(a, extents), _largest(b, extents)
            match op:
                case "+":
                    return low + least, high + most
                case "-":
                    return low - most, high - least
                case "*":
                    corners = [x * y for x in (low, high) for y in (least, most)]
                    return min(corners), max(corners)
            if least == most > 0 and low >= 0:
                if op in ("//", "truncdiv"):
                    return low // least, high // least
                return (low, high) if high < least else (0, least - 1)
    raise OpError(f"the index map holds an expression whose bounds cannot be found: {expr!r}")


def _extents(attrs: MetaScheduleLayoutTransformAttrs, shape: Shape) -> tuple[int, ...]:
    """Return the shape that the map sends ``shape`` to."""
    mapping = attrs.index_map
    sizes = [static(extent) for extent in shape]
    if len(mapping.initial_indices) != len(sizes):
        raise OpError(f"the index map takes {len(mapping.initial_indices)} indices, the data has {show(shape)}", 0)
    if any(size is None for size in sizes):
        raise OpError(f"the data's extents must be known, they are {show(shape)}", 0)
    known = {var: size or 0 for var, size in zip(mapping.initial_indices, sizes, strict=True)}
    return tuple(_largest(expr, known)[1] + 1 for expr in mapping.final_indices)


def meta_schedule_type(attrs: MetaScheduleLayoutTransformAttrs, data: Type) -> TensorType:
    """Return the extents that the indices of the result reach."""
    found = tensor(data)
    return TensorType(_extents(attrs, found.shape), found.dtype)


def _place(expr: PrimExpr, values: dict[Var, Any]) -> Any:
    """Return an index expression on arrays of indices."""
    match expr:
        case IntImm(value):
            return value
        case Var():
            return values[expr]
        case Cast(_, value):
            return _place(value, values)
        case Binary(op, a, b):
            left, right = _place(a, values), _place(b, values)
            match op:
                case "+":
                    return left + right
                case "-":
                    return left - right
                case "*":
                    return left * right
                case "//" | "truncdiv":
                    return left // right
            return left % right
    raise OpError(f"the index map holds an expression that cannot be evaluated: {expr!r}")


def meta_schedule_numpy(attrs: MetaScheduleLayoutTransformAttrs, data: Array) -> Array:
    """Return the elements at their new places; places that none goes to are 0."""
    result = np.zeros(_extents(attrs, data.shape), data.dtype)
    values = dict(zip(attrs.index_map.initial_indices, np.ogrid[tuple(map(slice, data.shape))], strict=True))
    result[tuple(_place(expr, values) for expr in attrs.index_map.final_indices)] = data
    return result


def meta_schedule_compute(attrs: MetaScheduleLayoutTransformAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return zeros, and the elements written to their new places."""
    mapping = attrs.index_map

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (source,), (target,) = inputs, outputs
        places = [Var(f"j{d}") for d in range(len(target.shape))]
        zeros: Stmt = BufferStore(target, tuple(places), const(0, data.dtype))
        for var, extent in zip(reversed(places), reversed(target.shape), strict=True):
            zeros = For(var, extent, zeros)
        loops = [Var(f"i{d}") for d in range(data.rank)]
        values: dict[Var, PrimExpr] = dict(zip(mapping.initial_indices, loops, strict=True))
        final = tuple(_as_index(substitute(expr, values)) for expr in mapping.final_indices)
        moved: Stmt = BufferStore(target, final, source[tuple(loops)])
        for var, extent in zip(reversed(loops), reversed(source.shape), strict=True):
            moved = For(var, extent, moved)
        return Seq((zeros, moved))

    (result,) = te.extern([out.shape], [data.dtype], [data], build, "T_layout_transform")
    return result


def _as_index(expr: PrimExpr) -> PrimExpr:
    """Return an index expression in int64."""
    match expr:
        case IntImm(value):
            return const(value, "int64")
        case Binary(op, a, b):
            return Binary(op, _as_index(a), _as_index(b))
        case Cast(_, value):
            return _as_index(value)
    return as_prim(expr)


OPS = (
    OpDef(
        relay="auto_scheduler_layout_transform",
        doc="The elements in the order of the layout that the auto-scheduler chose.",
        source=f"{SOURCE}, AutoSchedulerLayoutTransform",
        inputs=("data",),
        attrs=AutoSchedulerLayoutTransformAttrs,
        attrs_key="relay.attrs.AutoSchedulerLayoutTransformAttrs",
        infer=auto_scheduler_type,
        numpy=auto_scheduler_numpy,
        compute=auto_scheduler_compute,
    ),
    OpDef(
        relay="meta_schedule_layout_transform",
        doc="The elements at the places that an index map sends them to.",
        source=f"{SOURCE}, MetaScheduleLayoutTransform",
        inputs=("data",),
        attrs=MetaScheduleLayoutTransformAttrs,
        attrs_key="relay.attrs.MetaScheduleLayoutTransformAttrs",
        infer=meta_schedule_type,
        numpy=meta_schedule_numpy,
        compute=meta_schedule_compute,
    ),
)
