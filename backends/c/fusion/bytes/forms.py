"""The forms in which products of bytes are computed."""

from __future__ import annotations

from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.stages import Axis, Stage, points
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import BufferLoad
from relay2relax.tir.ir.visit import variables

# Neighbours of a reduced axis are multiplied four at a time; those of an axis that both factors and
# the result have, one by one; fewer channels than four are filled up with zeros.
QUADS, PAIRED, FEW = "quads", "paired", "few"
QUAD = 4
# Weights that are not known are packed only where they are used at least so often.
_LEAST_REUSE = 8


@dataclass(frozen=True, slots=True)
class Form:
    """How a product is computed: what ``kind``, and along which ``axis``.

    ``depth`` is how many products a sum has, where that is known. The axis then has ``size``
    points; where that is more than there were, it is the dimension ``dims`` of data and weights.
    """

    kind: str
    axis: Axis
    depth: int | None
    size: int = 0
    dims: tuple[int, int] | None = None

    def few(self, data: bool) -> int | None:
        """Return the dimension of the data, or of the weights, that becomes longer."""
        return None if self.dims is None else self.dims[0 if data else 1]


def form_of(stage: Stage, data: BufferLoad, weights: BufferLoad, known: bool) -> Form | None:
    """Return how the sum of products of bytes is computed, None where it is not.

    It is said whether the weights are ``known`` ahead.
    """
    reduction = stage.reduction
    if reduction is None or not data.indices or not weights.indices:
        return None
    depth = static(points(reduction.axes))
    used = {var for index in weights.indices for var in variables(index)}
    reuse = static(points([axis for axis in stage.axes if axis.var not in used]))
    if not known and reuse is not None and reuse < _LEAST_REUSE:
        return None
    for axis in reduction.axes:
        if _is_innermost(axis, data) and _is_affine(axis, weights) and (static(axis.extent) or 0) >= QUAD:
            return Form(QUADS, axis, depth, static(axis.extent) or 0)
    for axis in stage.axes:
        if _is_innermost(axis, data) and axis.var in used and _is_affine(axis, weights) and static(axis.extent):
            return Form(PAIRED, axis, depth) if known else None
    for axis in reduction.axes:
        dims = tuple(load.indices.index(axis.var) for load in (data, weights) if axis.var in load.indices)
        if len(dims) != 2 or not all(
            load.buffer.shape[dim] == axis.extent and sum(axis.var in variables(i) for i in load.indices) == 1
            for load, dim in zip((data, weights), dims, strict=True)
        ):
            continue
        if known and 1 < (static(axis.extent) or 0) < QUAD:
            return Form(FEW, axis, depth, QUAD, (dims[0], dims[1]))
    return None


def _is_innermost(axis: Axis, data: BufferLoad) -> bool:
    """Whether neighbours along ``axis`` lie beside each other."""
    others = (var for index in data.indices[:-1] for var in variables(index))
    return coefficient(data.indices[-1], axis.var) == 1 and axis.var not in others


def _is_affine(axis: Axis, load: BufferLoad) -> bool:
    return all(coefficient(index, axis.var) is not None for index in load.indices)
