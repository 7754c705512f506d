"""Small expressions that several passes make or look for."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from relay2relax.core.dtype import numpy_dtype
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Op


def scalar(value: float, dtype: str) -> Constant:
    """Return a constant of rank 0."""
    return Constant(np.asarray(value, numpy_dtype(dtype)))


def scalar_value(expr: Expr) -> float | None:
    """Return the number that a constant of rank 0 is, None for any other expression."""
    return expr.data.item() if isinstance(expr, Constant) and expr.data.ndim == 0 else None


def along(vector: Expr, rank: int, axes: Sequence[int]) -> Expr:
    """Return ``vector``, of one dimension for each of ``axes`` in order, with new axes, so that it
    broadcasts along ``axes`` of a tensor of that rank.
    """
    ends = (*axes, rank)
    for place in reversed(range(len(axes))):
        gap = ends[place + 1] - ends[place] - 1
        if gap > 0:
            vector = op.expand_dims(vector, axis=place + 1, num_newaxis=gap)
    return vector


def is_call(expr: Expr, *names: str) -> bool:
    """Whether ``expr`` is a call of one of the operators ``names``."""
    return isinstance(expr, Call) and isinstance(expr.op, Op) and expr.op.name in names
