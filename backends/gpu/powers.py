"""Powers that are right where the compiler takes them for ``exp2(b * log2(a))``.

apache-tvm compiles for CUDA with fast mathematics: the power of a negative number is NaN there, of
any exponent, and that of 0 by 0, too (seen on an H200: the squares of a layer's normalisation).
"""

from __future__ import annotations

import math

from relay2relax.tir.ir.expr import Call, FloatImm, PrimExpr, Select, binary, const
from relay2relax.tir.ir.intrinsics import call
from relay2relax.tir.ir.stmt import Stmt
from relay2relax.tir.ir.visit import map_expr, map_stmt

# Exponents up to this are written as products.
_MOST_FACTORS = 4


def with_safe_powers(stmt: Stmt) -> Stmt:
    """Return ``stmt`` with every power as products, or as the power of what is not negative."""
    return map_stmt(stmt, lambda expr: map_expr(expr, _safe))


def _safe(node: PrimExpr) -> PrimExpr | None:
    match node:
        case Call("pow", (base, FloatImm(exponent))) if exponent.is_integer() and 0 < exponent <= _MOST_FACTORS:
            base = map_expr(base, _safe)
            found = base
            for _ in range(int(exponent) - 1):
                found = binary("*", found, base)
            return found
        case Call("pow", (base, exponent)):
            return _of_any_sign(map_expr(base, _safe), map_expr(exponent, _safe))
    return None


def _of_any_sign(base: PrimExpr, exponent: PrimExpr) -> PrimExpr:
    """Return a power by that of the absolute value: IEEE 754's ``pow``, where it is finite."""
    dtype = base.dtype
    zero, one, half, two = (const(value, dtype) for value in (0.0, 1.0, 0.5, 2.0))
    size = call("pow", call("fabs", base), exponent)
    even = binary("*", call("floor", binary("*", exponent, half)), two).equal(exponent)
    whole = call("floor", exponent).equal(exponent)
    negative = Select(whole, Select(even, size, binary("-", zero, size)), const(math.nan, dtype))
    return Select(exponent.equal(zero), one, Select(binary("<", base, zero), negative, size))
