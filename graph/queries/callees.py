"""Which function a node calls, where the program says it."""

from __future__ import annotations

from relay2relax.graph.model import FunctionAttrs, GlobalAttrs, MSCGraph, MSCJoint, RelaxAttrs
from relay2relax.relax_ir.ir.expr import Call, GlobalVar


def callee_of(graph: MSCGraph, node: MSCJoint, main: MSCGraph) -> MSCGraph | None:
    """Return the function that a call in ``graph`` calls, None where it is a value that nobody
    knows beforehand, or a function that calls itself by a value. ``main`` has the functions of the
    module.
    """
    functions = {main.name: main, **main.functions}
    match node.attrs:
        case RelaxAttrs(Call(GlobalVar() as called)):
            return functions.get(called.name)
    match graph.find_node(node.operands[0]).attrs:
        case FunctionAttrs(body, ""):
            return body
        case GlobalAttrs(name):
            return functions.get(name)
    return None


def arguments_of(node: MSCJoint) -> tuple[str, ...]:
    """Return the operands of a call that are given to the parameters of its function."""
    match node.attrs:
        case RelaxAttrs(Call(GlobalVar())):
            return node.operands
    return node.operands[1:]
