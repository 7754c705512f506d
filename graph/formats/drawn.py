"""What pictures of a graph leave out, because it would hide the rest: fields of tuples, which are
marks at edges, and what only lends its values, which stands in the boxes that use it.
"""

from __future__ import annotations

from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import GetItemAttrs, MSCGraph, MSCJoint, RelaxAttrs
from relay2relax.graph.records import learned_inputs
from relay2relax.relax_ir.ir.expr import TupleGetItem


def field_of(graph: MSCGraph, node: MSCJoint) -> int | None:
    """Return which field of a tuple a node is, where edges show that."""
    if node.name == graph.result or not node.parents:
        return None
    match node.attrs:
        case GetItemAttrs(index) | RelaxAttrs(TupleGetItem(index=index)):
            return index
    return None


def source_of(graph: MSCGraph, name: str) -> tuple[str, str]:
    """Return the node at which an edge from ``name`` begins, and which of its fields it stands
    for.
    """
    field, node = "", graph.find_node(name)
    while (index := field_of(graph, node)) is not None:
        field = f".{index}{field}"
        node = graph.find_node(node.parents[0])
    return node.name, field


def lenders(graph: MSCGraph) -> frozenset[str]:
    """Return the nodes that only lend their values: constants, and parameters that stand only where
    operators take learned values.
    """
    constants = {node.name for node in graph.nodes if node.kind is NodeKind.CONSTANT and node.name != graph.result}
    return frozenset(constants | set(learned_inputs(graph)))
