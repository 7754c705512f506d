"""Walks over expressions, and what is counted on the way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Union

from relay2relax.core.walk import post_order
from relay2relax.ops.registry.types import TensorType, TupleType, Type
from relay2relax.relay_ir.inference.infer import infer_type
from relay2relax.relay_ir.ir.expr import Call, Expr, Function, Let, Op, Var, children
from relay2relax.relay_ir.ir.module import IRModule, as_module
from relay2relax.relay_ir.ir.types import FuncType, RefType


def post_order_visit(expr: Expr, fvisit: Callable[[Expr], object]) -> None:
    """Call ``fvisit`` with every expression in ``expr`` once, each after its parts.

    Parameters and the variables of lets are parts; variables of patterns are not, as in TVM.
    """
    for node in post_order((expr,), parts):
        fvisit(node)


def list_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return how many calls of each operator the functions of ``mod`` hold.

    A call that is shared counts once. Calls within functions inside functions count.
    """
    bodies: list[Expr] = list(as_module(mod).functions.values())
    calls = (node for node in post_order(bodies, children) if isinstance(node, Call))
    return dict(Counter(call.op.name for call in calls if isinstance(call.op, Op)))


def all_dtypes(expr: Union[Expr, IRModule]) -> set[str]:
    """Return the dtypes of the tensors that ``expr``, or a module, computes with."""
    return {tensor.dtype for type_ in typed(expr).types.values() for tensor in _tensors(type_)}


def typed(expr: Union[Expr, IRModule]) -> IRModule:
    """Return a module with its types, of an expression one with that as ``@main``."""
    mod = expr if isinstance(expr, IRModule) else IRModule.from_expr(expr)
    return mod if mod.types else infer_type(mod)


def search_fc_transpose(expr: Expr) -> list[str]:
    """Return the names of variables that ``nn.dense`` takes as its weight after a transposition.

    ``SimplifyFCTranspose`` takes them.
    """
    found = [transposed_weight(node) for node in post_order((expr,), children)]
    return [var.name for var in found if var is not None]


def transposed_weight(expr: Expr) -> Var | None:
    """Return the variable whose transposition ``expr``, a dense layer, takes as its weight."""
    match expr:
        case Call(Op("nn.dense"), (_, Call(Op("transpose"), (Var() as var, *_)))):
            return var
    return None


def count_layers(expr: Expr | IRModule, valid_ops: Iterable[str]) -> int:
    """Return how many calls of ``valid_ops`` the chain has that has most of them.

    Calls beside one another are one layer. A chain goes on through variables of lets. Of a module
    ``main`` is asked.
    """
    if isinstance(expr, IRModule):
        expr = expr["main"]
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


def _tensors(type_: Type) -> list[TensorType]:
    found, ahead = [], [type_]
    while ahead:
        match ahead.pop():
            case TensorType() as tensor:
                found.append(tensor)
            case TupleType(fields):
                ahead.extend(fields)
            case FuncType(arg_types, ret_type):
                ahead.extend((*arg_types, ret_type))
            case RefType(value):
                ahead.append(value)
    return found


def parts(expr: Expr) -> Sequence[Expr]:
    """Return what ``expr`` is made of, parameters and the variables of lets included."""
    match expr:
        case Function(params, body):
            return (*params, body)
        case Let(var, value, body):
            return (var, value, body)
    return children(expr)
