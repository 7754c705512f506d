"""What operators say of the parameters that they are given: weights, or data."""

from __future__ import annotations

from collections.abc import Iterator

from relay2relax.ops import relay_op
from relay2relax.relay_ir.ir.expr import Call, Constant, Expr, Function, Op, Tuple, Var, children
from relay2relax.relay_ir.ir.rewrite import nodes

# What operators call those of their inputs that training finds.
LEARNED = frozenset({"weight", "bias", "gamma", "beta", "alpha", "moving_mean", "moving_var"})
# What they call an input that says which rows of a table are looked up.
_LOOKED_UP = "indices"
# Operators that look at the shapes of their operands alone.
_OF_SHAPES = frozenset({"shape_of", "vm.shape_of", "ndarray_size"})
# What stands for all that no parameter decides.
_KNOWN = Tuple(())


def learned_parameters(function: Function) -> list[Var]:
    """Return the parameters that are used, and only where learned values stand."""
    learned: set[Expr] = set()
    other: set[Expr] = {function.body}
    for node in nodes(function.body):
        if not isinstance(node, Call):
            other.update(children(node))
            continue
        for role, arg in _operands(node):
            (learned if role in LEARNED else other).add(arg)
    return [param for param in function.params if param in learned and param not in other]


def fed_parameters(function: Function) -> list[str]:
    """Return the names of parameters that are the data of an operator with weights, or look up rows
    of a table, as they are or after something was computed of them and constants alone; none that
    is a weight elsewhere.
    """
    fed: set[Expr | None] = set()
    learned: set[Expr] = set()
    origin: dict[Expr, Expr | None] = {}
    for node in nodes(function.body):
        if not isinstance(node, Call):
            continue
        operands = list(_operands(node))
        sources = {origin.get(arg, arg) for _, arg in operands if not isinstance(arg, Constant)} - {_KNOWN}
        if isinstance(node.op, Op) and node.op.name in _OF_SHAPES:
            sources.clear()
        origin[node] = _KNOWN if not sources else sources.pop() if len(sources) == 1 else None
        learned.update(arg for role, arg in operands if role in LEARNED)
        fed.update(origin.get(arg, arg) for role, arg in operands if role == _LOOKED_UP)
        if any(role in LEARNED for role, _ in operands[1:]):
            fed.add(origin.get(operands[0][1], operands[0][1]))
    return [param.name for param in function.params if param in fed and param not in learned]


def _operands(call: Call) -> Iterator[tuple[str, Expr]]:
    """Yield the arguments of a call with what its operator calls them; "" where it has no words."""
    record = relay_op(call.op.name) if isinstance(call.op, Op) else None
    for place, arg in enumerate(call.args):
        yield record.inputs[min(place, len(record.inputs) - 1)] if record is not None and record.inputs else "", arg
