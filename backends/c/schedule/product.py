"""Sums of products of two tensors, as their schedules see them."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import BufferLoad

# So many multiplications in registers take as long as one operation on memory.
FASTER = 4


@dataclass(frozen=True, slots=True)
class Product:
    """``sum of single * vector``; ``along`` is the axis of the vectors.

    Where both factors run along it (a depthwise convolution), ``paired`` is set: single numbers are
    vectors, too.
    """

    single: BufferLoad
    vector: BufferLoad
    along: Axis
    packed: bool
    score: float
    paired: bool = False


def stride(load: BufferLoad, axis: Axis) -> int | None:
    return coefficient(load.indices[0], axis.var)


def can_pack(stage: Stage, vector: BufferLoad) -> bool:
    reduction = stage.reduction
    assert reduction is not None
    axes = (*stage.axes, *reduction.axes)
    return (
        vector.buffer.scope != "local"
        and all(stride(vector, axis) is not None for axis in axes)
        and all(static(axis.extent) is not None for axis in axes if stride(vector, axis) != 0)
    )


def vector_width(extent: int, lanes: int) -> int:
    while lanes > extent:
        lanes //= 2
    return lanes
