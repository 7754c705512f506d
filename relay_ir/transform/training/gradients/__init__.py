"""The gradients of operators: those that TVM 0.18 has, as TVM writes them, and more.

A user's function that is registered for an operator as ``FPrimalGradient`` comes first.
"""

from __future__ import annotations

from relay2relax.relay_ir.inference.type_table import TypeTable
from relay2relax.relay_ir.ir.expr import Call, Expr, RelayExpr
from relay2relax.relay_ir.transform.layout.op_attrs import Registered, registered
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
    own = registered(name, REGISTERED)
    return GRADIENTS.get(name) if own is None else _asking(own)


def _asking(own: Registered) -> Gradient:
    def rule(call: Call, grad: Expr, types: TypeTable) -> list[Expr]:
        found = own(call, grad)
        fits = isinstance(found, (list, tuple)) and all(isinstance(one, RelayExpr) for one in found)
        if not fits or len(found) != len(call.args):
            raise own.unexpected(f"a list of {len(call.args)} expressions", found)
        return list(found)

    return rule
