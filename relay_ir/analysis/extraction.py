"""Parts of programs that are taken out, or counted, by what they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from relay2relax.core.walk import post_order
from relay2relax.relay_ir.ir.expr import BuildError, Call, Constant, Expr, Op, Tuple, TupleGetItem, children
from relay2relax.relay_ir.ir.module import IRModule


def extract_intermediate_expr(mod: IRModule, expr_id: int) -> IRModule:
    """Return a module whose ``@main`` computes one expression of ``mod["main"]``.

    Calls, tuples and projections are counted from 0 in the order of computation, the last is the
    result. Free variables of the expression become parameters.

    Raises BuildError where there is no expression of that number.
    """
    roots: tuple[Expr, ...] = (mod["main"],)
    found = [node for node in post_order(roots, children) if isinstance(node, (Call, Tuple, TupleGetItem))]
    if not 0 <= expr_id < len(found):
        raise BuildError(f"there is no expression {expr_id}: main has {len(found)}, counted from 0")
    return IRModule.from_expr(found[expr_id])


# TVM's name of it.
extract_intermdeiate_expr = extract_intermediate_expr


def list_fake_quantized_op_freqs(mod: IRModule) -> dict[str, int]:
    """Return how many calls of each operator ``mod["main"]`` computes in floats between
    ``qnn.dequantize`` and ``qnn.quantize``.

    A region with anything but data flow, such as a parameter that is not quantised, does not count.
    """
    counts: Counter[str] = Counter()
    roots: tuple[Expr, ...] = (mod["main"],)
    for node in post_order(roots, children):
        if isinstance(node, Call) and node.op == _QUANTIZE:
            counts.update(_region(node))
    return dict(counts)


_QUANTIZE, _DEQUANTIZE = Op("qnn.quantize"), Op("qnn.dequantize")


def _region(end: Call) -> list[str]:
    """Return the operators between ``end`` and the calls of ``qnn.dequantize`` above it."""
    names: list[str] = []
    roots: tuple[Expr, ...] = (end,)
    for node in post_order(roots, _above):
        match node:
            case Call(Op(name)):
                if node is not end and name != _DEQUANTIZE.name:
                    names.append(name)
            case Op() | Tuple() | TupleGetItem() | Constant():
                pass
            case _:
                return []
    return names


def _above(node: Expr) -> Sequence[Expr]:
    match node:
        case Call(Op("qnn.dequantize")):
            return ()
        case Call(Op("qnn.quantize"), (data, *_)):
            return (data,)
    return children(node)
