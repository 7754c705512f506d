"""Places that data name: what becomes of one that lies outside.

An element that is read comes from the border, one that is written there is left out. Both are said
here, for arrays and for tensor programs; records say which of them they mean.
"""

from __future__ import annotations

import numpy as np

from relay2relax.core.dtype import Array, Numbers
from relay2relax.tir.extent import Extent, as_prim, static
from relay2relax.tir.ir.expr import IntImm, PrimExpr, cast, logical_and, maximum, minimum

# What records say of it.
FROM_THE_BORDER = "A place outside of the data is moved to its border."
LEFT_OUT = "A place below 0 counts from the end; one outside is left out."
SPARSE = (
    "A column outside is moved to the border, and so is where a row begins or ends; a row that ends before it begins "
    "is empty."
)
NO_SUCH_SHAPE = "A shape that the data do not have, or that no tensor has, is refused."

# Numbers of this size and more lie outside of every tensor, and leave room for a sum of some.
FAR = 1 << 61


def bounded(value: PrimExpr) -> PrimExpr:
    """Return ``value``, or a number as far outside of every tensor that does not overflow."""
    return minimum(maximum(value, IntImm(-FAR)), IntImm(FAR))


def inside(place: PrimExpr, extent: Extent) -> PrimExpr:
    """Return ``place`` as int64, moved to the border of ``[0, extent)`` where it lies outside."""
    return maximum(minimum(cast("int64", place), _last(extent)), IntImm(0))


def is_inside(place: PrimExpr, extent: Extent) -> PrimExpr:
    """Whether ``place`` lies in ``[0, extent)``."""
    place = cast("int64", place)
    return logical_and(place >= 0, place < cast("int64", as_prim(extent)))


def clipped(places: Numbers, extent: int) -> Numbers:
    """Return places as int64, moved to the border of ``[0, extent)`` where they lie outside."""
    return np.clip(places.astype(np.int64), 0, max(extent - 1, 0))


def are_inside(places: Numbers, extent: int) -> Array:
    """Whether each place lies in ``[0, extent)``."""
    wide = places.astype(np.int64)
    return (wide >= 0) & (wide < extent)


def _last(extent: Extent) -> PrimExpr:
    known = static(extent)
    return as_prim(extent) - 1 if known is None else IntImm(known - 1)
