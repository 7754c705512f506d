"""What evaluating an expression or a stage costs, roughly, in additions."""

from __future__ import annotations

from relay2relax.backends.c.stages import (
    Stage,
    points,
)
from relay2relax.tir.arith.simplify import simplify
from relay2relax.tir.ir.expr import Binary, Call, FunctionCall, IntImm, PrimExpr, binary
from relay2relax.tir.ir.visit import subexpressions

# What one evaluation of these costs, in additions.
_COSTS = {"exp": 10, "tanh": 20, "erf": 25, "sigmoid": 12, "pow": 40, "power": 40, "log": 20, "sqrt": 5, "rsqrt": 6}
_CALL_COST = 30
CHEAP = 4


def cost(expr: PrimExpr) -> int:
    """Return roughly what evaluating ``expr`` once costs, in additions."""
    total = 0
    for node in subexpressions(expr):
        match node:
            case Call("if_then_else" | "likely"):
                total += 1
            case Call(name, _, _):
                total += _COSTS.get(name, _CALL_COST)
            case FunctionCall():
                total += _CALL_COST
            case Binary("/", _, _):
                total += 4
            case Binary() if node.dtype not in ("int64", "bool"):
                total += 1
    return total


def effort(stage: Stage) -> PrimExpr:
    """Return roughly what all of a stage costs, in operations on memory."""
    reduction = stage.reduction
    if reduction is None:
        return simplify(binary("*", points(stage.axes), IntImm(1 + cost(stage.value))))
    return simplify(binary("*", points([*stage.axes, *reduction.axes]), IntImm(1 + cost(reduction.source))))


def is_guarded(expr: PrimExpr) -> bool:
    return any(isinstance(node, Call) and node.name == "if_then_else" for node in subexpressions(expr))
