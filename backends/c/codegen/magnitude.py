"""Numbers that no part of an expression exceeds, as C: sizes are compared with limits before they
are computed in integers, which wrap around.
"""

from __future__ import annotations

from collections.abc import Callable

from relay2relax.tir.ir.expr import Binary, Cast, IntImm, PrimExpr, Select

# More than any limit, and still a double.
_MOST = 1 << 128


def magnitude(expr: PrimExpr, text: Callable[[PrimExpr], str]) -> str:
    """Return a double, as C, that no part of ``expr``, an integer, exceeds.

    ``text`` says what variables are in C, and whatever else is not made of sums and products.
    """
    match expr:
        case IntImm(value):
            return f"{min(abs(value), _MOST)}.0"
        case Cast(_, value):
            return magnitude(value, text)
        case Binary("*", a, b):
            return f"({magnitude(a, text)} * {magnitude(b, text)})"
        case Binary("//" | "%" | "+" | "-" | "min" | "max", a, b) | Select(_, a, b):
            return f"({magnitude(a, text)} + {magnitude(b, text)})"
    return f"fabs((double){text(expr)})"
