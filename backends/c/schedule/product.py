"""Sums of products of two tensors, as their schedules see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import BufferLoad, PrimExpr, Var

# So many multiplications in registers take as long as one operation on memory.
FASTER = 4


@dataclass(frozen=True, slots=True)
class Quads:
    """How a reduced axis of ``extent`` is cut into fours: ``step`` of them, each from ``first`` on.

    Where four do not go into the extent, the last begins early, and its panel has zeros there.
    """

    axis: Var
    extent: int
    step: Axis
    first: PrimExpr


@dataclass(frozen=True, slots=True)
class Product:
    """``sum of single * vector``; ``along`` is the axis of the vectors.

    Where both factors run along it (a depthwise convolution), ``paired`` is set: single numbers are
    vectors, too. Of bytes, four neighbours of the reduced axis ``quads`` are one element of a
    panel; its steps begin at ``first``.
    """

    single: BufferLoad
    vector: BufferLoad
    along: Axis
    packed: bool
    score: float
    paired: bool = False
    quads: Quads | None = None

    @property
    def dtype(self) -> str:
        """What is added up."""
        return "int32" if self.of_bytes else self.vector.dtype

    @property
    def of_bytes(self) -> bool:
        """Whether both factors are bytes."""
        return self.vector.dtype == "int8"

    def along_panels(self, axes: Sequence[Axis]) -> list[Axis]:
        """Return those of the reduced ``axes`` along which the elements of a panel differ."""
        step = None if self.quads is None else self.quads.step
        return [axis for axis in axes if axis is step or stride(self.vector, axis) != 0]


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
