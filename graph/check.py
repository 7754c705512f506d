"""Whether a graph is well formed: names, operands, and what nodes of each kind hold."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass

from relay2relax.graph.errors import holds_no_weight, ill_formed, named_twice, no_input, used_too_early
from relay2relax.graph.kinds import NodeKind
from relay2relax.graph.model import (
    CallAttrs,
    ConstantAttrs,
    ConstructorAttrs,
    FunctionAttrs,
    FusedAttrs,
    GetItemAttrs,
    GlobalAttrs,
    GraphError,
    IfAttrs,
    InputAttrs,
    MatchAttrs,
    MSCGraph,
    MSCJoint,
    MSCTensor,
    RelaxAttrs,
)
from relay2relax.ops.registry.attributes import NoAttrs
from relay2relax.ops.registry.table import relay_op


@dataclass(frozen=True, slots=True)
class _Rule:
    """What a node of a kind holds, and how many operands are its own; None for any number."""

    attrs: type
    operands: int | None = None


# Kinds that a Relay program has, and whose attributes are always of one class.
_RULES: Mapping[NodeKind, _Rule] = {
    NodeKind.INPUT: _Rule(InputAttrs, 0),
    NodeKind.CONSTANT: _Rule(ConstantAttrs, 0),
    NodeKind.TUPLE: _Rule(NoAttrs),
    NodeKind.GET_ITEM: _Rule(GetItemAttrs, 1),
    NodeKind.CALL: _Rule(CallAttrs),
    NodeKind.FUNCTION: _Rule(FunctionAttrs, 0),
    NodeKind.GLOBAL: _Rule(GlobalAttrs, 0),
    NodeKind.CONSTRUCTOR: _Rule(ConstructorAttrs, 0),
    NodeKind.IF: _Rule(IfAttrs, 1),
    NodeKind.MATCH: _Rule(MatchAttrs, 1),
    NodeKind.BIND: _Rule(InputAttrs, 1),
    NodeKind.LET: _Rule(NoAttrs, 2),
    NodeKind.REF: _Rule(NoAttrs, 1),
    NodeKind.REF_READ: _Rule(NoAttrs, 1),
    NodeKind.REF_WRITE: _Rule(NoAttrs, 2),
}


def check_well_formed(graph: MSCGraph) -> None:
    """Check a graph and those inside it.

    Raises GraphError where names do not fit together, an operand does not come before its user, or
    a node does not hold what its kind demands.
    """
    for name in graph.entries:
        if name not in graph.functions:
            raise GraphError(f"{graph.name!r} has no function {name!r} that is called from outside")
    for free in (graph, *graph.functions.values()):
        if free.captured:
            raise GraphError(f"{free.name!r} captures {free.captured[0]!r}, and nothing is around it")
    for part in graph.subgraphs():
        _check_names(part)
        for node in part.nodes:
            _check_node(node, graph.is_relax)
            if isinstance(node.attrs, FusedAttrs):
                _check_parts(part, node, node.attrs.graph)


def _check_names(graph: MSCGraph) -> None:
    known: set[str] = set()
    every = {node.name for node in graph.nodes}
    prims = {prim.name for prim in graph.prims}
    for node in graph.nodes:
        if node.name in known:
            raise named_twice(node.name)
        if not known.issuperset(node.operands):
            _check_operands(node, known, every)
        if node.kind is NodeKind.LET and node.operands and graph.find_node(node.operands[0]).kind is not NodeKind.BIND:
            raise GraphError(f"node {node.name!r} has the variable {node.operands[0]!r}, which is none")
        known.add(node.name)
        for tensor in (*node.outputs, *node.weights.values()):
            if not _is_consistent(tensor, prims):
                raise GraphError(f"tensor {tensor.name!r} has the extents {tensor.shape} and the prims {tensor.prims}")
    graph.find_node(graph.result)
    for name in (*graph.params, *graph.captured):
        if graph.find_node(name).kind is not NodeKind.INPUT:
            raise no_input(name, graph)


def _check_operands(node: MSCJoint, known: Set[str], every: Set[str]) -> None:
    """Check that the nodes among the operands come before ``node``; others are held weights."""
    for name in node.parents:
        if name not in every:
            raise GraphError(f"node {node.name!r} uses {name!r}, which does not exist")
        if name not in known:
            raise used_too_early(node, name)


def _is_consistent(tensor: MSCTensor, prims: Set[str]) -> bool:
    """Whether the prims of a tensor say its extents, where they have to."""
    if not tensor.prims:
        return min(tensor.shape, default=0) >= 0
    return len(tensor.prims) == len(tensor.shape) and all(
        prim in prims if extent < 0 else prim == str(extent)
        for extent, prim in zip(tensor.shape, tensor.prims, strict=True)
    )


def _check_node(node: MSCJoint, is_relax: bool) -> None:
    """Check what a node holds, by its kind."""
    if is_relax and isinstance(node.attrs, RelaxAttrs):
        return
    if node.kind is NodeKind.FUSED:
        _check_fused(node)
        return
    rule = _RULES.get(node.kind)
    if rule is None:
        if node.kind is not NodeKind.OPERATOR or not node.op or is_relax:
            raise ill_formed(node)
        _check_operator(node)
        return
    bodies = node.bodies
    own = len(node.operands) - sum([len(body.captured) for body in bodies])
    if not isinstance(node.attrs, rule.attrs) or node.op:
        raise ill_formed(node)
    if bodies and own != rule.operands:
        taken = len(node.operands) - own
        raise GraphError(f"node {node.name!r} has {len(node.operands)} operands, but its graphs capture {taken}")
    if (rule.operands is not None and own != rule.operands) or (node.kind is NodeKind.CALL and not own):
        raise ill_formed(node)
    if node.kind is NodeKind.CONSTANT and "const" not in node.weights:
        raise holds_no_weight(node)
    if isinstance(node.attrs, MatchAttrs):
        for pattern, clause in zip(node.attrs.patterns, node.attrs.graphs, strict=True):
            if len(clause.params) != pattern.variables:
                raise GraphError(f"the clause {clause.name!r} has other parameters than its pattern has variables")


def _check_fused(node: MSCJoint) -> None:
    if not isinstance(node.attrs, FusedAttrs) or not node.op:
        raise ill_formed(node)
    parts = node.attrs.graph
    given, taken = len(node.operands), len(parts.params)
    if given != taken or parts.captured or len(node.outputs) != len(parts.get_outputs()):
        raise GraphError(f"the fused node {node.name!r} has {given} operands, its parts take {taken}")


def _check_parts(graph: MSCGraph, node: MSCJoint, parts: MSCGraph) -> None:
    """Check that the parameters of the parts stand for what the operands give."""
    for param, operand in zip(parts.params, node.operands, strict=True):
        if len(parts.find_node(param).outputs) != len(graph.find_node(operand).outputs):
            raise GraphError(f"the parts of {node.name!r} take {param!r}, which is another number of tensors")


def _check_operator(node: MSCJoint) -> None:
    """Check a call as type inference does: rules and definitions believe attributes and count."""
    record = relay_op(node.op)
    if record is None:
        return
    if not isinstance(node.attrs, record.attrs):
        raise ill_formed(node)
    given = len(node.operands)
    least = len(record.inputs) - record.variadic
    if given < least or (given > least and not record.variadic):
        raise GraphError(f"node {node.name!r} has {given} operands, {node.op} takes {', '.join(record.inputs)}")
