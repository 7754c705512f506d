"""What is multiplied with what: stages that are products of matrices, their batches, rows, columns
and terms.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from relay2relax.backends.c.access import coefficient
from relay2relax.backends.c.dtypes import HALF
from relay2relax.backends.c.stages import Axis, Stage
from relay2relax.backends.gpu.kernel import count
from relay2relax.backends.gpu.reduction import unit_axis
from relay2relax.core.dtype import is_float
from relay2relax.tir.extent import static
from relay2relax.tir.ir.expr import Binary, Cast, PrimExpr, const
from relay2relax.tir.ir.visit import loads, variables

# Fewer rows, columns or terms are no matrix, but for rows or columns where no threads of a warp can
# read along terms.
LEAST = 8
_FEWEST = 2


@dataclass(frozen=True, slots=True)
class Parts:
    """A product: axes of batches, rows and columns, and of the sum; results lie along the last
    column.
    """

    batch: tuple[Axis, ...]
    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    terms: tuple[Axis, ...]
    left: PrimExpr
    right: PrimExpr


def factors_of(stage: Stage) -> Parts | None:
    """Return what a flattened stage multiplies; None where it is no product of matrices."""
    own = stage.reduction
    if own is None or own.op != "+" or own.identity != const(0, own.result.dtype):
        return None
    source = own.source
    if not isinstance(source, Binary) or source.op != "*" or not (is_float(source.dtype) or source.dtype == "int32"):
        return None
    uses = [frozenset(variables(factor)) for factor in (source.a, source.b)]
    inner = {axis.var for axis in own.axes}
    if not all(loads(factor) and use & inner for factor, use in zip((source.a, source.b), uses, strict=True)):
        return None
    batch = tuple(axis for axis in stage.axes if (axis.var in uses[0]) == (axis.var in uses[1]))
    first, second = (tuple(a for a in stage.axes if a.var in use and a not in batch) for use in uses)
    if not first or not second:
        return None
    few, terms = (min(static(count(axes)) or LEAST for axes in group) for group in ((first, second), (own.axes,)))
    if terms < LEAST or few < _FEWEST or (few < LEAST and unit_axis(stage) is not None):
        return None
    # Results lie along columns.
    along = [any(coefficient(stage.indices[0], axis.var) == 1 for axis in axes) for axes in (first, second)]
    turned = along[0] and not along[1]
    left, right = (source.b, source.a) if turned else (source.a, source.b)
    rows, columns = (second, first) if turned else (first, second)
    return Parts(batch, _last(stage, rows), _last(stage, columns), terms_of(own.axes, left, right), left, right)


def narrowed(value: PrimExpr) -> PrimExpr:
    """Return what a factor was before it was converted from 16 bits, else the factor."""
    return value.value if isinstance(value, Cast) and value.value.dtype in HALF else value


def _last(stage: Stage, axes: Sequence[Axis]) -> tuple[Axis, ...]:
    """Return axes, the one along which results lie last."""
    return tuple(sorted(axes, key=lambda axis: coefficient(stage.indices[0], axis.var) == 1))


def terms_of(axes: Sequence[Axis], left: PrimExpr, right: PrimExpr) -> tuple[Axis, ...]:
    """Return the axes of a sum, the one last of which most terms make no difference to where an
    image is read: the channels, or where both factors lie along one axis that.
    """
    found = [load.indices[0] for factor in (left, right) for load in loads(factor)]

    def rank(axis: Axis) -> tuple[bool, int]:
        alone = sum(coefficient(index, axis.var) == 1 for index in found)
        return alone == len(found), static(axis.extent) or 1 << 30

    last = max(axes, key=rank)
    return (*(axis for axis in axes if axis is not last), last)
