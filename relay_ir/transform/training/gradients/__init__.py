"""The gradients of operators: those that TVM 0.18 has, as TVM writes them, and more.

A user's function that is registered for an operator as ``FPrimalGradient`` comes first.
"""

from __future__ import annotations

from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr
from relay2relax.relay_ir.transform.layout.op_attrs import op_attr
from relay2relax.relay_ir.transform.training.gradients import (
    elementwise,
    images,
    indexing,
    layers,
    moving,
    reductions,
)
from relay2relax.relay_ir.transform.training.gradients.rules import Gradient, Rules

GRADIENTS: Rules = {
    **elementwise.RULES,
    **images.RULES,
    **indexing.RULES,
    **layers.RULES,
    **moving.RULES,
    **reductions.RULES,
}
REGISTERED = "FPrimalGradient"


def gradient_of(name: str) -> Gradient | None:
    """Return the rule for an operator, None where there is none."""
    own = op_attr(name, REGISTERED)
    if own is None:
        return GRADIENTS.get(name)
    function = own

    def rule(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
        return list(function(call, grad))

    return rule
