"""Layouts that TVM's schedulers chose for weights: the same elements in another order.

Source of the semantics: TVM 0.18 src/relay/op/tensor/transform.cc and include/tvm/topi/transform.h.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from relay2relax.core.dtype import Array, is_float
from relay2relax.core.errors import mistake
from relay2relax.core.errors.table import operators
from relay2relax.ops.common.shapes import tensor
from relay2relax.ops.registry.attributes import IndexMapping, InlineString, Number, OptionalIntegerArray
from relay2relax.ops.registry.fusion import Fusion
from relay2relax.ops.registry.record import OpDef, OpError
from relay2relax.ops.registry.script import Script
from relay2relax.ops.registry.types import TensorType, Type, show
from relay2relax.ops.tensor.create import static_shape
from relay2relax.tir import te
from relay2relax.tir.analysis.pattern import OpPattern
from relay2relax.tir.extent import ANY, Extent, Shape, add, as_prim, ceildiv, is_any, mul, static, sub
from relay2relax.tir.ir.expr import Binary, Buffer, Cast, FloatImm, IntImm, PrimExpr, Var, const
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import BufferStore, For, Seq, Stmt
from relay2relax.tir.ir.visit import substitute

SOURCE = "TVM 0.18 src/relay/op/tensor/transform.cc"
_LAYOUT = re.compile(r"(\d+)([A-Za-z_]+)")


@dataclass(frozen=True, slots=True)
class AutoSchedulerLayoutTransformAttrs:
    """Layouts as sequences of extent and axis, e.g. ``4n8k2n``; an axis that occurs twice is split
    in two.
    """

    src_layout: InlineString
    dst_layout: InlineString


@dataclass(frozen=True, slots=True)
class MetaScheduleLayoutTransformAttrs:
    """From the indices of an element to those of its place in the result."""

    index_map: IndexMapping


@dataclass(frozen=True, slots=True)
class IndexMapAttrs:
    """``index_map`` is as that of ``meta_schedule_layout_transform``; ``pad_value`` stands where no
    element goes to, None for any value. Separators divide the axes into those of physical memory,
    which has one axis here.
    """

    index_map: IndexMapping
    pad_value: Number = None
    axis_separators: OptionalIntegerArray = None
    input_axis_separators: OptionalIntegerArray = None


@dataclass(frozen=True, slots=True, eq=False)
class IndexMap:
    """``final_indices`` are written with the variables ``initial_indices``, whose names do not
    matter.
    """

    initial_indices: tuple[Var, ...]
    final_indices: tuple[PrimExpr, ...]

    @property
    def nameless(self) -> tuple[PrimExpr, ...]:
        """The final indices with each variable replaced by its number: equal for maps that are
        alike.
        """
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
        raise OpError(f'layout "{layout}" is no sequence of extents and axes, such as "4n8k"', kind=operators.LAYOUT)
    return found


def auto_scheduler_type(attrs: AutoSchedulerLayoutTransformAttrs, data: Type) -> TensorType:
    """Return the extents that the target layout has."""
    found, source = tensor(data), _parts(attrs.src_layout)
    target = _parts(attrs.dst_layout)
    if found.rank != len(source):
        raise OpError(
            mistake(operators.LAYOUT, what="the data", rank=found.rank, layout=attrs.src_layout, needed=len(source)), 0
        )
    for axis in {axis for _, axis in source}:
        sizes = [int(np.prod([extent for extent, other in parts if other == axis])) for parts in (source, target)]
        if sizes[0] != sizes[1]:
            raise OpError(
                f"axis {axis} has {sizes[0]} elements in the source layout, {sizes[1]} in the target's",
                kind=operators.LAYOUT,
            )
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
    return te.compute(out.shape, lambda *i: data[tuple(_gathered(attrs, i, const(0, "int64")))], "T_layout_transform")


# meta_schedule_layout_transform


def _reach(expr: PrimExpr, extents: dict[Var, Extent]) -> tuple[int, Extent]:
    """Return the smallest value of an index expression, and the extent after the largest."""
    match expr:
        case IntImm(value):
            return value, value + 1
        case Var() if expr in extents:
            return 0, extents[expr]
        case Cast(_, value):
            return _reach(value, extents)
        case Binary(("+" | "-" | "*" | "//" | "%" | "truncdiv" | "truncmod") as op, a, b):
            (low, end), (least, bound) = _reach(a, extents), _reach(b, extents)
            known_end, known_bound = static(end), static(bound)
            match op:
                case "+":
                    return low + least, sub(add(end, bound), 1)
                case "-" if known_bound is not None:
                    return low - known_bound + 1, sub(end, least)
                case "*" if known_bound == least + 1 and least >= 0:
                    return low * least, add(mul(sub(end, 1), least), 1)
                case "*" if known_end == low + 1 and low >= 0:
                    return low * least, add(mul(sub(bound, 1), low), 1)
                case "//" | "truncdiv" if known_bound == least + 1 and least > 0 and low >= 0:
                    return low // least, ceildiv(end, least)
                case "%" | "truncmod" if known_bound == least + 1 and least > 0 and low >= 0:
                    return 0, least
    raise OpError("an index map consists of sums, and of products, quotients and remainders by numbers")


def _extents(mapping: IndexMap, shape: Shape) -> Shape:
    """Return the shape that ``mapping`` sends ``shape`` to."""
    if len(mapping.initial_indices) != len(shape):
        raise OpError(f"the index map takes {len(mapping.initial_indices)} indices, the data has {show(shape)}", 0)
    known = dict(zip(mapping.initial_indices, shape, strict=True))
    return tuple(_reach(expr, known)[1] for expr in mapping.final_indices)


def meta_schedule_type(attrs: MetaScheduleLayoutTransformAttrs, data: Type) -> TensorType:
    """Return the extents that the indices of the result reach."""
    found = tensor(data)
    if any(static(extent) is None for extent in found.shape):
        raise OpError(f"the data's extents must be known, they are {show(found.shape)}", 0, kind=operators.ATTRIBUTE)
    return TensorType(_extents(attrs.index_map, found.shape), found.dtype)


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


def _moved(mapping: IndexMap, data: Array, filler: float) -> Array:
    """Return the elements at their new places; places that none goes to hold ``filler``."""
    result = np.full(static_shape(_extents(mapping, data.shape)), filler, data.dtype)
    values = dict(zip(mapping.initial_indices, np.ogrid[tuple(map(slice, data.shape))], strict=True))
    result[tuple(_place(expr, values) for expr in mapping.final_indices)] = data
    return result


def _moved_compute(mapping: IndexMap, out: TensorType, data: te.Tensor, filler: PrimExpr) -> te.Tensor:
    """Return ``filler`` everywhere, and the elements written to their new places."""

    def build(inputs: Sequence[Buffer], outputs: Sequence[Buffer]) -> Stmt:
        (source,), (target,) = inputs, outputs
        places = [Var(f"j{d}") for d in range(len(target.shape))]
        filled: Stmt = BufferStore(target, tuple(places), filler)
        for var, extent in zip(reversed(places), reversed(target.shape), strict=True):
            filled = For(var, extent, filled)
        loops = [Var(f"i{d}") for d in range(data.rank)]
        values: dict[Var, PrimExpr] = dict(zip(mapping.initial_indices, loops, strict=True))
        final = tuple(_as_index(substitute(expr, values)) for expr in mapping.final_indices)
        moved: Stmt = BufferStore(target, final, source[tuple(loops)])
        for var, extent in zip(reversed(loops), reversed(source.shape), strict=True):
            moved = For(var, extent, moved)
        return Seq((filled, moved))

    (result,) = te.extern([out.shape], [data.dtype], [data], build, "T_layout_transform")
    return result


def meta_schedule_numpy(attrs: MetaScheduleLayoutTransformAttrs, data: Array) -> Array:
    """Return the elements at their new places; places that none goes to are 0."""
    return _moved(attrs.index_map, data, 0)


def meta_schedule_compute(attrs: MetaScheduleLayoutTransformAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return zeros, and the elements written to their new places."""
    return _moved_compute(attrs.index_map, out, data, const(0, data.dtype))


# R.layout_transform


def index_map_type(attrs: IndexMapAttrs, data: Type) -> TensorType:
    """Return the extents that the indices of the result reach."""
    found = tensor(data)
    if isinstance(attrs.pad_value, (float, FloatImm)) and not is_float(found.dtype):
        raise OpError(
            f"pad_value is a floating-point number, the data has dtype {found.dtype}", 0, kind=operators.DTYPE
        )
    if any(map(is_any, found.shape)):
        return TensorType((ANY,) * len(attrs.index_map.final_indices), found.dtype)
    return TensorType(_extents(attrs.index_map, found.shape), found.dtype)


def _padding(attrs: IndexMapAttrs) -> float:
    value = attrs.pad_value.value if isinstance(attrs.pad_value, (IntImm, FloatImm)) else attrs.pad_value
    return 0 if value is None else value


def index_map_numpy(attrs: IndexMapAttrs, data: Array) -> Array:
    """Return the elements at their new places; places that none goes to hold ``pad_value``."""
    return _moved(attrs.index_map, data, _padding(attrs))


def index_map_compute(attrs: IndexMapAttrs, out: TensorType, data: te.Tensor) -> te.Tensor:
    """Return ``pad_value`` everywhere, and the elements written to their new places."""
    return _moved_compute(attrs.index_map, out, data, const(_padding(attrs), data.dtype))


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
        infer=auto_scheduler_type,
        numpy=auto_scheduler_numpy,
        compute=auto_scheduler_compute,
        fusion=Fusion(OpPattern.INJECTIVE),
    ),
    OpDef(
        relay="meta_schedule_layout_transform",
        doc="The elements at the places that an index map sends them to.",
        source=f"{SOURCE}, MetaScheduleLayoutTransform",
        inputs=("data",),
        attrs=MetaScheduleLayoutTransformAttrs,
        infer=meta_schedule_type,
        numpy=meta_schedule_numpy,
        compute=meta_schedule_compute,
        fusion=Fusion(OpPattern.INJECTIVE),
    ),
    OpDef(
        doc="The elements at the places that an index map sends them to.",
        source="TVM 0.27 src/relax/op/tensor/manipulate.cc, relax.layout_transform",
        inputs=("x",),
        attrs=IndexMapAttrs,
        infer=index_map_type,
        numpy=index_map_numpy,
        compute=index_map_compute,
        script=Script(
            "layout_transform", "x, index_map, pad_value=None, axis_separators=None, input_axis_separators=None"
        ),
    ),
)
