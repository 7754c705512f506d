"""Walks over expressions, and what is counted on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Let, Op, Var, children
from relay2relax.relay_ir.ir.module import IRModule


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], object]) -> None:
    """Call ``fvisit`` with every expression in ``expr`` once, each after its parts.

    Parameters and the variables of lets are parts; variables of patterns are not, as in TVM.
    """
    for node in post_order((expr,), _parts):
        fvisit(node)


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return how many calls of each operator the functions of ``mod`` hold.

    A call that is shared counts once. Calls within functions inside functions count.
    """
    bodies: list[Expr] = list(mod.functions.values())
    calls = (node for node in post_order(bodies, children) if isinstance(node, Call))
    return dict(Counter(call.op.name for call in calls if isinstance(call.op, Op)))


def count_layers(expr: Expr, valid_ops: Iterable[str]) -> int:
    """Return how many calls of ``valid_ops`` the chain has that has most of them.

    Calls beside one another are one layer. A chain goes on through variables of lets.
    """
    counted = frozenset(valid_ops)
    values = {node.var: node.value for node in post_order((expr,), children) if isinstance(node, Let)}

    def operands(node: Expr) -> Sequence[Expr]:
        return (values[node],) if isinstance(node, Var) and node in values else children(node)

    depth: dict[Expr, int] = {}
    for node in post_order((expr,), operands):
        own = isinstance(node, Call) and isinstance(node.op, Op) and node.op.name in counted
        # A function that calls itself through its variable has no depth there yet.
        depth[node] = own + max((depth.get(part, 0) for part in operands(node)), default=0)
    return depth[expr]


def _parts(expr: Expr) -> Sequence[Expr]:
    match expr:
        case Function(params, body):
            return (*params, body)
        case Let(var, value, body):
            return (var, value, body)
    return children(expr)
