"""Division by constants as multiplication."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from relay2relax.core.passes import Pass
from relay2relax.relay_ir.build import op
from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr
from relay2relax.relay_ir.ir.module import IRModule
from relay2relax.relay_ir.transform.infrastructure import rewrite_calls
from relay2relax.relay_ir.transform.parts import is_call

# The precision in which TVM inverts.
_INVERTED_IN = {"float16": np.float32, "float32": np.float64, "float64": np.float64}


@dataclass(frozen=True, slots=True)
class DivToMul(Pass[IRModule]):
    """Multiply by the inverse of a constant floating-point divisor.

    A divisor that holds a zero stays. TVM inverts the first element only, which is right for
    scalars; here all are.
    """

    opt_level: ClassVar[int] = 0

    def transform(self, mod: IRModule) -> IRModule:
        """Return ``mod`` with such divisions replaced; infers types where ``mod`` has none."""
        return rewrite_calls(mod, _multiplied)


def _multiplied(call: Call, types: TypeTable) -> Expr:
    if not is_call(call, "divide") or not isinstance(call.args[1], Constant):
        return call
    divisor = call.args[1].data
    wide = _INVERTED_IN.get(str(divisor.dtype))
    if wide is None or not divisor.all():
        return call
    inverse = np.asarray(1 / divisor.astype(wide)).astype(divisor.dtype)
    result: Expr = op.multiply(call.args[0], Constant(inverse))
    return result
