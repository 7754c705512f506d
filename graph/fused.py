"""Fused nodes: one node for several, which it keeps, and which come back.

A fused node has the name of its pattern as operator. Its parts are a graph of their own
(``FusedAttrs``), node by node as they were; the parameters of that graph stand for the operands of
the node, in their order. What the parts hold is held by the node too, by role.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace

from relay2relax.core.walk import post_order
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import FusedAttrs, MSCGraph, MSCJoint, MSCTensor


def unfuse(graph: MSCGraph, which: Callable[[MSCJoint], bool] = lambda node: True) -> MSCGraph:
    """Return the graph with the parts of fused nodes in their place, graph itself without any.

    ``which`` may leave fused nodes as they are. The nodes are those that were fused, with their
    names, attributes and spans. Operands come first, as always; where they stood among nodes that
    they do not depend on is not kept.
    """
    fused = {node.name: node.attrs for node in graph.nodes if isinstance(node.attrs, FusedAttrs) and which(node)}
    if not fused:
        return graph
    known = {node.name: node for node in graph.nodes}
    names: dict[str, str] = {}
    tensors: dict[str, str] = {}
    fields = _fields(graph, fused)
    for node in graph.nodes:
        if node.name in fused:
            parts = fused[node.name].graph
            root = parts.find_node(parts.result)
            names[node.name] = root.name
            tensors.update(_renamed(node.outputs, root.outputs))
    made: dict[str, MSCJoint] = {}
    spans = dict(graph.weight_spans)
    for node in graph.nodes:
        if node.name in fields:
            continue
        if node.name not in fused:
            made[node.name] = rewired(node, names, tensors)
            continue
        parts = fused[node.name].graph
        spans.update(parts.weight_spans)
        inner_names, inner_tensors = dict(names), dict(tensors)
        for param, operand in zip(parts.params, node.operands, strict=True):
            inner_names[param] = names.get(operand, operand)
            given = [replace(one, name=tensors.get(one.name, one.name)) for one in known[operand].outputs]
            inner_tensors.update(_renamed(parts.find_node(param).outputs, given))
        for part in parts.nodes:
            if part.kind is not NodeKind.INPUT and part.name not in fields.values():
                made.setdefault(part.name, rewired(part, inner_names, inner_tensors))
    result = names.get(graph.result, graph.result)
    return replace(graph, nodes=numbered(made.values()), result=result, weight_spans=spans)


def _fields(graph: MSCGraph, fused: Mapping[str, FusedAttrs]) -> dict[str, str]:
    """Return the nodes that are fields of a fused node with several results, each with the tuple
    among its parts that they are of: these are there for the node alone.
    """
    found: dict[str, str] = {}
    for node in graph.nodes:
        if node.name not in fused:
            continue
        parts, users = fused[node.name].graph, graph.children(node.name)
        last = parts.find_node(parts.result)
        if (
            last.kind is NodeKind.TUPLE
            and node.name != graph.result
            and {one.name for one in users} <= set(last.operands)
        ):
            found.update((one.name, last.name) for one in users)
    return found


def rewired(node: MSCJoint, names: Mapping[str, str], tensors: Mapping[str, str]) -> MSCJoint:
    """Return ``node`` with other names of its operands, and of the tensors that they give."""
    operands = tuple(names.get(one, one) for one in node.operands)
    inputs = tuple(tensors.get(one, one) for one in node.inputs)
    return (
        node if (operands, inputs) == (node.operands, node.inputs) else replace(node, operands=operands, inputs=inputs)
    )


def ordered(nodes: Sequence[MSCJoint]) -> list[MSCJoint]:
    """Return nodes with operands first, and otherwise as they stand."""
    known = {node.name: node for node in nodes}
    return [known[name] for name in post_order(known, lambda name: known[name].parents)]


def numbered(nodes: Iterable[MSCJoint]) -> tuple[MSCJoint, ...]:
    """Return nodes with their places as numbers."""
    return tuple(node if node.index == place else replace(node, index=place) for place, node in enumerate(nodes))


def _renamed(before: Sequence[MSCTensor], after: Sequence[MSCTensor]) -> dict[str, str]:
    return {one.name: other.name for one, other in zip(before, after, strict=True)}
