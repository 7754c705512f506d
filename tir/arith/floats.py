"""Between which numbers a floating-point expression lies, whatever it is computed from.

The interval says, too, that the value is a number: a minimum and a maximum are ``a < b ? a : b``
and ``a > b ? a : b``, which is ``b`` where ``a`` is not a number.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np

from relay2relax.core.dtype import is_float, is_int
from relay2relax.tir.ir.expr import Binary, Call, Cast, FloatImm, PrimExpr, Select

# The smallest and the largest value, infinite where there is no limit.
Range: TypeAlias = tuple[float, float]

_ROUNDING = frozenset({"floor", "ceil", "round", "trunc", "nearbyint"})


def float_range(expr: PrimExpr) -> Range | None:
    """Return the range of ``expr``, None where it may be no number."""
    match expr:
        case FloatImm(value):
            return None if math.isnan(value) else (value, value)
        case Binary(("min" | "max") as op, a, b):
            first, second = float_range(a) or (-math.inf, math.inf), float_range(b)
            if second is None:
                return None
            pick = min if op == "min" else max
            return (pick(first[0], second[0]), pick(first[1], second[1]))
        case Call(name, (value,)) if name in _ROUNDING:
            found = float_range(value)
            return None if found is None else (_down(found[0]), -_down(-found[1]))
        case Cast(dtype, value) if is_float(dtype) and is_float(value.dtype):
            # Rounding keeps the order; what is too large becomes infinite.
            found = float_range(value)
            return found if found is not None and max(map(abs, found)) < 2.0**15 else None
        case Cast(dtype, value) if is_float(dtype) and is_int(value.dtype):
            info = np.iinfo(value.dtype)
            return (float(info.min), float(info.max)) if dtype in ("float32", "float64") else None
        case Select(_, a, b) | Call("if_then_else", (_, a, b)):
            either, other = float_range(a), float_range(b)
            if either is None or other is None:
                return None
            return (min(either[0], other[0]), max(either[1], other[1]))
    return None


def fits(expr: PrimExpr, dtype: str) -> bool:
    """Whether ``expr``, truncated, is always an integer of ``dtype``."""
    found = float_range(expr)
    if found is None:
        return False
    info = np.iinfo(dtype)
    return found[0] >= float(info.min) and found[1] < float(int(info.max) + 1)


def _down(value: float) -> float:
    return value if math.isinf(value) else float(math.floor(value))
