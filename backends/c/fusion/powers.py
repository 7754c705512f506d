"""Powers with small whole exponents, as the products that they are.

The function of the C library computes one number at a time, and takes as long as forty additions;
the approximation of GELU by tanh has a cube for each element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from relay2relax.backends.c.stages import AnyStage, Stage, mapped
from relay2relax.tir.ir.expr import Call, FloatImm, PrimExpr, binary
from relay2relax.tir.ir.visit import map_expr

# A product is rounded once for each factor but the first: beyond these the function is nearer.
_EXPONENTS = (2.0, 3.0, 4.0)


def multiply_powers(stages: Sequence[AnyStage]) -> list[AnyStage]:
    """Return the stages with such powers of floats multiplied out."""
    return [mapped(stage, _product) if isinstance(stage, Stage) else stage for stage in stages]


def _product(node: PrimExpr) -> PrimExpr | None:
    match node:
        case Call("pow" | "power", (base, FloatImm(exponent)), _) if exponent in _EXPONENTS:
            factor = map_expr(base, _product)
            return reduce(lambda product, _: binary("*", product, factor), range(int(exponent) - 1), factor)
    return None
